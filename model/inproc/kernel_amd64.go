package inproc

import "golang.org/x/sys/cpu"

//go:noescape
func dot8AVX2(x *int16, xs int, w *int8, ws int, k int, out *[8]int32)

//go:noescape
func dot16AVX2(x *int16, xs int, w *int16, ws int, k int, out *[8]int32)

//go:noescape
func largestAVX2(x *float32, n int) float32

//go:noescape
func roundAVX2(q *int16, x *float32, n int, by float32)

func fastest() kernel {
	if cpu.X86.HasAVX2 {
		return kernel{"avx2", dot8AVX2, dot16AVX2, largestAVX2, roundAVX2}
	}
	return portable()
}
