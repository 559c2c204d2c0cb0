package tenet

import (
	"encoding/json"
	"time"
)

// Record is one version of one durable memory on two time axes: Valid is when
// it is true in the world, Known is when Tenet believed it. Only the end of
// Known is ever written again; a correction is a new record.
type Record struct {
	ID    RecordID        `json:"id"`
	Scope Scope           `json:"scope"`
	Tier  Tier            `json:"tier"`
	Key   string          `json:"key,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Text  string          `json:"text"`

	Label   Label    `json:"label"`
	Origins []Origin `json:"origins"`
	// Session, Message and ToolCall are the first origin's, as the write
	// contract names them.
	Session  SessionID `json:"session,omitempty"`
	Message  MessageID `json:"message,omitempty"`
	ToolCall string    `json:"tool_call,omitempty"`
	Speaker  string    `json:"speaker,omitempty"`
	Position int64     `json:"position,omitempty"`

	Valid Interval `json:"valid"`
	Known Interval `json:"known"`

	Supersedes   RecordID `json:"supersedes,omitempty"`
	SupersededBy RecordID `json:"superseded_by,omitempty"`
	FragmentOf   RecordID `json:"fragment_of,omitempty"` // what a split left of another record
	Elevates     RecordID `json:"elevates,omitempty"`    // the held or lower record that this one vouches for
	Closed       Closing  `json:"closed,omitempty"`      // why Known ended

	Seen      int       `json:"seen"` // distinct origins that said the same
	Multi     bool      `json:"multi,omitempty"`
	Safety    bool      `json:"safety,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // when its raw text is dropped; zero: never
	Expired   bool      `json:"expired,omitempty"`   // the text is gone by retention

	// Signature is the normalised form that decides "the same statement".
	Signature string `json:"-"`
}

// Closing is why a record's Known interval ended. Empty: it has not.
type Closing string

const (
	ClosedSuperseded Closing = "superseded" // a newer value took its place
	ClosedEnded      Closing = "ended"      // no longer true
	ClosedRetracted  Closing = "retracted"  // it never was: we were wrong
	ClosedSplit      Closing = "split"      // a backdated statement cut it; fragments remain
	ClosedRevoked    Closing = "revoked"    // taken back with its tainted origin
	ClosedExpired    Closing = "expired"    // its retention ran out, and its text is gone
)

// Confirmation is the write contract's confirmation status.
type Confirmation string

const (
	Explicit  Confirmation = "explicit"  // stated by the user or a system of record
	Confirmed Confirmation = "confirmed" // confirmed by the user or an operator
	Inferred  Confirmation = "inferred"  // concluded by a model or read somewhere
)

// Confirmation derives the status from the label, so that the two can't differ.
func (r Record) Confirmation() Confirmation {
	switch {
	case r.Label >= LabelUserConfirmed:
		return Confirmed
	case r.Label >= LabelAttestedTool:
		return Explicit
	}
	return Inferred
}

// Current reports whether the record is believed and true at t.
func (r Record) Current(t time.Time) bool {
	return r.Known.Open() && r.Valid.Contains(t)
}

// RenderedSize is what a fact counts against the persistent limit, in bytes: its
// key and the larger of its words and its value, which often say the same.
func (r Record) RenderedSize() int { return len(r.Key) + max(len(r.Text), len(r.Value)) }

// Document is a durable file that an agent keeps for itself: exact read-back,
// versioned, never a fact and never an authority.
type Document struct {
	Path    string   `json:"path"`
	Text    string   `json:"text"`
	Label   Label    `json:"label"`
	Version RecordID `json:"version"`
	SHA256  string   `json:"sha256"`
	Valid   Interval `json:"valid"`
}
