package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type releasedAs struct {
	ID   string `path:"id" minLength:"1" maxLength:"256"`
	Body struct {
		Tier string `json:"tier" enum:"fact,note" doc:"where it belongs; for a candidate that named no tier"`
		Key  string `json:"key,omitempty" maxLength:"128" doc:"of a fact"`
	}
}

type dropAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    struct {
		Why string `json:"why" minLength:"1" maxLength:"500" doc:"for the audit entry; no memory text"`
	}
}

type skipped struct {
	Skipped int64 `json:"skipped" doc:"messages that are never extracted; they stay in the session's log"`
}

type conflictsAsked struct {
	All bool `query:"all" doc:"clusters without a possible conflict, too"`
}

type clusters struct {
	Clusters []memory.Cluster `json:"clusters"`
}

type reextraction struct {
	Body struct {
		Extractor string    `json:"extractor" enum:"rules,verbatim,anthropic,openai"`
		Since     time.Time `json:"since,omitzero" doc:"only turns said since then; default all"`
		Commit    bool      `json:"commit,omitempty" doc:"apply the difference; without it, it is only shown"`
	}
}

// reviewed is a handler of an operator's handle of the call's scope.
func reviewed[Req, Resp any](a *API, do func(context.Context, *memory.Operator, *Req) (Resp, error)) func(context.Context, call, *Req) (Resp, error) {
	return func(ctx context.Context, c call, r *Req) (Resp, error) {
		o, err := a.mem.Operator(c.by, c.scope)
		if err != nil {
			var none Resp
			return none, err
		}
		return do(ctx, o, r)
	}
}

// pipelineRoutes look after consolidation: what waits, failed or was given up,
// what may contradict itself, and extracting again.
func (a *API) pipelineRoutes() {
	add(a, operation{id: "jobs", method: "GET", path: "/v1/jobs", who: reviewTenant, summary: "The tenant's sessions that are not consolidated to the end, failures first"},
		func(ctx context.Context, c call, r *paged) (page[memory.Job], error) {
			whole, err := tenet.NewScope(c.by.Tenant(), tenet.WholeTenant())
			if err != nil {
				return page[memory.Job]{}, err
			}
			o, err := a.mem.Operator(c.by, whole)
			if err != nil {
				return page[memory.Job]{}, err
			}
			end := 0 // jobs move while they are listed: their place is all that a cursor can name
			return list(a, "jobs", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]memory.Job, error) {
				skip := int(number(after))
				end = skip + limit - 1
				return o.Jobs(ctx, skip, limit)
			}, func(memory.Job) string { return itoa(int64(end)) })
		})
	add(a, operation{id: "retryJob", method: "POST", path: "/jobs/{session}/retry", who: review, status: http.StatusNoContent, also: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Give a session that was given up a new row of attempts; 409 while a worker has it"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *sessionOnly) (empty, error) {
			return empty{}, o.Retry(ctx, tenet.SessionID(r.Session))
		}))
	add(a, operation{id: "dropJob", method: "POST", path: "/jobs/{session}/drop", who: review, also: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Give up what a session has not consolidated; its proposals are refused, and the audit chain says so"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *dropAsked) (skipped, error) {
			n, err := o.Drop(ctx, tenet.SessionID(r.Session), r.Body.Why)
			return skipped{n}, err
		}))
	add(a, operation{id: "releaseAs", method: "POST", path: "/quarantine/{id}/release-as", who: review,
		also:    []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		summary: "Admit a held candidate that no extractor could route, in the tier and under the key that the operator names"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *releasedAs) (decision, error) {
			var tier tenet.Tier
			if err := tier.UnmarshalText([]byte(r.Body.Tier)); err != nil {
				return decision{}, err
			}
			v, err := o.ReleaseAs(ctx, tenet.CandidateID(r.ID), tier, r.Body.Key)
			return decision{v}, err
		}))
	add(a, operation{id: "conflicts", method: "GET", path: "/conflicts", who: review, summary: "What says nearly the same and may contradict itself"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *conflictsAsked) (clusters, error) {
			find := o.Conflicts
			if r.All {
				find = o.Clusters
			}
			cs, err := find(ctx)
			if cs == nil {
				cs = []memory.Cluster{}
			}
			return clusters{cs}, err
		}))
	add(a, operation{id: "stats", method: "GET", path: "/stats", who: review, summary: "What the scope holds, what was decided in it, how recall fared, and the tenant's queue"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, _ *empty) (memory.Stats, error) {
			return o.Stats(ctx)
		}))
	if a.cfg.Reextract == nil {
		return
	}
	add(a, operation{id: "reextract", method: "POST", path: "/reextract", who: review, wait: true,
		summary: "Extract again from the turns that are kept, and show or apply the difference"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *reextraction) (memory.Reextraction, error) {
			return a.cfg.Reextract(ctx, o, r.Body.Extractor, r.Body.Since, r.Body.Commit)
		}))
}
