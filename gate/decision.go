// Package gate is the one door to durable memory. It derives whose word a
// candidate is, weighs what the text would do, and returns a Decision: the
// only thing a ledger applies. It is the only package that can make one.
//
// The package imports tenet, the standard library and golang.org/x/text. It
// reads no clock, no store and no configuration: the same case under the same
// rules gives the same decision, byte for byte.
package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// Kind is what a decision does. The set is closed.
type Kind uint8

const (
	Admit   Kind = 1 // insert a record, closing or splitting what it supersedes; or corroborate an equal one
	Refuse  Kind = 2 // hold or reject, with the text in the sealed refusal log
	End     Kind = 3 // "no longer true": shorten the valid time
	Retract Kind = 4 // "we were wrong": close the known time, nothing in its place
	Stage   Kind = 5 // save extracted candidates and advance the consolidation cursor; nothing is admitted
	Settle  Kind = 6 // discard a held candidate, or let it run out
	Expire  Kind = 7 // drop the raw text of records past their retention; descendants stay
	Deny    Kind = 8 // nothing is written but the entry: somebody tried what they may not do
	Stats   Kind = 9 // outcomes of uses of records: counters, no text

	Dormancy Kind = 10 // what a sweep or a pin decided about default results; no text

	Ask    Kind = 11 // nothing is written but the entry: a user is asked to confirm a hold
	Revoke Kind = 12 // close what came from a tainted source and put back what it had pushed out
	Bar    Kind = 13 // leave tombstones: statements that are not to be learned again
	Erase  Kind = 14 // remove a selection with all that hangs on it; only store.Eraser applies it
	Freeze Kind = 15 // a legal hold: nothing of the scope is erased and nothing expires
	Thaw   Kind = 16 // the legal hold is lifted

	Import Kind = 17 // nothing is written but the entry: an export was brought back, see Readmit

	Cut Kind = 18 // the audit before a time goes, as far as nothing needs it; only store.Cutter applies it

	// Keys are no memory: they count from 20, apart from the kinds above, which
	// may grow up to there.
	Access Kind = 20 // an API key is made, gets a new secret or another expiry, or is revoked
)

var kindNames = [...]string{"", "admit", "refuse", "end", "retract", "stage", "settle", "expire", "deny", "stats", "dormancy", "ask", "revoke", "bar", "erase", "freeze", "thaw", Import: "import", Cut: "cut", Access: "access"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "invalid"
}

// Decision is the gate's answer. Its only field is private and nothing here
// decodes into it, so outside this package only the zero Decision can be
// written down, and every ledger refuses that one. It is a struct and not a
// sealed interface because an interface can be forged by embedding it.
type Decision struct{ plan *Plan }

// IsZero reports whether d was not made by the gate.
func (d Decision) IsZero() bool { return d.plan == nil }

// Plan is what a ledger has to write. Changing it changes no decision: it is
// a copy at the top, and a store must not alter what its slices hold.
func (d Decision) Plan() Plan {
	if d.plan == nil {
		return Plan{}
	}
	return *d.plan
}

// Verdict is what was decided, for Admit and Refuse.
func (d Decision) Verdict() tenet.Verdict { return d.Plan().Verdict }

// Plan describes one decision as rows. Which fields are set follows from Kind.
type Plan struct {
	Kind  Kind
	Scope tenet.Scope
	Actor string // Principal.String of who asked
	At    time.Time
	Ref   string // the candidate, record or session acted on
	Why   string // an operator's or user's reason; not memory text

	Verdict   tenet.Verdict       // Admit, Refuse
	Candidate tenet.Candidate     // Admit, Refuse: what was judged, in stored form, secrets masked
	Declared  tenet.Candidate     // the same as it was offered: only for the digest that makes its id idempotent
	Needs     Needs               // what must still hold when it is applied
	Quota     Quota               // Admit: what the tenant may keep when it is written
	Insert    []tenet.Record      // Admit, End
	Close     []Close             // Admit, End, Retract
	Agree     *Agreement          // Admit with outcome corroborated
	Evidence  []tenet.Evidence    // Admit: excerpts kept with the record
	Hold      *Hold               // Refuse
	Settles   *Settlement         // Settle, and Admit of a released hold
	Staged    *Staged             // Stage
	Expire    []tenet.RecordID    // Expire
	Tally     *Tally              // Stats
	Rests     []Rest              // Dormancy
	Aged      []tenet.CandidateID // Expire: refused candidates whose sealed text goes
	Tombs     []Tombstone         // Settle that discards, and Bar
	Erase     *Selection          // Erase
	Key       *tenet.Key          // Access: the key as it is from now on
	Change    KeyChange           // Access: what of it changes, and nothing else
	Before    time.Time           // Cut: entries from before it may go

	// Readmitted says that the plan was carried out before, elsewhere or here:
	// see Readmit. It has no Needs.
	Readmitted bool
}

// Needs is the precondition of a decision: the state of what it touches when
// it was judged. A ledger that finds another state answers Conflict, or has
// the case judged again under its lock. It never names the chain's position,
// so that writers of different keys don't disturb each other.
type Needs struct {
	Query Query
	// Open are the ids that the query returned when judged, in its order.
	Open []tenet.RecordID
	// Grows is what the decision adds to the persistent tier, and Limits what
	// the sum may not pass. The zero Limits set none.
	Grows  Usage
	Limits Limits
	// Blocked is what the tombstones said about the statement.
	Blocked Block
	// Over is which of the query's limits were reached.
	Over Over
}

// States reports whether the decision is about a statement, so that tombstones
// have a say.
func (n Needs) States() bool {
	return n.Query.Statement != "" || len(n.Query.Sources) > 0 || n.Blocked != Block{}
}

// Query names the records a judgement depends on: the believed records of a
// scope under a key (facts, documents) or with a signature (notes). Episodes
// depend on none.
type Query struct {
	Tier      tenet.Tier
	Key       string
	Signature string
	// Since leaves out records whose valid time ended at or before it: they
	// can't be touched by a statement that starts there.
	Since time.Time
	// Statement is looked up among the scope's tombstones; see Fingerprint.
	// Sources are what the candidate rests on, looked up there too.
	Statement string
	Sources   []string
	// Pace is counted over the scope's last entries.
	Pace PaceQuery
}

// Close ends the known time of a record.
type Close struct {
	Record tenet.RecordID
	Reason tenet.Closing
	By     tenet.RecordID // what took its place, if anything
}

// Agreement adds origins to an equal record.
type Agreement struct {
	Record  tenet.RecordID
	Origins []tenet.Origin
}

// Hold is a refused candidate as the refusal log keeps it: sealed, with
// secrets masked, until it expires. What is open for release is kept whole; of
// a rejected one the log keeps Text in place of the candidate's.
type Hold struct {
	Text      string // at most HoldCap bytes
	Masked    bool
	State     tenet.HoldState
	ExpiresAt time.Time
}

// Settlement ends a hold.
type Settlement struct {
	Candidate tenet.CandidateID
	State     tenet.HoldState
}

// Staged is one consolidated stretch of a session.
type Staged struct {
	Session  tenet.SessionID
	From, To int64 // message positions (From, To]; the cursor must be at From
	// Since is when the first message of the stretch was recorded: a subject
	// that was erased after it takes no part of it. Zero: not known.
	Since      time.Time
	Candidates []tenet.Candidate
	// Judged is how many more there were, which have their verdicts: of a stretch
	// that is readmitted.
	Judged int
	// Cited are the messages that the candidates cite, kept with them until
	// they are judged: the session's log may be gone by then.
	Cited []tenet.Message
}

// Usage is what the open facts of a scope take up. Safety is the part of
// Rows and Bytes that is marked safety.
type Usage struct {
	Rows, Bytes             int
	SafetyRows, SafetyBytes int
}

// Limits bound the persistent tier of one scope. Ordinary facts may use three
// quarters; the last quarter is kept for safety facts, so that nobody can
// crowd an allergy out.
type Limits struct {
	Rows, Bytes, Value int
}

// DefaultLimits are 200 rows and 8 KiB a scope, 6 KiB a value.
var DefaultLimits = Limits{Rows: 200, Bytes: 8 << 10, Value: 6 << 10}

// Fits reports whether growing from u by g stays within the limits.
func (l Limits) Fits(u, g Usage) bool {
	if l == (Limits{}) || (g.Rows <= 0 && g.Bytes <= 0) {
		return true
	}
	ordinaryRows := u.Rows - u.SafetyRows + g.Rows - g.SafetyRows
	ordinaryBytes := u.Bytes - u.SafetyBytes + g.Bytes - g.SafetyBytes
	return u.Rows+g.Rows <= l.Rows && u.Bytes+g.Bytes <= l.Bytes &&
		(g.Rows == g.SafetyRows || ordinaryRows <= l.Rows-l.Rows/4) &&
		(g.Bytes == g.SafetyBytes || ordinaryBytes <= l.Bytes-l.Bytes/4)
}

// State is what a judgement is made against, read by the ledger.
type State struct {
	Open  []tenet.Record // what Query returned, oldest valid time first
	Usage Usage
	// Now is the asked time or, when later, the last time at which the scope
	// was written: a case may have waited while others were decided.
	Now time.Time
	// Blocked is what the tombstones say about the query's statement.
	Blocked Block
	// Pace is what the query's Pace counted.
	Pace Pace
}

// HoldCap is how much of a refused text the log keeps, and HoldFor how long.
const (
	HoldCap = 2 << 10
	HoldFor = 30 * 24 * time.Hour
)
