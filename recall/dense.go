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

// denseLane is what a lane holds of vectors.
type denseLane struct {
	rows []int8    // per slot, padded(dim) numbers; zeros where there is none
	size []float64 // per slot: 1 / length of its vector; 0 where there is none
	// sum adds up the vectors, each at length 1, in steps of 1/step: integers,
	// so that it is the same whatever the order in which they came and went.
	sum   []int64
	count int
	held  int // how many vectors are kept elsewhere: then sum and count are of a sample
}

const step = 1 << 20

func (d *denseLane) row(slot, dim int) []int8 {
	w := padded(dim)
	if (slot+1)*w > len(d.rows) {
		return nil
	}
	return d.rows[slot*w : slot*w+dim]
}

// put sets the vector of a slot.
func (d *denseLane) put(slot, slots, dim int, values []int8) {
	w := padded(dim)
	if need := slots * w; len(d.rows) < need {
		d.rows = append(d.rows, make([]int8, need-len(d.rows))...)
		d.size = append(d.size, make([]float64, slots-len(d.size))...)
	}
	d.clear(slot, dim)
	n := length(values)
	if n == 0 {
		return
	}
	copy(d.row(slot, dim), values)
	d.size[slot] = 1 / n
	d.add(values, n, 1)
}

// clear takes the vector of a slot out.
func (d *denseLane) clear(slot, dim int) {
	row := d.row(slot, dim)
	if row == nil || d.size[slot] == 0 {
		return
	}
	d.add(row, length(row), -1)
	clear(row)
	d.size[slot] = 0
}

func (d *denseLane) add(values []int8, n float64, sign int64) {
	if d.sum == nil {
		d.sum = make([]int64, len(values))
	}
	for i, v := range values {
		d.sum[i] += sign * int64(math.RoundToEven(step*float64(v)/n))
	}
	d.count += int(sign)
}

func length(v []int8) float64 {
	var sum int64
	for _, x := range v {
		sum += int64(x) * int64(x)
	}
	return math.Sqrt(float64(sum))
}

// centred is the query's direction less the mean direction of the lane: what
// is near to everything is then near to nothing in particular. It is rounded
// as finely as sums of products allow.
func (d *denseLane) centred(query []int8, into []int16) []int16 {
	into = slices.Grow(into[:0], padded(len(query)))[:padded(len(query))]
	clear(into)
	n := length(query)
	c := make([]float64, len(query))
	peak := 0.0
	for i, v := range query {
		c[i] = float64(float64(v)/n) - float64(float64(d.sum[i])/float64(step*d.count))
		peak = max(peak, math.Abs(c[i]))
	}
	if peak == 0 {
		return into
	}
	by := largest(len(into)) / peak
	for i, x := range c {
		into[i] = int16(math.RoundToEven(x * by))
	}
	return into
}

// setVector stores the vector of an entry; the first one sets space and size.
func (ix *Index) setVector(at place, v Vector) {
	if len(v.Values) == 0 || ix.elsewhere {
		return
	}
	if ix.dim == 0 {
		ix.space, ix.dim = v.Space, len(v.Values)
	}
	ln := &ix.lanes[at.lane]
	ln.dense.put(int(at.slot), len(ln.docs), ix.dim, v.Values)
}

// fits returns the values of a query's vector when it is of the index's space.
func (ix *Index) fits(v Vector) []int8 {
	if ix.dim == 0 || v.Space != ix.space || len(v.Values) != ix.dim || length(v.Values) == 0 {
		return nil
	}
	return v.Values
}

// DropVectors forgets all vectors, so that those of another model can come.
func (ix *Index) DropVectors() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for l := range ix.lanes {
		ix.lanes[l].dense = denseLane{}
	}
	ix.space, ix.dim, ix.elsewhere = "", 0, false
}

// SetVector gives an entry its vector after the fact. It returns ErrVector for
// one of another space or size than the index holds, or when vectors are kept
// elsewhere, and reports whether the entry is there.
func (ix *Index) SetVector(id string, v Vector) (bool, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	at, ok := ix.where[id]
	if !ok {
		return false, nil
	}
	if n := len(v.Values); n == 0 || ix.elsewhere || ix.dim != 0 && (n != ix.dim || v.Space != ix.space) {
		return true, ErrVector
	}
	ix.setVector(at, v)
	return true, nil
}

// densify scores every entry that has a vector by its own nearness to the query
// and by the mean of its neighbours' and its own, each scaled so that the
// nearest has 1 and the farthest 0, half of each. It sets how much the words
// count beside: the more of the query's words the best entry holds, the more.
func (s *stage) densify() {
	ln, ws := s.ln, s.ws
	d := &ln.dense
	if d.count == 0 {
		return
	}
	ws.centred = d.centred(s.q.vector, ws.centred)
	size, held := d.size, d.count
	if s.ix.elsewhere {
		size, held = s.brought(), min(d.held, ln.count)
	} else {
		s.products(size)
	}
	n := len(size)
	ws.near = slices.Grow(ws.near[:0], len(ln.docs))[:len(ln.docs)]
	clear(ws.near)
	r := 2 * len(s.ix.window)
	own, wide := newSpan(), newSpan()
	for slot, inverse := range size {
		if inverse == 0 {
			continue
		}
		sum, weight := ws.own[slot], 1.0
		for i, at := range ln.near[slot*r : (slot+1)*r] {
			if at != noSlot && i < len(neighbourWeights) && int(at) < n && size[at] != 0 {
				sum += float64(neighbourWeights[i] * ws.own[at])
				weight += neighbourWeights[i]
			}
		}
		ws.near[slot] = sum / weight
		own.take(ws.own[slot])
		wide.take(ws.near[slot])
		ws.find(uint32(slot))
	}
	for slot, inverse := range size {
		if inverse != 0 {
			ws.near[slot] = 0.5*own.share(ws.own[slot]) + 0.5*wide.share(ws.near[slot])
		}
	}
	p := &s.ix.params
	m := s.matched()
	// While only some of the lane is embedded, the rest must not lose by it.
	s.dense = p.DenseWeight * (1 - float64(p.DenseGate*m*m*m*m)) * (float64(held) / float64(ln.count))
	s.keep = 1 - float64(p.WordsGate*(1-(m*m)))
}

// products scores every vector of the lane.
func (s *stage) products(size []float64) {
	ws, n := s.ws, len(size)
	ws.products = slices.Grow(ws.products[:0], n)[:n]
	s.ix.rows(&ws.centred[0], &s.ln.dense.rows[0], len(ws.centred), n, &ws.products[0])
	ws.own = slices.Grow(ws.own[:0], n)[:n]
	for slot, inverse := range size {
		ws.own[slot] = float64(ws.products[slot]) * inverse
	}
}

// neighbourWeights are those of the turns at -1, +1, -2, +2.
var neighbourWeights = [4]float64{0.5, 0.5, 0.25, 0.25}

// span is the least and the largest of some numbers.
type span struct{ low, high float64 }

func newSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s *span) take(x float64)         { s.low, s.high = min(s.low, x), max(s.high, x) }
func (s span) share(x float64) float64 { return over(x-s.low, s.high-s.low) }

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
