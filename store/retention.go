package store

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
)

// Retention is what sweeps and recall know of records beside their texts. It
// is written by Apply only (Stats and Dormancy decisions); Swept is a hint to
// the schedule.
type Retention interface {
	// Sleeping returns the believed records that are dormant, in order of id.
	Sleeping(ctx context.Context, scope tenet.Scope) ([]tenet.RecordID, error)
	// Uses returns the believed notes, episodes and documents, in the order they
	// were written, with what outcomes and sweeps said of each: those after the
	// given one, which need not be believed any more (empty: from the first; one
	// that is not there: NotFound), at most limit (0: all). Counts are decayed to
	// now with the given half-life.
	Uses(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int, halfLife time.Duration, now time.Time) ([]Use, error)
	// Unswept returns scopes that hold such records and were not swept since
	// the given time, longest ago first, at most limit.
	Unswept(ctx context.Context, since time.Time, limit int) ([]tenet.Scope, error)
	// Swept notes that a scope was swept.
	Swept(ctx context.Context, scope tenet.Scope, at time.Time) error
}

// Use is how a record has fared.
type Use struct {
	Record           tenet.Record
	Success, Failure float64 // reported outcomes, decayed
	CreditedAt       time.Time
	Dormant, Pinned  bool
	LowSince         time.Time
	ServedAt         time.Time // as sweeps noted it
}

// Servings tells when a session tier last served records.
type Servings interface {
	// Served returns, for records that a receipt of the scope names, when they
	// were last served, of receipts at or after since.
	Served(ctx context.Context, scope tenet.Scope, since time.Time) (map[tenet.RecordID]time.Time, error)
}
