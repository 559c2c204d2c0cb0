package storetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var _ store.Freezer = (*Oracle)(nil)

// Frozen implements store.Freezer.
func (o *Oracle) Frozen(ctx context.Context, tenant string, now time.Time, after tenet.Scope, limit int) ([]store.Frozen, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, tenet.Errorf(tenet.Unavailable, "frozen", "the context ended")
	case tenant == "" || limit < 0:
		return nil, tenet.Errorf(tenet.Invalid, "frozen", "no tenant, or a negative limit")
	}
	order := func(a, b tenet.Scope) int {
		return cmp.Or(cmp.Compare(a.Subject().Kind(), b.Subject().Kind()), cmp.Compare(a.Subject().ID(), b.Subject().ID()))
	}
	var out []store.Frozen
	for scope, s := range o.scopes {
		if s.frozen == 0 || scope.Tenant() != tenant || !after.IsZero() && order(scope, after) <= 0 {
			continue
		}
		e := s.entry(s.frozen)
		out = append(out, store.Frozen{Scope: scope, By: e.Actor, Why: e.Why, Since: e.At, Seq: e.Seq, Overdue: s.overdue(now)})
	}
	slices.SortFunc(out, func(a, b store.Frozen) int { return order(a.Scope, b.Scope) })
	return out[:min(limit, len(out))], nil
}

// FrozenCounts implements store.Freezer.
func (o *Oracle) FrozenCounts(ctx context.Context, now time.Time) (f store.FrozenCounts, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.scopes {
		if s.frozen != 0 {
			f.Holds++
			f.Overdue += s.overdue(now)
			if at := s.entry(s.frozen).At; f.Oldest.IsZero() || at.Before(f.Oldest) {
				f.Oldest = at
			}
		}
	}
	return f, ctx.Err()
}

func (d *durable) overdue(now time.Time) int {
	n := len(d.due(now))
	for _, h := range d.holds {
		if h.sealed != nil && !h.expires.After(now) {
			n++
		}
	}
	return n
}
