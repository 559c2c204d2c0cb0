package recall

import (
	"slices"
	"sync"
)

// Index holds the entries of one scope, in memory. Searches run at the same
// time as each other; a change waits for them and they for it.
type Index struct {
	params Params
	window []reach

	mu    sync.RWMutex
	dict  dictionary
	lanes [laneCount]lane
	where map[string]place
	// shortest is a length that no id is below, so that most words need no look-up.
	shortest int
	keys     map[string][]place // folded key to the entries that bear it
	names    []name
	// speakers maps folded names to their numbers.
	speakers map[string]uint32
	space    string
	dim      int
	// elsewhere: the vectors are not here; queries bring some of them.
	elsewhere bool
	bytes     int64

	rows func(q *int16, rows *int8, k, n int, out *int32) // products of one with many
	work sync.Pool                                        // *workspace
}

// place is where an entry lies.
type place struct {
	lane Lane
	slot uint32
}

type termFreq struct {
	term uint32
	n    int
}

// New makes an empty index.
func New(p Params) (*Index, error) {
	if !p.valid() {
		return nil, ErrParams
	}
	tok, err := NewTokenizer(p.Language)
	if err != nil {
		return nil, err
	}
	return &Index{
		params:   p,
		window:   p.reaches(),
		dict:     newDictionary(tok),
		where:    map[string]place{},
		keys:     map[string][]place{},
		speakers: map[string]uint32{},
		rows:     fastRows(),
		work:     sync.Pool{New: func() any { return new(workspace) }},
	}, nil
}

// Len is the number of entries.
func (ix *Index) Len() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return len(ix.where)
}

// Bytes is about how much memory the entries take, for a caller that keeps many
// indexes under one budget.
func (ix *Index) Bytes() int64 {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	n := ix.bytes
	for l := range ix.lanes {
		n += int64(len(ix.lanes[l].dense.rows) + 8*len(ix.lanes[l].dense.size))
	}
	return n
}

// weigh estimates what an entry takes: its record, its place in maps, and for
// each term a number and a posting.
func (d *doc) weigh() int64 {
	return int64(350 + 2*len(d.id) + len(d.key) + 12*len(d.seq))
}

// Add indexes entries; one with the id of an entry already there replaces it.
// It is all or nothing: on an error none of them is added.
func (ix *Index) Add(entries ...Entry) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.check(entries); err != nil {
		return err
	}
	if len(ix.where) == 0 {
		ix.where = make(map[string]place, len(entries))
	}
	var more [laneCount]int
	for i := range entries {
		more[entries[i].Lane]++
	}
	for l := range ix.lanes {
		ix.lanes[l].grow(more[l], ix.window)
	}
	var seq []uint32
	var freqs []termFreq
	for i := range entries {
		e := &entries[i]
		ix.drop(e.ID)
		seq, freqs = ix.add(e, seq[:0], freqs[:0])
	}
	return nil
}

func (ix *Index) check(entries []Entry) error {
	space, dim := ix.space, ix.dim
	var more [laneCount]int
	for i := range entries {
		e := &entries[i]
		if e.ID == "" {
			return ErrNoID
		}
		if e.Lane >= laneCount {
			return ErrLane
		}
		more[e.Lane]++
		if n := len(e.Vector.Values); n > 0 {
			if dim == 0 {
				space, dim = e.Vector.Space, n
			}
			if e.Vector.Space != space || n != dim {
				return ErrVector
			}
		}
	}
	for l := range ix.lanes {
		if len(ix.lanes[l].docs)+more[l] > maxSlots {
			return ErrFull
		}
	}
	return nil
}

func (ix *Index) add(e *Entry, seq []uint32, freqs []termFreq) ([]uint32, []termFreq) {
	p := &ix.params
	if p.KeyWeight > 0 {
		seq = ix.dict.add(seq, e.Key, nil)
	}
	keyEnd := len(seq)
	if p.SpeakerWeight > 0 {
		seq = ix.dict.add(seq, e.Speaker, nil)
	}
	body := len(seq)
	var cues cueReader
	seq = ix.dict.add(seq, e.Text, &cues)
	seq = ix.dict.add(seq, e.Extra, nil)
	var sign uint64
	for i, t := range seq {
		n := 1
		switch {
		case i < keyEnd:
			n = p.KeyWeight
		case i < body:
			n = p.SpeakerWeight
		default:
			sign |= 1 << (t * 0x9E3779B1 >> 26)
		}
		freqs = append(freqs, termFreq{t, n})
	}
	slices.SortFunc(freqs, func(a, b termFreq) int { return int(a.term) - int(b.term) })
	length, n := 0, 0
	for _, f := range freqs {
		length += f.n
		if n > 0 && freqs[n-1].term == f.term {
			freqs[n-1].n += f.n
			continue
		}
		freqs[n] = f
		n++
	}
	freqs = freqs[:n]
	for _, f := range freqs {
		ix.dict.terms[f.term].uses++
	}
	d := doc{
		id: e.ID, key: foldKey(e.Key), ordinal: e.Ordinal, position: e.Position, live: true,
		recorded: micros(e.RecordedAt), from: micros(e.ValidFrom), to: micros(e.ValidTo),
		seq: slices.Clone(seq), body: uint32(body), sign: sign, standing: cues.standing(),
	}
	ix.bytes += d.weigh()
	h := hotDoc{length: int32(length), speaker: ix.speaker(e.Speaker), prefers: cues.preference, dormant: e.Dormant}
	ln := &ix.lanes[e.Lane]
	if len(ix.where) == 0 || len(e.ID) < ix.shortest {
		ix.shortest = len(e.ID)
	}
	at := place{e.Lane, ln.insert(d, h, e.Session, freqs, ix.window)}
	ix.where[e.ID] = at
	if k := d.key; k != "" {
		ix.keys[k] = append(ix.keys[k], at)
	}
	ix.setVector(at, e.Vector)
	return seq, freqs
}

// Ordinal is the caller's number of an entry, and whether the entry is there.
func (ix *Index) Ordinal(id string) (int64, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	at, ok := ix.where[id]
	if !ok {
		return 0, false
	}
	return ix.lanes[at.lane].docs[at.slot].ordinal, true
}

// SetDormant puts an entry to sleep or wakes it, and reports whether it is there.
func (ix *Index) SetDormant(id string, dormant bool) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	at, ok := ix.where[id]
	if ok {
		ix.lanes[at.lane].hot[at.slot].dormant = dormant
	}
	return ok
}

// Remove takes entries out, and every word that only they held. It returns how
// many of the ids were there.
func (ix *Index) Remove(ids ...string) int {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	n := 0
	for _, id := range ids {
		if ix.drop(id) {
			n++
		}
	}
	return n
}

func (ix *Index) drop(id string) bool {
	at, ok := ix.where[id]
	if !ok {
		return false
	}
	delete(ix.where, id)
	ln := &ix.lanes[at.lane]
	terms := slices.Clone(ln.docs[at.slot].seq)
	if k := ln.docs[at.slot].key; k != "" {
		list := ix.keys[k]
		i := slices.Index(list, at)
		if list = slices.Delete(list, i, i+1); len(list) == 0 {
			delete(ix.keys, k)
		} else {
			ix.keys[k] = list
		}
	}
	ix.bytes -= ln.docs[at.slot].weigh()
	ix.forget(ln.hot[at.slot].speaker)
	ln.remove(at.slot, ix.window, ix.dim)
	slices.Sort(terms)
	for _, t := range slices.Compact(terms) {
		ix.dict.release(t)
	}
	return true
}

// name is a speaker's name and how many entries bear it.
type name struct {
	folded string
	uses   int
}

// speaker numbers the name of a speaker.
func (ix *Index) speaker(text string) uint32 {
	folded := foldKey(text)
	if folded == "" {
		return noSlot
	}
	n, ok := ix.speakers[folded]
	if !ok {
		n = uint32(slices.IndexFunc(ix.names, func(n name) bool { return n.uses == 0 }))
		if n == noSlot {
			n = uint32(len(ix.names))
			ix.names = append(ix.names, name{})
		}
		ix.names[n] = name{folded: folded}
		ix.speakers[folded] = n
	}
	ix.names[n].uses++
	return n
}

func (ix *Index) forget(speaker uint32) {
	if speaker == noSlot {
		return
	}
	n := &ix.names[speaker]
	if n.uses--; n.uses == 0 {
		delete(ix.speakers, n.folded)
		n.folded = ""
	}
}
