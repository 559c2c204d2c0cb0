package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// Lease implements store.Queue.
func (db *DB) Lease(ctx context.Context, r store.LeaseRequest) (*store.Lease, error) {
	const op = "lease"
	if r.Worker == "" || !r.Until.After(r.Now) || r.Only != "" && r.Scope.IsZero() {
		return nil, invalid(op, "no worker, no scope or no time")
	}
	if r.Only == "" {
		// Idle workers ask often: they need not take the write lock to hear no.
		if sid, err := db.nextDue(ctx, db.r, op, r); err != nil || sid == 0 {
			return nil, failure(op, err)
		}
	}
	var out *store.Lease
	err := db.write(ctx, op, func(c conn) error {
		out = nil
		var s *session
		var err error
		if r.Only != "" {
			if s, err = db.session(bg, c, op, r.Scope, r.Only); err == nil && s.leased(r.Now) && s.worker != r.Worker {
				return nil
			}
		} else {
			s, err = db.due(c, op, r)
		}
		if err != nil || s == nil {
			return err
		}
		s.fence++
		if err := c.exec(`UPDATE sessions SET worker = ?, fence = ?, lease_until = ? WHERE sid = ?`, sealing.Plain(r.Worker), int64(s.fence), column.Start(r.Until), s.sid); err != nil {
			return err
		}
		l := store.Lease{Session: s.Session, Worker: r.Worker, Fence: s.fence, Until: tenet.Micros(r.Until)}
		if err := c.each(bg, `SELECT candidate, sealed FROM proposals WHERE sid = ? ORDER BY n`, []any{s.sid}, func(rs *rows) error {
			var id string
			var sealed []byte
			if err := rs.Scan(&id, &sealed); err != nil {
				return err
			}
			p, err := s.unseal(sealed, s.about("proposal", s.sid, id))
			l.Proposals = append(l.Proposals, p)
			return err
		}); err != nil {
			return err
		}
		out = &l
		return nil
	})
	return out, err
}

// nextDue is the surrogate of the session that has been due longest, or 0. In
// one scope it is looked for among the scope's sessions, however many others
// are due.
func (db *DB) nextDue(ctx context.Context, c conn, op string, r store.LeaseRequest) (sid int64, err error) {
	const free = `due_at <= ?1 AND due_at < 9223372036854775807 AND (worker = '' OR lease_until <= ?1)`
	query, args := `SELECT sid FROM sessions WHERE `+free+` ORDER BY due_at, created_at, sid LIMIT 1`, []any{column.Start(r.Now)}
	if !r.Scope.IsZero() {
		s, err := db.find(ctx, c, op, r.Scope)
		if err != nil || s.id == 0 {
			return 0, err
		}
		query = `SELECT s.sid FROM session_names n CROSS JOIN sessions s ON s.sid = n.sid
			WHERE n.scope = ?2 AND attempts = 0 AND ` + free + ` ORDER BY due_at, created_at, s.sid LIMIT 1`
		args = append(args, s.id)
	}
	err = c.row(ctx, query, args, &sid)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return sid, err
}

// due is the session that has been due longest, or nil.
func (db *DB) due(c conn, op string, r store.LeaseRequest) (*session, error) {
	sid, err := db.nextDue(bg, c, op, r)
	if err != nil || sid == 0 {
		return nil, err
	}
	var tenant, subject string
	var kind int64
	var id tenet.SessionID
	if err := c.row(bg, `SELECT s.tenant, s.kind, `+sealing.NameOf("s")+`, n.external_id FROM session_names n JOIN subjects s ON s.scope = n.scope WHERE n.sid = ?`,
		[]any{sid}, &tenant, &kind, &subject, &id); err != nil {
		return nil, err
	}
	scope, err := scopeOf(tenant, kind, subject)
	if err != nil {
		return nil, err
	}
	return db.session(bg, c, op, scope, id)
}

// Ack implements store.Queue.
func (db *DB) Ack(ctx context.Context, l store.Lease, a store.Ack) error {
	const op = "ack"
	return db.write(ctx, op, func(c conn) error {
		s, err := db.session(bg, c, op, l.Session.Scope, l.Session.ID)
		if err != nil {
			return err
		}
		switch {
		case s.worker == "" || s.fence != l.Fence:
			return conflict(op, "the lease is over")
		case a.Cursor < s.Consolidated || a.Cursor > s.Length:
			return invalid(op, "the cursor runs backwards or past the end")
		}
		for _, id := range a.Done {
			if err := c.of(s.subject.id).exec(`DELETE FROM proposals WHERE sid = ? AND candidate = ?`, s.sid, string(id)); err != nil {
				return err
			}
		}
		due := column.End(s.DueAt)
		if a.Park {
			due = column.NoEnd
		} else if !a.NextDue.IsZero() {
			due = column.Start(a.NextDue)
		} else if a.Cursor == s.Length {
			left, err := s.proposals(c)
			if err != nil {
				return err
			}
			if !left {
				due = column.NoEnd
			}
		}
		attempts := s.Attempts + 1
		if a.Code == "" {
			attempts = 0
		}
		return c.exec(`UPDATE sessions SET consolidated = ?, due_at = ?, attempts = ?, last_code = ?, worker = '', lease_until = ? WHERE sid = ?`,
			a.Cursor, due, attempts, sealing.Plain(a.Code), int64(column.NoStart), s.sid)
	})
}

// proposals reports whether any wait.
func (s *session) proposals(c conn) (bool, error) {
	var n int
	err := c.row(bg, `SELECT EXISTS (SELECT 1 FROM proposals WHERE sid = ?)`, []any{s.sid}, &n)
	return n == 1, err
}

// swept bounds how many sessions one transaction of Sweep looks at, so that
// writers don't wait for all of it.
const swept = 100

// Sweep implements store.Queue. It also removes the versions of threads whose
// own time has passed.
func (db *DB) Sweep(ctx context.Context, now time.Time) (int, error) {
	const op = "sweep"
	gone, after := 0, int64(-1)
	for {
		var n, next int64
		var seen int
		if err := db.write(ctx, op, func(c conn) (err error) {
			n, next, seen, err = sweep(c, column.Start(now), after)
			return err
		}); err != nil {
			return gone, err
		}
		if gone += int(n); seen < swept {
			break
		}
		after = next
	}
	return gone, db.write(ctx, op, func(c conn) error {
		return c.exec(`DELETE FROM blobs WHERE expires_at <= ? AND expires_at < 9223372036854775807`+warmOnly, column.Start(now))
	})
}

// sweep looks at the next sessions in the order of their surrogates.
func sweep(c conn, now, after int64) (gone, last int64, seen int, err error) {
	type row struct {
		sid, scope, ended, due, length, cursor, attempts int64
		proposals                                        bool
	}
	var found []row
	if err := c.each(bg, `SELECT sid, scope, ended_at, due_at, length, consolidated, attempts, EXISTS (SELECT 1 FROM proposals p WHERE p.sid = s.sid)
		FROM sessions s INDEXED BY sessions_expire WHERE expires_at <= ? AND expires_at < 9223372036854775807 AND sid > ?`+warmOnly+` ORDER BY sid LIMIT ?`,
		[]any{now, after, swept}, func(rs *rows) error {
			var r row
			err := rs.Scan(&r.sid, &r.scope, &r.ended, &r.due, &r.length, &r.cursor, &r.attempts, &r.proposals)
			found = append(found, r)
			return err
		}); err != nil {
		return 0, 0, 0, err
	}
	for _, r := range found {
		last = r.sid
		if r.ended == column.NoStart {
			r.ended = now
		}
		if (r.cursor < r.length || r.proposals) && r.attempts > 0 && r.due == column.NoEnd { // parked
			continue
		}
		if r.cursor < r.length || r.proposals { // not yet consolidated: it stays, and becomes due
			if err := c.exec(`UPDATE sessions SET ended_at = ?, due_at = ? WHERE sid = ?`, r.ended, min(r.due, now), r.sid); err != nil {
				return 0, 0, 0, err
			}
			continue
		}
		n, err := c.affect(`DELETE FROM messages WHERE scope = ? AND sid = ? AND seq <= ?`, r.scope, r.sid, r.cursor)
		if err == nil {
			err = c.exec(`DELETE FROM receipts WHERE sid = ?`, r.sid)
		}
		if err == nil {
			err = c.exec(`UPDATE sessions SET ended_at = ?, expires_at = 9223372036854775807 WHERE sid = ?`, r.ended, r.sid)
		}
		if err != nil {
			return 0, 0, 0, err
		}
		gone += n
	}
	return gone, last, len(found), nil
}
