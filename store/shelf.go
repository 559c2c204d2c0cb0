package store

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
)

// Kept is a version in a batch. The first of an id stays, whatever comes
// later, unless Replace says that this one takes its place.
type Kept struct {
	tenet.Blob
	Replace bool
}

// Shelf is threads for frameworks that keep many small versions at once, and
// find them by the shape of their ids.
type Shelf interface {
	// PutAll keeps versions of one thread, all or none.
	PutAll(ctx context.Context, scope tenet.Scope, thread string, bs []Kept) error
	// Find returns the versions whose id begins with prefix and that are not over
	// at now, highest id first (byte order), below the given id (empty: from the
	// highest), at most limit.
	Find(ctx context.Context, scope tenet.Scope, now time.Time, thread, prefix, below string, limit int) ([]tenet.Blob, error)
	// Named returns those of the named versions that the thread has, in no order.
	Named(ctx context.Context, scope tenet.Scope, thread string, ids []string) ([]tenet.Blob, error)
	// Remove removes the named versions and returns how many there were. A
	// thread without versions is gone.
	Remove(ctx context.Context, scope tenet.Scope, thread string, ids []string) (int, error)
	// Threads lists the threads whose name begins with prefix and that have a
	// version which is not over at now, by name (byte order), after the given
	// one, at most limit.
	Threads(ctx context.Context, scope tenet.Scope, now time.Time, prefix, after string, limit int) ([]tenet.Thread, error)
}

// OnlyShelf hides everything of s but Shelf.
func OnlyShelf(s Shelf) Shelf { return onlyShelf{s} }

type onlyShelf struct{ Shelf }
