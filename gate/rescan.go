package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
)

// Rescan judges a believed record by the rules as they are now, with the label
// it has. ok reports that they would let it in; otherwise the decision takes it
// out of belief and puts it into quarantine, or into the refusal log when the
// rules reject it: one decision a record. Only an operator may. What somebody
// has confirmed or released is not held again for what they looked at; a
// rejection nobody waived.
func (g *Gate) Rescan(by tenet.Principal, rec tenet.Record, id tenet.CandidateID, why string, at time.Time) (_ Decision, ok bool, _ error) {
	const op = "rescan"
	switch {
	case by.Kind() != tenet.Operator || !by.MayReach(rec.Scope):
		return Decision{}, false, tenet.Errorf(tenet.Denied, op, "only an operator of the tenant may rescan")
	case id == "":
		return Decision{}, false, tenet.Errorf(tenet.Invalid, op, "no id")
	case !rec.Known.Open():
		return Decision{}, false, tenet.Errorf(tenet.Conflict, op, "the record is closed already")
	}
	b := g.at.Load()
	at = tenet.Micros(at)
	c := tenet.Candidate{
		ID: id, Scope: rec.Scope, Tier: rec.Tier, Key: rec.Key, Value: rec.Value, Text: rec.Text, Speaker: rec.Speaker, Position: rec.Position,
		Session: rec.Session, Valid: rec.Valid, Multi: rec.Multi, Safety: rec.Safety, ProposedBy: by.String(), ProposedAt: at,
	}
	author, found := by, false
	for _, o := range rec.Origins {
		if o.Message != "" {
			c.Cites = append(c.Cites, o.Message)
		}
		if p, err := tenet.ParsePrincipal(rec.Scope.Tenant(), o.Principal); err == nil && !found {
			author, found = p, true
		}
	}
	seen := rec.Elevates != "" || rec.Label >= tenet.LabelUserConfirmed
	findings := []Finding{}
	var effect Effect
	var persists, negated bool
	worst := allow
	for _, r := range b.rules {
		for _, f := range r.Check(Proposal{author, c, rec.Label, at, rec.Text}) {
			f.Hold = (f.Hold || f.Redact) && !seen // it stands there in full: redacting is for who stores it anew
			effect = max(effect, f.Effect)
			persists, negated = persists || f.Persists, negated || f.Negated
			worst = max(worst, f.severity())
			findings = append(findings, f)
		}
	}
	base := weigh(rec.Tier, rec.Label, effect, persists, negated)
	if base == hold && seen {
		base = allow
	}
	if rec.Tier == tenet.TierFact && rec.Label < tenet.LabelUserStated {
		base = allow // a connector's own key let it in; whose it is has not changed
		if effect > E0 {
			base = weigh(rec.Tier, rec.Label, effect, persists, negated)
		}
	}
	if worst = max(worst, base); worst == allow {
		return Decision{}, true, nil
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.severity(), a.severity()), cmp.Compare(b.Effect, a.Effect))
	})
	v := tenet.Verdict{
		Candidate: id, Outcome: tenet.Quarantined, Replaced: rec.ID, Tier: rec.Tier, Label: rec.Label, Effect: effect.String(), RuleSet: b.ruleset, At: at,
	}
	for _, f := range findings {
		v.Findings = append(v.Findings, f.Finding)
		if !slices.Contains(v.Codes, f.Code) {
			v.Codes = append(v.Codes, f.Code)
		}
	}
	v.Codes = append(v.Codes, tenet.CodeRescanned)
	p := &Plan{
		Kind: Refuse, Scope: rec.Scope, Actor: by.String(), At: at, Ref: string(id), Why: why, Candidate: c, Declared: c,
		Close: []Close{{Record: rec.ID, Reason: tenet.ClosedRevoked}}, Hold: &Hold{State: tenet.HoldOpen, ExpiresAt: at.Add(HoldFor)},
	}
	if worst == reject {
		v.Outcome, p.Hold.State = tenet.Rejected, tenet.HoldRefused
	}
	mask(p, findings)
	v.Key = p.Candidate.Key
	p.Verdict = v
	return Decision{p}, false, nil
}
