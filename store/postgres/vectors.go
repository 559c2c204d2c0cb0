package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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
	id, err := spaceID(ctx, db.worker(), space)
	if err != nil {
		return nil, failure(op, err)
	}
	if id == 0 {
		id = -1 // nothing is placed there: all are looked at
	}
	// What was placed last in another space may have a place in this one.
	out, err := db.gather(ctx, `SELECT tenant, scope, id FROM (
			SELECT r.tenant, r.scope, r.id FROM tenet.records r WHERE r.added > 0 AND r.removed = 0 AND r.placed <> $1
			AND NOT EXISTS (SELECT 1 FROM tenet.vectors v WHERE v.scope = r.scope AND v.record = r.id AND v.space = $1)
			ORDER BY r.placed, r.scope LIMIT $2) f ORDER BY scope, id`, id, limit)
	return out, failure(op, err)
}

// spaceID is the number of a space, 0 for one that nothing was placed in.
func spaceID(ctx context.Context, c conn, name string) (id int64, err error) {
	err = c.row(ctx, `SELECT space FROM tenet.spaces WHERE name = $1`, []any{sealing.Plain(name)}, &id)
	if errors.Is(err, pgx.ErrNoRows) {
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
	return db.write(ctx, op, scope.Tenant(), func(c conn) error {
		var id, dense int64
		err := c.row(bg, `SELECT h.scope, h.dense FROM tenet.subjects s JOIN tenet.heads h ON h.scope = s.scope
			WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3 FOR UPDATE OF h`,
			db.names(scope), &id, &dense)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // erased meanwhile: nothing of it comes back
		}
		if err != nil {
			return err
		}
		if err := c.exec(`INSERT INTO tenet.spaces (name) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM tenet.spaces WHERE name = $1) ON CONFLICT DO NOTHING`, sealing.Plain(space)); err != nil {
			return err
		}
		number, err := spaceID(bg, c, space)
		if err != nil {
			return err
		}
		c = c.of(id)
		moved := false
		for _, v := range vs { // one that is closed, expired or was never there: a late embedder
			s := c.statement(`WITH r AS (UPDATE tenet.records SET placed = $3 WHERE scope = $1 AND id = $2 AND added > 0 AND removed = 0 RETURNING label)
				INSERT INTO tenet.vectors (scope, record, space, position, numbers, label) SELECT $1, $2, $3, $4, $5, r.label FROM r
				ON CONFLICT (scope, record, space) DO UPDATE SET position = excluded.position, numbers = excluded.numbers, label = excluded.label`,
				[]any{id, string(v.Record), number, dense + 1, sealing.Content(column.AsBytes(v.Values))})
			s.tag = func(t pgconn.CommandTag) { moved = moved || t.RowsAffected() > 0 }
			c.tx.waiting = append(c.tx.waiting, s)
		}
		if err := c.tx.flush(); err != nil {
			return err
		}
		if !moved {
			return nil
		}
		return c.exec(`UPDATE tenet.heads SET dense = $1 WHERE scope = $2`, dense+1, id)
	})
}

// Places implements store.Vectors.
func (db *DB) Places(ctx context.Context, scope tenet.Scope, space string, since uint64) ([]store.Vector, uint64, error) {
	const op = "places"
	var out []store.Vector
	var at uint64
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		p, err := c.head(ctx, op, scope)
		if err != nil {
			return err
		}
		at = p.Dense
		id, err := spaceID(ctx, c, space)
		if err != nil || id == 0 {
			return err
		}
		return c.each(ctx, `SELECT record, numbers FROM tenet.vectors
			WHERE scope = $1 AND space = $2 AND position > $3 ORDER BY position, record`, []any{p.id, id, int64(since)}, func(rs *rows) error {
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
	return w.c.exec(`DELETE FROM tenet.vectors WHERE scope = $1 AND record = $2`, w.id, string(id))
}
