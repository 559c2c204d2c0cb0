package gate

import (
	"bytes"
	"time"

	"github.com/tenet-memory/tenet"
)

// Release admits a held candidate on an operator's decision, as a new record
// of label operator that elevates it; its origins stay. What the control-plane
// rules stop cannot be released.
func (g *Gate) Release(c Case, held tenet.Held) (Decision, error) {
	if c.By.Kind() != tenet.Operator || !c.By.MayReach(c.Candidate.Scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "release", "only an operator of the tenant may release")
	}
	if err := releasable("release", c, held); err != nil {
		return Decision{}, err
	}
	return g.at.Load().judge(c, &elevation{held: held, label: tenet.LabelOperator, op: "release", code: tenet.CodeReleased, waives: true})
}

// elevation is a held candidate on its way to a higher label.
type elevation struct {
	held   tenet.Held
	label  tenet.Label
	op     string
	code   tenet.Code
	waives bool // what a rule asked to hold, somebody has now looked at
}

// releasable returns why a hold cannot be elevated by the case.
func releasable(op string, c Case, held tenet.Held) error {
	if held.State != tenet.HoldOpen {
		return tenet.Errorf(tenet.Conflict, op, "the hold is %s, not open", held.State)
	}
	if !c.At.Before(held.ExpiresAt) {
		return tenet.Errorf(tenet.Conflict, op, "the hold has run out and its text with it")
	}
	if err := c.Candidate.Check(); err != nil {
		return err
	}
	was, is := held.Candidate, c.Candidate
	if was.Tier == 0 { // the operator names what the extractor could not
		was.Tier, was.Key = is.Tier, is.Key
	}
	if is.ID == held.Verdict.Candidate || is.Tier != was.Tier || is.Key != was.Key || is.Text != was.Text || !bytes.Equal(is.Value, was.Value) {
		return tenet.Errorf(tenet.Invalid, op, "it must be a new candidate with the held one's content")
	}
	return nil
}

// Discard settles an open hold without admitting it.
func (g *Gate) Discard(by tenet.Principal, scope tenet.Scope, held tenet.Held, why string, at time.Time) (Decision, error) {
	if by.Kind() != tenet.Operator || !by.MayReach(scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "discard", "only an operator of the tenant may discard")
	}
	if held.State != tenet.HoldOpen {
		return Decision{}, tenet.Errorf(tenet.Conflict, "discard", "the hold is %s, not open", held.State)
	}
	return Decision{&Plan{
		Kind: Settle, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: string(held.Verdict.Candidate), Why: why,
		Settles: &Settlement{held.Verdict.Candidate, tenet.HoldDiscarded},
		Tombs:   rejection(held),
	}}, nil
}
