package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type paged struct {
	Cursor string `query:"cursor" maxLength:"2048"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" doc:"default 50"`
}

type candidateID struct {
	ID string `path:"id" minLength:"1" maxLength:"256"`
}

type discarded struct {
	ID   string `path:"id" minLength:"1" maxLength:"256"`
	Body struct {
		Why string `json:"why,omitempty" maxLength:"500" doc:"for the audit entry; no memory text"`
	}
}

type recordOut struct {
	Record   tenet.Record     `json:"record"`
	Evidence []tenet.Evidence `json:"evidence"`
}

type verification struct {
	OK      bool   `json:"ok"`
	Entries int    `json:"entries"`
	Records int    `json:"records"`
	Bad     uint64 `json:"bad,omitempty" doc:"the first entry that does not verify"`
	Why     string `json:"why,omitempty"`
}

func (a *API) reviewRoutes() {
	missing := []int{http.StatusNotFound}
	add(a, operation{id: "quarantine", method: "GET", path: "/quarantine", who: review, summary: "What was held or rejected, newest first"},
		func(ctx context.Context, c call, r *paged) (page[tenet.Held], error) {
			o, err := a.mem.Operator(c.by, c.scope)
			if err != nil {
				return page[tenet.Held]{}, err
			}
			return list(a, "quarantine", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Held, error) {
				return o.Held(ctx, tenet.CandidateID(after), limit)
			}, func(h tenet.Held) string { return string(h.Verdict.Candidate) })
		})
	add(a, operation{id: "release", method: "POST", path: "/quarantine/{id}/release", who: review, also: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		summary: "Admit a held candidate on the operator's word"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *candidateID) (decision, error) {
			v, err := o.Release(ctx, tenet.CandidateID(r.ID))
			return decision{v}, err
		}))
	add(a, operation{id: "discard", method: "POST", path: "/quarantine/{id}/discard", who: review, status: http.StatusNoContent, also: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Settle a held candidate without admitting it"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *discarded) (empty, error) {
			return empty{}, o.Discard(ctx, tenet.CandidateID(r.ID), r.Body.Why)
		}))
	add(a, operation{id: "verdict", method: "GET", path: "/verdicts/{id}", who: review, also: missing, summary: "What was decided about a candidate, and why"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *candidateID) (decision, error) {
			v, err := o.Verdict(ctx, tenet.CandidateID(r.ID))
			return decision{v}, err
		}))
	add(a, operation{id: "record", method: "GET", path: "/records/{id}", who: review, also: missing, summary: "One record with the excerpts that support it"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *candidateID) (recordOut, error) {
			rec, ev, err := o.Record(ctx, tenet.RecordID(r.ID))
			return recordOut{rec, ev}, err
		}))
	add(a, operation{id: "audit", method: "GET", path: "/audit", who: review, summary: "The scope's chain, oldest first"},
		func(ctx context.Context, c call, r *paged) (page[tenet.AuditEntry], error) {
			o, err := a.mem.Operator(c.by, c.scope)
			if err != nil {
				return page[tenet.AuditEntry]{}, err
			}
			return list(a, "audit", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.AuditEntry, error) {
				return o.Audit(ctx, uint64(number(after))+1, limit)
			}, func(e tenet.AuditEntry) string { return strconv.FormatUint(e.Seq, 10) })
		})
	add(a, operation{id: "scopes", method: "GET", path: "/v1/scopes", who: reviewTenant, summary: "The tenant's scopes"},
		func(ctx context.Context, c call, r *paged) (page[tenet.Scope], error) {
			whole, err := tenet.NewScope(c.by.Tenant(), tenet.WholeTenant())
			if err != nil {
				return page[tenet.Scope]{}, err
			}
			o, err := a.mem.Operator(c.by, whole)
			if err != nil {
				return page[tenet.Scope]{}, err
			}
			return list(a, "scopes", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Scope, error) {
				from, err := scopeAfter(c, after)
				if err != nil {
					return nil, err
				}
				return o.Scopes(ctx, from, limit)
			}, func(s tenet.Scope) string { return s.Subject().String() })
		})
	add(a, operation{id: "verify", method: "GET", path: "/verify", who: review, summary: "Recompute the chain and every row it covers"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, _ *empty) (verification, error) {
			v, err := o.Verify(ctx)
			return verification{v.OK(), v.Entries, v.Records, v.Bad, v.Why}, err
		}))
}

// scopeAfter is the scope a list goes on after; the zero one is the start.
func scopeAfter(c call, subject string) (tenet.Scope, error) {
	if subject == "" {
		return tenet.Scope{}, nil
	}
	after, err := subjects(c, []string{subject})
	if err != nil {
		return tenet.Scope{}, err
	}
	return after[0], nil
}
