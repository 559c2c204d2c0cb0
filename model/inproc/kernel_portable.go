package inproc

import "unsafe"

// portable is the reference: what the assembly must reproduce.
func portable() kernel { return kernel{"portable", dot8, dot16} }

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
