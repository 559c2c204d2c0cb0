package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

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

const selectRun = `SELECT s.scope, s.data_key, n.sid, x.ended_at, coalesce(h.holder, x''), coalesce(h.fence, 0), coalesce(h.until, 0),
		coalesce((SELECT max(version) FROM checkpoints k WHERE k.sid = n.sid), 0)
	FROM subjects s JOIN session_names n ON n.scope = s.scope AND n.external_id = ?4
	JOIN sessions x ON x.sid = n.sid LEFT JOIN holds h ON h.sid = n.sid
	WHERE s.tenant = ?1 AND s.kind = ?2 AND s.external_id = ?3`

// run finds a session with its hold in one look-up; NotFound without one.
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
	err = c.row(ctx, selectRun, append(db.names(scope), string(id)),
		&r.subject.id, &wrapped, &r.sid, &ended, &r.holder, &r.fence, &r.until, &r.last)
	if errors.Is(err, sql.ErrNoRows) {
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
		return c.exec(`INSERT INTO holds (sid, scope, holder, fence, until) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (sid) DO UPDATE SET holder = ?3, fence = ?4, until = ?5`, r.sid, r.subject.id, mine, fence, column.Start(until))
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
			err := c.row(bg, `SELECT content FROM checkpoints WHERE sid = ? AND version = ?`, []any{r.sid, k.Version}, &old)
			if err == nil && bytes.Equal(old, content) {
				return nil
			}
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
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
		if err := c.exec(`INSERT INTO checkpoints (scope, sid, version, step, position, at, content, sealed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			r.subject.id, r.sid, k.Version, k.Step, k.Position, column.Start(k.At), content, r.key.Seal(column.EncodeCheckpoint(k), r.about("checkpoint", r.sid, ""))); err != nil {
			return err
		}
		if k.Version <= int64(keep) {
			return nil
		}
		return c.exec(`DELETE FROM checkpoints WHERE sid = ? AND version <= ?`, r.sid, k.Version-int64(keep))
	})
}

// One statement finds the session and reads on: resuming is the hot path of a
// worker. A session without checkpoints is one row of nulls.
const selectCheckpoints = `SELECT s.scope, s.data_key, n.sid, k.version, k.step, k.position, k.at, k.sealed
	FROM subjects s JOIN session_names n ON n.scope = s.scope AND n.external_id = ?4
	JOIN sessions x ON x.sid = n.sid LEFT JOIN checkpoints k ON k.sid = n.sid AND k.version < ?5
	WHERE s.tenant = ?1 AND s.kind = ?2 AND s.external_id = ?3 ORDER BY k.version DESC LIMIT ?6`

// Checkpoints implements store.Runs.
func (db *DB) Checkpoints(ctx context.Context, scope tenet.Scope, id tenet.SessionID, below int64, limit int) ([]tenet.Checkpoint, error) {
	const op = "checkpoints"
	switch {
	case scope.IsZero():
		return nil, invalid(op, "no scope")
	case below < 0 || limit < 0:
		return nil, invalid(op, "a negative version or limit")
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return nil, err
	}
	if below == 0 {
		below = column.NoEnd
	}
	var out []tenet.Checkpoint
	found := false
	s := subject{scope: scope}
	c, err := db.bound(ctx, db.r, op, scope)
	if err != nil {
		return nil, err
	}
	err = c.each(ctx, selectCheckpoints, append(db.names(scope), string(id), below, max(limit, 1)), func(rs *rows) (err error) {
		k := tenet.Checkpoint{Session: id}
		var wrapped, sealed sql.RawBytes
		var sid int64
		var version, step, position, at sql.NullInt64
		if err := rs.Scan(&s.id, &wrapped, &sid, &version, &step, &position, &at, &sealed); err != nil {
			return err
		}
		if !found {
			found = true
			if s.key, err = db.unwrap(s.id, wrapped); err != nil {
				return err
			}
		}
		if !version.Valid || len(out) == limit {
			return nil
		}
		k.Version, k.Step, k.Position, k.At = version.Int64, int(step.Int64), position.Int64, column.From(at.Int64)
		plain, err := s.key.Unseal(sealed, s.about("checkpoint", sid, ""))
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
		return nil, absent(op, "session")
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
			if err := c.exec(`DELETE FROM `+table+` WHERE sid = ?`, r.sid); err != nil {
				return err
			}
		}
		// The row stays as a spent id. The fence moves, so that a worker that
		// consolidates it now can't acknowledge.
		return c.exec(`UPDATE sessions SET ended_at = CASE WHEN ended_at = ?1 THEN ?2 ELSE ended_at END, consolidated = length,
			due_at = ?3, attempts = 0, last_code = '', worker = '', fence = fence + 1 WHERE sid = ?4`, int64(column.NoStart), column.Start(at), int64(column.NoEnd), r.sid)
	})
}
