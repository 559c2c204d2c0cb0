package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var _ store.Shelf = (*DB)(nil)

// PutAll implements store.Shelf.
func (db *DB) PutAll(ctx context.Context, scope tenet.Scope, thread string, bs []store.Kept) error {
	const op = "put all"
	if thread == "" || len(bs) == 0 {
		return invalid(op, "no thread or no versions")
	}
	return db.mutate(ctx, op, scope, func() any { return struct{}{} }, func(c conn) error {
		s, err := db.enter(c, op, scope)
		if err != nil {
			return err
		}
		tid, err := s.named(c, thread)
		if err != nil {
			return err
		}
		for _, b := range bs {
			if b.ID == "" {
				return invalid(op, "no id")
			}
			if b.Replace {
				if err := c.of(s.id).exec(`DELETE FROM blobs WHERE tid = ? AND id = ?`, tid, b.ID); err != nil {
					return err
				}
			}
			var there int
			err := c.of(s.id).row(bg, `SELECT 1 FROM blobs WHERE tid = ? AND id = ?`, []any{tid, b.ID}, &there)
			if err == nil {
				continue // the first stays
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if err := s.shelve(c, tid, b.Blob); err != nil {
				return err
			}
		}
		return nil
	})
}

// Find implements store.Shelf.
func (db *DB) Find(ctx context.Context, scope tenet.Scope, now time.Time, thread, prefix, below string, limit int) ([]tenet.Blob, error) {
	const op = "find"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	bs, err := db.versions(ctx, op, scope, thread,
		`tid = ?1 AND id >= ?2 AND substr(id, 1, length(?2)) = ?2 AND (?3 = '' OR id < ?3) AND expires_at > ?4 ORDER BY id DESC LIMIT ?5`, db.seal.Compared(prefix), db.seal.Compared(below), column.Start(now), db.seal.Most(limit))
	if err != nil || db.seal == nil {
		return bs, err
	}
	bs = slices.DeleteFunc(bs, func(b tenet.Blob) bool { return !strings.HasPrefix(b.ID, prefix) || below != "" && b.ID >= below })
	slices.SortFunc(bs, func(a, b tenet.Blob) int { return strings.Compare(b.ID, a.ID) })
	return bs[:min(limit, len(bs))], nil
}

// Named implements store.Shelf.
func (db *DB) Named(ctx context.Context, scope tenet.Scope, thread string, ids []string) ([]tenet.Blob, error) {
	return db.versions(ctx, "named", scope, thread, `tid = ? AND id IN (SELECT value FROM json_each(?))`, sealing.Texts(ids))
}

// Remove implements store.Shelf.
func (db *DB) Remove(ctx context.Context, scope tenet.Scope, thread string, ids []string) (int, error) {
	const op = "remove"
	var n int64
	err := db.write(ctx, op, func(c conn) error {
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
		for _, id := range ids {
			one, err := c.of(s.id).affect(`DELETE FROM blobs WHERE tid = ? AND id = ?`, tid, id)
			if err != nil {
				return err
			}
			n += one
		}
		return c.exec(`DELETE FROM thread_names WHERE tid = ?1 AND NOT EXISTS (SELECT 1 FROM blobs WHERE tid = ?1)`, tid)
	})
	return int(n), err
}

// Threads implements store.Shelf.
func (db *DB) Threads(ctx context.Context, scope tenet.Scope, now time.Time, prefix, after string, limit int) ([]tenet.Thread, error) {
	const op = "threads"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	s, err := db.find(ctx, db.r, op, scope)
	if err != nil || s.id == 0 {
		return nil, err
	}
	var out []tenet.Thread
	err = db.r.each(ctx, `SELECT t.external_id, b.created_at FROM thread_names t JOIN blobs b
		ON b.n = (SELECT n FROM blobs WHERE tid = t.tid AND expires_at > ?1 ORDER BY n DESC LIMIT 1)
		WHERE t.scope = ?2 AND t.external_id >= ?3 AND t.external_id > ?4 AND substr(t.external_id, 1, length(?3)) = ?3
		ORDER BY t.external_id LIMIT ?5`, []any{column.Start(now), s.id, db.seal.Compared(prefix), db.seal.Compared(after), db.seal.Most(limit)}, func(rs *rows) error {
		var t tenet.Thread
		var at int64
		err := rs.Scan(&t.Name, &at)
		t.NewestAt = column.From(at)
		out = append(out, t)
		return err
	})
	if db.seal != nil {
		out = sealing.Page(out, func(t tenet.Thread) string { return t.Name }, prefix, after, limit)
	}
	return out, failure(op, err)
}
