package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var _ store.Vectors = (*DB)(nil)

// Unplaced implements store.Vectors.
func (db *DB) Unplaced(ctx context.Context, space string, limit int) ([]tenet.Record, error) {
	const op = "unplaced"
	if space == "" || limit < 0 {
		return nil, invalid(op, "no space, or a negative limit")
	}
	var out []tenet.Record
	err := db.r.snapshot(ctx, func(c conn) error {
		out = nil
		id, err := spaceID(ctx, c, space)
		if err != nil {
			return err
		}
		if id == 0 {
			id = -1 // nothing is placed there: all are looked at
		}
		type owned struct {
			scope int64
			id    string
		}
		var found []owned
		// What was placed last in another space may have a place in this one.
		for _, side := range []string{"placed < ?1", "placed > ?1"} {
			err := c.each(ctx, `SELECT r.scope, r.id FROM records r INDEXED BY records_placed
				WHERE r.added > 0 AND r.removed = 0 AND r.`+side+`
				AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.scope = r.scope AND v.record = r.id AND v.space = ?1)
				ORDER BY r.placed, r.scope LIMIT ?2`, []any{id, limit - len(found)}, func(rs *rows) error {
				var o owned
				err := rs.Scan(&o.scope, &o.id)
				found = append(found, o)
				return err
			})
			if err != nil {
				return err
			}
		}
		slices.SortStableFunc(found, func(a, b owned) int { return cmp.Compare(a.scope, b.scope) })
		scopes := map[int64]tenet.Scope{}
		for _, o := range found {
			scope, ok := scopes[o.scope]
			if !ok {
				if scope, err = ownerOf(ctx, c, o.scope); err != nil {
					return err
				}
				scopes[o.scope] = scope
			}
			if scope.IsZero() {
				continue // erased
			}
			rs, err := subject{scope: scope, id: o.scope}.records(ctx, c, `WHERE scope = ? AND id = ?`, o.scope, o.id)
			if err != nil {
				return err
			}
			out = append(out, rs...)
		}
		return nil
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// ownerOf is the scope behind a surrogate, zero when it was erased.
func ownerOf(ctx context.Context, c conn, id int64) (tenet.Scope, error) {
	var tenant, name string
	var kind int64
	err := c.row(ctx, `SELECT s.tenant, s.kind, `+sealing.NameOf("s")+` FROM subjects s WHERE s.scope = ?`, []any{id}, &tenant, &kind, &name)
	if errors.Is(err, sql.ErrNoRows) {
		return tenet.Scope{}, nil
	}
	if err != nil {
		return tenet.Scope{}, err
	}
	return scopeOf(tenant, kind, name)
}

// spaceID is the number of a space, 0 for one that nothing was placed in.
func spaceID(ctx context.Context, c conn, name string) (id int64, err error) {
	err = c.row(ctx, `SELECT space FROM spaces WHERE name = ?`, []any{sealing.Plain(name)}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}

// Place implements store.Vectors.
func (db *DB) Place(ctx context.Context, scope tenet.Scope, space string, vs []store.Vector) error {
	const op = "place"
	switch {
	case scope.IsZero():
		return invalid(op, "no scope")
	case space == "":
		return invalid(op, "no space")
	case len(vs) == 0:
		return nil
	}
	return db.write(ctx, op, func(c conn) error {
		var id, dense int64
		err := c.row(bg, `SELECT h.scope, h.dense FROM subjects s JOIN heads h ON h.scope = s.scope
			WHERE s.tenant = ? AND s.kind = ? AND s.external_id = ?`,
			db.names(scope), &id, &dense)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // erased meanwhile: nothing of it comes back
		}
		if err != nil {
			return err
		}
		if err := c.exec(`INSERT INTO spaces (name) VALUES (?) ON CONFLICT DO NOTHING`, sealing.Plain(space)); err != nil {
			return err
		}
		number, err := spaceID(bg, c, space)
		if err != nil {
			return err
		}
		c = c.of(id)
		moved := false
		for _, v := range vs {
			n, err := c.affect(`UPDATE records SET placed = ? WHERE scope = ? AND id = ? AND added > 0 AND removed = 0`, number, id, string(v.Record))
			if err != nil {
				return err
			}
			if n == 0 {
				continue // closed, expired or never there: a late embedder
			}
			if err := c.exec(`INSERT INTO vectors (scope, record, space, position, numbers) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET position = excluded.position, numbers = excluded.numbers`,
				id, string(v.Record), number, dense+1, sealing.Content(column.AsBytes(v.Values))); err != nil {
				return err
			}
			moved = true
		}
		if !moved {
			return nil
		}
		return c.exec(`UPDATE heads SET dense = ? WHERE scope = ?`, dense+1, id)
	})
}

// Places implements store.Vectors.
func (db *DB) Places(ctx context.Context, scope tenet.Scope, space string, since uint64) ([]store.Vector, uint64, error) {
	const op = "places"
	var out []store.Vector
	var at uint64
	err := db.r.snapshot(ctx, func(c conn) error {
		out = nil
		p, err := db.head(ctx, c, op, scope)
		if err != nil {
			return err
		}
		at = p.Dense
		id, err := spaceID(ctx, c, space)
		if err != nil || id == 0 {
			return err
		}
		return c.each(ctx, `SELECT record, numbers FROM vectors INDEXED BY vectors_position
			WHERE scope = ? AND space = ? AND position > ? ORDER BY position, record`, []any{p.id, id, int64(since)}, func(rs *rows) error {
			var v store.Vector
			var b []byte // Scan copies into it
			if err := rs.Scan(&v.Record, &b); err != nil {
				return err
			}
			v.Values = column.AsNumbers(b)
			out = append(out, v)
			return nil
		})
	})
	if err != nil {
		return nil, 0, failure(op, err)
	}
	return out, at, nil
}

// unplace drops the places of a record whose text recall has lost.
func (w *writing) unplace(id tenet.RecordID) error {
	return w.c.exec(`DELETE FROM vectors WHERE scope = ? AND record = ?`, w.id, string(id))
}
