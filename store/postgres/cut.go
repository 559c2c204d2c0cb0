package postgres

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/cutting"
)

var _ store.Cutter = (*DB)(nil)

// CutOf implements store.Governor.
func (db *DB) CutOf(ctx context.Context, chain string) (store.Cut, error) {
	id, err := store.ChainOf(chain)
	if err != nil {
		return store.Cut{}, err
	}
	c, err := cutting.Last(sharedTx{db.worker(), ctx}, db.master(), id)
	return c, failure("cut", err)
}

// cuts gathers for verify what cuts left: of the last one all, of earlier ones
// their digests.
func (v *verifier) cuts() error {
	tx := sharedTx{v.c, v.ctx}
	last, err := cutting.Each(tx, v.id, func(seq int64, digest []byte, altered bool) {
		w := v.of(seq)
		w.Cut = digest
		if altered {
			w.note("the sealed head of the chain was altered")
		}
	})
	if err != nil {
		return err
	}
	v.cut, err = cutting.Last(tx, v.master, v.id)
	if tenet.KindOf(err) == tenet.Internal || err == nil && last != v.cut.Upto {
		v.find(1, "the sealed head of the chain was altered")
		return nil
	}
	return err
}

// Cut implements store.Cutter.
func (db *DB) Cut(ctx context.Context, d gate.Decision) (out store.Cut, err error) {
	const op = "cut"
	if err := store.CheckCut(d); err != nil {
		return out, err
	}
	p := d.Plan()
	damaged := false
	err = db.write(ctx, op, p.Scope.Tenant(), func(c conn) error {
		out, damaged = store.Cut{}, false
		if s, err := db.find(bg, c, op, p.Scope); err != nil {
			return err
		} else if s.id == 0 {
			return absent(op, "subject")
		}
		l, err := db.open(c, p.Scope)
		if err != nil {
			return err
		}
		if l.frozen != 0 {
			return store.HeldBack(op)
		}
		if err := l.c.exec(`UPDATE tenet.heads SET cut_at = $1 WHERE scope = $2`, column.Start(p.At), l.id); err != nil {
			return err
		}
		out, damaged, err = l.cut(p)
		return err
	})
	switch {
	case err != nil:
		return store.Cut{}, err
	case damaged: // that it was tried is noted: others have their turn
		return store.Cut{}, tenet.Errorf(tenet.Internal, op, "the chain does not verify, so nothing of it is cut off: run verify")
	}
	return out, nil
}

// cut removes what nothing needs, and puts the sealed head in its place.
func (l *ledger) cut(p gate.Plan) (cut store.Cut, damaged bool, err error) {
	v := verifier{subject: l.subject, c: l.c, ctx: bg, at: map[uint64]*work{}, marking: true}
	if err := v.all(); err != nil || !v.result.OK() {
		return cut, true, err
	}
	// Known times are strictly increasing, so what is from before a time is the
	// beginning of the chain.
	upto := v.cut.Upto
	if err := l.c.row(bg, `SELECT coalesce(max(seq), 0) FROM tenet.chain WHERE scope = $1 AND at < $2`, []any{l.id, column.Start(p.Before)}, &cut.Upto); err != nil {
		return cut, false, err
	}
	upto = max(upto, cut.Upto)
	tx := sharedTx{l.c, bg}
	found, err := cutting.Find(tx, l.id, upto, v.marks)
	if err != nil || !found.Worth(v.marks) {
		return store.Cut{}, false, err
	}
	cut = cutting.Head(v.cut, upto, v.marks, found)
	w := l.writing(p)
	cut.Chain, cut.Seq, cut.At = store.ChainName(l.id), w.seq, w.at
	body, sig := l.master.SignCut(cut)
	w.Written.Cut = store.CutDigest(body)
	if _, err := w.append(p, &p); err != nil {
		return cut, false, err
	}
	if err := l.save(); err != nil {
		return cut, false, err
	}
	if err := found.Remove(tx, l.id); err != nil {
		return cut, false, err
	}
	if err := l.c.exec(`INSERT INTO tenet.cuts (scope, seq, upto, digest, body, sig) VALUES ($1, $2, $3, $4, $5, $6)`,
		l.id, int64(w.seq), int64(upto), w.Written.Cut, body, sig); err != nil {
		return cut, false, err
	}
	if err := l.c.exec(`UPDATE tenet.heads SET cut = $1, reset = greatest(reset, $2) WHERE scope = $3`, int64(upto), found.Lost, l.id); err != nil {
		return cut, false, err
	}
	// The application's role has no right to remove entries: the schema's owner
	// does it for it, and looks again at what may go.
	var n int64
	if err := l.c.row(bg, `SELECT tenet.cut($1, $2)`, []any{l.id, found.Seqs()}, &n); err != nil {
		return cut, false, err
	}
	if uint64(n) != cut.Removed {
		return cut, false, tenet.Errorf(tenet.Internal, "cut", "%d entries were removed, and not %d", n, cut.Removed)
	}
	return cut, false, nil
}

// Uncut implements store.Cutter.
func (db *DB) Uncut(ctx context.Context, before, since time.Time, limit int) ([]tenet.Scope, error) {
	const op = "uncut"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	type owned struct {
		tenant string
		scope  int64
	}
	var out []tenet.Scope
	var last owned
	for at := int64(column.NoStart); len(out) < limit; { // chains of erased subjects are passed over
		var found []owned
		if err := db.worker().each(ctx, `SELECT h.tenant, h.scope, h.cut_at FROM tenet.heads h JOIN tenet.chain c ON c.scope = h.scope AND c.seq = h.cut + 1
			WHERE h.cut_at < $1 AND h.frozen = 0 AND c.at < $2 AND (h.cut_at, h.scope) > ($3, $4) ORDER BY h.cut_at, h.scope LIMIT $5`,
			[]any{column.Start(since), column.Start(before), at, last.scope, limit}, func(rs *rows) error {
				err := rs.Scan(&last.tenant, &last.scope, &at)
				found = append(found, last)
				return err
			}); err != nil {
			return nil, failure(op, err)
		}
		for _, o := range found {
			scope, err := db.ownerOf(ctx, o.tenant, o.scope)
			if store.Nameless(err) {
				continue
			}
			if err != nil {
				return nil, failure(op, err)
			}
			if !scope.IsZero() && len(out) < limit {
				out = append(out, scope)
			}
		}
		if len(found) < limit {
			break
		}
	}
	return out, nil
}
