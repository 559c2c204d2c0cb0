package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// worded is a record and the wording that its likeness to others is judged by.
type worded struct {
	tenet.Record
	wording gate.Wording
}

// findSimilar gives each case the believed records that nearly repeat it, and
// those before it in the batch. Only notes and keys with several values have
// such: under a key with one value equality and time decide.
func (m *Memory) findSimilar(ctx context.Context, cases []gate.Case) error {
	var notes, facts []worded
	var haveNotes, haveFacts bool
	for i := range cases {
		k := &cases[i]
		c := k.Candidate
		var among *[]worded
		switch {
		case c.Op != tenet.OpAssert:
			continue
		case c.Tier == tenet.TierNote:
			if !haveNotes {
				var err error
				if notes, err = m.indexes.notes(ctx, c.Scope); err != nil {
					return err
				}
				haveNotes = true
			}
			among = &notes
		case c.Tier == tenet.TierFact && (c.Multi || m.gate.Key(c.Key).Multi):
			if !haveFacts {
				all, err := m.ledger.Facts(ctx, c.Scope, tenet.AsOf{Valid: k.At})
				if err != nil {
					return err
				}
				for _, r := range all {
					facts = append(facts, worded{r, gate.WordingOf(r.Text)})
				}
				haveFacts = true
			}
			among = &facts
		default:
			continue
		}
		self := worded{
			tenet.Record{ID: tenet.RecordID(c.ID), Tier: c.Tier, Key: c.Key, Text: c.Text, Valid: c.Valid}, gate.WordingOf(c.Text),
		}
		k.Similar = nil
		for _, r := range *among {
			if r.Key != c.Key {
				continue
			}
			if alike, differs := r.wording.Alike(self.wording); alike && differs {
				k.Similar = append(k.Similar, r.Record)
			}
		}
		*among = append(*among, self)
	}
	return nil
}

// notes are the scope's believed notes, from the recall index's entries. Their
// wordings are kept beside the index: a consolidation asks for them again and
// again.
func (x *indexes) notes(ctx context.Context, scope tenet.Scope) ([]worded, error) {
	si := x.scope(scope)
	if err := x.refresh(ctx, scope, si); err != nil {
		return nil, err
	}
	var out []worded
	si.mu.RLock() // recall goes on: nothing is worked out under this lock
	for _, e := range si.entries {
		if e.tier == tenet.TierNote {
			out = append(out, worded{Record: tenet.Record{ID: e.id, Tier: e.tier, Key: e.key, Text: e.text, Label: e.label, Valid: e.valid}})
		}
	}
	built := si.resets
	si.mu.RUnlock()
	si.worded(out, built)
	slices.SortFunc(out, func(a, b worded) int { return cmp.Compare(a.ID, b.ID) }) // the same case, the same finding
	return out, nil
}

// worded gives records their wordings, and keeps those and no others, unless the
// index was built anew since they were copied.
func (si *scopeIndex) worded(out []worded, built int) {
	si.words.Lock()
	defer si.words.Unlock()
	was, now := si.wordings, make(map[tenet.RecordID]gate.Wording, len(out))
	for i := range out {
		w, ok := was[out[i].ID]
		if !ok {
			w = gate.WordingOf(out[i].Text)
		}
		now[out[i].ID], out[i].wording = w, w
	}
	if built == si.resets {
		si.wordings = now
	}
}

// Cluster is a set of believed records that say nearly the same: not equal, so
// none was merged into another. Its id is that of its oldest record.
type Cluster struct {
	ID      tenet.RecordID `json:"id"`
	Records []tenet.Record `json:"records"` // oldest first
	// Conflicts are the pairs that differ in a number, name, negation or
	// address. Which of two is right, Tenet does not decide.
	Conflicts [][2]tenet.RecordID `json:"conflicts"`
}

// Clusters lists what is similar among the scope's notes and the values of its
// keys with several, within tier, key and lane.
func (o *Operator) Clusters(ctx context.Context) ([]Cluster, error) {
	facts, err := o.m.ledger.Facts(ctx, o.scope, tenet.AsOf{Valid: o.m.now()})
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(slices.Clone(facts), func(r tenet.Record) bool { return !r.Multi })
	ch, err := o.m.ledger.Changes(ctx, o.scope, 0)
	if err != nil {
		return nil, err
	}
	for _, r := range ch.Added {
		if r.Tier == tenet.TierNote && r.Valid.Contains(o.m.now()) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b tenet.Record) int {
		return cmp.Or(a.Known.From.Compare(b.Known.From), cmp.Compare(a.ID, b.ID))
	})
	root, wordings := make([]int, len(all)), make([]gate.Wording, len(all))
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	conflicts := map[int][][2]tenet.RecordID{}
	for i, r := range all {
		root[i], wordings[i] = i, gate.WordingOf(r.Text)
		for j, q := range all[:i] {
			if q.Tier != r.Tier || q.Key != r.Key || !gate.SameLane(q.Label, r.Label) {
				continue
			}
			alike, differs := wordings[j].Alike(wordings[i])
			if !alike {
				continue
			}
			a, b := find(j), find(i)
			root[max(a, b)] = min(a, b) // the oldest names the cluster
			if differs {
				conflicts[i] = append(conflicts[i], [2]tenet.RecordID{q.ID, r.ID})
			}
		}
	}
	at := map[int]int{}
	var out []Cluster
	for i, r := range all {
		top := find(i)
		n, ok := at[top]
		if !ok {
			n = len(out)
			at[top] = n
			out = append(out, Cluster{ID: all[top].ID})
		}
		out[n].Records = append(out[n].Records, r)
		out[n].Conflicts = append(out[n].Conflicts, conflicts[i]...)
	}
	return slices.DeleteFunc(out, func(c Cluster) bool { return len(c.Records) < 2 }), nil
}

// Conflicts lists the clusters that hold a possible conflict.
func (o *Operator) Conflicts(ctx context.Context) ([]Cluster, error) {
	all, err := o.Clusters(ctx)
	return slices.DeleteFunc(all, func(c Cluster) bool { return len(c.Conflicts) == 0 }), err
}
