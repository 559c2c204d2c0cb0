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

// Nearness searches the places of a scope where they are kept, for scopes with
// more of them than a process should hold. A ledger has it that can ask an index
// which may miss some; what is near is then an approximation.
type Nearness interface {
	// Sampled returns, for each band, how many places the scope has and some
	// of them, the same ones while the places are the same. It reports false
	// when there is no index for one of the bands: then all places are read.
	Sampled(ctx context.Context, scope tenet.Scope, space string, bands []Band) ([]Sample, bool, error)
	// Nearest returns the places that are asked for, and those of ids. Those that
	// are asked for twice come twice; those that are not there do not come. It
	// reports false when one of the bands has no index any more.
	Nearest(ctx context.Context, scope tenet.Scope, space string, asks []Nearest, ids []tenet.RecordID) ([]Vector, bool, error)
}

// Band is the labels from Low to High, whose places are searched apart.
type Band struct{ Low, High tenet.Label }

// Sample is what a process keeps of a band.
type Sample struct {
	Count  int
	Places []Vector // at most SampleSize
	// How many of the ten nearest the index found, of those that a comparison
	// with every place found, when it was made; and over how many questions.
	Recall    float64
	Questions int
}

// Nearest asks for the N places of a band whose angle to a direction is least.
type Nearest struct {
	Band   Band
	Toward []int16
	N      int
}

// SampleSize bounds a Sample.
const SampleSize = 2048
