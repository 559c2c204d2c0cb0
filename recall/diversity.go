package recall

import (
	"math/bits"
	"slices"
)

// hits turns the ranked candidates into at most k hits.
func (s *stage) hits(q *Query) []Hit {
	top := s.ws.top
	out := make([]Hit, 0, min(q.K, len(top)))
	switch q.Diversity {
	case Plain:
		for i := range top[:min(q.K, len(top))] {
			out = append(out, s.hit(&top[i], q.Explain))
		}
	default:
		kept := s.collapse(q)
		if q.Diversity == Spread {
			s.spread(kept)
		}
		for i := range kept[:min(q.K, len(kept))] {
			h := s.hit(kept[i].scored, q.Explain)
			for _, slot := range kept[i].similar {
				h.Similar = append(h.Similar, s.ln.docs[slot].id)
			}
			out = append(out, h)
		}
	}
	return out
}

func (s *stage) hit(c *scored, explain bool) Hit {
	d := &s.ln.docs[c.slot]
	h := Hit{
		ID: d.id, Ordinal: d.ordinal, Lane: s.lane, Score: c.score,
		Exact:   s.ws.cells[c.slot].state&stateExact != 0,
		Dormant: s.ln.hot[c.slot].dormant,
	}
	s.score(c, &h.Parts)
	if explain {
		h.Why = s.explain(c)
	}
	return h
}

// cluster is a hit and those that were folded into it.
type cluster struct {
	*scored
	terms   []uint32 // sorted, without repeats
	similar []uint32
}

// collapse folds near duplicates into the best of them.
func (s *stage) collapse(q *Query) []cluster {
	need := q.K
	if q.Diversity == Spread {
		need = max(need, s.ix.params.SpreadDepth)
	}
	kept := make([]cluster, 0, min(need, len(s.ws.top)))
	for i := range s.ws.top {
		c := &s.ws.top[i]
		at := -1
		var terms []uint32
		for j := range kept {
			if s.mayEqual(kept[j].slot, c.slot) {
				if terms == nil {
					terms = s.termSet(c.slot)
				}
				if kept[j].terms == nil {
					kept[j].terms = s.termSet(kept[j].slot)
				}
				if s.nearDuplicate(kept[j].terms, terms) {
					at = j
					break
				}
			}
		}
		switch {
		case at >= 0:
			kept[at].similar = append(kept[at].similar, c.slot)
		case len(kept) < need:
			kept = append(kept, cluster{scored: c, terms: terms})
		}
	}
	return kept
}

func (s *stage) termSet(slot uint32) []uint32 {
	d := &s.ln.docs[slot]
	set := slices.Clone(d.seq[d.body:])
	slices.Sort(set)
	return slices.Compact(set)
}

// mayEqual rules out most pairs: each bit that two signatures differ in is at
// least one term that only one of them has.
func (s *stage) mayEqual(a, b uint32) bool {
	x, y := &s.ln.docs[a], &s.ln.docs[b]
	limit := (1 - s.ix.params.NearDuplicate) * float64(len(x.seq)+len(y.seq))
	return float64(bits.OnesCount64(x.sign^y.sign)) <= limit
}

// nearDuplicate compares two sorted sets. Sets that differ in a number or a
// negation say different things, however alike they look.
func (s *stage) nearDuplicate(a, b []uint32) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	i, j, both := 0, 0, 0
	for i < len(a) || j < len(b) {
		var only uint32
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			only = a[i]
			i++
		case i == len(a) || b[j] < a[i]:
			only = b[j]
			j++
		default:
			both++
			i++
			j++
			continue
		}
		if s.ix.dict.terms[only].fact {
			return false
		}
	}
	return float64(both) >= s.ix.params.NearDuplicate*float64(len(a)+len(b)-both)
}

// spread re-orders by maximal marginal relevance: the next hit is the one that
// is best after what it repeats of the hits before it.
func (s *stage) spread(kept []cluster) {
	lambda := s.ix.params.Lambda
	n := min(len(kept), s.ix.params.SpreadDepth)
	if n == 0 {
		return
	}
	best := kept[0].score
	seen := make([]float64, n) // the most that each repeats of what is placed
	for i := range n {
		if kept[i].terms == nil {
			kept[i].terms = s.termSet(kept[i].slot)
		}
	}
	for i := range n {
		at, top := i, 0.0
		for j := i; j < n; j++ {
			v := float64(lambda*over(kept[j].score, best)) - float64((1-lambda)*seen[j])
			if j == i || v > top {
				at, top = j, v
			}
		}
		c, r := kept[at], seen[at]
		copy(kept[i+1:at+1], kept[i:at])
		copy(seen[i+1:at+1], seen[i:at])
		kept[i], seen[i] = c, r
		for j := i + 1; j < n; j++ {
			seen[j] = max(seen[j], jaccard(kept[i].terms, kept[j].terms))
		}
	}
}

func jaccard(a, b []uint32) float64 {
	i, j, both := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] < b[j]:
			i++
		case b[j] < a[i]:
			j++
		default:
			both++
			i++
			j++
		}
	}
	return over(float64(both), float64(len(a)+len(b)-both))
}
