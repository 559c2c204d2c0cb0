package memory

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// counts are what the engine counted since it was opened.
type counts struct {
	recalls, served, credited, denied atomic.Uint64

	recalled recallLog

	pipeline pipeline
	denials  denials
	spoken   atomic.Int64 // when somebody last used a session, in nanoseconds: background work gives way

	mu       sync.Mutex
	tallies  map[string]*Tally // by tenant
	verdicts map[verdictKind]uint64
	full     map[string]uint64 // writes that a quota had no room for, by limit
	windows  uint64
	tokens   Tokens
	lag      time.Duration
	lagAt    time.Time
}

type verdictKind struct {
	outcome tenet.Outcome
	code    tenet.Code
}

// Counts are numbers about the engine since it was opened, for instruments.
// They name no tenant, subject or session.
type Counts struct {
	Recalls  uint64         `json:"recalls"`
	Served   uint64         `json:"served"`   // recalls that served at least one item
	Credited uint64         `json:"credited"` // recalls of which an item was reported a success later
	Denied   uint64         `json:"denied"`
	Verdicts []VerdictCount `json:"verdicts"`
	// Full are writes that a quota had no room for, by limit.
	Full map[string]uint64 `json:"full"`
	// Windows are contexts that were assembled; Tokens is the sum of theirs.
	Windows uint64 `json:"windows"`
	Tokens  Tokens `json:"tokens"`
	// Lag is how long the session that was consolidated last had been due.
	Lag      time.Duration `json:"lag"`
	Pipeline Pipeline      `json:"pipeline"`
}

// VerdictCount counts verdicts by outcome and first reason code.
type VerdictCount struct {
	Outcome tenet.Outcome `json:"outcome"`
	Code    tenet.Code    `json:"code"`
	N       uint64        `json:"n"`
}

// Counts returns the numbers as they stand.
func (m *Memory) Counts() Counts {
	c := &m.counts
	out := Counts{Pipeline: c.pipeline.read(), Recalls: c.recalls.Load(), Served: c.served.Load(), Credited: c.credited.Load(), Denied: c.denied.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Full = map[string]uint64{}
	for _, limit := range gate.QuotaLimits {
		out.Full[limit] = c.full[limit]
	}
	out.Lag, out.Windows, out.Tokens = c.lag, c.windows, c.tokens
	for k, n := range c.verdicts {
		out.Verdicts = append(out.Verdicts, VerdictCount{k.outcome, k.code, n})
	}
	return out
}

// Tally is what was counted for one tenant since the engine was opened.
type Tally struct {
	Recalls, Served uint64
	Verdicts        map[tenet.Outcome]uint64
	// Windows are contexts that were assembled; Tokens is the sum of theirs.
	Windows uint64
	Tokens  Tokens
}

// Tally returns a tenant's numbers as they stand. Beyond 10,000 tenants the
// later ones are not counted by themselves.
func (m *Memory) Tally(tenant string) Tally {
	m.counts.mu.Lock()
	defer m.counts.mu.Unlock()
	t := m.counts.tallies[tenant]
	if t == nil {
		return Tally{}
	}
	out := *t
	out.Verdicts = maps.Clone(t.Verdicts)
	return out
}

const tallied = 10_000 // tenants

// tally changes a tenant's numbers; c.mu is held.
func (c *counts) tally(tenant string, change func(*Tally)) {
	t := c.tallies[tenant]
	if t == nil {
		if len(c.tallies) >= tallied {
			return
		}
		if c.tallies == nil {
			c.tallies = map[string]*Tally{}
		}
		t = &Tally{Verdicts: map[tenet.Outcome]uint64{}}
		c.tallies[tenant] = t
	}
	change(t)
}

func (c *counts) recall(tenant string, hits []Recalled) {
	c.recalls.Add(1)
	c.mu.Lock()
	c.tally(tenant, func(t *Tally) {
		t.Recalls++
		if len(hits) > 0 {
			t.Served++
		}
	})
	c.mu.Unlock()
	if len(hits) > 0 {
		c.served.Add(1)
		c.recalled.add(hits)
	}
}

func (c *counts) window(tenant string, n Tokens) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.windows++
	c.tokens.add(n)
	c.tally(tenant, func(t *Tally) {
		t.Windows++
		t.Tokens.add(n)
	})
}

func (t *Tokens) add(n Tokens) {
	t.Facts += n.Facts
	t.Recalled += n.Recalled
	t.Pending += n.Pending
	t.Messages += n.Messages
	t.Total += n.Total
	t.Budget += n.Budget
}

// verdictKinds bounds the outcomes and codes that are told apart: a tenant's
// own rules have codes of their own.
const verdictKinds = 256

func (c *counts) verdict(tenant string, v tenet.Verdict) {
	k := verdictKind{outcome: v.Outcome}
	if len(v.Codes) > 0 {
		k.code = v.Codes[0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verdicts == nil {
		c.verdicts = map[verdictKind]uint64{}
	}
	if _, known := c.verdicts[k]; !known && len(c.verdicts) >= verdictKinds {
		k.code = "OTHER"
	}
	c.verdicts[k]++
	c.tally(tenant, func(t *Tally) { t.Verdicts[v.Outcome]++ })
}

func (c *counts) consolidated(due, now time.Time) {
	if due.IsZero() || now.Before(due) {
		due = now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag, c.lagAt = now.Sub(due), now
}

// Ready proves that the stores answer and take a write: in a tenant that no
// key can be made for, a session that is held by the probe, over and over, so
// that probing leaves one row however long it goes on.
func (m *Memory) Ready(ctx context.Context) error {
	scope, err := tenet.NewScope(probeTenant, tenet.WholeTenant())
	if err != nil {
		return err
	}
	now := m.now()
	if _, err := m.sessions.Ensure(ctx, scope, tenet.Session{ID: probe, Scope: scope, Reads: []tenet.Scope{scope}, CreatedAt: now}); err != nil {
		return err
	}
	if m.runs == nil {
		return m.sessions.Serve(ctx, scope, tenet.Receipt{ID: probe, Session: probe, At: now})
	}
	_, err = m.runs.Hold(ctx, scope, probe, probe, now, now.Add(time.Minute))
	return err
}

const probe = "probe"

// probeTenant is not a tenant: keys are refused for it.
const probeTenant = "tenet readiness probe"
