package inproc

import "math"

// attention is the scratch of the attention of one sequence and one head:
// queries, keys and transposed values as int16, with their scales.
type attention struct {
	q, k, v    []int16 // rows x head width; rows x head width; head width x columns
	qs, ks, vs []float32
	col        []float32
	score      []float32 // rows x columns
	p          []int16
}

// attend replaces the query part of every row of qkv (query, key, value side
// by side) by what the row gathers from its own sequence.
func (e *encoder) attend(a *attention, qkv []float32, ends []int) {
	d := e.w.Dim
	from := 0
	for _, end := range ends {
		for h := range e.w.Heads {
			e.attendHead(a, qkv[from*3*d:end*3*d], end-from, h*(d/e.w.Heads))
		}
		from = end
	}
}

func (e *encoder) attendHead(a *attention, qkv []float32, n, off int) {
	d := e.w.Dim
	hw := d / e.w.Heads
	rows := rowsOf(n)
	cols := (n + 15) &^ 15 // the second product runs over the sequence
	a.q, a.k = grow(a.q, rows*hw), grow(a.k, rows*hw)
	a.v, a.p = grow(a.v, hw*cols), grow(a.p, rows*cols)
	a.qs, a.ks, a.vs = grow(a.qs, rows), grow(a.ks, rows), grow(a.vs, hw)
	a.col, a.score = grow(a.col, cols), grow(a.score, rows*cols)
	clear(a.col[n:])
	clear(a.q[n*hw:])
	clear(a.k[n*hw:])
	clear(a.qs[n:])
	clear(a.ks[n:])

	limit := e.limit
	for i := range n {
		row := qkv[i*3*d+off:]
		a.qs[i] = e.k.quantise(a.q[i*hw:(i+1)*hw], row[:hw], limit)
		a.ks[i] = e.k.quantise(a.k[i*hw:(i+1)*hw], row[d:d+hw], limit)
	}
	for j := range hw {
		for i := range n {
			a.col[i] = qkv[i*3*d+2*d+off+j]
		}
		a.vs[j] = e.k.quantise(a.v[j*cols:(j+1)*cols], a.col, math.MaxInt16)
	}

	var out [8]int32
	scale := float32(1 / math.Sqrt(float64(hw)))
	for j := 0; j < rows; j += 2 {
		k0, k1 := a.ks[j]*scale, a.ks[j+1]*scale
		for r := 0; r < rows; r += 4 {
			e.k.i16(&a.q[r*hw], hw, &a.k[j*hw], hw, hw, &out)
			for i, qs := range a.qs[r : r+4] {
				a.score[(r+i)*cols+j] = float32(out[i]) * (qs * k0)
				a.score[(r+i)*cols+j+1] = float32(out[4+i]) * (qs * k1)
			}
		}
	}
	clear(a.p[n*cols:])
	for i := range n {
		// The weights of a row are integers that sum to about 32767, so their
		// product with int16 values stays in int32 for any number of columns.
		a.qs[i] = 1 / float32(softmax(a.p[i*cols:(i+1)*cols], a.score[i*cols:i*cols+n]))
	}
	for j := 0; j < hw; j += 2 {
		v0, v1 := a.vs[j], a.vs[j+1]
		for r := 0; r < rows; r += 4 {
			e.k.i16(&a.p[r*cols], cols, &a.v[j*cols], cols, cols, &out)
			for i := range min(4, n-r) {
				to := qkv[(r+i)*3*d+off+j:]
				to[0] = float32(out[i]) * (a.qs[r+i] * v0)
				to[1] = float32(out[4+i]) * (a.qs[r+i] * v1)
			}
		}
	}
}

// softmax writes the softmax of x as integers to p, zeros to the rest of p,
// and returns the integers' sum. It overwrites x.
func softmax(p []int16, x []float32) int32 {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float32
	for i, v := range x {
		x[i] = exp(v - top)
		sum += x[i]
	}
	inv := math.MaxInt16 / sum
	var total int32
	for i, v := range x {
		q := int32(v*inv + 0.5)
		p[i] = int16(q)
		total += q
	}
	clear(p[len(x):])
	return total
}

// exp is e^x for x <= 0, off by less than 1e-6 relative: 2^n by the exponent bits, the
// fraction in [-1/2, 1/2] by its Taylor series.
func exp(x float32) float32 {
	if x < -80 {
		return 0
	}
	const high, low = 0.693359375, math.Ln2 - 0.693359375 // n*high is exact
	n := float32(int32(x*math.Log2E - 0.5))
	f := x - n*high - n*low
	p := 1 + f*(1+f*(1./2+f*(1./6+f*(1./24+f*(1./120+f*(1./720))))))
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}
