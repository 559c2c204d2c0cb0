package recall

import "slices"

// An index of a scope with very many vectors can leave them where they are kept
// and be brought, for each query, those that matter: the nearest by a search
// there, those of the best by words, and those of their neighbours. It scores
// what it was brought as it scores all otherwise, so only what the search missed
// can be missing.

// Sample is what an index knows of a lane's vectors that are kept elsewhere.
type Sample struct {
	Count  int      // how many there are
	Values [][]int8 // some of them, to know their mean by
}

// Placed is a vector that was brought.
type Placed struct {
	ID     string
	Values []int8
}

// Wanted is what a search wants to be brought of a lane.
type Wanted struct {
	Lane Lane
	// Toward is the direction in which the nearest vectors are to be looked
	// for, by the angle; the opposite is where the farthest are, of which a few
	// tell what is far.
	Toward []int16
	IDs    []string // the best by words
}

// Elsewhere says that the vectors are kept elsewhere, and lets go of those
// that are here. It returns ErrVector when the samples are not all of one size.
func (ix *Index) Elsewhere(space string, lanes map[Lane]Sample) error {
	dim := 0
	for l, s := range lanes {
		if l >= laneCount {
			return ErrLane
		}
		for _, v := range s.Values {
			if dim == 0 {
				dim = len(v)
			}
			if len(v) != dim || dim == 0 {
				return ErrVector
			}
		}
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.space, ix.dim, ix.elsewhere = space, dim, true
	for l := range ix.lanes {
		s := lanes[Lane(l)]
		d := denseLane{held: s.Count}
		for _, v := range s.Values {
			if n := length(v); n > 0 {
				d.add(v, n, 1)
			}
		}
		ix.lanes[l].dense = d
	}
	return nil
}

// Told counts a vector that came to those that are kept elsewhere. While all of a
// lane's are known its mean is exact, and a lane that had none is not passed over.
func (ix *Index) Told(id string, values []int8) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	at, ok := ix.where[id]
	n := length(values)
	if !ok || !ix.elsewhere || len(values) != ix.dim || n == 0 {
		return
	}
	d := &ix.lanes[at.lane].dense
	if d.count == d.held {
		d.add(values, n, 1)
	}
	d.held++
}

// Wanted returns what to bring for a query, at most depth ids a lane; nothing
// when the vectors are here, or the query has none that fits them.
func (ix *Index) Wanted(q Query, depth int) ([]Wanted, error) {
	v := q.Vector
	q.Vector, q.K, q.Diversity, q.Explain = Vector{}, depth, Plain, false
	if err := q.check(); err != nil && err != ErrEmptyQuery {
		return nil, err
	}
	var out []Wanted
	ix.mu.RLock()
	if values := ix.fits(v); ix.elsewhere && values != nil {
		for l := range ix.lanes {
			if d := &ix.lanes[l].dense; d.count > 0 && (len(q.Lanes) == 0 || slices.Contains(q.Lanes, Lane(l))) {
				out = append(out, Wanted{Lane: Lane(l), Toward: d.centred(values, nil)[:ix.dim]})
			}
		}
	}
	ix.mu.RUnlock()
	for i := range out {
		q.Lanes = []Lane{out[i].Lane}
		res, err := ix.Search(q)
		if err == ErrEmptyQuery {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, h := range res.Hits {
			out[i].IDs = append(out[i].IDs, h.ID)
		}
	}
	return out, nil
}

// Around returns the neighbours in conversation that lend each other their
// nearness, of the entries that are there, without those entries.
func (ix *Index) Around(ids []string) []string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	had := make(map[string]bool, len(ids))
	for _, id := range ids {
		had[id] = true
	}
	var out []string
	r := 2 * len(ix.window)
	for _, id := range ids {
		at, ok := ix.where[id]
		if !ok {
			continue
		}
		ln := &ix.lanes[at.lane]
		near := ln.near[int(at.slot)*r : (int(at.slot)+1)*r]
		for _, n := range near[:min(r, len(neighbourWeights))] {
			if n != noSlot && !had[ln.docs[n].id] {
				had[ln.docs[n].id] = true
				out = append(out, ln.docs[n].id)
			}
		}
	}
	return out
}

// brought scores what was brought of the lane, and returns its sizes by slot:
// 0 for all that was not.
func (s *stage) brought() []float64 {
	ws, n := s.ws, len(s.ln.docs)
	ws.sizes = slices.Grow(ws.sizes[:0], n)[:n]
	clear(ws.sizes)
	ws.own = slices.Grow(ws.own[:0], n)[:n]
	clear(ws.own)
	for _, p := range s.q.brought {
		at, ok := s.ix.where[p.ID]
		size := length(p.Values)
		if !ok || at.lane != s.lane || len(p.Values) != s.ix.dim || size == 0 {
			continue
		}
		var product int64
		for i, v := range p.Values {
			product += int64(ws.centred[i]) * int64(v)
		}
		ws.sizes[at.slot] = 1 / size
		ws.own[at.slot] = float64(product) * ws.sizes[at.slot]
	}
	return ws.sizes
}
