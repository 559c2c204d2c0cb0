// Package tenet holds the words of governed agent memory as types: who speaks
// (Principal), for whom (Scope), what was said (Message), what is proposed
// (Candidate), what is kept (Record), and what was decided about it (Verdict,
// AuditEntry). Every other package speaks in these words.
//
// The package imports the standard library only and does no work: it stores
// nothing, judges nothing and calls nobody.
//
// Conventions that hold everywhere:
//   - Times are UTC with microsecond precision; intervals are half-open.
//   - Text is UTF-8; identifiers are compared byte for byte and never folded.
//   - Limits are in bytes unless a name says runes. Nothing is ever cut short.
//   - The text of an Error never holds memory content.
package tenet

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits on identifiers and texts, in bytes. A value over a limit is Invalid
// where it cannot be judged at all, and a verdict where policy refuses it.
const (
	MaxID        = 256                 // tenant, subject, session, message and principal ids
	MaxKey       = 128                 // the key of a fact
	MaxMessage   = 1 << 20             // one message
	MaxCandidate = MaxMessage + 64<<10 // text and value of one candidate together: any message can be proposed, and is then judged
	MaxCites     = 64                  // message ids cited by one candidate
)

// Typed identifiers. Each is an opaque string of at most MaxID bytes; the type
// keeps one kind of id from being passed where another belongs.
type (
	SessionID   string // one conversation, named by the caller
	MessageID   string // one message, unique in its scope
	CandidateID string // one proposal; the idempotency key of Apply
	RecordID    string // one version of one durable record, unique in its scope
)

// checkID reports why an identifier cannot be used: empty, too long, not
// UTF-8, or holding a control character that would make it unreadable in a log.
func checkID(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > MaxID:
		return fmt.Errorf("%s is %d bytes, the limit is %d", what, len(s), MaxID)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s is not valid UTF-8", what)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s holds a control character", what)
		}
	}
	return nil
}

// CheckSessionID returns an Invalid error when id cannot name a session.
func CheckSessionID(id SessionID) error {
	if err := checkID("session id", string(id)); err != nil {
		return Errorf(Invalid, "session", "%v", err)
	}
	return nil
}

// CheckText returns an Invalid error when s is not valid UTF-8 or holds NUL,
// which no backend could keep byte for byte.
func CheckText(what, s string) error {
	if !utf8.ValidString(s) {
		return Errorf(Invalid, "text", "%s is not valid UTF-8", what)
	}
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return Errorf(Invalid, "text", "%s holds a NUL byte at offset %d", what, i)
		}
	}
	return nil
}

// Micros converts a time to the form in which it is kept: UTC, cut to
// microseconds. The zero time stays zero.
func Micros(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Interval is a half-open stretch of time [From, To). A zero From is an
// unknown or unbounded start; a zero To is an open end.
type Interval struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// Contains reports whether t lies in the interval.
func (i Interval) Contains(t time.Time) bool {
	return (i.From.IsZero() || !t.Before(i.From)) && (i.To.IsZero() || t.Before(i.To))
}

// Open reports whether the interval has no end yet.
func (i Interval) Open() bool { return i.To.IsZero() }

// Overlaps reports whether the two intervals share an instant.
func (i Interval) Overlaps(o Interval) bool {
	return (i.To.IsZero() || o.From.IsZero() || o.From.Before(i.To)) &&
		(o.To.IsZero() || i.From.IsZero() || i.From.Before(o.To))
}

// AsOf is a point on both time axes: what was true at Valid, as it was known
// at Known. A zero field means now.
type AsOf struct {
	Valid time.Time
	Known time.Time
}
