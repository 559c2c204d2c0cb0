// Package store holds the ports behind which Tenet's databases stand, and the
// digests they share. Package storetest is the ports' contract as tests; a
// backend is one when it passes them.
//
// The package imports tenet, gate and the standard library. It holds no
// policy: what may be written is in the Decision, and a store applies it or
// answers Conflict.
//
// Every method takes the scope right after the context; a scope is the key
// prefix of what is read, never a filter over more. The zero Scope is Invalid.
// Methods are safe for concurrent use, in one process and in several. Errors
// are tenet.Error: Conflict when a precondition fails, NotFound when a named
// thing is absent, Unavailable when the database is away, full or read-only,
// Invalid for arguments that no state could satisfy. They carry no content.
package store

import (
	"context"
	"io"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Head is a scope's position. Text moves with every change of what recall can
// find, Stats with counters, Audit with every decision. A scope that was never
// written has the zero Head.
type Head struct {
	Text, Stats, Audit uint64
	Dense              uint64 // moves with every vector that is placed
	Sleep              uint64 // moves with every change of what is dormant or pinned
}

// Changes are what happened to a scope's recallable records (notes, episodes,
// documents) after a Text position. When Reset is set, Added is all there is
// and everything known before is to be forgotten.
type Changes struct {
	Head    Head
	Reset   bool
	Added   []tenet.Record // believed records, in the order they were added
	Removed []tenet.RecordID
}

// Reader is what may be read during a turn.
type Reader interface {
	// Head returns the scope's position.
	Head(ctx context.Context, scope tenet.Scope) (Head, error)
	// Facts returns every fact of the scope that holds at the given time as it
	// was known then: complete, exact, ordered by key, then start of validity,
	// then id. It is never limited. at.Valid must be set (Invalid otherwise: a
	// store reads no clock); a zero Known is what is known now.
	Facts(ctx context.Context, scope tenet.Scope, at tenet.AsOf) ([]tenet.Record, error)
	// Record returns one record, closed ones included.
	Record(ctx context.Context, scope tenet.Scope, id tenet.RecordID) (tenet.Record, error)
	// History returns every record ever believed under a key, oldest belief
	// first (Known.From, then id).
	History(ctx context.Context, scope tenet.Scope, tier tenet.Tier, key string) ([]tenet.Record, error)
	// Changes returns what recall has to know after position since; zero asks
	// for everything.
	Changes(ctx context.Context, scope tenet.Scope, since uint64) (Changes, error)
	// State returns what a judgement depends on: the believed records that
	// q names, oldest valid time first, and the usage of the persistent tier
	// by facts whose valid time has not ended at now, or at the scope's last
	// known time when that is later.
	State(ctx context.Context, scope tenet.Scope, q gate.Query, now time.Time) (gate.State, error)
}

// Trail is what those read who answer for the memory.
type Trail interface {
	// Evidence returns the excerpts kept with a record.
	Evidence(ctx context.Context, scope tenet.Scope, id tenet.RecordID) ([]tenet.Evidence, error)
	// Verdict returns what was decided about a candidate.
	Verdict(ctx context.Context, scope tenet.Scope, id tenet.CandidateID) (tenet.Verdict, error)
	// Verdicts returns what was decided about the candidates whose ids begin
	// with prefix and come after the given one, in the order of ids, at most
	// limit.
	Verdicts(ctx context.Context, scope tenet.Scope, prefix string, after tenet.CandidateID, limit int) ([]tenet.Verdict, error)
	// Held returns held and refused candidates in order of decision, newest
	// first, after the given one (empty: from the start). Texts that have
	// expired at now are not returned.
	Held(ctx context.Context, scope tenet.Scope, now time.Time, after tenet.CandidateID, limit int) ([]tenet.Held, error)
	// Audit returns entries from seq on (1 is the first), at most limit.
	Audit(ctx context.Context, scope tenet.Scope, from uint64, limit int) ([]tenet.AuditEntry, error)
	// Verify recomputes the scope's chain and the digest of every row it
	// covers. A finding is in the result, not an error.
	Verify(ctx context.Context, scope tenet.Scope) (Verification, error)
	// Scopes lists the tenant's scopes in a stable order after the given one
	// (zero: from the start).
	Scopes(ctx context.Context, tenant string, after tenet.Scope, limit int) ([]tenet.Scope, error)
}

// Verification is the result of recomputing a chain.
type Verification struct {
	Entries int
	Records int
	// Bad is the first entry that does not verify, and Why says how; zero when
	// everything does.
	Bad uint64
	Why string
}

// OK reports whether nothing was found.
func (v Verification) OK() bool { return v.Why == "" }

// Rejudge decides case i of a batch again, against the state found under the
// ledger's lock. It must not block or call the store.
type Rejudge func(i int, s gate.State) (gate.Decision, error)

// Applied is the effect of one decision.
type Applied struct {
	Entry   tenet.AuditEntry
	Verdict tenet.Verdict // of the decision that was applied in the end
	// Replayed says that the same decision id had been applied before and
	// nothing was written now.
	Replayed bool
}

// Ledger is the durable store.
type Ledger interface {
	Reader
	Trail

	// Apply is the only mutation of durable memory. It commits decisions of
	// one scope, in order, in one transaction: records, closings, evidence,
	// verdict, refusal text and audit entry, or nothing.
	//
	// A zero Decision is Refused. A decision whose Needs no longer hold is
	// judged again under the lock when again is given, else it is a Conflict
	// and the whole batch is undone. A candidate id that was applied before is
	// Replayed when the content is the same and a Conflict when it is not; the
	// same goes for the Ref of an End or Retract. Applying a staged candidate
	// removes it from the stage.
	//
	// The ledger stamps known time: later than anything the scope has seen,
	// and not earlier than the decision's own time.
	Apply(ctx context.Context, ds []gate.Decision, again Rejudge) ([]Applied, error)

	// Staged returns the consolidation cursor of a session and the candidates
	// saved for it that have no verdict yet, in the order they were staged.
	Staged(ctx context.Context, scope tenet.Scope, session tenet.SessionID) (cursor int64, cs []tenet.Candidate, err error)
	// StagedCited returns the messages that were saved with the session's staged
	// candidates, each once, in the order of the candidates that cite them.
	StagedCited(ctx context.Context, scope tenet.Scope, session tenet.SessionID) ([]tenet.Message, error)
	// Unjudged lists sessions, of any scope, that have staged candidates, at
	// most limit. Their session store may have lost them.
	Unjudged(ctx context.Context, limit int) ([]SessionRef, error)
	// Due returns records, of any scope, whose text is to be dropped at now.
	Due(ctx context.Context, now time.Time, limit int) ([]tenet.Record, error)

	io.Closer
}

// SessionRef names one session.
type SessionRef struct {
	Scope   tenet.Scope
	Session tenet.SessionID
}

// Sessions is the session tier: the log of a conversation and what was served
// in it. Nothing here reaches durable memory.
type Sessions interface {
	// Ensure returns the session, creating it as given when it does not exist.
	// Scope, Reads, TTL and RetainNone of an existing one are as created.
	Ensure(ctx context.Context, scope tenet.Scope, s tenet.Session) (tenet.Session, error)
	// Append adds messages at the end of the log, all or none, and returns
	// them as kept. The caller has set ID, Label, RecordedBy and RecordedAt;
	// the store sets Session and Seq. A message whose ClientID the session has already is
	// returned as first kept when role, text and tool ids are the same, and
	// is a Conflict otherwise. An ended session is a Conflict. due is when
	// consolidation becomes due; zero leaves it as it is.
	Append(ctx context.Context, scope tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error)
	// Messages returns up to limit messages at positions above after, in
	// order; a negative after counts from the end (-20: the last twenty).
	Messages(ctx context.Context, scope tenet.Scope, id tenet.SessionID, after int64, limit int) ([]tenet.Message, error)
	// Cited returns those of the named messages that the scope holds, in the
	// order named.
	Cited(ctx context.Context, scope tenet.Scope, ids []tenet.MessageID) ([]tenet.Message, error)
	// Propose keeps a candidate with the session until consolidation. The same
	// id again is a no-op with the same content and a Conflict with other.
	Propose(ctx context.Context, scope tenet.Scope, id tenet.SessionID, c tenet.Candidate, due time.Time) error
	// Serve records a receipt; Receipts returns them, oldest first.
	Serve(ctx context.Context, scope tenet.Scope, r tenet.Receipt) error
	Receipts(ctx context.Context, scope tenet.Scope, id tenet.SessionID) ([]tenet.Receipt, error)
	// End closes the log at the given time and makes consolidation due then.
	// Ending an ended session changes nothing.
	End(ctx context.Context, scope tenet.Scope, id tenet.SessionID, at time.Time) error

	Queue
	io.Closer
}

// Queue hands due sessions to workers. It is state of the session, not a
// second queue, so an append and its job are one write.
type Queue interface {
	// Lease takes a session that is due at now and not leased, oldest due
	// first, or returns nil. Each lease of a session has a higher fence; when
	// Until passes, the session may be leased again.
	Lease(ctx context.Context, r LeaseRequest) (*Lease, error)
	// Ack ends a lease: the cursor moves to Cursor, the done proposals go, and
	// the session is due again at NextDue (zero: when it next grows; it stays
	// due if it grew past Cursor meanwhile). A lease that ran out and was
	// taken by another is a Conflict.
	Ack(ctx context.Context, l Lease, a Ack) error
	// Sweep ends sessions whose TTL passed at now, makes those with
	// unconsolidated messages due, and removes the messages, up to the
	// cursor, and receipts of the others. Messages past the cursor are never
	// removed, and what was parked stays parked. It returns how many messages
	// went.
	Sweep(ctx context.Context, now time.Time) (int, error)
	// Waiting lists a tenant's sessions that are not consolidated to the end:
	// those whose last attempt failed first, then the longest due, after the
	// first skip of them, at most limit.
	Waiting(ctx context.Context, tenant string, skip, limit int) ([]tenet.Session, error)
}

// LeaseRequest asks for work.
type LeaseRequest struct {
	Worker string
	Now    time.Time
	Until  time.Time
	// Scope asks for a session of that scope alone: the next that is due, not
	// leased, and whose last attempt did not fail; nil when there is none. With
	// Only it asks for that one session, due, failed or not; NotFound when there
	// is no such session, nil when another worker holds it.
	Scope tenet.Scope
	Only  tenet.SessionID
}

// Lease is the right to consolidate one session until it runs out.
type Lease struct {
	Session   tenet.Session
	Worker    string
	Fence     uint64
	Until     time.Time
	Proposals []tenet.Candidate
}

// Ack is the outcome of a lease.
type Ack struct {
	Cursor  int64
	Done    []tenet.CandidateID // proposals that have a verdict
	Code    tenet.Code          // why the attempt failed; empty resets Attempts
	NextDue time.Time
	// Park gives up for now: the session is not due again until it grows, is
	// ended or is leased by name. It wins over NextDue.
	Park bool
	Now  time.Time
}

// Threads keeps frameworks' own state: opaque, versioned, byte for byte.
type Threads interface {
	// Put keeps a version. The same id with the same bytes is a no-op, with
	// other bytes a Conflict. With strict, the parent must be the thread's
	// newest version: otherwise Conflict; without it, forks are allowed.
	Put(ctx context.Context, scope tenet.Scope, b tenet.Blob, strict bool) error
	// Get returns a version, or the newest when id is empty.
	Get(ctx context.Context, scope tenet.Scope, thread, id string) (tenet.Blob, error)
	// List returns versions that are not over at now, newest first, after the
	// given id (empty: from the newest), at most limit.
	List(ctx context.Context, scope tenet.Scope, now time.Time, thread, after string, limit int) ([]tenet.Blob, error)
	// Drop removes a thread with all its versions and returns how many.
	Drop(ctx context.Context, scope tenet.Scope, thread string) (int, error)
}

// ReadOnly hides everything of r but Reader, from a type assertion too.
func ReadOnly(r Reader) Reader { return readOnly{r} }

type readOnly struct{ Reader }

// OnlySessions hides everything of s but Sessions: one database often stands
// behind both ports.
func OnlySessions(s Sessions) Sessions { return onlySessions{s} }

type onlySessions struct{ Sessions }
