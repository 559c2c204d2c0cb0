package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var _ store.Shelf = (*DB)(nil)

// PutAll implements store.Shelf. The thread's name is locked, so that of two
// writers of one id the first stays.
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
				if err := c.of(s.id).exec(`DELETE FROM tenet.blobs WHERE scope = $1 AND tid = $2 AND id = $3`, s.id, tid, b.ID); err != nil {
					return err
				}
			}
			there := 0
			if err := c.of(s.id).row(bg, `SELECT count(*) FROM tenet.blobs WHERE scope = $1 AND tid = $2 AND id = $3`, []any{s.id, tid, b.ID}, &there); err != nil {
				return err
			}
			if there > 0 {
				continue // the first stays
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
		`AND id >= $3 AND starts_with(id, $3) AND ($4 = '' OR id < $4) AND expires_at > $5 ORDER BY id DESC LIMIT $6`, db.seal.Compared(prefix), db.seal.Compared(below), column.Start(now), db.seal.Most(limit))
	if err != nil || db.seal == nil {
		return bs, err
	}
	bs = slices.DeleteFunc(bs, func(b tenet.Blob) bool { return !strings.HasPrefix(b.ID, prefix) || below != "" && b.ID >= below })
	slices.SortFunc(bs, func(a, b tenet.Blob) int { return strings.Compare(b.ID, a.ID) })
	return bs[:min(limit, len(bs))], nil
}

// Named implements store.Shelf.
func (db *DB) Named(ctx context.Context, scope tenet.Scope, thread string, ids []string) ([]tenet.Blob, error) {
	return db.versions(ctx, "named", scope, thread, `AND id = ANY($3)`, sealing.Texts(ids))
}

// Remove implements store.Shelf.
func (db *DB) Remove(ctx context.Context, scope tenet.Scope, thread string, ids []string) (int, error) {
	const op = "remove"
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
		if n, err = c.of(s.id).affect(`DELETE FROM tenet.blobs WHERE scope = $1 AND tid = $2 AND id = ANY($3)`, s.id, tid, sealing.Texts(ids)); err != nil {
			return err
		}
		return c.exec(`DELETE FROM tenet.thread_names t WHERE t.scope = $1 AND t.tid = $2
			AND NOT EXISTS (SELECT 1 FROM tenet.blobs b WHERE b.scope = $1 AND b.tid = $2)`, s.id, tid)
	})
	return int(n), err
}

// Threads implements store.Shelf.
func (db *DB) Threads(ctx context.Context, scope tenet.Scope, now time.Time, prefix, after string, limit int) ([]tenet.Thread, error) {
	const op = "threads"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	var out []tenet.Thread
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		s, err := db.find(ctx, c, op, scope)
		if err != nil || s.id == 0 {
			return err
		}
		return c.each(ctx, `SELECT t.external_id, b.created_at FROM tenet.thread_names t, LATERAL (SELECT created_at FROM tenet.blobs
			WHERE scope = $1 AND tid = t.tid AND expires_at > $2 ORDER BY n DESC LIMIT 1) b
			WHERE t.scope = $1 AND t.external_id >= $3 AND t.external_id > $4 AND starts_with(t.external_id, $3)
			ORDER BY t.external_id LIMIT $5`, []any{s.id, column.Start(now), db.seal.Compared(prefix), db.seal.Compared(after), db.seal.Most(limit)}, func(rs *rows) error {
			var t tenet.Thread
			var at int64
			err := rs.Scan(&t.Name, &at)
			t.NewestAt = column.From(at)
			out = append(out, t)
			return err
		})
	})
	if err != nil {
		return nil, failure(op, err)
	}
	if db.seal != nil {
		out = sealing.Page(out, func(t tenet.Thread) string { return t.Name }, prefix, after, limit)
	}
	return out, nil
}
