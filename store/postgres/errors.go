package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// callbackError is an error of the caller's own function, which goes back as
// it came.
type callbackError struct{ error }

// retry is when to try again after a failure that passes by itself.
const retry = time.Second

// failure turns an error into Tenet's. The driver's text stays behind: it may
// quote what was stored, or the DSN.
func failure(op string, err error) error {
	out := translate(op, err)
	var te *tenet.Error
	if errors.As(out, &te) && te.Kind == tenet.Unavailable && te.After == 0 && !errors.Is(out, context.Canceled) {
		te.After = retry
	}
	return out
}

func translate(op string, err error) error {
	var te *tenet.Error
	var own callbackError
	var pe *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.error
	case errors.As(err, &te):
		return te
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &tenet.Error{Kind: tenet.Unavailable, Op: op, Reason: "the context ended", Err: ended(err)}
	case errors.As(err, &pe):
		return tenet.Errorf(kindOf(pe.Code), op, "%s (PostgreSQL code %s)", reasonOf(pe.Code), pe.Code)
	case err.Error() == "closed pool":
		return tenet.Errorf(tenet.Unavailable, op, "the database is closed")
	case errors.As(err, new(*pgconn.ConnectError)):
		return tenet.Errorf(tenet.Unavailable, op, "the database cannot be reached")
	case lost(err):
		return tenet.Errorf(tenet.Unavailable, op, "the connection to the database was lost")
	}
	return tenet.Errorf(tenet.Internal, op, "unexpected failure of the database driver")
}

// ended is the context's own error, without what the driver wrote around it.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return context.DeadlineExceeded
}

// Codes of PostgreSQL, by their names in its manual.
const (
	uniqueViolation       = "23505"
	exclusionViolation    = "23P01"
	serializationFailure  = "40001"
	deadlockDetected      = "40P01"
	insufficientPrivilege = "42501"
	programLimitExceeded  = "54000"
	readOnlyTransaction   = "25006"
)

func kindOf(code string) tenet.Kind {
	switch {
	case code == programLimitExceeded || strings.HasPrefix(code, "22"): // too large, or not to be represented
		return tenet.Invalid
	case code == readOnlyTransaction, strings.HasPrefix(code, "08"), strings.HasPrefix(code, "28"), strings.HasPrefix(code, "3D"),
		strings.HasPrefix(code, "40"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "55"), strings.HasPrefix(code, "57"), strings.HasPrefix(code, "58"):
		return tenet.Unavailable
	}
	return tenet.Internal
}

func reasonOf(code string) string {
	switch code[:2] {
	case "22", "54":
		return "a value is too large or not fit for the database"
	case "08":
		return "the connection to the database failed"
	case "28":
		return "the database refused the login"
	case "3D":
		return "there is no such database"
	case "40":
		return "the database undid the transaction"
	case "42":
		if code == insufficientPrivilege {
			return "the login lacks a right: it has to be a member of tenet_app and tenet_worker"
		}
		return "the schema is not the one this version knows"
	case "53":
		return "the database is out of room or connections"
	case "55":
		return "the database is busy"
	case "57":
		return "the database is shutting down, or ended the call"
	case "58":
		return "the database's disk failed"
	}
	if code == readOnlyTransaction {
		return "the database is read-only"
	}
	return "unexpected failure of the database"
}

func codeOf(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

func taken(err error) bool {
	c := codeOf(err)
	return c == uniqueViolation || c == exclusionViolation
}

// lost reports whether the connection, not the statement, failed. What was
// under way on it has not been committed unless its commit had been sent.
func lost(err error) bool {
	if c := codeOf(err); c != "" {
		return strings.HasPrefix(c, "57P") || strings.HasPrefix(c, "08")
	}
	var te *tenet.Error
	var own callbackError
	var ne net.Error
	if errors.As(err, &te) || errors.As(err, &own) {
		return false
	}
	var ce *pgconn.ConnectError
	if err == nil {
		return false
	}
	return pgconn.SafeToRetry(err) || errors.As(err, &ne) || errors.As(err, &ce) || isClosed(err)
}

// reached is what a call that ended so says of the server; caller is the
// context before the store set a time of its own.
func reached(caller context.Context, err error) store.Reached {
	switch {
	case err == nil:
		return store.Answered
	case caller.Err() != nil:
		return store.Unsure
	case lost(err):
		return store.Away
	}
	return store.Answered
}

func isClosed(err error) bool {
	text := err.Error()
	return strings.Contains(text, "conn closed") || strings.Contains(text, "unexpected EOF") || strings.Contains(text, "closed network connection") ||
		strings.Contains(text, "connection reset") || strings.Contains(text, "broken pipe") || strings.HasSuffix(text, "EOF")
}

// retriable reports whether the same transaction may succeed when it is begun
// again.
func retriable(err error) bool {
	return undone(err) || lost(err)
}

// undone reports whether the database itself undid the transaction.
func undone(err error) bool {
	c := codeOf(err)
	return c == serializationFailure || c == deadlockDetected
}

// pause waits a random while, longer the more often it was in vain.
func pause(ctx context.Context, n int) error {
	t := time.NewTimer(time.Millisecond + rand.N(5*time.Millisecond<<n))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func conflict(op, why string) error { return tenet.Errorf(tenet.Conflict, op, "%s", why) }
func absent(op, what string) error  { return tenet.Errorf(tenet.NotFound, op, "no such %s", what) }
func invalid(op, why string) error  { return tenet.Errorf(tenet.Invalid, op, "%s", why) }
