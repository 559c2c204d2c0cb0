package postgres

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/archiving"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var (
	_ store.Archive        = (*DB)(nil)
	_ store.SessionArchive = (*DB)(nil)
)

// continues refuses what does not go on where the scope's past ends, and what
// was erased after it was recorded, whatever the scope's head says of tombstones.
func (l *ledger) continues(p gate.Plan) error {
	return store.Continues(p, l.lastAt, l.gone, func(q gate.Query) (gate.Block, error) { return l.blocked(bg, l.c, q) })
}

// Forgot implements store.Archive.
func (db *DB) Forgot(ctx context.Context, scope tenet.Scope) (bool, error) {
	if scope.IsZero() {
		return false, invalid("forgot", "no scope")
	}
	var any bool // marks are nobody's by their looks
	err := db.at(scope).row(ctx, `SELECT EXISTS (SELECT 1 FROM tenet.gone)`, nil, &any)
	return any, failure("forgot", err)
}

// Past implements store.Archive.
func (db *DB) Past(ctx context.Context, scope tenet.Scope, after uint64, limit int) (out []gate.Plan, last uint64, err error) {
	const op = "past"
	if limit < 1 {
		return nil, after, invalid(op, "no limit")
	}
	err = db.at(scope).snapshot(ctx, func(c conn) error {
		out, last = nil, after
		s, err := db.find(ctx, c, op, scope)
		if err != nil || s.id == 0 {
			return err
		}
		out, last, err = archiving.Past(s.chain(ctx, c), after, limit)
		return err
	})
	if err != nil {
		return nil, after, failure(op, err)
	}
	return out, last, nil
}

// chain is the scope as the shared part sees it.
func (s subject) chain(ctx context.Context, c conn) archiving.Chain {
	own := s.scope.Key()
	return archiving.Chain{
		Tx: sharedTx{c.of(s.id), ctx}, ID: s.id, Scope: s.scope, Key: s.key,
		Entries: func(after int64, limit int, f func(tenet.AuditEntry, tenet.Verdict) error) error {
			return s.entries(ctx, c, `c.seq > $3`, []any{after}, limit, func(e tenet.AuditEntry, v tenet.Verdict, _ []byte) error { return f(e, v) })
		},
		Written: func(from, to int64, f func(tenet.Record, int64, int64, []byte) error) error {
			return c.each(ctx, `SELECT `+recordColumns+`, seq, expired_seq, origins FROM tenet.records
				WHERE scope = $1 AND seq > $2 AND seq <= $3 ORDER BY seq, n`, []any{s.id, from, to}, func(rs *rows) error {
				var seq, expired int64
				var origins []byte
				r, err := s.scan(rs, own, &seq, &expired, &origins)
				if err != nil {
					return err
				}
				return f(r, seq, expired, origins)
			})
		},
		Evidence: func(id tenet.RecordID, f func(tenet.Evidence)) error { return s.kept(ctx, c, id, f) },
		Unseal:   s.unseal, UnsealStaged: s.unsealStaged, AboutHeld: s.aboutHeld,
	}
}

// SessionsOf implements store.SessionArchive.
func (db *DB) SessionsOf(ctx context.Context, scope tenet.Scope, after tenet.SessionID, limit int) (out []tenet.Session, err error) {
	const op = "sessions of"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	err = db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		s, err := db.find(ctx, c, op, scope)
		if err != nil || s.id == 0 {
			return err
		}
		var ids []tenet.SessionID
		if err := c.each(ctx, `SELECT n.external_id FROM tenet.session_names n JOIN tenet.sessions s ON s.scope = n.scope AND s.sid = n.sid
			WHERE n.scope = $1 AND n.external_id > $2 ORDER BY n.external_id LIMIT $3`, []any{s.id, db.seal.Compared(string(after)), db.seal.Most(limit)}, func(rs *rows) error {
			var id tenet.SessionID
			err := rs.Scan(&id)
			ids = append(ids, id)
			return err
		}); err != nil {
			return err
		}
		if db.seal != nil {
			ids = sealing.Page(ids, func(id tenet.SessionID) string { return string(id) }, "", string(after), limit)
		}
		for _, id := range ids {
			one, err := db.session(ctx, c, op, scope, id)
			if err != nil {
				return err
			}
			out = append(out, one.Session)
		}
		return nil
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Whole implements store.SessionArchive.
func (db *DB) Whole(ctx context.Context, scope tenet.Scope, id tenet.SessionID) (w store.WholeSession, err error) {
	const op = "whole session"
	err = db.at(scope).snapshot(ctx, func(c conn) error {
		w = store.WholeSession{}
		s, err := db.session(ctx, c, op, scope, id)
		if err != nil {
			return err
		}
		w.Session = s.Session
		if err := c.each(ctx, `SELECT `+messageColumns+` FROM tenet.messages WHERE scope = $1 AND sid = $2 ORDER BY seq`, []any{s.subject.id, s.sid}, func(rs *rows) error {
			m, err := s.message(rs, id)
			w.Messages = append(w.Messages, m)
			return err
		}); err != nil {
			return err
		}
		if err := c.each(ctx, `SELECT at, body FROM tenet.receipts WHERE scope = $1 AND sid = $2 ORDER BY n`, []any{s.subject.id, s.sid}, func(rs *rows) error {
			var at int64
			var body []byte
			if err := rs.Scan(&at, &body); err != nil {
				return err
			}
			r, err := column.DecodeReceipt(body)
			r.Session, r.At = id, column.From(at)
			w.Receipts = append(w.Receipts, r)
			return err
		}); err != nil {
			return err
		}
		return c.each(ctx, `SELECT candidate, sealed FROM tenet.proposals WHERE scope = $1 AND sid = $2 ORDER BY n`, []any{s.subject.id, s.sid}, func(rs *rows) error {
			var candidate string
			var sealed []byte
			if err := rs.Scan(&candidate, &sealed); err != nil {
				return err
			}
			p, err := s.unseal(sealed, s.about("proposal", s.sid, candidate))
			w.Proposals = append(w.Proposals, p)
			return err
		})
	})
	if err != nil {
		return store.WholeSession{}, failure(op, err)
	}
	return w, nil
}

// PutBack implements store.SessionArchive.
func (db *DB) PutBack(ctx context.Context, scope tenet.Scope, w store.WholeSession) error {
	const op = "put back"
	if err := store.CheckWhole(scope, w); err != nil {
		return err
	}
	return db.write(ctx, op, scope.Tenant(), func(c conn) error {
		sub, err := db.enter(c, op, scope)
		if err != nil {
			return err
		}
		if err := sub.mayBegin(c, w.ID); err != nil {
			return err
		}
		if err := w.Outlives(sub.gone); err != nil {
			return err
		}
		if _, err := db.session(bg, c, op, scope, w.ID); tenet.KindOf(err) != tenet.NotFound {
			if err == nil {
				err = conflict(op, "the session is there")
			}
			return err
		}
		if err := db.visitors(c, sub, w.Reads); err != nil {
			return err
		}
		sid, err := sub.nameSession(c, w.ID)
		if err != nil {
			return err
		}
		n := w.Session
		if err := c.exec(`INSERT INTO tenet.sessions (sid, scope, reads, ttl, retain_none, created_at, ended_at, last_at, length, consolidated,
				due_at, attempts, last_code, worker, fence, lease_until, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '', 0, $14, $15)`,
			sid, sub.id, sub.sealReads(n.Reads, sid), int64(n.TTL), n.RetainNone, column.Start(n.CreatedAt), column.Start(n.EndedAt), column.Start(n.LastAt), n.Length, n.Consolidated,
			column.End(n.DueAt), n.Attempts, sealing.Plain(n.LastCode), int64(column.NoStart), expiry(n.LastAt, n.TTL)); err != nil {
			return err
		}
		s := &session{subject: sub, Session: n, sid: sid}
		for _, m := range w.Messages {
			if err := s.insert(c, m); err != nil {
				return err
			}
			if err := db.visitor(c, sub, m.RecordedBy); err != nil {
				return err
			}
		}
		for _, r := range w.Receipts {
			if err := c.of(sub.id).exec(`INSERT INTO tenet.receipts (scope, sid, at, body) VALUES ($1, $2, $3, $4)`, sub.id, sid, column.Start(r.At), sealing.Content(column.EncodeReceipt(r))); err != nil {
				return err
			}
		}
		for _, p := range w.Proposals {
			if err := db.visitor(c, sub, p.ProposedBy); err != nil {
				return err
			}
			if err := c.of(sub.id).exec(`INSERT INTO tenet.proposals (scope, sid, candidate, content, sealed) VALUES ($1, $2, $3, $4, $5)`,
				sub.id, sid, string(p.ID), store.ContentDigest(sub.key, p), sub.seal(p, sub.about("proposal", sid, string(p.ID)))); err != nil {
				return err
			}
		}
		return nil
	})
}
