package store

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
)

// Freezer knows what is under a legal hold. A hold is placed and lifted by
// Apply (Freeze and Thaw decisions). While it stands, Erase and Expire
// decisions of the scope are Conflict with code LEGAL_HOLD, so are the removal
// of its sessions and threads, and Due, AgedOut and Sweep pass it over.
type Freezer interface {
	// Frozen lists a tenant's legal holds by their scopes' keys, after the
	// given scope (zero: from the first), at most limit; how much would be gone
	// at now without them is counted.
	Frozen(ctx context.Context, tenant string, now time.Time, after tenet.Scope, limit int) ([]Frozen, error)
	// FrozenCounts counts over all tenants.
	FrozenCounts(ctx context.Context, now time.Time) (FrozenCounts, error)
}

// FrozenCounts are numbers about legal holds. They name nobody.
type FrozenCounts struct {
	Holds   int       // that stand
	Oldest  time.Time // when the one that has stood longest was placed; zero when none stands
	Overdue int       // texts past their time that stay because of one
}

// Frozen is one legal hold.
type Frozen struct {
	Scope tenet.Scope `json:"scope"`
	By    string      `json:"by"`
	Why   string      `json:"why"`
	Since time.Time   `json:"since"`
	Seq   uint64      `json:"seq"` // the entry that placed it
	// Overdue counts texts of records and refused candidates past their time.
	Overdue int `json:"overdue"`
}

// SessionFreezer is what a session tier in a database of its own offers of
// legal holds: while a subject is frozen, Erase, DeleteSession, Drop and Remove
// are Conflict with code LEGAL_HOLD, and Sweep passes its sessions and threads
// over. The same again changes nothing.
type SessionFreezer interface {
	Freeze(ctx context.Context, scope tenet.Scope, frozen bool) error
}

// CodeLegalHold marks what is not done because of a legal hold.
const CodeLegalHold tenet.Code = "LEGAL_HOLD"

// HeldBack is the error of an operation that a legal hold forbids.
func HeldBack(op string) error {
	return &tenet.Error{Kind: tenet.Conflict, Op: op, Code: CodeLegalHold, Reason: "a legal hold forbids it: lift the hold first"}
}

// NothingToHold is the error of a legal hold on a subject of which an erasure
// left nothing.
func NothingToHold(op string) error {
	return &tenet.Error{Kind: tenet.Conflict, Op: op, Code: tenet.CodeErased, Reason: "the subject was erased and nothing came since: there is nothing to hold"}
}
