package httpapi

import (
	"context"
	"net/http"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// authorizeAsked names an action and what it rests on.
type authorizeAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    struct {
		Action  string   `json:"action" minLength:"1" maxLength:"128" doc:"payment, account_change, outbound_message, data_sharing, code_execution, deletion, or one of the policy's own"`
		Records []string `json:"records,omitempty" maxItems:"64" doc:"the records that the action rests on"`
	}
}

type confirmed struct {
	Body struct {
		Nonce string `json:"nonce" minLength:"1" maxLength:"1024" doc:"of the prompt that the user was shown"`
	}
}

// boundaryRoutes are the calls of the write boundary: a decision without a
// write, questions to the user, and the influence check.
func (a *API) boundaryRoutes() {
	add(a, operation{id: "vet", method: "POST", path: "/vet", who: writeSide,
		summary: "What remember would decide, without the write"},
		func(ctx context.Context, c call, r *remembered) (decision, error) {
			cand, err := r.Body.candidate(c.scope)
			if err != nil {
				return decision{}, err
			}
			v, err := a.mem.Vet(ctx, c.by, cand)
			return decision{v}, err
		})
	add(a, operation{id: "authorize", method: "POST", path: "/sessions/{session}/authorize", who: hotPath, also: []int{http.StatusNotFound},
		summary: "Whether an action may be taken, by the labels of what the session's context held: allow, deny or needs_confirm"},
		func(ctx context.Context, c call, r *authorizeAsked) (memory.Authorization, error) {
			var rests []tenet.RecordID
			for _, id := range r.Body.Records {
				rests = append(rests, tenet.RecordID(id))
			}
			return a.mem.Authorize(ctx, c.by, c.scope, tenet.SessionID(r.Session), r.Body.Action, rests...)
		})
	add(a, operation{id: "confirmable", method: "GET", path: "/confirmable", who: askers, summary: "Holds that the user could confirm, newest first"},
		func(ctx context.Context, c call, r *paged) (page[tenet.Held], error) {
			return list(a, "confirmable", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Held, error) {
				return a.mem.Confirmable(ctx, c.by, c.scope, tenet.CandidateID(after), limit)
			}, func(h tenet.Held) string { return string(h.Verdict.Candidate) })
		})
	add(a, operation{id: "ask", method: "POST", path: "/confirmable/{id}/ask", who: askers,
		also:    []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		summary: "What the user is to be shown about a hold, with the nonce that signs it; about five holds a day at most"},
		func(ctx context.Context, c call, r *candidateID) (memory.Prompt, error) {
			return a.mem.Ask(ctx, c.by, c.scope, tenet.CandidateID(r.ID))
		})
	add(a, operation{id: "confirm", method: "POST", path: "/confirm", who: theUser, once: onceAccepted,
		also:    []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		summary: "Confirm exactly what was shown: a new record of label user_confirmed"},
		func(ctx context.Context, c call, r *confirmed) (decision, error) {
			v, err := a.mem.Confirm(ctx, c.by, c.scope, r.Body.Nonce)
			return decision{v}, err
		})
}
