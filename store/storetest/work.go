package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Work is a store of running work, keys and calls that happen once.
type Work interface {
	store.Ledger
	store.Sessions
	store.Threads
	store.Runs
	store.Keys
	store.Onces
	store.Documents
	store.Deleter
}

// RunWork checks the clauses of the ports of work.go. open gives fresh, empty
// storage and registers its own cleanup.
func RunWork[W Work](t *testing.T, open func(testing.TB) W) {
	for _, c := range workClauses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			r := &shift{TB: t, w: w, scope: mustScope(t, "acme", tenet.User("sarah")), now: day(2025, 3, 1)}
			r.session("run")
			c.run(r)
		})
	}
}

// shift is a store with one session to work in.
type shift struct {
	testing.TB
	w     Work
	scope tenet.Scope
	now   time.Time
}

func (s *shift) session(id tenet.SessionID) {
	s.Helper()
	_, err := s.w.Ensure(ctx, s.scope, tenet.Session{ID: id, Scope: s.scope, Reads: []tenet.Scope{s.scope}, CreatedAt: s.now})
	must(s.TB, err)
}

// access applies what the gate decides about a key.
func (s *shift) access(k tenet.Key, what gate.KeyChange) error {
	by, err := tenet.NewPrincipal(tenet.Admin, k.Tenant, "root")
	must(s.TB, err)
	d, err := gate.New(nil).Access(by, k, what, s.now)
	must(s.TB, err)
	_, err = s.w.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

func (s *shift) checkpoint(version int64, fence uint64) error {
	return s.w.PutCheckpoint(ctx, s.scope, tenet.Checkpoint{
		Session: "run", Version: version, Step: int(version), State: fmt.Appendf(nil, "state %d", version), Position: version, By: "agent:a", At: s.now,
		Done: []tenet.Step{{Name: "one", Outcome: json.RawMessage(`{"a": 1}`)}, {Name: "two"}}, Effects: []string{"pay/1"},
	}, fence, 3)
}

func (s *shift) claim(key string, retry bool) (tenet.Effect, bool, error) {
	return s.w.Claim(ctx, s.scope, store.Claim{Session: "run", Key: key, Step: 2, Payload: []byte("pay 5"), By: "agent:a", Retry: retry, Now: s.now, Until: s.now.Add(time.Minute)})
}

func (s *shift) settle(key string, attempt int, state tenet.EffectState, outcome string) (tenet.Effect, error) {
	return s.w.Settle(ctx, s.scope, store.Settle{Session: "run", Key: key, Attempt: attempt, State: state, Outcome: json.RawMessage(outcome), Now: s.now})
}

func (s *shift) once(key, print string) *store.Once {
	return &store.Once{Tenant: "acme", Caller: "app:a", Route: "append", Key: key, Fingerprint: []byte(print), Now: s.now, ExpiresAt: s.now.Add(time.Hour),
		Answer: func(v any) ([]byte, error) { return json.Marshal(v) }}
}

func (s *shift) append(o *store.Once, text string) ([]tenet.Message, error) {
	return s.w.Append(store.WithOnce(ctx, o), s.scope, "run", []tenet.Message{{
		ID: tenet.MessageID("m-" + text), Role: tenet.RoleUser, Text: text, Label: tenet.LabelUserStated, RecordedBy: "app:a", RecordedAt: s.now,
	}}, time.Time{})
}

func (s *shift) length() int64 {
	s.Helper()
	got, err := s.w.Ensure(ctx, s.scope, tenet.Session{ID: "run", Scope: s.scope})
	must(s.TB, err)
	return got.Length
}

var workClauses = []struct {
	name string
	run  func(*shift)
}{
	{"ARevokedKeyIsNotChangedAnyMore", func(s *shift) {
		k := tenet.Key{ID: "race", Tenant: "acme", Kind: tenet.Agent, Name: "bot", Hash: bytes.Repeat([]byte{9}, 32), CreatedAt: s.now}
		must(s.TB, s.access(k, gate.KeyMade))
		by, err := tenet.NewPrincipal(tenet.Admin, "acme", "root")
		must(s.TB, err)
		rotated := k
		rotated.Hash = bytes.Repeat([]byte{8}, 32)
		late := map[gate.KeyChange]gate.Decision{} // decided while the key was good
		for _, what := range []gate.KeyChange{gate.KeyRotated, gate.KeyExpiry, gate.KeyRevoked} {
			late[what], err = gate.New(nil).Access(by, rotated, what, s.now)
			must(s.TB, err)
		}
		revoked := k
		revoked.RevokedAt = s.now
		must(s.TB, s.access(revoked, gate.KeyRevoked))
		for what, d := range late {
			_, err := s.w.Apply(ctx, []gate.Decision{d}, nil)
			wantKind(s.TB, fmt.Sprint("a change of kind ", what, " after the revocation"), err, tenet.Conflict)
		}
		got, err := s.w.KeyByHash(ctx, k.Hash)
		must(s.TB, err)
		if !got.RevokedAt.Equal(tenet.Micros(s.now)) {
			s.Errorf("the key is open again: %+v", got)
		}
	}},
	{"CheckpointsComeBackAsTheyWere", func(s *shift) {
		for v := int64(1); v <= 5; v++ {
			must(s.TB, s.checkpoint(v, 0))
		}
		got, err := s.w.Checkpoints(ctx, s.scope, "run", 0, 10)
		must(s.TB, err)
		if len(got) != 3 || got[0].Version != 5 || got[2].Version != 3 {
			s.Fatalf("kept %d, want the newest three", len(got))
		}
		same(s.TB, "checkpoint", got[0], tenet.Checkpoint{
			Session: "run", Version: 5, Step: 5, State: []byte("state 5"), Position: 5, By: "agent:a", At: s.now,
			Done: []tenet.Step{{Name: "one", Outcome: json.RawMessage(`{"a": 1}`)}, {Name: "two"}}, Effects: []string{"pay/1"},
		})
		got, err = s.w.Checkpoints(ctx, s.scope, "run", 5, 1)
		must(s.TB, err)
		if len(got) != 1 || got[0].Version != 4 {
			s.Errorf("below 5: %v", got)
		}
	}},
	{"OneOfTwoWorkersAdvances", func(s *shift) {
		var wg sync.WaitGroup
		var won atomic.Int32
		for i := range 8 {
			wg.Go(func() {
				err := s.w.PutCheckpoint(ctx, s.scope, tenet.Checkpoint{Session: "run", Version: 1, State: []byte{byte(i)}, At: s.now}, 0, 3)
				if err == nil {
					won.Add(1)
				} else if tenet.KindOf(err) != tenet.Conflict {
					s.Errorf("a loser got %v", err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			s.Errorf("%d workers advanced", won.Load())
		}
		must(s.TB, s.checkpoint(2, 0))
		must(s.TB, s.checkpoint(2, 0)) // the same again is a retry
		wantKind(s.TB, "a version left out", s.checkpoint(4, 0), tenet.Conflict)
		wantKind(s.TB, "no session", s.w.PutCheckpoint(ctx, s.scope, tenet.Checkpoint{Session: "nobody", Version: 1}, 0, 3), tenet.NotFound)
		wantKind(s.TB, "version 0", s.checkpoint(0, 0), tenet.Invalid)
	}},
	{"AStaleHolderIsRefused", func(s *shift) {
		one, err := s.w.Hold(ctx, s.scope, "run", "w1", s.now, s.now.Add(time.Minute))
		must(s.TB, err)
		again, err := s.w.Hold(ctx, s.scope, "run", "w1", s.now.Add(time.Second), s.now.Add(2*time.Minute))
		must(s.TB, err)
		if again != one {
			s.Errorf("the same holder extends: fence %d, then %d", one, again)
		}
		_, err = s.w.Hold(ctx, s.scope, "run", "w2", s.now.Add(time.Minute), s.now.Add(time.Hour))
		wantKind(s.TB, "while the hold runs", err, tenet.Conflict)
		must(s.TB, s.checkpoint(1, one))
		two, err := s.w.Hold(ctx, s.scope, "run", "w2", s.now.Add(2*time.Minute), s.now.Add(time.Hour))
		must(s.TB, err)
		if two <= one {
			s.Errorf("fence %d after %d", two, one)
		}
		wantKind(s.TB, "a stale fence", s.checkpoint(2, one), tenet.Conflict)
		_, _, err = s.w.Claim(ctx, s.scope, store.Claim{Session: "run", Key: "k", By: "a", Fence: one, Now: s.now, Until: s.now.Add(1)})
		if tenet.KindOf(err) == tenet.NoError {
			s.Error("a stale holder claimed an effect")
		}
		must(s.TB, s.checkpoint(2, two))
	}},
	{"AnEffectIsClaimedOnce", func(s *shift) {
		e, granted, err := s.claim("pay/1", false)
		must(s.TB, err)
		if !granted || e.State != tenet.EffectClaimed || e.Attempt != 1 || e.Step != 2 {
			s.Fatalf("first claim: %+v %v", e, granted)
		}
		_, _, err = s.claim("pay/1", true)
		wantKind(s.TB, "while it is under way, even with retry", err, tenet.Conflict)
		done, err := s.settle("pay/1", 1, tenet.EffectCompleted, `{"receipt": 7}`)
		must(s.TB, err)
		if string(done.Outcome) != `{"receipt": 7}` {
			s.Errorf("outcome %s", done.Outcome)
		}
		_, err = s.settle("pay/1", 1, tenet.EffectCompleted, `{"receipt": 7}`)
		must(s.TB, err)
		_, err = s.settle("pay/1", 1, tenet.EffectFailed, `{}`)
		wantKind(s.TB, "another outcome", err, tenet.Conflict)
		e, granted, err = s.claim("pay/1", true)
		must(s.TB, err)
		if granted || e.State != tenet.EffectCompleted || string(e.Outcome) != `{"receipt": 7}` {
			s.Errorf("a replay: %+v %v", e, granted)
		}
		_, _, err = s.w.Claim(ctx, s.scope, store.Claim{Session: "run", Key: "pay/1", Payload: []byte("pay 6"), By: "a", Now: s.now, Until: s.now.Add(time.Minute)})
		var te *tenet.Error
		if !errors.As(err, &te) || te.Kind != tenet.Conflict || te.Code != store.CodeEffectPayload {
			s.Errorf("another payload: %v", err)
		}
	}},
	{"WhatRanOutIsInDoubt", func(s *shift) {
		_, _, err := s.claim("mail", false)
		must(s.TB, err)
		s.now = s.now.Add(time.Minute)
		e, granted, err := s.claim("mail", false)
		must(s.TB, err)
		if granted || e.State != tenet.EffectInDoubt || e.Attempt != 1 {
			s.Fatalf("unasked: %+v %v", e, granted)
		}
		es, err := s.w.Effects(ctx, s.scope, "run", s.now)
		must(s.TB, err)
		if len(es) != 1 || es[0].State != tenet.EffectInDoubt {
			s.Errorf("the list says %+v", es)
		}
		e, granted, err = s.claim("mail", true)
		must(s.TB, err)
		if !granted || e.Attempt != 2 {
			s.Fatalf("with retry: %+v %v", e, granted)
		}
		_, err = s.settle("mail", 1, tenet.EffectCompleted, `1`)
		wantKind(s.TB, "the old attempt's outcome", err, tenet.Conflict)
		s.now = s.now.Add(time.Hour)
		_, err = s.settle("mail", 2, tenet.EffectCompleted, `1`)
		must(s.TB, err) // in doubt, and now it is known
		_, err = s.settle("nothing", 1, tenet.EffectCompleted, `1`)
		wantKind(s.TB, "no such effect", err, tenet.NotFound)
	}},
	{"OneOfManyClaims", func(s *shift) {
		var wg sync.WaitGroup
		var granted atomic.Int32
		for range 16 {
			wg.Go(func() {
				if _, ok, _ := s.claim("pay", true); ok {
					granted.Add(1)
				}
			})
		}
		wg.Wait()
		if granted.Load() != 1 {
			s.Errorf("%d claims were granted", granted.Load())
		}
	}},
	{"ADeletedSessionStaysDeleted", func(s *shift) {
		_, err := s.w.Append(ctx, s.scope, "run", []tenet.Message{{ID: "m", Role: tenet.RoleUser, Text: "x", Label: 4, RecordedBy: "a", RecordedAt: s.now}}, s.now)
		must(s.TB, err)
		must(s.TB, s.checkpoint(1, 0))
		_, _, err = s.claim("pay", false)
		must(s.TB, err)
		lease, err := s.w.Lease(ctx, store.LeaseRequest{Worker: "w", Now: s.now, Until: s.now.Add(time.Minute)})
		must(s.TB, err)
		must(s.TB, s.w.DeleteSession(ctx, s.scope, "run", s.now))
		_, err = s.append(nil, "late")
		wantKind(s.TB, "a late message", err, tenet.Conflict)
		wantKind(s.TB, "a late checkpoint", s.checkpoint(2, 0), tenet.Conflict)
		_, _, err = s.claim("pay", true)
		wantKind(s.TB, "a late claim", err, tenet.Conflict)
		_, err = s.w.Hold(ctx, s.scope, "run", "w1", s.now, s.now.Add(time.Minute))
		wantKind(s.TB, "a late hold", err, tenet.Conflict)
		if lease != nil {
			wantKind(s.TB, "a late ack", s.w.Ack(ctx, *lease, store.Ack{Cursor: 1, Now: s.now}), tenet.Conflict)
		}
		ms, err := s.w.Messages(ctx, s.scope, "run", 0, 10)
		must(s.TB, err)
		cs, err := s.w.Checkpoints(ctx, s.scope, "run", 0, 10)
		must(s.TB, err)
		es, err := s.w.Effects(ctx, s.scope, "run", s.now)
		must(s.TB, err)
		if len(ms)+len(cs)+len(es) != 0 {
			s.Errorf("left: %d messages, %d checkpoints, %d effects", len(ms), len(cs), len(es))
		}
	}},
	{"OnceReplaysTheFirstAnswer", func(s *shift) {
		first, err := s.append(s.once("k", "a"), "hello")
		must(s.TB, err)
		_, err = s.append(s.once("k", "a"), "hello again")
		var r *store.Replay
		if !errors.As(err, &r) {
			s.Fatalf("a repetition: %v", err)
		}
		var old []tenet.Message
		must(s.TB, json.Unmarshal(r.Answer, &old))
		same(s.TB, "answer", old, first)
		if n := s.length(); n != 1 {
			s.Errorf("%d messages", n)
		}
		_, err = s.append(s.once("k", "b"), "other")
		var te *tenet.Error
		if !errors.As(err, &te) || te.Code != store.CodeOncePayload {
			s.Errorf("another request: %v", err)
		}
		got, err := s.w.Recorded(ctx, s.once("k", "a"))
		must(s.TB, err)
		if got == nil {
			s.Error("the call is not found")
		}
	}},
	{"OnceKeysOfOthersAreOthers", func(s *shift) {
		_, err := s.append(s.once("k", "a"), "one")
		must(s.TB, err)
		for i, change := range []func(*store.Once){
			func(o *store.Once) { o.Tenant = "globex" }, func(o *store.Once) { o.Caller = "app:b" },
			func(o *store.Once) { o.Route = "remember" }, func(o *store.Once) { o.Key = "K" },
			func(o *store.Once) { o.Caller, o.Route = "app:aappend", "" }, // no concatenation imitates another
		} {
			o := s.once("k", "a")
			change(o)
			_, err := s.append(o, fmt.Sprint("other ", i))
			must(s.TB, err)
		}
		if n := s.length(); n != 6 {
			s.Errorf("%d messages, want 6", n)
		}
	}},
	{"OnceStandsOrFallsWithItsEffect", func(s *shift) {
		must(s.TB, s.w.End(ctx, s.scope, "run", s.now))
		_, err := s.append(s.once("k", "a"), "late")
		wantKind(s.TB, "an ended session", err, tenet.Conflict)
		got, err := s.w.Recorded(ctx, s.once("k", "a"))
		must(s.TB, err)
		if got != nil {
			s.Error("a call that did nothing was recorded")
		}
		s.session("other")
		o := s.once("k2", "a")
		o.Answer = func(any) ([]byte, error) { return nil, errors.New("no answer") }
		_, err = s.w.Append(store.WithOnce(ctx, o), s.scope, "other", []tenet.Message{{ID: "m", Role: 1, Text: "x", Label: 4, RecordedBy: "a", RecordedAt: s.now}}, time.Time{})
		if err == nil {
			s.Error("an answer that cannot be recorded is an error")
		}
		ms, err := s.w.Messages(ctx, s.scope, "other", 0, 10)
		must(s.TB, err)
		if len(ms) != 0 {
			s.Error("the effect stands without its record")
		}
	}},
	{"OnceExpires", func(s *shift) {
		_, err := s.append(s.once("k", "a"), "one")
		must(s.TB, err)
		s.now = s.now.Add(time.Hour)
		_, err = s.append(s.once("k", "b"), "two")
		must(s.TB, err)
		if n := s.length(); n != 2 {
			s.Errorf("%d messages", n)
		}
	}},
	{"OneOfManyCallsHasTheEffect", func(s *shift) {
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				_, err := s.append(s.once("k", "a"), fmt.Sprint(i))
				var r *store.Replay
				if err != nil && !errors.As(err, &r) {
					s.Errorf("a racer got %v", err)
				}
			})
		}
		wg.Wait()
		if n := s.length(); n != 1 {
			s.Errorf("%d messages", n)
		}
	}},
	{"KeysAreFoundByHashAndListedByTenant", func(s *shift) {
		hash := func(c byte) []byte { return append(make([]byte, 31), c) }
		k := tenet.Key{ID: "2", Tenant: "acme", Kind: tenet.Connector, Name: "crm", Subjects: []string{"user:sarah"}, Owns: []string{"plan"}, Hash: hash(1), CreatedAt: s.now, ExpiresAt: s.now.Add(time.Hour)}
		must(s.TB, s.access(k, gate.KeyMade))
		must(s.TB, s.access(tenet.Key{ID: "1", Tenant: "acme", Kind: tenet.Agent, Name: "bot", Hash: hash(2), CreatedAt: s.now}, gate.KeyMade))
		must(s.TB, s.access(tenet.Key{ID: "3", Tenant: "globex", Kind: tenet.Agent, Name: "bot", Hash: hash(3), CreatedAt: s.now}, gate.KeyMade))
		got, err := s.w.KeyByHash(ctx, hash(1))
		must(s.TB, err)
		same(s.TB, "key", got, k)
		_, err = s.w.KeyByHash(ctx, hash(9))
		wantKind(s.TB, "an unknown hash", err, tenet.NotFound)
		all, err := s.w.KeysOf(ctx, "acme", "", 10)
		must(s.TB, err)
		if len(all) != 2 || all[0].ID != "1" {
			s.Errorf("acme's keys: %+v", all)
		}
		k.Hash, k.RevokedAt, k.Name = hash(4), s.now, "renamed"
		must(s.TB, s.access(k, gate.KeyRotated)) // what the change is about, and no more
		got, err = s.w.KeyByHash(ctx, hash(4))
		must(s.TB, err)
		if got.Name != "crm" || !got.RevokedAt.IsZero() {
			s.Errorf("after the rotation: %+v", got)
		}
		must(s.TB, s.access(k, gate.KeyRevoked))
		_, err = s.w.KeyByHash(ctx, hash(1))
		wantKind(s.TB, "the old secret", err, tenet.NotFound)
		got, err = s.w.KeyByHash(ctx, hash(4))
		must(s.TB, err)
		if got.Name != "crm" || got.RevokedAt.IsZero() {
			s.Errorf("after the change: %+v", got)
		}
		k.Tenant = "globex"
		wantKind(s.TB, "another tenant's id", s.access(k, gate.KeyMade), tenet.Conflict)
		wantKind(s.TB, "another tenant's key", s.access(k, gate.KeyRotated), tenet.Conflict)

		// The key and its entry are one write: what is not kept is not on the chain.
		whole := mustScope(s.TB, "acme", tenet.WholeTenant())
		es := must2(s.w.Audit(ctx, whole, 1, 10))(s.TB)
		if len(es) != 4 || es[0].Ref != "2" || es[1].Ref != "1" || !strings.HasPrefix(es[2].Why, "rotate connector") || es[3].Ref != "2" || es[3].Action != "access" || es[3].Why != "revoke connector" {
			s.Errorf("acme's entries: %+v", es)
		}
		same(s.TB, "globex's entries", len(must2(s.w.Audit(ctx, mustScope(s.TB, "globex", tenet.WholeTenant()), 1, 10))(s.TB)), 1)
		if v := must2(s.w.Verify(ctx, whole))(s.TB); !v.OK() {
			s.Errorf("the chain: %+v", v)
		}
	}},
	{"DocumentsAreListedByPath", func(s *shift) {
		r := rigOn(s.TB, s.w, s.scope, nil)
		for _, p := range []string{"b/2", "a%/1", "a/1", "a/2", "ab", "A/1"} {
			r.keep(r.document(p, "text of "+p))
		}
		r.keep(r.document("a/2", "newer"))
		paths := func(prefix, after string, limit int) (out []string) {
			ds, err := s.w.Documents(ctx, s.scope, r.now.Add(time.Minute), prefix, after, limit)
			must(s.TB, err)
			for _, d := range ds {
				out = append(out, d.Key+"="+d.Text)
			}
			return out
		}
		same(s.TB, "all", paths("", "", 10), []string{"A/1=text of A/1", "a%/1=text of a%/1", "a/1=text of a/1", "a/2=newer", "ab=text of ab", "b/2=text of b/2"})
		same(s.TB, "under a/", paths("a/", "", 10), []string{"a/1=text of a/1", "a/2=newer"})
		same(s.TB, "a page", paths("", "a/1", 2), []string{"a/2=newer", "ab=text of ab"})
		same(s.TB, "a wildcard is no wildcard", paths("a%", "", 10), []string{"a%/1=text of a%/1"})
		other := mustScope(s.TB, "globex", tenet.User("sarah"))
		ds, err := s.w.Documents(ctx, other, r.now, "", "", 10)
		must(s.TB, err)
		if len(ds) != 0 {
			s.Error("another tenant's documents")
		}
	}},
}
