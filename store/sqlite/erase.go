package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/sealing"
)

var _ store.Eraser = (*DB)(nil)

// undone ends a dry run.
type undone struct{}

func (undone) Error() string { return "a dry run was undone" }

// Erase implements store.Eraser.
func (db *DB) Erase(ctx context.Context, d gate.Decision, o store.EraseOptions) (store.Erased, error) {
	const op = "erase"
	p := d.Plan()
	switch {
	case d.IsZero():
		return store.Erased{}, tenet.Errorf(tenet.Refused, op, "the decision was not made by the gate")
	case p.Kind != gate.Erase || p.Erase == nil:
		return store.Erased{}, invalid(op, "another kind of decision")
	}
	var out store.Erased
	err := db.write(ctx, op, func(c conn) error {
		e := &erasure{db: db, c: c, plan: p}
		e.out = store.Erased{ID: p.Ref, What: p.Erase.What(), At: p.At, Counts: map[string]int{}}
		if err := e.run(); err != nil {
			return err
		}
		out = e.out
		if o.DryRun {
			return callbackError{undone{}}
		}
		if err := e.note(); err != nil {
			return err
		}
		if o.Journal != nil {
			if err := o.Journal(e.out.Journal); err != nil {
				return callbackError{err}
			}
		}
		return nil
	})
	if errors.As(err, &undone{}) {
		out.Chain, out.Seq, out.Hash = "", 0, nil
		err = nil
	}
	if err != nil {
		return store.Erased{}, err
	}
	db.facts.clear()
	db.rooms.Recount()
	db.surrogates.Clear() // they are found by their names
	return out, nil
}

// erasure is one erasure under the write lock.
type erasure struct {
	db   *DB
	c    conn
	plan gate.Plan
	out  store.Erased
	// decided is when what is carried out again was decided; else zero.
	decided time.Time
}

func (e *erasure) run() error {
	p := e.plan
	var one int
	if err := e.c.row(bg, `SELECT 1 FROM erasures WHERE id = ?`, []any{sealing.Plain(p.Ref)}, &one); !errors.Is(err, sql.ErrNoRows) {
		if err == nil {
			err = conflict("erase", "the erasure's id was used")
		}
		return err
	}
	e.out.Journal = store.Journaled{ID: p.Ref, At: p.At, What: p.Erase.What()}
	scopes := []tenet.Scope{p.Scope}
	if p.Erase.Tenant {
		var err error
		if scopes, err = e.tenant(p.Scope.Tenant()); err != nil {
			return err
		}
	}
	found := false
	for _, scope := range scopes {
		if s, err := e.db.find(bg, e.c, "erase", scope); err != nil {
			return err
		} else if s.id == 0 {
			continue
		}
		found = true
		l, err := e.open(scope)
		if err != nil {
			return err
		}
		if p.Erase.Whole() {
			err = e.whole(l)
		} else {
			err = e.part(l, erasing.Selector{Selection: *p.Erase}, true)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return absent("erase", "subject")
	}
	if len(e.out.Counts) == 0 {
		return tenet.Errorf(tenet.NotFound, "erase", "nothing that is kept matches")
	}
	e.out.Journal.At = e.out.At
	return nil
}

// tenant lists the scopes of a tenant, its own last: what people left there
// goes with them.
func (e *erasure) tenant(name string) (out []tenet.Scope, err error) {
	err = e.c.each(bg, `SELECT s.kind, `+sealing.NameOf("s")+` FROM subjects s WHERE s.tenant = ? ORDER BY s.kind, s.external_id`, []any{sealing.Plain(name)}, func(rs *rows) error {
		var kind int64
		var id string
		if err := rs.Scan(&kind, &id); err != nil {
			return err
		}
		s, err := scopeOf(name, kind, id)
		out = append(out, s)
		return err
	})
	return out, err
}

// open locks a scope to erase from it. One legal hold stops the whole erasure;
// not one that carries out again what was decided after the hold was placed:
// the hold was lifted in between, and an older backup brought it back.
func (e *erasure) open(scope tenet.Scope) (*ledger, error) {
	l, err := e.db.open(e.c, scope)
	if err != nil || l.frozen == 0 {
		return l, err
	}
	var at int64
	if err := e.c.row(bg, `SELECT at FROM chain WHERE scope = ? AND seq = ?`, []any{l.id, l.frozen}, &at); err != nil {
		return nil, err
	}
	if column.From(at).Before(e.decided) {
		return l, nil
	}
	return nil, store.HeldBack("erase")
}

// whole removes a subject: its rows, its name, its data key, and what it left
// with others. Its chain stays, under a surrogate that is nobody's any more.
func (e *erasure) whole(l *ledger) error {
	tx := sharedTx{e.c.of(l.id), bg}
	statements, err := erasing.Statements(e.db.erasing(l.subject, e.c))
	if err != nil {
		return err
	}
	if !e.plan.Erase.Tenant {
		if err := e.elsewhere(l.scope); err != nil {
			return err
		}
	}
	head := l.head.Text
	w := l.writing(e.plan)
	entry, err := w.append(e.plan, nil)
	if err != nil {
		return err
	}
	l.head.Text, l.facts, l.staged, l.tombs = head+1, entry.Seq, 0, 0
	l.stored = gate.Stored{}
	if err := l.save(); err != nil {
		return err
	}
	if err := erasing.Whole(tx, l.id, e.out.Counts); err != nil {
		return err
	}
	if err := e.shred(l.id); err != nil {
		return err
	}
	if err := e.gone(entry.At, l.head.Text+1, e.db.master().GoneSubject(l.scope)); err != nil {
		return err
	}
	var marks [][]byte
	for _, s := range statements {
		marks = append(marks, e.db.master().GoneStatement(l.scope, s))
	}
	if err := e.gone(entry.At, 0, marks...); err != nil {
		return err
	}
	if err := e.keys(l.scope); err != nil {
		return err
	}
	e.out.Journal.Chains = append(e.out.Journal.Chains, store.ChainName(l.id))
	e.at(l, entry)
	return nil
}

// gone leaves the marks by which what went is known again: a subject's with the
// position at which a namesake goes on counting, a statement's with none.
func (e *erasure) gone(at time.Time, text uint64, marks ...[]byte) error {
	e.out.Journal.Gone = append(e.out.Journal.Gone, marks...)
	hexes := make([]string, len(marks)) // one statement, however many there are
	for i, m := range marks {
		hexes[i] = hex.EncodeToString(m)
	}
	list, err := json.Marshal(hexes)
	if err != nil {
		return err
	}
	return e.c.exec(`INSERT INTO gone (mark, at, text) SELECT unhex(value), ?, ? FROM json_each(?) WHERE true
		ON CONFLICT (mark) DO UPDATE SET at = max(at, excluded.at), text = max(text, excluded.text)`, column.Start(at), int64(text), sealing.Plain(string(list)))
}

// at notes the entry that the receipt names: the last, or the selected scope's.
func (e *erasure) at(l *ledger, entry tenet.AuditEntry) {
	if e.out.Seq == 0 || l.scope == e.plan.Scope {
		e.out.Chain, e.out.Seq, e.out.Hash, e.out.At = store.ChainName(l.id), entry.Seq, entry.Hash, entry.At
	}
}

// elsewhere removes what a subject left in other scopes.
func (e *erasure) elsewhere(scope tenet.Scope) error {
	a := erasing.Author{Scope: scope}
	if scope.Subject().Kind() == tenet.SubjectUser {
		a.Principal = tenet.EndUser.String() + ":" + scope.Subject().ID()
	}
	marks := [][]byte{e.db.master().Author(scope.Tenant(), a.Principal), e.db.master().Author(scope.Tenant(), scope.Key())}
	var ids []int64
	if err := e.c.each(bg, `SELECT DISTINCT scope FROM elsewhere WHERE author IN (?, ?) ORDER BY scope`, []any{marks[0], marks[1]}, func(rs *rows) error {
		var id int64
		err := rs.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return err
	}
	for _, id := range ids {
		other, err := ownerOf(bg, e.c, id)
		if err != nil {
			return err
		}
		if other.IsZero() || other == scope {
			continue
		}
		l, err := e.open(other)
		if err != nil {
			return err
		}
		if err := e.part(l, erasing.Selector{Author: a}, false); err != nil {
			return err
		}
	}
	n, err := e.c.affect(`DELETE FROM elsewhere WHERE author IN (?, ?)`, marks[0], marks[1])
	if n > 0 {
		e.out.Counts["elsewhere"] += int(n)
	}
	return err
}

// part removes a selection from a scope that stays. again are digests of
// statements whose tombstones are to be left a second time.
func (e *erasure) part(l *ledger, sel erasing.Selector, words bool, again ...[]byte) error {
	before, err := l.digests()
	if err != nil {
		return err
	}
	p, err := erasing.Erase(e.db.erasing(l.subject, e.c), sel)
	if err != nil {
		return err
	}
	if len(p.Counts) == 0 && len(again) == 0 {
		return nil
	}
	after, err := l.digests()
	if err != nil {
		return err
	}
	w := l.writing(e.plan)
	for seq, was := range before {
		if is := after[seq]; was.sound && !bytes.Equal(was.digest, is.digest) {
			w.Erased = append(w.Erased, store.ErasedMark{Seq: int64(seq), Did: was.did, Digest: is.digest})
		}
	}
	slices.SortFunc(w.Erased, func(a, b store.ErasedMark) int { return int(a.Seq - b.Seq) })
	for _, m := range w.Erased {
		if err := e.c.exec(`INSERT INTO erased (scope, by_seq, seq, did, digest) VALUES (?, ?, ?, ?, ?)`, l.id, int64(w.seq), m.Seq, m.Did, m.Digest); err != nil {
			return err
		}
	}
	if err := w.bury(gate.Plan{Tombs: p.Tombs}); err != nil {
		return err
	}
	if err := w.buryAgain(again); err != nil {
		return err
	}
	plan := e.plan
	if !words { // in another's scope it is an erasure, and nobody's name
		plan.Actor, plan.Ref, plan.Why = "erasure", "", ""
	}
	entry, err := w.append(plan, &plan)
	if err != nil {
		return err
	}
	l.staged -= p.Staged
	if l.stored, err = erasing.Stored(sharedTx{e.c, bg}, l.id); err != nil {
		return err
	}
	l.head.Text, l.facts = w.pos, w.seq
	if err := l.save(); err != nil {
		return err
	}
	if err := e.c.exec(`UPDATE heads SET reset = text, dense = dense + 1, sleep = ? WHERE scope = ?`, int64(l.head.Sleep), l.id); err != nil {
		return err
	}
	part := store.JournaledPart{Chain: store.ChainName(l.id), Items: p.Items}
	var marks [][]byte
	for _, t := range p.Tombs {
		part.Tombs = append(part.Tombs, store.StatementDigest(l.key, t.Statement))
		// What the scope's own tombstones say, for a database that never held it.
		marks = append(marks, e.db.master().GoneStatement(l.scope, t.Statement))
	}
	if err := e.gone(entry.At, 0, marks...); err != nil {
		return err
	}
	e.out.Journal.Parts = append(e.out.Journal.Parts, part)
	for place, n := range p.Counts {
		e.out.Counts[place] += n
	}
	if words {
		e.out.Records, e.out.Kept = p.Records, p.Kept
		e.at(l, entry)
	}
	return nil
}

// keys removes API keys that speak for the subject alone, and takes it out of
// those that speak for others too.
func (e *erasure) keys(scope tenet.Scope) error {
	var all []tenet.Key
	if err := e.c.each(bg, `SELECT `+keyColumns+` FROM keys WHERE tenant = ?`, []any{sealing.Plain(scope.Tenant())}, func(rs *rows) error {
		k, err := scanKey(rs)
		all = append(all, k)
		return err
	}); err != nil {
		return err
	}
	name := scope.Subject().String()
	for _, k := range all {
		own := k.Kind == tenet.EndUser && scope.Subject().Kind() == tenet.SubjectUser && k.Name == scope.Subject().ID()
		if !own && !e.plan.Erase.Tenant && !slices.Contains(k.Subjects, name) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(k.Subjects), func(s string) bool { return s == name })
		query, args := `DELETE FROM keys WHERE id = ?`, []any{sealing.Plain(k.ID)}
		if !own && !e.plan.Erase.Tenant && len(rest) > 0 {
			var enc column.Encoder
			column.EncodeStrings(&enc, rest)
			query, args = `UPDATE keys SET subjects = ? WHERE id = ?`, []any{sealing.Content(enc.B), sealing.Plain(k.ID)}
		}
		n, err := e.c.of(sealing.Everybody).affect(query, args...)
		if err != nil {
			return err
		}
		if n > 0 {
			e.out.Counts["keys"] += int(n)
		}
	}
	return nil
}

// note keeps the erasure's row: how it stands, without content.
func (e *erasure) note() error {
	counts, err := json.Marshal(e.out.Counts)
	if err != nil {
		return err
	}
	var chain int64
	state, owner := store.ErasurePending, e.db.master().Owner(e.plan.Scope.Tenant())
	if e.out.Seq == 0 { // repeated where there was nothing of it: known, and done
		state = store.ErasureDone
	} else if chain, err = store.ChainOf(e.out.Chain); err != nil {
		return err
	}
	return e.c.exec(`INSERT INTO erasures (id, owner, what, scope, seq, at, state, counts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		sealing.Plain(e.out.ID), owner, sealing.Plain(e.out.What), chain, int64(e.out.Seq), column.Start(e.out.At), sealing.Plain(state), sealing.Plain(counts))
}

// writing begins an entry of the ledger.
func (l *ledger) writing(p gate.Plan) writing {
	at := p.At
	if !l.lastAt.IsZero() && !at.After(l.lastAt) {
		at = l.lastAt.Add(time.Microsecond)
	}
	l.lastAt = at
	l.head.Audit++
	return writing{ledger: l, seq: l.head.Audit, at: at, pos: l.head.Text + 1}
}

// append puts an erasure's entry on the chain, with words beside it or without.
func (w *writing) append(p gate.Plan, words *gate.Plan) (tenet.AuditEntry, error) {
	entry := tenet.AuditEntry{Seq: w.seq, Action: p.Kind.String(), At: w.at, Prev: w.hash}
	if words != nil {
		entry.Ref, entry.Actor, entry.Why = words.Ref, words.Actor, words.Why
	}
	w.Ref, w.Actor, w.Why = entry.Ref, entry.Actor, entry.Why
	entry.Digest = store.EntryDigest(w.key, w.Written)
	entry.Hash = store.EntryHash(entry)
	w.hash = entry.Hash
	if words == nil {
		return entry, w.link(entry)
	}
	return entry, w.enter(entry, tenet.Verdict{}, nil)
}

// state is an entry's digest as its rows stand.
type entryState struct {
	digest []byte
	did    int64
	sound  bool // it is the one that the chain, or an erasure, says
}

// digests are the states of all entries of the scope.
func (l *ledger) digests() (map[uint64]entryState, error) {
	v := verifier{subject: l.subject, c: l.c, ctx: bg, at: map[uint64]*work{}}
	for _, read := range []func() error{v.records, v.evidence, v.agreements, v.retained, v.tombstones, v.holds, v.stages, v.erasures} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	out := map[uint64]entryState{}
	err := v.entries(bg, l.c, `1`, nil, math.MaxInt, func(e tenet.AuditEntry, verdict tenet.Verdict, content []byte) error {
		w := v.of(int64(e.Seq))
		left, emptied := v.after[e.Seq]
		want := e.Digest
		if emptied {
			want = left.Digest
		}
		d := w.digest(l.key, e, verdict, content)
		out[e.Seq] = entryState{d, w.did() | left.Did, bytes.Equal(d, want)}
		return nil
	})
	return out, err
}

// erasures gathers what erasures left of older entries; the last one counts.
func (v *verifier) erasures() error {
	v.after = map[uint64]store.ErasedMark{}
	return v.c.each(v.ctx, `SELECT by_seq, seq, did, digest FROM erased WHERE scope = ? ORDER BY by_seq, seq`, []any{v.id}, func(rs *rows) error {
		var by int64
		var m store.ErasedMark
		if err := rs.Scan(&by, &m.Seq, &m.Did, &m.Digest); err != nil {
			return err
		}
		w := v.of(by)
		w.Erased = append(w.Erased, m)
		v.after[uint64(m.Seq)] = m
		return nil
	})
}

// sharedTx gives shared statements to this database.
type sharedTx struct {
	c   conn
	ctx context.Context // of what is read
}

func plain(query string) string { return strings.ReplaceAll(query, "tenet.", "") }

func (t sharedTx) Exec(query string, args ...any) (int64, error) {
	return t.c.affect(plain(query), args...)
}

func (t sharedTx) Each(query string, args []any, row func(erasing.Scan) error) error {
	return t.c.each(t.ctx, plain(query), args, func(rs *rows) error { return row(rs.Scan) })
}

// erasing is a subject as the shared part sees it.
func (db *DB) erasing(s subject, c conn) erasing.Subject {
	return erasing.Subject{
		Tx: sharedTx{c.of(s.id), bg}, ID: s.id, Scope: s.scope, Key: s.key,
		Seals: erasing.Seals{
			Reads: s.unsealReads, SealReads: s.sealReads,
			About: s.about, AboutHeld: s.aboutHeld, AboutOnce: aboutOnce,
		},
	}
}
