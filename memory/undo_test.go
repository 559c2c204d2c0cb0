package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store/storetest"
)

// sayIn has the user say something in a session, an hour later, and has the
// session consolidated.
func (e *engine) sayIn(t *testing.T, session tenet.SessionID, text string) tenet.Verdict {
	t.Helper()
	e.advance(time.Hour)
	s := must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, session))
	must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage(text)))
	r := must[memory.Report](t)(e.Consolidate(t.Context(), e.app, e.sarah, session))
	if len(r.Verdicts) != 1 {
		t.Fatalf("%q has %d verdicts", text, len(r.Verdicts))
	}
	return r.Verdicts[0]
}

// again consolidates what a revocation staged.
func (e *engine) again(t *testing.T, done memory.Taint) (vs []tenet.Verdict) {
	t.Helper()
	for _, id := range done.Again {
		vs = append(vs, must[memory.Report](t)(e.Consolidate(t.Context(), e.app, e.sarah, id)).Verdicts...)
	}
	return vs
}

func TestWhatTaintedWordsEndedOrRetractedHoldsAgain(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		for name, c := range map[string]struct {
			story [][2]string // session, words
			src   memory.Source
			want  []string // of home_city and allergy, after it
			back  int
		}{
			"an end":        {[][2]string{{"good", "I live in Berlin"}, {"bad", "I no longer live in Berlin"}}, memory.Source{Session: "bad"}, []string{`"Berlin"`}, 1},
			"a retraction":  {[][2]string{{"good", "I live in Berlin"}, {"bad", "forget my home"}}, memory.Source{Session: "bad"}, []string{`"Berlin"`}, 1},
			"by whom":       {[][2]string{{"good", "I live in Berlin"}, {"bad", "forget my home"}}, memory.Source{Origin: "app:test"}, nil, 0},
			"one of many":   {[][2]string{{"good", "I am allergic to nuts"}, {"good", "I am allergic to cats"}, {"bad", "I was never allergic to cats"}, {"bad", "my allergy is gone"}}, memory.Source{Session: "bad"}, []string{`"cats"`, `"nuts"`}, 2},
			"a later value": {[][2]string{{"good", "I live in Berlin"}, {"bad", "I no longer live in Berlin"}, {"good", "I live in Rome"}}, memory.Source{Session: "bad"}, []string{`"Rome"`}, 1},
			"an end that others said as well, and were refused": {[][2]string{{"good", "I live in Berlin"}, {"bad", "I no longer live in Berlin"}, {"fine", "I no longer live in Berlin"}}, memory.Source{Session: "bad"}, nil, 1},
			"another's end stays":                               {[][2]string{{"good", "I live in Berlin"}, {"fine", "I no longer live in Berlin"}}, memory.Source{Session: "bad"}, nil, 0},
		} {
			t.Run(name, func(t *testing.T) {
				spoken := with(spoken, scripted{"I live in Rome": fact("home_city", "Rome", tenet.OpAssert)})
				e := newEngine(t, b, func(c *memory.Config) { c.Extractor = spoken })
				for _, w := range c.story {
					e.sayIn(t, tenet.SessionID(w[0]), w[1])
				}
				op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
				before := must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "home_city"))
				dry := must[memory.Taint](t)(op.Taint(ctx, c.src))
				if len(dry.Undone) != c.back {
					t.Errorf("a dry run undoes %d, want %d", len(dry.Undone), c.back)
				}
				if after := must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "home_city")); len(after) != len(before) {
					t.Error("a dry run wrote")
				}
				e.advance(time.Hour)
				done := must[memory.Taint](t)(op.Revoke(ctx, c.src, "a forged message"))
				e.again(t, done)
				got := slices.Concat(e.values(t, "home_city"), e.values(t, "allergy"))
				if slices.Sort(got); !slices.Equal(got, c.want) {
					t.Errorf("holds after it: %v, want %v", got, c.want)
				}
				e.verified(t)
				records := len(must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "home_city")))
				twice := must[memory.Taint](t)(op.Revoke(ctx, c.src, "again"))
				if twice.Revoked != "" || len(twice.Undone) != 0 || len(must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "home_city"))) != records {
					t.Errorf("a second revocation: %+v", twice)
				}
			})
		}
	})
}

// TestWhatIsEndedAfterARevocationStaysEnded: once put back, it is as any other
// value, and the same revocation does not bring it back again.
func TestWhatIsEndedAfterARevocationStaysEnded(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newSpoken(t, b)
		e.sayIn(t, "good", "I live in Berlin")
		e.sayIn(t, "bad", "I no longer live in Berlin")
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		done := must[memory.Taint](t)(op.Revoke(t.Context(), memory.Source{Session: "bad"}, ""))
		if h := must[[]tenet.Record](t)(e.History(t.Context(), e.app, e.sarah, "home_city")); h[len(h)-1].Valid.From != h[0].Valid.From || !h[len(h)-1].Valid.Open() || done.Revoked == "" {
			t.Errorf("it comes back in pieces: %+v", h)
		}
		e.sayIn(t, "fine", "I no longer live in Berlin")
		twice := must[memory.Taint](t)(op.Revoke(t.Context(), memory.Source{Session: "bad"}, ""))
		if got := e.values(t, "home_city"); got != nil || twice.Revoked != "" {
			t.Errorf("%v came back: %+v", got, twice)
		}
		e.verified(t)
	})
}

// TestAnEndByAPrincipalIsTakenBackWithIt: what a connector ended through the
// API is on its word, too.
func TestAnEndByAPrincipalIsTakenBackWithIt(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		crm := principal(t, tenet.Connector, "crm").Owning("plan")
		v := must[tenet.Verdict](t)(e.Remember(ctx, crm, quoting(tenet.Fact(e.sarah, "plan", "Gold"))))
		e.advance(time.Hour)
		other := principal(t, tenet.Connector, "billing").Owning("plan")
		if err := e.End(ctx, other, memory.Change{Scope: e.sarah, Record: v.Record, ID: "ended-1", Why: "churned"}); err != nil {
			t.Fatal(err)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		e.advance(time.Hour)
		if done := must[memory.Taint](t)(op.Revoke(ctx, memory.Source{Origin: "connector:billing"}, "")); len(done.Undone) != 1 {
			t.Errorf("%+v", done)
		}
		if got := e.values(t, "plan"); len(got) != 1 {
			t.Errorf("%v", got)
		}
		e.verified(t)
	})
}

// TestWordsBesideTaintedOnesAreConsolidatedAgain: what derives from two messages
// goes with the tainted one, and the sound one is read again by itself.
func TestWordsBesideTaintedOnesAreConsolidatedAgain(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) {
			c.Extractor = scripted{"I live in Berlin": fact("home_city", "Berlin", tenet.OpAssert)}
		})
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "mixed"))
		ms := must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I have a cat"), tenet.UserMessage("I live in Berlin")))
		both := tenet.Fact(e.sarah, "pet", "I have a cat. I live in Berlin").Citing(ms[0].ID).Citing(ms[1].ID)
		both.Session = "mixed"
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, both))
		must[memory.Report](t)(e.Consolidate(ctx, e.app, e.sarah, "mixed"))
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		e.advance(time.Hour)
		done := must[memory.Taint](t)(op.Revoke(ctx, memory.Source{Message: ms[0].ID}, ""))
		if !slices.Equal(done.Again, []tenet.SessionID{"mixed"}) {
			t.Fatalf("again: %v", done.Again)
		}
		vs := e.again(t, done)
		if len(vs) != 1 || vs[0].Outcome != tenet.Corroborated {
			t.Errorf("judged again: %+v", vs)
		}
		if got := e.values(t, "pet"); got != nil {
			t.Errorf("it rests on a tainted message: %v", got)
		}
		e.verified(t)
	})
}

// TestARevocationOfEndsLeavesWhatSoundWordsAloneWouldHaveMade: over random
// histories in which values begin, end and are retracted. With retractions it is
// what is current that agrees: one that came when the tainted value had already
// pushed its value into the past leaves that past alone.
func TestARevocationOfEndsLeavesWhatSoundWordsAloneWouldHaveMade(t *testing.T) {
	ops := map[tenet.Op]string{tenet.OpAssert: "it is", tenet.OpEnd: "it is no longer", tenet.OpRetract: "it never was"}
	table := scripted{}
	for op, words := range ops {
		for _, v := range []string{"one", "two"} {
			table[words+" "+v] = fact("home_city", v, op)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		type word struct {
			session tenet.SessionID
			text    string
		}
		var story []word
		retracts := rapid.Bool().Draw(rt, "retracts")
		kinds := []tenet.Op{tenet.OpAssert, tenet.OpAssert, tenet.OpEnd}
		if retracts {
			kinds = append(kinds, tenet.OpRetract)
		}
		current := "" // what sound words alone have made of it
		for range rapid.IntRange(1, 10).Draw(rt, "words") {
			w := word{session: tenet.SessionID(rapid.SampledFrom([]string{"bad", "good", "fine"}).Draw(rt, "session"))}
			op := rapid.SampledFrom(kinds).Draw(rt, "op")
			v := rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "value")
			if w.session != "bad" {
				if op == tenet.OpAssert {
					current = v
				} else if v != current {
					continue // an end of what was never said is history of its own
				} else {
					current = ""
				}
			}
			w.text = fmt.Sprint(ops[op], " ", v)
			story = append(story, w)
		}
		play := func(skip tenet.SessionID) *engine {
			e := newEngine(t, backend{open: func(*testing.T) stores { o := storetest.NewOracle(); return stores{o, o} }}, func(c *memory.Config) { c.Extractor = table })
			for _, w := range story {
				if w.session == skip {
					e.advance(time.Hour)
					continue
				}
				e.sayIn(t, w.session, w.text)
			}
			return e
		}
		e, want := play(""), play("bad")
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		done := must[memory.Taint](t)(op.Revoke(t.Context(), memory.Source{Session: "bad"}, ""))
		e.again(t, done)
		e.verified(t)
		for h := range len(story) + 2 {
			if retracts && h <= len(story) {
				continue
			}
			at := tenet.AsOf{Valid: time.Date(2026, 3, 2, 9+h, 0, 0, 0, time.UTC)}
			got, exp := valuesAt(t, e, at), valuesAt(t, want, at)
			if !slices.Equal(got, exp) {
				rt.Fatalf("hour %d: %v, without the bad session %v; story %v", h, got, exp, story)
			}
		}
		if again := must[memory.Taint](t)(op.Revoke(t.Context(), memory.Source{Session: "bad"}, "")); again.Revoked != "" {
			rt.Fatalf("a second revocation: %+v; story %v", again, story)
		}
	})
}

func with(a, b scripted) scripted {
	out := scripted{}
	for _, m := range []scripted{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func valuesAt(t *testing.T, e *engine, at tenet.AsOf) (out []string) {
	for _, f := range must[[]memory.Fact](t)(e.Facts(t.Context(), e.app, at, e.sarah)) {
		out = append(out, string(f.Value))
	}
	return out
}
