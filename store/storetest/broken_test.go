package storetest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// A clause that cannot fail proves nothing. Each broken store here breaks one
// promise, and names the clauses that must notice.

// watcher is a TB that notes failures instead of reporting them.
type watcher struct {
	testing.TB
	mu     sync.Mutex
	failed bool
}

func (w *watcher) Errorf(string, ...any) { w.Fail() }
func (w *watcher) Error(...any)          { w.Fail() }
func (w *watcher) Fatalf(string, ...any) { w.FailNow() }
func (w *watcher) Fatal(...any)          { w.FailNow() }
func (w *watcher) FailNow()              { w.Fail(); runtime.Goexit() }
func (w *watcher) Fail()                 { w.mu.Lock(); w.failed = true; w.mu.Unlock() }
func (w *watcher) Failed() bool          { w.mu.Lock(); defer w.mu.Unlock(); return w.failed }
func (w *watcher) Helper()               {}

// fails runs a clause and says whether it noticed something. A clause that
// panics on what a broken store answers has noticed.
func fails(t *testing.T, c clause, b Backend) bool {
	w := &watcher{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				t.Logf("%s panics: %v", c.name, p)
				w.Fail()
			}
		}()
		c.run(w, b)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Errorf("%s hangs on a broken store", c.name)
	}
	return w.Failed()
}

// meddler is an oracle whose Apply lets a plan or the result be bent.
type meddler struct {
	*Oracle
	before func(*gate.Plan)
	after  func(*durable)
}

func (m meddler) Apply(ctx context.Context, ds []gate.Decision, again store.Rejudge) ([]store.Applied, error) {
	for i, d := range ds { // its own checks are not what is bent
		if d.IsZero() || d.Plan().Scope != ds[0].Plan().Scope {
			return m.Oracle.Apply(ctx, ds[:i+1], again)
		}
	}
	s, err := m.enter(ctx, "apply", ds[0].Plan().Scope)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	work := s.durable.copy()
	var out []store.Applied
	for i, d := range ds {
		p := d.Plan()
		if m.before != nil {
			m.before(&p)
		}
		a, err := work.apply(i, p, again)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
		if m.after != nil {
			work.rows, work.holds, work.chain = slices.Clone(work.rows), slices.Clone(work.holds), slices.Clone(work.chain)
			m.after(&work)
		}
	}
	s.durable = work
	return out, nil
}

func before(f func(*gate.Plan)) func(*Oracle) store.Ledger {
	return func(o *Oracle) store.Ledger { return meddler{Oracle: o, before: f} }
}

func after(f func(*durable)) func(*Oracle) store.Ledger {
	return func(o *Oracle) store.Ledger { return meddler{Oracle: o, after: f} }
}

// reader overrides single reads.
type reader struct {
	*Oracle
	facts   func(*Oracle, context.Context, tenet.Scope, tenet.AsOf) ([]tenet.Record, error)
	history func([]tenet.Record) []tenet.Record
	held    func([]tenet.Held) []tenet.Held
	given   bool // all verdicts are given, whatever the prefix
	scopes  func(*Oracle, context.Context, tenet.Scope) ([]tenet.Scope, error)
	verify  bool
	head    bool
	state   bool
	one     bool
}

func (r reader) Facts(ctx context.Context, s tenet.Scope, at tenet.AsOf) ([]tenet.Record, error) {
	if r.facts != nil {
		return r.facts(r.Oracle, ctx, s, at)
	}
	return r.Oracle.Facts(ctx, s, at)
}

func (r reader) History(ctx context.Context, s tenet.Scope, tier tenet.Tier, key string) ([]tenet.Record, error) {
	h, err := r.Oracle.History(ctx, s, tier, key)
	if r.history != nil {
		h = r.history(h)
	}
	return h, err
}

func (r reader) Held(ctx context.Context, s tenet.Scope, now time.Time, after tenet.CandidateID, limit int) ([]tenet.Held, error) {
	h, err := r.Oracle.Held(ctx, s, now, after, limit)
	if r.held != nil {
		h = r.held(h)
	}
	return h, err
}

func (r reader) Verdicts(ctx context.Context, s tenet.Scope, prefix string, after tenet.CandidateID, limit int) ([]tenet.Verdict, error) {
	if r.given {
		prefix = ""
	}
	return r.Oracle.Verdicts(ctx, s, prefix, after, limit)
}

func (r reader) Scopes(ctx context.Context, tenant string, after tenet.Scope, limit int) ([]tenet.Scope, error) {
	if r.scopes != nil {
		return r.scopes(r.Oracle, ctx, after)
	}
	return r.Oracle.Scopes(ctx, tenant, after, limit)
}

func (r reader) Verify(ctx context.Context, s tenet.Scope) (store.Verification, error) {
	if r.verify {
		return store.Verification{}, nil
	}
	return r.Oracle.Verify(ctx, s)
}

func (r reader) Head(ctx context.Context, s tenet.Scope) (store.Head, error) {
	if r.head && s.IsZero() {
		return store.Head{}, nil
	}
	return r.Oracle.Head(ctx, s)
}

func (r reader) State(ctx context.Context, s tenet.Scope, q gate.Query, now time.Time) (gate.State, error) {
	if r.state {
		q.Since = time.Time{}
	}
	return r.Oracle.State(ctx, s, q, now)
}

func (r reader) Apply(ctx context.Context, ds []gate.Decision, again store.Rejudge) ([]store.Applied, error) {
	if !r.one {
		return r.Oracle.Apply(ctx, ds, again)
	}
	var out []store.Applied // one transaction each
	for i := range ds {
		a, err := r.Oracle.Apply(ctx, ds[i:i+1], again)
		if err != nil {
			return out, err
		}
		out = append(out, a...)
	}
	return out, nil
}

func reads(r reader) func(*Oracle) store.Ledger {
	return func(o *Oracle) store.Ledger { r.Oracle = o; return r }
}

func TestBrokenLedgersAreNoticed(t *testing.T) {
	noticed := map[string]bool{}
	for _, c := range []struct {
		broken  string
		open    func(*Oracle) store.Ledger
		clauses string
	}{
		{"facts are cut at a hundred", reads(reader{facts: func(o *Oracle, ctx context.Context, s tenet.Scope, at tenet.AsOf) ([]tenet.Record, error) {
			rs, err := o.Facts(ctx, s, at)
			return rs[:min(len(rs), 100)], err
		}}), "FactsAreComplete"},
		{"known time is ignored", reads(reader{facts: func(o *Oracle, ctx context.Context, s tenet.Scope, at tenet.AsOf) ([]tenet.Record, error) {
			return o.Facts(ctx, s, tenet.AsOf{Valid: at.Valid})
		}}), "AsOfOnBothAxes EndShortens RetractStopsBelieving"},
		{"case is folded", reads(reader{facts: func(o *Oracle, ctx context.Context, s tenet.Scope, at tenet.AsOf) ([]tenet.Record, error) {
			if s.Subject().Kind() == tenet.SubjectUser {
				s, _ = tenet.NewScope(s.Tenant(), tenet.User(strings.ToLower(s.Subject().ID())))
			}
			return o.Facts(ctx, s, at)
		}}), "ScopesAreDisjoint"},
		{"history forgets what is closed", reads(reader{history: func(rs []tenet.Record) []tenet.Record {
			return slices.DeleteFunc(rs, func(r tenet.Record) bool { return !r.Known.Open() })
		}}), "SupersedeKeepsHistory EndShortens RetractStopsBelieving OneOpenRowPerKey"},
		{"holds come oldest first", reads(reader{held: func(h []tenet.Held) []tenet.Held { slices.Reverse(h); return h }}), "RefusalIsLogged"},
		{"a hold shows the secret", reads(reader{held: func(h []tenet.Held) []tenet.Held {
			for i := range h {
				h[i].Candidate.Value = []byte(`"hunter2"`)
			}
			return h
		}}), "SecretsAreMasked"},
		{"scopes of all tenants are listed", reads(reader{scopes: func(o *Oracle, ctx context.Context, after tenet.Scope) ([]tenet.Scope, error) {
			a, err := o.Scopes(ctx, "acme", after, 3)
			b, _ := o.Scopes(ctx, "Acme", after, 3)
			return append(a, b...), err
		}}), "ScopesAreListedInPages"},
		{"verdicts of other sessions are given", reads(reader{given: true}), "VerdictsOfAPrefix"},
		{"verify looks away", reads(reader{verify: true}), "TamperedRowIsFound ChainVerifies"},
		{"the zero scope is a scope", reads(reader{head: true}), "UnusableArgumentsAreErrors"},
		{"state ignores since", reads(reader{state: true}), "StateIsWhatTheQueryNames"},
		{"a batch is many transactions", reads(reader{one: true}), "ApplyIsAllOrNothing ZeroDecisionIsRefused"},
		{"needs are not checked", before(func(p *gate.Plan) { p.Needs = gate.Needs{} }), "StaleStateConflicts RejudgeRunsUnderTheLock OneOpenRowPerKey LimitHoldsUnderRace"},
		{"nothing is closed", before(func(p *gate.Plan) { p.Close = nil }), "SupersedeKeepsHistory ANoteTakesAnothersPlace BackdatedFillsThePast EndShortens RetractStopsBelieving"},
		{"evidence is dropped", before(func(p *gate.Plan) { p.Evidence = nil }), "RecordsComeBackWhole"},
		{"refusals leave no text", before(func(p *gate.Plan) { p.Hold = nil }), "RefusalIsLogged HeldIsReleasedOrDiscardedOnce"},
		{"agreements are dropped", before(func(p *gate.Plan) { p.Agree = nil }), "CorroborationAddsAnOrigin"},
		{"staged candidates lose their messages", before(func(p *gate.Plan) {
			if p.Staged != nil {
				s := *p.Staged
				s.Cited = nil
				p.Staged = &s
			}
		}), "StagedKeepTheirMessages"},
		{"stages are dropped", before(func(p *gate.Plan) { p.Staged = nil }), "StageAdvancesCursorOnce"},
		{"expiry does nothing", before(func(p *gate.Plan) { p.Expire = nil }), "ExpiryDropsTextOnly"},
		{"control characters are lost", before(func(p *gate.Plan) {
			p.Insert = slices.Clone(p.Insert)
			for i := range p.Insert {
				p.Insert[i].Text = strings.TrimSpace(p.Insert[i].Text)
			}
		}), "LargeAndOddTextIsKept"},
		{"ids are forgotten", after(func(d *durable) { d.refs = map[string]judged{} }), "ApplyIsIdempotent"},
		{"the clock is trusted", after(func(d *durable) { d.known = time.Time{} }), "KnownTimeIsStrictlyIncreasing"},
		{"times are kept in milliseconds", after(func(d *durable) {
			for i := range d.rows {
				d.rows[i].Valid.From = d.rows[i].Valid.From.Truncate(time.Millisecond)
			}
		}), "TimesRoundTrip"},
		{"recall is not told what went", after(func(d *durable) {
			for i := range d.rows {
				d.rows[i].textOut = 0
			}
		}), "ChangesAreIncremental"},
		{"who asked is forgotten", before(func(p *gate.Plan) { p.Actor = "" }), "DeniedIsAnEntryOnly AccessIsAnEntryOfTheTenant ChainVerifies"},
		{"an entry says something else", after(func(d *durable) { d.chain[len(d.chain)-1].Codes = []tenet.Code{"OTHER"} }), "ChainVerifies"},
		{"a hold can be settled twice", after(func(d *durable) {
			for i := range d.holds {
				d.holds[i].state = tenet.HoldOpen
			}
		}), "HeldIsReleasedOrDiscardedOnce"},
	} {
		b := Backend{Ledger: func(testing.TB) store.Ledger { return c.open(NewOracle()) }, Tamper: tamperAny}
		notice(t, c.broken, ledgerClauses, c.clauses, b, noticed)
	}
	demandAll(t, ledgerClauses, noticed)
	c := ledgerClauses[slices.IndexFunc(ledgerClauses, func(c clause) bool { return c.name == "TamperedRowIsFound" })]
	if !fails(t, c, Backend{Ledger: oracle().Ledger}) {
		t.Error("a ledger without a way to tamper passes")
	}
}

func tamperAny(t testing.TB, l store.Ledger, w Tampering) {
	switch l := l.(type) {
	case reader:
		TamperOracle(t, l.Oracle, w)
	case meddler:
		TamperOracle(t, l.Oracle, w)
	}
}

// notice demands that the named clauses fail on b.
func notice(t *testing.T, broken string, cs []clause, names string, b Backend, noticed map[string]bool) {
	t.Helper()
	for _, name := range strings.Fields(names) {
		i := slices.IndexFunc(cs, func(c clause) bool { return c.name == name })
		if i < 0 {
			t.Fatalf("no clause %s", name)
		}
		noticed[name] = true
		if !fails(t, cs[i], b) {
			t.Errorf("%s does not notice that %s", name, broken)
		}
	}
}

// demandAll demands that every clause has been seen to fail.
func demandAll(t *testing.T, cs []clause, noticed map[string]bool) {
	t.Helper()
	for _, c := range cs {
		if !noticed[c.name] {
			t.Errorf("nothing shows that %s can fail", c.name)
		}
	}
}
