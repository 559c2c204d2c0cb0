package postgres

import (
	"context"
	"crypto/hmac"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// mutate is write for a mutation of one scope that its caller may have asked
// to happen once. result is what the mutation returned, read after run.
func (db *DB) mutate(ctx context.Context, op string, scope tenet.Scope, result func() any, run func(conn) error) error {
	o := store.OnceFrom(ctx)
	if o == nil {
		return db.write(ctx, op, scope.Tenant(), run)
	}
	var replay *store.Replay
	err := db.write(ctx, op, scope.Tenant(), func(c conn) error {
		// Of two calls under one key the second waits for the first.
		err := c.exec(`SELECT pg_advisory_xact_lock($1)`, int64(binary.BigEndian.Uint64(db.master().OnceID(o))))
		if err != nil {
			return err
		}
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
	r, err := db.recorded(ctx, db.in(o.Tenant), o)
	return r, failure("recorded", err)
}

// recorded looks in all tenants: whoever knows an id, which is a digest under
// the master key, made it. What it answers is under its own subject's key.
func (db *DB) recorded(ctx context.Context, c conn, o *store.Once) (*store.Replay, error) {
	id := db.master().OnceID(o)
	if c.hash = hex.EncodeToString(id); c.tx != nil {
		c = c.become(c.role, c.tenant)
	}
	var tenant string
	var scope, expires int64
	var fingerprint, sealed, wrapped []byte
	err := c.row(ctx, `SELECT o.tenant, o.scope, o.fingerprint, o.answer, o.expires_at, s.data_key FROM tenet.once o LEFT JOIN tenet.subjects s ON s.scope = o.scope WHERE o.id = $1`,
		[]any{id}, &tenant, &scope, &fingerprint, &sealed, &expires, &wrapped)
	if err == nil && wrapped == nil {
		err = db.in(tenant).row(ctx, `SELECT data_key FROM tenet.subjects WHERE scope = $1`, []any{scope}, &wrapped)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
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
	if err := c.exec(`DELETE FROM tenet.once WHERE id IN (SELECT id FROM tenet.once WHERE expires_at <= $1 LIMIT 2)`, column.Start(o.Now)); err != nil {
		return err
	}
	id := db.master().OnceID(o)
	return c.exec(`INSERT INTO tenet.once (id, scope, fingerprint, answer, expires_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at`,
		id, sub.id, db.master().OnceFingerprint(o), sub.key.Seal(answer, aboutOnce(id)), column.Start(o.ExpiresAt))
}

func aboutOnce(id []byte) string { return "once/" + string(id) }

// Secret derives a secret of the server's own from the master key, for what a
// process has to recognise again: cursors, fences, API keys.
func (db *DB) Secret(purpose string) []byte { return db.master().Secret(purpose) }
