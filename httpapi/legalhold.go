package httpapi

import (
	"context"
	"net/http"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type legalHoldAsked struct {
	Body struct {
		Why string `json:"why" minLength:"1" maxLength:"500" doc:"for the audit entry and the list of holds; no memory text"`
	}
}

type legalHoldOut struct {
	Entry tenet.AuditEntry `json:"entry"`
}

// legalHoldRoutes are the calls about legal holds.
func (a *API) legalHoldRoutes() {
	add(a, operation{id: "freeze", method: "POST", path: "/freeze", who: review, also: []int{http.StatusConflict},
		summary: "Place a legal hold: nothing of the subject is erased and nothing expires until it is lifted"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *legalHoldAsked) (legalHoldOut, error) {
			e, err := o.Freeze(ctx, r.Body.Why)
			return legalHoldOut{e}, err
		}))
	add(a, operation{id: "thaw", method: "POST", path: "/thaw", who: review, also: []int{http.StatusConflict},
		summary: "Lift the legal hold"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *legalHoldAsked) (legalHoldOut, error) {
			e, err := o.Thaw(ctx, r.Body.Why)
			return legalHoldOut{e}, err
		}))
	add(a, operation{id: "legalHolds", method: "GET", path: "/v1/legal-holds", who: reviewTenant, summary: "The tenant's legal holds: on whom, by whom, why, since when, and how much stays because of them"},
		func(ctx context.Context, c call, r *paged) (page[memory.LegalHold], error) {
			whole, err := tenet.NewScope(c.by.Tenant(), tenet.WholeTenant())
			if err != nil {
				return page[memory.LegalHold]{}, err
			}
			o, err := a.mem.Operator(c.by, whole)
			if err != nil {
				return page[memory.LegalHold]{}, err
			}
			return list(a, "legalHolds", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]memory.LegalHold, error) {
				from, err := scopeAfter(c, after)
				if err != nil {
					return nil, err
				}
				return o.LegalHolds(ctx, from, limit)
			}, func(h memory.LegalHold) string { return h.Scope.Subject().String() })
		})
}
