package store

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Archive is what an export takes out of a ledger. What comes back goes through
// Apply, as decisions of gate.Readmit: with one of those, Apply asks nothing
// but that its time is later than all the scope has seen, and that neither the
// subject nor what it says or rests on was erased since; otherwise it is a
// Conflict, with code ERASED in the second case.
type Archive interface {
	// Past returns what the entries of the scope's chain after position after
	// wrote, as their rows stand now, oldest first, of at most limit entries, and
	// the position of the last of these; after itself when there is none. A record
	// is as it was inserted; what expired or was erased is left out of it. Entries
	// of which nothing is left are passed over, and so are erased statements and
	// API keys. Tombstones of what was rejected are told where the scope still
	// holds the statement.
	Past(ctx context.Context, scope tenet.Scope, after uint64, limit int) (ps []gate.Plan, last uint64, err error)
	// Forgot reports whether an erasure may have been carried out that reached the
	// scope, those from a journal included: if not, nothing needs to be looked up.
	Forgot(ctx context.Context, scope tenet.Scope) (bool, error)
}

// Continues is what every Archive asks of a plan of gate.Readmit: that it goes
// on where the scope's past ends, and that neither its scope nor what it says or
// rests on was erased after it was recorded. lastAt is the newest time that the
// scope has seen and gone when it was erased, zero for never.
func Continues(p gate.Plan, lastAt, gone time.Time, blocked func(gate.Query) (gate.Block, error)) error {
	const op = "apply"
	erased := ErasedBefore(op)
	switch {
	case !lastAt.IsZero() && !p.At.After(lastAt):
		return tenet.Errorf(tenet.Conflict, op, "the scope has a past of its own")
	case !gone.IsZero() && !p.At.After(gone):
		return erased
	}
	for _, r := range p.Insert {
		b, err := blocked(Traces(r))
		if err != nil {
			return err
		}
		if b.Source || !b.Erased.IsZero() && !p.At.After(b.Erased) {
			return erased
		}
	}
	return nil
}

// Traces asks after everything by which an erasure knows a record again.
func Traces(r tenet.Record) gate.Query {
	q := gate.Query{Statement: gate.Fingerprint(tenet.Candidate{Tier: r.Tier, Text: r.Text, Value: r.Value})}
	for _, o := range r.Origins {
		if o.Message != "" {
			q.Sources = append(q.Sources, gate.MessageSource(o.Message))
		}
		if o.Session != "" {
			q.Sources = append(q.Sources, gate.SessionSource(o.Session))
		}
	}
	return q
}

// WholeSession is a session with everything an export carries of it: not its
// leases, checkpoints and effects, which belong to who runs it.
type WholeSession struct {
	tenet.Session
	Messages  []tenet.Message
	Receipts  []tenet.Receipt
	Proposals []tenet.Candidate // not judged yet, in order
}

// SessionArchive is the same of a session tier.
type SessionArchive interface {
	// SessionsOf lists the scope's sessions in the order of their ids' bytes after
	// the given one (empty: from the first), at most limit.
	SessionsOf(ctx context.Context, scope tenet.Scope, after tenet.SessionID, limit int) ([]tenet.Session, error)
	// Whole returns a session as it stands.
	Whole(ctx context.Context, scope tenet.Scope, id tenet.SessionID) (WholeSession, error)
	// PutBack keeps a session as it is given, in one transaction: positions,
	// labels and times are those of its messages. A session that is there
	// or was erased is a Conflict, and so is a message whose id is taken; with code
	// ERASED so is one whose subject was erased after the session began (see Began).
	PutBack(ctx context.Context, scope tenet.Scope, s WholeSession) error
}

// Began is when the oldest of what the session tells was recorded; of one that
// tells nothing, when it was made. A message that was erased is empty, and tells
// nothing.
func (w WholeSession) Began() time.Time {
	var oldest []time.Time
	for _, m := range w.Messages {
		if m.Text != "" || m.RecordedBy != "" {
			oldest = append(oldest, m.RecordedAt)
		}
	}
	for _, r := range w.Receipts {
		oldest = append(oldest, r.At)
	}
	for _, p := range w.Proposals {
		oldest = append(oldest, p.ProposedAt)
	}
	if len(oldest) == 0 {
		return w.CreatedAt
	}
	return slices.MinFunc(oldest, time.Time.Compare)
}

// Outlives refuses a session that began before its subject was erased, at gone;
// zero: it never was.
func (w WholeSession) Outlives(gone time.Time) error {
	if gone.IsZero() || w.Began().After(gone) {
		return nil
	}
	return ErasedBefore("put back")
}

// ErasedBefore is the error of an operation that would bring back what was erased.
func ErasedBefore(op string) error {
	return &tenet.Error{Kind: tenet.Conflict, Op: op, Code: tenet.CodeErased, Reason: "it was erased after it was recorded"}
}

// CheckWhole is how every SessionArchive begins PutBack. A log is there from its
// first message to its last, or not at all: sweeping and deleting take the whole
// of one that has ended.
func CheckWhole(scope tenet.Scope, w WholeSession) error {
	const op = "put back"
	bad := func(why string) error { return tenet.Errorf(tenet.Invalid, op, "%s", why) }
	if err := tenet.CheckSessionID(w.ID); err != nil {
		return err
	}
	switch {
	case scope.IsZero() || w.Scope != scope:
		return bad("the session is of another scope")
	case w.TTL < 0 || w.Length < 0 || w.Consolidated < 0 || w.Consolidated > w.Length || w.Attempts < 0:
		return bad("a negative number, or a cursor past the end")
	}
	for _, r := range w.Reads {
		if r.IsZero() {
			return bad("a zero scope to read")
		}
	}
	if n := int64(len(w.Messages)); n != w.Length && (n > 0 || w.EndedAt.IsZero()) {
		return bad("a log with gaps")
	}
	seen := map[string]bool{}
	twice := func(kind, id string) bool {
		was := seen[kind+id]
		seen[kind+id] = id != ""
		return was
	}
	for i, m := range w.Messages {
		if m.ID == "" || len(m.ID) > tenet.MaxID || m.Seq != int64(i)+1 || twice("m", string(m.ID)) || twice("c", m.ClientID) {
			return bad("a message without an id of its own, or out of its place")
		}
	}
	for _, p := range w.Proposals {
		if p.ID == "" || p.Scope != scope || twice("p", string(p.ID)) {
			return bad("a proposal without an id of its own, or of another scope")
		}
	}
	return nil
}
