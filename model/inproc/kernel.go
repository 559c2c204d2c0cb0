package inproc

// Every matrix product is made of integers, so its result does not depend on
// the order of the additions: the portable and the AVX2 kernel agree to the
// bit, and a ranking is the same on every machine that runs them.
//
// Both kernels multiply four rows of x with two rows of w, k numbers each, and
// write out[4*j+i] = x row i . w row j. k is a multiple of 16. Strides count
// numbers. The caller bounds the numbers so that no sum leaves int32; see
// limit8 and limit16.

// kernel is a set of inner loops; there is one for each kind of machine.
//
// largest and round work on n floats, a multiple of 16. They take every number
// by itself, multiply and add in two roundings, and so agree to the bit too.
type kernel struct {
	name    string
	i8      func(x *int16, xs int, w *int8, ws int, k int, out *[8]int32)
	i16     func(x *int16, xs int, w *int16, ws int, k int, out *[8]int32)
	largest func(x *float32, n int) float32               // the largest |x|
	round   func(q *int16, x *float32, n int, by float32) // q = x*by to the nearest, ties to even
}

// quantise writes x to q in steps of the returned scale, so that the largest
// magnitude becomes limit. Their length is a multiple of 16.
func (k *kernel) quantise(q []int16, x []float32, limit float32) float32 {
	q = q[:len(x)]
	top := k.largest(&x[0], len(x))
	if top < 1e-30 {
		clear(q)
		return 0
	}
	k.round(&q[0], &x[0], len(x), limit/top)
	return top / limit
}

// limit8 is the largest |x| allowed against k int8 weights.
func limit8(k int) float32 { return float32(min(32767, (1<<31-1)/(127*k))) }

// limit16 is the largest magnitude allowed on both sides over k numbers.
func limit16(k int) float32 {
	n := 1
	for (n+1)*(n+1)*k < 1<<31 && n < 32767 {
		n++
	}
	return float32(n)
}
