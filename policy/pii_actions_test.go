package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// What the table says for a category in a tier is what happens, through the
// gate, for every category, tier and action; what is redacted or rejected
// stands in no row that the decision would write.
func TestEveryPIIActionInEveryTier(t *testing.T) {
	t.Parallel()
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "app")
	samples := map[Category][2]string{ // the text, and what of it is personal
		Email: {"Write to me at sarah@example.com from Monday.", "sarah@example.com"},
		Phone: {"My phone number is +44 20 7946 0958 at home.", "7946"}, Address: {"I moved to 12 Baker Street last week.", "Baker"},
		GovernmentID: {"My ssn is 123-45-6789 by the way.", "123-45-6789"}, Card: {"I pay with 4111 1111 1111 1111 mostly.", "1111"},
		IBAN:      {"My account is DE89 3704 0044 0532 0130 00 now.", "3704"},
		BirthDate: {"I was born on 3 April 1990 in Rome.", "1990"}, Geo: {"The cabin is at 47.3769, 8.5417 in the hills.", "8.5417"},
		IP: {"My server is 192.168.17.20 at home.", "192.168"}, Health: {"I have diabetes since May.", "diabetes"},
	}
	tiers := []tenet.Tier{tenet.TierFact, tenet.TierNote, tenet.TierEpisode, tenet.TierDocument}
	for _, tier := range tiers {
		for action, want := range map[Action]tenet.Outcome{Allow: tenet.Stored, RedactSpan: tenet.Stored, Hold: tenet.Quarantined, Reject: tenet.Rejected} {
			var rules []PIIRule
			for _, cat := range categories {
				rules = append(rules, PIIRule{Category: cat, Tier: tier, Action: action})
			}
			p, err := New(Config{PII: rules})
			if err != nil {
				t.Fatal(err)
			}
			g := gate.New([]gate.Rule{p})
			for _, cat := range categories {
				text, private := samples[cat][0], samples[cat][1]
				c := tenet.Candidate{ID: "c", Scope: scope, Tier: tier, Key: "memo", Text: text, Quote: text}
				if tier == tenet.TierFact {
					c.Value, _ = json.Marshal(text)
				}
				d, err := g.Judge(gate.Case{By: app, Candidate: c, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)})
				if err != nil {
					t.Fatal(err)
				}
				v, plan := d.Verdict(), d.Plan()
				if v.Outcome != want || !slices.Contains(v.Codes, tenet.Code("PII:"+cat)) {
					t.Errorf("%s %s %s: %v %v, want %v", cat, tier, action, v.Outcome, v.Codes, want)
				}
				rows := plan.Candidate.Text + string(plan.Candidate.Value) + plan.Candidate.Quote
				for _, r := range plan.Insert {
					rows += r.Text + string(r.Value) + r.Signature
				}
				for _, e := range plan.Evidence {
					rows += e.Excerpt
				}
				if plan.Hold != nil {
					rows += plan.Hold.Text
				}
				if left := strings.Contains(rows, private); left != (action == Allow || action == Hold) {
					t.Errorf("%s %s %s: what would be written holds the text: %v\n%s", cat, tier, action, left, rows)
				}
				if action != RedactSpan {
					continue
				}
				if r := plan.Insert[0]; !strings.Contains(r.Text, "[PII:"+string(cat)+"]") || !slices.Contains(v.Codes, tenet.CodeRedacted) ||
					!strings.HasPrefix(r.Text, text[:3]) || strings.Contains(string(r.Value), private) {
					t.Errorf("%s %s: %q %s %v", cat, tier, r.Text, r.Value, v.Codes)
				}
				// In another tier the same rule says nothing.
				c.Tier = tiers[(slices.Index(tiers, tier)+1)%len(tiers)]
				d, err = g.Judge(gate.Case{By: app, Candidate: c, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)})
				if err != nil || slices.Contains(d.Verdict().Codes, tenet.CodeRedacted) {
					t.Errorf("%s: the rule for %s speaks of %s: %v %v", cat, tier, c.Tier, d.Verdict().Codes, err)
				}
			}
		}
	}
}

// Personal data in the value or the quote alone has no span in the text:
// redaction would have nothing to replace, so it is held, and a rejection is
// one.
func TestPIIInAValueIsNotOverlooked(t *testing.T) {
	t.Parallel()
	for action, want := range map[Action][3]bool{RedactSpan: {true, false, true}, Reject: {false, true, true}, Hold: {true, false, false}, Allow: {}} {
		p, err := New(Config{PII: []PIIRule{{Category: Phone, Action: action}, {Category: Card, Action: action}, {Category: Email, Action: action}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			code               tenet.Code
			value, quote, text string
		}{
			{"PII:phone", `{"tel":"+44 20 7946 0958"}`, "", "how to reach me"},
			{"PII:card", `["4111 1111 1111 1111"]`, "", "how to reach me"},
			{"PII:phone", "", "call +44 20 7946 0958 then", "how to reach me"},
			{"PII:email", "", "sarah@example.com, in short", "how to reach me"},
			{"PII:card", "", "4111 1111 1111 1111", "how to reach me"},
			// One address is in the text, another is not.
			{"PII:email", `["a@example.com","b@example.com"]`, "", "write to a@example.com"},
			{"PII:email", "", "write to a@example.com or b@example.com", "write to a@example.com"},
		} {
			pr := proposal("contact", c.text)
			pr.Candidate.Value, pr.Candidate.Quote = json.RawMessage(c.value), c.quote
			found := false
			for _, f := range p.Check(pr) {
				if f.Code != c.code || f.Detail == "" {
					continue
				}
				found = true
				if got := [3]bool{f.Hold, f.Reject, f.Mask}; got != want || f.Redact {
					t.Errorf("%s %s in %s%s: hold, reject, mask %v, want %v", c.code, action, c.value, c.quote, got, want)
				}
			}
			if !found {
				t.Errorf("%s %s in %s%s is not found", c.code, action, c.value, c.quote)
			}
		}
	}
}

// A typed fact whose value is the address that its text holds is redacted in
// both: the words have a span, so nothing is held.
func TestAValueThatTheTextHoldsIsRedactedWithIt(t *testing.T) {
	t.Parallel()
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "app")
	p, err := New(Config{PII: []PIIRule{{Category: Email, Action: RedactSpan}, {Category: Card, Action: RedactSpan}, {Category: Phone, Action: RedactSpan}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, value, private, want string }{
		{"Write to me at sarah@example.com from Monday", `"sarah@example.com"`, "sarah@", `"[PII:email]"`},
		{"I pay with 4111 1111 1111 1111 mostly", `"4111 1111 1111 1111"`, "4111", `"[PII:card]"`},
		{"My phone number is +44 20 7946 0958 at home", `["+44 20 7946 0958"]`, "7946", `["[PII:phone]"]`},
	} {
		pr := proposal("memo", c.text)
		pr.Candidate.Value, pr.Candidate.Quote = json.RawMessage(c.value), "They said: "+c.text
		for _, f := range p.Check(pr) {
			if f.Hold {
				t.Errorf("%s and a longer quote: %+v", c.value, f)
			}
		}
		d, err := gate.New([]gate.Rule{p}).Judge(gate.Case{By: app, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
			Candidate: tenet.Candidate{ID: "c", Scope: scope, Tier: tenet.TierFact, Key: "memo", Text: c.text, Value: json.RawMessage(c.value), Quote: c.text}})
		if err != nil {
			t.Fatal(err)
		}
		plan := d.Plan()
		if d.Verdict().Outcome != tenet.Stored || len(plan.Insert) != 1 {
			t.Errorf("%s: %v %v", c.value, d.Verdict().Outcome, d.Verdict().Findings)
			continue
		}
		r := plan.Insert[0]
		if string(r.Value) != c.want || strings.Contains(r.Text+string(r.Value)+plan.Candidate.Quote, c.private) {
			t.Errorf("%s: kept %s, %q, %q", c.value, r.Value, r.Text, plan.Candidate.Quote)
		}
	}
}
