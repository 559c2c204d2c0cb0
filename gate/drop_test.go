package gate_test

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestWhatCanNeverBeJudgedIsRefused: the decision refuses the proposal under its
// own id and author, with the code, and keeps none of its text; without an id, a
// scope or a code there is none.
func TestWhatCanNeverBeJudgedIsRefused(t *testing.T) {
	s, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	g, at := gate.New(nil), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	c := tenet.Fact(s, "pin", "my pin is 1234").Quoting("my pin is 1234")
	c.ID, c.Session, c.ProposedBy, c.Cites = "mine", "chat", "agent:bot", []tenet.MessageID{"m"}
	d, err := g.Unjudged(c, "CONFLICT", at)
	if err != nil {
		t.Fatal(err)
	}
	v, p := d.Verdict(), d.Plan()
	if v.Candidate != "mine" || v.Outcome != tenet.Rejected || v.Record != "" || len(v.Codes) != 1 || v.Codes[0] != "CONFLICT" || v.Tier != tenet.TierFact || v.RuleSet != g.RuleSet() || !v.At.Equal(at) {
		t.Errorf("the verdict: %+v", v)
	}
	if p.Kind != gate.Refuse || p.Scope != s || p.Actor != "agent:bot" || p.Ref != "mine" || p.Candidate.Session != "chat" {
		t.Errorf("the plan: %+v", p)
	}
	if k := p.Candidate; k.Text != "[CONFLICT]" || k.Key != "" || k.Quote != "" || len(k.Cites) > 0 || k.Value != nil || p.Hold.Text != k.Text || !p.Hold.Masked || p.Hold.State != tenet.HoldRefused {
		t.Errorf("what no rule has read is kept: %+v %+v", k, p.Hold)
	}
	for name, bad := range map[string]func(*tenet.Candidate) tenet.Code{
		"no id":    func(c *tenet.Candidate) tenet.Code { c.ID = ""; return "CONFLICT" },
		"no scope": func(c *tenet.Candidate) tenet.Code { c.Scope = tenet.Scope{}; return "CONFLICT" },
		"no code":  func(*tenet.Candidate) tenet.Code { return "" },
	} {
		x := c
		if _, err := g.Unjudged(x, bad(&x), at); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
