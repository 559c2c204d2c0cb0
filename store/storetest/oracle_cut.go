package storetest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var _ store.Cutter = (*Oracle)(nil)

// sealedHead is a cut as it is kept; body is nil when a later one took its place.
type sealedHead struct {
	seq               uint64
	digest, body, sig []byte
}

// Cut implements store.Cutter.
func (o *Oracle) Cut(ctx context.Context, dec gate.Decision) (store.Cut, error) {
	if err := store.CheckCut(dec); err != nil {
		return store.Cut{}, err
	}
	p := dec.Plan()
	s, err := o.enter(ctx, "cut", p.Scope)
	defer o.mu.Unlock()
	if err != nil {
		return store.Cut{}, err
	}
	if len(s.chain) == 0 {
		return store.Cut{}, tenet.Errorf(tenet.NotFound, "cut", "no such subject")
	}
	if s.frozen != 0 {
		return store.Cut{}, store.HeldBack("cut")
	}
	if _, why := s.check(o.master, s.name()); why != "" {
		return store.Cut{}, tenet.Errorf(tenet.Internal, "cut", "the chain does not verify, so nothing of it is cut off")
	}
	s.cutAt = p.At
	old, _ := s.cutNow(o.master, s.name())
	upto := old.Upto
	for _, e := range s.chain {
		if e.At.Before(p.Before) {
			upto = max(upto, e.Seq)
		}
	}
	gone := s.spent(upto)
	if !slices.ContainsFunc(s.chain, func(e tenet.AuditEntry) bool { return gone[e.Seq] && e.Action != gate.Cut.String() }) {
		return store.Cut{}, nil
	}
	cut := store.Cut{Chain: s.name(), Upto: upto, Hash: old.Hash, Removed: uint64(len(gone))}
	var carried []store.Carried
	for _, e := range s.chain {
		if e.Seq == upto && upto > old.Upto {
			cut.Hash = e.Hash
		}
		if e.Seq <= upto && !gone[e.Seq] {
			carried = append(carried, store.Carried{Seq: e.Seq, Hash: e.Hash})
		}
	}
	cut.Carry(carried)
	s.remove(gone)
	at := p.At
	if !at.After(s.known) {
		at = s.known.Add(time.Microsecond)
	}
	s.known = at
	s.head.Audit++
	cut.Seq, cut.At = s.head.Audit, at
	h := sealedHead{seq: cut.Seq}
	h.body, h.sig = o.master.SignCut(cut)
	h.digest = store.CutDigest(h.body)
	for i := range s.cuts {
		s.cuts[i].body, s.cuts[i].sig = nil, nil
	}
	s.cuts = append(s.cuts, h)
	e := tenet.AuditEntry{Seq: cut.Seq, Action: p.Kind.String(), At: at, Ref: p.Ref, Actor: p.Actor, Why: p.Why, Prev: cut.Hash}
	if n := len(s.chain); n > 0 && s.chain[n-1].Seq > upto {
		e.Prev = s.chain[n-1].Hash
	}
	e.Digest = store.EntryDigest(s.key, s.written(e))
	e.Hash = store.EntryHash(e)
	s.chain = append(s.chain, e)
	return cut, nil
}

// spent are the entries up to a position that nothing needs.
func (s *space) spent(upto uint64) map[uint64]bool {
	gone := map[uint64]bool{}
	revoked := map[string]bool{}
	for _, e := range s.chain {
		if e.Action == gate.Access.String() {
			revoked[e.Ref] = strings.HasPrefix(e.Why, "revoke")
		}
	}
	for _, e := range s.chain {
		kept := e.Action == gate.Erase.String() || e.Action == gate.Import.String() || e.Action == gate.Access.String() && !revoked[e.Ref]
		if e.Seq <= upto && !kept {
			gone[e.Seq] = true
		}
	}
	for before := -1; before != len(gone); {
		before = len(gone)
		keep := func(seqs ...uint64) {
			for _, q := range seqs {
				delete(gone, q)
			}
		}
		var hold uint64
		for _, e := range s.chain {
			switch e.Action {
			case gate.Freeze.String():
				hold = e.Seq
			case gate.Thaw.String():
				if pair := []uint64{hold, e.Seq}; !all(gone, pair) {
					keep(pair...)
				}
			}
		}
		for i := range s.rows {
			if seqs := s.entriesOf(&s.rows[i]); !s.leaves(&s.rows[i], gone) {
				keep(seqs...)
			}
		}
		for _, h := range s.holds {
			if seqs := s.entriesOfHold(h); h.sealed != nil || h.state == tenet.HoldOpen || !all(gone, seqs) {
				keep(seqs...)
			}
		}
		for _, t := range s.tombs {
			keep(t.in)
		}
		for seq, m := range s.marks {
			last := true
			for other, n := range s.marks {
				last = last && !(n.Session == m.Session && other > seq)
			}
			if last {
				keep(seq)
			}
		}
	}
	return gone
}

// all reports whether every entry goes.
func all(gone map[uint64]bool, seqs []uint64) bool {
	return !slices.ContainsFunc(seqs, func(q uint64) bool { return q != 0 && !gone[q] })
}

// husk is what expiry left of a note or episode that no other record names.
func (d *durable) husk(r *row) bool {
	if !r.Expired || r.gone == 0 || !r.Tier.Semantic() || r.Supersedes != "" || r.SupersededBy != "" || r.FragmentOf != "" || r.Elevates != "" {
		return false
	}
	return !slices.ContainsFunc(d.rows, func(x row) bool {
		return x.Supersedes == r.ID || x.SupersededBy == r.ID || x.FragmentOf == r.ID || x.Elevates == r.ID
	})
}

// leaves reports whether a record goes: it is a husk, and no entry that says
// something about it stays.
func (d *durable) leaves(r *row, gone map[uint64]bool) bool {
	for seq, rs := range d.rests {
		if !gone[seq] && slices.ContainsFunc(rs, func(x gate.Rest) bool { return x.Record == r.ID }) {
			return false
		}
	}
	return d.husk(r) && all(gone, d.entriesOf(r))
}

// entriesOf are the entries that a record needs: of sweeps and pins the last.
func (d *durable) entriesOf(r *row) []uint64 {
	out := []uint64{r.in, r.out, r.gone}
	for _, e := range d.evidence {
		if e.record == r.ID {
			out = append(out, e.in)
		}
	}
	for _, a := range d.agreed {
		if a.Record == r.ID {
			out = append(out, a.in)
		}
	}
	for seq, t := range d.tallies {
		if slices.Contains(t.Records, r.ID) {
			out = append(out, seq)
		}
	}
	last := uint64(0)
	for seq, rs := range d.rests {
		if slices.ContainsFunc(rs, func(x gate.Rest) bool { return x.Record == r.ID }) {
			last = max(last, seq)
		}
	}
	return append(out, last)
}

func (d *durable) entriesOfHold(h hold) []uint64 {
	out := []uint64{d.refs[string(h.candidate)].in, d.aged[h.candidate]}
	for seq, s := range d.settled {
		if s.Candidate == h.candidate {
			out = append(out, seq)
		}
	}
	return out
}

// remove takes entries out, with what they wrote.
func (s *space) remove(gone map[uint64]bool) {
	husks := map[tenet.RecordID]bool{}
	for i := range s.rows {
		if r := &s.rows[i]; s.leaves(r, gone) {
			husks[r.ID] = true
		}
	}
	s.holds = slices.DeleteFunc(slices.Clone(s.holds), func(h hold) bool {
		in := s.refs[string(h.candidate)].in
		for seq, x := range s.settled {
			if gone[in] && x.Candidate == h.candidate {
				delete(s.settled, seq)
			}
		}
		if gone[in] {
			delete(s.aged, h.candidate)
		}
		return gone[in]
	})
	s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return husks[r.ID] })
	s.evidence = slices.DeleteFunc(slices.Clone(s.evidence), func(e excerpt) bool { return husks[e.record] })
	s.agreed = slices.DeleteFunc(slices.Clone(s.agreed), func(a agreement) bool { return husks[a.Record] })
	s.chain = slices.DeleteFunc(slices.Clone(s.chain), func(e tenet.AuditEntry) bool { return gone[e.Seq] })
	s.cuts = slices.DeleteFunc(slices.Clone(s.cuts), func(h sealedHead) bool { return gone[h.seq] })
	for seq := range gone {
		delete(s.marks, seq)
		delete(s.tallies, seq)
		delete(s.rests, seq)
	}
	for ref, j := range s.refs {
		if gone[j.in] {
			delete(s.refs, ref)
		}
	}
}

// cutNow is how the chain begins, held against the entries that it carries.
func (d *durable) cutNow(master store.MasterKey, name string) (cut store.Cut, why string) {
	if len(d.cuts) == 0 {
		return cut, ""
	}
	h := d.cuts[len(d.cuts)-1]
	cut, err := master.OpenCut(name, h.seq, h.body, h.sig)
	if err != nil || !bytes.Equal(h.digest, store.CutDigest(h.body)) || !slices.ContainsFunc(d.chain, seqIs(h.seq)) {
		return cut, "the sealed head of the chain was altered"
	}
	var carried []store.Carried
	for _, e := range d.chain {
		if e.Seq <= cut.Upto {
			carried = append(carried, store.Carried{Seq: e.Seq, Hash: e.Hash})
		}
	}
	now := cut
	if now.Carry(carried); !bytes.Equal(now.Entries, cut.Entries) || !bytes.Equal(now.Links, cut.Links) {
		return cut, "the carried entries are not those of the sealed head"
	}
	return cut, ""
}

// CutOf implements store.Governor.
func (o *Oracle) CutOf(ctx context.Context, chain string) (store.Cut, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.scopes {
		if len(s.cuts) > 0 && s.name() == chain {
			h := s.cuts[len(s.cuts)-1]
			return o.master.OpenCut(chain, h.seq, h.body, h.sig)
		}
	}
	return store.Cut{}, ctx.Err()
}

// Uncut implements store.Cutter.
func (o *Oracle) Uncut(ctx context.Context, before, since time.Time, limit int) ([]tenet.Scope, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil || limit < 0 {
		return nil, tenet.Errorf(tenet.Invalid, "uncut", "a negative limit, or the context ended")
	}
	var out []tenet.Scope
	for scope, s := range o.scopes {
		cut, _ := s.cutNow(o.master, s.name())
		if next := s.entry(cut.Upto + 1); next.Seq != 0 && next.At.Before(before) && s.frozen == 0 && s.cutAt.Before(since) {
			out = append(out, scope)
		}
	}
	slices.SortFunc(out, func(a, b tenet.Scope) int {
		return cmp.Or(o.scopes[a].cutAt.Compare(o.scopes[b].cutAt), cmp.Compare(a.Key(), b.Key()))
	})
	return out[:min(limit, len(out))], nil
}
