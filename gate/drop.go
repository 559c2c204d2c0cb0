package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// SkipStretch decides that a stretch of a session is not extracted: the cursor
// moves over it, and the entry says who wanted it and why.
func (g *Gate) SkipStretch(by tenet.Principal, scope tenet.Scope, s Staged, why string, at time.Time) (Decision, error) {
	if by.Kind() != tenet.Operator || !by.MayReach(scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "drop", "only an operator of the tenant may drop")
	}
	s.Candidates, s.Cited = nil, nil
	d, err := g.StageBatch(scope, s, at)
	if err == nil {
		d.plan.Actor, d.plan.Why = by.String(), why
	}
	return d, err
}

// Dropped refuses a proposal that was never judged, because its session was
// given up. The log keeps none of its text: no rule has looked at it.
func (g *Gate) Dropped(by tenet.Principal, c tenet.Candidate, at time.Time) (Decision, error) {
	if by.Kind() != tenet.Operator || !by.MayReach(c.Scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "drop", "only an operator of the tenant may drop")
	}
	return g.unjudged(by.String(), c, tenet.CodeDropped, at), nil
}

// Unjudged refuses a proposal that was accepted and can never be judged, so
// that whoever waits for its verdict finds one. No text is kept.
func (g *Gate) Unjudged(c tenet.Candidate, code tenet.Code, at time.Time) (Decision, error) {
	if c.ID == "" || c.Scope.IsZero() || code == "" {
		return Decision{}, tenet.Errorf(tenet.Invalid, "unjudged", "no candidate or no code")
	}
	return g.unjudged(c.ProposedBy, c, code, at), nil
}

func (g *Gate) unjudged(actor string, c tenet.Candidate, code tenet.Code, at time.Time) Decision {
	at = tenet.Micros(at)
	kept := tenet.Candidate{ID: c.ID, Scope: c.Scope, Tier: c.Tier, Session: c.Session, Text: "[" + string(code) + "]", ProposedBy: c.ProposedBy, ProposedAt: c.ProposedAt}
	return Decision{&Plan{
		Kind: Refuse, Scope: c.Scope, Actor: actor, At: at, Ref: string(c.ID), Candidate: kept, Declared: c,
		Verdict: tenet.Verdict{
			Candidate: c.ID, Outcome: tenet.Rejected, Tier: c.Tier, Effect: E0.String(), Codes: []tenet.Code{code}, RuleSet: g.RuleSet(), At: at,
		},
		Hold: &Hold{State: tenet.HoldRefused, Text: kept.Text, Masked: true, ExpiresAt: at.Add(HoldFor)},
	}}
}
