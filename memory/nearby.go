package memory

import (
	"context"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/recall"
	"github.com/tenet-memory/tenet/store"
)

// Approximate says that what is near in meaning was looked for with an index in
// the database, which can miss some: the scope has too many vectors for memory.
// What was found is scored as it always is. It is outside of the promise that
// every backend ranks alike.
type Approximate struct {
	// Recall is the share of the ten nearest that the index found of those that
	// a comparison with every vector found, when it was made; of the worst of
	// the searched scopes and lanes. 0: it was not measured.
	Recall    float64 `json:"recall"`
	Questions int     `json:"questions"` // how many it was measured with
}

// worse is the one with the lower recall.
func (a *Approximate) worse(b *Approximate) *Approximate {
	if a == nil || b != nil && b.Recall < a.Recall {
		return b
	}
	return a
}

// How much is brought of each lane for a query.
const (
	broughtNearest  = 100 // by the direction of the query
	broughtFiltered = 400 // the same, when a filter will take some of them away
	broughtFarthest = 4   // they tell what is far
	broughtByWords  = 100
)

// Bands are the labels of each lane of recall, in the lanes' order: what a
// ledger that searches vectors itself keeps apart.
func Bands() []store.Band {
	return []store.Band{
		recall.Trusted:  {Low: tenet.LabelUserStated, High: tenet.LabelOperator},
		recall.Tool:     {Low: tenet.LabelAttestedTool, High: tenet.LabelAttestedTool},
		recall.Inferred: {Low: tenet.LabelAgentInferred, High: tenet.LabelAgentInferred},
		recall.External: {Low: tenet.LabelExternal, High: tenet.LabelExternal},
	}
}

// leave asks whether the ledger searches a scope's vectors itself. If so the
// index lets go of its own.
func (x *indexes) leave(ctx context.Context, scope tenet.Scope, si *scopeIndex, head store.Head) (bool, error) {
	if x.nearness == nil {
		return false, nil
	}
	bands, space := Bands(), x.embedder.Space().Name()
	if si.away != nil && head.Dense < si.sampled+si.sampled/4 { // the means are near enough
		vs, at, err := x.vectors.Places(ctx, scope, space, si.dense)
		for _, v := range vs {
			si.index.Told(string(v.Record), v.Values)
		}
		if err == nil {
			si.dense = min(at, head.Dense)
		}
		return true, err
	}
	samples, is, err := x.nearness.Sampled(ctx, scope, space, bands)
	if err != nil {
		return false, err
	}
	if !is || !slices.ContainsFunc(samples, func(s store.Sample) bool { return s.Count > 0 }) {
		si.letGo() // it did: all of them are read again
		return false, nil
	}
	lanes := map[recall.Lane]recall.Sample{}
	away := &Approximate{Recall: 1}
	for i, s := range samples {
		if s.Count == 0 {
			continue
		}
		sample := recall.Sample{Count: s.Count}
		for _, v := range s.Places {
			sample.Values = append(sample.Values, v.Values)
		}
		lanes[recall.Lane(i)] = sample
		if s.Questions > 0 {
			away.Recall, away.Questions = min(away.Recall, s.Recall), away.Questions+s.Questions
		}
	}
	if away.Questions == 0 {
		away.Recall = 0
	}
	if err := si.index.Elsewhere(space, lanes); err != nil {
		return false, tenet.Errorf(tenet.Internal, "recall", "%v", err)
	}
	si.away, si.dense, si.sampled = away, head.Dense, head.Dense
	return true, nil
}

// letGo forgets that the ledger searches the vectors. The lock is held.
func (si *scopeIndex) letGo() {
	if si.away != nil {
		si.index.DropVectors()
		si.away, si.dense = nil, 0
	}
}

// regain reads the vectors of a scope that the ledger does not search any more.
func (x *indexes) regain(ctx context.Context, scope tenet.Scope, si *scopeIndex) error {
	head, err := x.reader.Head(ctx, scope)
	if err != nil {
		return err
	}
	si.mu.Lock()
	defer si.mu.Unlock()
	si.letGo()
	return x.place(ctx, scope, si, head)
}

// bring fetches what a query needs to know of vectors that are kept in the
// ledger: the nearest of each lane, the best by words, a few of the farthest,
// and the neighbours of all of them. The index is not locked while the ledger is
// asked. It reports false when nothing was asked for: the vectors are here, or
// they are to be now.
func (x *indexes) bring(ctx context.Context, scope tenet.Scope, si *scopeIndex, q *recall.Query) (bool, error) {
	q.Brought = nil
	si.mu.RLock()
	ix, away := si.index, si.away
	thin := q.Only != nil || q.Within != nil || len(si.asleep) > 0 && !q.Dormant // some of the nearest are no hits
	var wanted []recall.Wanted
	var err error
	if away != nil {
		wanted, err = ix.Wanted(*q, broughtByWords)
	}
	si.mu.RUnlock()
	if err != nil {
		return false, tenet.Errorf(tenet.Invalid, "recall", "%v", err)
	}
	if len(wanted) == 0 {
		return away != nil, nil
	}
	space := x.embedder.Space().Name()
	n := broughtNearest
	if thin {
		n = broughtFiltered
	}
	var asks []store.Nearest
	var words []tenet.RecordID
	for _, w := range wanted {
		b := Bands()[w.Lane]
		back := make([]int16, len(w.Toward))
		for i, v := range w.Toward {
			back[i] = -v
		}
		asks = append(asks, store.Nearest{Band: b, Toward: w.Toward, N: n}, store.Nearest{Band: b, Toward: back, N: broughtFarthest})
		for _, id := range w.IDs {
			words = append(words, tenet.RecordID(id))
		}
	}
	vs, is, err := x.nearness.Nearest(ctx, scope, space, asks, words)
	if err != nil {
		return false, err
	}
	if !is { // an index went, or the extension
		return false, x.regain(ctx, scope, si)
	}
	ids := make([]string, len(vs))
	for i, v := range vs {
		ids[i] = string(v.Record)
	}
	var around []tenet.RecordID
	for _, id := range ix.Around(ids) {
		around = append(around, tenet.RecordID(id))
	}
	if len(around) > 0 {
		more, _, err := x.nearness.Nearest(ctx, scope, space, nil, around)
		if err != nil {
			return false, err
		}
		vs = append(vs, more...)
	}
	for _, v := range vs {
		q.Brought = append(q.Brought, recall.Placed{ID: string(v.Record), Values: v.Values})
	}
	return true, nil
}
