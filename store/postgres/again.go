package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/cutting"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/sealing"
)

// Again implements store.Eraser.
func (db *DB) Again(ctx context.Context, d gate.Decision, j store.Journaled) (store.Erased, error) {
	const op = "erase again"
	var out store.Erased
	if err := store.CheckAgain(d, j); err != nil {
		return out, err
	}
	tenant, err := db.tenantOf(ctx, j)
	if err != nil {
		return out, failure(op, err)
	}
	err = db.write(ctx, op, tenant, func(c conn) error {
		out = store.Erased{}
		var one int
		if err := c.row(bg, `SELECT 1 FROM tenet.erasures WHERE id = $1`, []any{sealing.Plain(j.ID)}, &one); !errors.Is(err, pgx.ErrNoRows) {
			return err // it was carried out before the backup was made
		}
		e := &erasure{db: db, c: c, plan: d.Plan(), decided: j.At}
		e.out = store.Erased{ID: j.ID, What: j.What, At: e.plan.At, Counts: map[string]int{}}
		for _, name := range j.Chains {
			l, err := e.byChain(name)
			if err != nil {
				return err
			}
			if l != nil {
				e.plan.Scope = l.scope
				if err := e.whole(l); err != nil {
					return err
				}
			}
		}
		for _, p := range j.Parts {
			l, err := e.byChain(p.Chain)
			if err != nil {
				return err
			}
			if l == nil {
				continue
			}
			items := map[string]bool{}
			for _, i := range p.Items {
				items[string(i)] = true
			}
			e.plan.Scope = l.scope
			if err := e.part(l, erasing.Selector{Items: items}, true, p.Tombs...); err != nil {
				return err
			}
		}
		if err := e.gone(j.At, 0, j.Gone...); err != nil {
			return err
		}
		out = e.out
		return e.note()
	})
	db.facts.clear()
	db.seats.clear()
	db.rooms.Recount()
	return out, err
}

// tenantOf is the tenant whose chains a journal names; a name that is no
// tenant's when none is here.
func (db *DB) tenantOf(ctx context.Context, j store.Journaled) (string, error) {
	names := slices.Clone(j.Chains)
	for _, p := range j.Parts {
		names = append(names, p.Chain)
	}
	for _, name := range names {
		id, err := store.ChainOf(name)
		if err != nil {
			return "", err
		}
		var tenant string
		err = db.worker().row(ctx, `SELECT tenant FROM tenet.heads WHERE scope = $1`, []any{id}, &tenant)
		if err == nil || !errors.Is(err, pgx.ErrNoRows) {
			return tenant, err
		}
	}
	return "\u0001", nil
}

// ownerOf is the scope behind a surrogate, zero when it was erased.
func ownerOf(c conn, id int64) (tenet.Scope, error) {
	var tenant, name string
	var kind int64
	err := c.row(bg, `SELECT s.tenant, s.kind, `+sealing.NameOf("s")+` FROM tenet.subjects s WHERE s.scope = $1`, []any{id}, &tenant, &kind, &name)
	if errors.Is(err, pgx.ErrNoRows) {
		return tenet.Scope{}, nil
	}
	if err != nil {
		return tenet.Scope{}, err
	}
	return scopeOf(tenant, kind, name)
}

// Unknown implements store.Eraser.
func (db *DB) Unknown(ctx context.Context, ids []string) ([]string, error) {
	known := map[string]bool{}
	err := db.in("\u0001").each(ctx, `SELECT id FROM tenet.erasures`, nil, func(rs *rows) error {
		var id string
		err := rs.Scan(&id)
		known[id] = true
		return err
	})
	if err != nil {
		return nil, failure("unknown", err)
	}
	var out []string
	for _, id := range ids {
		if !known[id] {
			out = append(out, id)
		}
	}
	return out, nil
}

// byChain opens the scope of a surrogate, nil when it is nobody's.
func (e *erasure) byChain(name string) (*ledger, error) {
	id, err := store.ChainOf(name)
	if err != nil {
		return nil, err
	}
	scope, err := ownerOf(e.c, id)
	if err != nil || scope.IsZero() {
		return nil, err
	}
	return e.open(scope)
}

// buryAgain leaves tombstones by their digests.
func (w *writing) buryAgain(statements [][]byte) error {
	for _, fp := range statements {
		n, err := w.c.affect(`INSERT INTO tenet.tombstones (scope, statement, seq, kind, label, at, digest) VALUES ($1, $2, $3, $4, 0, $5, $6) ON CONFLICT DO NOTHING`,
			w.id, fp, int64(w.seq), int64(gate.TombErased), column.Start(w.at), store.TombDigest(w.key, fp, gate.TombErased, 0))
		if err != nil {
			return err
		}
		if n > 0 {
			w.Tombs = append(w.Tombs, store.TombDigest(w.key, fp, gate.TombErased, 0))
			w.tombs++
		}
	}
	slices.SortFunc(w.Tombs, bytes.Compare)
	return nil
}

// Erasures implements store.Eraser.
func (db *DB) Erasures(ctx context.Context, tenant string, limit int) ([]store.ErasureState, error) {
	const op = "erasures"
	if tenant == "" || limit < 0 {
		return nil, invalid(op, "no tenant, or a negative limit")
	}
	var out []store.ErasureState
	err := db.in(tenant).each(ctx, `SELECT id, what, at, scope, seq, state, counts FROM tenet.erasures WHERE owner = $1 ORDER BY at DESC, id LIMIT $2`,
		[]any{db.master().Owner(tenant), limit}, func(rs *rows) error {
			var e store.ErasureState
			var at, scope, seq int64
			var counts string
			if err := rs.Scan(&e.ID, &e.What, &at, &scope, &seq, &e.State, &counts); err != nil {
				return err
			}
			e.At, e.Chain, e.Seq = column.From(at), store.ChainName(scope), uint64(seq)
			out = append(out, e)
			return json.Unmarshal([]byte(counts), &out[len(out)-1].Counts)
		})
	return out, failure(op, err)
}

// Purge implements store.Eraser. Erased rows are gone from the live tables when
// the transaction is; their dead versions go with vacuum, which needs the
// tables' owner and is not this program's to run. So it only notes that there
// is nothing left for it to do. What stays in the write-ahead log and in backups
// is said in docs/erasure.md.
func (db *DB) Purge(ctx context.Context) error {
	const op = "purge"
	// What was pending before the keys went is done when they are gone.
	var ids []string
	if err := db.in("\u0001").each(ctx, `SELECT id FROM tenet.erasures WHERE state = $1`, []any{sealing.Plain(store.ErasurePending)}, func(rs *rows) error {
		var id string
		err := rs.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil || len(ids) == 0 {
		return failure(op, err)
	}
	if err := db.destroy(ctx); err != nil {
		return failure(op, err)
	}
	return db.write(ctx, op, "\u0001", func(c conn) error {
		return c.exec(`UPDATE tenet.erasures SET state = $1 WHERE id = ANY($2)`, sealing.Plain(store.ErasureDone), ids)
	})
}

// Residue implements store.Eraser.
func (db *DB) Residue(ctx context.Context, j store.Journaled) (map[string]int, error) {
	const op = "residue"
	out := map[string]int{}
	tenant, err := db.tenantOf(ctx, j)
	if err != nil {
		return nil, failure(op, err)
	}
	err = db.in(tenant).snapshot(ctx, func(c conn) error {
		for _, name := range j.Chains {
			id, err := store.ChainOf(name)
			if err != nil {
				return err
			}
			left, err := erasing.Left(sharedTx{c.of(id), bg}, id)
			if err != nil {
				return err
			}
			for place, n := range left {
				out[place] += n
			}
		}
		for _, p := range j.Parts {
			id, err := store.ChainOf(p.Chain)
			if err != nil {
				return err
			}
			scope, err := ownerOf(c, id)
			if err != nil {
				return err
			}
			if scope.IsZero() {
				continue // it went whole later
			}
			s, err := db.find(ctx, c, op, scope)
			if err != nil {
				return err
			}
			if err := erasing.Residue(db.erasing(s, c), p.Items, out); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return out, failure(op, err)
	}
	return out, nil
}

// Chain implements store.Eraser.
func (db *DB) Chain(ctx context.Context, chain string, seq uint64, hash []byte) (string, error) {
	id, err := store.ChainOf(chain)
	if err != nil {
		return "", err
	}
	tenant, err := db.tenantOf(ctx, store.Journaled{Chains: []string{chain}})
	if err != nil {
		return "", failure("chain", err)
	}
	var why string
	err = db.in(tenant).snapshot(ctx, func(c conn) error {
		why, err = cutting.Links(sharedTx{c, ctx}, db.master(), id, seq, hash)
		return err
	})
	return why, failure("chain", err)
}
