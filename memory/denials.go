package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// denialsPerSecond bounds the entries that one tenant's denials write: a client
// that keeps trying must not fill the chain. What is held back is counted in
// the next entry.
const denialsPerSecond = 10

type denials struct {
	mu   sync.Mutex
	seen map[string]*burst // by tenant
}

type burst struct {
	since time.Time
	n     int // in this second
	held  int // not written yet
}

// take reports whether an entry may be written now, and how many were held
// back before it.
func (d *denials) take(tenant string, now time.Time) (held int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[string]*burst{}
	}
	b := d.seen[tenant]
	if b == nil {
		b = &burst{since: now}
		d.seen[tenant] = b
	}
	if now.Sub(b.since) >= time.Second {
		b.since, b.n = now, 0
	}
	if b.n++; b.n > denialsPerSecond {
		b.held++
		return 0, false
	}
	held, b.held = b.held, 0
	return held, true
}

// back returns what could not be written.
func (d *denials) back(tenant string, held int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[tenant].held += held
}

// Denied puts on record, in the caller's own tenant, that somebody tried what
// they may not do. Transports call it for every Denied answer to a known
// principal. The operation is named, never what was aimed at. Of a tenant at
// most ten a second are written; the rest are counted in the next entry. It
// takes at most 5 s, also after the request is over; that a store is away is logged.
func (m *Memory) Denied(ctx context.Context, by tenet.Principal, operation string) {
	m.counts.denied.Add(1)
	if m.ledger == nil {
		return
	}
	held, ok := m.counts.denials.take(by.Tenant(), m.now())
	if !ok {
		return
	}
	why := ""
	if held > 0 {
		why = fmt.Sprintf("and %d more before it", held)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	d, err := m.gate.Denied(by, operation, why, m.now())
	if err == nil {
		_, err = m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	}
	if err != nil {
		m.counts.denials.back(by.Tenant(), held+1)
		m.log.WarnContext(ctx, "a denial could not be recorded", "operation", operation, "kind", tenet.KindOf(err).String())
	}
}
