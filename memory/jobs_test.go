package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
	"github.com/tenet-memory/tenet/trace"
)

// moody fails while down is set, else it is Verbatim.
type moody struct{ down *atomic.Bool }

func (moody) Name() string { return "moody/1" }

func (x moody) Extract(ctx context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	if x.down.Load() {
		return nil, errors.New("the model is away")
	}
	return model.Verbatim{}.Extract(ctx, st)
}

func newMoody(t *testing.T, b backend) (*engine, *atomic.Bool) {
	down := new(atomic.Bool)
	return newEngine(t, b, func(c *memory.Config) { c.Extractor, c.MaxAttempts = moody{down}, 3 }), down
}

// until runs due work, moving the clock, until the session's state is reached.
func (e *engine) until(t *testing.T, id tenet.SessionID, want memory.JobState) memory.Status {
	t.Helper()
	for range 20 {
		e.advance(20 * time.Minute)
		e.ConsolidateOnce(t.Context())
		if s := e.status(t, id); s.State == want {
			return s
		}
	}
	t.Fatalf("never %s: %+v", want, e.status(t, id).Job)
	return memory.Status{}
}

func (e *engine) status(t *testing.T, id tenet.SessionID) memory.Status {
	t.Helper()
	return must[memory.Status](t)(e.Status(t.Context(), e.app, e.sarah, id, "", 1000))
}

func TestAFailingSessionIsGivenUpListedAndRetried(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e, down := newMoody(t, b)
		down.Store(true)
		s := must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage("one"), tenet.UserMessage("two")))
		if st := e.status(t, "chat"); st.State != memory.JobWaiting || st.Messages != 2 {
			t.Errorf("before the turn is over: %+v", st.Job)
		}
		for attempt := 1; attempt <= 3; attempt++ {
			e.advance(time.Hour)
			if _, more, err := e.ConsolidateOnce(t.Context()); !more || err == nil {
				t.Fatalf("attempt %d: %v %v", attempt, more, err)
			}
		}
		st := e.status(t, "chat")
		if st.State != memory.JobDead || st.Attempts != 3 || st.Code == "" {
			t.Fatalf("after three failures: %+v", st.Job)
		}
		e.advance(1000 * time.Hour)
		if _, more, err := e.ConsolidateOnce(t.Context()); more || err != nil {
			t.Errorf("what was given up is tried again: %v %v", more, err)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		jobs := must[[]memory.Job](t)(op.Jobs(t.Context(), 0, 10))
		if len(jobs) != 1 || jobs[0].Session != "chat" || jobs[0].State != memory.JobDead || jobs[0].Messages != 2 {
			t.Errorf("listed: %+v", jobs)
		}
		down.Store(false)
		if err := op.Retry(t.Context(), "chat"); err != nil {
			t.Fatal(err)
		}
		st = e.until(t, "chat", memory.JobDone)
		if len(st.Verdicts) != 2 || st.Staged != 0 {
			t.Errorf("in the end: %+v", st)
		}
		if jobs := must[[]memory.Job](t)(op.Jobs(t.Context(), 0, 10)); len(jobs) != 0 {
			t.Errorf("still listed: %+v", jobs)
		}
	})
}

func TestWhatIsDroppedIsSaidToBe(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e, down := newMoody(t, b)
		ctx := t.Context()
		down.Store(true)
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("one"), tenet.UserMessage("two")))
		id := must[tenet.CandidateID](t)(s.Propose(ctx, tenet.Note(e.sarah, "my pin is 1234").Quoting("my pin is 1234")))
		e.until(t, "chat", memory.JobDead)
		if _, state, err := e.Proposal(ctx, e.app, e.sarah, "chat", id); state != memory.JobDead || err != nil {
			t.Errorf("a proposal of a dead session waits as %q, %v", state, err)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		if n := must[int64](t)(op.Drop(ctx, "chat", "the model cannot read it")); n != 2 {
			t.Errorf("%d messages skipped", n)
		}
		st := e.status(t, "chat")
		if st.State != memory.JobDone || len(st.Verdicts) != 1 {
			t.Errorf("afterwards: %+v", st)
		}
		v := must[tenet.Verdict](t)(e.Verdict(ctx, e.app, e.sarah, id))
		if v.Outcome != tenet.Rejected || !slices.Contains(v.Codes, tenet.CodeDropped) {
			t.Errorf("the proposal: %+v", v)
		}
		if got, state, err := e.Proposal(ctx, e.app, e.sarah, "chat", id); got.Outcome != tenet.Rejected || state != "" || err != nil {
			t.Errorf("the proposal by its session: %+v %q %v", got, state, err)
		}
		if _, _, err := e.Proposal(ctx, e.app, e.sarah, "chat", "nobody"); tenet.KindOf(err) != tenet.NotFound {
			t.Errorf("what was never proposed: %v", err)
		}
		for _, h := range must[[]tenet.Held](t)(op.Held(ctx, "", 10)) {
			if h.Candidate.Text != "[DROPPED]" {
				t.Errorf("the log keeps unread text: %q", h.Candidate.Text)
			}
		}
		entries := must[[]tenet.AuditEntry](t)(op.Audit(ctx, 1, 10))
		if last := entries[len(entries)-1]; last.Why != "the model cannot read it" || last.Actor != e.op.String() {
			t.Errorf("the chain: %+v", last)
		}
		down.Store(false) // the conversation goes on, and only what is new is extracted
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("three")))
		if st := e.until(t, "chat", memory.JobDone); len(st.Verdicts) != 2 {
			t.Errorf("after the next message: %+v", st.Verdicts)
		}
		if v := must[store.Verification](t)(op.Verify(ctx)); !v.OK() {
			t.Errorf("%+v", v)
		}
		if _, err := op.Drop(ctx, "nope", ""); tenet.KindOf(err) != tenet.NotFound {
			t.Errorf("an unknown session: %v", err)
		}
	})
}

func TestAProposalThatCannotBeJudgedBlocksNobody(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		ctx := t.Context()
		c := tenet.Note(e.sarah, "likes tea").Quoting("likes tea")
		c.ID = "mine"
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, c))
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		c.Text, c.Quote = "likes coffee", "likes coffee"
		must[tenet.CandidateID](t)(s.Propose(ctx, c))
		good := must[tenet.CandidateID](t)(s.Propose(ctx, tenet.Note(e.sarah, "likes cake").Quoting("likes cake")))
		r := must[memory.Report](t)(e.Consolidate(ctx, e.app, e.sarah, "chat"))
		if len(r.Verdicts) != 2 || r.Verdicts[0].Outcome != tenet.Rejected || r.Verdicts[0].Codes[0] != "CONFLICT" {
			t.Errorf("the report: %+v", r.Verdicts)
		}
		if v := must[tenet.Verdict](t)(e.Verdict(ctx, e.app, e.sarah, good)); v.Outcome != tenet.Stored {
			t.Errorf("the other one: %+v", v)
		}
		// Its author is not known any more, so nobody can be asked: the ledger answers.
		lost := tenet.Note(e.sarah, "my pin is 1234").Quoting("my pin is 1234")
		lost.ID, lost.ProposedBy, lost.ProposedAt = "lost", "nobody", e.now()
		if err := e.sessions.Propose(ctx, e.sarah, "chat", lost, e.now()); err != nil {
			t.Fatal(err)
		}
		r = must[memory.Report](t)(e.Consolidate(ctx, e.app, e.sarah, "chat"))
		if v, state, err := e.Proposal(ctx, e.app, e.sarah, "chat", "lost"); err != nil || state != "" || v.Outcome != tenet.Rejected || !slices.Equal(v.Codes, []tenet.Code{"INVALID"}) {
			t.Errorf("in the ledger: %+v %q %v, reported %+v", v, state, err, r.Verdicts)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		for _, h := range must[[]tenet.Held](t)(op.Held(ctx, "", 10)) {
			if h.Candidate.ID == "lost" && h.Candidate.Text != "[INVALID]" {
				t.Errorf("the log keeps unread text: %q", h.Candidate.Text)
			}
		}
		if v := must[store.Verification](t)(op.Verify(ctx)); !v.OK() {
			t.Errorf("%+v", v)
		}
		if st := e.status(t, "chat"); st.State != memory.JobDone {
			t.Errorf("%+v", st.Job)
		}
	})
}

// TestANarrowedOperatorGetsFullPages: what they may not see takes no room on a
// page, so a short page is the last one.
func TestANarrowedOperatorGetsFullPages(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		ctx := t.Context()
		mine := []tenet.Subject{tenet.WholeTenant()}
		for i := range 20 {
			s := must[tenet.Scope](t)(tenet.NewScope(e.sarah.Tenant(), tenet.User(fmt.Sprintf("u%02d", i))))
			must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Note(s, "likes tea").Quoting("likes tea")))
			must[[]tenet.Message](t)(e.Append(ctx, e.app, s, "chat", tenet.UserMessage("I like tea.")))
			if i%5 == 4 {
				mine = append(mine, s.Subject())
			}
		}
		whole := must[tenet.Scope](t)(tenet.NewScope(e.sarah.Tenant(), tenet.WholeTenant()))
		for _, k := range []struct {
			by   tenet.Principal
			want int
		}{{e.op, 20}, {e.op.For(mine...), 4}} {
			o := must[*memory.Operator](t)(e.Operator(k.by, whole))
			scopes, jobs := map[tenet.Scope]bool{}, map[tenet.Scope]bool{}
			var after tenet.Scope
			for n := 3; n == 3; {
				page := must[[]tenet.Scope](t)(o.Scopes(ctx, after, 3))
				n = len(page)
				for _, s := range page {
					scopes[s], after = true, s
				}
			}
			for n, skip := 3, 0; n == 3; skip += n {
				page := must[[]memory.Job](t)(o.Jobs(ctx, skip, 3))
				n = len(page)
				for _, j := range page {
					if jobs[j.Scope] || !k.by.MayReach(j.Scope) {
						t.Errorf("listed twice, or not theirs: %v", j)
					}
					jobs[j.Scope] = true
				}
			}
			if len(scopes) != k.want || len(jobs) != k.want {
				t.Errorf("%v: %d scopes and %d jobs, want %d", k.by, len(scopes), len(jobs), k.want)
			}
		}
	})
}

// TestLossOfTheSessionStoreLosesNothingThatWasStaged: candidates and what they
// cite are judged from the ledger alone.
func TestLossOfTheSessionStoreLosesNothingThatWasStaged(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) { c.Extractor = spoken })
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I live in Berlin"), tenet.UserMessage("I am allergic to nuts")))
		c := brittle{e.ledger, e.sessions, new(atomic.Int64), false}
		c.left.Store(4) // staged, and the first judgement fails
		doomed := must[*memory.Memory](t)(memory.Open(ctx, memory.Config{Ledger: c, Sessions: c, Gate: newGate(), Now: e.now, Extractor: spoken}))
		if _, err := doomed.Consolidate(ctx, e.app, e.sarah, "chat"); err == nil {
			t.Fatal("it did not crash")
		}
		if _, cs, err := e.ledger.Staged(ctx, e.sarah, "chat"); err != nil || len(cs) != 2 {
			t.Fatalf("staged: %v %v", cs, err)
		}

		empty := b.open(t) // the ledger is there, the sessions are gone
		left := must[*memory.Memory](t)(memory.Open(ctx, memory.Config{Ledger: e.ledger, Sessions: empty.sessions, Gate: newGate(), Now: e.now, Extractor: spoken}))
		if _, more, err := left.ConsolidateOnce(ctx); more || err != nil {
			t.Errorf("what another worker may be at: %v %v", more, err)
		}
		e.advance(time.Hour)
		r, more, err := left.ConsolidateOnce(ctx)
		if err != nil || !more || len(r.Verdicts) != 2 {
			t.Fatalf("%+v %v %v", r, more, err)
		}
		for _, v := range r.Verdicts {
			if v.Outcome != tenet.Stored || v.Label != tenet.LabelUserStated {
				t.Errorf("%+v", v)
			}
			ev := must[[]tenet.Evidence](t)(e.ledger.Evidence(ctx, e.sarah, v.Record))
			if len(ev) != 1 || ev[0].Excerpt == "" || ev[0].Role != tenet.RoleUser {
				t.Errorf("its evidence: %+v", ev)
			}
		}
		if _, more, err := left.ConsolidateOnce(ctx); more || err != nil {
			t.Errorf("twice: %v %v", more, err)
		}
	})
}

// TestTheTTLBetweenStagingAndJudgingLosesNoEvidence: the session runs out and
// is swept while its candidates wait.
func TestTheTTLBetweenStagingAndJudgingLosesNoEvidence(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) { c.Extractor, c.SessionTTL = spoken, time.Hour })
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I live in Berlin")))
		c := brittle{e.ledger, e.sessions, new(atomic.Int64), false}
		c.left.Store(4)
		doomed := must[*memory.Memory](t)(memory.Open(ctx, memory.Config{Ledger: c, Sessions: c, Gate: newGate(), Now: e.now, Extractor: spoken}))
		if _, err := doomed.Consolidate(ctx, e.app, e.sarah, "chat"); err == nil {
			t.Fatal("it did not crash")
		}
		e.advance(48 * time.Hour)
		must[memory.Swept](t)(e.Sweep(ctx))
		st := e.until(t, "chat", memory.JobDone)
		if len(st.Verdicts) != 1 || st.Verdicts[0].Label != tenet.LabelUserStated {
			t.Errorf("%+v", st.Verdicts)
		}
		if got := e.values(t, "home_city"); len(got) != 1 {
			t.Errorf("%v", got)
		}
	})
}

// TestTwoEnginesOverOneFileShareTheWork: each session is consolidated, once.
func TestTwoEnginesOverOneFileShareTheWork(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "tenet.db")
	clock := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	var engines []*memory.Memory
	for range 2 {
		db := must[*sqlite.DB](t)(sqlite.Open(ctx, path, sqlite.Options{}))
		t.Cleanup(func() { db.Close() })
		engines = append(engines, must[*memory.Memory](t)(memory.Open(ctx, memory.Config{Ledger: db, Sessions: db, Gate: newGate(), Debounce: time.Millisecond,
			Now: func() time.Time { return clock.Add(time.Since(begun)) }})))
	}
	app, sarah := principal(t, tenet.App, "shop"), scope(t, "sarah")
	const sessions, turns = 24, 5
	for i := range sessions {
		s := must[*memory.Session](t)(engines[i%2].Session(ctx, app, sarah, tenet.SessionID(fmt.Sprint("chat", i))))
		for n := range turns {
			must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage(fmt.Sprintf("turn %d of %d", n, i))))
		}
	}
	time.Sleep(2 * time.Millisecond)
	var wg sync.WaitGroup
	var done atomic.Int64
	for _, m := range engines {
		for range 2 {
			wg.Go(func() {
				for {
					r, more, err := m.ConsolidateOnce(ctx)
					if err != nil {
						t.Error(err)
					}
					if !more {
						return
					}
					done.Add(int64(r.Messages))
				}
			})
		}
	}
	wg.Wait()
	if done.Load() != sessions*turns {
		t.Errorf("%d messages consolidated, want %d", done.Load(), sessions*turns)
	}
	for i := range sessions {
		st := must[memory.Status](t)(engines[0].Status(ctx, app, sarah, tenet.SessionID(fmt.Sprint("chat", i)), "", 100))
		if st.State != memory.JobDone || len(st.Verdicts) != turns {
			t.Errorf("chat%d: %s, %d verdicts", i, st.State, len(st.Verdicts))
		}
	}
}

var begun = time.Now()

// TestAJobsLinesSayOfWhichJobTheyAre: what a worker logs has an id, by which its
// span is found, and no word of what it worked on.
func TestAJobsLinesSayOfWhichJobTheyAre(t *testing.T) {
	t.Parallel()
	var logged lines
	down := new(atomic.Bool)
	down.Store(true)
	out := tracetest.NewInMemoryExporter()
	e := newEngine(t, backend{"sqlite", openSQLite}, func(c *memory.Config) {
		c.Extractor, c.Log = moody{down}, slog.New(slog.NewJSONHandler(&logged, nil))
	})
	s := must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, "chat"))
	must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage("shellfish")))
	e.advance(time.Hour)
	ctx, stop := context.WithCancel(trace.With(t.Context(), sdk.NewTracerProvider(sdk.WithSyncer(out))))
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx, time.Millisecond) }()
	for logged.String() == "" && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var l struct{ Msg, Kind, Request string }
	first, _, _ := strings.Cut(logged.String(), "\n")
	if err := json.Unmarshal([]byte(first), &l); err != nil || l.Msg != "consolidation failed" || l.Kind != "internal" || l.Request == "" {
		t.Fatalf("%v: %s", err, first)
	}
	all := fmt.Sprintf("%+v", out.GetSpans())
	if !strings.Contains(all, l.Request) || strings.Contains(all+logged.String(), "shellfish") || strings.Contains(all+logged.String(), "the model is away") {
		t.Errorf("the job's span is not found by its line, or holds more: %s\n%s", first, all)
	}
}

// lines is what was logged.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
