package gate_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// findings is a rule that always says the same.
type findings []gate.Finding

func (findings) Version() string                      { return "fixed" }
func (f findings) Check(gate.Proposal) []gate.Finding { return f }

func heldBy(t *testing.T, g *gate.Gate, kind tenet.PrincipalKind) (gate.Case, tenet.Held) {
	t.Helper()
	s, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	by, _ := tenet.NewPrincipal(kind, "acme", "x")
	c := tenet.Fact(s, "city", "Lisbon").Quoting("Lisbon")
	c.ID = "c"
	k := gate.Case{By: by, Candidate: c, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	d, err := g.Judge(k)
	if err != nil || d.Verdict().Outcome != tenet.Quarantined {
		t.Fatalf("not held: %v %v", d.Verdict(), err)
	}
	p := d.Plan()
	k.Candidate.ID = "c/up"
	return k, tenet.Held{Verdict: d.Verdict(), Candidate: p.Candidate, State: p.Hold.State, ExpiresAt: p.Hold.ExpiresAt}
}

// TestWhoMayWaiveWhat: an operator has looked at what a rule wanted looked at;
// a user has not, and nobody waives a rejection.
func TestWhoMayWaiveWhat(t *testing.T) {
	wants := gate.Finding{Finding: tenet.Finding{Check: "tenant", Code: "RULE:x"}, Hold: true}
	operator, _ := tenet.NewPrincipal(tenet.Operator, "acme", "olga")
	user, _ := tenet.NewPrincipal(tenet.EndUser, "acme", "sarah")
	agent, _ := tenet.NewPrincipal(tenet.Agent, "acme", "bot")
	plain, ruled := gate.New(nil), gate.New([]gate.Rule{findings{wants}})
	reject := wants
	reject.Hold, reject.Reject = false, true
	refusing := gate.New([]gate.Rule{findings{reject}})
	as := func(k gate.Case, by tenet.Principal) gate.Case { k.By = by; return k }

	k, h := heldBy(t, plain, tenet.Agent)
	for name, c := range map[string]struct {
		do   func() (gate.Decision, error)
		want tenet.Kind
	}{
		"an operator releases a hold of the matrix": {func() (gate.Decision, error) { return plain.Release(as(k, operator), h) }, tenet.NoError},
		"a user confirms it":                        {func() (gate.Decision, error) { return plain.Confirm(as(k, user), h) }, tenet.NoError},
		"an operator releases what a rule holds":    {func() (gate.Decision, error) { return ruled.Release(as(k, operator), h) }, tenet.NoError},
		"a user confirms what a rule holds":         {func() (gate.Decision, error) { return ruled.Confirm(as(k, user), h) }, tenet.Refused},
		"an operator releases what a rule rejects":  {func() (gate.Decision, error) { return refusing.Release(as(k, operator), h) }, tenet.Refused},
		"an agent confirms":                         {func() (gate.Decision, error) { return plain.Confirm(as(k, agent), h) }, tenet.Denied},
		"an operator confirms":                      {func() (gate.Decision, error) { return plain.Confirm(as(k, operator), h) }, tenet.Denied},
		"a user confirms other words":               {func() (gate.Decision, error) { x := as(k, user); x.Candidate.Text = "Oslo"; return plain.Confirm(x, h) }, tenet.Invalid},
		"a user confirms what ran out":              {func() (gate.Decision, error) { x := as(k, user); x.At = h.ExpiresAt; return plain.Confirm(x, h) }, tenet.Conflict},
		"a user confirms control text":              {func() (gate.Decision, error) { x := h; x.Verdict.Effect = "E3"; return plain.Confirm(as(k, user), x) }, tenet.Refused},
		"a user confirms what was erased before": {func() (gate.Decision, error) {
			x := as(k, user)
			x.State.Blocked.Erased = x.At
			return plain.Confirm(x, h)
		}, tenet.Refused},
		"an operator releases what was erased": {func() (gate.Decision, error) {
			x := as(k, operator)
			x.State.Blocked.Erased = x.At.Add(-time.Hour)
			return plain.Release(x, h)
		}, tenet.Refused},
		"a user confirms what an agent was refused": {func() (gate.Decision, error) {
			x := as(k, user)
			x.State.Blocked.Rejected = tenet.LabelUserStated
			return plain.Confirm(x, h)
		}, tenet.NoError},
		"a user confirms what an operator is denied": {func() (gate.Decision, error) {
			x := as(k, user)
			x.State.Blocked.Rejected = tenet.LabelOperator
			return plain.Confirm(x, h)
		}, tenet.Refused},
	} {
		if _, err := c.do(); tenet.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	d, err := plain.Confirm(as(k, user), h)
	if err != nil || d.Verdict().Label != tenet.LabelUserConfirmed || d.Plan().Insert[0].Elevates != "c" {
		t.Errorf("confirmed: %+v %v", d.Verdict(), err)
	}
}

// TestObjectionsOnlyHold: a classifier's codes hold what would pass and change
// nothing about what would not.
func TestObjectionsOnlyHold(t *testing.T) {
	s, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "x")
	for text, want := range map[string]tenet.Outcome{"Lisbon": tenet.Quarantined, "": tenet.Rejected} {
		c := tenet.Fact(s, "city", text).Quoting("Lisbon")
		c.ID = "c"
		d, err := gate.New(nil).Judge(gate.Case{By: app, Candidate: c, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Objections: []tenet.Code{"CLASSIFIER:m"}})
		if err != nil || d.Verdict().Outcome != want {
			t.Errorf("%q: %v %v", text, d.Verdict().Outcome, err)
		}
	}
}

// TestTheSameCaseGivesTheSameBytes over random cases and states.
func TestTheSameCaseGivesTheSameBytes(t *testing.T) {
	s, _ := tenet.NewScope("acme", tenet.User("sarah"))
	g := gate.New(nil)
	rapid.Check(t, func(rt *rapid.T) {
		kind := tenet.PrincipalKind(rapid.IntRange(1, 5).Draw(rt, "kind"))
		by, _ := tenet.NewPrincipal(kind, "acme", "x")
		c := tenet.Candidate{
			ID: "c", Scope: s, Tier: tenet.Tier(rapid.IntRange(0, 4).Draw(rt, "tier")), Key: rapid.SampledFrom([]string{"", "city", "a.b"}).Draw(rt, "key"),
			Text: rapid.String().Draw(rt, "text"), Quote: rapid.String().Draw(rt, "quote"),
		}
		k := gate.Case{By: by, Candidate: c, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
		k.State.Blocked = gate.Block{Rejected: tenet.Label(rapid.IntRange(0, 6).Draw(rt, "rejected"))}
		first, err := g.Judge(k)
		if err != nil {
			rt.Skip(err)
		}
		again, _ := g.Judge(k)
		a, _ := json.Marshal(first.Plan())
		b, _ := json.Marshal(again.Plan())
		if !bytes.Equal(a, b) {
			rt.Fatalf("%s\n%s", a, b)
		}
		if b := k.State.Blocked; b.Rejected >= first.Verdict().Label && b.Rejected != 0 && first.Verdict().Outcome.Kept() && c.Op == tenet.OpAssert {
			rt.Fatalf("kept at %v what was rejected at %v", first.Verdict().Label, b.Rejected)
		}
	})
}

// TestAWordInsideAnotherProvesNothing: the short way of the span proof asks for
// whole words, like the long one.
func TestAWordInsideAnotherProvesNothing(t *testing.T) {
	s, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "x")
	for _, c := range []struct {
		text, quote string
		want        tenet.Label
	}{
		{"cat", "I concatenate strings", tenet.LabelAgentInferred}, {"12", "At 12:30 sharp", tenet.LabelAgentInferred},
		{"no nuts", "I ate no nutshells", tenet.LabelAgentInferred}, {"cat", "my cat is old", tenet.LabelUserStated},
		{"yes", "yes", tenet.LabelAgentInferred}, {"Severe shellfish", "Severe shellfish\nallergy", tenet.LabelUserStated},
	} {
		cand := tenet.Fact(s, "pet", c.text).Quoting(c.quote)
		cand.ID = "c"
		d, err := gate.New(nil).Judge(gate.Case{By: app, Candidate: cand, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)})
		if err != nil || d.Verdict().Label != c.want {
			t.Errorf("%q from %q: %v %v, want %v", c.text, c.quote, d.Verdict().Label, err, c.want)
		}
	}
}
