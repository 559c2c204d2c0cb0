package inproc

import "golang.org/x/sys/cpu"

//go:noescape
func dot8AVX2(x *int16, xs int, w *int8, ws int, k int, out *[8]int32)

//go:noescape
func dot8VNNI(x *int16, xs int, w *int8, ws int, k int, out *[8]int32)

//go:noescape
func dot16AVX2(x *int16, xs int, w *int16, ws int, k int, out *[8]int32)

//go:noescape
func largestAVX2(x *float32, n int) float32

//go:noescape
func roundAVX2(q *int16, x *float32, n int, by float32)

// kernels are those that this machine can run, the fastest first.
func kernels() []kernel {
	c := &cpu.X86
	var ks []kernel
	if c.HasAVX2 && c.HasAVX512F && c.HasAVX512BW && c.HasAVX512VNNI {
		ks = append(ks, vnni())
	}
	if c.HasAVX2 {
		ks = append(ks, avx2())
	}
	return append(ks, portable())
}

func avx2() kernel { return kernel{"avx2", dot8AVX2, dot16AVX2, largestAVX2, roundAVX2} }

func vnni() kernel {
	k := avx2()
	k.name = "avx512-vnni"
	k.i8 = func(x *int16, xs int, w *int8, ws int, n int, out *[8]int32) {
		if n%32 != 0 {
			dot8AVX2(x, xs, w, ws, n, out)
			return
		}
		dot8VNNI(x, xs, w, ws, n, out)
	}
	return k
}
