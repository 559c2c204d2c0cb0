package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// desks is a session store and the oracle, driven side by side.
type desks struct {
	testing.TB
	*rand.Rand
	real, oracle store.Sessions
	scopes       []tenet.Scope
	now          time.Time
	step, n      int
	leases       [][2]*store.Lease // by the real store, by the oracle
}

// both makes the same call on the two sides and compares the answers.
func (m *desks) both(what string, f func(s store.Sessions, side int) (any, error)) {
	m.Helper()
	a, b := answerOf(f(m.real, 0)), answerOf(f(m.oracle, 1))
	same(m.TB, fmt.Sprintf("step %d: %s", m.step, what), a, b)
}

// ModelSessions is Model for a session store.
func ModelSessions(t testing.TB, open func(testing.TB) store.Sessions, seed uint64) {
	t.Helper()
	m := &desks{
		TB: t, Rand: seeded(t, seed), real: open(t), oracle: NewOracle(), now: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC),
		scopes: []tenet.Scope{mustScope(t, "acme", tenet.User("sarah")), mustScope(t, "acme", tenet.User("Sarah"))},
	}
	for m.step = range steps {
		m.now = m.now.Add(time.Duration(m.IntN(3000)) * time.Second)
		m.operate(pick(m.Rand, m.scopes...), tenet.SessionID(fmt.Sprint("chat", m.IntN(3))))
		m.compare()
		if t.Failed() {
			t.Fatalf("the two differ after step %d", m.step)
		}
	}
}

func (m *desks) operate(scope tenet.Scope, id tenet.SessionID) {
	var due time.Time
	if chance(m.Rand, 2) {
		due = m.now.Add(time.Duration(m.IntN(3600)) * time.Second)
	}
	switch n := m.IntN(24); {
	case n < 3:
		s := tenet.Session{ID: id, Scope: scope, Reads: []tenet.Scope{scope}, TTL: time.Duration(m.IntN(3)) * 10 * time.Hour, CreatedAt: m.now, LastAt: m.now}
		m.both("ensure", func(d store.Sessions, _ int) (any, error) { return mask(d.Ensure(ctx, scope, s)) })
	case n < 11:
		var ms []tenet.Message
		for range 1 + m.IntN(3) {
			m.n++
			msg := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", m.n)), Role: tenet.Role(1 + m.IntN(2)), Text: pick(m.Rand, "yes", "no"),
				Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: m.now}
			if chance(m.Rand, 3) {
				msg.ClientID = fmt.Sprint("client", m.IntN(12))
			}
			if chance(m.Rand, 12) {
				msg.ID = tenet.MessageID(fmt.Sprint("m", 1+m.IntN(m.n)))
			}
			ms = append(ms, msg)
		}
		m.both("append", func(d store.Sessions, _ int) (any, error) { return d.Append(ctx, scope, id, ms, due) })
	case n < 13:
		c := tenet.Candidate{ID: tenet.CandidateID(fmt.Sprint("p", m.IntN(20))), Scope: scope, Tier: tenet.TierNote, Text: pick(m.Rand, "one", "one", "two")}
		m.both("propose", func(d store.Sessions, _ int) (any, error) { return nil, d.Propose(ctx, scope, id, c, due) })
	case n < 14:
		r := tenet.Receipt{ID: fmt.Sprint("r", m.step), Session: id, At: m.now, Tokens: m.step}
		m.both("serve", func(d store.Sessions, _ int) (any, error) { return nil, d.Serve(ctx, scope, r) })
	case n < 15 && chance(m.Rand, 3):
		m.both("end", func(d store.Sessions, _ int) (any, error) { return nil, d.End(ctx, scope, id, m.now) })
	case n < 19:
		r := store.LeaseRequest{Worker: fmt.Sprint("w", m.IntN(2)), Now: m.now, Until: m.now.Add(time.Duration(1+m.IntN(7200)) * time.Second), Scope: scope, Only: id}
		if chance(m.Rand, 2) {
			r.Scope, r.Only = tenet.Scope{}, ""
			m.settleTies()
		}
		var got [2]*store.Lease
		m.both("lease", func(d store.Sessions, side int) (any, error) {
			l, err := d.Lease(ctx, r)
			if got[side] = l; l == nil {
				return nil, err
			}
			s, _ := mask(l.Session, nil)
			return []any{s, l.Worker, l.Fence, l.Until, l.Proposals}, err
		})
		if got[0] != nil && got[1] != nil {
			m.leases = append(m.leases, got)
		}
	case n < 23:
		if len(m.leases) == 0 {
			return
		}
		ls := m.leases[max(0, len(m.leases)-1-m.IntN(3))] // the newest, or one that may be over
		a := store.Ack{Cursor: ls[1].Session.Consolidated + int64(m.IntN(int(ls[1].Session.Length-ls[1].Session.Consolidated)+1)), Now: m.now}
		for _, p := range ls[1].Proposals {
			if chance(m.Rand, 2) {
				a.Done = append(a.Done, p.ID)
			}
		}
		if chance(m.Rand, 3) {
			a.Code, a.NextDue = "FAILED", m.now.Add(time.Minute)
		}
		m.both("ack", func(d store.Sessions, side int) (any, error) { return nil, d.Ack(ctx, *ls[side], a) })
	default:
		m.both("sweep", func(d store.Sessions, _ int) (any, error) { return d.Sweep(ctx, m.now) })
	}
}

// settleTies gives every due session a time of its own, since the order of
// equal ones is nobody's promise.
func (m *desks) settleTies() {
	o := m.oracle.(*Oracle)
	seen := map[time.Time]bool{}
	for _, scope := range m.scopes {
		s := o.scopes[scope]
		if s == nil {
			continue
		}
		for i := range 3 {
			c := s.conversations[tenet.SessionID(fmt.Sprint("chat", i))]
			if c == nil || c.DueAt.IsZero() || !c.EndedAt.IsZero() || !seen[c.DueAt] {
				if c != nil {
					seen[c.DueAt] = true
				}
				continue
			}
			m.n++
			due := c.DueAt.Add(time.Duration(m.n) * time.Microsecond)
			msg := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", m.n)), Role: tenet.RoleUser, Text: "x", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: m.now}
			m.both("append", func(d store.Sessions, _ int) (any, error) {
				return d.Append(ctx, scope, c.ID, []tenet.Message{msg}, due)
			})
		}
	}
}

// mask leaves out how many attempts there were: whether a lease that ran out
// counts as one is not promised.
func mask(s tenet.Session, err error) (any, error) {
	s.Attempts = 0
	return s, err
}

func (m *desks) compare() {
	scope, id := pick(m.Rand, m.scopes...), tenet.SessionID(fmt.Sprint("chat", m.IntN(3)))
	after, limit := int64(m.IntN(30)-15), 1+m.IntN(20)
	m.both("messages", func(d store.Sessions, _ int) (any, error) { return d.Messages(ctx, scope, id, after, limit) })
	m.both("all messages", func(d store.Sessions, _ int) (any, error) { return d.Messages(ctx, scope, id, 0, 10000) })
	m.both("receipts", func(d store.Sessions, _ int) (any, error) { return d.Receipts(ctx, scope, id) })
	ids := []tenet.MessageID{tenet.MessageID(fmt.Sprint("m", 1+m.IntN(m.n+1))), "nope", tenet.MessageID(fmt.Sprint("m", 1+m.IntN(m.n+1)))}
	if ids[0] != ids[2] {
		m.both("cited", func(d store.Sessions, _ int) (any, error) { return d.Cited(ctx, scope, ids) })
	}
	if o := m.oracle.(*Oracle).scopes[scope]; o != nil && o.conversations[id] != nil { // reading is ensuring what exists
		m.both("the session", func(d store.Sessions, _ int) (any, error) {
			return mask(d.Ensure(ctx, scope, tenet.Session{ID: id, Scope: scope, CreatedAt: m.now}))
		})
	}
}
