package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Replayed is a refused candidate and what the present rules would decide.
type Replayed struct {
	Held tenet.Held    `json:"held"`
	Now  tenet.Verdict `json:"now"`
	// Flips says that the outcome would be another.
	Flips bool `json:"flips"`
	// Partial says why the comparison is not of the whole request: evidence
	// that is gone, a text that was capped or masked. Empty: it is.
	Partial string `json:"partial,omitempty"`
	// Failed is the kind of error when it could not be judged at all.
	Failed string `json:"failed,omitempty"`
}

// Replay judges the logged refusals again under the present rules and the
// present state, newest first, after the given one, at most limit. It writes
// nothing: it shows what a change of rules would change. Those whose text has
// run out are left out.
func (o *Operator) Replay(ctx context.Context, after tenet.CandidateID, limit int) ([]Replayed, error) {
	hs, err := o.Held(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	var out []Replayed
	for _, h := range hs {
		if h.Candidate.ID == "" {
			continue // the text has run out
		}
		r, err := o.ReplayOne(ctx, h)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// ReplayOne judges one logged refusal again; see Replay.
func (o *Operator) ReplayOne(ctx context.Context, h tenet.Held) (Replayed, error) {
	return o.replayOne(ctx, o.m.gate, h)
}

func (o *Operator) replayOne(ctx context.Context, g *gate.Gate, h tenet.Held) (Replayed, error) {
	r := Replayed{Held: h}
	by, err := tenet.ParsePrincipal(o.scope.Tenant(), h.By)
	if err != nil {
		return r, err
	}
	c := h.Candidate
	c.Scope = o.scope
	k, err := o.m.buildCase(ctx, by, c)
	if err != nil {
		return r, err
	}
	k.At = h.Verdict.At // a clock of its own: "too far in the future" must mean the same
	switch {
	case len(k.Evidence) < len(c.Cites):
		r.Partial = "a cited message is gone"
	case h.State == tenet.HoldRefused && len(c.Text) >= gate.HoldCap-4:
		r.Partial = "the text was capped"
	case masked(h.Verdict):
		r.Partial = "what had to be masked is gone"
	}
	if k.State, err = o.m.ledger.State(ctx, o.scope, g.Query(k), k.At); err != nil {
		return r, err
	}
	d, err := g.Judge(k)
	if err != nil {
		if kind := tenet.KindOf(err); kind == tenet.Unavailable || kind == tenet.Internal {
			return r, err
		}
		r.Failed = tenet.KindOf(err).String()
		return r, nil
	}
	r.Now = d.Verdict()
	r.Flips = r.Now.Outcome != h.Verdict.Outcome
	return r, nil
}

// masked reports whether a verdict's codes are of what no log keeps.
func masked(v tenet.Verdict) bool {
	for _, f := range v.Findings {
		if f.Check == "secret" || f.Check == "pii" {
			return true
		}
	}
	return false
}
