package httpapi

import (
	"context"
	"net/http"
	"time"

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

// replayAsked is one page of the refusal log, judged again.
type replayAsked struct {
	Cursor string    `query:"cursor" maxLength:"2048"`
	Limit  int       `query:"limit" minimum:"1" maximum:"500" doc:"default 50"`
	Since  time.Time `query:"since" doc:"only what was refused from then on"`
}

type replayedOut struct {
	RuleSet string            `json:"ruleset"`
	Items   []memory.Replayed `json:"items"`
	Next    string            `json:"next,omitempty" doc:"the cursor of the next page"`
}

// taintAsked names one source.
type taintAsked struct {
	Body struct {
		Session string    `json:"session,omitempty" maxLength:"256"`
		Message string    `json:"message,omitempty" maxLength:"256"`
		Origin  string    `json:"origin,omitempty" maxLength:"256" doc:"a principal (connector:crm) or a channel (channel:external)"`
		Key     string    `json:"key,omitempty" maxLength:"256" doc:"of a fact or document"`
		Record  string    `json:"record,omitempty" maxLength:"256"`
		Since   time.Time `json:"since,omitzero" doc:"only what was learned from then on"`
		Revoke  bool      `json:"revoke,omitempty" doc:"close it all in one transaction and put back what it had pushed out, ended or retracted; without it nothing is written"`
		Why     string    `json:"why,omitempty" maxLength:"500" doc:"for the audit entry; no memory text"`
	}
}

type rescanAsked struct {
	Body struct {
		Apply bool   `json:"apply,omitempty" doc:"take what would be held or rejected now out of belief; without it nothing is written"`
		Why   string `json:"why,omitempty" maxLength:"500" doc:"for the audit entries; no memory text"`
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
	add(a, operation{id: "taint", method: "POST", path: "/taint", who: review, wait: true, also: []int{http.StatusConflict},
		summary: "What came from a source, and who was shown it; with revoke, close it all and put back what it had pushed out, ended or retracted"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *taintAsked) (memory.Taint, error) {
			b := r.Body
			src := memory.Source{
				Session: tenet.SessionID(b.Session), Message: tenet.MessageID(b.Message), Origin: b.Origin, Key: b.Key, Record: tenet.RecordID(b.Record), Since: b.Since,
			}
			if b.Revoke {
				return o.Revoke(ctx, src, b.Why)
			}
			return o.Taint(ctx, src)
		}))
	add(a, operation{id: "rescan", method: "POST", path: "/rescan", who: review, wait: true,
		summary: "What the present rules would not let in of what is believed; with apply, take it out of belief"},
		reviewed(a, func(ctx context.Context, o *memory.Operator, r *rescanAsked) (memory.Rescan, error) {
			return o.Rescan(ctx, r.Body.Why, r.Body.Apply)
		}))
	add(a, operation{id: "replay", method: "GET", path: "/replay", who: review, wait: true,
		summary: "The logged refusals judged again by the present rules, newest first; nothing is written"},
		func(ctx context.Context, c call, r *replayAsked) (replayedOut, error) {
			o, err := a.mem.Operator(c.by, c.scope)
			if err != nil {
				return replayedOut{}, err
			}
			out := replayedOut{RuleSet: o.RuleSet(), Items: []memory.Replayed{}}
			pg, err := list(a, "replay", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Held, error) {
				return o.Held(ctx, tenet.CandidateID(after), limit)
			}, func(h tenet.Held) string { return string(h.Verdict.Candidate) })
			if err != nil {
				return replayedOut{}, err
			}
			for _, h := range pg.Items {
				if h.Candidate.ID == "" || h.Verdict.At.Before(r.Since) {
					continue // the text has run out, or it is older than what was asked for
				}
				again, err := o.ReplayOne(ctx, h)
				if err != nil {
					return replayedOut{}, err
				}
				out.Items = append(out.Items, again)
			}
			out.Next = pg.Next
			return out, nil
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
