package inproc

import (
	"math"
	"unsafe"
)

// portable is the reference: what the assembly must reproduce.
func portable() kernel { return kernel{"portable", dotRows[int8], dotRows[int16], largest, round} }

func dotRows[W int8 | int16](x *int16, xs int, w *W, ws int, k int, out *[8]int32) {
	xr, wr := unsafe.Slice(x, 3*xs+k), unsafe.Slice(w, ws+k)
	u, v := wr[:k], wr[ws:ws+k]
	// Slices of one visible length: the compiler then drops the bounds checks.
	a, b, c, d := xr[:k][:len(u)], xr[xs : xs+k][:len(u)], xr[2*xs : 2*xs+k][:len(u)], xr[3*xs : 3*xs+k][:len(u)]
	v = v[:len(u)]
	var s0, s1, s2, s3, t0, t1, t2, t3 int32
	for i := range u {
		p, q := int32(u[i]), int32(v[i])
		x0, x1, x2, x3 := int32(a[i]), int32(b[i]), int32(c[i]), int32(d[i])
		s0 += p * x0
		s1 += p * x1
		s2 += p * x2
		s3 += p * x3
		t0 += q * x0
		t1 += q * x1
		t2 += q * x2
		t3 += q * x3
	}
	*out = [8]int32{s0, s1, s2, s3, t0, t1, t2, t3}
}

func largest(x *float32, n int) float32 {
	var top float32
	for _, v := range unsafe.Slice(x, n) {
		if v < 0 {
			v = -v
		}
		if v > top {
			top = v
		}
	}
	return top
}

func round(q *int16, x *float32, n int, by float32) {
	const magic = 3 << 22 // adding it leaves the rounded integer in the low bits
	to := unsafe.Slice(q, n)
	for i, v := range unsafe.Slice(x, n) {
		to[i] = int16(math.Float32bits(float32(v*by) + magic)) // the conversion forbids a fused multiply-add
	}
}
