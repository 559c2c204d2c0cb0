package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Governor is what those ask of a ledger who answer for it as a whole: what to
// age out, what came from where, and where every chain stands.
type Governor interface {
	// AgedOut returns refused candidates, of any scope, whose sealed texts have
	// run out at now, those of one scope together, at most limit.
	AgedOut(ctx context.Context, now time.Time, limit int) ([]AgedOut, error)
	// OpenHolds counts the held candidates of all tenants that wait for a review
	// and whose texts have not run out at now.
	OpenHolds(ctx context.Context, now time.Time) (OpenHolds, error)
	// Stored is how much the tenant's scopes keep together, as their heads count it.
	Stored(ctx context.Context, tenant string) (gate.Stored, error)
	// Records returns every record of the scope, closed ones included, in the
	// order in which they were written, after the given one (empty: from the
	// first), at most limit.
	Records(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int) ([]tenet.Record, error)
	// OriginsAt returns the origins that each of the named records of the scope
	// had at a time: those it was written with, and those that had agreed by
	// then. Records that are not there are left out.
	OriginsAt(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID, at time.Time) (map[tenet.RecordID][]tenet.Origin, error)
	// Heads returns where the chains of all scopes stand, in order of Chain
	// after the given one (empty: from the first), at most limit. A chain is
	// named by a random surrogate, which says nothing about whose it is.
	Heads(ctx context.Context, after string, limit int) ([]ChainHead, error)
	// ChainName is the surrogate of the scope's chain; empty when it has none.
	ChainName(ctx context.Context, scope tenet.Scope) (string, error)
	// EntryAt returns the hash of entry seq of a chain; nil when there is none.
	EntryAt(ctx context.Context, chain string, seq uint64) ([]byte, error)
	// CutOf returns the sealed head of a chain; zero when it was never cut, and
	// Internal when it was altered.
	CutOf(ctx context.Context, chain string) (Cut, error)
}

// AgedOut is a refused candidate whose text has run out.
type AgedOut struct {
	Scope tenet.Scope
	gate.Aged
}

// OpenHolds are numbers about what waits for a review. They name nobody.
type OpenHolds struct {
	Held int // at most OpenHoldsMost
	// Oldest is when the one that runs out first was held; zero when none waits.
	Oldest time.Time
}

// OpenHoldsMost is how many are counted.
const OpenHoldsMost = 100_000

// ChainHead is where one scope's chain stands.
type ChainHead struct {
	Chain string
	Seq   uint64
	Hash  []byte
}

// Served is what the session tier knows about who was shown what.
type Served interface {
	// ServedWith returns the receipts that name any of the records of a scope: of
	// sessions of the scope, and of scopes of whose sessions one may read it, in
	// order of scope and session, oldest first in each session.
	ServedWith(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID) ([]ScopedReceipt, error)
}

// ScopedReceipt is a receipt with the scope of its session.
type ScopedReceipt struct {
	Scope tenet.Scope `json:"scope"`
	tenet.Receipt
}

// StatementDigest is the keyed fingerprint under which a tombstone knows a
// statement.
func StatementDigest(k DataKey, statement string) []byte {
	d := k.digest("statement")
	d.str(statement)
	return d.Sum(nil)
}

// TombDigest covers one tombstone.
func TombDigest(k DataKey, statement []byte, kind gate.TombKind, label tenet.Label) []byte {
	d := k.digest("tombstone")
	d.bytes(statement)
	d.num(int64(kind))
	d.num(int64(label))
	return d.Sum(nil)
}

// AskDigest makes a place for a question hold one candidate only.
func AskDigest(k DataKey, p gate.Plan) []byte {
	d := k.digest("ask")
	d.str(p.Why)
	return d.Sum(nil)
}

// ChainName is a surrogate written so that the order of names is that of numbers.
func ChainName(scope int64) string { return fmt.Sprintf("%016x", scope) }

// ChainOf is the surrogate of a chain's name, or Invalid.
func ChainOf(name string) (int64, error) {
	n, err := strconv.ParseInt(name, 16, 64)
	if err != nil || n < 0 {
		return 0, tenet.Errorf(tenet.Invalid, "chain", "not a chain's name")
	}
	return n, nil
}
