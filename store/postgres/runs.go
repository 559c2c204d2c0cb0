package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// run is a session as its workers see it.
type run struct {
	subject
	sid    int64
	id     tenet.SessionID
	ended  bool
	holder []byte
	fence  uint64
	until  int64
	last   int64 // version of the newest checkpoint
}

const selectRun = `SELECT s.scope, s.data_key, n.sid, x.ended_at, coalesce(h.holder, ''::bytea), coalesce(h.fence, 0), coalesce(h.until, 0),
		coalesce((SELECT max(version) FROM tenet.checkpoints k WHERE k.scope = n.scope AND k.sid = n.sid), 0)
	FROM tenet.subjects s JOIN tenet.session_names n ON n.scope = s.scope AND n.external_id = $4
	JOIN tenet.sessions x ON x.scope = n.scope AND x.sid = n.sid LEFT JOIN tenet.holds h ON h.scope = n.scope AND h.sid = n.sid
	WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3`

const lockRun = `SELECT 1 FROM tenet.subjects s JOIN tenet.session_names n ON n.scope = s.scope AND n.external_id = $4
	JOIN tenet.sessions x ON x.scope = n.scope AND x.sid = n.sid WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3 FOR UPDATE OF x FOR KEY SHARE OF s`

// run finds a session with its hold; NotFound without one. In a transaction
// that writes it holds the session first, in a statement of its own: one that
// waited would read the rest as it was before.
func (db *DB) run(ctx context.Context, c conn, op string, scope tenet.Scope, id tenet.SessionID) (*run, error) {
	if scope.IsZero() {
		return nil, invalid(op, "no scope")
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return nil, err
	}
	r := &run{subject: subject{scope: scope}, id: id}
	var wrapped []byte
	var ended int64
	c, err := db.bound(ctx, c, op, scope)
	if err != nil {
		return nil, err
	}
	args := append(db.names(scope), string(id))
	if c.tx != nil && c.tx.writes {
		if err := c.exec(lockRun, args...); err != nil {
			return nil, err
		}
	}
	err = c.row(ctx, selectRun, args, &r.subject.id, &wrapped, &r.sid, &ended, &r.holder, &r.fence, &r.until, &r.last)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, absent(op, "session")
	}
	if err != nil {
		return nil, err
	}
	r.ended = ended != column.NoStart
	r.key, err = db.unwrap(r.subject.id, wrapped)
	return r, err
}

// open refuses a session that has ended or was deleted, and a stale fence.
func (r *run) open(op string, fence uint64) error {
	switch {
	case r.ended:
		return conflict(op, "the session has ended")
	case fence != 0 && fence != r.fence:
		return conflict(op, "another worker holds the session: the fence is stale")
	}
	return nil
}

// Hold implements store.Runs.
func (db *DB) Hold(ctx context.Context, scope tenet.Scope, id tenet.SessionID, holder string, now, until time.Time) (fence uint64, err error) {
	const op = "hold"
	if holder == "" || !until.After(now) {
		return 0, invalid(op, "no holder or no time")
	}
	err = db.mutate(ctx, op, scope, func() any { return fence }, func(c conn) error {
		r, err := db.run(bg, c, op, scope, id)
		if err != nil {
			return err
		}
		if err := r.open(op, 0); err != nil {
			return err
		}
		mine := store.HolderDigest(r.key, holder)
		runs := r.until > column.Start(now)
		fence = r.fence
		switch {
		case runs && !bytes.Equal(mine, r.holder):
			return conflict(op, "another worker holds the session")
		case !runs: // also the same holder's, once it ran out: others may have worked meanwhile
			fence++
		}
		return c.exec(`INSERT INTO tenet.holds (sid, scope, holder, fence, until) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (scope, sid) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, until = excluded.until`, r.sid, r.subject.id, mine, int64(fence), column.Start(until))
	})
	return fence, err
}

// PutCheckpoint implements store.Runs.
func (db *DB) PutCheckpoint(ctx context.Context, scope tenet.Scope, k tenet.Checkpoint, fence uint64, keep int) error {
	const op = "put checkpoint"
	if k.Version < 1 || keep < 1 {
		return invalid(op, "versions count from 1, and at least one is kept")
	}
	return db.mutate(ctx, op, scope, func() any { return struct{}{} }, func(c conn) error {
		r, err := db.run(bg, c, op, scope, k.Session)
		if err != nil {
			return err
		}
		content := store.CheckpointDigest(r.key, k)
		if k.Version <= r.last {
			var old []byte
			err := c.row(bg, `SELECT content FROM tenet.checkpoints WHERE scope = $1 AND sid = $2 AND version = $3`, []any{r.subject.id, r.sid, k.Version}, &old)
			if err == nil && bytes.Equal(old, content) {
				return nil
			}
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		if err := r.open(op, fence); err != nil {
			return err
		}
		if k.Version != r.last+1 {
			return conflict(op, "the run stands elsewhere: read its newest checkpoint")
		}
		if err := db.visitor(c, r.subject, k.By); err != nil {
			return err
		}
		if err := c.exec(`INSERT INTO tenet.checkpoints (scope, sid, version, step, position, at, content, sealed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			r.subject.id, r.sid, k.Version, k.Step, k.Position, column.Start(k.At), content, r.key.Seal(column.EncodeCheckpoint(k), r.about("checkpoint", r.sid, ""))); err != nil {
			return err
		}
		if k.Version <= int64(keep) {
			return nil
		}
		return c.exec(`DELETE FROM tenet.checkpoints WHERE scope = $1 AND sid = $2 AND version <= $3`, r.subject.id, r.sid, k.Version-int64(keep))
	})
}

// Checkpoints implements store.Runs.
func (db *DB) Checkpoints(ctx context.Context, scope tenet.Scope, id tenet.SessionID, below int64, limit int) ([]tenet.Checkpoint, error) {
	const op = "checkpoints"
	if below < 0 || limit < 0 {
		return nil, invalid(op, "a negative version or limit")
	}
	if scope.IsZero() {
		return nil, invalid(op, "no scope")
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return nil, err
	}
	if below == 0 {
		below = column.NoEnd
	}
	// The session, its key and its versions in one trip; a session without any
	// is one row of none.
	var out []tenet.Checkpoint
	r := subject{scope: scope}
	found := false
	c, err := db.bound(ctx, db.at(scope), op, scope)
	if err != nil {
		return nil, err
	}
	err = c.each(ctx, `SELECT s.scope, s.data_key, n.sid, coalesce(k.version, 0), coalesce(k.step, 0), coalesce(k.position, 0), coalesce(k.at, 0), k.sealed
		FROM tenet.subjects s JOIN tenet.session_names n ON n.scope = s.scope AND n.external_id = $4 JOIN tenet.sessions x ON x.scope = n.scope AND x.sid = n.sid
		LEFT JOIN LATERAL (SELECT * FROM tenet.checkpoints c WHERE c.scope = n.scope AND c.sid = n.sid AND c.version < $5 ORDER BY c.version DESC LIMIT $6) k ON true
		WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3 ORDER BY k.version DESC`,
		append(db.names(scope), string(id), below, limit), func(rs *rows) error {
			k := tenet.Checkpoint{Session: id}
			var at, sid int64
			var wrapped, sealed []byte
			if err := rs.Scan(&r.id, &wrapped, &sid, &k.Version, &k.Step, &k.Position, &at, &sealed); err != nil {
				return err
			}
			var err error
			if !found {
				if r.key, err = db.unwrap(r.id, wrapped); err != nil {
					return err
				}
			}
			if found = true; sealed == nil {
				return nil
			}
			k.At = column.From(at)
			plain, err := r.key.Unseal(sealed, r.about("checkpoint", sid, ""))
			if err != nil {
				return err
			}
			if err := column.DecodeCheckpoint(plain, &k); err != nil {
				return err
			}
			out = append(out, k)
			return nil
		})
	if err == nil && !found {
		err = absent(op, "session")
	}
	return out, failure(op, err)
}

// DeleteSession implements store.Deleter.
func (db *DB) DeleteSession(ctx context.Context, scope tenet.Scope, id tenet.SessionID, at time.Time) error {
	const op = "delete session"
	return db.mutate(ctx, op, scope, func() any { return struct{}{} }, func(c conn) error {
		r, err := db.run(bg, c, op, scope, id)
		if err != nil {
			return err
		}
		if err := r.warm(c, op); err != nil {
			return err
		}
		for _, table := range []string{"messages", "proposals", "receipts", "checkpoints", "effects", "holds"} {
			if err := c.exec(`DELETE FROM tenet.`+table+` WHERE scope = $1 AND sid = $2`, r.subject.id, r.sid); err != nil {
				return err
			}
		}
		// The row stays as a spent id. The fence moves, so that a worker that
		// consolidates it now can't acknowledge.
		return c.exec(`UPDATE tenet.sessions SET ended_at = CASE WHEN ended_at = $1 THEN $2 ELSE ended_at END, consolidated = length,
			due_at = $3, attempts = 0, last_code = '', worker = '', fence = fence + 1 WHERE sid = $4 AND scope = $5`, int64(column.NoStart), column.Start(at), int64(column.NoEnd), r.sid, r.subject.id)
	})
}
