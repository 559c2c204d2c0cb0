package store

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
)

// Instruments is what a session store can count.
type Instruments interface {
	// Backlog counts what consolidation has not come to, over all tenants.
	Backlog(ctx context.Context, now time.Time) (Backlog, error)
	// Receipted returns the receipts of the scope's sessions at or after since,
	// oldest first.
	Receipted(ctx context.Context, scope tenet.Scope, since time.Time) ([]tenet.Receipt, error)
}

// Backlog are numbers about the queue. They name nobody.
type Backlog struct {
	Due     int // sessions that a worker takes next, or has
	Waiting int // not due yet
	Failing int // of both: the last attempt failed
	Dead    int // given up: due to nobody
	// Oldest is when the session that has been due longest became so; zero when
	// none is due.
	Oldest time.Time
}
