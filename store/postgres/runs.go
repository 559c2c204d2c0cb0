package postgres

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

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

const (
	lockSeat = `SELECT 1 FROM tenet.sessions x JOIN tenet.subjects s ON s.scope = x.scope WHERE x.scope = $1 AND x.sid = $2 FOR UPDATE OF x FOR KEY SHARE OF s`

	// putCheckpoint writes when the run stands where the caller thinks, and says
	// where it stood. It follows lockSeat, so nothing it reads can move.
	putCheckpoint = `WITH run AS (
			SELECT x.ended_at, coalesce(h.fence, 0) AS fence, coalesce((SELECT max(version) FROM tenet.checkpoints k WHERE k.scope = $1 AND k.sid = $2), 0) AS last,
				(SELECT content FROM tenet.checkpoints k WHERE k.scope = $1 AND k.sid = $2 AND k.version = $3) AS old
			FROM tenet.sessions x LEFT JOIN tenet.holds h ON h.scope = x.scope AND h.sid = x.sid WHERE x.scope = $1 AND x.sid = $2
		), put AS (
			INSERT INTO tenet.checkpoints (scope, sid, version, step, position, at, content, sealed)
			SELECT $1, $2, $3, $4::bigint, $5::bigint, $6::bigint, $7::bytea, $8::bytea FROM run
			WHERE ended_at = $9 AND ($10::bigint = 0 OR fence = $10) AND last = $3 - 1 RETURNING version
		), past AS (
			DELETE FROM tenet.checkpoints k USING put WHERE k.scope = $1 AND k.sid = $2 AND k.version <= put.version - $11::bigint
		)
		SELECT ended_at, fence, old, EXISTS (SELECT FROM put) FROM run`
)

// PutCheckpoint implements store.Runs. All of it is one trip: the statement
// decides, and what it saw is told afterwards.
func (db *DB) PutCheckpoint(ctx context.Context, scope tenet.Scope, k tenet.Checkpoint, fence uint64, keep int) error {
	const op = "put checkpoint"
	if k.Version < 1 || keep < 1 {
		return invalid(op, "versions count from 1, and at least one is kept")
	}
	for again := false; ; again = true {
		at, err := db.seat(ctx, op, scope, k.Session, again)
		if err != nil {
			return err
		}
		sub := subject{scope: scope, id: at.id, key: at.key}
		content := store.CheckpointDigest(at.key, k)
		sealed := at.key.Seal(column.EncodeCheckpoint(k), sub.about("checkpoint", at.sid, ""))
		var r *run
		var old []byte
		var put bool
		told := func() error {
			switch {
			case r == nil:
				return absent(op, "session")
			case put || bytes.Equal(old, content):
				return nil
			}
			if err := r.open(op, fence); err != nil {
				return err
			}
			return conflict(op, "the run stands elsewhere: read its newest checkpoint")
		}
		err = db.mutate(ctx, op, scope, func() any { return struct{}{} }, func(c conn) error {
			r, old, put = nil, nil, false
			c.tx.repeats = true
			if err := c.exec(lockSeat, at.id, at.sid); err != nil {
				return err
			}
			c.ask(putCheckpoint, []any{at.id, at.sid, k.Version, k.Step, k.Position, column.Start(k.At), content, sealed, int64(column.NoStart), int64(fence), keep},
				func(rs *rows) error {
					var ended int64
					r = &run{}
					err := rs.Scan(&ended, &r.fence, &old, &put)
					r.ended = ended != column.NoStart
					return err
				})
			if store.OnceFrom(ctx) == nil && !visits(sub, k.By) {
				return nil
			}
			// What is to be written beside it depends on whether it was.
			if err := c.tx.flush(); err != nil {
				return err
			}
			if err := told(); err != nil || !put {
				return err
			}
			return db.visitor(c, sub, k.By)
		})
		if err == nil {
			err = told()
		}
		if r != nil || again || tenet.KindOf(err) != tenet.NotFound {
			return err
		}
	}
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
	// With the seat at hand its versions are one look at one table. Without it, or
	// without a version, the session is looked for, its key and its versions in
	// one trip; a session without any is one row of none.
	name := seatName{scope, id}
	if at, ok := db.remembered(name); ok {
		out, err := db.below(ctx, db.at(scope), name, at, below, limit)
		if err != nil || len(out) > 0 {
			return out, failure(op, err)
		}
	}
	var out []tenet.Checkpoint
	var at seat
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
			var since int64
			var wrapped, sealed []byte
			found := at.sid != 0
			if err := rs.Scan(&at.id, &wrapped, &at.sid, &k.Version, &k.Step, &k.Position, &since, &sealed); err != nil {
				return err
			}
			if !found {
				var err error
				if at.key, err = db.unwrap(at.id, wrapped); err != nil {
					return err
				}
			}
			if sealed == nil {
				return nil
			}
			k.At = column.From(since)
			out = append(out, k)
			return at.open(scope, sealed, &out[len(out)-1])
		})
	switch {
	case err == nil && at.sid == 0:
		err = absent(op, "session")
	case err == nil:
		db.seats.keep(name, at)
	}
	return out, failure(op, err)
}

// below are the checkpoints before a version of a session whose seat is a guess: none when it
// was wrong.
func (db *DB) below(ctx context.Context, c conn, name seatName, at seat, version int64, limit int) ([]tenet.Checkpoint, error) {
	var out []tenet.Checkpoint
	var sealed []byte
	err := c.each(ctx, `SELECT version, step, position, at, sealed FROM tenet.checkpoints WHERE scope = $1 AND sid = $2 AND version < $3 ORDER BY version DESC LIMIT $4`,
		[]any{at.id, at.sid, version, limit}, func(rs *rows) error {
			k := tenet.Checkpoint{Session: name.id}
			var since int64
			if err := rs.Scan(&k.Version, &k.Step, &k.Position, &since, (*pgtype.DriverBytes)(&sealed)); err != nil {
				return err
			}
			k.At = column.From(since)
			out = append(out, k)
			return at.open(name.scope, sealed, &out[len(out)-1])
		})
	return out, err
}

// open reads what of a checkpoint is sealed.
func (at seat) open(scope tenet.Scope, sealed []byte, k *tenet.Checkpoint) error {
	s := subject{scope: scope, id: at.id}
	plain, err := at.key.Unseal(sealed, s.about("checkpoint", at.sid, ""))
	if err != nil {
		return err
	}
	return column.DecodeCheckpoint(plain, k)
}

// seat is where a session lies, and its subject's key, which a put has to know
// before it is sent. It is a guess until a row with its numbers is found:
// surrogates are never given twice, and go when what they stand for goes.
type seat struct {
	id, sid int64
	key     store.DataKey
}

type seatName struct {
	scope tenet.Scope
	id    tenet.SessionID
}

// seat is the one that is remembered, or is looked up; NotFound without a session.
func (db *DB) seat(ctx context.Context, op string, scope tenet.Scope, id tenet.SessionID, afresh bool) (seat, error) {
	if scope.IsZero() {
		return seat{}, invalid(op, "no scope")
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return seat{}, err
	}
	name := seatName{scope, id}
	if s, ok := db.remembered(name); ok && !afresh {
		return s, nil
	}
	var s seat
	var wrapped []byte
	c, err := db.bound(ctx, db.at(scope), op, scope)
	if err != nil {
		return s, err
	}
	err = c.row(ctx, `SELECT s.scope, s.data_key, n.sid FROM tenet.subjects s JOIN tenet.session_names n ON n.scope = s.scope AND n.external_id = $4
		JOIN tenet.sessions x ON x.scope = n.scope AND x.sid = n.sid WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3`,
		append(db.names(scope), string(id)), &s.id, &wrapped, &s.sid)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, absent(op, "session")
	}
	if err == nil {
		s.key, err = db.unwrap(s.id, wrapped)
	}
	if err != nil {
		return s, failure(op, err)
	}
	db.seats.keep(name, s)
	return s, nil
}

// remembered is the seat that is kept. A sealed database's keys are the vault's,
// which is asked each time: one that is destroyed is not here any more.
func (db *DB) remembered(n seatName) (seat, bool) {
	s, ok := db.seats.find(n)
	if ok && db.seal != nil {
		key, err := db.unwrap(s.id, nil)
		s.key, ok = key, err == nil
	}
	return s, ok
}

// seats remembers those of sessions that were written lately.
type seats struct {
	mu sync.RWMutex
	of map[seatName]seat
}

const cachedSeats = 20_000

func (c *seats) find(n seatName) (seat, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.of[n]
	return s, ok
}

func (c *seats) keep(n seatName, s seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[seatName]seat{}
	}
	for other := range c.of { // any one: which does not matter much
		if len(c.of) < cachedSeats {
			break
		}
		delete(c.of, other)
	}
	c.of[n] = s
}

// clear forgets all: an erased subject's key does not linger in memory.
func (c *seats) clear() {
	c.mu.Lock()
	c.of = nil
	c.mu.Unlock()
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
