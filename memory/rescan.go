package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Rescanned is a believed record that the present rules would not let in.
type Rescanned struct {
	Record tenet.Record  `json:"record"`
	Now    tenet.Verdict `json:"now"`
}

// Rescan is what the present rules say about everything that is believed.
type Rescan struct {
	RuleSet  string      `json:"ruleset"`
	Judged   int         `json:"judged"`
	Flips    []Rescanned `json:"flips"`
	Withdrew int         `json:"withdrew"` // taken out of belief, when that was asked for
}

// Rescan judges every believed record of the scope by the present rules. With
// apply, what would be held or rejected now leaves belief for quarantine or the
// refusal log, one audited decision a record; an operator may release what is
// held. Records whose text has run out are not judged.
func (o *Operator) Rescan(ctx context.Context, why string, apply bool) (Rescan, error) {
	out := Rescan{RuleSet: o.m.gate.RuleSet(), Flips: []Rescanned{}}
	if o.m.cfg.Governor == nil {
		return out, tenet.Errorf(tenet.Unavailable, "rescan", "the ledger cannot list its records")
	}
	for after := tenet.RecordID(""); ; {
		page, err := o.m.cfg.Governor.Records(ctx, o.scope, after, 500)
		if err != nil || len(page) == 0 {
			return out, err
		}
		after = page[len(page)-1].ID
		for _, r := range page {
			if !r.Known.Open() || r.Expired {
				continue
			}
			out.Judged++
			d, ok, err := o.m.gate.Rescan(o.by, r, tenet.CandidateID("rescan-"+newID()), why, o.m.now())
			if err != nil {
				return out, err
			}
			if ok {
				continue
			}
			out.Flips = append(out.Flips, Rescanned{r, d.Verdict()})
			if !apply {
				continue
			}
			_, err = o.m.ledger.Apply(ctx, []gate.Decision{d}, nil)
			if tenet.KindOf(err) == tenet.Conflict {
				continue // somebody closed it meanwhile
			}
			if err != nil {
				return out, err
			}
			out.Withdrew++
		}
	}
}

// RuleSet is the digest of the rules that judge now.
func (o *Operator) RuleSet() string { return o.m.gate.RuleSet() }
