package gate

import (
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
	if err := b.open(op); err != nil {
		return Decision{}, false, err
	}
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
	var w weighing
	// The floor as it is now; what it cites was there when it was stored, and the
	// log may be gone since.
	uncited := c
	uncited.Cites = nil
	w.add(floor(Case{Candidate: uncited, At: at}, b.limits)...)
	w.ask(b.rules, Proposal{author, c, rec.Label, at, rec.Text}, seen, true)
	base := weigh(rec.Tier, rec.Label, w.effect, w.persists, w.negated)
	if base == hold && seen {
		base = allow
	}
	if rec.Tier == tenet.TierFact && rec.Label < tenet.LabelUserStated {
		base = allow // a connector's own key let it in; whose it is has not changed
		if w.effect > E0 {
			base = weigh(rec.Tier, rec.Label, w.effect, w.persists, w.negated)
		}
	}
	if w.base(rec.Label, base); w.worst == allow {
		return Decision{}, true, nil
	}
	v := tenet.Verdict{
		Candidate: id, Replaced: rec.ID, Tier: rec.Tier, Label: rec.Label, Effect: w.effect.String(), RuleSet: b.ruleset, At: at,
	}
	w.tell(&v)
	v.Codes = append(v.Codes, tenet.CodeRescanned)
	p := &Plan{
		Scope: rec.Scope, Actor: by.String(), At: at, Ref: string(id), Why: why, Candidate: c, Declared: c,
		Close: []Close{{Record: rec.ID, Reason: tenet.ClosedRevoked}},
	}
	w.refuse(p, &v, at)
	p.Verdict = v
	return Decision{p}, false, nil
}
