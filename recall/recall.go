// Package recall finds, among the entries of one scope, those that a question
// is about. It tokenises any language, scores by window BM25, adds a dense
// score when there are vectors, boosts what is quoted or dated, collapses near
// duplicates, keeps the lanes of trust apart and says for every hit why it is
// there.
//
// It may import the standard library, golang.org/x/text and a stemmer; nothing
// of the rest of Tenet. It must never do I/O, read a clock, call a model or
// decide what may be remembered: callers bring entries, times and vectors, and
// one Index holds one scope, so that no statistic leaks between two.
//
// Everything here is deterministic to the bit: the same entries and the same
// query give the same hits with the same scores, whatever the order in which
// the entries arrived.
package recall

import (
	"errors"
	"time"
)

// Lane is a class of trust. Statistics and ranking are kept per lane, so that
// what arrives in one can neither change a score nor take a place in another.
// The caller decides which label goes to which lane.
type Lane uint8

// The lanes, best first. Trusted has the larger quota of every result.
const (
	Trusted  Lane = iota // what users and operators said
	Tool                 // what attested tools returned
	Inferred             // what agents concluded
	External             // everything else
	laneCount
)

// String names the lane as results and logs show it.
func (l Lane) String() string {
	switch l {
	case Trusted:
		return "trusted"
	case Tool:
		return "tool"
	case Inferred:
		return "inferred"
	case External:
		return "external"
	default:
		return "unknown"
	}
}

// Entry is one thing that can be recalled. Only ID is required.
type Entry struct {
	ID      string
	Lane    Lane
	Session string // conversation thread; empty for a statement that stands alone
	// Position orders the entries of a session; the nearest ones lend each other
	// their words. Equal positions are ordered by RecordedAt, then ID.
	Position int
	Speaker  string
	Key      string
	Text     string
	Extra    string // searched like Text: an image caption, a title
	// RecordedAt breaks ties (the earlier first) and is what a time expression in
	// the question is compared with when there is no validity.
	RecordedAt time.Time
	ValidFrom  time.Time // zero: unknown
	ValidTo    time.Time // zero: still valid; else exclusive
	// Ordinal is the caller's own number, returned with the hit. It never ranks.
	Ordinal int64
	// Vector is the entry's place in a dense space, or the zero Vector.
	Vector Vector
	// Dormant entries lend their words to their neighbours and are themselves
	// found only when the query quotes or names them, or asks for them.
	Dormant bool
}

// Query is one question to an Index.
type Query struct {
	Text string
	K    int // how many hits at most, 1 to MaxK
	// Lanes restricts the search; empty means all of them.
	Lanes []Lane
	// Now is the moment that "yesterday" is relative to. Without it only dates
	// that carry their year are read.
	Now time.Time
	// Location is the subject's time zone; nil is UTC.
	Location *time.Location
	// Within is a hard filter on validity or, without one, on RecordedAt.
	Within *Range
	// Vector is the question in the space of the entries' vectors, or zero.
	Vector Vector
	// Brought are vectors of entries, when they are kept elsewhere.
	Brought []Placed
	// Only, when set, is a hard filter on entries, by their ordinals.
	Only func(ordinal int64) bool
	// Dormant lets dormant entries be found like the others.
	Dormant bool
	// Diversity says what is done about near duplicates.
	Diversity Diversity
	// Explain fills Hit.Why.
	Explain bool
}

// Diversity is what Search does about hits that say the same thing.
type Diversity uint8

const (
	// Collapse folds near duplicates into the best of them. The default.
	Collapse Diversity = iota
	// Spread collapses, then re-orders by maximal marginal relevance.
	Spread
	// Plain returns the bare ranking.
	Plain
)

// Hit is one entry found.
type Hit struct {
	ID      string
	Ordinal int64
	Lane    Lane
	Score   float64 // comparable within one lane of one result only
	Exact   bool    // the query quotes this entry or names its id or key
	Dormant bool
	// Similar holds the ids of the near duplicates that were folded into this
	// hit, best first.
	Similar []string
	Parts   Parts
	Why     *Explanation
}

// Result is what Search found.
type Result struct {
	Hits   []Hit
	Reason Reason // why there are no hits, or fewer parts of the query were used
	// Time is the range that the query's time expression stood for, or nil.
	Time *Range
	// Ignored counts the distinct terms of an overlong query that were left out.
	Ignored int
}

// Reason says why a search came back empty or poorer than asked.
type Reason uint8

const (
	ReasonNone    Reason = iota
	ReasonEmpty          // the index, or the lanes asked for, hold nothing
	ReasonNoTerms        // the query has no searchable word: stop words, emoji, punctuation
	ReasonNoMatch        // no entry shares a term with the query, or none is in range
	ReasonNoSpace        // the query's vector is of another space or size: lexical result
)

// String gives the reason as a code for transports.
func (r Reason) String() string {
	switch r {
	case ReasonEmpty:
		return "empty_index"
	case ReasonNoTerms:
		return "no_terms"
	case ReasonNoMatch:
		return "no_match"
	case ReasonNoSpace:
		return "vector_space"
	default:
		return ""
	}
}

// Limits of a query. They bound the work one call can ask for.
const (
	MaxK          = 10_000
	MaxQueryBytes = 64 << 10
)

// What can be wrong with a call. The texts never hold memory content.
var (
	ErrNoID       = errors.New("recall: entry without id")
	ErrLane       = errors.New("recall: unknown lane")
	ErrEmptyQuery = errors.New("recall: empty query")
	ErrQuerySize  = errors.New("recall: query over 64 KiB")
	ErrK          = errors.New("recall: k outside 1 to 10000")
	ErrRange      = errors.New("recall: time range ends before it starts")
	ErrVector     = errors.New("recall: vector of another space or size")
	ErrFull       = errors.New("recall: more than 16 million entries in a lane")
	ErrParams     = errors.New("recall: parameter out of bounds")
	ErrBudget     = errors.New("recall: negative token budget or cost")
)

// Range is a half-open interval of time. A zero Start or End is unbounded.
type Range struct {
	Start, End time.Time
}
