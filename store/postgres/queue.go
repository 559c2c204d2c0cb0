package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// Lease implements store.Queue. Whose turn it is the worker's role sees; what
// waits there, only the application in that tenant.
func (db *DB) Lease(ctx context.Context, r store.LeaseRequest) (*store.Lease, error) {
	const op = "lease"
	if r.Worker == "" || !r.Until.After(r.Now) || r.Only != "" && r.Scope.IsZero() {
		return nil, invalid(op, "no worker, no scope or no time")
	}
	var out *store.Lease
	f := func(c conn) error {
		out = nil
		var s *session
		var err error
		if r.Only != "" {
			if s, err = db.session(bg, c, op, r.Scope, r.Only); err == nil && s.leased(r.Now) && s.worker != r.Worker {
				return nil
			}
		} else {
			c, s, err = db.due(c, op, r)
		}
		if err != nil || s == nil {
			return err
		}
		s.fence++
		if err := c.exec(`UPDATE tenet.sessions SET worker = $1, fence = $2, lease_until = $3 WHERE scope = $4 AND sid = $5`,
			sealing.Plain(r.Worker), int64(s.fence), column.Start(r.Until), s.subject.id, s.sid); err != nil {
			return err
		}
		l := store.Lease{Session: s.Session, Worker: r.Worker, Fence: s.fence, Until: tenet.Micros(r.Until)}
		if err := c.each(bg, `SELECT candidate, sealed FROM tenet.proposals WHERE scope = $1 AND sid = $2 ORDER BY n`, []any{s.subject.id, s.sid}, func(rs *rows) error {
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
	}
	c := db.worker()
	if !r.Scope.IsZero() {
		c = db.at(r.Scope)
	}
	err := failure(op, c.transact(ctx, beginWrite, f))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// due is the session that has been due longest and that nobody else is about
// to lease, or nil, with c set to its tenant.
func (db *DB) due(c conn, op string, r store.LeaseRequest) (conn, *session, error) {
	of, args := ``, []any{column.Start(r.Now)}
	if !r.Scope.IsZero() { // among the scope's own sessions, however many others are due
		s, err := db.find(bg, c, op, r.Scope)
		if err != nil || s.id == 0 {
			return c, nil, err
		}
		of, args = ` AND scope = $2 AND attempts = 0`, append(args, s.id)
	}
	var tenant string
	var scope, sid int64
	err := c.row(bg, `SELECT tenant, scope, sid FROM tenet.sessions WHERE due_at <= $1 AND due_at < 9223372036854775807 AND (worker = '' OR lease_until <= $1)`+of+`
		ORDER BY due_at, created_at, sid LIMIT 1 FOR UPDATE SKIP LOCKED`, args, &tenant, &scope, &sid)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, nil, nil
	}
	if err != nil {
		return c, nil, err
	}
	if r.Scope.IsZero() {
		c = c.become(appRole, tenant)
	}
	in, id, err := db.sessionOf(bg, c, tenant, scope, sid)
	if err != nil {
		return c, nil, err
	}
	s, err := db.session(bg, c, op, in, id)
	return c, s, err
}

// Ack implements store.Queue.
func (db *DB) Ack(ctx context.Context, l store.Lease, a store.Ack) error {
	const op = "ack"
	return db.write(ctx, op, l.Session.Scope.Tenant(), func(c conn) error {
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
			if err := c.of(s.subject.id).exec(`DELETE FROM tenet.proposals WHERE scope = $1 AND sid = $2 AND candidate = $3`, s.subject.id, s.sid, string(id)); err != nil {
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
		return c.exec(`UPDATE tenet.sessions SET consolidated = $1, due_at = $2, attempts = $3, last_code = $4, worker = '', lease_until = $5 WHERE sid = $6 AND scope = $7`,
			a.Cursor, due, attempts, sealing.Plain(a.Code), int64(column.NoStart), s.sid, s.subject.id)
	})
}

// proposals reports whether any wait.
func (s *session) proposals(c conn) (some bool, err error) {
	err = c.row(bg, `SELECT EXISTS (SELECT 1 FROM tenet.proposals WHERE scope = $1 AND sid = $2)`, []any{s.subject.id, s.sid}, &some)
	return some, err
}

// swept bounds how many sessions Sweep looks for at a time.
const swept = 100

// Sweep implements store.Queue. It also removes the versions of threads whose
// own time has passed. The worker's role finds what there is to do; each session
// is a transaction of its own in its tenant, which looks again.
func (db *DB) Sweep(ctx context.Context, now time.Time) (int, error) {
	const op = "sweep"
	type owned struct {
		tenant     string
		scope, sid int64
	}
	gone := 0
	after := owned{scope: -1}
	for {
		var found []owned
		if err := db.worker().each(ctx, `SELECT tenant, scope, sid FROM tenet.sessions WHERE expires_at <= $1 AND expires_at < 9223372036854775807
			AND (scope, sid) > ($2, $3)`+warmOnly+` ORDER BY scope, sid LIMIT $4`, []any{column.Start(now), after.scope, after.sid, swept}, func(rs *rows) error {
			var o owned
			err := rs.Scan(&o.tenant, &o.scope, &o.sid)
			found = append(found, o)
			return err
		}); err != nil {
			return gone, failure(op, err)
		}
		for _, o := range found {
			var n int64
			if err := db.write(ctx, op, o.tenant, func(c conn) (err error) {
				n, err = sweep(c, column.Start(now), o.scope, o.sid)
				return err
			}); err != nil && tenet.KindOf(err) != tenet.Conflict { // a legal hold was placed meanwhile
				return gone, err
			}
			gone += int(n)
			after = o
		}
		if len(found) < swept {
			break
		}
	}
	var tenants []string
	if err := db.worker().each(ctx, `SELECT DISTINCT tenant FROM tenet.blobs WHERE expires_at <= $1 AND expires_at < 9223372036854775807`+warmOnly,
		[]any{column.Start(now)}, func(rs *rows) error {
			var t string
			err := rs.Scan(&t)
			tenants = append(tenants, t)
			return err
		}); err != nil {
		return gone, failure(op, err)
	}
	for _, t := range tenants {
		if err := db.write(ctx, op, t, func(c conn) error {
			return c.exec(`DELETE FROM tenet.blobs WHERE expires_at <= $1 AND expires_at < 9223372036854775807`+warmOnly, column.Start(now))
		}); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// sweep ends one session, or empties it when all of it is consolidated.
func sweep(c conn, now, scope, sid int64) (gone int64, err error) {
	if err := (subject{id: scope}).warm(c, "sweep"); err != nil {
		return 0, err
	}
	var ended, due, length, cursor, tries int64
	err = c.row(bg, `SELECT ended_at, due_at, length, consolidated, attempts FROM tenet.sessions
		WHERE scope = $1 AND sid = $2 AND expires_at <= $3 AND expires_at < 9223372036854775807 FOR UPDATE`, []any{scope, sid, now}, &ended, &due, &length, &cursor, &tries)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil // it grew meanwhile, or another sweep was first
	}
	if err != nil {
		return 0, err
	}
	if ended == column.NoStart {
		ended = now
	}
	s := session{subject: subject{id: scope}, sid: sid}
	waits, err := s.proposals(c)
	if err != nil {
		return 0, err
	}
	if (cursor < length || waits) && tries > 0 && due == column.NoEnd { // parked
		return 0, nil
	}
	if cursor < length || waits { // not yet consolidated: it stays, and becomes due
		return 0, c.exec(`UPDATE tenet.sessions SET ended_at = $1, due_at = $2 WHERE scope = $3 AND sid = $4`, ended, min(due, now), scope, sid)
	}
	if gone, err = c.affect(`DELETE FROM tenet.messages WHERE scope = $1 AND sid = $2 AND seq <= $3`, scope, sid, cursor); err != nil {
		return 0, err
	}
	if err := c.exec(`DELETE FROM tenet.receipts WHERE scope = $1 AND sid = $2`, scope, sid); err != nil {
		return 0, err
	}
	return gone, c.exec(`UPDATE tenet.sessions SET ended_at = $1, expires_at = 9223372036854775807 WHERE scope = $2 AND sid = $3`, ended, scope, sid)
}
