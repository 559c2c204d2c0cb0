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

// thread finds the surrogate of a thread's name, 0 when it has none, and holds
// it in a transaction that writes.
func (s subject) thread(ctx context.Context, c conn, name string) (tid int64, err error) {
	err = c.of(s.id).row(ctx, `SELECT t.tid FROM tenet.thread_names t WHERE t.scope = $1 AND t.external_id = $2`+c.locking("t"), []any{s.id, name}, &tid)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return tid, err
}

// named is thread for a write: it makes the name when it is new. Another
// process may be first, or drop it meanwhile.
func (s subject) named(c conn, name string) (tid int64, err error) {
	for {
		if tid, err = s.thread(bg, c, name); tid != 0 || err != nil {
			return tid, err
		}
		if err := c.of(s.id).exec(`INSERT INTO tenet.thread_names (tid, scope, external_id) VALUES ($1, $2, $3) ON CONFLICT (scope, external_id) DO NOTHING`,
			store.Surrogate(), s.id, name); err != nil {
			return 0, err
		}
	}
}

// shelve seals and inserts a version.
func (s subject) shelve(c conn, tid int64, b tenet.Blob) error {
	return c.of(s.id).exec(`INSERT INTO tenet.blobs (scope, tid, `+blobColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, s.id, tid, b.ID, b.Parent,
		s.key.Seal(b.Data, s.about("blob", tid, b.ID)), s.key.Seal(b.Meta, s.about("meta", tid, b.ID)), column.Start(b.CreatedAt), column.End(b.ExpiresAt))
}

const blobColumns = `id, parent, data, meta, created_at, expires_at`

// blob opens a version's row.
func (s subject) blob(rs *rows, tid int64, thread string) (tenet.Blob, error) {
	b := tenet.Blob{Thread: thread}
	var data, meta []byte
	var created, expires int64
	if err := rs.Scan(&b.ID, &b.Parent, &data, &meta, &created, &expires); err != nil {
		return b, err
	}
	b.CreatedAt, b.ExpiresAt = column.From(created), column.From(expires)
	var err error
	if b.Data, err = s.key.Unseal(data, s.about("blob", tid, b.ID)); err != nil {
		return b, err
	}
	b.Meta, err = s.key.Unseal(meta, s.about("meta", tid, b.ID))
	return b, err
}

// Put implements store.Threads.
func (db *DB) Put(ctx context.Context, scope tenet.Scope, b tenet.Blob, strict bool) error {
	const op = "put"
	if b.Thread == "" || b.ID == "" {
		return invalid(op, "no thread or no id")
	}
	return db.mutate(ctx, op, scope, func() any { return struct{}{} }, func(c conn) error {
		s, err := db.enter(c, op, scope)
		if err != nil {
			return err
		}
		tid, err := s.named(c, b.Thread)
		if err != nil {
			return err
		}
		var old *tenet.Blob
		if err := c.of(s.id).each(bg, `SELECT `+blobColumns+` FROM tenet.blobs WHERE scope = $1 AND tid = $2 AND id = $3`, []any{s.id, tid, b.ID}, func(rs *rows) error {
			k, err := s.blob(rs, tid, b.Thread)
			old = &k
			return err
		}); err != nil {
			return err
		}
		if old != nil {
			if !bytes.Equal(old.Data, b.Data) || !bytes.Equal(old.Meta, b.Meta) {
				return conflict(op, "the id was used with other bytes")
			}
			return nil
		}
		if strict {
			var newest string
			err := c.row(bg, `SELECT id FROM tenet.blobs WHERE scope = $1 AND tid = $2 ORDER BY n DESC LIMIT 1`, []any{s.id, tid}, &newest)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			if newest != b.Parent {
				return conflict(op, "the parent is not the newest version")
			}
		}
		return s.shelve(c, tid, b)
	})
}

// Get implements store.Threads.
func (db *DB) Get(ctx context.Context, scope tenet.Scope, thread, id string) (tenet.Blob, error) {
	const op = "get"
	where := `ORDER BY n DESC LIMIT 1`
	var args []any
	if id != "" {
		where, args = `AND id = $3`, []any{id}
	}
	bs, err := db.versions(ctx, op, scope, thread, where, args...)
	if err == nil && len(bs) == 0 {
		err = absent(op, "version")
	}
	if err != nil {
		return tenet.Blob{}, err
	}
	return bs[0], nil
}

// List implements store.Threads.
func (db *DB) List(ctx context.Context, scope tenet.Scope, now time.Time, thread, after string, limit int) ([]tenet.Blob, error) {
	const op = "list"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	if after == "" {
		return db.versions(ctx, op, scope, thread, `AND expires_at > $3 ORDER BY n DESC LIMIT $4`, column.Start(now), limit)
	}
	return db.versions(ctx, op, scope, thread, `AND n < (SELECT n FROM tenet.blobs WHERE scope = $1 AND tid = $2 AND id = $3) AND expires_at > $4 ORDER BY n DESC LIMIT $5`, after, column.Start(now), limit)
}

func (db *DB) versions(ctx context.Context, op string, scope tenet.Scope, thread, where string, args ...any) ([]tenet.Blob, error) {
	var out []tenet.Blob
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		s, err := db.find(ctx, c, op, scope)
		if err != nil || s.id == 0 {
			return err
		}
		tid, err := s.thread(ctx, c, thread)
		if err != nil || tid == 0 {
			return err
		}
		return c.of(s.id).each(ctx, `SELECT `+blobColumns+` FROM tenet.blobs WHERE scope = $1 AND tid = $2 `+where, append([]any{s.id, tid}, args...), func(rs *rows) error {
			b, err := s.blob(rs, tid, thread)
			out = append(out, b)
			return err
		})
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Drop implements store.Threads.
func (db *DB) Drop(ctx context.Context, scope tenet.Scope, thread string) (int, error) {
	const op = "drop"
	var n int64
	err := db.write(ctx, op, scope.Tenant(), func(c conn) error {
		n = 0
		s, err := db.find(bg, c, op, scope)
		if err != nil || s.id == 0 {
			return err
		}
		tid, err := s.thread(bg, c, thread)
		if err != nil || tid == 0 {
			return err
		}
		if err := s.warm(c, op); err != nil {
			return err
		}
		if n, err = c.affect(`DELETE FROM tenet.blobs WHERE scope = $1 AND tid = $2`, s.id, tid); err != nil {
			return err
		}
		return c.exec(`DELETE FROM tenet.thread_names WHERE scope = $1 AND tid = $2`, s.id, tid)
	})
	return int(n), err
}
