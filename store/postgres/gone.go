package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store/column"
)

// goneAt is when a subject of this name was erased, and where the Text
// positions of the next one begin; zero when none was.
func (db *DB) goneAt(c conn, scope tenet.Scope) (time.Time, int64, error) {
	return goneMark(bg, c, db.master().GoneSubject(scope))
}

func (s subject) goneStatement(ctx context.Context, c conn, statement string) (time.Time, int64, error) {
	return goneMark(ctx, c, s.master.GoneStatement(s.scope, statement))
}

func goneMark(ctx context.Context, c conn, mark []byte) (time.Time, int64, error) {
	var at, text int64
	err := c.row(ctx, `SELECT at, text FROM tenet.gone WHERE mark = $1`, []any{mark}, &at, &text)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, 0, nil
	}
	return column.Since(at), text, err
}

// comeBack enters a subject that was erased again, when the decision is about
// what came after: a late writer writes nothing, not even that it was refused.
func (l *ledger) comeBack(p gate.Plan) error {
	if l.id != 0 {
		return nil
	}
	fresh := false
	switch p.Kind {
	case gate.Admit:
		fresh = true
	case gate.Refuse:
		fresh = len(p.Verdict.Codes) == 0 || p.Verdict.Codes[0] != tenet.CodeErased
	case gate.Stage:
		fresh = p.Staged.Since.After(l.gone)
	case gate.Deny:
		fresh = true
	}
	if !fresh && !p.Readmitted { // what is older of those was turned away already
		return conflict("apply", "the subject was erased")
	}
	gone := l.gone
	var err error
	l.subject, err = l.db.enter(l.c, "apply", l.scope)
	l.gone, l.c = gone, l.c.of(l.id)
	return err
}

// stillThere leaves candidates out of a stage whose messages were erased after
// they were read. Of a session that was erased nothing is staged.
func (w *writing) stillThere(s gate.Staged) (gate.Staged, error) {
	if !w.gone.IsZero() && !s.Since.After(w.gone) {
		return s, conflict("apply", "the subject was erased after the stretch was read")
	}
	if w.tombs == 0 {
		return s, nil
	}
	b, err := w.blocked(bg, w.c, gate.Query{Sources: []string{gate.SessionSource(s.Session)}})
	if err != nil {
		return s, err
	}
	if b.Source {
		return s, conflict("apply", "the session was erased")
	}
	var keep []tenet.Candidate
	for _, c := range s.Candidates {
		var q gate.Query
		for _, id := range c.Cites {
			q.Sources = append(q.Sources, gate.MessageSource(id))
		}
		if b, err = w.blocked(bg, w.c, q); err != nil {
			return s, err
		}
		if !b.Source {
			keep = append(keep, c)
		}
	}
	s.Candidates = keep
	return s, nil
}

// mayBegin refuses a session whose name was erased: a late writer is not to
// bring it back.
func (s subject) mayBegin(c conn, id tenet.SessionID) error {
	var tombs int64
	if err := c.row(bg, `SELECT tombs FROM tenet.heads WHERE scope = $1`, []any{s.id}, &tombs); err != nil || tombs == 0 {
		return err
	}
	b, err := s.blocked(bg, c, gate.Query{Sources: []string{gate.SessionSource(id)}})
	if err == nil && b.Source {
		err = conflict("ensure", "the session was erased")
	}
	return err
}

// visitor notes that a person acts in a scope that is not their own, so that
// erasing them finds it.
func (db *DB) visitor(c conn, s subject, principal string) error {
	if !visits(s, principal) {
		return nil
	}
	return db.note(c, s, principal)
}

// visits reports whether a principal is somebody else than the scope's subject.
func visits(s subject, principal string) bool {
	id, ok := strings.CutPrefix(principal, "user:")
	return ok && (s.scope.Subject().Kind() != tenet.SubjectUser || s.scope.Subject().ID() != id)
}

// voices notes whose word something rests on.
func (w *writing) voices(origins []tenet.Origin) error {
	for _, o := range origins {
		if err := w.db.visitor(w.c, w.subject, o.Principal); err != nil {
			return err
		}
		if o.Subject != "" && o.Subject != w.scope.Key() {
			if err := w.db.note(w.c, w.subject, o.Subject); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitors notes the scopes that a session reads beside its own.
func (db *DB) visitors(c conn, s subject, reads []tenet.Scope) error {
	for _, r := range reads {
		if r != s.scope && r.Tenant() == s.scope.Tenant() {
			if err := db.note(c, s, r.Key()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (db *DB) note(c conn, s subject, who string) error {
	return c.exec(`INSERT INTO tenet.elsewhere (author, scope) VALUES ($1, $2) ON CONFLICT DO NOTHING`, db.master().Author(s.scope.Tenant(), who), s.id)
}
