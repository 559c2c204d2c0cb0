package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// engine is a memory over fresh stores with a clock that the test moves.
type engine struct {
	*memory.Memory
	stores
	clock *atomic.Int64 // microseconds
	app   tenet.Principal
	op    tenet.Principal
	sarah tenet.Scope
}

func (e *engine) now() time.Time          { return time.UnixMicro(e.clock.Load()).UTC() }
func (e *engine) advance(d time.Duration) { e.clock.Add(d.Microseconds()) }

func newEngine(t *testing.T, b backend, change func(*memory.Config)) *engine {
	t.Helper()
	e := &engine{stores: b.open(t), clock: new(atomic.Int64)}
	e.clock.Store(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).UnixMicro())
	cfg := memory.Config{Ledger: e.ledger, Sessions: e.sessions, Gate: newGate(), Secret: []byte("s"), Now: e.now}
	if change != nil {
		change(&cfg)
	}
	mem, err := memory.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e.Memory = mem
	e.app, e.op = principal(t, tenet.App, "shop"), principal(t, tenet.Operator, "olga")
	e.sarah = scope(t, "sarah")
	return e
}

// each runs a claim on every backend.
func each(t *testing.T, claim func(*testing.T, backend)) {
	t.Helper()
	onEach(t, backends(), claim)
}

func onEach(t *testing.T, bs []backend, claim func(*testing.T, backend)) {
	t.Helper()
	t.Parallel()
	for _, b := range bs {
		t.Run(b.name, func(t *testing.T) { t.Parallel(); claim(t, b) })
	}
}

// seeded returns a random source whose seed is printed and can be set again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TENET_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("TENET_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func wantKind(t *testing.T, err error, kind tenet.Kind) {
	t.Helper()
	if err == nil || tenet.KindOf(err) != kind {
		t.Errorf("error is %v, want kind %s", err, kind)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestAFactOutlivesItsEpisodeAndSessionByAYear(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) {
			c.SessionTTL, c.EpisodeRetention = 24*time.Hour, 30*24*time.Hour
		})
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat-1"))
		kept := must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I have a severe shellfish allergy.")))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Fact(e.sarah, "allergy", "Severe shellfish allergy.").Citing(kept[0].ID)))
		must[memory.Report](t)(s.End(ctx))

		e.advance(48 * time.Hour)
		if sw := must[memory.Swept](t)(e.Sweep(ctx)); sw.Messages != 1 {
			t.Errorf("swept %d messages after the TTL, want 1", sw.Messages)
		}
		e.advance(365 * 24 * time.Hour)
		if sw := must[memory.Swept](t)(e.Sweep(ctx)); sw.Texts != 1 {
			t.Errorf("dropped %d texts after the retention, want 1", sw.Texts)
		}
		if found := must[memory.Found](t)(e.Recall(ctx, e.app, "shellfish allergy", memory.RecallOptions{}, e.sarah)); len(found.Hits) != 0 {
			t.Errorf("an expired episode is recalled")
		}
		facts := must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah))
		if len(facts) != 1 || facts[0].Text != "Severe shellfish allergy." || facts[0].Label != tenet.LabelUserStated {
			t.Fatalf("the fact did not outlive them: %+v", facts)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		_, ev, err := op.Record(ctx, facts[0].ID)
		if err != nil || len(ev) != 1 || !strings.Contains(ev[0].Excerpt, "shellfish") {
			t.Errorf("its evidence did not outlive them: %v %v", ev, err)
		}
		if v := must[store.Verification](t)(op.Verify(ctx)); !v.OK() {
			t.Errorf("the chain does not verify: %s", v.Why)
		}
	})
}

func TestRacingRemembersLeaveOneOpenRow(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		const n = 200
		e := newEngine(t, b, func(c *memory.Config) { c.Now = time.Now })
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				city := "City number " + strconv.Itoa(i)
				_, err := e.Remember(t.Context(), e.app, tenet.Fact(e.sarah, "home_city", city).Quoting("I live in "+city+"."))
				if err != nil {
					t.Errorf("a racing write failed: %v", err)
				}
			})
		}
		wg.Wait()
		history := must[[]tenet.Record](t)(e.History(t.Context(), e.app, e.sarah, "home_city"))
		open, values := 0, map[string]bool{}
		for _, r := range history {
			if r.Known.Open() && r.Valid.Open() {
				open++
			}
			values[r.Text] = true
		}
		if open != 1 || len(values) != n {
			t.Errorf("%d open rows and %d values in history, want 1 and %d", open, len(values), n)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		if v := must[store.Verification](t)(op.Verify(t.Context())); !v.OK() {
			t.Errorf("the chain does not verify: %s", v.Why)
		}
	})
}

func TestTheFactsAreInEveryContextWhateverIsAsked(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx, rng := t.Context(), seeded(t)
		e := newEngine(t, b, nil)
		var texts []string
		for i := range 40 {
			text := fmt.Sprintf("Standing wish %d: %s.", i, strings.Repeat(string(rune('a'+i%26)), 1+rng.IntN(60)))
			texts = append(texts, text)
			must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Fact(e.sarah, fmt.Sprintf("wish_%d", i), text).Quoting(text)))
		}
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		var block string
		for i, q := range []string{"", "promotions", "???", "的", strings.Repeat("long question ", 2000), "wish 7"} {
			must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("turn "+strconv.Itoa(i))))
			w := must[memory.Window](t)(s.Context(ctx, q, memory.Budget{Tokens: 20_000}))
			for _, text := range texts {
				if !strings.Contains(w.System, text) {
					t.Fatalf("query %d: a fact is missing from the context", i)
				}
			}
			end := strings.Index(w.System, "</tenet-facts")
			if block == "" {
				block = w.System[:end]
			} else if block != w.System[:end] {
				t.Errorf("query %d: the facts block changed while the facts did not", i)
			}
			if w.Tokens.Total > w.Tokens.Budget {
				t.Errorf("query %d: %d tokens over a budget of %d", i, w.Tokens.Total, w.Tokens.Budget)
			}
		}
		_, err := s.Context(ctx, "promotions", memory.Budget{Tokens: 100})
		wantKind(t, err, tenet.Invalid)
	})
}

func TestNobodyReachesAnotherScope(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Fact(e.sarah, "seat", "Aisle.").Quoting("Aisle.")))
		other, err := tenet.NewPrincipal(tenet.App, "umbrella", "shop")
		if err != nil {
			t.Fatal(err)
		}
		admin := principal(t, tenet.Admin, "root")
		narrow := e.app.For(tenet.User("bob"))
		for _, by := range []tenet.Principal{other, admin, narrow, {}} {
			_, err := e.Facts(ctx, by, tenet.AsOf{}, e.sarah)
			wantKind(t, err, tenet.Denied)
			_, err = e.Remember(ctx, by, tenet.Fact(e.sarah, "seat", "Middle.").Quoting("Middle."))
			wantKind(t, err, tenet.Denied)
			_, err = e.Session(ctx, by, e.sarah, "chat")
			wantKind(t, err, tenet.Denied)
			_, err = e.History(ctx, by, e.sarah, "seat")
			wantKind(t, err, tenet.Denied)
			_, err = e.Recall(ctx, by, "seat", memory.RecallOptions{}, e.sarah)
			wantKind(t, err, tenet.Denied)
			wantKind(t, e.End(ctx, by, memory.Change{Scope: e.sarah, Key: "seat"}), tenet.Denied)
			_, err = e.Operator(by, e.sarah)
			wantKind(t, err, tenet.Denied)
			_, err = e.Consolidate(ctx, by, e.sarah, "chat")
			wantKind(t, err, tenet.Denied)
		}
		_, err = e.Operator(e.app, e.sarah)
		wantKind(t, err, tenet.Denied)
	})
}

func TestSessionsOnlyAnswersUnavailable(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) { c.SessionsOnly = true; c.Ledger, c.Gate = nil, nil })
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("Hello.")))
		w := must[memory.Window](t)(s.Context(ctx, "", memory.Budget{}))
		if len(w.Messages) != 1 {
			t.Errorf("%d messages in the context, want 1", len(w.Messages))
		}
		must[memory.Report](t)(s.End(ctx))
		_, err := e.Remember(ctx, e.app, tenet.Fact(e.sarah, "seat", "Aisle.").Quoting("Aisle."))
		wantKind(t, err, tenet.Unavailable)
		_, err = s.Recall(ctx, "seat", memory.RecallOptions{})
		wantKind(t, err, tenet.Unavailable)
		_, _, err = e.ConsolidateOnce(ctx)
		wantKind(t, err, tenet.Unavailable)
	})
}

func TestBadMessagesAreInvalidAndNothingIsWritten(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		for name, m := range map[string]tenet.Message{
			"no role":        {Text: "x"},
			"empty":          tenet.UserMessage(""),
			"NUL":            tenet.UserMessage("a\x00b"),
			"invalid UTF-8":  tenet.UserMessage("a\xff"),
			"oversize":       tenet.UserMessage(strings.Repeat("x", tenet.MaxMessage+1)),
			"long client id": {Role: tenet.RoleUser, Text: "x", ClientID: strings.Repeat("x", 300)},
		} {
			if _, err := s.Append(ctx, tenet.UserMessage("fine"), m); tenet.KindOf(err) != tenet.Invalid {
				t.Errorf("%s: %v, want invalid", name, err)
			}
		}
		if ms := must[[]tenet.Message](t)(s.Messages(ctx, 0, 10)); len(ms) != 0 {
			t.Errorf("%d messages of refused appends were written", len(ms))
		}
		for _, id := range []tenet.SessionID{"", "a\x00", "a\xff", tenet.SessionID(strings.Repeat("x", 300))} {
			_, err := e.Session(ctx, e.app, e.sarah, id)
			wantKind(t, err, tenet.Invalid)
		}
	})
}

// brittle is a pair of stores that fail at the n-th call, as a crash would:
// before the call or, so that the caller does not learn of it, after it.
type brittle struct {
	store.Ledger
	store.Sessions
	left  *atomic.Int64
	after bool
}

var errCrash = errors.New("crashed")

func (c brittle) Close() error { return nil }

func crash[T any](c brittle, call func() (T, error)) (T, error) {
	var zero T
	switch n := c.left.Add(-1); {
	case n == 0 && c.after:
		if _, err := call(); err != nil {
			return zero, err
		}
		return zero, errCrash
	case n <= 0:
		return zero, errCrash
	}
	return call()
}

func (c brittle) Apply(ctx context.Context, ds []gate.Decision, again store.Rejudge) ([]store.Applied, error) {
	return crash(c, func() ([]store.Applied, error) { return c.Ledger.Apply(ctx, ds, again) })
}

func (c brittle) Staged(ctx context.Context, s tenet.Scope, id tenet.SessionID) (int64, []tenet.Candidate, error) {
	var cs []tenet.Candidate
	n, err := crash(c, func() (n int64, err error) { n, cs, err = c.Ledger.Staged(ctx, s, id); return n, err })
	return n, cs, err
}

func (c brittle) Messages(ctx context.Context, s tenet.Scope, id tenet.SessionID, after int64, limit int) ([]tenet.Message, error) {
	return crash(c, func() ([]tenet.Message, error) { return c.Sessions.Messages(ctx, s, id, after, limit) })
}

func (c brittle) Ack(ctx context.Context, l store.Lease, a store.Ack) error {
	_, err := crash(c, func() (struct{}, error) { return struct{}{}, c.Sessions.Ack(ctx, l, a) })
	return err
}

func TestACrashAnywhereInConsolidationLosesAndDoublesNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		const messages = 450 // three stretches
		step := int64(1)
		if testing.Short() { // under the race detector
			step = 6
		}
		for n := int64(1); n < 25; n += step {
			for _, after := range []bool{false, true} {
				e := newEngine(t, b, nil)
				s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
				var all []tenet.Message
				for i := range messages {
					all = append(all, tenet.UserMessage("Sentence number "+strconv.Itoa(i)))
				}
				must[[]tenet.Message](t)(s.Append(ctx, all...))
				must[tenet.CandidateID](t)(s.Propose(ctx, tenet.Note(e.sarah, "Sentence number 7").Quoting("Sentence number 7")))
				c := brittle{e.ledger, e.sessions, new(atomic.Int64), after}
				c.left.Store(n)
				doomed, err := memory.Open(ctx, memory.Config{Ledger: c, Sessions: c, Gate: newGate(), Now: e.now})
				if err != nil {
					t.Fatal(err)
				}
				e.advance(time.Minute)
				if _, _, err := doomed.ConsolidateOnce(ctx); err == nil && c.left.Load() <= 0 {
					t.Fatalf("crash at call %d was not felt", n)
				}
				e.advance(time.Hour) // the lease and the backoff run out
				var verdicts int
				for {
					r, more, err := e.ConsolidateOnce(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if !more {
						break
					}
					verdicts += len(r.Verdicts)
				}
				ch := must[store.Changes](t)(e.ledger.Changes(ctx, e.sarah, 0))
				got := map[string]int{}
				for _, r := range ch.Added {
					got[r.Tier.String()+" "+r.Text]++
				}
				if len(ch.Added) != messages+1 || len(got) != messages+1 {
					t.Fatalf("crash at call %d (after %v): %d records, %d distinct, want %d of each", n, after, len(ch.Added), len(got), messages+1)
				}
				op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
				if v := must[store.Verification](t)(op.Verify(ctx)); !v.OK() {
					t.Fatalf("crash at call %d: the chain does not verify: %s", n, v.Why)
				}
			}
		}
	})
}

func TestMergeKeepsQuotasAndLetsFreePlacesFlowBack(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		project, tenant := scope(t, "project:atlas"), scope(t, "tenant")
		for i := range 20 {
			for _, sc := range []tenet.Scope{e.sarah, project} {
				text := fmt.Sprintf("The launch note %d of %s", i, []string{"one", "two"}[btoi(sc == project)])
				must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Note(sc, text).Quoting(text)))
			}
		}
		hits := must[memory.Found](t)(e.Recall(ctx, e.app, "launch note", memory.RecallOptions{K: 10}, e.sarah, project, tenant)).Hits
		mine := 0
		for _, h := range hits {
			mine += btoi(h.Scope == e.sarah)
		}
		if len(hits) != 10 || mine < 5 || mine == 10 {
			t.Errorf("%d hits, %d of the user's own; want 10 with at least half and some of the project's", len(hits), mine)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestReportsAndReceiptsHoldIDsNotText(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Fact(e.sarah, "pet", "A marmoset called Zebulon.").Quoting("I have a marmoset called Zebulon.")))
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("Does Zebulon need a passport?")))
		must[memory.Window](t)(s.Context(ctx, "", memory.Budget{}))
		rs := must[[]tenet.Receipt](t)(e.sessions.Receipts(ctx, e.sarah, "chat"))
		if len(rs) != 1 || len(rs[0].Facts) != 1 || rs[0].Tokens == 0 {
			t.Fatalf("receipts: %+v", rs)
		}
		if strings.Contains(fmt.Sprintf("%+v", rs), "Zebulon") {
			t.Error("a receipt holds memory text")
		}
	})
}

func TestErrorsCarryNoMemoryText(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		const secret = "xylophonequartz"
		long := secret + strings.Repeat(" z", 20_000)
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		var errs []error
		for _, c := range []tenet.Candidate{
			tenet.Fact(e.sarah, "k", secret), tenet.Fact(e.sarah, "k", long).Quoting(long), tenet.Fact(e.sarah, "", secret).Quoting(secret),
			{Scope: e.sarah, Text: secret, Quote: secret}, tenet.FactValue(e.sarah, "k", []byte(`{"`+secret+`":1,"`+secret+`":2}`), "x").Quoting("x"),
			tenet.Fact(e.sarah, "k", secret+"\x00").Quoting(secret),
		} {
			_, err := e.Remember(ctx, e.app, c)
			errs = append(errs, err)
		}
		_, err := s.Append(ctx, tenet.UserMessage(secret+"\xff"))
		errs = append(errs, err)
		for i, err := range errs {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("error %d is missing or quotes the text", i)
			}
		}
		if slices.Contains(errs, nil) {
			t.Fatal("a bad candidate was accepted")
		}
	})
}

func TestWhatTheScreenTakesOutIsNowhereKept(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) {
			c.Screen = func(s string) (string, bool) {
				return strings.ReplaceAll(s, "hunter2", "[SECRET]"), strings.HasPrefix(s, "Off the record")
			}
		})
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		kept := must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("My password is hunter2."), tenet.UserMessage("Off the record: I hate Mondays.")))
		if kept[0].Text != "My password is [SECRET]." || !kept[1].RetainNone {
			t.Errorf("kept as %q, retain none %v", kept[0].Text, kept[1].RetainNone)
		}
		rep := must[memory.Report](t)(s.End(ctx))
		if len(rep.Verdicts) != 1 {
			t.Errorf("%d verdicts, want one for the one message that may be kept", len(rep.Verdicts))
		}
	})
}

func TestVetDecidesAndWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Fact(e.sarah, "seat", "Aisle.").Quoting("Aisle.")))
		e.advance(time.Hour)
		before := must[store.Head](t)(e.ledger.Head(ctx, e.sarah))
		v := must[tenet.Verdict](t)(e.Vet(ctx, e.app, tenet.Fact(e.sarah, "seat", "Window.").Quoting("Window, please.")))
		if v.Outcome != tenet.Superseded {
			t.Errorf("vet says %s, want superseded", v.Outcome)
		}
		v = must[tenet.Verdict](t)(e.Vet(ctx, e.app, tenet.Fact(e.sarah, "seat", "Window.")))
		if v.Outcome != tenet.Rejected {
			t.Errorf("vet says %s without provenance, want rejected", v.Outcome)
		}
		if after := must[store.Head](t)(e.ledger.Head(ctx, e.sarah)); after != before {
			t.Errorf("vet moved the ledger from %+v to %+v", before, after)
		}
	})
}
