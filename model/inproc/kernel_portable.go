package inproc

import (
	"math"
	"unsafe"
)

// portable is the reference: what the assembly must reproduce.
func portable() kernel { return kernel{"portable", dot8, dot16, largest, round} }

func dot8(x *int16, xs int, w *int8, ws int, k int, out *[8]int32) {
	xr := unsafe.Slice(x, 3*xs+k)
	wr := unsafe.Slice(w, ws+k)
	for j := range 2 {
		row := wr[j*ws : j*ws+k]
		a, b, c, d := xr[:k], xr[xs:xs+k], xr[2*xs:2*xs+k], xr[3*xs:3*xs+k]
		var s0, s1, s2, s3 int32
		for i, q := range row {
			v := int32(q)
			s0 += v * int32(a[i])
			s1 += v * int32(b[i])
			s2 += v * int32(c[i])
			s3 += v * int32(d[i])
		}
		out[4*j], out[4*j+1], out[4*j+2], out[4*j+3] = s0, s1, s2, s3
	}
}

func dot16(x *int16, xs int, w *int16, ws int, k int, out *[8]int32) {
	xr := unsafe.Slice(x, 3*xs+k)
	wr := unsafe.Slice(w, ws+k)
	for j := range 2 {
		row := wr[j*ws : j*ws+k]
		a, b, c, d := xr[:k], xr[xs:xs+k], xr[2*xs:2*xs+k], xr[3*xs:3*xs+k]
		var s0, s1, s2, s3 int32
		for i, q := range row {
			v := int32(q)
			s0 += v * int32(a[i])
			s1 += v * int32(b[i])
			s2 += v * int32(c[i])
			s3 += v * int32(d[i])
		}
		out[4*j], out[4*j+1], out[4*j+2], out[4*j+3] = s0, s1, s2, s3
	}
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
