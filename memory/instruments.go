package memory

import (
	"context"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
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
}

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

	// Of the tenant's queue, as far as the operator may reach.
	Waiting  int           `json:"waiting"`
	Failing  int           `json:"failing"`
	Dead     int           `json:"dead"`
	QueueAge time.Duration `json:"queue_age"` // how long the oldest due session has been due
}

// Stats counts the scope's entries and the queue.
func (o *Operator) Stats(ctx context.Context) (Stats, error) {
	s := Stats{Actions: map[string]uint64{}, Outcomes: map[string]uint64{}, Codes: map[string]uint64{}}
	const page = 1000
	for from := uint64(1); ; from += page {
		es, err := o.m.ledger.Audit(ctx, o.scope, from, page)
		if err != nil {
			return s, err
		}
		for _, e := range es {
			if s.Entries++; s.Entries == 1 {
				s.First = e.At
			}
			s.Last = e.At
			s.Actions[e.Action]++
			if e.Outcome != 0 {
				s.Outcomes[e.Outcome.String()]++
			}
			for _, c := range e.Codes {
				s.Codes[string(c)]++
			}
		}
		if len(es) < page {
			break
		}
	}
	superseded, agreed := s.Outcomes[tenet.Superseded.String()], s.Outcomes[tenet.Corroborated.String()]
	if kept := s.Outcomes[tenet.Stored.String()] + superseded + agreed; kept > 0 {
		s.Supersession, s.Corroboration = float64(superseded)/float64(kept), float64(agreed)/float64(kept)
	}
	now := o.m.now()
	for skip := 0; ; skip += page {
		all, err := o.m.sessions.Waiting(ctx, o.scope.Tenant(), skip, page)
		if err != nil {
			return s, err
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
		if len(all) < page {
			return s, nil
		}
	}
}
