package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestPersonalDataIsRecognised measures the deterministic recognisers on the
// development sentences: recall by overlap per type, and precision where a
// finding overlaps any span.
func TestPersonalDataIsRecognised(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(dataDir(t), "pii", "presidio_synth_v2.jsonl"))
	if err != nil {
		t.Skip("no PII data")
	}
	ours := map[string]Category{
		"CREDIT_CARD": Card, "IBAN_CODE": IBAN, "US_SSN": GovernmentID, "EMAIL_ADDRESS": Email, "PHONE_NUMBER": Phone, "IP_ADDRESS": IP, "STREET_ADDRESS": Address,
	}
	want, hit, found, right := map[Category]int{}, map[Category]int{}, map[Category]int{}, map[Category]int{}
	p := builtin()
	for line := range strings.Lines(string(b)) {
		var r struct {
			Text  string
			Spans []struct {
				Type       string
				Start, End int
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got := p.pii.find(r.Text)
		for _, s := range p.secrets.find(r.Text) {
			if c, ok := strings.CutPrefix(string(s.code), "PII:"); ok {
				got = append(got, piiSpan{Category(c), s.start, s.end})
			}
		}
		overlaps := func(c Category, a, b int) bool {
			for _, g := range got {
				if g.category == c && utf8.RuneCountInString(r.Text[:g.start]) < b && utf8.RuneCountInString(r.Text[:g.end]) > a {
					return true
				}
			}
			return false
		}
		for _, s := range r.Spans {
			if c, ok := ours[s.Type]; ok {
				want[c]++
				if overlaps(c, s.Start, s.End) {
					hit[c]++
				}
			}
		}
		for _, g := range got {
			found[g.category]++
			for _, s := range r.Spans {
				if ours[s.Type] == g.category && utf8.RuneCountInString(r.Text[:g.start]) < s.End && utf8.RuneCountInString(r.Text[:g.end]) > s.Start {
					right[g.category]++
					break
				}
			}
		}
	}
	for _, c := range categories {
		if want[c] > 0 || found[c] > 0 {
			t.Logf("%-14s recall %d of %d, precision %d of %d", c, hit[c], want[c], right[c], found[c])
		}
	}
	for _, c := range []Category{Card, IBAN, GovernmentID, Email, IP} {
		if hit[c]*100 < want[c]*90 {
			t.Errorf("%s: below 90%%", c)
		}
	}
}

func TestPIIByCategoryTierAndLabel(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		tier         tenet.Tier
		label        tenet.Label
		code         tenet.Code
		hold, reject bool
	}{
		{"the user's allergy passes", "Severe shellfish allergy.", tenet.TierFact, tenet.LabelUserStated, "PII:health", false, false},
		{"an inferred illness is held", "Has diabetes.", tenet.TierNote, tenet.LabelAgentInferred, "PII:health", true, false},
		{"the user's e-mail passes", "sarah@example.com", tenet.TierFact, tenet.LabelUserStated, "PII:email", false, false},
		{"an inferred e-mail is held as a fact", "sarah@example.com", tenet.TierFact, tenet.LabelAgentInferred, "PII:email", true, false},
		{"a card is refused", "card 4111 1111 1111 1111", tenet.TierFact, tenet.LabelUserConfirmed, "PII:card", false, true},
		{"a card is refused in a document", "card 4111 1111 1111 1111", tenet.TierDocument, tenet.LabelUserStated, "PII:card", false, true},
		{"a government id is refused", "ssn 123-45-6789", tenet.TierNote, tenet.LabelUserStated, "PII:government_id", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			pr := proposal("memo", c.text)
			pr.Candidate.Tier, pr.Label = c.tier, c.label
			for _, f := range builtin().Check(pr) {
				if f.Code == c.code {
					if f.Hold != c.hold || f.Reject != c.reject || f.Mask != c.reject {
						t.Errorf("hold %v reject %v mask %v", f.Hold, f.Reject, f.Mask)
					}
					return
				}
			}
			t.Errorf("no %s", c.code)
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]Config{
		"unknown action":     {UnknownKeys: "maybe"},
		"unknown category":   {PII: []PIIRule{{Category: "aura", Action: Allow}}},
		"unknown pii act":    {PII: []PIIRule{{Category: Email, Action: "burn"}}},
		"from without allow": {PII: []PIIRule{{Category: Email, Action: Reject, From: tenet.LabelUserStated}}},
		"protected key":      {Keys: []KeySpec{{Key: "identity."}}},
		"bad value type":     {Keys: []KeySpec{{Key: "x", Type: "blob"}}},
		"no key":             {Keys: []KeySpec{{}}},
		"admin writes":       {Keys: []KeySpec{{Key: "x", Writers: []tenet.PrincipalKind{tenet.Admin}}}},
	} {
		if _, err := New(c); tenet.KindOf(err) != tenet.Invalid || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, _ := New(Config{})
	if again, _ := New(Config{}); again.Version() != a.Version() {
		t.Error("two policies of one configuration have two versions")
	}
	b, err := New(Config{UnknownKeys: Hold})
	if err != nil || a.Version() == b.Version() || a.Version() != builtin().Version() {
		t.Errorf("the version does not follow the configuration: %v", err)
	}
	if g := gate.New([]gate.Rule{b}); g.RuleSet() == gate.New(Default()).RuleSet() {
		t.Error("the gate's digest does not follow the policy")
	}
}

func TestTheRegistryKnowsKeys(t *testing.T) {
	p, err := New(Config{Keys: []KeySpec{{Key: "allergy", Type: Text, Many: true, Safety: true}, {Key: "crm.", Writers: []tenet.PrincipalKind{tenet.Connector}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Registry()
	for _, c := range []struct {
		key                 string
		known, many, safety bool
	}{
		{"allergy", true, true, true}, {"Allergy", true, true, true}, {"allergy.food", true, true, true}, {"home_city", true, false, false},
		{"medication.daily", true, true, true}, {"shoe_size", false, false, false}, {"crm.tier", true, false, false},
	} {
		s, ok := r.Lookup(c.key)
		if ok != c.known || s.Many != c.many || s.Safety != c.safety {
			t.Errorf("%s: %+v %v", c.key, s, ok)
		}
	}
	for _, k := range []string{"identity.user_id", "AUTH.token", "role.name", "system/prompt", "agent:goal", "ѕystem.prompt", "policy.x", "tool.default", "payment.account", "security.level"} {
		if !protected(k) {
			t.Errorf("%s is not protected", k)
		}
	}
	for _, k := range []string{"tooling", "roleplay_character", "payment_method_preference", "agent", "favourite.tool"} {
		if protected(k) {
			t.Errorf("%s is protected", k)
		}
	}
}

func TestWhatPeopleAskAboutKeeping(t *testing.T) {
	for _, c := range []struct {
		text   string
		want   Wish
		phrase string
	}{
		{"Off the record, I hate my boss.", WishNone, ""},
		{"Please don't remember this: I'm leaving in May.", WishNone, ""},
		{"Don't save this.", WishNone, ""},
		{"Merk dir das nicht, bitte.", WishNone, ""},
		{"不要记住这个", WishNone, ""},
		{"I don't remember this place.", WishKeep, ""},
		{"Don't forget my birthday.", WishKeep, ""},
		{"I always forget my keys.", WishKeep, ""},
		{"My boss told me to forget the deadline and rest.", WishKeep, ""},
		{"Delete my address from the mailing list.", WishKeep, ""},
		{"Remember this.", WishKeep, ""},
		{"Forget my address.", WishForget, "address"},
		{"Please forget that I told you about the divorce.", WishForget, "I told you about the divorce"},
		{"Delete my address from your memory.", WishForget, "address"},
		{"forget my old phone number and use this one", WishForget, "old phone number"},
		{"忘记我的地址", WishForget, "地址"},
		{"adresimi unut", WishForget, "adresimi"},
	} {
		if got, phrase := Retention(c.text); got != c.want || phrase != c.phrase {
			t.Errorf("%q: %d %q, want %d %q", c.text, got, phrase, c.want, c.phrase)
		}
	}
}

// A wish at the end of a long message is heard as one at its beginning.
func TestAWishIsHeardAtEitherEndOfALongMessage(t *testing.T) {
	t.Parallel()
	const wish = "Please don't remember this. "
	for _, filler := range []string{"All of this is only a log line.\n", "Это строка журнала.\n"} {
		long := strings.Repeat(filler, (600<<10)/len(filler))
		for name, text := range map[string]string{"first": wish + long, "last": long + wish, "last of a little more than the reach": long[:300<<10] + "\n\n" + wish} {
			if w, _ := Retention(strings.ToValidUTF8(text, "")); w != WishNone {
				t.Errorf("%s: %v", name, w)
			}
		}
		if w, _ := Retention(long); w != WishKeep {
			t.Errorf("nothing was asked: %v", w)
		}
	}
}
