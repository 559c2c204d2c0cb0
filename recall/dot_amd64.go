package recall

import "golang.org/x/sys/cpu"

//go:noescape
func rowsAVX2(q *int16, rows *int8, k, n int, out *int32)

// fastRows is what this machine runs. The block kernels of model/inproc do not
// fit: they multiply four rows with two, here it is one with very many.
func fastRows() func(q *int16, rows *int8, k, n int, out *int32) {
	if cpu.X86.HasAVX2 {
		return rowsAVX2
	}
	return rowsPortable
}
