package postgres

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var (
	_ store.Retention = (*DB)(nil)
	_ store.Servings  = (*DB)(nil)
)

// retain writes the counters of a Stats decision and the states of a Dormancy
// decision. They name records that are there, believed or not: a late report
// about a closed record harms nothing.
func (w *writing) retain(p gate.Plan) error {
	named := func(id tenet.RecordID) error {
		var one int
		err := w.c.row(bg, `SELECT 1 FROM tenet.records WHERE scope = $1 AND id = $2`, []any{w.id, string(id)}, &one)
		if errors.Is(err, pgx.ErrNoRows) {
			return absent("apply", "record")
		}
		return err
	}
	if t := p.Tally; t != nil {
		for _, id := range t.Records {
			if err := named(id); err != nil {
				return err
			}
			if err := w.c.exec(`INSERT INTO tenet.outcomes (scope, seq, record, success, at) VALUES ($1, $2, $3, $4, $5)`,
				w.id, int64(w.seq), string(id), t.Success, column.Start(w.at)); err != nil {
				return err
			}
		}
		w.head.Stats++
		w.Tally = t
	}
	for _, r := range p.Rests {
		if err := named(r.Record); err != nil {
			return err
		}
		if err := w.c.exec(`INSERT INTO tenet.retention (scope, seq, record, dormant, pinned, low_since, served_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			w.id, int64(w.seq), string(r.Record), r.Dormant, r.Pinned, column.Start(r.LowSince), column.Start(r.ServedAt)); err != nil {
			return err
		}
	}
	if len(p.Rests) > 0 {
		w.head.Sleep++
		w.Rests = p.Rests
	}
	return nil
}

// Sleeping implements store.Retention.
func (db *DB) Sleeping(ctx context.Context, scope tenet.Scope) ([]tenet.RecordID, error) {
	const op = "sleeping"
	p, err := db.head(ctx, op, scope)
	if err != nil || p.Sleep == 0 {
		return nil, err
	}
	var out []tenet.RecordID
	err = db.at(scope).each(ctx, `SELECT l.record FROM (SELECT DISTINCT ON (record) record, dormant FROM tenet.retention WHERE scope = $1 ORDER BY record, seq DESC) l
		JOIN tenet.records r ON r.scope = $1 AND r.id = l.record WHERE l.dormant AND r.removed = 0`, []any{p.id}, func(rs *rows) error {
		var id tenet.RecordID
		err := rs.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, failure(op, err)
	}
	slices.Sort(out)
	return out, nil
}

// Uses implements store.Retention.
func (db *DB) Uses(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int, halfLife time.Duration, now time.Time) ([]store.Use, error) {
	const op = "uses"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	var most any // NULL: no limit
	if limit > 0 {
		most = limit
	}
	var out []store.Use
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		p, err := c.head(ctx, op, scope)
		if err != nil {
			return err
		}
		c = c.of(p.id)
		var added, n int64
		if after != "" {
			if err := c.row(ctx, `SELECT added, n FROM tenet.records WHERE scope = $1 AND id = $2`, []any{p.id, string(after)}, &added, &n); err == pgx.ErrNoRows {
				return absent(op, "record")
			} else if err != nil {
				return err
			}
		}
		rs, err := (subject{scope: scope, id: p.id}).records(ctx, c, `WHERE scope = $1 AND added > 0 AND removed = 0 AND (added, n) > ($2, $3) ORDER BY added, n LIMIT $4`,
			p.id, added, n, most)
		if err != nil || len(rs) == 0 {
			return err
		}
		of, args := ``, []any{p.id}
		if limit > 0 {
			ids := make(sealing.Texts, len(rs))
			for i, r := range rs {
				ids[i] = string(r.ID)
			}
			of, args = ` AND record = ANY($2)`, append(args, ids)
		}
		at := make(map[tenet.RecordID]*store.Use, len(rs))
		out = make([]store.Use, len(rs))
		for i, r := range rs {
			out[i].Record = r
			at[r.ID] = &out[i]
		}
		if err := c.each(ctx, `SELECT record, success, at FROM tenet.outcomes WHERE scope = $1`+of+` ORDER BY seq`, args, func(rs *rows) error {
			var id tenet.RecordID
			var success bool
			var when int64
			if err := rs.Scan(&id, &success, &when); err != nil {
				return err
			}
			u := at[id]
			if u == nil {
				return nil
			}
			t := column.From(when)
			n := math.Exp2(-float64(max(0, now.Sub(t))) / float64(halfLife))
			if success {
				u.Success += n
			} else {
				u.Failure += n
			}
			if success && t.After(u.CreditedAt) {
				u.CreditedAt = t
			}
			return nil
		}); err != nil {
			return err
		}
		return c.each(ctx, `SELECT DISTINCT ON (record) record, dormant, pinned, low_since, served_at FROM tenet.retention
			WHERE scope = $1`+of+` ORDER BY record, seq DESC`, args, func(rs *rows) error {
			var id tenet.RecordID
			var dormant, pinned bool
			var low, served int64
			if err := rs.Scan(&id, &dormant, &pinned, &low, &served); err != nil {
				return err
			}
			if u := at[id]; u != nil {
				u.Dormant, u.Pinned, u.LowSince, u.ServedAt = dormant, pinned, column.From(low), column.From(served)
			}
			return nil
		})
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Unswept implements store.Retention.
func (db *DB) Unswept(ctx context.Context, since time.Time, limit int) ([]tenet.Scope, error) {
	const op = "unswept"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	type owned struct {
		tenant string
		scope  int64
	}
	var found []owned
	if err := db.worker().each(ctx, `SELECT tenant, scope FROM tenet.heads WHERE swept_at < $1 AND text > 0 ORDER BY swept_at, scope LIMIT $2`,
		[]any{column.Start(since), limit}, func(rs *rows) error {
			var o owned
			err := rs.Scan(&o.tenant, &o.scope)
			found = append(found, o)
			return err
		}); err != nil {
		return nil, failure(op, err)
	}
	var out []tenet.Scope
	for _, o := range found {
		scope, err := db.ownerOf(ctx, o.tenant, o.scope)
		if err != nil {
			return nil, failure(op, err)
		}
		if !scope.IsZero() {
			out = append(out, scope)
		}
	}
	return out, nil
}

// Swept implements store.Retention.
func (db *DB) Swept(ctx context.Context, scope tenet.Scope, at time.Time) error {
	const op = "swept"
	if scope.IsZero() {
		return invalid(op, "no scope")
	}
	return db.write(ctx, op, scope.Tenant(), func(c conn) error {
		return c.exec(`UPDATE tenet.heads SET swept_at = $1 WHERE scope = (SELECT scope FROM tenet.subjects WHERE tenant = $2 AND kind = $3 AND external_id = $4)`,
			append([]any{column.Start(at)}, db.names(scope)...)...)
	})
}

// Served implements store.Servings.
func (db *DB) Served(ctx context.Context, scope tenet.Scope, since time.Time) (map[tenet.RecordID]time.Time, error) {
	const op = "served"
	s, err := db.find(ctx, db.at(scope), op, scope)
	if err != nil || s.id == 0 {
		return nil, err
	}
	out := map[tenet.RecordID]time.Time{}
	err = db.at(scope).each(ctx, `SELECT at, body FROM tenet.receipts WHERE scope = $1 AND at >= $2 ORDER BY at`, []any{s.id, column.Start(since)}, func(rs *rows) error {
		var at int64
		var body []byte
		if err := rs.Scan(&at, &body); err != nil {
			return err
		}
		r, err := column.DecodeReceipt(body)
		for _, id := range r.Recalled {
			out[id] = column.From(at)
		}
		return err
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// retained gathers for verify what entries said about retention.
func (v *verifier) retained() error {
	if err := v.c.each(v.ctx, `SELECT seq, record, success, at FROM tenet.outcomes WHERE scope = $1 ORDER BY seq, record`, []any{v.id}, func(rs *rows) error {
		var seq, at int64
		var id tenet.RecordID
		var success bool
		if err := rs.Scan(&seq, &id, &success, &at); err != nil {
			return err
		}
		w := v.of(seq)
		if w.Tally == nil {
			w.Tally = &gate.Tally{Success: success}
		}
		if w.Tally.Success != success {
			w.note("an outcome was altered")
		}
		w.Tally.Records = append(w.Tally.Records, id)
		w.stamps = append(w.stamps, at)
		return nil
	}); err != nil {
		return err
	}
	return v.c.each(v.ctx, `SELECT seq, record, dormant, pinned, low_since, served_at FROM tenet.retention WHERE scope = $1 ORDER BY seq, record`, []any{v.id}, func(rs *rows) error {
		var seq, low, served int64
		var r gate.Rest
		if err := rs.Scan(&seq, &r.Record, &r.Dormant, &r.Pinned, &low, &served); err != nil {
			return err
		}
		r.LowSince, r.ServedAt = column.From(low), column.From(served)
		w := v.of(seq)
		w.Rests = append(w.Rests, r)
		return nil
	})
}
