package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/tenet-memory/tenet"
)

// callbackError is an error of the caller's own function, which goes back as
// it came.
type callbackError struct{ error }

// failure turns an error into Tenet's. The driver's text stays behind: it may
// quote what was stored.
func failure(op string, err error) error {
	var te *tenet.Error
	var own callbackError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.error
	case errors.As(err, &te):
		return te
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &tenet.Error{Kind: tenet.Unavailable, Op: op, Reason: "the context ended", Err: err}
	case errors.Is(err, sql.ErrConnDone), errors.Is(err, sql.ErrTxDone), err.Error() == "sql: database is closed":
		return tenet.Errorf(tenet.Unavailable, op, "the database is closed")
	}
	switch c := code(err); c & 0xff {
	case lib.SQLITE_FULL:
		return tenet.Errorf(tenet.Unavailable, op, "the disk is full")
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return tenet.Errorf(tenet.Unavailable, op, "the database file is read-only")
	case lib.SQLITE_NOTADB:
		return tenet.Errorf(tenet.Unavailable, op, "the file is not a database")
	case lib.SQLITE_CORRUPT:
		return tenet.Errorf(tenet.Unavailable, op, "the database file is damaged")
	case lib.SQLITE_CANTOPEN:
		return tenet.Errorf(tenet.Unavailable, op, "the database file cannot be opened")
	case lib.SQLITE_IOERR:
		return tenet.Errorf(tenet.Unavailable, op, "the disk failed (SQLite code %d)", c)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return tenet.Errorf(tenet.Unavailable, op, "the database is locked")
	case lib.SQLITE_NOMEM:
		return tenet.Errorf(tenet.Unavailable, op, "out of memory")
	case lib.SQLITE_TOOBIG:
		return tenet.Errorf(tenet.Invalid, op, "a value is too large for the database")
	case 0:
		return tenet.Errorf(tenet.Internal, op, "unexpected failure of the database driver")
	default:
		return tenet.Errorf(tenet.Internal, op, "unexpected SQLite code %d", c)
	}
}

// code is the extended SQLite code of an error, or 0.
func code(err error) int {
	var de *driver.Error
	if errors.As(err, &de) {
		return de.Code()
	}
	return 0
}

func busy(err error) bool {
	c := code(err) & 0xff
	return c == lib.SQLITE_BUSY || c == lib.SQLITE_LOCKED
}

func taken(err error) bool { return code(err)&0xff == lib.SQLITE_CONSTRAINT }

// spoils reports whether an error may have ended the transaction around the
// statement that failed: a full or failing disk does, a constraint does not.
func spoils(err error) bool {
	switch code(err) & 0xff {
	case 0, lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG:
		return false
	}
	return true
}

// jitter is how long to wait before try n: random, so that processes that
// collided don't collide again, and at most 20 ms.
func jitter(n int) time.Duration {
	return 200*time.Microsecond + rand.N(min(time.Millisecond<<min(n, 5), 20*time.Millisecond))
}

func conflict(op, why string) error { return tenet.Errorf(tenet.Conflict, op, "%s", why) }
func absent(op, what string) error  { return tenet.Errorf(tenet.NotFound, op, "no such %s", what) }
func invalid(op, why string) error  { return tenet.Errorf(tenet.Invalid, op, "%s", why) }
