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

// Personal data in the value alone has no span in the text: redaction would
// have nothing to replace, so it is held, and a rejection is one.
func TestPIIInAValueIsNotOverlooked(t *testing.T) {
	t.Parallel()
	for action, want := range map[Action][3]bool{RedactSpan: {true, false, true}, Reject: {false, true, true}, Hold: {true, false, false}, Allow: {}} {
		p, err := New(Config{PII: []PIIRule{{Category: Phone, Action: action}, {Category: Card, Action: action}}})
		if err != nil {
			t.Fatal(err)
		}
		for code, value := range map[tenet.Code]string{"PII:phone": `{"tel":"+44 20 7946 0958"}`, "PII:card": `["4111 1111 1111 1111"]`} {
			pr := proposal("contact", "how to reach me")
			pr.Candidate.Value = json.RawMessage(value)
			found := false
			for _, f := range p.Check(pr) {
				if f.Code != code {
					continue
				}
				found = true
				if got := [3]bool{f.Hold, f.Reject, f.Mask}; got != want || f.Redact {
					t.Errorf("%s %s: hold, reject, mask %v, want %v", code, action, got, want)
				}
			}
			if !found {
				t.Errorf("%s in a value is not found", code)
			}
		}
	}
}
