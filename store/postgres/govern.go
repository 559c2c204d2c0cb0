package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/archiving"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var (
	_ store.Governor = (*DB)(nil)
	_ store.Served   = (*DB)(nil)
)

// AgedOut implements store.Governor.
func (db *DB) AgedOut(ctx context.Context, now time.Time, limit int) ([]store.AgedOut, error) {
	const op = "aged out"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	type owned struct {
		tenant              string
		scope, seq, expires int64
	}
	var found []owned
	if err := db.worker().each(ctx, `SELECT tenant, scope, seq, expires_at FROM tenet.held WHERE kept AND expires_at <= $1`+warmOnly+` ORDER BY scope, seq LIMIT $2`,
		[]any{column.End(now), limit}, func(rs *rows) error {
			var o owned
			err := rs.Scan(&o.tenant, &o.scope, &o.seq, &o.expires)
			found = append(found, o)
			return err
		}); err != nil {
		return nil, failure(op, err)
	}
	var out []store.AgedOut
	for _, o := range found {
		var kind int64
		var id string
		a := store.AgedOut{}
		a.ExpiresAt = column.From(o.expires)
		err := db.in(o.tenant).row(ctx, `SELECT s.kind, `+sealing.NameOf("s")+`, t.ref FROM tenet.subjects s JOIN tenet.trail t ON t.scope = s.scope
			WHERE s.scope = $1 AND t.seq = $2`, []any{o.scope, o.seq}, &kind, &id, &a.Candidate)
		if errors.Is(err, pgx.ErrNoRows) {
			continue // erased
		}
		if err == nil {
			a.Scope, err = scopeOf(o.tenant, kind, id)
		}
		if err != nil {
			return nil, failure(op, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// OpenHolds implements store.Governor.
func (db *DB) OpenHolds(ctx context.Context, now time.Time) (out store.OpenHolds, err error) {
	var oldest int64
	err = db.worker().row(ctx, `SELECT (SELECT count(*) FROM (SELECT 1 FROM tenet.held WHERE state = 'open' AND kept AND expires_at > $1 LIMIT $2) AS open),
		coalesce((SELECT c.at FROM (SELECT scope, seq FROM tenet.held WHERE state = 'open' AND kept AND expires_at > $1 ORDER BY expires_at LIMIT 1) h
			JOIN tenet.chain c ON c.scope = h.scope AND c.seq = h.seq), 9223372036854775807)`,
		[]any{column.Start(now), store.OpenHoldsMost}, &out.Held, &oldest)
	out.Oldest = column.From(oldest)
	return out, failure("open holds", err)
}

// Stored implements store.Governor.
func (db *DB) Stored(ctx context.Context, tenant string) (s gate.Stored, err error) {
	err = db.in(tenant).row(ctx, `SELECT coalesce(sum(records), 0)::bigint, coalesce(sum(bytes), 0)::bigint, count(CASE WHEN records > 0 THEN 1 END)
		FROM tenet.heads WHERE tenant = $1`, []any{sealing.Plain(tenant)}, &s.Records, &s.Bytes, &s.Subjects)
	return s, failure("stored", err)
}

// Records implements store.Governor.
func (db *DB) Records(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int) ([]tenet.Record, error) {
	const op = "records"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	p, err := db.head(ctx, op, scope)
	if err != nil {
		return nil, err
	}
	var row int64
	if after != "" {
		err := db.at(scope).of(p.id).row(ctx, `SELECT n FROM tenet.records WHERE scope = $1 AND id = $2`, []any{p.id, string(after)}, &row)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, failure(op, err)
		}
	}
	rs, err := subject{scope: scope, id: p.id}.records(ctx, db.at(scope), `WHERE scope = $1 AND n > $2 ORDER BY n LIMIT $3`, p.id, row, limit)
	if err != nil {
		return nil, failure(op, err)
	}
	return rs, nil
}

// OriginsAt implements store.Governor.
func (db *DB) OriginsAt(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID, at time.Time) (map[tenet.RecordID][]tenet.Origin, error) {
	const op = "origins"
	p, err := db.head(ctx, op, scope)
	if err != nil {
		return nil, err
	}
	var out map[tenet.RecordID][]tenet.Origin
	err = db.at(scope).snapshot(ctx, func(c conn) error {
		out, err = archiving.OriginsAt(sharedTx{c.of(p.id), ctx}, p.id, scope.Key(), ids, at)
		return err
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Heads implements store.Governor.
func (db *DB) Heads(ctx context.Context, after string, limit int) ([]store.ChainHead, error) {
	const op = "heads"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	var last int64
	if after != "" {
		var err error
		if last, err = store.ChainOf(after); err != nil {
			return nil, err
		}
	}
	var out []store.ChainHead
	err := db.worker().each(ctx, `SELECT scope, audit, hash FROM tenet.heads WHERE scope > $1 AND audit > 0 ORDER BY scope LIMIT $2`, []any{last, limit}, func(rs *rows) error {
		var h store.ChainHead
		var scope, seq int64
		if err := rs.Scan(&scope, &seq, &h.Hash); err != nil {
			return err
		}
		h.Chain, h.Seq = store.ChainName(scope), uint64(seq)
		out = append(out, h)
		return nil
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// ChainName implements store.Governor.
func (db *DB) ChainName(ctx context.Context, scope tenet.Scope) (string, error) {
	p, err := db.head(ctx, "chain", scope)
	if err != nil || p.Audit == 0 {
		return "", err
	}
	return store.ChainName(p.id), nil
}

// EntryAt implements store.Governor.
func (db *DB) EntryAt(ctx context.Context, chain string, seq uint64) ([]byte, error) {
	n, err := store.ChainOf(chain)
	if err != nil {
		return nil, err
	}
	var hash []byte
	err = db.worker().row(ctx, `SELECT hash FROM tenet.chain WHERE scope = $1 AND seq = $2`, []any{n, int64(seq)}, &hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, failure("entry", err)
	}
	return hash, nil
}

// ServedWith implements store.Served. It reads the receipts of the scope, and of
// those of whose sessions one may read it.
func (db *DB) ServedWith(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID) ([]store.ScopedReceipt, error) {
	const op = "served"
	if scope.IsZero() {
		return nil, invalid(op, "no scope")
	}
	wanted := make(map[tenet.RecordID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	named := func(id tenet.RecordID) bool { return wanted[id] }
	type served struct {
		n int64
		store.ScopedReceipt
	}
	var found []served
	err := db.at(scope).each(ctx, `SELECT s.kind, `+sealing.NameOf("s")+`, n.external_id, r.n, r.at, r.body
		FROM (SELECT scope FROM tenet.subjects WHERE tenant = $1 AND kind = $2 AND external_id = $3
			UNION SELECT scope FROM tenet.elsewhere WHERE author = $4) x
		JOIN tenet.subjects s ON s.scope = x.scope JOIN tenet.session_names n ON n.scope = s.scope JOIN tenet.receipts r ON r.scope = n.scope AND r.sid = n.sid
		WHERE s.tenant = $1`, append(db.names(scope), db.master().Author(scope.Tenant(), scope.Key())), func(rs *rows) error {
		var f served
		var kind, at int64
		var id, session string
		var body []byte
		if err := rs.Scan(&kind, &id, &session, &f.n, &at, &body); err != nil {
			return err
		}
		r, err := column.DecodeReceipt(body)
		if err != nil || !slices.ContainsFunc(r.Facts, named) && !slices.ContainsFunc(r.Recalled, named) {
			return err
		}
		r.Session, r.At = tenet.SessionID(session), column.From(at)
		f.Receipt = r
		f.Scope, err = scopeOf(scope.Tenant(), kind, id)
		found = append(found, f)
		return err
	})
	if err != nil {
		return nil, failure(op, err)
	}
	slices.SortFunc(found, func(a, b served) int {
		return cmp.Or(cmp.Compare(a.Scope.Key(), b.Scope.Key()), cmp.Compare(a.Session, b.Session), cmp.Compare(a.n, b.n))
	})
	out := make([]store.ScopedReceipt, len(found))
	for i, f := range found {
		out[i] = f.ScopedReceipt
	}
	return out, nil
}
