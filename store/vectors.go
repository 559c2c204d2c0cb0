package store

import (
	"context"

	"github.com/tenet-memory/tenet"
)

// Vectors keeps the places of records in dense spaces. They are derived: they
// can be made again from the records at any time, and go when the records do.
// A space is named by its model, version and dimension; what belongs to one is
// never returned for another.
type Vectors interface {
	// Unplaced returns believed, unexpired notes, episodes and documents of any
	// scope that have no place in the space, at most limit, those of one scope
	// together.
	Unplaced(ctx context.Context, space string, limit int) ([]tenet.Record, error)
	// Place keeps places and moves the scope's Dense position. One for a
	// record that is no longer believed is dropped, so that a late embedder
	// does not bring anything back. A record's second place in a space
	// replaces its first.
	Place(ctx context.Context, scope tenet.Scope, space string, vs []Vector) error
	// Places returns the places of believed records written after position
	// since, and the position they stand at.
	Places(ctx context.Context, scope tenet.Scope, space string, since uint64) ([]Vector, uint64, error)
}

// Vector is one record's place. Empty values say that there is nothing in its
// text to compare.
type Vector struct {
	Record tenet.RecordID
	Values []int8
}
