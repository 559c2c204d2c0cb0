package rules_test

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/rules"
	"github.com/tenet-memory/tenet/policy"
)

// proven has the gate derive the candidate's label from the messages it cites.
func proven(t testing.TB, c tenet.Candidate, ms []tenet.Message) tenet.Verdict {
	t.Helper()
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	by, err := tenet.ParsePrincipal("acme", tenet.Agent.String()+":rules/2")
	if err != nil {
		t.Fatal(err)
	}
	c.Scope, c.ID = scope, "c"
	k := gate.Case{By: by, Candidate: c, At: said.Add(time.Hour)}
	for _, id := range c.Cites {
		for _, m := range ms {
			if m.ID == id {
				m.Label = tenet.LabelUserStated
				k.Evidence = append(k.Evidence, m)
			}
		}
	}
	d, err := gate.New(nil, policy.Keys()).Judge(k)
	if err != nil {
		t.Fatalf("%q cannot be judged: %v", c.Text, err)
	}
	return d.Verdict()
}

var seeds = []string{
	"I'm severely allergic to peanuts, tree nuts and shellfish, so please be careful.",
	"My e-mail is Sarah.O'Neil@example.co.uk!", "Call me on (555) 123-4567.", "No, it’s b@x.com", "i don t eat pork",
	"I’m 32-year-old", "My favourite café is l'Étoile", "I moved to Oslo in May 2021.", "Ich bin allergisch gegen Nüsse.",
	"我对花生过敏。", "I live in Düsseldorf, Germany and I work as a nurse", "Forget my phone number", "my cat's name is Luna",
	"remember that my PIN is kept elsewhere", "I prefer ½ cups over ⅓ cups", "i cannot eat 3.5% milk", "My name is ＳＡＲＡＨ",
	"I'm allergic to e\u0301clairs", "My birthday is 7 May 1990\x00", "I've been vegan for three years and 2 months now",
}

func FuzzEveryCandidateIsProvable(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "No, it's Oslo.")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || strings.ContainsRune(a+b, 0) {
			return // never appended
		}
		ms := user(a, b)
		for _, c := range extract(t, ms) {
			if v := proven(t, c, ms); v.Label != tenet.LabelUserStated {
				t.Errorf("%q under %q with %s is only %s", c.Text, c.Key, c.Value, v.Label)
			}
			if _, known := rules.Lookup(c.Key); c.Tier == tenet.TierFact && !known {
				t.Errorf("key %q is not in the table", c.Key)
			}
		}
	})
}

// turns are the user turns of the claims above, as one conversation.
func turns() []tenet.Message {
	var out []tenet.Message
	for i, s := range seeds {
		for k, m := range user(s, "What about that?") {
			m.ID, m.Seq = tenet.MessageID(string(rune('a'+k))+string(rune('a'+i))), int64(2*i+k+1)
			if k == 1 {
				m.Role = tenet.RoleAssistant
			}
			out = append(out, m)
		}
	}
	return out
}

func TestTheSameStretchGivesTheSameCandidates(t *testing.T) {
	t.Parallel()
	ms := turns()
	first := extract(t, ms)
	for range 5 {
		if again := extract(t, ms); !reflect.DeepEqual(first, again) {
			t.Fatal("two runs differ")
		}
	}
}

// TestHowMessagesAreCutIntoStretchesMakesNoDifference holds but for
// corrections, which need the turn they correct: no turn here is one.
func TestHowMessagesAreCutIntoStretchesMakesNoDifference(t *testing.T) {
	t.Parallel()
	ms := turns()
	whole := extract(t, ms)
	for size := 1; size <= len(ms); size++ {
		var parts []tenet.Candidate
		for i := 0; i < len(ms); i += size {
			parts = append(parts, extract(t, ms[i:min(i+size, len(ms))])...)
		}
		if strings.Contains(briefs(t, parts), "Oslo.") || !reflect.DeepEqual(withoutCorrections(whole), withoutCorrections(parts)) {
			t.Fatalf("stretches of %d give\n%s\nand not\n%s", size, briefs(t, parts), briefs(t, whole))
		}
	}
}

func withoutCorrections(cs []tenet.Candidate) []tenet.Candidate {
	var out []tenet.Candidate
	for _, c := range cs {
		if len(c.Cites) == 1 {
			out = append(out, c)
		}
	}
	return out
}

func TestOnlyTheUsersOwnTypedTurnsGiveFacts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tenet.Message){
		"assistant":   func(m *tenet.Message) { m.Role = tenet.RoleAssistant },
		"tool":        func(m *tenet.Message) { m.Role = tenet.RoleTool },
		"system":      func(m *tenet.Message) { m.Role = tenet.RoleSystem },
		"prefilled":   func(m *tenet.Message) { m.Channel = tenet.ChannelPrefilled },
		"external":    func(m *tenet.Message) { m.Channel = tenet.ChannelExternal },
		"retain none": func(m *tenet.Message) { m.RetainNone = true },
	} {
		ms := user("I'm allergic to peanuts. Remember that I live in Oslo.")
		change(&ms[0])
		if got := briefs(t, extract(t, ms)); got != "" {
			t.Errorf("a %s message gives %s", name, got)
		}
	}
}

func TestEverySpokenTurnIsAnEpisode(t *testing.T) {
	t.Parallel()
	ms := turns()
	cs, err := rules.Extractor{}.Extract(t.Context(), model.Stretch{Messages: ms})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cs {
		if c.Tier == tenet.TierEpisode {
			if c.Text != ms[n].Text || c.Cites[0] != ms[n].ID {
				t.Fatalf("episode %d is %q", n, c.Text)
			}
			n++
		}
		if c.Tier == 0 || c.Route == "" && c.Tier != tenet.TierEpisode {
			t.Errorf("%q has no tier or no reason for it", c.Text)
		}
	}
	if n != len(ms) {
		t.Errorf("%d episodes of %d turns", n, len(ms))
	}
}
