package store

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Eraser makes things gone. It is a port of its own: Apply adds and closes, and
// refuses an Erase decision.
type Eraser interface {
	// Erase carries an Erase decision out, in one transaction under the scope's
	// lock: it finds all that hangs on the selection, in the ledger and in the
	// session tier, removes it, leaves tombstones, and appends the entry that
	// the receipt names. What was read before can't be written after it: the
	// ledger knows the erased sources and turns their candidates away.
	//
	// With DryRun everything is counted and undone. Journal, when given, is
	// called with what a restore needs to erase it again, before the commit; its
	// error undoes the erasure. An erasure whose id was used is Conflict; so, with
	// code LEGAL_HOLD, is one that a legal hold of any scope it reaches forbids.
	Erase(ctx context.Context, d gate.Decision, o EraseOptions) (Erased, error)
	// Again erases what a journal names, in a database that an older backup
	// brought back. d is the gate's Again of that line's id and kind; the zero
	// decision is Refused, and one of another line or with a scope Invalid. Parts
	// match only where this database's own erasures wrote them: their digests
	// are keyed. Chains are plain surrogates and match whoever has them, so the
	// caller verifies the line's signature first. Nothing that matches is no error.
	// A legal hold that was placed after the line was written is Conflict.
	Again(ctx context.Context, d gate.Decision, j Journaled) (Erased, error)
	// Unknown returns those of the erasures that this database knows nothing of:
	// they were begun and not carried out, or a backup is older than they are.
	Unknown(ctx context.Context, ids []string) ([]string, error)
	// Purge is the physical pass: it gets what was erased out of the files, as
	// far as the database lets a program do so, and marks the erasures done
	// that were pending. It returns Unavailable while readers stand in its way:
	// the erasures stay pending, and it is to be called again.
	Purge(ctx context.Context) error
	// Erasures lists a tenant's erasures, newest first, at most limit.
	Erasures(ctx context.Context, tenant string, limit int) ([]ErasureState, error)
	// Residue looks for what an erasure removed, in every place, and returns
	// where it found some.
	Residue(ctx context.Context, j Journaled) (map[string]int, error)
	// Chain recomputes the links of a chain, up to its end, and says what is
	// wrong with it; empty: nothing. At seq, unless it is 0, the entry must have
	// the hash. It needs no key, so it works for a subject that is gone.
	Chain(ctx context.Context, chain string, seq uint64, hash []byte) (string, error)
}

// CheckAgain is how every Eraser begins Again: whether the decision is the
// gate's, and about this line.
func CheckAgain(d gate.Decision, j Journaled) error {
	const op = "erase again"
	p := d.Plan()
	switch {
	case d.IsZero():
		return tenet.Errorf(tenet.Refused, op, "the decision was not made by the gate")
	case p.Kind != gate.Erase || p.Erase == nil || !p.Scope.IsZero():
		return tenet.Errorf(tenet.Invalid, op, "another kind of decision")
	case p.Ref != j.ID || p.Erase.Tenant != (j.What == "tenant") || p.Erase.Subject != (j.What == "subject"):
		return tenet.Errorf(tenet.Invalid, op, "the decision is about another erasure")
	}
	return nil
}

// SessionEraser is what a session tier in a database of its own offers of
// erasure: the ledger's Eraser cannot reach it. One database behind both ports
// needs only Eraser.
type SessionEraser interface {
	// Erase removes everything of a subject - sessions, logs, proposals,
	// receipts, running work, threads, recorded calls, spent ids, its data key -
	// and returns how many sessions went. It keeps at, as when the subject was
	// erased, for SessionArchive. Called again after a failure it goes on.
	Erase(ctx context.Context, scope tenet.Scope, at time.Time) (int, error)
}

// EraseOptions are how an erasure goes.
type EraseOptions struct {
	DryRun  bool
	Journal func(Journaled) error
}

// Erased is what an erasure removed.
type Erased struct {
	ID   string    `json:"id"`
	What string    `json:"what"` // the selection's kind
	At   time.Time `json:"at"`
	// Chain, Seq and Hash are the position of the erasure's entry.
	Chain string `json:"chain"`
	Seq   uint64 `json:"seq"`
	Hash  []byte `json:"hash"`
	// Counts are rows by place: removed, or emptied.
	Counts map[string]int `json:"counts"`
	// Records went; Kept were said by others too and rest on them now. They are
	// for who asked: no receipt holds them.
	Records []tenet.RecordID `json:"records"`
	Kept    []tenet.RecordID `json:"kept"`
	Journal Journaled        `json:"-"`
}

// Journaled is an erasure without its content: random surrogates and keyed
// digests. It is what stands in the journal beside the database.
type Journaled struct {
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
	What string    `json:"what"`
	// Chains are the surrogates of subjects that went whole.
	Chains []string `json:"chains,omitempty"`
	// Gone are digests of those subjects' names and statements, under the master
	// key: what a subject of the same name is not to learn again.
	Gone [][]byte `json:"gone,omitempty"`
	// Parts are what went of scopes that stay.
	Parts []JournaledPart `json:"parts,omitempty"`
}

// JournaledPart is what went of one scope: digests, under the subject's key,
// of the ids that were removed and of the statements.
type JournaledPart struct {
	Chain string   `json:"chain"`
	Items [][]byte `json:"items,omitempty"`
	Tombs [][]byte `json:"tombs,omitempty"`
}

// ErasureState is how an erasure stands.
type ErasureState struct {
	ID     string         `json:"id"`
	What   string         `json:"what"`
	At     time.Time      `json:"at"`
	Chain  string         `json:"chain"`
	Seq    uint64         `json:"seq"`
	State  string         `json:"state"` // ErasurePending or ErasureDone
	Counts map[string]int `json:"counts"`
}

// States of an erasure: its rows are gone in both; the files are swept in the
// second.
const (
	ErasurePending = "pending"
	ErasureDone    = "done"
)

// ErasedMark is what an erasure left of one older entry of the chain: which
// positions it had moved, and the digest of the rows that stay.
type ErasedMark struct {
	Seq    int64
	Did    int64
	Digest []byte
}

// Bits of ErasedMark.Did.
const (
	DidText = 1 << iota
	DidFact
	DidStats
	DidSleep
)

// ItemDigest is the keyed digest of an erased id.
func ItemDigest(k DataKey, kind, id string) []byte {
	d := k.digest("erased item")
	d.str(kind)
	d.str(id)
	return d.Sum(nil)
}
