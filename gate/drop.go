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
	at = tenet.Micros(at)
	kept := tenet.Candidate{ID: c.ID, Scope: c.Scope, Tier: c.Tier, Session: c.Session, Text: "[" + string(tenet.CodeDropped) + "]", ProposedBy: c.ProposedBy, ProposedAt: c.ProposedAt}
	return Decision{&Plan{
		Kind: Refuse, Scope: c.Scope, Actor: by.String(), At: at, Ref: string(c.ID), Candidate: kept, Declared: c,
		Verdict: tenet.Verdict{
			Candidate: c.ID, Outcome: tenet.Rejected, Tier: c.Tier, Effect: E0.String(), Codes: []tenet.Code{tenet.CodeDropped}, RuleSet: g.RuleSet(), At: at,
		},
		Hold: &Hold{State: tenet.HoldRefused, Text: kept.Text, Masked: true, ExpiresAt: at.Add(HoldFor)},
	}}, nil
}
