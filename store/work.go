package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tenet-memory/tenet"
)

// Runs is the state of running work in a session: who holds it, where it
// stands, and the side effects it has begun.
type Runs interface {
	// Hold gives the session to a holder until the given time and returns a
	// fence higher than any before. While another holder's time runs it is a
	// Conflict; the same holder extends and keeps its fence.
	Hold(ctx context.Context, scope tenet.Scope, id tenet.SessionID, holder string, now, until time.Time) (fence uint64, err error)
	// PutCheckpoint keeps the next version. It is a Conflict unless c.Version
	// is the last one plus one, and, with a fence, unless the fence is the
	// session's newest. The same version with the same content again is a
	// no-op. Only the newest keep versions stay.
	PutCheckpoint(ctx context.Context, scope tenet.Scope, c tenet.Checkpoint, fence uint64, keep int) error
	// Checkpoints returns versions newest first, below the given one (zero:
	// from the newest), at most limit.
	Checkpoints(ctx context.Context, scope tenet.Scope, id tenet.SessionID, below int64, limit int) ([]tenet.Checkpoint, error)
	// Claim opens an effect, or says where it stands; see Claim.
	Claim(ctx context.Context, scope tenet.Scope, c Claim) (e tenet.Effect, granted bool, err error)
	// Settle records the outcome of the named attempt: completed or failed.
	// The same outcome again is a no-op; an attempt that is not the newest, or
	// is settled otherwise, is a Conflict.
	Settle(ctx context.Context, scope tenet.Scope, s Settle) (tenet.Effect, error)
	// Effects returns a session's effects in the order they were first
	// claimed; one whose lease ran out at now is in doubt.
	Effects(ctx context.Context, scope tenet.Scope, id tenet.SessionID, now time.Time) ([]tenet.Effect, error)
}

// Claim asks for an effect. A key not seen in the session is granted. A
// completed one is not: its outcome is returned. A claimed one whose lease
// runs is a Conflict. One in doubt, or failed, is returned as it stands,
// unless Retry says that the provider honours the key: then it is granted as
// the next attempt. Another payload under the key is a Conflict with code
// EFFECT_PAYLOAD.
type Claim struct {
	Session    tenet.SessionID
	Key        string
	Step       int
	Payload    []byte // what would be sent; only a keyed digest is kept
	By         string
	Retry      bool
	Fence      uint64 // zero: not fenced
	Now, Until time.Time
}

// CodeEffectPayload marks a claim whose key was used with another payload.
const CodeEffectPayload tenet.Code = "EFFECT_PAYLOAD"

// Settle is the outcome of one attempt.
type Settle struct {
	Session tenet.SessionID
	Key     string
	Attempt int
	State   tenet.EffectState // completed or failed
	Outcome json.RawMessage
	Now     time.Time
}

// Deleter removes sessions.
type Deleter interface {
	// DeleteSession removes a session's log, proposals, receipts, checkpoints,
	// effects and hold; what was consolidated from it stays. Its id is spent:
	// the session stays as one that ended at the given time and is empty, so
	// that a late write is a Conflict and does not bring it back.
	DeleteSession(ctx context.Context, scope tenet.Scope, id tenet.SessionID, at time.Time) error
}

// Documents lists documents by path. The prefix is a byte prefix of the path,
// and the order is that of the paths' bytes.
type Documents interface {
	// Documents returns the believed documents under the prefix that hold at
	// now, with paths above after (empty: from the first), at most limit.
	Documents(ctx context.Context, scope tenet.Scope, now time.Time, prefix, after string, limit int) ([]tenet.Record, error)
}

// Keys finds API keys. They are written by Apply only (Access decisions): it
// makes a key, or replaces what may change of it (hash, expiry, revocation);
// another tenant's id is a Conflict.
type Keys interface {
	// KeyByHash finds a key, revoked and expired ones too; NotFound otherwise.
	KeyByHash(ctx context.Context, hash []byte) (tenet.Key, error)
	// KeysOf lists a tenant's keys by id after the given one, at most limit.
	KeysOf(ctx context.Context, tenant, after string, limit int) ([]tenet.Key, error)
}

// Once makes a mutation happen once under a caller's key. A context that
// carries one (WithOnce) tells the store's next mutation to record the key in
// its own transaction, so that the effect and the record of it stand or fall
// together. Found with the same fingerprint, the mutation does nothing and
// returns *Replay; found with another, a Conflict with code ONCE_PAYLOAD.
type Once struct {
	Tenant      string
	Caller      string // Principal.String: keys of different callers are different keys
	Route       string // the operation, not the path
	Key         string
	Fingerprint []byte // digest of the whole request
	Now         time.Time
	ExpiresAt   time.Time
	// Answer encodes what the mutation returned (its first result; nil when it
	// returns only an error) as what is to be replayed.
	Answer func(result any) ([]byte, error)
}

// Onces looks recorded calls up before a mutation that could not be judged a
// second time, because it changed what it depended on.
type Onces interface {
	// Recorded returns the answer recorded under the key and not expired at
	// o.Now, nil when there is none, and a Conflict with code ONCE_PAYLOAD when
	// it was another request's.
	Recorded(ctx context.Context, o *Once) (*Replay, error)
}

// CodeOncePayload marks a key that was used with another request.
const CodeOncePayload tenet.Code = "ONCE_PAYLOAD"

type onceKey struct{}

// WithOnce returns a context that carries o to the next mutation.
func WithOnce(ctx context.Context, o *Once) context.Context {
	return context.WithValue(ctx, onceKey{}, o)
}

// OnceFrom is what a store asks at the start of a mutation; nil when there is
// none.
func OnceFrom(ctx context.Context) *Once {
	o, _ := ctx.Value(onceKey{}).(*Once)
	return o
}

// Replay is the recorded answer of a mutation that was done before.
type Replay struct{ Answer []byte }

func (r *Replay) Error() string { return "the call was answered before" }

// OnlyRuns hides everything of r but Runs, and OnlyThreads of t but Threads.
func OnlyRuns(r Runs) Runs { return onlyRuns{r} }

type onlyRuns struct{ Runs }

func OnlyThreads(t Threads) Threads { return onlyThreads{t} }

type onlyThreads struct{ Threads }

// PayloadDigest covers what an effect would send, so that the same key with
// another payload is found.
func PayloadDigest(k DataKey, payload []byte) []byte {
	d := k.digest("effect payload")
	d.bytes(payload)
	return d.Sum(nil)
}

// HolderDigest names who holds a session without saying who.
func HolderDigest(k DataKey, holder string) []byte {
	d := k.digest("holder")
	d.str(holder)
	return d.Sum(nil)
}

// CheckpointDigest covers what a checkpoint says, so that the same version
// with other content is found.
func CheckpointDigest(k DataKey, c tenet.Checkpoint) []byte {
	d := k.digest("checkpoint")
	d.num(c.Version)
	d.num(int64(c.Step))
	d.num(c.Position)
	d.bytes(c.State)
	d.num(int64(len(c.Done)))
	for _, s := range c.Done {
		d.str(s.Name)
		d.bytes(s.Outcome)
	}
	d.num(int64(len(c.Effects)))
	for _, e := range c.Effects {
		d.str(e)
	}
	return d.Sum(nil)
}
