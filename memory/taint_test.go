package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store/storetest"
)

// said appends a user message to a session and remembers it as a fact.
func (e *engine) said(t *testing.T, session tenet.SessionID, key, text string) tenet.Verdict {
	t.Helper()
	e.advance(time.Hour)
	s := must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, session))
	ms := must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage(text)))
	c := tenet.Fact(e.sarah, key, text).Citing(ms[0].ID)
	c.Session = session
	return must[tenet.Verdict](t)(e.Remember(t.Context(), e.app, c))
}

func TestTaintIsListedAndTakenBackWhole(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		e.said(t, "good", "home_city", "Berlin")
		e.said(t, "good", "seat", "Aisle")
		e.said(t, "bad", "home_city", "Paris")
		e.said(t, "bad", "diet", "Vegan")
		e.said(t, "bad", "seat", "Aisle") // agrees with what the good session said
		e.said(t, "bad", "pet", "A cat")
		e.said(t, "later", "pet", "A cat") // and another said it too
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "victim"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("Where do I live?")))
		must[memory.Window](t)(s.Context(ctx, "", memory.Budget{}))
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))

		before := must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah))
		dry := must[memory.Taint](t)(op.Taint(ctx, memory.Source{Session: "bad"}))
		if dry.Open() != 3 || len(dry.Agreed) != 1 || len(dry.Served) != 1 || dry.Served[0].Session != "victim" || dry.Revoked != "" {
			t.Errorf("%d open, agreed %v, served %+v", dry.Open(), dry.Agreed, dry.Served)
		}
		if after := must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah)); !slices.Equal(texts(after), texts(before)) {
			t.Error("a dry run changed something")
		}
		e.advance(time.Hour)
		at := e.now()
		done := must[memory.Taint](t)(op.Revoke(ctx, memory.Source{Session: "bad"}, "prompt injection in a mail"))
		if done.Revoked == "" {
			t.Error("no revocation")
		}
		e.advance(time.Hour)
		got := texts(must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah)))
		if want := []string{"home_city=Berlin", "pet=A cat", "seat=Aisle"}; !slices.Equal(got, want) {
			t.Errorf("after: %v, want %v", got, want)
		}
		was := texts(must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{Known: at.Add(-time.Minute)}, e.sarah)))
		if !slices.Contains(was, "diet=Vegan") {
			t.Errorf("history forgot what was believed: %v", was)
		}
		again := must[memory.Taint](t)(op.Revoke(ctx, memory.Source{Session: "bad"}, ""))
		if again.Open() != 0 || again.Revoked != "" {
			t.Errorf("a second revocation: %d open", again.Open())
		}
		e.said(t, "good", "home_city", "Rome") // life goes on
		e.verified(t)
		for _, bad := range []memory.Source{{}, {Session: "a", Key: "b"}} {
			_, err := op.Taint(ctx, bad)
			wantKind(t, err, tenet.Invalid)
		}
	})
}

func TestTaintByEverySource(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := governed(t, b, nil)
		crm := principal(t, tenet.Connector, "crm").Owning("plan")
		v := must[tenet.Verdict](t)(e.Remember(ctx, crm, quoting(tenet.Fact(e.sarah, "plan", "Gold"))))
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		m := tenet.UserMessage("The report says that the roof leaks.")
		m.Channel = tenet.ChannelExternal
		kept := must[[]tenet.Message](t)(s.Append(ctx, m, tenet.UserMessage("I like jazz.")))
		must[memory.Report](t)(s.End(ctx))
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		for name, c := range map[string]struct {
			src  memory.Source
			want int
		}{
			"session": {memory.Source{Session: "chat"}, 2}, "message": {memory.Source{Message: kept[1].ID}, 1},
			"principal": {memory.Source{Origin: "connector:crm"}, 1}, "channel": {memory.Source{Origin: "channel:external"}, 1},
			"key": {memory.Source{Key: "plan"}, 1}, "record": {memory.Source{Record: v.Record}, 1},
			"since": {memory.Source{Session: "chat", Since: e.now().Add(time.Hour)}, 0}, "nobody": {memory.Source{Session: "none"}, 0},
		} {
			if got := must[memory.Taint](t)(op.Taint(ctx, c.src)); len(got.Records) != c.want {
				t.Errorf("%s: %d records, want %d", name, len(got.Records), c.want)
			}
		}
		// A confirmation rests on what it confirms.
		id := e.hold(t, principal(t, tenet.Agent, "bot"), func() tenet.Candidate {
			return tenet.Fact(e.sarah, "music", "I like jazz.").Citing(kept[0].ID)
		}())
		op.Release(ctx, id)
		if got := must[memory.Taint](t)(op.Taint(ctx, memory.Source{Message: kept[0].ID})); len(got.Records) != 2 {
			t.Errorf("a released hold: %d records, want 2", len(got.Records))
		}
		e.verified(t)
	})
}

// TestARevocationLeavesWhatSoundWordsAloneWouldHaveMade: over random histories,
// what is believed after a revocation is what the other sessions alone would
// have made, and nothing that came from the revoked one is left.
func TestARevocationLeavesWhatSoundWordsAloneWouldHaveMade(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type word struct {
			session   tenet.SessionID
			key, text string
		}
		var words []word
		for range rapid.IntRange(1, 14).Draw(rt, "words") {
			words = append(words, word{
				tenet.SessionID(rapid.SampledFrom([]string{"bad", "good", "fine"}).Draw(rt, "session")),
				rapid.SampledFrom([]string{"city", "pet"}).Draw(rt, "key"), rapid.SampledFrom([]string{"one", "two", "three"}).Draw(rt, "text"),
			})
		}
		play := func(skip tenet.SessionID) *engine {
			e := newEngine(t, backend{open: func(*testing.T) stores { o := storetest.NewOracle(); return stores{o, o} }}, nil)
			for _, w := range words {
				if w.session == skip {
					e.advance(time.Hour)
					continue
				}
				e.said(t, w.session, w.key, w.text)
			}
			return e
		}
		e, want := play(""), play("bad")
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		must[memory.Taint](t)(op.Revoke(t.Context(), memory.Source{Session: "bad"}, ""))
		left := must[memory.Taint](t)(op.Taint(t.Context(), memory.Source{Session: "bad"}))
		if left.Open() != 0 {
			rt.Fatalf("%d tainted records are believed", left.Open())
		}
		e.verified(t)
		for h := range len(words) + 2 { // at every hour of the story
			at := tenet.AsOf{Valid: time.Date(2026, 3, 2, 9+h, 0, 0, 0, time.UTC)}
			got, exp := texts(must[[]memory.Fact](t)(e.Facts(t.Context(), e.app, at, e.sarah))), texts(must[[]memory.Fact](t)(want.Facts(t.Context(), want.app, at, want.sarah)))
			if !slices.Equal(got, exp) {
				rt.Fatalf("hour %d: %v, without the bad session %v; words %v", h, got, exp, words)
			}
		}
	})
}

// TestReplayShowsWhatOtherRulesWouldChange: the refusals of one rule set under
// another.
func TestReplayShowsWhatOtherRulesWouldChange(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		g := gate.New([]gate.Rule{wordRule("forbidden")})
		e := newEngine(t, b, func(c *memory.Config) { c.Gate = g })
		for _, text := range []string{"A forbidden word.", "Another forbidden word."} {
			if _, err := e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, text))); tenet.KindOf(err) != tenet.Refused {
				t.Fatal(err)
			}
		}
		e.hold(t, principal(t, tenet.Agent, "bot"), quoting(tenet.Fact(e.sarah, "k", "v")))
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		flips := func() (n int) {
			for _, r := range must[[]memory.Replayed](t)(op.Replay(ctx, "", 100)) {
				if r.Partial != "" || r.Failed != "" {
					t.Errorf("%s: %s %s", r.Held.Verdict.Candidate, r.Partial, r.Failed)
				}
				if r.Flips {
					n++
				}
			}
			return n
		}
		if n := flips(); n != 0 {
			t.Errorf("%d flips under the same rules", n)
		}
		old := g.RuleSet()
		g.Adopt(gate.New([]gate.Rule{wordRule("another")}))
		if n := flips(); n != 1 || g.RuleSet() == old {
			t.Errorf("%d flips under the other rules, want 1", n)
		}
		if f := must[memory.Found](t)(e.Recall(ctx, e.app, "forbidden word", memory.RecallOptions{}, e.sarah)); len(f.Hits) != 0 {
			t.Errorf("a replay wrote %d notes", len(f.Hits))
		}
		g.Shut("line 3 of the policy cannot be read")
		_, err := e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "I like tea.")))
		wantKind(t, err, tenet.Unavailable)
		if _, err := e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah); err != nil {
			t.Errorf("reading while the gate is shut: %v", err)
		}
		g.Adopt(gate.New(nil))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "I like tea."))))
		e.verified(t)
	})
}

// wordRule rejects a word.
type wordRule string

func (w wordRule) Version() string { return "word/" + string(w) }
func (w wordRule) Check(p gate.Proposal) []gate.Finding {
	if !strings.Contains(strings.ToLower(p.Candidate.Text), string(w)) {
		return nil
	}
	return []gate.Finding{{Finding: tenet.Finding{Check: "word", Code: "WORD"}, Reject: true}}
}
