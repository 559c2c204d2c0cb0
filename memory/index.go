package memory

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/recall"
	"github.com/tenet-memory/tenet/store"
)

// indexes are the recall indexes of the scopes in use: a cache in RAM derived
// from the ledger, built on first use, brought up to date by the scope's
// sequence number at each search, and dropped least recently used first when
// the budget of entries is passed.
type indexes struct {
	reader store.Reader
	params recall.Params
	budget int

	embedder model.Embedder // nil: lexical recall
	vectors  store.Vectors
	nearness store.Nearness // nil: all vectors are compared here
	patience time.Duration  // for one query

	retention store.Retention // nil: nothing is ever dormant

	mu    sync.Mutex
	byKey map[tenet.Scope]*scopeIndex
	tick  int64 // orders uses, for eviction
}

// scopeIndex is one scope's index and the entries it can return.
type scopeIndex struct {
	mu      sync.RWMutex // held for writing while changes come in
	head    uint64       // the ledger's text position that the index stands at
	dense   uint64       // and the position of its vectors
	sleep   uint64       // and of what is dormant
	asleep  []tenet.RecordID
	away    *Approximate // set: the ledger searches the vectors, they are not here
	sampled uint64       // the position of vectors at which their mean was last looked at
	built   bool
	index   *recall.Index
	entries []entry // by the ordinal of the index's entry
	free    []int64 // ordinals to use again
	// wordings of the notes, once a consolidation has asked for them, under a
	// lock of their own, which is taken after mu or without it.
	words    sync.Mutex
	resets   int // how often it was built anew; what was copied before that is not kept
	wordings map[tenet.RecordID]gate.Wording
	size     atomic.Int64
	used     atomic.Int64
}

// entry is what a hit is served from, so that recall reads no rows.
type entry struct {
	id       tenet.RecordID
	tier     tenet.Tier
	label    tenet.Label
	key      string
	text     string
	speaker  string
	session  tenet.SessionID
	message  tenet.MessageID
	valid    tenet.Interval
	recorded time.Time
}

// laneOf maps a label to the lane whose statistics it shares.
func laneOf(l tenet.Label) recall.Lane {
	switch {
	case l >= tenet.LabelUserStated:
		return recall.Trusted
	case l == tenet.LabelAttestedTool:
		return recall.Tool
	case l == tenet.LabelAgentInferred:
		return recall.Inferred
	}
	return recall.External
}

// search asks one scope's index, at the ledger's present position. Entries
// that keep refuses are no hits; nil keeps all.
func (x *indexes) search(ctx context.Context, scope tenet.Scope, q recall.Query, keep func(*entry) bool) ([]Recalled, foundIn, error) {
	si := x.scope(scope)
	if err := x.refresh(ctx, scope, si); err != nil {
		return nil, foundIn{}, err
	}
	if keep != nil {
		q.Only = func(ordinal int64) bool { return keep(&si.entries[ordinal]) }
	}
	for brought := len(q.Vector.Values) == 0; ; si.mu.RUnlock() {
		var err error
		if !brought {
			if brought, err = x.bring(ctx, scope, si, &q); err != nil {
				return nil, foundIn{}, err
			}
		}
		if si.mu.RLock(); brought || si.away == nil { // else they went to the ledger meanwhile
			break
		}
	}
	defer si.mu.RUnlock()
	var out foundIn
	if len(q.Vector.Values) > 0 {
		out.approximate = si.away
	}
	res, err := si.index.Search(q)
	if err != nil {
		return nil, out, tenet.Errorf(tenet.Invalid, "recall", "%v", err)
	}
	out.Result = res
	hits := make([]Recalled, len(res.Hits))
	for i := range res.Hits {
		h := &res.Hits[i]
		e := &si.entries[h.Ordinal]
		hits[i] = Recalled{
			ID: e.id, Scope: scope, Tier: e.tier, Label: e.label, Lane: h.Lane.String(), Key: e.key, Text: e.text,
			Speaker: e.speaker, Session: e.session, Message: e.message, Valid: e.valid, RecordedAt: e.recorded,
			Score: h.Score, Dormant: h.Dormant, Similar: h.Similar, Why: h.Why, parts: h.Parts,
		}
	}
	return hits, out, nil
}

// foundIn is how one scope was searched.
type foundIn struct {
	recall.Result
	approximate *Approximate // nil: nothing can have been missed
}

// scope returns the index of a scope, empty when it is new.
func (x *indexes) scope(scope tenet.Scope) *scopeIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	si := x.byKey[scope]
	if si == nil {
		index, err := recall.New(x.params)
		if err != nil {
			panic(err) // Open has tried these parameters
		}
		si = &scopeIndex{index: index}
		if x.byKey == nil {
			x.byKey = map[tenet.Scope]*scopeIndex{}
		}
		x.byKey[scope] = si
	}
	x.tick++
	si.used.Store(x.tick)
	return si
}

// refresh brings an index to the ledger's position.
func (x *indexes) refresh(ctx context.Context, scope tenet.Scope, si *scopeIndex) error {
	head, err := x.reader.Head(ctx, scope)
	if err != nil {
		return err
	}
	si.mu.RLock()
	current := si.built && si.head == head.Text && (x.embedder == nil || si.dense >= head.Dense) && (x.retention == nil || si.sleep >= head.Sleep)
	si.mu.RUnlock()
	if current {
		return nil
	}
	si.mu.Lock()
	defer si.mu.Unlock()
	if !si.built || si.head != head.Text { // ahead: another search was faster, or the subject was erased
		ch, err := x.reader.Changes(ctx, scope, si.head)
		if err != nil {
			return err
		}
		if err := si.take(ch, x.params); err != nil {
			return tenet.Errorf(tenet.Internal, "recall", "%v", err)
		}
		x.evict(si)
	}
	if err := x.lull(ctx, scope, si, head); err != nil {
		return err
	}
	return x.place(ctx, scope, si, head)
}

// lull brings what is dormant to the ledger's position.
func (x *indexes) lull(ctx context.Context, scope tenet.Scope, si *scopeIndex, head store.Head) error {
	if x.retention == nil || si.sleep >= head.Sleep {
		return nil
	}
	now, err := x.retention.Sleeping(ctx, scope)
	if err != nil {
		return err
	}
	for _, id := range si.asleep {
		si.index.SetDormant(string(id), false)
	}
	for _, id := range now {
		si.index.SetDormant(string(id), true)
	}
	si.asleep, si.sleep = now, head.Sleep
	return nil
}

// take applies changes: what is gone first, so that an id that was closed and
// added again stays.
func (si *scopeIndex) take(ch store.Changes, params recall.Params) error {
	if ch.Reset {
		index, err := recall.New(params)
		if err != nil {
			return err
		}
		si.index, si.entries, si.free = index, make([]entry, 0, len(ch.Added)), nil
		si.dense, si.sleep, si.asleep, si.away = 0, 0, nil, nil
		// An erasure comes as a reset: no word of what went stays here.
		si.words.Lock()
		si.wordings, si.resets = nil, si.resets+1
		si.words.Unlock()
	}
	for _, id := range ch.Removed {
		if n, ok := si.index.Ordinal(string(id)); ok {
			si.entries[n], si.free = entry{}, append(si.free, n)
			si.index.Remove(string(id))
		}
	}
	added := make([]recall.Entry, len(ch.Added))
	for i := range ch.Added {
		r := &ch.Added[i]
		n, ok := si.index.Ordinal(string(r.ID)) // it replaces the one of its id
		if last := len(si.free) - 1; !ok && last >= 0 {
			n, si.free = si.free[last], si.free[:last]
		} else if !ok {
			n, si.entries = int64(len(si.entries)), append(si.entries, entry{})
		}
		si.entries[n] = entry{
			id: r.ID, tier: r.Tier, label: r.Label, key: r.Key, text: r.Text, speaker: r.Speaker,
			session: r.Session, message: r.Message, valid: r.Valid, recorded: r.Known.From,
		}
		added[i] = recall.Entry{
			ID: string(r.ID), Lane: laneOf(r.Label), Session: sessionOf(r), Position: int(r.Position), Speaker: r.Speaker,
			Key: r.Key, Text: r.Text, RecordedAt: saidAt(r), ValidFrom: r.Valid.From, ValidTo: r.Valid.To, Ordinal: n,
		}
	}
	if err := si.index.Add(added...); err != nil {
		return err
	}
	si.head, si.built = ch.Head.Text, true
	si.size.Store(int64(si.index.Len()))
	return nil
}

// saidAt is the time that breaks ties: when a record begins to be true, which for
// a turn is when it was said. The ledger's own stamp is strictly increasing, so
// it tells the order of arrival, which must not decide a rank.
func saidAt(r *tenet.Record) time.Time {
	if r.Valid.From.IsZero() {
		return r.Known.From
	}
	return r.Valid.From
}

// sessionOf is the session whose neighbours lend a record their words: only
// verbatim turns have neighbours.
func sessionOf(r *tenet.Record) string {
	if r.Tier == tenet.TierEpisode {
		return string(r.Session)
	}
	return ""
}

// evict drops the least recently used indexes, but not keep, until the entries
// fit the budget.
func (x *indexes) evict(keep *scopeIndex) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var total int64
	for _, si := range x.byKey {
		total += si.size.Load()
	}
	for total > int64(x.budget) {
		var oldest tenet.Scope
		var victim *scopeIndex
		for s, si := range x.byKey {
			if si != keep && (victim == nil || si.used.Load() < victim.used.Load()) {
				oldest, victim = s, si
			}
		}
		if victim == nil {
			return
		}
		total -= victim.size.Load()
		delete(x.byKey, oldest)
	}
}
