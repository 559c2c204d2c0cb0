package cel

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

func judge(t *testing.T, r *Rules, c func(*tenet.Candidate)) tenet.Verdict {
	t.Helper()
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "app")
	cand := tenet.Fact(scope, "plan", "Gold plan").Quoting("Gold plan")
	cand.ID = "c"
	c(&cand)
	d, err := gate.New([]gate.Rule{r}).Judge(gate.Case{By: app, Candidate: cand, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return d.Verdict()
}

func TestTenantRulesObjectAndNeverAdmit(t *testing.T) {
	for _, c := range []struct {
		rule   Rule
		change func(*tenet.Candidate)
		want   tenet.Outcome
		code   tenet.Code
	}{
		{Rule{"gold", `text.contains("Gold")`, false}, nil, tenet.Quarantined, "RULE:gold"},
		{Rule{"gold", `text.contains("Gold") && trust < 4`, false}, nil, tenet.Stored, ""},
		{Rule{"plan", `key.startsWith("plan") && tier == "fact" && by == "app" && label == "user_stated"`, true}, nil, tenet.Rejected, "RULE:plan"},
		{Rule{"seats", `has(value.seats) && value.seats > 5.0`, true}, func(c *tenet.Candidate) {
			c.Value = json.RawMessage(`{"seats":9}`)
			c.Quote = "Gold plan {\"seats\":9}"
		}, tenet.Rejected, "RULE:seats"},
		{Rule{"broken", `value.seats > 5.0`, true}, nil, tenet.Quarantined, "RULE_FAILED:broken"}, // no value: fail closed
		{Rule{"costly", `[1,2,3,4,5,6,7,8,9].exists(x, [1,2,3,4,5,6,7,8,9].exists(y, [1,2,3,4,5,6,7,8,9].exists(z, [1,2,3,4,5,6,7,8,9].exists(w, text.contains("q" + string(x*y*z*w))))))`, true},
			func(c *tenet.Candidate) { c.Text = "b " + strings.Repeat("ab ", 1900); c.Quote = c.Text }, tenet.Quarantined, "RULE_FAILED:costly"},
		{Rule{"admit", `false`, true}, func(c *tenet.Candidate) { c.Quote = "" }, tenet.Rejected, tenet.CodeNoProvenance},
	} {
		r, err := New([]Rule{c.rule})
		if err != nil {
			t.Fatal(err)
		}
		if c.change == nil {
			c.change = func(*tenet.Candidate) {}
		}
		v := judge(t, r, c.change)
		if v.Outcome != c.want || c.code != "" && (len(v.Codes) == 0 || v.Codes[0] != c.code) {
			t.Errorf("%s: %v %v, want %v %s", c.rule.When, v.Outcome, v.Codes, c.want, c.code)
		}
	}
}

func TestUnusableRulesAreErrorsWithAPlace(t *testing.T) {
	for what, rs := range map[string][]Rule{
		"no name": {{"", "true", false}}, "bad name": {{"A b", "true", false}}, "twice": {{"a", "true", false}, {"a", "true", false}},
		"empty": {{"a", "", false}}, "syntax": {{"a", "text ==", false}}, "type": {{"a", "text", false}}, "unknown": {{"a", "nothing == 1", false}},
		"too long": {{"a", strings.Repeat("true&&", 1000) + "true", false}}, "too many": make([]Rule, 65),
	} {
		if _, err := New(rs); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheVersionFollowsTheRules(t *testing.T) {
	a, _ := New([]Rule{{"a", "true", false}})
	b, _ := New([]Rule{{"a", "true", true}})
	c, _ := New([]Rule{{"a", "true", false}})
	if a.Version() == b.Version() || a.Version() != c.Version() {
		t.Error(a.Version(), b.Version(), c.Version())
	}
}
