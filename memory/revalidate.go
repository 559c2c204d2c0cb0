package memory

import (
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// revalidateAfter is when a record should be asked about again: its key's or
// its label's time after it was last stated. Saying it again renews it, because
// each statement keeps the time for which it was made. Zero: never.
func revalidateAfter(g *gate.Gate, r tenet.Record) time.Time {
	d := g.Revalidate(r)
	if d == 0 {
		return time.Time{}
	}
	last := r.Valid.From
	if last.IsZero() {
		last = r.Known.From
	}
	for _, o := range r.Origins {
		if o.Holds.From.After(last) {
			last = o.Holds.From
		}
	}
	return last.Add(d)
}

// stale reports whether a record is due for revalidation at t.
func stale(g *gate.Gate, r tenet.Record, t time.Time) bool {
	due := revalidateAfter(g, r)
	return !due.IsZero() && !t.Before(due)
}
