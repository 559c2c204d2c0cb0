package postgres

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var _ store.Freezer = (*DB)(nil)

// freeze places or lifts a legal hold, and keeps what one forbids from being
// written.
func (w *writing) freeze(p gate.Plan) error {
	switch {
	case p.Kind == gate.Expire && w.frozen != 0:
		return store.HeldBack("apply")
	case p.Kind == gate.Freeze && w.frozen != 0:
		return conflict("apply", "the scope is under a legal hold already")
	case p.Kind == gate.Freeze:
		w.frozen = int64(w.seq)
	case p.Kind == gate.Thaw && w.frozen == 0:
		return conflict("apply", "the scope is under no legal hold")
	case p.Kind == gate.Thaw:
		w.frozen = 0
	}
	return nil
}

// warm returns the error for what a legal hold of the scope forbids. No hold
// is placed until the transaction ends.
func (s subject) warm(c conn, op string) error {
	var frozen int64
	err := c.row(bg, `SELECT frozen FROM tenet.heads WHERE scope = $1 FOR SHARE`, []any{s.id}, &frozen)
	if err == nil && frozen != 0 {
		err = store.HeldBack(op)
	}
	return err
}

// warmOnly is the condition on rows of a table with a scope that no legal hold
// is on it.
const warmOnly = ` AND scope NOT IN (SELECT scope FROM tenet.heads WHERE frozen > 0)`

// overdue counts what is past its time at $1 and stays for the hold of head h.
const overdue = `(SELECT count(*) FROM tenet.records r WHERE r.scope = h.scope AND r.expires_at <= $1 AND r.expires_at < 9223372036854775807 AND NOT r.expired)
	+ (SELECT count(*) FROM tenet.held d WHERE d.scope = h.scope AND d.kept AND d.expires_at <= $1)`

// Frozen implements store.Freezer.
func (db *DB) Frozen(ctx context.Context, tenant string, now time.Time, after tenet.Scope, limit int) ([]store.Frozen, error) {
	const op = "frozen"
	if tenant == "" || limit < 0 {
		return nil, invalid(op, "no tenant, or a negative limit")
	}
	var kind int64
	var id string
	if !after.IsZero() {
		kind, id = int64(after.Subject().Kind()), after.Subject().ID()
	}
	var out []store.Frozen
	err := db.in(tenant).each(ctx, `SELECT s.kind, `+sealing.NameOf("s")+`, t.actor, t.why, h.frozen, c.at, `+overdue+`
		FROM tenet.heads h JOIN tenet.subjects s ON s.scope = h.scope
		JOIN tenet.chain c ON c.scope = h.scope AND c.seq = h.frozen JOIN tenet.trail t ON t.scope = h.scope AND t.seq = h.frozen
		WHERE h.frozen > 0 AND s.tenant = $2 AND (s.kind, s.external_id) > ($3, $4) ORDER BY s.kind, s.external_id LIMIT $5`,
		[]any{column.Start(now), sealing.Plain(tenant), kind, db.seal.Compared(id), db.seal.Most(limit)}, func(rs *rows) error {
			var f store.Frozen
			var kind, seq, at int64
			var id string
			if err := rs.Scan(&kind, &id, &f.By, &f.Why, &seq, &at, &f.Overdue); err != nil {
				return err
			}
			f.Seq, f.Since = uint64(seq), column.From(at)
			var err error
			f.Scope, err = scopeOf(tenant, kind, id)
			out = append(out, f)
			return err
		})
	if err == nil && db.seal != nil {
		out = sealing.Page(out, func(f store.Frozen) string { return sealing.InOrder(f.Scope) }, "", sealing.InOrder(after), limit)
	}
	return out, failure(op, err)
}

// FrozenCounts implements store.Freezer.
func (db *DB) FrozenCounts(ctx context.Context, now time.Time) (f store.FrozenCounts, err error) {
	var oldest int64
	err = db.worker().row(ctx, `SELECT count(*), coalesce(min((SELECT c.at FROM tenet.chain c WHERE c.scope = h.scope AND c.seq = h.frozen)), 9223372036854775807), coalesce(sum(`+overdue+`), 0)::bigint FROM tenet.heads h WHERE h.frozen > 0`, []any{column.Start(now)}, &f.Holds, &oldest, &f.Overdue)
	f.Oldest = column.From(oldest)
	return f, failure("frozen", err)
}
