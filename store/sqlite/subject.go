package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// subject is a scope as the tables know it. The zero id is nobody yet.
type subject struct {
	scope tenet.Scope
	id    int64
	key   store.DataKey

	gone   time.Time // when a namesake was erased; zero: never
	master store.MasterKey
}

const selectSubject = `SELECT scope, data_key, erased_at FROM subjects WHERE tenant = ? AND kind = ? AND external_id = ?`

// find looks the scope up; a scope that was never written has the zero id.
func (db *DB) find(ctx context.Context, c conn, op string, scope tenet.Scope) (subject, error) {
	s := subject{scope: scope, master: db.master()}
	if scope.IsZero() {
		return s, invalid(op, "no scope")
	}
	var wrapped []byte
	var gone int64
	err := c.row(ctx, selectSubject, db.names(scope), &s.id, &wrapped, &gone)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s, nil
	case err != nil:
		return s, failure(op, err)
	}
	s.gone = column.Since(gone)
	s.key, err = db.unwrap(s.id, wrapped)
	return s, err
}

// enter looks the scope up in a write transaction, and makes it.
func (db *DB) enter(c conn, op string, scope tenet.Scope) (subject, error) {
	s, err := db.find(context.Background(), c, op, scope)
	if err != nil || s.id != 0 {
		return s, err
	}
	var base int64
	if s.gone, base, err = db.goneAt(c, scope); err != nil {
		return s, err
	}
	if err := db.current(c); err != nil {
		return s, err
	}
	s.id, s.key = store.Surrogate(), store.NewDataKey()
	wrapped, name := db.master().Wrap(s.id, s.key), ""
	if db.seal != nil { // the key is durable before the first row that needs it
		if err := db.seal.Keep(bg, s.id, s.key, wrapped); err != nil {
			return s, err
		}
		wrapped, name = []byte{}, scope.Subject().ID()
	}
	if err := c.of(s.id).exec(`INSERT INTO subjects (tenant, kind, external_id, scope, data_key, erased_at, name) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		append(db.names(scope), s.id, wrapped, column.Micros(s.gone), name)...); err != nil {
		return s, err
	}
	return s, c.exec(`INSERT INTO heads (scope, base, text, reset) VALUES (?1, ?2, ?2, ?2)`, s.id, base)
}

// names are the arguments that find a scope's row in subjects.
func (db *DB) names(scope tenet.Scope) []any { return db.seal.Names(db.master(), scope) }

// scopeOf makes the scope back from its row.
func scopeOf(tenant string, kind int64, id string) (tenet.Scope, error) {
	sub := tenet.WholeTenant()
	switch tenet.SubjectKind(kind) {
	case tenet.SubjectUser:
		sub = tenet.User(id)
	case tenet.SubjectProject:
		sub = tenet.Project(id)
	}
	s, err := tenet.NewScope(tenant, sub)
	if err != nil {
		return s, tenet.Errorf(tenet.Internal, "scope", "a subject's row is damaged")
	}
	return s, nil
}

// bound is c for a statement that finds a scope and texts of it at once.
func (db *DB) bound(ctx context.Context, c conn, op string, scope tenet.Scope) (conn, error) {
	if db.seal == nil {
		return c, nil
	}
	s, err := db.find(ctx, c, op, scope)
	return c.of(s.id), err
}

// session finds the surrogate of a session's name, 0 when it has none.
func (s subject) session(ctx context.Context, c conn, id tenet.SessionID) (sid int64, err error) {
	err = c.of(s.id).row(ctx, `SELECT sid FROM session_names WHERE scope = ? AND external_id = ?`, []any{s.id, string(id)}, &sid)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return sid, err
}

// nameSession is session that gives it one.
func (s subject) nameSession(c conn, id tenet.SessionID) (int64, error) {
	sid, err := s.session(context.Background(), c, id)
	if err != nil || sid != 0 {
		return sid, err
	}
	sid = store.Surrogate()
	return sid, c.of(s.id).exec(`INSERT INTO session_names (sid, scope, external_id) VALUES (?, ?, ?)`, sid, s.id, string(id))
}

// about names a row for sealing, so that sealed columns can't be swapped.
func (s subject) about(what string, n int64, id string) string {
	return what + "/" + strconv.FormatInt(s.id, 10) + "/" + strconv.FormatInt(n, 10) + "/" + id
}

// aboutHeld binds a held candidate to the time when it runs out, too.
func (s subject) aboutHeld(seq int64, ref string, expires int64) string {
	return s.about("held "+strconv.FormatInt(expires, 10), seq, ref)
}

// seal and unseal a candidate.
func (s subject) seal(c tenet.Candidate, about string) []byte {
	return s.key.Seal(column.EncodeCandidate(c), about)
}

func (s subject) unseal(sealed []byte, about string) (tenet.Candidate, error) {
	plain, err := s.key.Unseal(sealed, about)
	if err != nil {
		return tenet.Candidate{}, err
	}
	return column.DecodeCandidate(plain, s.scope)
}
