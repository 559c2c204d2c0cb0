package gate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Each limit of check 2 refuses by itself, and none of them stands in the way
// of the user's own word, of the extractor or of what an agent files.
func TestWhatComesTooFastIsRefused(t *testing.T) {
	t.Parallel()
	g := gate.New(nil, gate.WithKeys("1", func(key string) (gate.KeySpec, bool) { return gate.KeySpec{}, key == "seat" }))
	agent, app, tool := who(tenet.Agent), who(tenet.App), who(tenet.Connector)
	said := tenet.Message{ID: "m", Role: tenet.RoleUser, Label: tenet.LabelUserStated, RecordedBy: "app:x", Text: "my seat is aisle", RecordedAt: noon}
	fact := tenet.Fact(sarah, "seat", "aisle").Quoting("aisle")
	busy := gate.Pace{Actor: 1e6, Key: 1e6, Self: 1e6}
	for name, c := range map[string]struct {
		k    gate.Case
		pace gate.Pace
		want string
	}{
		"an agent under its rate":        {gate.Case{By: agent, Candidate: fact}, gate.Pace{Actor: 119, Key: 9, Self: 2}, ""},
		"an agent at its rate":           {gate.Case{By: agent, Candidate: fact}, gate.Pace{Actor: 120}, "RATE_LIMIT"},
		"with notes too":                 {gate.Case{By: agent, Candidate: tenet.Note(sarah, "aisle").Quoting("aisle")}, gate.Pace{Actor: 120}, "RATE_LIMIT"},
		"a key that is written often":    {gate.Case{By: agent, Candidate: fact}, gate.Pace{Key: 10}, "KEY_CHURN"},
		"by a connector too":             {gate.Case{By: tool, Candidate: fact}, gate.Pace{Key: 10, Self: 3}, "KEY_CHURN"},
		"agents that repeat themselves":  {gate.Case{By: agent, Candidate: fact}, gate.Pace{Self: 3}, "SELF_REINFORCEMENT"},
		"all of it":                      {gate.Case{By: agent, Candidate: fact}, busy, "RATE_LIMIT KEY_CHURN SELF_REINFORCEMENT"},
		"an app":                         {gate.Case{By: app, Candidate: fact}, busy, ""},
		"an agent with the user's words": {gate.Case{By: agent, Candidate: tenet.Fact(sarah, "seat", "aisle").Citing("m"), Evidence: []tenet.Message{said}}, gate.Pace{Key: 1e6, Self: 1e6}, ""},
		"what the extractor found":       {gate.Case{By: agent, Candidate: fact, Extracted: true}, busy, ""},
		"what an agent files":            {gate.Case{By: agent, Candidate: tenet.Candidate{Scope: sarah, Tier: tenet.TierDocument, Key: "/a", Text: "a", Quote: "a"}}, busy, ""},
	} {
		c.k.Candidate.ID, c.k.At, c.k.State.Pace = "c", noon, c.pace
		d, err := g.Judge(c.k)
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, code := range d.Verdict().Codes {
			if slices.Contains([]tenet.Code{tenet.CodeRateLimit, tenet.CodeKeyChurn, tenet.CodeSelfReinforcement}, code) {
				got = append(got, string(code))
			}
		}
		if strings.Join(got, " ") != c.want || c.want != "" && d.Verdict().Outcome != tenet.Rejected {
			t.Errorf("%s: %v %v, want %q", name, d.Verdict().Outcome, d.Verdict().Codes, c.want)
		}
	}
}

func TestACountIsOfTheNewestEntries(t *testing.T) {
	t.Parallel()
	q := gate.PaceQuery{Actor: "agent:a", Key: "seat", Limits: gate.Pace{Actor: 9, Key: 9, Self: 9}}
	held := gate.PaceEntry{Actor: "agent:a", Key: "seat", Tier: tenet.TierFact, Label: tenet.LabelAgentInferred, Outcome: tenet.Quarantined}
	with := func(e gate.PaceEntry, edit func(*gate.PaceEntry)) gate.PaceEntry { edit(&e); return e }
	n := q.Counter()
	n.Add(held)
	n.Add(with(held, func(e *gate.PaceEntry) { e.Actor = "agent:b" }))
	n.Add(with(held, func(e *gate.PaceEntry) { e.Codes = `["RATE_LIMIT"]` })) // takes no place
	n.Add(with(held, func(e *gate.PaceEntry) { e.Key = "other" }))
	n.Add(with(held, func(e *gate.PaceEntry) { e.Tier, e.Key = tenet.TierNote, "" }))
	n.Add(with(held, func(e *gate.PaceEntry) { e.Tier = tenet.TierEpisode }))
	n.Add(with(held, func(e *gate.PaceEntry) {
		e.Label, e.Outcome, e.Actor = tenet.LabelUserStated, tenet.Superseded, "app:a"
	}))
	n.Add(held) // before the independent write
	if n.Pace != (gate.Pace{Actor: 4, Key: 3, Self: 2}) {
		t.Errorf("%+v", n.Pace)
	}
}

// Only the code itself says that a limit refused: another code, of a rule of
// somebody's own, may hold its letters.
func TestAnotherCodeIsNoLimit(t *testing.T) {
	t.Parallel()
	for codes, want := range map[string]int{"": 1, `["MY_RATE_LIMIT_2"]`: 1, `["NO_KEY_CHURN"]`: 1, `["RATE_LIMIT"]`: 0, `["EMPTY","KEY_CHURN"]`: 0, `["SELF_REINFORCEMENT"]`: 0} {
		c := gate.PaceQuery{Actor: "agent:a"}.Counter()
		c.Add(gate.PaceEntry{Actor: "agent:a", Tier: tenet.TierNote, Codes: codes})
		if c.Pace.Actor != want {
			t.Errorf("%s counts %d, want %d", codes, c.Pace.Actor, want)
		}
	}
}
