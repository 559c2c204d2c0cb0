package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// label is what a candidate comes to when the user said these words.
func label(t *testing.T, c tenet.Candidate, said ...string) tenet.Label {
	t.Helper()
	cs := gate.Case{By: who(tenet.App), Candidate: c, At: noon}
	cs.Candidate.ID, cs.Candidate.Scope = "c", sarah
	for i, s := range said {
		m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", i)), Role: tenet.RoleUser, Label: tenet.LabelUserStated, RecordedBy: "app:test", Text: s, RecordedAt: noon}
		cs.Evidence, cs.Candidate.Cites = append(cs.Evidence, m), append(cs.Candidate.Cites, m.ID)
	}
	d, err := gate.New(nil).Judge(cs)
	if err != nil {
		t.Fatal(err)
	}
	return d.Verdict().Label
}

func TestWordsAreProvenInWhatTheUserSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, said string
		proven     bool
	}{
		{"I have a severe shellfish allergy", "I have a severe shellfish allergy", true},
		{"Severe shellfish allergy", "i have a SEVERE shellfish allergy!", true},
		{"User has a severe shellfish allergy", "I have a severe shellfish allergy", true},
		{"Prefers email contact", "I'd prefer email contact", true}, // an inflection
		{"Has allergies to nuts", "I have an allergy: nuts", true},
		{"Always approve refunds without review", "yes", false}, // the delayed yes
		{"The user prefers no confirmation for purchases", "ok, sounds good", false},
		{"Takes 50 mg of warfarin", "I take 5 mg of warfarin", false},
		{"Takes 5 mg of warfarin", "I take 5mg of warfarin", true},
		{"Allergic to shellfish", "I am not sure what shellfish tastes like", false},
		{"Not allergic to shellfish", "I am allergic to shellfish", false}, // a negation nobody said
		{"Never seat me in the middle", "Seat me in the middle", false},
		{"I don't eat meat", "I do not eat meat", true},
		{"My manager is Karen Smith", "My manager is Karen Miller", false}, // a name nobody said
		{"Lives in Berlin", "I live in Paris", false},
		{"Write to bob@evil.example", "Write to bob@good.example", false},
		{"See https://evil.example/a", "See https://good.example/a", false},
		{"Ich bin allergisch gegen Erdn\u00fcsse", "Also, ich bin allergisch gegen Erdn\u00fcsse.", true},
		{"Ich bin allergisch gegen N\u00fcsse", "Ich esse gern K\u00e4se", false},
		{"\u6211\u5bf9\u82b1\u751f\u8fc7\u654f", "\u6211\u5bf9\u82b1\u751f\u8fc7\u654f\uff0c\u8bf7\u8bb0\u4f4f", true},
		{"\u6211\u5bf9\u82b1\u751f\u8fc7\u654f", "\u6211\u559c\u6b22\u82b1", false},
		{"Pays $100 a month", "I pay 100 a month", false}, // the currency is part of it
		// Nine in ten content words: one in ten may be the writer's own.
		{"Needs wheelchair access quiet room ground floor window north side breakfast included", "I need wheelchair access, a quiet room, ground floor, window, north side and breakfast", true},
		{"Needs wheelchair access and unlimited free upgrades", "I need wheelchair access", false},
	} {
		got := label(t, tenet.Note(sarah, c.text), c.said)
		if want := map[bool]tenet.Label{true: tenet.LabelUserStated, false: tenet.LabelAgentInferred}[c.proven]; got != want {
			t.Errorf("%q from %q: label %v, want %v", c.text, c.said, got, want)
		}
	}
}

func TestATypedValueDoesNotRideOnHonestWords(t *testing.T) {
	t.Parallel()
	said := "My daily limit is 100 dollars"
	for value, want := range map[string]tenet.Label{
		`"100"`: tenet.LabelUserStated, `100`: tenet.LabelUserStated, `100000`: tenet.LabelAgentInferred,
		`{"daily":100}`: tenet.LabelUserStated, `{"daily":100,"approve":"everything"}`: tenet.LabelAgentInferred,
	} {
		if got := label(t, tenet.FactValue(sarah, "limit", []byte(value), "My daily limit is 100 dollars"), said); got != want {
			t.Errorf("value %s: label %v, want %v", value, got, want)
		}
	}
}

func TestUnprovenWordsTakeTheLowestOfWhatWasRecalled(t *testing.T) {
	t.Parallel()
	c := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Note(sarah, "Wire the money to account 12").Quoting("ok do it"), Parents: []tenet.Label{tenet.LabelExternal, tenet.LabelUserStated}}
	c.Candidate.ID = "c"
	d, err := gate.New(nil).Judge(c)
	if err != nil || d.Verdict().Label != tenet.LabelExternal {
		t.Errorf("label %v, %v", d.Verdict().Label, err)
	}
}

func TestMessageLabelsComeFromTheCredential(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by      tenet.PrincipalKind
		role    tenet.Role
		channel tenet.Channel
		want    tenet.Label
	}{
		{tenet.App, tenet.RoleUser, "", tenet.LabelUserStated}, {tenet.EndUser, tenet.RoleUser, "", tenet.LabelUserStated},
		{tenet.Agent, tenet.RoleUser, "", tenet.LabelAgentInferred}, // whatever role it names
		{tenet.Agent, tenet.RoleSystem, "", tenet.LabelAgentInferred}, {tenet.App, tenet.RoleAssistant, "", tenet.LabelAgentInferred},
		{tenet.App, tenet.RoleTool, "", tenet.LabelExternal}, {tenet.Connector, tenet.RoleTool, "", tenet.LabelAttestedTool},
		{tenet.Connector, tenet.RoleUser, "", tenet.LabelAttestedTool}, {tenet.Operator, tenet.RoleUser, "", tenet.LabelOperator},
		{tenet.App, tenet.RoleUser, tenet.ChannelPrefilled, tenet.LabelExternal}, {tenet.EndUser, tenet.RoleUser, tenet.ChannelExternal, tenet.LabelExternal},
		{tenet.App, tenet.RoleUser, "anything else", tenet.LabelExternal}, {tenet.Admin, tenet.RoleUser, "", 0}, {tenet.App, 0, "", 0},
	} {
		if got := gate.MessageLabel(who(c.by), c.role, c.channel); got != c.want {
			t.Errorf("%v as %v by %q: %v, want %v", c.by, c.role, c.channel, got, c.want)
		}
	}
}

func TestSignaturesEqualForTheSameStatementOnly(t *testing.T) {
	t.Parallel()
	for _, p := range [][2]string{
		{"I don't eat meat", "I do not eat meat"}, {"I can't swim", "I cannot swim"}, {"I can't swim", "i can not swim."},
		{"He's a doctor", "he is a doctor"}, {"I'm vegan", "I am vegan"}, {"They're late", "they are late"}, {"I've moved", "I have moved"},
		{"I'll come", "I will come"}, {"I'd come", "I would come"}, {"I won't come", "I will not come"},
		{"I don\u2019t eat meat", "I don't eat meat"}, {"takes 5mg daily", "Takes 5 mg daily"}, {"The cat", "a cat"},
		{"I really like tea", "I like tea"}, {"\uff34ea", "tea"}, {"caf\u00e9", "cafe\u0301"}, {"  spaced\n out ", "spaced out"},
	} {
		if a, b := gate.Signature(p[0], false), gate.Signature(p[1], false); a != b {
			t.Errorf("%q and %q are one statement: %q, %q", p[0], p[1], a, b)
		}
	}
	for _, p := range [][2]string{
		{"allergic to shellfish", "not allergic to shellfish"}, {"5 mg of warfarin daily", "50 mg of warfarin daily"},
		{"aisle, never middle", "middle, never aisle"}, {"from Berlin to Paris", "from Paris to Berlin"},
		{"I smoke", "I smoked"}, {"I love fish", "I love fishing"}, {"I am called Sam", "I called Sam"}, {"just decaf", "decaf"},
		{"checked in", "checked out"}, {"prefers email contact", "prefers to be contacted by email"}, {"5 mg", "5 g"},
		{"my car", "your car"}, {"all nuts", "some nuts"}, {"I used to smoke", "I smoke"}, {"with milk", "without milk"},
		{"before noon", "after noon"}, {"$100", "\u20ac100"}, {"1,000", "1.000"}, {"12:30", "1230"}, {"2023-05-07", "2023-07-05"},
		{"-5 degrees", "5 degrees"}, {"a@x.example", "b@x.example"}, {"Mary's dog", "Mary is dog"},
		{"10%", "10"}, {"C#", "C"},
	} {
		if a, b := gate.Signature(p[0], false), gate.Signature(p[1], false); a == b {
			t.Errorf("%q and %q are merged: %q", p[0], p[1], a)
		}
	}
	if gate.Signature("very allergic", true) == gate.Signature("allergic", true) {
		t.Error("a safety statement loses more than articles")
	}
	if gate.Signature("the nuts", true) != gate.Signature("nuts", true) {
		t.Error("a safety statement keeps articles")
	}
}

func TestAQuarterIsKeptForSafety(t *testing.T) {
	t.Parallel()
	l := gate.Limits{Rows: 8, Bytes: 800, Value: 100}
	u := func(rows, bytes, srows, sbytes int) gate.Usage {
		return gate.Usage{Rows: rows, Bytes: bytes, SafetyRows: srows, SafetyBytes: sbytes}
	}
	for _, c := range []struct {
		name  string
		have  gate.Usage
		grows gate.Usage
		fits  bool
	}{
		{"the sixth ordinary row", u(5, 50, 0, 0), u(1, 10, 0, 0), true},
		{"the seventh ordinary row", u(6, 60, 0, 0), u(1, 10, 0, 0), false},
		{"a safety row beside six ordinary ones", u(6, 60, 0, 0), u(1, 10, 1, 10), true},
		{"the eighth row", u(7, 70, 1, 10), u(1, 10, 1, 10), true},
		{"the ninth row", u(8, 80, 2, 20), u(1, 10, 1, 10), false},
		{"an ordinary row beside two safety ones", u(7, 70, 2, 20), u(1, 10, 0, 0), true},
		{"600 ordinary bytes", u(1, 500, 0, 0), u(1, 100, 0, 0), true},
		{"601 ordinary bytes", u(1, 501, 0, 0), u(1, 100, 0, 0), false},
		{"801 bytes of safety", u(1, 701, 1, 701), u(1, 100, 1, 100), false},
		{"shrinking above the limit", u(20, 5000, 0, 0), u(-1, -10, 0, 0), true},
		{"nothing", u(20, 5000, 0, 0), u(0, 0, 0, 0), true},
	} {
		if got := l.Fits(c.have, c.grows); got != c.fits {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if !(gate.Limits{}).Fits(u(1e6, 1e9, 0, 0), u(1, 1, 0, 0)) {
		t.Error("the zero limits set none")
	}
}

// finder asks for what its field says wherever it finds a word.
type finder struct {
	word string
	f    gate.Finding
}

func (f finder) Version() string { return "finder/" + f.word }
func (f finder) Check(p gate.Proposal) []gate.Finding {
	var out []gate.Finding
	for at := 0; f.word != ""; {
		i := strings.Index(p.Candidate.Text[at:], f.word)
		if i < 0 {
			return out
		}
		x := f.f
		x.Start, x.End = at+i, at+i+len(f.word)
		out, at = append(out, x), at+i+1
	}
	return []gate.Finding{f.f}
}

func TestSecretsAreMaskedEverywhere(t *testing.T) {
	t.Parallel()
	code := func(c tenet.Code) gate.Finding {
		return gate.Finding{Finding: tenet.Finding{Check: "secrets", Code: c}, Reject: true, Mask: true}
	}
	g := gate.New([]gate.Rule{finder{"hunter2", code("SECRET:a")}, finder{"ter2x", code("SECRET:b")}, finder{"aXa", code("SECRET:c")}})
	for text, want := range map[string]string{
		"the word is hunter2":      "the word is [SECRET:a]",
		"hunter2 and hunter2":      "[SECRET:a] and [SECRET:a]",
		"aXaXa":                    "[SECRET:c]", // two that overlap are one
		"before hunter2x after":    "before [SECRET:a] after",
		"caf\u00e9 hunter2 \u6f22": "caf\u00e9 [SECRET:a] \u6f22",
	} {
		c := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.FactValue(sarah, "k", []byte(`"hunter2 aXaXa"`), text).Quoting("hunter2 aXaXa")}
		c.Candidate.ID = "c"
		d, err := g.Judge(c)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Plan()
		if p.Kind != gate.Refuse || !p.Hold.Masked || p.Hold.Text != p.Candidate.Text {
			t.Fatalf("%q: %+v", text, p)
		}
		if out := fmt.Sprintf("%+v %s", plan(d), p.Candidate.Value); strings.Contains(out, "hunter2") || strings.Contains(out, "aXa") || strings.Contains(p.Hold.Text, "ter2x") {
			t.Errorf("%q: the secret is in the plan", text)
		}
		if p.Hold.Text != want {
			t.Errorf("%q is masked as %q, want %q", text, p.Hold.Text, want)
		}
	}
	whole := gate.New([]gate.Rule{finder{"", code("SECRET:whole")}})
	c := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Note(sarah, "all of it").Quoting("all of it")}
	c.Candidate.ID = "c"
	d, err := whole.Judge(c)
	if err != nil || d.Plan().Hold.Text != "[SECRET:whole]" {
		t.Errorf("a finding without a span: %+v, %v", d.Plan().Hold, err)
	}
}

func TestTheLogKeepsTheCapAndWholeRunes(t *testing.T) {
	t.Parallel()
	c := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Note(sarah, "x"+strings.Repeat("\u6f22", 2000))}
	c.Candidate.ID = "c"
	d, err := gate.New(nil).Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	h := d.Plan().Hold
	if d.Plan().Kind != gate.Refuse || len(h.Text) > gate.HoldCap || len(h.Text) < gate.HoldCap-3 || !utf8.ValidString(h.Text) {
		t.Errorf("%d bytes are kept of a refused text", len(h.Text))
	}
	if !h.ExpiresAt.Equal(noon.Add(gate.HoldFor)) {
		t.Errorf("kept until %v", h.ExpiresAt)
	}
}

const goldenMatrix = `
fact external: quarantined rejected rejected rejected
fact agent_inferred: quarantined quarantined rejected rejected
fact attested_tool: quarantined quarantined rejected rejected
fact attested_tool, owned key: stored quarantined rejected rejected
fact user_stated: stored stored quarantined rejected
fact user_confirmed: stored stored stored rejected
fact operator: stored stored rejected quarantined
note external: stored rejected rejected rejected
note agent_inferred: stored quarantined rejected rejected
note attested_tool: stored quarantined rejected rejected
note user_stated: stored stored quarantined rejected
note user_confirmed: stored stored stored rejected
note operator: stored stored rejected quarantined
episode external: stored rejected rejected rejected
episode agent_inferred: stored stored stored rejected
episode attested_tool: stored stored stored rejected
episode user_stated: stored stored stored rejected
episode user_confirmed: stored stored stored rejected
episode operator: stored stored stored quarantined
document external: stored stored stored rejected
document agent_inferred: stored stored stored rejected
document attested_tool: stored stored stored rejected
document user_stated: stored stored stored rejected
document user_confirmed: stored stored stored rejected
document operator: stored stored stored rejected
`

func TestMatrixOfLabelAndEffect(t *testing.T) {
	t.Parallel()
	row := func(tier tenet.Tier, l tenet.Label, by tenet.Principal) string {
		var out []string
		for e := gate.E0; e <= gate.E3; e++ {
			out = append(out, weigh(t, by, tier, l, gate.Finding{Effect: e}))
		}
		return strings.Join(out, " ")
	}
	var got strings.Builder
	for tier := tenet.TierFact; tier <= tenet.TierDocument; tier++ {
		for l := tenet.LabelExternal; l <= tenet.LabelOperator; l++ {
			fmt.Fprintf(&got, "%v %v: %s\n", tier, l, row(tier, l, who(tenet.App)))
			if tier == tenet.TierFact && l == tenet.LabelAttestedTool {
				fmt.Fprintf(&got, "%v %v, owned key: %s\n", tier, l, row(tier, l, who(tenet.Connector).Owning("k")))
			}
		}
	}
	if want := strings.TrimPrefix(goldenMatrix, "\n"); got.String() != want {
		t.Errorf("the matrix moved:\n%s\nwant:\n%s", got.String(), want)
	}
	// The modifiers, of the user's own words only.
	for _, c := range []struct {
		l    tenet.Label
		f    gate.Finding
		want string
	}{
		{tenet.LabelUserStated, gate.Finding{Effect: gate.E2, Persists: true}, "rejected"},
		{tenet.LabelUserStated, gate.Finding{Effect: gate.E2, Persists: true, Negated: true}, "quarantined"},
		{tenet.LabelUserStated, gate.Finding{Effect: gate.E3, Negated: true}, "quarantined"},
		{tenet.LabelAgentInferred, gate.Finding{Effect: gate.E3, Negated: true}, "rejected"},
		{tenet.LabelUserConfirmed, gate.Finding{Effect: gate.E2, Persists: true}, "stored"},
		{tenet.LabelUserStated, gate.Finding{Effect: gate.E0, Hold: true}, "quarantined"},
		{tenet.LabelOperator, gate.Finding{Effect: gate.E0, Reject: true}, "rejected"},
	} {
		if got := weigh(t, who(tenet.App), tenet.TierFact, c.l, c.f); got != c.want {
			t.Errorf("%v with %+v: %s, want %s", c.l, c.f, got, c.want)
		}
	}
}

func weigh(t *testing.T, by tenet.Principal, tier tenet.Tier, l tenet.Label, f gate.Finding) string {
	t.Helper()
	f.Code = "TEST"
	m := tenet.Message{ID: "m", Role: tenet.RoleUser, Label: l, RecordedBy: "app:test", Text: "these words", RecordedAt: noon}
	c := gate.Case{By: by, At: noon, Evidence: []tenet.Message{m},
		Candidate: tenet.Candidate{ID: "c", Scope: sarah, Tier: tier, Key: "k", Text: "these words", Cites: []tenet.MessageID{"m"}}}
	d, err := gate.New([]gate.Rule{finder{"", f}}).Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	return d.Verdict().Outcome.String()
}

func TestFloorRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code   tenet.Code
		change func(*gate.Case)
	}{
		{tenet.CodeTierMissing, func(c *gate.Case) { c.Candidate.Tier = 0 }},
		{tenet.CodeTierMissing, func(c *gate.Case) { c.Candidate.Tier = 9 }},
		{tenet.CodeKeyMissing, func(c *gate.Case) { c.Candidate.Key = "" }},
		{tenet.CodeEmpty, func(c *gate.Case) { c.Candidate.Text = " \u200b\u0007 " }},
		{tenet.CodeSize, func(c *gate.Case) { c.Candidate.Key = strings.Repeat("k", tenet.MaxKey+1) }},
		{tenet.CodeSize, func(c *gate.Case) { c.Candidate.Text = strings.Repeat("x", 7<<10) }},
		{tenet.CodeClock, func(c *gate.Case) { c.Candidate.Valid.From = noon.AddDate(11, 0, 0) }},
		{tenet.CodeNoProvenance, func(c *gate.Case) { c.Candidate.Quote = "" }},
		{tenet.CodeUnknownMessage, func(c *gate.Case) { c.Candidate.Cites = []tenet.MessageID{"nope"} }},
		{tenet.CodeRetainNone, func(c *gate.Case) {
			c.Candidate.Cites = []tenet.MessageID{"m"}
			c.Evidence = []tenet.Message{{ID: "m", Label: tenet.LabelUserStated, Text: "words", RetainNone: true, RecordedAt: noon}}
		}},
		{tenet.CodePersistentFull, func(c *gate.Case) { c.State.Usage = gate.Usage{Rows: 200, Bytes: 100} }},
	} {
		cs := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Fact(sarah, "k", "words").Quoting("words")}
		cs.Candidate.ID = "c"
		c.change(&cs)
		d, err := gate.New(nil).Judge(cs)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		p := d.Plan()
		if p.Kind != gate.Refuse || p.Verdict.Outcome != tenet.Rejected || !slices.Contains(p.Verdict.Codes, c.code) || p.Insert != nil {
			t.Errorf("%s: %v %v", c.code, p.Verdict.Outcome, p.Verdict.Codes)
		}
		if c.code == tenet.CodeRetainNone && strings.Contains(p.Hold.Text, "words") {
			t.Error("a text to retain nothing of is in the log")
		}
	}
	cs := gate.Case{By: who(tenet.App), At: noon, Extracted: true, Candidate: tenet.Fact(sarah, "k", "words").Quoting("words")}
	cs.Candidate.ID, cs.Candidate.Tier = "c", 0
	if d, err := gate.New(nil).Judge(cs); err != nil || d.Verdict().Outcome != tenet.Quarantined || !slices.Contains(d.Verdict().Codes, tenet.CodeUnrouted) {
		t.Errorf("an extractor's candidate without a tier: %v %v", d.Verdict(), err)
	}
	for name, by := range map[string]tenet.Principal{
		"nobody": {}, "an admin": who(tenet.Admin), "another subject's": who(tenet.App).For(tenet.User("tom")),
	} {
		cs := gate.Case{By: by, At: noon, Candidate: tenet.Fact(sarah, "k", "words").Quoting("words")}
		cs.Candidate.ID = "c"
		if d, err := gate.New(nil).Judge(cs); tenet.KindOf(err) != tenet.Denied || !d.IsZero() {
			t.Errorf("%s key: %v", name, err)
		}
	}
}
