package sqlite

import (
	"context"
	"crypto/hmac"
	"database/sql"
	"errors"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// mutate is write for a mutation of one scope that its caller may have asked
// to happen once. result is what the mutation returned, read after run.
func (db *DB) mutate(ctx context.Context, op string, scope tenet.Scope, result func() any, run func(conn) error) error {
	o := store.OnceFrom(ctx)
	if o == nil {
		return db.write(ctx, op, run)
	}
	var replay *store.Replay
	err := db.write(ctx, op, func(c conn) error {
		var err error
		if replay, err = db.recorded(bg, c, o); replay != nil || err != nil {
			return err
		}
		if err := run(c); err != nil {
			return err
		}
		return db.record(c, op, scope, o, result())
	})
	if err == nil && replay != nil {
		return replay
	}
	return err
}

// Recorded implements store.Onces.
func (db *DB) Recorded(ctx context.Context, o *store.Once) (*store.Replay, error) {
	r, err := db.recorded(ctx, db.r, o)
	return r, failure("recorded", err)
}

func (db *DB) recorded(ctx context.Context, c conn, o *store.Once) (*store.Replay, error) {
	id := db.master().OnceID(o)
	var scope, expires int64
	var fingerprint, sealed, wrapped []byte
	err := c.row(ctx, `SELECT o.scope, o.fingerprint, o.answer, o.expires_at, s.data_key FROM once o JOIN subjects s ON s.scope = o.scope WHERE o.id = ?`,
		[]any{id}, &scope, &fingerprint, &sealed, &expires, &wrapped)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case expires <= column.Start(o.Now):
		return nil, nil
	case !hmac.Equal(fingerprint, db.master().OnceFingerprint(o)):
		return nil, &tenet.Error{Kind: tenet.Conflict, Op: "once", Code: store.CodeOncePayload, Reason: "the key was used for another request"}
	}
	key, err := db.unwrap(scope, wrapped)
	if err != nil {
		return nil, err
	}
	answer, err := key.Unseal(sealed, aboutOnce(id))
	if err != nil {
		return nil, err
	}
	return &store.Replay{Answer: answer}, nil
}

func (db *DB) record(c conn, op string, scope tenet.Scope, o *store.Once, result any) error {
	answer, err := o.Answer(result)
	if err != nil {
		return err
	}
	sub, err := db.enter(c, op, scope)
	if err != nil {
		return err
	}
	// Each record takes two of the expired along: the table stays bounded
	// without a sweep of its own.
	if err := c.exec(`DELETE FROM once WHERE id IN (SELECT id FROM once WHERE expires_at <= ? LIMIT 2)`, column.Start(o.Now)); err != nil {
		return err
	}
	id := db.master().OnceID(o)
	return c.exec(`INSERT OR REPLACE INTO once (id, scope, fingerprint, answer, expires_at) VALUES (?, ?, ?, ?, ?)`,
		id, sub.id, db.master().OnceFingerprint(o), sub.key.Seal(answer, aboutOnce(id)), column.Start(o.ExpiresAt))
}

func aboutOnce(id []byte) string { return "once/" + string(id) }

// Secret derives a secret of the server's own from the master key, for what a
// process has to recognise again: cursors, fences, API keys.
func (db *DB) Secret(purpose string) []byte { return db.master().Secret(purpose) }
