package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

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
	err := db.write(ctx, op, func(c conn) error {
		out = store.Erased{}
		var one int
		if err := c.row(bg, `SELECT 1 FROM erasures WHERE id = ?`, []any{sealing.Plain(j.ID)}, &one); !errors.Is(err, sql.ErrNoRows) {
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
	db.rooms.Recount()
	db.surrogates.Clear()
	return out, err
}

// Unknown implements store.Eraser.
func (db *DB) Unknown(ctx context.Context, ids []string) ([]string, error) {
	known := map[string]bool{}
	err := db.r.each(ctx, `SELECT id FROM erasures`, nil, func(rs *rows) error {
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
	scope, err := ownerOf(bg, e.c, id)
	if err != nil || scope.IsZero() {
		return nil, err
	}
	return e.open(scope)
}

// buryAgain leaves tombstones by their digests.
func (w *writing) buryAgain(statements [][]byte) error {
	for _, fp := range statements {
		n, err := w.c.affect(`INSERT INTO tombstones (scope, statement, seq, kind, label, at, digest) VALUES (?, ?, ?, ?, 0, ?, ?) ON CONFLICT DO NOTHING`,
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
	err := db.r.each(ctx, `SELECT id, what, at, scope, seq, state, counts FROM erasures WHERE owner = ? ORDER BY at DESC, id LIMIT ?`,
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

// purgeTries bounds how long Purge waits for readers: about a second.
const purgeTries = 12

// Purge implements store.Eraser. Rows that were deleted are overwritten in the
// file (secure_delete); what the write-ahead log holds of them goes when the
// log is folded into the file and cut. A reader in a transaction stands in the
// way of that without an error: only the first column of the answer tells.
func (db *DB) Purge(ctx context.Context) error {
	const op = "purge"
	if db.w == nil {
		return tenet.Errorf(tenet.Unavailable, op, "the database file is read-only")
	}
	var pending int
	if err := db.r.row(ctx, `SELECT count(*) FROM erasures WHERE state = ?`, []any{sealing.Plain(store.ErasurePending)}, &pending); err != nil || pending == 0 {
		return failure(op, err)
	}
	var ids []string
	if err := db.r.each(ctx, `SELECT id FROM erasures WHERE state = ?`, []any{sealing.Plain(store.ErasurePending)}, func(rs *rows) error {
		var id string
		err := rs.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return failure(op, err)
	}
	if err := db.destroy(ctx); err != nil {
		return failure(op, err)
	}
	for n := 0; ; n++ {
		busy, err := db.fold(ctx)
		if err != nil {
			return failure(op, err)
		}
		if !busy {
			break
		}
		if n == purgeTries {
			return tenet.Errorf(tenet.Unavailable, op, "readers hold the log open after %d tries", n)
		}
		if err := pause(ctx, n); err != nil {
			return failure(op, err)
		}
	}
	return db.write(ctx, op, func(c conn) error {
		for _, id := range ids {
			if err := c.exec(`UPDATE erasures SET state = ? WHERE id = ?`, sealing.Plain(store.ErasureDone), sealing.Plain(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// fold moves the log into the file and cuts it; busy says that nothing, or not
// all, was moved.
func (db *DB) fold(ctx context.Context) (busy bool, err error) {
	var b, log, moved int
	err = db.w.pool.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&b, &log, &moved)
	if isBusy := err != nil && tenet.KindOf(failure("purge", err)) == tenet.Unavailable && ctx.Err() == nil; isBusy {
		return true, nil
	}
	return b != 0, err
}

// Residue implements store.Eraser.
func (db *DB) Residue(ctx context.Context, j store.Journaled) (map[string]int, error) {
	const op = "residue"
	out := map[string]int{}
	err := db.r.snapshot(ctx, func(c conn) error {
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
			scope, err := ownerOf(ctx, c, id)
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
	var why string
	err = db.r.snapshot(ctx, func(c conn) error {
		why, err = cutting.Links(sharedTx{c, ctx}, db.master(), id, seq, hash)
		return err
	})
	return why, failure("chain", err)
}
