package inproc

import "math"

// encoder runs the layers. It is read-only after newEncoder, so any number of
// goroutines may share one, each with a scratch of its own.
type encoder struct {
	w     *Weights
	k     kernel
	limit float32 // of the numbers that attention multiplies over a head's width
	gelu  []float32
}

// The activation is read from a table with linear interpolation: off by less
// than 1e-5 and five times as fast as the error function.
const (
	geluEdge = 8 // beyond it gelu(x) is 0 or x to the last bit of float32
	geluStep = 256
)

func newEncoder(w *Weights, k kernel) *encoder {
	e := &encoder{w: w, k: k, limit: limit16(w.Dim / w.Heads), gelu: make([]float32, 2*geluEdge*geluStep+2)}
	for i := range e.gelu {
		x := float64(i)/geluStep - geluEdge
		e.gelu[i] = float32(x * 0.5 * (1 + math.Erf(x/math.Sqrt2)))
	}
	return e
}

// scratch is the memory of one forward pass over n rows, kept between passes.
type scratch struct {
	h, wide []float32 // rows x Dim; rows x max(3*Dim, Inner)
	q       []int16   // the rows of a product's left side, quantised
	qs      []float32 // their scales
	att     attention
}

// rowsOf rounds up to the four rows that a kernel takes at once.
func rowsOf(n int) int { return (n + 3) &^ 3 }

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// run encodes token sequences laid end to end in ids, the i-th ending at
// ends[i], and writes one unit vector for each to out. The rows of a sequence
// meet those of no other: a vector does not depend on what shares the pass.
func (e *encoder) run(s *scratch, ids []int32, ends []int, out [][]float32) {
	w, d := e.w, e.w.Dim
	n := len(ids)
	rows := rowsOf(n)
	wide := max(3*d, w.Inner)
	s.h = grow(s.h, rows*d)
	s.wide = grow(s.wide, rows*wide)
	s.q = grow(s.q, rows*max(d, w.Inner))
	s.qs = grow(s.qs, rows)
	clear(s.h[n*d:]) // rows that only fill up the last block of four

	from := 0
	for _, end := range ends {
		for i := from; i < end; i++ {
			row := s.h[i*d : (i+1)*d]
			word := w.Word.Q[int(ids[i])*d : (int(ids[i])+1)*d]
			scale, pos := w.Word.Scale[ids[i]], w.Position[(i-from)*d:(i-from+1)*d]
			for j := range row {
				row[j] = float32(word[j])*scale + pos[j]
			}
			normalise(row, w.NormScale, w.NormBias, w.NormEps)
		}
		from = end
	}
	for l := range w.Layer {
		e.layer(s, &w.Layer[l], rows, ends)
	}
	from = 0
	for i, end := range ends {
		if w.Pooling == "cls" {
			copy(out[i], s.h[from*d:(from+1)*d])
		} else {
			clear(out[i])
			for r := from; r < end; r++ {
				for j, v := range s.h[r*d : (r+1)*d] {
					out[i][j] += v
				}
			}
		}
		unit(out[i])
		from = end
	}
}

func (e *encoder) layer(s *scratch, l *Layer, rows int, ends []int) {
	w, d, in := e.w, e.w.Dim, e.w.Inner

	e.quantise(s, s.h, rows, d)
	qkv := s.wide[:rows*3*d]
	e.multiply(s, &l.QKV, l.QKVBias, rows, qkv)
	e.attend(&s.att, qkv, ends) // leaves its result in the query columns
	e.quantiseStrided(s, qkv, rows, d, 3*d)
	mixed := s.wide[:rows*d]
	e.multiply(s, &l.Out, l.OutBias, rows, mixed)
	addNormalise(s.h, mixed, l.Norm1Scale, l.Norm1Bias, w.NormEps)

	e.quantise(s, s.h, rows, d)
	up := s.wide[:rows*in]
	e.multiply(s, &l.Up, l.UpBias, rows, up)
	for i, x := range up {
		up[i] = e.activate(x)
	}
	e.quantise(s, up, rows, in)
	down := s.wide[:rows*d]
	e.multiply(s, &l.Down, l.DownBias, rows, down)
	addNormalise(s.h, down, l.Norm2Scale, l.Norm2Bias, w.NormEps)
}

func (e *encoder) activate(x float32) float32 {
	switch {
	case x >= geluEdge:
		return x
	case !(x > -geluEdge):
		return 0
	}
	p := (x + geluEdge) * geluStep
	i := int(p)
	t := p - float32(i)
	return e.gelu[i] + t*(e.gelu[i+1]-e.gelu[i])
}

func (e *encoder) quantise(s *scratch, x []float32, rows, cols int) {
	e.quantiseStrided(s, x, rows, cols, cols)
}

// quantiseStrided rounds every row to int16 by its own scale, as fine as the
// integer sums over cols numbers allow.
func (e *encoder) quantiseStrided(s *scratch, x []float32, rows, cols, stride int) {
	limit := limit8(cols)
	for r := range rows {
		s.qs[r] = e.k.quantise(s.q[r*cols:(r+1)*cols], x[r*stride:r*stride+cols], limit)
	}
}

// multiply computes dst = (s.q rows) x m + bias.
func (e *encoder) multiply(s *scratch, m *Matrix, bias []float32, rows int, dst []float32) {
	k := m.Cols
	var out [8]int32
	for o := 0; o < m.Rows; o += 2 {
		w := &m.Q[o*k]
		s0, s1, b0, b1 := m.Scale[o], m.Scale[o+1], bias[o], bias[o+1]
		for r := 0; r < rows; r += 4 {
			e.k.i8(&s.q[r*k], k, w, k, k, &out)
			for i, qs := range s.qs[r : r+4] {
				at := (r+i)*m.Rows + o
				dst[at] = float32(out[i])*(qs*s0) + b0
				dst[at+1] = float32(out[4+i])*(qs*s1) + b1
			}
		}
	}
}

// addNormalise adds x to h and normalises every row of the sum.
func addNormalise(h, x, scale, bias []float32, eps float32) {
	d := len(scale)
	for i, v := range x {
		h[i] += v
	}
	for i := 0; i < len(h); i += d {
		normalise(h[i:i+d], scale, bias, eps)
	}
}

func normalise(row, scale, bias []float32, eps float32) {
	var sum float32
	for _, v := range row {
		sum += v
	}
	mean := sum / float32(len(row))
	var square float32
	for _, v := range row {
		square += (v - mean) * (v - mean)
	}
	inv := float32(1 / math.Sqrt(float64(square/float32(len(row))+eps)))
	scale, bias = scale[:len(row)], bias[:len(row)]
	for i, v := range row {
		row[i] = (v-mean)*inv*scale[i] + bias[i]
	}
}

// unit scales v to length 1.
func unit(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	inv := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= inv
	}
}
