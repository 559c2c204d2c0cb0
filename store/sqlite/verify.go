package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/cutting"
)

// Verify implements store.Trail. It reads the whole scope on one snapshot,
// gathers what every entry wrote from the rows that carry its number, and
// holds it against the chain.
func (db *DB) Verify(ctx context.Context, scope tenet.Scope) (store.Verification, error) {
	const op = "verify"
	v := verifier{at: map[uint64]*work{}}
	// A damaged index hides rows from those who read through it, and the chain
	// knows nothing of indexes.
	sound, err := db.sound(ctx)
	if err != nil {
		return store.Verification{}, failure(op, err)
	}
	if !sound {
		v.find(1, "the file or an index of it is damaged")
		return v.result, nil
	}
	err = db.r.snapshot(ctx, func(c conn) error {
		s, err := db.find(ctx, c, op, scope)
		if tenet.KindOf(err) == tenet.Internal {
			v.find(1, "the subject's data key was altered")
			return nil
		}
		if err != nil || s.id == 0 {
			return err
		}
		v.subject, v.c, v.ctx = s, c, ctx
		return v.all()
	})
	if err != nil {
		return store.Verification{}, failure(op, err)
	}
	return v.result, nil
}

// soundFor is how long a look at the whole file counts, so that verifying every
// scope of it looks once.
const soundFor = 10 * time.Second

// sound reports whether the file and its indexes agree.
func (db *DB) sound(ctx context.Context) (bool, error) {
	db.checked.mu.Lock()
	defer db.checked.mu.Unlock()
	if time.Since(db.checked.at) < soundFor {
		return db.checked.ok, nil
	}
	ok := true
	err := db.r.each(ctx, `PRAGMA integrity_check(1)`, nil, func(rs *rows) error {
		var line string
		err := rs.Scan(&line)
		ok = ok && line == "ok"
		return err
	})
	if err != nil && tenet.KindOf(failure("verify", err)) == tenet.Unavailable && ctx.Err() == nil {
		ok, err = false, nil // too damaged to be looked at
	}
	if err == nil {
		db.checked.at, db.checked.ok = time.Now(), ok
	}
	return ok, err
}

// all reads everything and holds it against the chain.
func (v *verifier) all() error {
	for _, read := range []func() error{v.cuts, v.records, v.evidence, v.agreements, v.retained, v.tombstones, v.holds, v.stages, v.erasures, v.waiting, v.chain} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

type verifier struct {
	subject
	c      conn
	ctx    context.Context
	at     map[uint64]*work
	after  map[uint64]store.ErasedMark // what erasures left of entries
	cut    store.Cut                   // the chain's sealed head
	marks  []cutting.Entry             // of every entry, when marking, for a cut
	result store.Verification

	marking bool
}

// work is what the rows say that one entry wrote.
type work struct {
	store.Written
	stamps    []int64 // known times that must be the entry's own
	positions []int64 // Text positions that must be the entry's own
	fact      bool    // a fact changed
	held      tenet.HoldState
	sealed    []byte
	settled   int64
	aged      int64 // the entry that dropped its text
	expires   int64
	kept      [][]byte // evidence kept with a record
	left      []left   // and what expiry left of it
	why       string   // what was found wrong in its rows already
}

func (v *verifier) of(seq int64) *work {
	w := v.at[uint64(seq)]
	if w == nil {
		w = &work{Written: store.Written{Records: map[string][]byte{}}}
		v.at[uint64(seq)] = w
	}
	return w
}

func (w *work) note(format string, args ...any) {
	if w.why == "" {
		w.why = fmt.Sprintf(format, args...)
	}
}

// find keeps the first finding by entry.
func (v *verifier) find(seq uint64, why string) {
	if v.result.Why == "" || seq < v.result.Bad {
		v.result.Bad, v.result.Why = seq, why
	}
}

// records reads one record with its agreements at a time.
func (v *verifier) records() error {
	own := v.scope.Key()
	agreed := map[string][][]tenet.Origin{}
	if err := v.c.each(v.ctx, `SELECT record, origins FROM corroborations WHERE scope = ? ORDER BY seq`, []any{v.id}, func(rs *rows) error {
		var id string
		var b []byte
		if err := rs.Scan(&id, &b); err != nil {
			return err
		}
		os, _ := column.DecodeOrigins(b, own) // damage is found where the entry is checked
		agreed[id] = append(agreed[id], os)
		return nil
	}); err != nil {
		return err
	}
	return v.c.each(v.ctx, `SELECT `+recordColumns+`, digest, size, seq, closed_seq, expired_seq, added, removed, origins
		FROM records WHERE scope = ? ORDER BY seq, rowid`, []any{v.id}, func(rs *rows) error {
		var digest, base []byte
		var size int
		var seq, closed, expired, added, removed int64
		r, err := v.scan(rs, own, &digest, &size, &seq, &closed, &expired, &added, &removed, &base)
		if err != nil {
			if tenet.KindOf(err) != tenet.Internal {
				return err
			}
			v.find(max(uint64(seq), 1), "a record's row is damaged")
			return nil
		}
		v.result.Records++
		w := v.of(seq)
		w.RecordIDs = append(w.RecordIDs, string(r.ID))
		w.Records[string(r.ID)] = digest
		w.stamps = append(w.stamps, column.Start(r.Known.From))
		fact := r.Tier == tenet.TierFact
		w.fact = w.fact || fact
		if !fact {
			w.positions = append(w.positions, added)
		}
		if fact && added != 0 || fact && removed != 0 {
			w.note("a record is placed in recall where it never was")
		}

		whole := r
		if r.Origins, err = column.DecodeOrigins(base, own); err != nil {
			w.note("a record's origins were altered")
		}
		r.Known.To = time.Time{}
		now := store.RecordDigest(v.key, r)
		if expired == 0 && !bytes.Equal(digest, now) {
			w.note("a record was altered")
		}
		if r.Expired && (r.Text != "" || r.Value != nil || r.Signature != "") {
			w.note("an expired record holds text")
		}
		var more []tenet.Origin
		seen := 1
		for _, a := range agreed[string(r.ID)] {
			n := len(more)
			if more = column.Union(r.Origins, more, a); len(more) > n {
				seen++
			}
		}
		if r.Seen-seen != 0 && r.FragmentOf == "" || !slices.Equal(whole.Origins, append(slices.Clone(r.Origins), more...)) {
			w.note("a record's count or origins are not what agreed with it")
		}
		if size != r.RenderedSize() {
			w.note("a record's size was altered")
		}

		gone := int64(0) // when recall lost it
		if closed != 0 {
			cw := v.of(closed)
			cw.Closed = append(cw.Closed, gate.Close{Record: r.ID, Reason: r.Closed, By: r.SupersededBy})
			cw.stamps = append(cw.stamps, column.Start(whole.Known.To))
			cw.fact = cw.fact || fact
			gone = closed
		} else if !whole.Known.Open() || r.Closed != "" || r.SupersededBy != "" {
			w.note("a record was closed by no entry")
		}
		if whole.Known.Open() && closed != 0 {
			v.of(closed).note("a closed record was opened again")
		}
		if expired != 0 {
			ew := v.of(expired)
			ew.Expired = append(ew.Expired, r.ID)
			ew.RecordIDs = append(ew.RecordIDs, string(r.ID))
			ew.Records[string(r.ID)] = now
			ew.fact = ew.fact || fact
			if !r.Expired {
				ew.note("an expired record was brought back")
			}
			if gone == 0 || expired < gone {
				gone = expired
			}
		} else if r.Expired && r.FragmentOf == "" {
			w.note("a record was expired by no entry")
		}
		switch {
		case fact:
		case gone != 0:
			v.of(gone).positions = append(v.of(gone).positions, removed)
		case removed != 0:
			w.note("a record was taken out of recall by no entry")
		}
		return nil
	})
}

// evidence of an expired record belongs to two entries: to the first by the
// digest it was kept with, to the one that expired it by what is left.
func (v *verifier) evidence() error {
	return v.c.each(v.ctx, `SELECT e.record, e.seq, e.n, e.message, e.session, e.role, e.label, e.excerpt, e.said_at, e.digest, ifnull(r.expired_seq, 0)
		FROM evidence e LEFT JOIN records r ON r.scope = e.scope AND r.id = e.record WHERE e.scope = ? ORDER BY e.seq, e.record, e.n`, []any{v.id}, func(rs *rows) error {
		var e tenet.Evidence
		var record tenet.RecordID
		var seq, said, expired int64
		var n int
		var digest []byte
		if err := rs.Scan(&record, &seq, &n, &e.Message, &e.Session, &e.Role, &e.Label, &e.Excerpt, &said, &digest, &expired); err != nil {
			return err
		}
		e.SaidAt = column.From(said)
		w := v.of(seq)
		if n != len(w.kept) {
			w.note("evidence is missing or out of order")
		}
		w.kept = append(w.kept, digest)
		now := store.EvidenceDigest(v.key, record, e)
		switch {
		case expired != 0:
			ew := v.of(expired)
			ew.left = append(ew.left, left{record, now})
			if e.Excerpt != "" {
				w.note("evidence of an expired record holds text")
			}
		case !bytes.Equal(digest, now):
			w.note("evidence was altered")
		}
		return nil
	})
}

// left is the digest of evidence whose excerpt was dropped.
type left struct {
	record tenet.RecordID
	digest []byte
}

func (v *verifier) agreements() error {
	return v.c.each(v.ctx, `SELECT c.seq, c.record, c.origins, ifnull(r.tier, 0) FROM corroborations c
		LEFT JOIN records r ON r.scope = c.scope AND r.id = c.record WHERE c.scope = ?`, []any{v.id}, func(rs *rows) error {
		var seq int64
		var a gate.Agreement
		var b []byte
		var tier tenet.Tier
		if err := rs.Scan(&seq, &a.Record, &b, &tier); err != nil {
			return err
		}
		var err error
		w := v.of(seq)
		if a.Origins, err = column.DecodeOrigins(b, v.scope.Key()); err != nil {
			w.note("an agreement was altered")
		}
		w.Agreed = &a
		w.fact = w.fact || tier == tenet.TierFact
		return nil
	})
}

func (v *verifier) holds() error {
	return v.c.each(v.ctx, `SELECT h.seq, h.state, h.settled_seq, h.aged_seq, h.sealed, h.expires_at, ifnull(t.ref, '') FROM held h
		LEFT JOIN trail t ON t.scope = h.scope AND t.seq = h.seq WHERE h.scope = ?`, []any{v.id}, func(rs *rows) error {
		var seq, settled, aged, expires int64
		var state tenet.HoldState
		var ref string
		var sealed []byte
		if err := rs.Scan(&seq, &state, &settled, &aged, &sealed, &expires, &ref); err != nil {
			return err
		}
		w := v.of(seq)
		w.held, w.sealed, w.settled, w.aged, w.expires = state, sealed, settled, aged, expires
		if settled != 0 {
			v.of(settled).Settled = &gate.Settlement{Candidate: tenet.CandidateID(ref), State: state}
		}
		return nil
	})
}

func (v *verifier) stages() error {
	last := map[int64]int64{}
	return v.c.each(v.ctx, `SELECT seq, sid, from_pos, to_pos, count FROM stages WHERE scope = ? ORDER BY seq`, []any{v.id}, func(rs *rows) error {
		var seq, sid int64
		var m store.StageMark
		if err := rs.Scan(&seq, &sid, &m.From, &m.To, &m.Count); err != nil {
			return err
		}
		w := v.of(seq)
		if from, known := last[sid]; m.From != from && (known || v.cut.IsZero()) {
			w.note("a consolidated stretch is missing before this one")
		}
		last[sid] = m.To
		m.Session = v.about("session", sid, "")
		w.Stage = &m
		return nil
	})
}

// waiting opens the staged candidates.
func (v *verifier) waiting() error {
	return v.c.each(v.ctx, `SELECT sid, candidate, content, sealed FROM staged WHERE scope = ?`, []any{v.id}, func(rs *rows) error {
		var sid int64
		var id string
		var content, sealed []byte
		if err := rs.Scan(&sid, &id, &content, &sealed); err != nil {
			return err
		}
		c, _, err := v.unsealStaged(sealed, sid, id)
		if err != nil || !bytes.Equal(content, store.ContentDigest(v.key, c)) {
			v.find(math.MaxUint64, "a staged candidate was altered")
		}
		return nil
	})
}

// chain walks the entries and compares.
func (v *verifier) chain() error {
	var text, frozen uint64
	stats, sleep, facts := v.cut.Stats, v.cut.Sleep, v.cut.Facts
	walk, err := store.NewWalk(v.cut)
	if err != nil {
		v.find(1, "the sealed head of the chain was altered")
		walk, _ = store.NewWalk(store.Cut{})
	}
	// A subject that came back goes on where its namesake ended.
	if err := v.c.row(v.ctx, `SELECT base FROM heads WHERE scope = ?`, []any{v.id}, &text); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !v.cut.IsZero() {
		text = v.cut.Text
	}
	err = v.entries(v.ctx, v.c, `1`, nil, math.MaxInt, func(e tenet.AuditEntry, verdict tenet.Verdict, content []byte) error {
		v.result.Entries++
		w := v.of(int64(e.Seq))
		delete(v.at, e.Seq)
		carried, past, bad, why := walk.Step(e)
		if why != "" {
			v.find(bad, why)
		}
		left, emptied := v.after[e.Seq]
		did := w.did() | left.Did
		if e.Action == gate.Erase.String() {
			did |= store.DidText | store.DidFact // every index is built anew
		}
		switch e.Action {
		case gate.Freeze.String():
			frozen = e.Seq
		case gate.Thaw.String():
			frozen = 0
		}
		if past { // what it moved before the cut, the sealed head says
			if did&store.DidText != 0 {
				text++
			}
			if did&store.DidFact != 0 {
				facts = e.Seq
			}
			if did&store.DidStats != 0 {
				stats++
			}
			if did&store.DidSleep != 0 {
				sleep++
			}
			carried = text
		}
		if v.marking {
			v.marks = append(v.marks, cutting.Entry{Carried: store.Carried{Seq: e.Seq, Text: carried, Hash: e.Hash}, Action: e.Action, Stats: stats, Sleep: sleep, Fact: facts})
		}
		for _, at := range w.stamps {
			if at != column.Start(e.At) {
				w.note("a record's known time is not the entry's")
			}
		}
		for _, pos := range w.positions {
			if pos != int64(carried) {
				w.note("a record's place in recall was altered")
			}
		}
		if !emptied || w.held != "" {
			v.checkHold(e, w)
		}
		if w.why != "" {
			v.find(e.Seq, w.why)
		}
		want := e.Digest
		if emptied {
			want = left.Digest
		}
		if !bytes.Equal(want, w.digest(v.key, e, verdict, content)) {
			v.find(e.Seq, "the rows are not those that the entry wrote")
		}
		return nil
	})
	if err != nil {
		if tenet.KindOf(err) != tenet.Internal {
			return err
		}
		v.find(walk.Next(), "the entry's row is damaged")
		return nil
	}
	if bad, why := walk.End(); why != "" {
		v.find(bad, why)
	}
	next := walk.Next()
	for seq := range v.at {
		v.find(seq, "rows that no entry of the chain wrote")
	}
	var h store.Head
	var factsAt, lastAt, staged, tombs, frozenAt, cut int64
	var hash []byte
	err = v.c.row(v.ctx, `SELECT text, stats, audit, sleep, facts, last_at, hash, staged - (SELECT count(*) FROM staged WHERE scope = ?1), tombs - (SELECT count(*) FROM tombstones WHERE scope = ?1), frozen, cut
		FROM heads WHERE scope = ?1`,
		[]any{v.id}, &h.Text, &h.Stats, &h.Audit, &h.Sleep, &factsAt, &lastAt, &hash, &staged, &tombs, &frozenAt, &cut)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		v.find(next, "the scope's head is missing")
	case err != nil:
		return err
	case h.Audit != next-1 || !bytes.Equal(hash, walk.Prev()) || lastAt != column.Start(walk.Last()):
		v.find(next, "the end of the chain is missing")
	case h.Text != text || h.Stats != stats || h.Sleep != sleep || uint64(factsAt) != facts:
		v.find(next, "the scope's head was altered")
	case uint64(cut) != v.cut.Upto:
		v.find(next, "the scope's head does not say where the chain was cut")
	case uint64(frozenAt) != frozen:
		v.find(next, "the legal hold is not the one that was placed")
	case tombs != 0:
		v.find(next, "the tombstones are not those that were left")
	case staged != 0:
		v.find(next, "the staged candidates are not those that were staged")
	}
	return nil
}

// did is what the rows say the entry moved.
func (w *work) did() (n int64) {
	if len(w.positions) > 0 {
		n |= store.DidText
	}
	if w.fact {
		n |= store.DidFact
	}
	if w.Agreed != nil || w.Tally != nil {
		n |= store.DidStats
	}
	if len(w.Rests) > 0 {
		n |= store.DidSleep
	}
	return n
}

// digest is the entry's digest as its rows stand.
func (w *work) digest(key store.DataKey, e tenet.AuditEntry, verdict tenet.Verdict, content []byte) []byte {
	w.Ref, w.Actor, w.Why, w.Content, w.Verdict = e.Ref, e.Actor, e.Why, content, verdict
	slices.Sort(w.RecordIDs)
	slices.Sort(w.Expired)
	slices.Sort(w.Aged)
	slices.SortFunc(w.Rests, func(a, b gate.Rest) int { return cmp.Compare(a.Record, b.Record) })
	if w.Tally != nil {
		slices.Sort(w.Tally.Records)
	}
	slices.SortStableFunc(w.left, func(a, b left) int { return cmp.Compare(a.record, b.record) })
	w.Evidence = w.kept
	for _, l := range w.left {
		w.Evidence = append(w.Evidence, l.digest)
	}
	slices.SortFunc(w.Closed, func(a, b gate.Close) int { return cmp.Compare(a.Record, b.Record) })
	return store.EntryDigest(key, w.Written)
}

// checkHold holds a refused candidate's row against its verdict.
func (v *verifier) checkHold(e tenet.AuditEntry, w *work) {
	refused := e.Outcome == tenet.Quarantined || e.Outcome == tenet.Rejected
	initial := tenet.HoldOpen
	if e.Outcome == tenet.Rejected {
		initial = tenet.HoldRefused
	}
	switch {
	case !refused && w.held == "":
	case !refused:
		w.note("a held candidate that the entry does not know")
	case w.held == "":
		w.note("the refused candidate is missing")
	case w.aged != 0 && (w.sealed != nil || w.settled == 0 && w.held != tenet.HoldExpired):
		w.note("a text that had run out was brought back")
	case w.settled == 0 && w.aged == 0 && w.held != initial:
		w.note("a hold was settled by no entry")
	case w.sealed == nil && w.aged == 0 && w.held != tenet.HoldExpired:
		w.note("the refused candidate's text is missing")
	case w.sealed != nil:
		c, err := v.unseal(w.sealed, v.aboutHeld(int64(e.Seq), e.Ref, w.expires))
		if err != nil || string(c.ID) != e.Ref {
			w.note("the refused candidate was altered")
		}
	}
}
