package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

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
	var out []store.AgedOut
	err := db.r.each(ctx, `SELECT s.tenant, s.kind, `+sealing.NameOf("s")+`, t.ref, h.expires_at
		FROM held h INDEXED BY held_due JOIN subjects s ON s.scope = h.scope JOIN trail t ON t.scope = h.scope AND t.seq = h.seq
		WHERE h.sealed IS NOT NULL AND h.expires_at <= ? AND NOT EXISTS (SELECT 1 FROM heads x WHERE x.scope = h.scope AND x.frozen > 0) ORDER BY h.scope, h.seq LIMIT ?`, []any{column.End(now), limit}, func(rs *rows) error {
		var a store.AgedOut
		var tenant, id string
		var kind, expires int64
		if err := rs.Scan(&tenant, &kind, &id, &a.Candidate, &expires); err != nil {
			return err
		}
		a.ExpiresAt = column.From(expires)
		var err error
		a.Scope, err = scopeOf(tenant, kind, id)
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// OpenHolds implements store.Governor.
func (db *DB) OpenHolds(ctx context.Context, now time.Time) (out store.OpenHolds, err error) {
	var oldest int64
	err = db.r.row(ctx, `SELECT (SELECT count(*) FROM (SELECT 1 FROM held INDEXED BY held_open WHERE state = 'open' AND sealed IS NOT NULL AND expires_at > ?1 LIMIT ?2)),
		ifnull((SELECT c.at FROM held h INDEXED BY held_open JOIN chain c ON c.scope = h.scope AND c.seq = h.seq
			WHERE h.state = 'open' AND h.sealed IS NOT NULL AND h.expires_at > ?1 ORDER BY h.expires_at LIMIT 1), 9223372036854775807)`,
		[]any{column.Start(now), store.OpenHoldsMost}, &out.Held, &oldest)
	out.Oldest = column.From(oldest)
	return out, failure("open holds", err)
}

// Stored implements store.Governor.
func (db *DB) Stored(ctx context.Context, tenant string) (s gate.Stored, err error) {
	err = db.r.row(ctx, `SELECT ifnull(sum(h.records), 0), ifnull(sum(h.bytes), 0), count(CASE WHEN h.records > 0 THEN 1 END)
		FROM subjects s JOIN heads h ON h.scope = s.scope WHERE s.tenant = ?`, []any{sealing.Plain(tenant)}, &s.Records, &s.Bytes, &s.Subjects)
	return s, failure("stored", err)
}

// Records implements store.Governor.
func (db *DB) Records(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int) ([]tenet.Record, error) {
	const op = "records"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	p, err := db.head(ctx, db.r, op, scope)
	if err != nil {
		return nil, err
	}
	var row int64
	if after != "" {
		err := db.r.of(p.id).row(ctx, `SELECT rowid FROM records WHERE scope = ? AND id = ?`, []any{p.id, string(after)}, &row)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, failure(op, err)
		}
	}
	rs, err := subject{scope: scope, id: p.id}.records(ctx, db.r, `WHERE rowid IN (SELECT rowid FROM records WHERE scope = ? AND rowid > ? ORDER BY rowid LIMIT ?) ORDER BY rowid`, p.id, row, limit)
	if err != nil {
		return nil, failure(op, err)
	}
	return rs, nil
}

// OriginsAt implements store.Governor.
func (db *DB) OriginsAt(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID, at time.Time) (map[tenet.RecordID][]tenet.Origin, error) {
	const op = "origins"
	p, err := db.head(ctx, db.r, op, scope)
	if err != nil {
		return nil, err
	}
	var out map[tenet.RecordID][]tenet.Origin
	err = db.r.snapshot(ctx, func(c conn) error {
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
	err := db.r.each(ctx, `SELECT scope, audit, hash FROM heads WHERE scope > ? AND audit > 0 ORDER BY scope LIMIT ?`, []any{last, limit}, func(rs *rows) error {
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
	p, err := db.head(ctx, db.r, "chain", scope)
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
	err = db.r.row(ctx, `SELECT hash FROM chain WHERE scope = ? AND seq = ?`, []any{n, int64(seq)}, &hash)
	if errors.Is(err, sql.ErrNoRows) {
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
	err := db.r.each(ctx, `SELECT s.kind, `+sealing.NameOf("s")+`, n.external_id, r.n, r.at, r.body
		FROM (SELECT scope FROM subjects WHERE tenant = ?1 AND kind = ?2 AND external_id = ?3
			UNION SELECT scope FROM elsewhere WHERE author = ?4) x
		JOIN subjects s ON s.scope = x.scope JOIN session_names n ON n.scope = s.scope JOIN receipts r ON r.sid = n.sid
		WHERE s.tenant = ?1`, append(db.names(scope), db.master().Author(scope.Tenant(), scope.Key())), func(rs *rows) error {
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
