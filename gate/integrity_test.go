package gate_test

import (
	"slices"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestALowerLabelNeitherReplacesNorEndsNorRetractsAHigherOne: it is held beside
// it, and nothing of the higher record is touched.
func TestALowerLabelNeitherReplacesNorEndsNorRetractsAHigherOne(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]tenet.Op{"another value": tenet.OpAssert, "an end": tenet.OpEnd, "a retraction": tenet.OpRetract} {
		c := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Fact(sarah, "city", "Rome").Quoting("Rome")}
		c.Candidate.ID, c.Candidate.Op = "c", op
		higher := tenet.Record{
			ID: "r", Scope: sarah, Tier: tenet.TierFact, Key: "city", Value: []byte(`"Berlin"`), Text: "Berlin", Label: tenet.LabelOperator,
			Valid: tenet.Interval{From: noon.AddDate(-1, 0, 0)}, Known: tenet.Interval{From: noon.AddDate(-1, 0, 0)}, Seen: 1, Signature: `v "Berlin"`,
		}
		if op != tenet.OpAssert {
			c.Candidate.Value, c.Candidate.Text = nil, "Rome"
		}
		c.State.Open = []tenet.Record{higher}
		d, err := gate.New(nil).Judge(c)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Plan()
		if p.Verdict.Outcome != tenet.Quarantined || !slices.Contains(p.Verdict.Codes, tenet.CodeLowerIntegrity) || p.Close != nil || p.Insert != nil {
			t.Errorf("%s: %v %v, closes %v", name, p.Verdict.Outcome, p.Verdict.Codes, p.Close)
		}
	}
}
