package memory

import (
	"context"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Pipeline counts what consolidation did since the engine was opened.
type Pipeline struct {
	Stretches uint64 `json:"stretches"` // extracted
	Barren    uint64 `json:"barren"`    // of those, the ones with neither fact nor note
	Proposed  uint64 `json:"proposed"`  // candidates saved, episodes among them
	Typed     uint64 `json:"typed"`     // facts and notes among those
	Failures  uint64 `json:"failures"`  // attempts that failed
	GivenUp   uint64 `json:"given_up"`  // sessions after MaxAttempts
	// Visible is how long after its message was recorded a turn was in durable
	// memory: of the last batch, and the longest so far.
	Visible    time.Duration `json:"visible"`
	VisibleMax time.Duration `json:"visible_max"`
	// Lags are the same of every batch: how many were within each of LagBounds,
	// how many there were, and their sum.
	Lags   [len(lagBounds)]uint64 `json:"lags"`
	LagN   uint64                 `json:"lag_n"`
	LagSum time.Duration          `json:"lag_sum"`
}

var lagBounds = [...]time.Duration{
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
	15 * time.Second, time.Minute, 5 * time.Minute, time.Hour,
}

// LagBounds are the bounds of Pipeline.Lags.
func LagBounds() []time.Duration { return slices.Clone(lagBounds[:]) }

// pipeline is Pipeline behind a lock.
type pipeline struct {
	mu sync.Mutex
	n  Pipeline
}

func (p *pipeline) add(f func(*Pipeline)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.n)
}

func (p *pipeline) read() Pipeline {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func (p *pipeline) extracted(cs []tenet.Candidate) {
	typed := uint64(0)
	for _, c := range cs {
		if c.Tier != tenet.TierEpisode {
			typed++
		}
	}
	p.add(func(n *Pipeline) {
		n.Stretches++
		n.Proposed += uint64(len(cs))
		n.Typed += typed
		if typed == 0 {
			n.Barren++
		}
	})
}

func (p *pipeline) visible(recorded, now time.Time) {
	if recorded.IsZero() || now.Before(recorded) {
		return
	}
	p.add(func(n *Pipeline) {
		n.Visible = now.Sub(recorded)
		n.VisibleMax = max(n.VisibleMax, n.Visible)
		n.LagN++
		n.LagSum += n.Visible
		for i, b := range lagBounds {
			if n.Visible <= b {
				n.Lags[i]++
			}
		}
	})
}

// Stats are numbers about one scope, from its audit chain and queue: they hold
// for all that ever wrote it, not for one process.
type Stats struct {
	Entries  uint64            `json:"entries"`
	Actions  map[string]uint64 `json:"actions"`
	Outcomes map[string]uint64 `json:"outcomes"`
	Codes    map[string]uint64 `json:"codes"`
	// Supersession and Corroboration are shares of what was kept.
	Supersession  float64   `json:"supersession"`
	Corroboration float64   `json:"corroboration"`
	First         time.Time `json:"first,omitzero"`
	Last          time.Time `json:"last,omitzero"`

	// Windows were extracted, and Barren of them gave neither fact nor note.
	Windows uint64 `json:"windows"`
	Barren  uint64 `json:"barren"`

	// Recalls of sessions that write this scope, as their receipts have them:
	// how many there are, served at least one item, and had one that is still
	// believed reported a success later. The shares are of Recalls.
	Recalls  int     `json:"recalls"`
	Served   int     `json:"served"`
	Credited int     `json:"credited"`
	HitRate  float64 `json:"hit_rate"`
	Useful   float64 `json:"useful_rate"`

	// Lag is how long after it was recorded a turn was in durable memory, of the
	// newest turns whose message is still there.
	Lag    time.Duration `json:"lag_median"`
	LagMax time.Duration `json:"lag_max"`
	LagOf  int           `json:"lag_of"`

	// Of the tenant's queue, as far as the operator may reach.
	Waiting  int           `json:"waiting"`
	Failing  int           `json:"failing"`
	Dead     int           `json:"dead"`
	QueueAge time.Duration `json:"queue_age"` // how long the oldest due session has been due

	// What all of the tenant's scopes keep, and may: 0 is no bound. Nil for an
	// operator who is narrowed to subjects.
	Stored *gate.Stored `json:"stored,omitempty"`
	Quota  *gate.Quota  `json:"quota,omitempty"`
}

// Stats counts the scope's entries, its recalls and the queue.
func (o *Operator) Stats(ctx context.Context) (Stats, error) {
	s := Stats{Actions: map[string]uint64{}, Outcomes: map[string]uint64{}, Codes: map[string]uint64{}}
	for _, part := range []func(context.Context, *Stats) error{o.countEntries, o.countWindows, o.countRecalls, o.countLags, o.countQueue, o.countUse} {
		if err := part(ctx, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// statsPage is how much is read at a time.
const statsPage = 1000

func (o *Operator) countEntries(ctx context.Context, s *Stats) error {
	for from := uint64(1); ; {
		es, err := o.m.ledger.Audit(ctx, o.scope, from, statsPage)
		if err != nil {
			return err
		}
		for _, e := range es {
			from = e.Seq + 1
			if s.Entries++; s.Entries == 1 {
				s.First = e.At
			}
			s.Last = e.At
			s.Actions[e.Action]++
			if e.Action == gate.Stage.String() && !strings.HasPrefix(e.Actor, tenet.Operator.String()+":") {
				s.Windows++ // the others are stretches that an operator dropped
			}
			if e.Outcome != 0 {
				s.Outcomes[e.Outcome.String()]++
			}
			for _, c := range e.Codes {
				s.Codes[string(c)]++
			}
		}
		if len(es) < statsPage {
			break
		}
	}
	superseded, agreed := s.Outcomes[tenet.Superseded.String()], s.Outcomes[tenet.Corroborated.String()]
	if kept := s.Outcomes[tenet.Stored.String()] + superseded + agreed; kept > 0 {
		s.Supersession, s.Corroboration = float64(superseded)/float64(kept), float64(agreed)/float64(kept)
	}
	return nil
}

// extracted is the shape of an id that candidateID makes; all of one window
// share the first group.
var extracted = regexp.MustCompile(`^([0-9a-f]{12}-[0-9a-f]{20})-[0-9]{4,}$`)

// countWindows finds the windows that gave a fact or a note: each has a verdict
// whose id names its window.
func (o *Operator) countWindows(ctx context.Context, s *Stats) error {
	gave := map[string]bool{}
	for after := tenet.CandidateID(""); ; {
		vs, err := o.m.ledger.Verdicts(ctx, o.scope, "", after, statsPage)
		if err != nil {
			return err
		}
		for _, v := range vs {
			if m := extracted.FindStringSubmatch(string(v.Candidate)); m != nil && v.Tier != tenet.TierEpisode {
				gave[m[1]] = true
			}
		}
		if len(vs) < statsPage {
			break
		}
		after = vs[len(vs)-1].Candidate
	}
	s.Barren = s.Windows - min(s.Windows, uint64(len(gave)))
	return nil
}

func (o *Operator) countRecalls(ctx context.Context, s *Stats) error {
	m := o.m
	if m.cfg.Instruments == nil {
		return nil
	}
	rs, err := m.cfg.Instruments.Receipted(ctx, o.scope, time.Time{})
	if err != nil {
		return err
	}
	credited := map[tenet.RecordID]time.Time{}
	if m.cfg.Retention != nil {
		uses, err := m.cfg.Retention.Uses(ctx, o.scope, "", 0, m.cfg.Forget.WorthHalfLife, m.now())
		if err != nil {
			return err
		}
		for _, u := range uses {
			credited[u.Record.ID] = u.CreditedAt
		}
	}
	for _, r := range rs {
		s.Recalls++
		if len(r.Recalled) > 0 {
			s.Served++
		}
		if slices.ContainsFunc(r.Recalled, func(id tenet.RecordID) bool { return credited[id].After(r.At) }) {
			s.Credited++
		}
	}
	if s.Recalls > 0 {
		s.HitRate, s.Useful = float64(s.Served)/float64(s.Recalls), float64(s.Credited)/float64(s.Recalls)
	}
	return nil
}

// lagged is of how many turns the lag is looked up.
const lagged = 200

func (o *Operator) countLags(ctx context.Context, s *Stats) error {
	ch, err := o.m.ledger.Changes(ctx, o.scope, 0)
	if err != nil {
		return err
	}
	turns := slices.DeleteFunc(ch.Added, func(r tenet.Record) bool { return r.Tier != tenet.TierEpisode || r.Message == "" })
	turns = turns[max(0, len(turns)-lagged):]
	known := map[tenet.MessageID]time.Time{}
	var ids []tenet.MessageID
	for _, r := range turns {
		known[r.Message] = r.Known.From
		ids = append(ids, r.Message)
	}
	ms, err := o.m.sessions.Cited(ctx, o.scope, ids)
	if err != nil {
		return err
	}
	var lags []time.Duration
	for _, msg := range ms {
		if at := known[msg.ID]; !msg.RecordedAt.IsZero() && !at.Before(msg.RecordedAt) {
			lags = append(lags, at.Sub(msg.RecordedAt))
		}
	}
	if s.LagOf = len(lags); s.LagOf > 0 {
		slices.Sort(lags)
		s.Lag, s.LagMax = lags[len(lags)/2], lags[len(lags)-1]
	}
	return nil
}

func (o *Operator) countQueue(ctx context.Context, s *Stats) error {
	now := o.m.now()
	for skip := 0; ; skip += statsPage {
		all, err := o.m.sessions.Waiting(ctx, o.scope.Tenant(), skip, statsPage)
		if err != nil {
			return err
		}
		for _, w := range all {
			if !o.by.MayReach(w.Scope) {
				continue
			}
			s.Waiting++
			switch jobOf(w, now).State {
			case JobDead:
				s.Dead++
			case JobFailing:
				s.Failing++
			}
			if !w.DueAt.IsZero() && w.DueAt.Before(now) {
				s.QueueAge = max(s.QueueAge, now.Sub(w.DueAt))
			}
		}
		if len(all) < statsPage {
			return nil
		}
	}
}

// Backlog are numbers about the queue of all tenants.
type Backlog struct {
	Due     int `json:"due"`
	Waiting int `json:"waiting"` // not due yet
	Failing int `json:"failing"` // of both
	Dead    int `json:"dead"`
	// Age is how long the session that has been due longest has been due.
	Age time.Duration `json:"age"`
}

// Backlog counts what consolidation has not come to. It is Unavailable when
// the session store does not count.
func (m *Memory) Backlog(ctx context.Context) (Backlog, error) {
	if m.cfg.Instruments == nil {
		return Backlog{}, tenet.Errorf(tenet.Unavailable, "backlog", "the session store does not count")
	}
	now := m.now()
	b, err := m.cfg.Instruments.Backlog(ctx, now)
	out := Backlog{Due: b.Due, Waiting: b.Waiting, Failing: b.Failing, Dead: b.Dead}
	if !b.Oldest.IsZero() {
		out.Age = now.Sub(b.Oldest)
	}
	return out, err
}

// Quarantine are numbers about what waits for a review, of all tenants.
type Quarantine struct {
	Held int           `json:"held"` // at most store.OpenHoldsMost
	Age  time.Duration `json:"age"`  // of what runs out first
}

// Quarantine counts what is held. It is Unavailable when the ledger does not count.
func (m *Memory) Quarantine(ctx context.Context) (Quarantine, error) {
	if m.cfg.Governor == nil {
		return Quarantine{}, tenet.Errorf(tenet.Unavailable, "quarantine", "the ledger does not count what is held")
	}
	now := m.now()
	h, err := m.cfg.Governor.OpenHolds(ctx, now)
	out := Quarantine{Held: h.Held}
	if !h.Oldest.IsZero() {
		out.Age = now.Sub(h.Oldest)
	}
	return out, err
}

// backlogMost is how many sessions of a tenant are counted.
const backlogMost = 10_000

// BacklogOf counts what consolidation has not come to of one tenant, at most
// 10,000 sessions of it.
func (m *Memory) BacklogOf(ctx context.Context, tenant string) (Backlog, error) {
	now := m.now()
	var out Backlog
	for skip := 0; skip < backlogMost; skip += statsPage {
		page, err := m.sessions.Waiting(ctx, tenant, skip, statsPage)
		if err != nil {
			return Backlog{}, err
		}
		for _, s := range page {
			switch jobOf(s, now).State {
			case JobDead:
				out.Dead++
				continue
			case JobFailing:
				out.Failing++
			}
			switch {
			case s.DueAt.After(now):
				out.Waiting++
			case s.DueAt.IsZero(): // what it staged waits
				out.Due++
			default:
				out.Due++
				out.Age = max(out.Age, now.Sub(s.DueAt))
			}
		}
		if len(page) < statsPage {
			break
		}
	}
	return out, nil
}

// recallsKept is how many recalls a later outcome is matched with.
const recallsKept = 4096

// recallLog remembers what the newest recalls served, so that an outcome finds
// those that it credits. It keeps hashes: nothing of an id stays here after an
// erasure, and one recall in 2^50 credited for another's record is no matter.
type recallLog struct {
	mu   sync.Mutex
	seed maphash.Seed // made by the first recall
	n    uint64
	ring [recallsKept]struct {
		items    []uint64
		credited bool
	}
}

func (l *recallLog) hash(scope tenet.Scope, id tenet.RecordID) uint64 {
	type item struct {
		scope tenet.Scope
		id    tenet.RecordID
	}
	return maphash.Comparable(l.seed, item{scope, id})
}

func (l *recallLog) add(hits []Recalled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		l.seed = maphash.MakeSeed()
	}
	slot := &l.ring[l.n%recallsKept]
	slot.items, slot.credited = slices.Grow(slot.items[:0], len(hits)), false
	for i := range hits {
		slot.items = append(slot.items, l.hash(hits[i].Scope, hits[i].ID))
	}
	l.n++
}

// credit returns how many recalls are credited that were not before. It looks
// through all that are kept, a fraction of a millisecond: outcomes are rarer than
// recalls.
func (l *recallLog) credit(scope tenet.Scope, ids []tenet.RecordID) (n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		return 0
	}
	used := make([]uint64, len(ids))
	for i, id := range ids {
		used[i] = l.hash(scope, id)
	}
	slices.Sort(used)
	for i := range l.ring {
		slot := &l.ring[i]
		if slot.credited {
			continue
		}
		for _, h := range slot.items {
			if _, slot.credited = slices.BinarySearch(used, h); slot.credited {
				n++
				break
			}
		}
	}
	return n
}
