// Package storetest is the contract of the store ports as tests. A backend
// is one when Run passes on it:
//
//	storetest.Run(t, storetest.Backend{Ledger: openLedger, Sessions: openSessions, Threads: openThreads, Tamper: tamper})
//
// Every clause is a named claim, runs on a fresh store and in parallel with
// the others. The suite uses the real gate, so it needs no back door, and
// anyone can prove a backend by importing it. Model compares a backend with
// the in-memory Oracle over seeded random operations.
//
// The package imports tenet, gate, store and go-cmp.
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Backend says how to open each port on fresh, empty storage. A nil opener
// means that the port is not claimed. Openers register their own cleanup.
type Backend struct {
	Ledger   func(testing.TB) store.Ledger
	Sessions func(testing.TB) store.Sessions
	Threads  func(testing.TB) store.Threads
	// Tamper alters a stored row behind the ledger's back, as somebody with
	// the database's password could. A Ledger needs it: a chain that nobody
	// tried to break proves nothing.
	Tamper func(testing.TB, store.Ledger, Tampering)
}

// Damage is one way to alter what is stored.
type Damage string

const (
	RecordText     Damage = "record text"     // set the text of Record to something else
	RecordLabel    Damage = "record label"    // raise the label of Record to operator
	RecordValid    Damage = "record valid"    // move the start of Record's valid time
	RecordReopened Damage = "record reopened" // make the closed Record believed again
	RecordDropped  Damage = "record dropped"  // delete the row of Record
	RecordPlanted  Damage = "record planted"  // copy the row of Record under another id
	EvidenceText   Damage = "evidence text"   // set the excerpt kept with Record to something else
	VerdictOutcome Damage = "verdict outcome" // make the verdict of Candidate say stored
	EntryAltered   Damage = "entry altered"   // set the action or rule set of entry Seq to something else
	EntryDropped   Damage = "entry dropped"   // delete entry Seq
	TombDropped    Damage = "tomb dropped"    // delete every tombstone
	HoldLifted     Damage = "hold lifted"     // make the scope's legal hold end without an entry
)

const (
	HeadMoved   Damage = "head moved"   // let the sealed head of the chain say another position
	HeadDropped Damage = "head dropped" // delete the sealed head of the chain
)

// Tampering names what to alter. Record, Candidate and Seq name existing
// things of the scope; each Damage says which it uses.
type Tampering struct {
	Damage    Damage
	Scope     tenet.Scope
	Record    tenet.RecordID
	Candidate tenet.CandidateID
	Seq       uint64
}

// clause is one claim of the contract. It takes a TB so that the package's
// own tests can watch it fail on a broken backend.
type clause struct {
	name string
	run  func(testing.TB, Backend)
}

// Run checks every clause of the ports that b claims.
func Run(t *testing.T, b Backend) {
	run := func(port string, claimed bool, cs []clause) {
		if !claimed {
			return
		}
		t.Run(port, func(t *testing.T) {
			for _, c := range cs {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, b)
				})
			}
		})
	}
	run("Ledger", b.Ledger != nil, ledgerClauses)
	run("Governor", b.claims(func(l store.Ledger) bool { _, ok := l.(store.Governor); return ok }, t), boundaryClauses)
	run("Cutter", b.claims(func(l store.Ledger) bool { _, ok := l.(store.Cutter); return ok }, t), cutClauses)
	run("Quotas", b.claims(func(l store.Ledger) bool { _, ok := l.(store.Governor); return ok }, t), quotaClauses)
	run("Freezer", b.claims(func(l store.Ledger) bool { _, ok := l.(store.Freezer); return ok }, t), freezeClauses)
	run("Vectors", b.claims(func(l store.Ledger) bool { _, ok := l.(store.Vectors); return ok }, t), vectorClauses)
	run("Retention", b.claims(func(l store.Ledger) bool { _, ok := l.(store.Retention); return ok }, t), retentionClauses)
	run("Archive", b.claims(func(l store.Ledger) bool { _, ok := l.(store.Archive); return ok }, t), archiveClauses)
	run("Sessions", b.Sessions != nil, sessionClauses)
	if b.Sessions != nil {
		_, is := b.Sessions(t).(store.SessionArchive)
		run("SessionArchive", is, sessionArchiveClauses)
	}
	run("Threads", b.Threads != nil, threadClauses)
	if b.Threads != nil {
		_, is := b.Threads(t).(store.Shelf)
		run("Shelf", is, shelfClauses)
	}
}

// claims reports whether the ledger is another port, too.
func (b Backend) claims(is func(store.Ledger) bool, t testing.TB) bool {
	return b.Ledger != nil && is(b.Ledger(t))
}

var ctx = context.Background()

// alike compares vocabulary types: times as instants, nil as empty.
var alike = cmp.Options{
	cmp.Comparer(func(a, b tenet.Scope) bool { return a == b }),
	cmpopts.EquateEmpty(),
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, alike); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, d)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func wantKind(t testing.TB, what string, err error, kind tenet.Kind) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: want an error of kind %v, got none", what, kind)
	} else if k := tenet.KindOf(err); k != kind {
		t.Errorf("%s: want kind %v, got %v (%v)", what, kind, k, err)
	}
}

func mustScope(t testing.TB, tenant string, s tenet.Subject) tenet.Scope {
	t.Helper()
	scope, err := tenet.NewScope(tenant, s)
	must(t, err)
	return scope
}

func principal(t testing.TB, k tenet.PrincipalKind, tenant string) tenet.Principal {
	t.Helper()
	p, err := tenet.NewPrincipal(k, tenant, "test")
	must(t, err)
	return p
}

// rig is a fresh ledger with a gate, the principals of one tenant and a clock
// that moves one second with every case.
type rig struct {
	testing.TB
	l                    store.Ledger
	g                    *gate.Gate
	scope                tenet.Scope
	app, agent, operator tenet.Principal
	now                  time.Time
	n                    int
}

func newRig(t testing.TB, b Backend, rules []gate.Rule, opts ...gate.Option) *rig {
	t.Helper()
	return rigOn(t, b.Ledger(t), mustScope(t, "acme", tenet.User("sarah")), rules, opts...)
}

func rigOn(t testing.TB, l store.Ledger, scope tenet.Scope, rules []gate.Rule, opts ...gate.Option) *rig {
	t.Helper()
	return &rig{
		TB: t, l: l, g: gate.New(rules, opts...), scope: scope,
		app:      principal(t, tenet.App, scope.Tenant()),
		agent:    principal(t, tenet.Agent, scope.Tenant()),
		operator: principal(t, tenet.Operator, scope.Tenant()),
		now:      time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

// propose makes a case by p, with the words as evidence.
func (r *rig) propose(p tenet.Principal, c tenet.Candidate) gate.Case {
	r.n++
	r.now = r.now.Add(time.Second)
	if c.ID == "" {
		c.ID = tenet.CandidateID(fmt.Sprintf("c%04d", r.n))
	}
	if c.Quote == "" {
		c.Quote = c.Text
	}
	return gate.Case{By: p, Candidate: c, At: r.now}
}

func (r *rig) fact(key, text string) gate.Case {
	return r.propose(r.app, tenet.Fact(r.scope, key, text))
}

func (r *rig) note(text string) gate.Case { return r.propose(r.app, tenet.Note(r.scope, text)) }

func (r *rig) document(path, text string) gate.Case {
	return r.propose(r.agent, tenet.Candidate{Scope: r.scope, Tier: tenet.TierDocument, Key: path, Text: text, Quote: "filed"})
}

func (r *rig) episode(text string) gate.Case {
	return r.propose(r.app, tenet.Candidate{Scope: r.scope, Tier: tenet.TierEpisode, Text: text})
}

// from gives the case a valid time.
func from(c gate.Case, from, to time.Time) gate.Case {
	c.Candidate.Valid = tenet.Interval{From: from, To: to}
	return c
}

func day(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

// judge decides against the ledger's present state.
func (r *rig) judge(c gate.Case) gate.Decision {
	r.Helper()
	st, err := r.l.State(ctx, c.Candidate.Scope, r.g.Query(c), c.At)
	must(r.TB, err)
	c.State = st
	return r.blind(c)
}

// blind decides against the state that the case carries, an empty one unless set.
func (r *rig) blind(c gate.Case) gate.Decision {
	r.Helper()
	d, err := r.g.Judge(c)
	must(r.TB, err)
	return d
}

// again is the Rejudge of a batch of cases.
func (r *rig) again(cs ...gate.Case) store.Rejudge {
	return func(i int, s gate.State) (gate.Decision, error) {
		c := cs[i]
		c.State = s
		return r.g.Judge(c)
	}
}

func (r *rig) apply(ds ...gate.Decision) []store.Applied {
	r.Helper()
	as, err := r.l.Apply(ctx, ds, nil)
	must(r.TB, err)
	if len(as) != len(ds) {
		r.Fatalf("%d decisions gave %d results", len(ds), len(as))
	}
	return as
}

// remember judges and applies.
func (r *rig) remember(c gate.Case) store.Applied {
	r.Helper()
	return r.apply(r.judge(c))[0]
}

// keep remembers and demands that it was kept.
func (r *rig) keep(c gate.Case) store.Applied {
	r.Helper()
	a := r.remember(c)
	if !a.Verdict.Outcome.Kept() {
		r.Fatalf("%s was not kept: %v %v", c.Candidate.ID, a.Verdict.Outcome, a.Verdict.Codes)
	}
	return a
}

func (r *rig) record(id tenet.RecordID) tenet.Record {
	r.Helper()
	rec, err := r.l.Record(ctx, r.scope, id)
	must(r.TB, err)
	return rec
}

func (r *rig) head() store.Head {
	r.Helper()
	h, err := r.l.Head(ctx, r.scope)
	must(r.TB, err)
	return h
}

func (r *rig) facts(at tenet.AsOf) []tenet.Record {
	r.Helper()
	out, err := r.l.Facts(ctx, r.scope, at)
	must(r.TB, err)
	return out
}

func (r *rig) history(tier tenet.Tier, key string) []tenet.Record {
	r.Helper()
	out, err := r.l.History(ctx, r.scope, tier, key)
	must(r.TB, err)
	return out
}

func (r *rig) held() []tenet.Held {
	r.Helper()
	out, err := r.l.Held(ctx, r.scope, r.now, "", 1000)
	must(r.TB, err)
	return out
}

// texts are the words of the records, in order.
func texts(rs []tenet.Record) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Text)
	}
	return out
}

// at is what was true at v, as known now.
func at(v time.Time) tenet.AsOf { return tenet.AsOf{Valid: v} }

// verified demands that the chain of the scope verifies.
func (r *rig) verified() {
	r.Helper()
	v, err := r.l.Verify(ctx, r.scope)
	must(r.TB, err)
	if !v.OK() {
		r.Errorf("the chain does not verify: entry %d: %s", v.Bad, v.Why)
	}
}

// unchanged demands that the ledger stands where it stood.
func (r *rig) unchanged(what string, was store.Head) {
	r.Helper()
	same(r.TB, what+": head", r.head(), was)
}
