package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// Readmit decides that what this deployment decided before, and gave out in an
// export, stands again as it did: the same records with the same labels, times
// and verdicts. p is the plan of one entry as a ledger's Past tells it. Nothing
// is weighed anew, so nothing rises; the caller has verified the signature of
// the export that p comes from, and only an operator of the tenant may. A ledger
// takes it only where it continues the scope's own past, and turns away what was
// erased since.
func (g *Gate) Readmit(by tenet.Principal, p Plan) (Decision, error) {
	const op = "readmit"
	switch {
	case by.Kind() != tenet.Operator || !by.MayReach(p.Scope):
		return Decision{}, tenet.Errorf(tenet.Denied, op, "only an operator of the tenant may bring back an export")
	case p.Kind == 0 || p.Kind == Import || p.Kind == Cut || p.Kind.String() == "invalid":
		return Decision{}, tenet.Errorf(tenet.Invalid, op, "no kind of decision")
	case p.At.IsZero() || p.At != tenet.Micros(p.At):
		return Decision{}, tenet.Errorf(tenet.Invalid, op, "no time, or one that no ledger stamped")
	}
	if err := g.at.Load().open(op); err != nil {
		return Decision{}, err
	}
	for _, r := range p.Insert {
		if r.ID == "" || r.Scope != p.Scope || r.Tier < tenet.TierFact || r.Tier > tenet.TierDocument || !r.Label.Known() || r.Seen < 1 {
			return Decision{}, tenet.Errorf(tenet.Invalid, op, "a record without an id, tier or label, or of another scope")
		}
	}
	if s := p.Staged; s != nil {
		for _, c := range s.Candidates {
			if c.Scope != p.Scope || c.ID == "" {
				return Decision{}, tenet.Errorf(tenet.Invalid, op, "a staged candidate without an id, or of another scope")
			}
		}
		whole := *s
		whole.Since = p.At
		p.Staged = &whole
	}
	p.Candidate.Scope, p.Candidate.ID = p.Scope, tenet.CandidateID(p.Ref)
	p.Declared = p.Candidate
	if p.Kind == Admit && len(p.Insert) > 0 {
		r := p.Insert[0]
		p.Declared.Tier, p.Declared.Key, p.Declared.Value, p.Declared.Text = r.Tier, r.Key, r.Value, r.Text
	}
	p.Needs, p.Key, p.Erase = Needs{}, nil, nil
	p.Readmitted, p.Quota = true, Quota{}
	g.at.Load().quotas.bound(&p)
	return Decision{&p}, nil
}

// Imported puts on record that an operator brought back an export: its mark and
// how many entries stand again. It writes nothing else.
func (g *Gate) Imported(by tenet.Principal, scope tenet.Scope, mark, why string, at time.Time) (Decision, error) {
	if by.Kind() != tenet.Operator || !by.MayReach(scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "readmit", "only an operator of the tenant may bring back an export")
	}
	return Decision{&Plan{Kind: Import, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: mark, Why: why}}, nil
}

// KindNamed is the kind that a name in the chain stands for; zero when none.
func KindNamed(name string) Kind {
	for k, n := range kindNames {
		if n == name && n != "" {
			return Kind(k)
		}
	}
	return 0
}

// Blank reports whether nothing is left of what an entry wrote, its words
// included: an erasure took all of it.
func (p Plan) Blank() bool {
	return p.Ref == "" && p.Actor == "" && p.Insert == nil && p.Close == nil && p.Agree == nil && p.Evidence == nil && p.Hold == nil &&
		p.Settles == nil && p.Staged == nil && p.Expire == nil && p.Tally == nil && p.Rests == nil && p.Aged == nil && p.Tombs == nil
}

// Supported is the record that the plan's evidence is kept with.
func (p Plan) Supported() tenet.RecordID {
	if p.Verdict.Record == "" && len(p.Insert) > 0 { // an erasure took the verdict's words
		return p.Insert[0].ID
	}
	return p.Verdict.Record
}
