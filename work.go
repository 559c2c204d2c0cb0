package tenet

import (
	"encoding/json"
	"time"
)

// Limits of the session tier's work state, in bytes.
const (
	MaxState   = 1 << 20  // a checkpoint's state blob
	MaxOutcome = 64 << 10 // an effect's or step's outcome
)

// Checkpoint is where a run stands: for resuming it, never for
// personalisation. Versions of a session's checkpoints count from 1.
type Checkpoint struct {
	Session  SessionID `json:"session"`
	Version  int64     `json:"version"`
	Step     int       `json:"step"`           // index of the step to run next
	Done     []Step    `json:"done,omitempty"` // completed steps, in order
	State    []byte    `json:"state,omitempty"`
	Position int64     `json:"position"`          // of the message log, when it was taken
	Effects  []string  `json:"effects,omitempty"` // keys of the effects begun so far
	By       string    `json:"by"`                // Principal.String, set by the engine
	At       time.Time `json:"at"`                // set by the engine
}

// Step is a completed step with its outcome.
type Step struct {
	Name    string          `json:"name"`
	Outcome json.RawMessage `json:"outcome,omitempty"`
}

// EffectState is where an external side effect stands. The set is closed.
type EffectState string

const (
	EffectClaimed   EffectState = "claimed"   // someone is at it, until the lease runs out
	EffectCompleted EffectState = "completed" // done; the outcome is replayed
	EffectFailed    EffectState = "failed"    // known not to have happened
	EffectInDoubt   EffectState = "in_doubt"  // the lease ran out without an outcome: nobody knows
)

// Effect is one external side effect under an idempotency key. Tenet promises
// that at most one claim is open at a time, that an outcome once recorded is
// replayed, and that what is in doubt is said to be; it never claims that the
// effect happened exactly once, because only the provider can know.
type Effect struct {
	Key     string      `json:"key"`
	Session SessionID   `json:"session"`
	Step    int         `json:"step"`
	State   EffectState `json:"state"`
	// Attempt counts claims under the key, from 1. The provider gets the same
	// key every time.
	Attempt    int             `json:"attempt"`
	Outcome    json.RawMessage `json:"outcome,omitempty"`
	ClaimedBy  string          `json:"claimed_by"`
	ClaimedAt  time.Time       `json:"claimed_at"`
	LeaseUntil time.Time       `json:"lease_until"`
	SettledAt  time.Time       `json:"settled_at,omitzero"`
}

// Key is an API key as it is kept: who it speaks for, and a keyed hash of the
// secret. The secret itself is shown once, when the key is made.
type Key struct {
	ID        string        `json:"id"`
	Tenant    string        `json:"tenant"`
	Kind      PrincipalKind `json:"kind"`
	Name      string        `json:"name"`
	Subjects  []string      `json:"subjects,omitempty"` // Subject.String; empty: the whole tenant
	Owns      []string      `json:"owns,omitempty"`     // a connector's fact keys
	Hash      []byte        `json:"-"`
	CreatedAt time.Time     `json:"created_at"`
	ExpiresAt time.Time     `json:"expires_at,omitzero"`
	RevokedAt time.Time     `json:"revoked_at,omitzero"`
}
