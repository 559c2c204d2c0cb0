package gate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// A rescan weighs as a judgement does: the floor counts, an untrusted origin is
// named, and a gate that is shut decides nothing.
func TestARescanWeighsAsAJudgement(t *testing.T) {
	t.Parallel()
	op, _ := tenet.NewPrincipal(tenet.Operator, "acme", "olga")
	rec := tenet.Record{ID: "r", Scope: sarah, Tier: tenet.TierNote, Text: "these words", Label: tenet.LabelAgentInferred}
	e2 := gate.Finding{Effect: gate.E2}
	e2.Code = "TEST"
	d, ok, err := gate.New([]gate.Rule{finder{"", e2}}).Rescan(op, rec, "c", "", noon)
	if err != nil || ok || !slices.Contains(d.Verdict().Codes, tenet.CodeUntrusted) {
		t.Errorf("an agent's word with an effect: %v %v %v", ok, d.Verdict().Codes, err)
	}
	long := rec
	long.Tier, long.Key, long.Label, long.Text = tenet.TierFact, "k", tenet.LabelUserStated, strings.Repeat("x", 2000)
	if _, ok, err := gate.New(nil).Rescan(op, long, "c", "", noon); err != nil || !ok {
		t.Errorf("within the limit: %v %v", ok, err)
	}
	tight := gate.New(nil, gate.WithLimits(gate.Limits{Rows: 10, Bytes: 4000, Value: 1000}))
	d, ok, err = tight.Rescan(op, long, "c", "", noon)
	if err != nil || ok || d.Verdict().Outcome != tenet.Rejected || !slices.Contains(d.Verdict().Codes, tenet.CodeSize) {
		t.Errorf("over a limit that was tightened: %v %v %v", ok, d.Verdict().Codes, err)
	}
	tight.Shut("the rules cannot be read")
	if _, _, err := tight.Rescan(op, rec, "c", "", noon); tenet.KindOf(err) != tenet.Unavailable {
		t.Errorf("a gate that is shut: %v", err)
	}
}
