package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// Confirm admits a held candidate on the person's own word, as a new record of
// label user_confirmed that elevates it. Only an end user's principal may: the
// caller has shown it to them, word for word. A rejection and control text
// cannot be confirmed, and what would have consequences becomes an inert note,
// never a fact. What a rule wants an operator to see stays held.
func (g *Gate) Confirm(c Case, held tenet.Held) (Decision, error) {
	if c.By.Kind() != tenet.EndUser || !c.By.MayReach(c.Candidate.Scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "confirm", "only the user may confirm")
	}
	if err := releasable("confirm", c, held); err != nil {
		return Decision{}, err
	}
	if held.Verdict.Effect >= E3.String() {
		return Decision{}, &tenet.Error{Kind: tenet.Refused, Op: "confirm", Reason: "control text cannot be confirmed", Code: first(held.Verdict.Codes)}
	}
	if Inert(held) {
		c.Candidate.Tier, c.Candidate.Key, c.Candidate.Value = tenet.TierNote, "", nil
		c.Candidate.Multi, c.Candidate.Safety, c.Candidate.IfVersion = false, false, ""
	}
	return g.at.Load().judge(c, &elevation{held: held, label: tenet.LabelUserConfirmed, op: "confirm", code: tenet.CodeConfirmed})
}

// Inert reports whether a confirmation of the hold keeps it as a note and not
// as the fact it was offered as.
func Inert(held tenet.Held) bool {
	return held.Verdict.Effect == E2.String() && held.Candidate.Tier == tenet.TierFact
}

// AskFirst decides to put on record that the user is asked about a hold. Slot
// names one of the day's places for a question, so that the ledger bounds how
// many different holds a person is asked about.
func (g *Gate) AskFirst(by tenet.Principal, scope tenet.Scope, held tenet.CandidateID, slot string, at time.Time) (Decision, error) {
	switch by.Kind() {
	case tenet.App, tenet.EndUser, tenet.Operator:
	default:
		return Decision{}, tenet.Errorf(tenet.Denied, "ask", "%s principals may not ask the user", by.Kind())
	}
	if !by.MayReach(scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "ask", "the principal may not act in this scope")
	}
	return Decision{&Plan{Kind: Ask, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: slot, Why: string(held)}}, nil
}

// Aged is a refused candidate whose text has run out.
type Aged struct {
	Candidate tenet.CandidateID
	ExpiresAt time.Time
}

// AgeOut decides to drop the sealed texts of refused candidates that have run
// out. An open hold is expired by it.
func (g *Gate) AgeOut(scope tenet.Scope, due []Aged, at time.Time) (Decision, error) {
	p := &Plan{Kind: Expire, Scope: scope, Actor: "retention", At: tenet.Micros(at), Ref: "quarantine"}
	for _, a := range due {
		if a.ExpiresAt.IsZero() || a.ExpiresAt.After(p.At) {
			return Decision{}, tenet.Errorf(tenet.Invalid, "age out", "a hold that is not due")
		}
		p.Aged = append(p.Aged, a.Candidate)
	}
	if scope.IsZero() || len(p.Aged) == 0 {
		return Decision{}, tenet.Errorf(tenet.Invalid, "age out", "no scope, or nothing is due")
	}
	return Decision{p}, nil
}
