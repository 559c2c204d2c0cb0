package recall

import (
	"math"
	"slices"
)

// Vector is a place in a dense space. Values are int8, so that a product is an
// exact integer and every machine ranks alike.
type Vector struct {
	Space  string // model and version; two spaces are never compared
	Values []int8
}

// Quantize scales a vector to unit length and rounds it to int8. It reports
// false for a vector that has no direction: empty, zero, NaN or infinite.
func Quantize(space string, v []float32) (Vector, bool) {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return Vector{}, false
	}
	// The largest component gets the full range: int8 is coarse, and the length
	// is divided out again when two vectors are compared.
	var peak float64
	for _, x := range v {
		peak = max(peak, math.Abs(float64(x)))
	}
	q := make([]int8, len(v))
	for i, x := range v {
		q[i] = int8(math.RoundToEven(float64(x) / peak * 127))
	}
	return Vector{Space: space, Values: q}, true
}

// dot is the integer product of two vectors of equal length.
func dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// setVector stores the vector of an entry; the first one sets space and size.
func (ix *Index) setVector(at place, v Vector) {
	if len(v.Values) == 0 {
		return
	}
	if ix.dim == 0 {
		ix.space, ix.dim = v.Space, len(v.Values)
	}
	ln := &ix.lanes[at.lane]
	if need := len(ln.docs) * ix.dim; len(ln.vectors) < need {
		ln.vectors = append(ln.vectors, make([]int8, need-len(ln.vectors))...)
	}
	copy(ln.vectors[int(at.slot)*ix.dim:], v.Values)
}

// fits returns the values of a query's vector when it is of the index's space.
func (ix *Index) fits(v Vector) []int8 {
	if ix.dim == 0 || v.Space != ix.space || len(v.Values) != ix.dim {
		return nil
	}
	return v.Values
}

// DropVectors forgets all vectors, so that those of another model can come.
func (ix *Index) DropVectors() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for l := range ix.lanes {
		ix.lanes[l].vectors = nil
	}
	ix.space, ix.dim = "", 0
}

// SetVector gives an entry its vector after the fact. It returns ErrVector for
// one of another space or size than the index holds, and reports whether the
// entry is there.
func (ix *Index) SetVector(id string, v Vector) (bool, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	at, ok := ix.where[id]
	if !ok {
		return false, nil
	}
	if n := len(v.Values); n == 0 || ix.dim != 0 && (n != ix.dim || v.Space != ix.space) {
		return true, ErrVector
	}
	ix.setVector(at, v)
	return true, nil
}

// densify scores every entry of the lane by the nearness of its vector and, at
// half and quarter weight, of its neighbours', scaled so that the nearest has 1
// and the farthest 0, and sets the share that this has in the score: the more
// of the query's words the best entry holds, the more the words count.
func (s *stage) densify() {
	ln, ws, dim := s.ln, s.ws, s.ix.dim
	ws.dense = slices.Grow(ws.dense[:0], len(ln.docs))[:len(ln.docs)]
	ws.near = slices.Grow(ws.near[:0], len(ln.docs))[:len(ln.docs)]
	query := math.Sqrt(float64(dot(s.q.vector, s.q.vector)))
	any := false
	for slot := range ln.docs {
		ws.dense[slot] = 0
		if (slot+1)*dim > len(ln.vectors) || !ln.docs[slot].live {
			continue
		}
		v := ln.vectors[slot*dim : (slot+1)*dim]
		if n := dot(v, v); n > 0 {
			ws.dense[slot] = float64(dot(s.q.vector, v)) / (query * math.Sqrt(float64(n)))
			any = true
		}
	}
	if !any || query == 0 {
		return
	}
	r := 2 * len(s.ix.window)
	low, high := math.Inf(1), math.Inf(-1)
	for slot := range ln.docs {
		if !ln.docs[slot].live {
			continue
		}
		sum, weight := ws.dense[slot], 1.0
		for i, n := range ln.near[slot*r : (slot+1)*r] {
			if n != noSlot && i < 4 {
				w := 0.5
				if i >= 2 {
					w = 0.25
				}
				sum += float64(w * ws.dense[n])
				weight += w
			}
		}
		ws.near[slot] = sum / weight
		low, high = min(low, ws.near[slot]), max(high, ws.near[slot])
		ws.find(uint32(slot))
	}
	for slot := range ln.docs {
		ws.near[slot] = over(ws.near[slot]-low, high-low)
	}
	s.dense = 1 - float64((1-s.ix.params.DenseAlpha)*s.matched())
}

// matched is the share of the query's idf mass that the entry with the best
// words holds. A word that no entry has counts as the rarest.
func (s *stage) matched() float64 {
	best := noSlot
	for _, slot := range s.ws.found {
		if best == noSlot || s.ws.cells[slot].turn > s.ws.cells[best].turn ||
			s.ws.cells[slot].turn == s.ws.cells[best].turn && s.ln.docs[slot].before(&s.ln.docs[best]) {
			best = slot
		}
	}
	if best == noSlot {
		return 0
	}
	mass := float64(s.q.unknown * idf(s.ln.count, 0))
	held := 0.0
	for i, t := range s.q.terms {
		if t.kin {
			continue
		}
		w := s.ws.weight[i]
		mass += w
		if slices.Contains(s.ln.docs[best].seq, t.id) {
			held += w
		}
	}
	return over(held, mass)
}
