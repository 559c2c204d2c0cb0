package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
)

// batching is Verbatim that keeps what it was asked, takes batches and fails
// whatever it is shown the word "poison" in.
type batching struct {
	mu    sync.Mutex
	calls [][]string // of each call, "scope/session" of what it was shown
}

func (*batching) Name() string { return "batching/1" }

func (x *batching) Extract(ctx context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	all, err := x.ExtractBatch(ctx, []model.Stretch{st})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func (x *batching) ExtractBatch(ctx context.Context, ss []model.Stretch) ([][]tenet.Candidate, error) {
	var call []string
	out := make([][]tenet.Candidate, len(ss))
	poisoned := false
	for i, st := range ss {
		call = append(call, st.Session.Scope.Subject().ID()+"/"+string(st.Session.ID))
		for _, m := range st.Messages {
			poisoned = poisoned || strings.Contains(m.Text, "poison")
		}
		out[i], _ = model.Verbatim{}.Extract(ctx, st)
		for _, m := range st.Messages { // a note, so that evidence crosses no session unseen
			out[i] = append(out[i], tenet.Candidate{Tier: tenet.TierNote, Text: m.Text}.Citing(m.ID))
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls = append(x.calls, call)
	if poisoned {
		return nil, errors.New("the model cannot read it")
	}
	return out, nil
}

func (e *engine) chats(t *testing.T, scope tenet.Scope, id tenet.SessionID, texts ...string) {
	t.Helper()
	s := must[*memory.Session](t)(e.Session(t.Context(), e.app, scope, id))
	for _, text := range texts {
		must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage(text)))
	}
}

func TestSessionsOfOnePersonShareACallAndOnlyThose(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		x := new(batching)
		e := newEngine(t, b, func(c *memory.Config) { c.Extractor = x })
		bob := scope(t, "bob")
		for i := range 11 {
			e.chats(t, e.sarah, tenet.SessionID(fmt.Sprintf("s%02d", i)), fmt.Sprintf("I like tea number %d.", i))
		}
		e.chats(t, bob, "b", "I like coffee.")
		e.advance(time.Hour)
		verdicts, messages := 0, 0
		for {
			r, more, err := e.ConsolidateOnce(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			verdicts += len(r.Verdicts)
			messages += r.Messages
		}
		if messages != 12 || verdicts != 24 {
			t.Errorf("%d messages and %d verdicts, of 12 and 24", messages, verdicts)
		}
		if len(x.calls) != 3 {
			t.Errorf("%d calls for 8 + 3 sessions of one and 1 of another: %v", len(x.calls), x.calls)
		}
		for _, call := range x.calls {
			for _, s := range call {
				if strings.SplitN(s, "/", 2)[0] != strings.SplitN(call[0], "/", 2)[0] && len(call) > 1 {
					t.Errorf("two people in one call: %v", call)
				}
			}
			if strings.Contains(strings.Join(call, " "), "bob") && len(call) != 1 {
				t.Errorf("two people in one call: %v", call)
			}
		}
		for i := range 11 {
			st := e.status(t, tenet.SessionID(fmt.Sprintf("s%02d", i)))
			if st.State != memory.JobDone || len(st.Verdicts) != 2 {
				t.Errorf("session %d: %+v", i, st)
			}
		}
	})
}

// However many sessions of the tenant failed, one person's still share a call.
func TestFailingSessionsDoNotStopBatches(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		x := new(batching)
		e := newEngine(t, b, func(c *memory.Config) { c.Extractor, c.MaxAttempts = x, 1000 })
		const failing = 210 // more than one page of what waits
		bob := scope(t, "bob")
		for i := range failing {
			e.chats(t, bob, tenet.SessionID(fmt.Sprintf("b%03d", i)), "poison")
		}
		e.advance(time.Minute)
		for range failing {
			e.ConsolidateOnce(t.Context())
		}
		for i := range 8 {
			e.chats(t, e.sarah, tenet.SessionID(fmt.Sprintf("s%02d", i)), fmt.Sprintf("I like tea number %d.", i))
		}
		x.calls = nil
		e.advance(time.Hour)
		for {
			if _, more, err := e.ConsolidateOnce(t.Context()); !more && err == nil {
				break
			}
			for _, call := range x.calls {
				if strings.HasPrefix(call[0], "sarah/") {
					if len(call) != 8 {
						t.Errorf("a call for %d of 8 sessions", len(call))
					}
					return
				}
			}
		}
		t.Error("nothing of sarah's was extracted")
	})
}

func TestASessionThatCannotBeReadHoldsUpNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		x := new(batching)
		e := newEngine(t, b, func(c *memory.Config) { c.Extractor, c.MaxAttempts = x, 3 })
		for i := range 4 {
			text := "I like tea."
			if i == 1 {
				text = "poison"
			}
			e.chats(t, e.sarah, tenet.SessionID(fmt.Sprintf("s%d", i)), fmt.Sprintf("%s %d", text, i))
		}
		e.until(t, "s1", memory.JobDead)
		for _, id := range []tenet.SessionID{"s0", "s2", "s3"} {
			if st := e.status(t, id); st.State != memory.JobDone || len(st.Verdicts) != 2 || st.Attempts != 0 {
				t.Errorf("%s: %+v", id, st)
			}
		}
	})
}

// meanwhile runs something once, between the lease that begins a batch and
// those of the sessions that are taken along.
type meanwhile struct {
	store.Sessions
	do func()
}

func (s *meanwhile) Lease(ctx context.Context, r store.LeaseRequest) (*store.Lease, error) {
	if do := s.do; do != nil && !r.Scope.IsZero() {
		s.do = nil
		do()
	}
	return s.Sessions.Lease(ctx, r)
}

// TestABatchForgetsNoFailure: a session that another worker gives up, or in
// which somebody speaks again, while a batch is made keeps its state.
func TestABatchForgetsNoFailure(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		x := new(batching)
		var between *meanwhile
		e := newEngine(t, b, func(c *memory.Config) {
			between = &meanwhile{Sessions: c.Sessions}
			c.Extractor, c.MaxAttempts, c.Sessions = x, 1, between
		})
		for _, id := range []tenet.SessionID{"a", "dead", "spoken"} {
			e.chats(t, e.sarah, id, "I like tea.")
			e.advance(time.Second)
		}
		e.advance(time.Hour)
		between.do = func() {
			l := must[*store.Lease](t)(between.Sessions.Lease(ctx, store.LeaseRequest{Worker: "other", Now: e.now(), Until: e.now().Add(time.Minute), Scope: e.sarah, Only: "dead"}))
			if err := between.Sessions.Ack(ctx, *l, store.Ack{Code: "UNAVAILABLE", Park: true, Now: e.now()}); err != nil {
				t.Fatal(err)
			}
			e.chats(t, e.sarah, "spoken", "And I like coffee.")
		}
		must[bool](t)(second(e.ConsolidateOnce(ctx)))
		if st := e.status(t, "dead"); st.State != memory.JobDead || st.Attempts != 1 || st.Messages != 1 {
			t.Errorf("given up, and then: %+v", st.Job)
		}
		if st := e.status(t, "spoken"); st.State != memory.JobWaiting || st.Messages != 2 || st.Staged != 0 {
			t.Errorf("the turn is not over: %+v, %d staged", st.Job, st.Staged)
		}
		e.advance(time.Hour)
		for range 3 {
			e.ConsolidateOnce(ctx)
		}
		if st := e.status(t, "spoken"); st.State != memory.JobDone || len(st.Verdicts) != 4 {
			t.Errorf("in the end: %+v", st)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		if err := op.Retry(ctx, "dead"); err != nil {
			t.Fatal(err)
		}
		if st := e.until(t, "dead", memory.JobDone); len(st.Verdicts) != 2 {
			t.Errorf("retried: %+v", st)
		}
	})
}

func second(_ memory.Report, more bool, err error) (bool, error) { return more, err }
