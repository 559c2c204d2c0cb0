package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// bury writes tombstones and drops the texts of what has aged out.
func (w *writing) bury(p gate.Plan) error {
	for _, t := range p.Tombs {
		fp := store.StatementDigest(w.key, t.Statement)
		d := store.TombDigest(w.key, fp, t.Kind, t.Label)
		if err := w.c.exec(`INSERT INTO tenet.tombstones (scope, statement, seq, kind, label, at, digest) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			w.id, fp, int64(w.seq), int64(t.Kind), int64(t.Label), column.Start(w.at), d); err != nil {
			return err
		}
		w.Tombs = append(w.Tombs, d)
		w.tombs++
	}
	slices.SortFunc(w.Tombs, bytes.Compare)
	for _, id := range slices.Sorted(slices.Values(p.Aged)) {
		if err := w.age(id); err != nil {
			return err
		}
	}
	return nil
}

// age drops the sealed text of one refused candidate. What somebody decided
// about it stays.
func (w *writing) age(id tenet.CandidateID) error {
	var seq int64
	var gone bool
	err := w.c.row(bg, `SELECT h.seq, h.sealed IS NULL FROM tenet.trail t JOIN tenet.held h ON h.scope = t.scope AND h.seq = t.seq
		WHERE t.scope = $1 AND t.ref = $2 AND t.content IS NOT NULL`, []any{w.id, string(id)}, &seq, &gone)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return absent("apply", "hold")
	case err != nil:
		return err
	case gone:
		return conflict("apply", "the text is gone already")
	}
	w.Aged = append(w.Aged, id)
	return w.c.exec(`UPDATE tenet.held SET sealed = NULL, aged_seq = $1, state = CASE WHEN settled_seq = 0 THEN 'expired' ELSE state END
		WHERE scope = $2 AND seq = $3`, int64(w.seq), w.id, seq)
}

// blocked is what the tombstones say about a statement and what it rests on.
func (s subject) blocked(ctx context.Context, c conn, q gate.Query) (b gate.Block, err error) {
	b.Subject = s.gone
	// What was erased of a namesake, or before the scope was brought here.
	if q.Statement != "" {
		if b.Erased, _, err = s.goneStatement(ctx, c, q.Statement); err != nil {
			return b, err
		}
	}
	for _, source := range q.Sources {
		at, _, err := s.goneStatement(ctx, c, source)
		if err != nil {
			return b, err
		}
		b.Source = b.Source || !at.IsZero()
	}
	if s.id == 0 {
		return b, nil
	}
	find := func(statement string, f func(kind gate.TombKind, label tenet.Label, at time.Time)) error {
		return c.each(ctx, `SELECT kind, label, at FROM tenet.tombstones WHERE scope = $1 AND statement = $2`,
			[]any{s.id, store.StatementDigest(s.key, statement)}, func(rs *rows) error {
				var kind gate.TombKind
				var label tenet.Label
				var at int64
				err := rs.Scan(&kind, &label, &at)
				f(kind, label, column.From(at))
				return err
			})
	}
	if q.Statement != "" {
		if err := find(q.Statement, func(kind gate.TombKind, label tenet.Label, at time.Time) {
			switch kind {
			case gate.TombRejected:
				b.Rejected = max(b.Rejected, label)
			case gate.TombErased:
				b.Erased = later(b.Erased, at)
			}
		}); err != nil {
			return b, err
		}
	}
	for _, source := range q.Sources {
		if err := find(source, func(gate.TombKind, tenet.Label, time.Time) { b.Source = true }); err != nil {
			return b, err
		}
	}
	return b, nil
}

// block is blocked under the write lock, without a look where there is nothing.
func (l *ledger) block(q gate.Query) (gate.Block, error) {
	if l.tombs == 0 && l.gone.IsZero() {
		return gate.Block{}, nil
	}
	return l.blocked(bg, l.c, q)
}

// tombstones gathers what entries buried.
func (v *verifier) tombstones() error {
	if err := v.c.each(v.ctx, `SELECT seq, statement, kind, label, at, digest FROM tenet.tombstones WHERE scope = $1`, []any{v.id}, func(rs *rows) error {
		var seq, at int64
		var fp, digest []byte
		var kind gate.TombKind
		var label tenet.Label
		if err := rs.Scan(&seq, &fp, &kind, &label, &at, &digest); err != nil {
			return err
		}
		w := v.of(seq)
		if !bytes.Equal(digest, store.TombDigest(v.key, fp, kind, label)) {
			w.note("a tombstone was altered")
		}
		w.Tombs = append(w.Tombs, digest)
		w.stamps = append(w.stamps, at)
		slices.SortFunc(w.Tombs, bytes.Compare)
		return nil
	}); err != nil {
		return err
	}
	return v.c.each(v.ctx, `SELECT h.aged_seq, t.ref FROM tenet.held h JOIN tenet.trail t ON t.scope = h.scope AND t.seq = h.seq
		WHERE h.scope = $1 AND h.aged_seq <> 0 ORDER BY t.ref`, []any{v.id}, func(rs *rows) error {
		var seq int64
		var ref string
		if err := rs.Scan(&seq, &ref); err != nil {
			return err
		}
		w := v.of(seq)
		w.Aged = append(w.Aged, tenet.CandidateID(ref))
		return nil
	})
}
