package tenet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind classes an error by what the caller can do about it. Transports map it
// in one table each. Do not reorder: kinds travel.
type Kind uint8

const (
	Internal    Kind = iota // a defect or an unexpected failure
	Invalid                 // the request cannot be understood; fix it
	NotFound                // no such thing in this scope
	Conflict                // the state moved; read again and decide
	Refused                 // the gate said no; see the verdict
	Denied                  // the principal may not do this
	Unavailable             // a store is away or full, or a part is switched off; later may work
)

var kindNames = [...]string{"internal", "invalid", "not_found", "conflict", "refused", "denied", "unavailable"}

func (k Kind) String() string {
	if k == NoError {
		return "none"
	}
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is every error that Tenet's API returns. Reason is for people and
// never holds memory content; Err is the cause, for errors.Is, and adapters
// keep driver texts that may quote content out of it.
type Error struct {
	Kind   Kind
	Op     string
	Reason string
	Code   Code // the gate's first reason code, for Refused
	// After, of Unavailable, is when to try again; zero: nobody can say.
	After time.Duration
	Err   error
}

func (e *Error) Error() string {
	s := e.Op + ": " + e.Kind.String()
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error; format and args must not carry memory content.
func Errorf(kind Kind, op, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Reason: fmt.Sprintf(format, args...)}
}

// NoError is the kind of a nil error; no Error has it.
const NoError Kind = 255

// KindOf is the kind of err: its own when it is an Error, Unavailable for a
// context that ended, NoError for nil, Internal otherwise.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return NoError
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	}
	return Internal
}
