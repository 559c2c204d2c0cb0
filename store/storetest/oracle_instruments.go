package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var _ store.Instruments = (*Oracle)(nil)

// Backlog implements store.Instruments.
func (o *Oracle) Backlog(ctx context.Context, now time.Time) (store.Backlog, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b store.Backlog
	if ctx.Err() != nil {
		return b, tenet.Errorf(tenet.Unavailable, "backlog", "the context ended")
	}
	for _, s := range o.scopes {
		for _, c := range s.conversations {
			switch due := c.DueAt; {
			case due.IsZero():
				if c.Attempts > 0 {
					b.Dead++
				}
				continue
			case due.After(now):
				b.Waiting++
			default:
				b.Due++
				if b.Oldest.IsZero() || due.Before(b.Oldest) {
					b.Oldest = due
				}
			}
			if c.Attempts > 0 {
				b.Failing++
			}
		}
	}
	return b, nil
}

// Receipted implements store.Instruments.
func (o *Oracle) Receipted(ctx context.Context, scope tenet.Scope, since time.Time) ([]tenet.Receipt, error) {
	s, err := o.enter(ctx, "receipted", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Receipt
	for _, c := range s.conversations {
		for _, r := range c.receipts {
			if !r.At.Before(since) {
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b tenet.Receipt) int { return a.At.Compare(b.At) })
	return out, nil
}
