package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// steps is how many operations a model run makes.
const steps = 150

// seeded prints the seed of a run; TENET_SEED replaces it, to repeat one.
func seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	if s := os.Getenv("TENET_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("TENET_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("seed %d (repeat with TENET_SEED=%d)", seed, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// chance is true once in n.
func chance(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// answer is what a call on one side gave.
type answer struct {
	Value any
	Kind  string
}

func answerOf(v any, err error) answer {
	if err != nil {
		return answer{Kind: tenet.KindOf(err).String()}
	}
	return answer{Value: v}
}

// ledgers is a backend and the oracle, driven side by side.
type ledgers struct {
	testing.TB
	*rand.Rand
	real, oracle store.Ledger
	g            *gate.Gate
	scope        tenet.Scope
	people       []tenet.Principal
	now          time.Time
	n, step      int
	cases        []gate.Case // what was proposed so far
	known        []time.Time // stamps seen
	followed     [2]view
	cursor       int64
}

// both makes the same call on the two sides and compares the answers.
func (m *ledgers) both(what string, f func(store.Ledger) (any, error)) answer {
	m.Helper()
	a, b := answerOf(f(m.real)), answerOf(f(m.oracle))
	same(m.TB, fmt.Sprintf("step %d: %s", m.step, what), a, b)
	return b
}

// Model makes seeded random operations on a backend and on the oracle and
// compares all that can be read after each.
func Model(t testing.TB, open func(testing.TB) store.Ledger, seed uint64) {
	t.Helper()
	m := &ledgers{
		TB: t, Rand: seeded(t, seed), real: open(t), oracle: NewOracle(), scope: mustScope(t, "acme", tenet.User("sarah")),
		g:   gate.New([]gate.Rule{secretRule{}}, gate.WithLimits(gate.Limits{Rows: 24, Bytes: 2 << 10, Value: 512}), gate.WithQuotas(gate.Quotas{Default: gate.Quota{Records: 60, Bytes: 6 << 10}})),
		now: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, k := range []tenet.PrincipalKind{tenet.App, tenet.App, tenet.Agent, tenet.EndUser, tenet.Operator} {
		m.people = append(m.people, principal(t, k, "acme"))
	}
	for m.step = range steps {
		if m.now = m.now.Add(time.Duration(m.IntN(5000)-1000) * time.Millisecond); chance(m.Rand, 20) {
			m.now = m.now.Add(24 * time.Hour)
		}
		switch n := m.IntN(20); {
		case n < 13:
			m.judge()
		case n < 16:
			m.change()
		case n < 17:
			m.settle()
		case n < 18:
			m.stage()
		default:
			m.expire()
		}
		m.compare()
		if t.Failed() {
			t.Fatalf("the two differ after step %d", m.step)
		}
	}
	m.both("verify", func(l store.Ledger) (any, error) {
		v, err := l.Verify(ctx, m.scope)
		if !v.OK() {
			t.Errorf("the chain does not verify: %+v", v)
		}
		return v, err
	})
}

var (
	modelKeys  = []string{"city", "City", "pet", "allergy", "\u00e9"}
	modelWords = []string{"Berlin", "Paris", "not Paris", "paris.", "a cat", "the cat", "likes tea", "hunter2", "Berlin is nice", "5 mg", "50 mg"}
)

func (m *ledgers) day() time.Time { return day(2020+m.IntN(6), 1+m.IntN(12), 1) }

// someCase proposes something: new, or now and then what was proposed before.
func (m *ledgers) someCase() gate.Case {
	if len(m.cases) > 0 && chance(m.Rand, 8) {
		c := pick(m.Rand, m.cases...)
		if chance(m.Rand, 2) {
			c.Candidate.Text = pick(m.Rand, modelWords...)
		}
		c.At = m.now
		return c
	}
	return m.newCase()
}

func (m *ledgers) newCase() gate.Case {
	m.n++
	c := gate.Case{By: pick(m.Rand, m.people...), At: m.now, Candidate: tenet.Candidate{
		ID: tenet.CandidateID(fmt.Sprintf("c%d", m.n)), Scope: m.scope, Text: pick(m.Rand, modelWords...),
		Tier: pick(m.Rand, tenet.TierFact, tenet.TierFact, tenet.TierFact, tenet.TierNote, tenet.TierNote, tenet.TierEpisode, tenet.TierDocument, tenet.Tier(0)),
	}}
	k := &c.Candidate
	if k.Tier == tenet.TierFact || k.Tier == tenet.TierDocument {
		k.Key = pick(m.Rand, modelKeys...)
		k.Multi = k.Key == "allergy"
		k.Safety = k.Multi && chance(m.Rand, 2)
	}
	switch m.IntN(4) {
	case 0: // no evidence
	case 1: // a message of some label
		msg := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", m.IntN(30))), Session: "s", Role: tenet.RoleUser, RecordedBy: "app:test",
			Label: tenet.Label(1 + m.IntN(6)), Text: k.Text, SaidAt: m.day()}
		k.Cites, c.Evidence = []tenet.MessageID{msg.ID}, []tenet.Message{msg}
	default:
		k.Quote = k.Text
	}
	if chance(m.Rand, 2) {
		k.Valid.From = m.day()
		if chance(m.Rand, 3) {
			k.Valid.To = k.Valid.From.AddDate(0, 1+m.IntN(30), 0)
		}
	}
	if chance(m.Rand, 4) {
		c.ExpiresAt = m.now.Add(time.Duration(m.IntN(48)) * time.Hour)
	}
	m.cases = append(m.cases, c)
	return c
}

// judge judges a batch, sometimes against a state that is not the present
// one, and applies it with or without leave to judge again.
func (m *ledgers) judge() {
	cases := make([]gate.Case, 1+m.IntN(3))
	blind := make([]bool, len(cases))
	for i := range cases {
		cases[i], blind[i] = m.someCase(), chance(m.Rand, 5)
	}
	rejudge := chance(m.Rand, 2)
	m.both("apply", func(l store.Ledger) (any, error) {
		var ds []gate.Decision
		for i, c := range cases {
			if !blind[i] {
				st, err := l.State(ctx, m.scope, m.g.Query(c), c.At)
				must(m.TB, err)
				c.State = st
			}
			d, err := m.g.Judge(c)
			if err != nil {
				return nil, err
			}
			ds = append(ds, d)
		}
		var again store.Rejudge
		if rejudge {
			again = func(i int, s gate.State) (gate.Decision, error) {
				c := cases[i]
				c.State = s
				return m.g.Judge(c)
			}
		}
		return applied(l.Apply(ctx, ds, again))
	})
}

// applied is a result without the digests, which differ by data key.
func applied(as []store.Applied, err error) (any, error) {
	for i := range as {
		as[i].Entry = keyless(as[i].Entry)
	}
	return as, err
}

func keyless(e tenet.AuditEntry) tenet.AuditEntry {
	e.Digest, e.Prev, e.Hash = nil, nil, nil
	return e
}

// change ends or retracts something, open or not.
func (m *ledgers) change() {
	id := tenet.RecordID(fmt.Sprint("c", 1+m.IntN(max(m.n, 1)), pick(m.Rand, "", "", "", "/1", "/2")))
	ch := gate.Change{By: pick(m.Rand, m.people...), Scope: m.scope, ID: fmt.Sprint("change", m.IntN(m.step+1)), To: m.day(), Why: "asked", At: m.now}
	end := chance(m.Rand, 2)
	m.both("change", func(l store.Ledger) (any, error) {
		target, err := l.Record(ctx, m.scope, id)
		if err != nil {
			return nil, err
		}
		ch := ch
		ch.Target = target
		decide := m.g.Retract
		if end {
			decide = m.g.End
		}
		d, err := decide(ch)
		if err != nil {
			return nil, err
		}
		return applied(l.Apply(ctx, []gate.Decision{d}, nil))
	})
}

// settle releases or discards one of what is held.
func (m *ledgers) settle() {
	at, release, id := m.IntN(5), chance(m.Rand, 2), tenet.CandidateID(fmt.Sprint("rel", m.step))
	operator := m.people[len(m.people)-1]
	m.both("settle", func(l store.Ledger) (any, error) {
		hs, err := l.Held(ctx, m.scope, m.now, "", 5)
		if err != nil || len(hs) <= at {
			return nil, err
		}
		h := hs[at]
		if !release {
			d, err := m.g.Discard(operator, m.scope, h, "no", m.now)
			if err != nil {
				return nil, err
			}
			return applied(l.Apply(ctx, []gate.Decision{d}, nil))
		}
		c := gate.Case{By: operator, Candidate: h.Candidate, At: m.now}
		c.Candidate.ID, c.Candidate.Quote, c.Candidate.Cites = id, h.Candidate.Text, nil
		if c.State, err = l.State(ctx, m.scope, m.g.Query(c), m.now); err != nil {
			return nil, err
		}
		d, err := m.g.Release(c, h)
		if err != nil {
			return nil, err
		}
		return applied(l.Apply(ctx, []gate.Decision{d}, nil))
	})
}

func (m *ledgers) stage() {
	s := gate.Staged{Session: "s", From: m.cursor, To: m.cursor + int64(m.IntN(5))}
	if chance(m.Rand, 3) {
		s.From, s.To = s.From+1, s.To+1 // not where the cursor is
	}
	for range m.IntN(3) {
		if c := m.newCase(); c.Candidate.Tier != 0 {
			s.Candidates = append(s.Candidates, c.Candidate)
		}
	}
	got := m.both("stage", func(l store.Ledger) (any, error) {
		d, err := m.g.StageBatch(m.scope, s, m.now)
		if err != nil {
			return nil, err
		}
		return applied(l.Apply(ctx, []gate.Decision{d}, nil))
	})
	if got.Kind == "" {
		m.cursor = s.To
	}
}

func (m *ledgers) expire() {
	m.both("expire", func(l store.Ledger) (any, error) {
		due, err := l.Due(ctx, m.now, 100)
		if err != nil || len(due) == 0 {
			return nil, err
		}
		d, err := m.g.ExpireText(m.scope, due, m.now)
		if err != nil {
			return nil, err
		}
		return applied(l.Apply(ctx, []gate.Decision{d}, nil))
	})
}

// compare reads the two sides in every way there is.
func (m *ledgers) compare() {
	valid, key, tier := m.day(), pick(m.Rand, modelKeys...), pick(m.Rand, tenet.TierFact, tenet.TierFact, tenet.TierDocument)
	var known time.Time
	if len(m.known) > 0 && chance(m.Rand, 2) {
		known = pick(m.Rand, m.known...).Add(time.Duration(m.IntN(3)-1) * time.Microsecond)
	}
	q := gate.Query{Tier: tier, Key: key, Since: valid}
	if chance(m.Rand, 3) {
		q = gate.Query{Tier: tenet.TierNote, Signature: "s " + gate.Signature(pick(m.Rand, modelWords...), false)}
	}
	m.both("facts", func(l store.Ledger) (any, error) {
		return l.Facts(ctx, m.scope, tenet.AsOf{Valid: valid, Known: known})
	})
	m.both("facts now", func(l store.Ledger) (any, error) { return l.Facts(ctx, m.scope, at(m.now)) })
	m.both("stored", func(l store.Ledger) (any, error) { return l.(store.Governor).Stored(ctx, m.scope.Tenant()) })
	m.both("history", func(l store.Ledger) (any, error) { return l.History(ctx, m.scope, tier, key) })
	m.both("state", func(l store.Ledger) (any, error) { return l.State(ctx, m.scope, q, m.now) })
	m.both("held", func(l store.Ledger) (any, error) { return l.Held(ctx, m.scope, m.now, "", 10) })
	m.both("due", func(l store.Ledger) (any, error) {
		rs, err := l.Due(ctx, m.now, 100)
		return sortedIDs(rs), err
	})
	m.both("staged", func(l store.Ledger) (any, error) {
		cursor, cs, err := l.Staged(ctx, m.scope, "s")
		return []any{cursor, cs}, err
	})
	m.both("audit", func(l store.Ledger) (any, error) {
		h, err := l.Head(ctx, m.scope)
		if err != nil {
			return nil, err
		}
		es, err := l.Audit(ctx, m.scope, uint64(max(0, int64(h.Audit)-4)), 10)
		for i := range es {
			if es[i] = keyless(es[i]); l == m.oracle {
				m.known = append(m.known, es[i].At)
			}
		}
		return []any{h.Audit, es}, err
	})
	m.both("changes", func(l store.Ledger) (any, error) {
		ch, err := l.Changes(ctx, m.scope, 0)
		for i := max(0, len(ch.Added)-3); i < len(ch.Added); i++ { // recall may read other columns, never another record
			r, err := l.Record(ctx, m.scope, ch.Added[i].ID)
			must(m.TB, err)
			same(m.TB, "a record as recall gets it", ch.Added[i], r)
		}
		return texts(ch.Added), err
	})
	if chance(m.Rand, 3) { // what was followed is all there is
		for i, l := range []store.Ledger{m.real, m.oracle} {
			m.followed[i].follow(m.TB, l, m.scope)
			full := view{}
			full.follow(m.TB, l, m.scope)
			same(m.TB, "the followed view", m.followed[i].ids(), full.ids())
		}
	}
	id := tenet.RecordID(fmt.Sprint("c", 1+m.IntN(max(m.n, 1))))
	m.both("record", func(l store.Ledger) (any, error) { return l.Record(ctx, m.scope, id) })
	m.both("evidence", func(l store.Ledger) (any, error) {
		if r, err := l.Record(ctx, m.scope, id); err != nil || r.Expired {
			return nil, err
		}
		return l.Evidence(ctx, m.scope, id)
	})
	m.both("verdict", func(l store.Ledger) (any, error) {
		v, err := l.Verdict(ctx, m.scope, tenet.CandidateID(id))
		if err == nil && v.Candidate != tenet.CandidateID(id) {
			m.Errorf("the verdict of %s came for %s", v.Candidate, id)
		}
		return v, err
	})
}

func sortedIDs(rs []tenet.Record) []tenet.RecordID {
	var out []tenet.RecordID
	for _, r := range rs {
		out = append(out, r.ID)
	}
	slices.Sort(out)
	return out
}
