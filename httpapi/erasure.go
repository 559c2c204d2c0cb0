package httpapi

import (
	"context"
	"net/http"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// eraseAsked names one thing to be gone.
type eraseAsked struct {
	Body struct {
		What   string `json:"what" enum:"record,message,session,key,origin,subject,tenant" doc:"what to begin with; all that hangs on it goes, too"`
		Name   string `json:"name,omitempty" maxLength:"4096" doc:"the record's, message's or session's id, the key, or the origin (a principal, or channel:external); none for subject and tenant"`
		Why    string `json:"why,omitempty" maxLength:"500" doc:"for the receipt; no memory text"`
		DryRun bool   `json:"dry_run,omitempty" doc:"count, and write nothing"`
	}
}

type receiptAsked struct {
	Body memory.ErasureReceipt
}

type erasuresAsked struct {
	Limit int `query:"limit" minimum:"1" maximum:"500" doc:"default 50"`
}

type erasuresOut struct {
	Erasures []memory.ErasureState `json:"erasures"`
}

// erasureRoutes are the calls that make things gone, and that look again.
func (a *API) erasureRoutes() {
	add(a, operation{id: "erase", method: "POST", path: "/erase", who: erasers, wait: true, also: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Make something gone with all that hangs on it; a person for what is their own. It cannot be undone"},
		func(ctx context.Context, c call, r *eraseAsked) (memory.Erasure, error) {
			of, err := memory.Selected(r.Body.What, r.Body.Name)
			if err != nil {
				return memory.Erasure{}, err
			}
			return a.mem.Erase(ctx, c.by, c.scope, memory.Erasing{Of: of, Why: r.Body.Why, DryRun: r.Body.DryRun})
		})
	add(a, operation{id: "verifyErasure", method: "POST", path: "/erasures/verify", who: erasers, wait: true,
		summary: "Look again, in every place, for what a receipt says is gone"},
		func(ctx context.Context, c call, r *receiptAsked) (memory.ErasureCheck, error) {
			return a.mem.VerifyErasure(ctx, c.by, r.Body, nil)
		})
	add(a, operation{id: "erasures", method: "GET", path: "/v1/erasures", who: reviewTenant, summary: "The tenant's erasures, newest first, without content"},
		func(ctx context.Context, c call, r *erasuresAsked) (erasuresOut, error) {
			whole, err := tenet.NewScope(c.by.Tenant(), tenet.WholeTenant())
			if err != nil {
				return erasuresOut{}, err
			}
			o, err := a.mem.Operator(c.by, whole)
			if err != nil {
				return erasuresOut{}, err
			}
			orElse(&r.Limit, 50)
			es, err := o.Erasures(ctx, r.Limit)
			if es == nil {
				es = []memory.ErasureState{}
			}
			return erasuresOut{es}, err
		})
}
