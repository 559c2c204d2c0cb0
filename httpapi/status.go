package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type statusAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	After   string `query:"after" maxLength:"256" doc:"verdicts after this candidate"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" doc:"default 100"`
}

type proposalAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	ID      string `path:"id" minLength:"1" maxLength:"256"`
}

// judged is the verdict of a proposal, or what it waits for.
type judged struct {
	tenet.Verdict
	id    string
	waits memory.JobState
}

type proposalWaits struct {
	ID    string          `json:"id"`
	State memory.JobState `json:"state" enum:"waiting,due,failing,dead" doc:"where the conversation's consolidation stands; dead: until an operator retries or drops it"`
}

func (j judged) accepted() bool { return j.waits != "" }

func (j judged) MarshalJSON() ([]byte, error) {
	if j.accepted() {
		return json.Marshal(proposalWaits{j.id, j.waits})
	}
	return json.Marshal(j.Verdict)
}

// statusRoutes say what became of what was accepted.
func (a *API) statusRoutes() {
	const base = "/sessions/{session}"
	notFound := []int{http.StatusNotFound}
	add(a, operation{id: "sessionStatus", method: "GET", path: base + "/status", who: hotPath, also: notFound,
		summary: "Where the conversation's consolidation stands, with a verdict for each item that has one"},
		func(ctx context.Context, c call, r *statusAsked) (memory.Status, error) {
			orElse(&r.Limit, 100)
			return a.mem.Status(ctx, c.by, c.scope, tenet.SessionID(r.Session), tenet.CandidateID(r.After), r.Limit)
		})
	add(a, operation{id: "proposal", method: "GET", path: base + "/proposals/{id}", who: hotPath, also: notFound, waits: reflect.TypeFor[proposalWaits](),
		summary: "What was decided about a proposal; 202 with the conversation's state while it waits for consolidation"},
		func(ctx context.Context, c call, r *proposalAsked) (judged, error) {
			v, state, err := a.mem.Proposal(ctx, c.by, c.scope, tenet.SessionID(r.Session), tenet.CandidateID(r.ID))
			return judged{v, r.ID, state}, err
		})
}
