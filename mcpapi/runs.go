package mcpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type stepDone struct {
	Name    string `json:"name"`
	Outcome any    `json:"outcome,omitempty" jsonschema:"any JSON"`
}

// run names a conversation whose work goes on: there is no default, so that two
// runs never share a checkpoint by accident.
type run struct {
	Session string `json:"session" jsonschema:"the run's id"`
}

type checkpointIn struct {
	run
	keyed
	Version int64      `json:"version" jsonschema:"the last one plus one, from 1; else the call fails, because another worker went on"`
	Step    int        `json:"step" jsonschema:"index of the step to run next"`
	Done    []stepDone `json:"done,omitempty" jsonschema:"completed steps in order"`
	State   string     `json:"state,omitempty" jsonschema:"the run's own state as text, at most 1 MiB"`
	Effects []string   `json:"effects,omitempty" jsonschema:"keys of the side effects begun so far"`
	Fence   uint64     `json:"fence,omitempty" jsonschema:"of a hold"`
}

type checkpointGet struct {
	run
	Below int64 `json:"below,omitempty" jsonschema:"only versions below this one; default: from the newest"`
	Limit int   `json:"limit,omitempty" jsonschema:"default 1"`
}

type checkpointOut struct {
	Version int64      `json:"version"`
	Step    int        `json:"step"`
	Done    []stepDone `json:"done"`
	State   string     `json:"state"`
	Effects []string   `json:"effects"`
	By      string     `json:"by"`
	At      *time.Time `json:"at,omitempty"`
}

type checkpointsOut struct {
	Checkpoints []checkpointOut `json:"checkpoints" jsonschema:"newest first"`
}

type effectOut struct {
	Key     string `json:"key"`
	State   string `json:"state"`
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Outcome any    `json:"outcome,omitempty"`
}

type resumeOut struct {
	Checkpoint *checkpointOut `json:"checkpoint,omitempty" jsonschema:"absent when the run has none"`
	Open       []effectOut    `json:"open" jsonschema:"side effects that somebody is carrying out"`
	InDoubt    []effectOut    `json:"in_doubt" jsonschema:"side effects that may or may not have happened: ask the provider, never repeat them blindly"`
	Settled    []effectOut    `json:"settled" jsonschema:"side effects with an outcome: do not repeat them"`
}

func raw(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	data, _ := json.Marshal(v)
	return data
}

func value(data json.RawMessage) any {
	var v any
	if len(data) > 0 {
		json.Unmarshal(data, &v)
	}
	return v
}

func checkpoint(k tenet.Checkpoint) checkpointOut {
	out := checkpointOut{k.Version, k.Step, []stepDone{}, string(k.State), append([]string{}, k.Effects...), k.By, moment(k.At)}
	for _, d := range k.Done {
		out.Done = append(out.Done, stepDone{d.Name, value(d.Outcome)})
	}
	return out
}

func effectsOut(es []tenet.Effect) []effectOut {
	out := []effectOut{}
	for _, e := range es {
		out = append(out, effectOut{e.Key, string(e.State), e.Step, e.Attempt, value(e.Outcome)})
	}
	return out
}

// runs registers checkpoints: for resuming a run, never for personalisation.
func (t *tools) runs() {
	needed := bounds{"step": between(0, 1<<31-1), "version": between(1, 1<<53-1), "state": chars(0, tenet.MaxState), "done": items(10000), "effects": items(10000)}
	add(t, "checkpoint_put", "Keep a checkpoint", "Keep where a run stands, so that it can go on after a crash.", hints{idempotent: true}, needed,
		func(ctx context.Context, c *caller, in *checkpointIn) (answer[checkpointOut], error) {
			s, err := t.mem.Session(ctx, c.by, c.scope, tenet.SessionID(in.Session))
			if err != nil {
				return answer[checkpointOut]{}, err
			}
			k := tenet.Checkpoint{Version: in.Version, Step: in.Step, State: []byte(in.State), Effects: in.Effects}
			for _, d := range in.Done {
				k.Done = append(k.Done, tenet.Step{Name: d.Name, Outcome: raw(d.Outcome)})
			}
			k, err = s.Checkpoint(ctx, k, in.Fence)
			return answer[checkpointOut]{out: checkpoint(k)}, err
		})
	add(t, "checkpoint_get", "Read checkpoints", "A run's checkpoints, newest first; only the newest are kept.", hints{reads: true, idempotent: true},
		bounds{"below": between(0, 1<<53-1), "limit": between(1, 100)},
		func(ctx context.Context, c *caller, in *checkpointGet) (answer[checkpointsOut], error) {
			s, err := t.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(in.Session))
			if err != nil {
				return answer[checkpointsOut]{}, err
			}
			limit := in.Limit
			if limit == 0 {
				limit = 1
			}
			ks, err := s.Checkpoints(ctx, in.Below, limit)
			out := checkpointsOut{Checkpoints: []checkpointOut{}}
			for _, k := range ks {
				out.Checkpoints = append(out.Checkpoints, checkpoint(k))
			}
			return answer[checkpointsOut]{out: out}, err
		})
	add(t, "resume", "Resume a run", "Where a run stands: its newest checkpoint, and which side effects are open, in doubt or settled.", hints{reads: true, idempotent: true}, nil,
		func(ctx context.Context, c *caller, in *run) (answer[resumeOut], error) {
			s, err := t.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(in.Session))
			if err != nil {
				return answer[resumeOut]{}, err
			}
			r, err := s.Resume(ctx)
			if err != nil {
				return answer[resumeOut]{}, err
			}
			return answer[resumeOut]{out: resumed(r)}, nil
		})
}

func resumed(r memory.Resumption) resumeOut {
	out := resumeOut{Open: effectsOut(r.Open), InDoubt: effectsOut(r.InDoubt), Settled: effectsOut(r.Settled)}
	if r.Checkpoint.Version > 0 {
		k := checkpoint(r.Checkpoint)
		out.Checkpoint = &k
	}
	return out
}
