package memory_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
)

// scripted proposes what its table says for a message's text.
type scripted map[string]tenet.Candidate

func (scripted) Name() string { return "scripted/1" }

func (x scripted) Extract(_ context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	var out []tenet.Candidate
	for _, m := range st.Messages {
		if c, ok := x[m.Text]; ok {
			c.Text = m.Text
			out = append(out, c.Citing(m.ID))
		}
	}
	return out, nil
}

func fact(key, value string, op tenet.Op) tenet.Candidate {
	c := tenet.Candidate{Tier: tenet.TierFact, Key: key, Op: op}
	if value != "" {
		c.Value, _ = json.Marshal(value)
	}
	return c
}

var spoken = scripted{
	"I live in Berlin":                fact("home_city", "Berlin", tenet.OpAssert),
	"I no longer live in Berlin":      fact("home_city", "Berlin", tenet.OpEnd),
	"I used to live in Rome":          fact("home_city", "Rome", tenet.OpEnd),
	"forget my home":                  fact("home_city", "", tenet.OpRetract),
	"I am allergic to nuts":           fact("allergy", "nuts", tenet.OpAssert),
	"I am allergic to cats":           fact("allergy", "cats", tenet.OpAssert),
	"I am no longer allergic to cats": fact("allergy", "cats", tenet.OpEnd),
	"I was never allergic to cats":    fact("allergy", "cats", tenet.OpRetract),
	"my allergy is gone":              fact("allergy", "", tenet.OpEnd),
}

func newSpoken(t *testing.T, b backend) *engine {
	return newEngine(t, b, func(c *memory.Config) { c.Extractor = spoken })
}

// say has the principal say something in a session of its own, an hour later,
// and returns the verdict of what was extracted.
func (e *engine) say(t *testing.T, by tenet.Principal, text string) tenet.Verdict {
	t.Helper()
	e.advance(time.Hour)
	s := must[*memory.Session](t)(e.Session(t.Context(), by, e.sarah, tenet.SessionID(e.now().String())))
	must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage(text)))
	r := must[memory.Report](t)(e.Consolidate(t.Context(), e.app, e.sarah, s.Info().ID))
	if len(r.Verdicts) != 1 {
		t.Fatalf("%q has %d verdicts", text, len(r.Verdicts))
	}
	return r.Verdicts[0]
}

func (e *engine) values(t *testing.T, key string) []string {
	t.Helper()
	var out []string
	for _, f := range must[[]memory.Fact](t)(e.Facts(t.Context(), e.app, tenet.AsOf{}, e.sarah)) {
		if f.Key == key {
			out = append(out, string(f.Value))
		}
	}
	slices.Sort(out)
	return out
}

func TestWhatTheUserEndsIsHistoryAndNotCurrent(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newSpoken(t, b)
		e.say(t, e.app, "I live in Berlin")
		v := e.say(t, e.app, "I no longer live in Berlin")
		if v.Outcome != tenet.Superseded || !slices.Contains(v.Codes, tenet.CodeEnded) {
			t.Errorf("the end is %s %v", v.Outcome, v.Codes)
		}
		if got := e.values(t, "home_city"); got != nil {
			t.Errorf("still current: %v", got)
		}
		h := must[[]tenet.Record](t)(e.History(t.Context(), e.app, e.sarah, "home_city"))
		if len(h) != 2 || h[0].Closed != tenet.ClosedEnded || h[1].Valid.To.Sub(h[1].Valid.From) != time.Hour {
			t.Errorf("history is %+v", h)
		}
		if ev := must[[]tenet.Evidence](t)(e.ledger.Evidence(t.Context(), e.sarah, v.Record)); len(ev) != 1 {
			t.Errorf("the end has %d excerpts", len(ev))
		}
	})
}

func TestAnEndOfSomethingUnknownIsPastOrRefused(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newSpoken(t, b)
		if v := e.say(t, e.app, "I used to live in Rome"); v.Outcome != tenet.Stored || !slices.Contains(v.Codes, tenet.CodeUnknownStart) {
			t.Errorf("an unknown past is %s %v", v.Outcome, v.Codes)
		}
		if got := e.values(t, "home_city"); got != nil {
			t.Errorf("the past is current: %v", got)
		}
		e.say(t, e.app, "I live in Berlin")
		if v := e.say(t, e.app, "I used to live in Rome"); v.Outcome != tenet.Rejected || !slices.Contains(v.Codes, tenet.CodeNothingToEnd) {
			t.Errorf("an end of what ended is %s %v", v.Outcome, v.Codes)
		}
		if got := e.values(t, "home_city"); len(got) != 1 || got[0] != `"Berlin"` {
			t.Errorf("another value was touched: %v", got)
		}
	})
}

func TestOneValueOfAKeyWithManyCanBeRemoved(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newSpoken(t, b)
		e.say(t, e.app, "I am allergic to nuts")
		e.say(t, e.app, "I am allergic to cats")
		if v := e.say(t, e.app, "my allergy is gone"); v.Outcome != tenet.Quarantined || !slices.Contains(v.Codes, tenet.CodeAmbiguousEnd) {
			t.Errorf("an end that names none of two is %s %v", v.Outcome, v.Codes)
		}
		e.say(t, e.app, "I am no longer allergic to cats")
		if got := e.values(t, "allergy"); len(got) != 1 || got[0] != `"nuts"` {
			t.Errorf("after the removal: %v", got)
		}
		e.say(t, e.app, "I am allergic to cats")
		if v := e.say(t, e.app, "I was never allergic to cats"); !slices.Contains(v.Codes, tenet.CodeRetracted) {
			t.Errorf("the retraction is %s %v", v.Outcome, v.Codes)
		}
		if got := e.values(t, "allergy"); len(got) != 1 {
			t.Errorf("after the retraction: %v", got)
		}
		e.say(t, e.app, "my allergy is gone")
		if got := e.values(t, "allergy"); got != nil {
			t.Errorf("after the last end: %v", got)
		}
	})
}

func TestAnEndByALowerLabelTouchesNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newSpoken(t, b)
		e.say(t, e.app, "I live in Berlin")
		agent := principal(t, tenet.Agent, "bot")
		for _, text := range []string{"I no longer live in Berlin", "forget my home"} {
			if v := e.say(t, agent, text); v.Outcome != tenet.Quarantined {
				t.Errorf("an agent's %q is %s %v", text, v.Outcome, v.Codes)
			}
		}
		if got := e.values(t, "home_city"); len(got) != 1 {
			t.Errorf("an agent ended it: %v", got)
		}
		if v := e.say(t, e.app, "forget my home"); v.Outcome != tenet.Superseded {
			t.Errorf("the user's own wish is %s %v", v.Outcome, v.Codes)
		}
		ver := must[store.Verification](t)(e.ledger.Verify(t.Context(), e.sarah))
		if !ver.OK() {
			t.Errorf("the chain does not verify: %+v", ver)
		}
	})
}

// TestALowerWordNeitherEndsNorRetractsAHigherOne: what an operator entered is
// not taken back by what is said; it is held, for somebody to look at.
func TestALowerWordNeitherEndsNorRetractsAHigherOne(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newSpoken(t, b)
		c := tenet.Fact(e.sarah, "home_city", "lives in Berlin").Quoting("lives in Berlin")
		c.Value = json.RawMessage(`"Berlin"`)
		if v := must[tenet.Verdict](t)(e.Remember(t.Context(), e.op, c)); !v.Outcome.Kept() || v.Label != tenet.LabelOperator {
			t.Fatalf("%+v", v)
		}
		for _, words := range []string{"I no longer live in Berlin", "forget my home"} {
			if v := e.say(t, e.app, words); v.Outcome != tenet.Quarantined || !slices.Contains(v.Codes, tenet.CodeLowerIntegrity) {
				t.Errorf("%q: %+v", words, v)
			}
		}
		facts := must[[]memory.Fact](t)(e.Facts(t.Context(), e.app, tenet.AsOf{Valid: e.now()}, e.sarah))
		if len(facts) != 1 || facts[0].Label != tenet.LabelOperator {
			t.Errorf("%+v", facts)
		}
	})
}
