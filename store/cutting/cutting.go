// Package cutting is what the SQL stores share of chains and their cuts: how a
// chain is followed across one, which of its entries nothing needs any more, and
// how their words and what they wrote are removed. The stores bring the
// transaction and the lock.
//
// It imports what the stores share of erasure and the standard library.
package cutting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/erasing"
)

// Entry is one entry of the chain as Find wants it: with where the scope's
// numbers stood behind it.
type Entry struct {
	store.Carried
	Action             string
	Stats, Sleep, Fact uint64
}

// Found is what goes.
type Found struct {
	Gone map[uint64]bool // entries
	// Lost is the highest Text position at which recall lost a record that goes.
	Lost int64

	records []string
	held    []int64
	stages  []int64
	rests   []rest
}

type rest struct {
	seq    int64
	record string
}

// unit is rows that stand or go together, and the entries that they name.
type unit struct {
	seqs  []int64
	also  []int64 // entries that it leaves with, and does not keep
	spent bool    // nothing that lives needs them
	take  func()
}

// finder gathers the units of a scope.
type finder struct {
	erasing.Tx
	id    int64
	units []*unit
}

func (f *finder) add(spent bool, take func(), seqs ...int64) *unit {
	u := &unit{seqs: seqs, spent: spent, take: take}
	f.units = append(f.units, u)
	return u
}

// Find looks for the entries up to a position that can go. An entry goes when
// all rows that name it go, and rows go when they are spent and every entry that
// they name goes.
func Find(tx erasing.Tx, id int64, upto uint64, entries []Entry) (*Found, error) {
	f, out := &finder{Tx: tx, id: id}, &Found{Gone: map[uint64]bool{}}
	keys, err := f.keys()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch {
		case e.Seq > upto:
		case e.Action == gate.Erase.String(), e.Action == gate.Import.String(), keys[int64(e.Seq)]:
		default:
			out.Gone[e.Seq] = true
		}
	}
	var hold int64 // a legal hold goes with its end: half of it could not be brought back
	for _, e := range entries {
		switch e.Action {
		case gate.Freeze.String():
			hold = int64(e.Seq)
		case gate.Thaw.String():
			f.add(true, nil, hold, int64(e.Seq))
		}
	}
	for _, read := range []func(*Found) error{f.records, f.held, f.stages, f.others} {
		if err := read(out); err != nil {
			return nil, err
		}
	}
	goes := func(u *unit) bool {
		stays := func(s int64) bool { return s != 0 && !out.Gone[uint64(s)] }
		return u.spent && !slices.ContainsFunc(u.seqs, stays) && !slices.ContainsFunc(u.also, stays)
	}
	for moved := true; moved; {
		moved = false
		for _, u := range f.units {
			if goes(u) {
				continue
			}
			for _, s := range u.seqs {
				moved = moved || out.Gone[uint64(s)]
				delete(out.Gone, uint64(s))
			}
		}
	}
	for _, u := range f.units {
		if u.take != nil && goes(u) {
			u.take()
		}
	}
	return out, nil
}

// keys are the entries about API keys that are not revoked.
func (f *finder) keys() (map[int64]bool, error) {
	ids := map[string]bool{}
	if err := f.Each(`SELECT id FROM tenet.keys WHERE revoked_at = ?`, []any{int64(column.NoEnd)}, func(scan erasing.Scan) error {
		var id string
		err := scan(&id)
		ids[id] = true
		return err
	}); err != nil {
		return nil, err
	}
	out := map[int64]bool{}
	return out, f.Each(`SELECT t.seq, t.ref FROM tenet.trail t JOIN tenet.chain c ON c.scope = t.scope AND c.seq = t.seq WHERE t.scope = ? AND c.action = '`+gate.Access.String()+`'`, []any{f.id}, func(scan erasing.Scan) error {
		var seq int64
		var ref string
		err := scan(&seq, &ref)
		out[seq] = ids[ref]
		return err
	})
}

// records are units with all that was written about them: believed, closed or
// expired, a record keeps its entries. What goes is an expired note or episode
// that no other record names.
func (f *finder) records(out *Found) error {
	units, named := map[string]*unit{}, map[string]bool{}
	if err := f.Each(`SELECT id, tier, expired, expired_seq, seq, closed_seq, supersedes, superseded_by, fragment_of, elevates, removed FROM tenet.records WHERE scope = ?`, []any{f.id}, func(scan erasing.Scan) error {
		var id string
		var tier, gone, seq, closed, removed int64
		var expired bool
		var links [4]string
		if err := scan(&id, &tier, &expired, &gone, &seq, &closed, &links[0], &links[1], &links[2], &links[3], &removed); err != nil {
			return err
		}
		linked := false
		for _, l := range links {
			if l != "" {
				linked, named[l] = true, true
			}
		}
		units[id] = f.add(expired && gone != 0 && tenet.Tier(tier).Semantic() && !linked, func() {
			out.records, out.Lost = append(out.records, id), max(out.Lost, removed)
		}, seq, closed, gone)
		return nil
	}); err != nil {
		return err
	}
	for id := range named {
		if u := units[id]; u != nil {
			u.spent = false
		}
	}
	about := func(query string) error {
		return f.Each(query, []any{f.id}, func(scan erasing.Scan) error {
			var seq int64
			var id string
			if err := scan(&seq, &id); err != nil {
				return err
			}
			if u := units[id]; u != nil {
				u.seqs = append(u.seqs, seq)
			} else {
				f.add(false, nil, seq)
			}
			return nil
		})
	}
	for _, q := range []string{
		`SELECT seq, record FROM tenet.evidence WHERE scope = ?`,
		`SELECT seq, record FROM tenet.corroborations WHERE scope = ?`,
		`SELECT seq, record FROM tenet.outcomes WHERE scope = ?`,
	} {
		if err := about(q); err != nil {
			return err
		}
	}
	// Of what sweeps and pins said the last counts.
	last := map[string]int64{}
	return f.Each(`SELECT seq, record FROM tenet.retention WHERE scope = ? ORDER BY seq DESC`, []any{f.id}, func(scan erasing.Scan) error {
		var r rest
		if err := scan(&r.seq, &r.record); err != nil {
			return err
		}
		switch u := units[r.record]; {
		case last[r.record] != 0:
			f.add(true, func() { out.rests = append(out.rests, r) }, r.seq)
			if u != nil {
				u.also = append(u.also, r.seq)
			}
		case u != nil:
			u.seqs = append(u.seqs, r.seq)
		default:
			f.add(false, nil, r.seq)
		}
		last[r.record] = r.seq
		return nil
	})
}

// held are refused candidates: those without a text, about which nothing is
// open, go.
func (f *finder) held(out *Found) error {
	return f.Each(`SELECT seq, settled_seq, aged_seq, state, sealed IS NULL FROM tenet.held WHERE scope = ?`, []any{f.id}, func(scan erasing.Scan) error {
		var seq, settled, aged int64
		var state string
		var empty bool
		if err := scan(&seq, &settled, &aged, &state, &empty); err != nil {
			return err
		}
		f.add(empty && state != string(tenet.HoldOpen), func() { out.held = append(out.held, seq) }, seq, settled, aged)
		return nil
	})
}

// stages are how far sessions were consolidated: the last of each is its cursor.
func (f *finder) stages(out *Found) error {
	last := map[int64]bool{}
	return f.Each(`SELECT seq, sid FROM tenet.stages WHERE scope = ? ORDER BY seq DESC`, []any{f.id}, func(scan erasing.Scan) error {
		var seq, sid int64
		if err := scan(&seq, &sid); err != nil {
			return err
		}
		f.add(last[sid], func() { out.stages = append(out.stages, seq) }, seq)
		last[sid] = true
		return nil
	})
}

// others are rows that stay.
func (f *finder) others(*Found) error {
	for _, q := range []string{`SELECT seq FROM tenet.tombstones WHERE scope = ?`, `SELECT by_seq FROM tenet.erased WHERE scope = ?`, `SELECT frozen FROM tenet.heads WHERE scope = ?`} {
		if err := f.Each(q, []any{f.id}, func(scan erasing.Scan) error {
			var seq int64
			err := scan(&seq)
			f.add(false, nil, seq)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Worth reports whether something goes that is not a cut itself: else cuts would
// follow from cuts for ever.
func (f *Found) Worth(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return f.Gone[e.Seq] && e.Action != gate.Cut.String() })
}

// Head is the sealed head of a chain that was cut at old, and is cut again: it
// lacks its chain, entry and time.
func Head(old store.Cut, upto uint64, entries []Entry, f *Found) store.Cut {
	cut := store.Cut{Upto: upto, Hash: old.Hash, Removed: uint64(len(f.Gone)), Text: old.Text, Stats: old.Stats, Sleep: old.Sleep, Facts: old.Facts}
	var carried []store.Carried
	for _, e := range entries {
		if e.Seq > upto {
			break
		}
		if e.Seq > old.Upto {
			cut.Hash, cut.Text, cut.Stats, cut.Sleep, cut.Facts = e.Hash, e.Text, e.Stats, e.Sleep, e.Fact
		}
		if !f.Gone[e.Seq] {
			carried = append(carried, e.Carried)
		}
	}
	cut.Carry(carried)
	return cut
}

// Seqs are the entries that go, in order.
func (f *Found) Seqs() []int64 {
	out := make([]int64, 0, len(f.Gone))
	for s := range f.Gone {
		out = append(out, int64(s))
	}
	slices.Sort(out)
	return out
}

// at once bounds the rows that one statement removes.
const atOnce = 500

// Remove removes the words of the entries that go, and what they wrote. The
// entries themselves are the store's to remove.
func (f *Found) Remove(tx erasing.Tx, id int64) error {
	for _, t := range []struct {
		name string
		seqs []int64
	}{{"held", f.held}, {"stages", f.stages}, {"trail", f.Seqs()}} {
		if err := remove(tx, id, t.name, t.seqs); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(f.records, atOnce) {
		in, args := strings.TrimPrefix(strings.Repeat(`, ?`, len(some)), `, `), []any{id}
		for _, r := range some {
			args = append(args, r)
		}
		for _, t := range []string{"vectors", "outcomes", "retention", "corroborations", "evidence"} {
			if _, err := tx.Exec(`DELETE FROM tenet.`+t+` WHERE scope = ? AND record IN (`+in+`)`, args...); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`DELETE FROM tenet.records WHERE scope = ? AND id IN (`+in+`)`, args...); err != nil {
			return err
		}
	}
	for _, r := range f.rests {
		if _, err := tx.Exec(`DELETE FROM tenet.retention WHERE scope = ? AND seq = ? AND record = ?`, id, r.seq, r.record); err != nil {
			return err
		}
	}
	return nil
}

// RemoveEntries removes entries and the sealed heads that they recorded.
func RemoveEntries(tx erasing.Tx, id int64, seqs []int64) error {
	if err := remove(tx, id, "cuts", seqs); err != nil {
		return err
	}
	return remove(tx, id, "chain", seqs)
}

func remove(tx erasing.Tx, id int64, table string, seqs []int64) error {
	for some := range slices.Chunk(seqs, atOnce) {
		in := strings.Trim(strings.ReplaceAll(fmt.Sprint(some), " ", ","), "[]")
		if _, err := tx.Exec(`DELETE FROM tenet.`+table+` WHERE scope = ? AND seq IN (`+in+`)`, id); err != nil {
			return err
		}
	}
	return nil
}
