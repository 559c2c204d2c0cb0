package sqlite

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

// warm returns the error for what a legal hold of the scope forbids.
func (s subject) warm(c conn, op string) error {
	var frozen int64
	err := c.row(bg, `SELECT frozen FROM heads WHERE scope = ?`, []any{s.id}, &frozen)
	if err == nil && frozen != 0 {
		err = store.HeldBack(op)
	}
	return err
}

// warmOnly is the condition on rows of a table with a scope that no legal hold
// is on it.
const warmOnly = ` AND scope NOT IN (SELECT scope FROM heads INDEXED BY heads_frozen WHERE frozen > 0)`

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
	err := db.r.each(ctx, `SELECT s.kind, `+sealing.NameOf("s")+`, t.actor, t.why, h.frozen, c.at,
			(SELECT count(*) FROM records r INDEXED BY records_due WHERE r.expires_at <= ?1 AND r.expires_at < 9223372036854775807 AND r.expired = 0 AND r.scope = h.scope)
			+ (SELECT count(*) FROM held d INDEXED BY held_due WHERE d.sealed IS NOT NULL AND d.expires_at <= ?1 AND d.scope = h.scope)
		FROM heads h INDEXED BY heads_frozen JOIN subjects s ON s.scope = h.scope
		JOIN chain c ON c.scope = h.scope AND c.seq = h.frozen JOIN trail t ON t.scope = h.scope AND t.seq = h.frozen
		WHERE h.frozen > 0 AND s.tenant = ?2 AND (s.kind, s.external_id) > (?3, ?4) ORDER BY s.kind, s.external_id LIMIT ?5`,
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
	err = db.r.row(ctx, `SELECT count(*), ifnull(min((SELECT c.at FROM chain c WHERE c.scope = h.scope AND c.seq = h.frozen)), 9223372036854775807), ifnull(sum((SELECT count(*) FROM records r INDEXED BY records_due WHERE r.expires_at <= ?1 AND r.expires_at < 9223372036854775807 AND r.expired = 0 AND r.scope = h.scope)
			+ (SELECT count(*) FROM held d INDEXED BY held_due WHERE d.sealed IS NOT NULL AND d.expires_at <= ?1 AND d.scope = h.scope)), 0)
		FROM heads h INDEXED BY heads_frozen WHERE h.frozen > 0`, []any{column.Start(now)}, &f.Holds, &oldest, &f.Overdue)
	f.Oldest = column.From(oldest)
	return f, failure("frozen", err)
}
