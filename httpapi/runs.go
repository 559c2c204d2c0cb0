package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

type held struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    struct {
		Holder  string  `json:"holder" minLength:"1" maxLength:"128" doc:"names the worker; the same one extends"`
		Seconds float64 `json:"seconds,omitempty" minimum:"0" maximum:"3600" doc:"default 60"`
	}
}

type checkpointIn struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    struct {
		Version  int64        `json:"version" minimum:"1" maximum:"9007199254740991" doc:"the last one plus one"`
		Step     int          `json:"step" minimum:"0" maximum:"2147483647" doc:"index of the step to run next"`
		Done     []tenet.Step `json:"done,omitempty" maxItems:"10000"`
		State    []byte       `json:"state,omitempty" doc:"at most 1 MiB, base64"`
		Position int64        `json:"position,omitempty" minimum:"0" maximum:"9007199254740991" doc:"of the message log"`
		Effects  []string     `json:"effects,omitempty" maxItems:"10000" doc:"keys of the effects begun so far"`
		Fence    uint64       `json:"fence,omitempty" maximum:"9007199254740991" doc:"of a hold; a stale one is refused"`
	}
}

type checkpointsAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Cursor  string `query:"cursor" maxLength:"2048"`
	Limit   int    `query:"limit" minimum:"1" maximum:"100" doc:"default 50"`
}

type effects struct {
	Effects []tenet.Effect `json:"effects"`
}

type claimed struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Key     string `path:"key" minLength:"1" maxLength:"256" doc:"the idempotency key that the provider gets, too"`
	Body    struct {
		Step    int             `json:"step,omitempty" minimum:"0" maximum:"2147483647"`
		Payload json.RawMessage `json:"payload,omitempty" doc:"what would be sent; only a keyed digest is kept"`
		Seconds float64         `json:"seconds,omitempty" minimum:"0" maximum:"3600" doc:"how long the outcome may take; default 60"`
		Retry   bool            `json:"retry,omitempty" doc:"the provider honours the key: grant another attempt when it is in doubt or failed"`
		Fence   uint64          `json:"fence,omitempty" maximum:"9007199254740991"`
	}
}

type settled struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Key     string `path:"key" minLength:"1" maxLength:"256"`
	Body    struct {
		Attempt int             `json:"attempt" minimum:"1" maximum:"2147483647"`
		Outcome json.RawMessage `json:"outcome,omitempty" doc:"at most 64 KiB; what later claims get"`
	}
}

type resolved struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Key     string `path:"key" minLength:"1" maxLength:"256"`
	Body    struct {
		Attempt int             `json:"attempt" minimum:"1" maximum:"2147483647"`
		State   string          `json:"state" enum:"completed,failed" doc:"what the provider says became of it"`
		Outcome json.RawMessage `json:"outcome,omitempty"`
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (a *API) runRoutes() {
	const base = "/sessions/{session}"
	conflict := []int{http.StatusConflict}
	missing := []int{http.StatusNotFound}
	both := []int{http.StatusConflict, http.StatusNotFound, http.StatusUnprocessableEntity}
	add(a, operation{id: "hold", method: "POST", path: base + "/hold", who: hotPath, once: onceAccepted, also: conflict,
		summary: "Take the session for a worker; its fence goes into checkpoints and claims"},
		func(ctx context.Context, c call, r *held) (memory.Hold, error) {
			s, err := a.mem.Session(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return memory.Hold{}, err
			}
			return s.Hold(ctx, r.Body.Holder, seconds(r.Body.Seconds))
		})
	add(a, operation{id: "putCheckpoint", method: "POST", path: base + "/checkpoints", who: hotPath, once: onceRequired, status: http.StatusCreated,
		summary: "Keep where the run stands; 409 when another worker advanced it"},
		func(ctx context.Context, c call, r *checkpointIn) (tenet.Checkpoint, error) {
			s, err := a.mem.Session(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return tenet.Checkpoint{}, err
			}
			b := r.Body
			for i := range b.Done {
				b.Done[i].Outcome = nonNull(b.Done[i].Outcome)
			}
			return s.Checkpoint(ctx, tenet.Checkpoint{Version: b.Version, Step: b.Step, Done: b.Done, State: b.State, Position: b.Position, Effects: b.Effects}, b.Fence)
		})
	add(a, operation{id: "checkpoints", method: "GET", path: base + "/checkpoints", who: hotPath, also: missing, summary: "Checkpoints, newest first; only the newest are kept"},
		func(ctx context.Context, c call, r *checkpointsAsked) (page[tenet.Checkpoint], error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return page[tenet.Checkpoint]{}, err
			}
			return list(a, "checkpoints "+r.Session, c, paging{r.Cursor, r.Limit}, func(below string, limit int) ([]tenet.Checkpoint, error) {
				return s.Checkpoints(ctx, number(below), limit)
			}, func(k tenet.Checkpoint) string { return itoa(k.Version) })
		})
	add(a, operation{id: "resume", method: "GET", path: base + "/run", who: hotPath, also: missing,
		summary: "What a worker needs to go on: the newest checkpoint and which effects are open or in doubt"},
		func(ctx context.Context, c call, r *sessionOnly) (memory.Resumption, error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return memory.Resumption{}, err
			}
			return s.Resume(ctx)
		})
	add(a, operation{id: "effects", method: "GET", path: base + "/effects", who: hotPath, also: missing, summary: "External side effects in the order they were first claimed"},
		func(ctx context.Context, c call, r *sessionOnly) (effects, error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return effects{}, err
			}
			es, err := s.Effects(ctx)
			return effects{es}, err
		})
	add(a, operation{id: "claimEffect", method: "POST", path: base + "/effects/{key}/claim", who: hotPath, also: conflict,
		summary: "Ask to carry out a side effect; a completed one answers with its outcome"},
		func(ctx context.Context, c call, r *claimed) (memory.Claimed, error) {
			s, err := a.mem.Session(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return memory.Claimed{}, err
			}
			b := r.Body
			return s.Claim(ctx, memory.Claiming{Key: r.Key, Step: b.Step, Payload: b.Payload, For: seconds(b.Seconds), Retry: b.Retry, Fence: b.Fence})
		})
	for _, end := range []struct {
		id      trace.Word
		path    string
		summary string
		settle  func(*memory.Session, context.Context, string, int, json.RawMessage) (tenet.Effect, error)
	}{
		{"completeEffect", "/complete", "Record what the effect came to", (*memory.Session).Complete},
		{"failEffect", "/fail", "Record that the effect did not happen", (*memory.Session).Fail},
	} {
		add(a, operation{id: end.id, method: "POST", path: base + "/effects/{key}" + end.path, who: hotPath, once: onceRequired, also: both, summary: end.summary},
			func(ctx context.Context, c call, r *settled) (tenet.Effect, error) {
				s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
				if err != nil {
					return tenet.Effect{}, err
				}
				return end.settle(s, ctx, r.Key, r.Body.Attempt, nonNull(r.Body.Outcome))
			})
	}
	add(a, operation{id: "resolveEffect", method: "POST", path: base + "/effects/{key}/resolve", who: hotPath, once: onceRequired, also: both,
		summary: "Settle an effect in doubt with what the provider says"},
		func(ctx context.Context, c call, r *resolved) (tenet.Effect, error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return tenet.Effect{}, err
			}
			return s.Resolve(ctx, r.Key, r.Body.Attempt, tenet.EffectState(r.Body.State), nonNull(r.Body.Outcome))
		})
}
