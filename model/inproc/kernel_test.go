package inproc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestKernelsAgreeToTheBit(t *testing.T) {
	for _, k := range kernels() {
		t.Run(k.name, func(t *testing.T) { agree(t, k, portable()) })
	}
}

func agree(t *testing.T, fast, slow kernel) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{16, 32, 48, 64, 384, 512, 1536, 4096} {
		for _, pad := range []int{0, 16} {
			for trial := range 20 {
				stride := k + pad
				x, w8, w16 := make([]int16, 4*stride), make([]int8, 2*stride), make([]int16, 2*stride)
				top8, top16 := int32(limit8(k)), int32(limit16(k))
				number := func(top int32) int32 {
					if trial < 4 { // the sums that come nearest to the edge of int32
						return []int32{top, -top}[(trial+int(r.Uint32()>>31)*(trial&1))&1]
					}
					return r.Int32N(2*top+1) - top
				}
				for i := range x {
					x[i] = int16(number(top8))
				}
				for i := range w8 {
					w8[i] = int8(number(127))
				}
				var a, b [8]int32
				fast.i8(&x[0], stride, &w8[0], stride, k, &a)
				slow.i8(&x[0], stride, &w8[0], stride, k, &b)
				if a != b {
					t.Fatalf("int8, k %d, trial %d: %s %v, portable %v", k, trial, fast.name, a, b)
				}
				for i := range x {
					x[i] = int16(number(top16))
				}
				for i := range w16 {
					w16[i] = int16(number(top16))
				}
				fast.i16(&x[0], stride, &w16[0], stride, k, &a)
				slow.i16(&x[0], stride, &w16[0], stride, k, &b)
				if a != b {
					t.Fatalf("int16, k %d, trial %d: %s %v, portable %v", k, trial, fast.name, a, b)
				}
				f := make([]float32, k)
				for i := range f {
					f[i] = float32(r.NormFloat64() * math.Exp(4*r.NormFloat64()))
				}
				qa, qb := make([]int16, k), make([]int16, k)
				if sa, sb := fast.quantise(qa, f, limit8(k)), slow.quantise(qb, f, limit8(k)); sa != sb || !slices.Equal(qa, qb) {
					t.Fatalf("quantising %d numbers differs: scales %v and %v", k, sa, sb)
				}
			}
		}
	}
}

func TestNoSumLeavesInt32(t *testing.T) {
	for k := 16; k <= 16384; k += 16 {
		if worst := int64(k) * 127 * int64(limit8(k)); worst > math.MaxInt32 {
			t.Fatalf("int8 sums over %d numbers reach %d", k, worst)
		}
		if l := int64(limit16(k)); int64(k)*l*l > math.MaxInt32 {
			t.Fatalf("int16 sums over %d numbers reach %d", k, int64(k)*l*l)
		}
	}
}

func TestQuantisingIsExactToHalfAStep(t *testing.T) {
	k := kernels()[0]
	x := make([]float32, 64)
	for i := range x {
		x[i] = float32(i-20) * 0.37
	}
	q := make([]int16, len(x))
	scale := k.quantise(q, x, 32767)
	for i := range x {
		if d := math.Abs(float64(x[i] - float32(q[i])*scale)); d > float64(scale)*0.51 {
			t.Errorf("%v became %v", x[i], float32(q[i])*scale)
		}
	}
	clear(x)
	if scale := k.quantise(q, x, 32767); scale != 0 || q[3] != 0 {
		t.Errorf("zeros became scale %v, %v", scale, q[3])
	}
}

func TestApproximationsAreClose(t *testing.T) {
	e := newEncoder(tiny(), portable())
	for x := -12.0; x < 12; x += 0.0137 {
		want := x * 0.5 * (1 + math.Erf(x/math.Sqrt2))
		if got := float64(e.activate(float32(x))); math.Abs(got-want) > 1e-5 {
			t.Fatalf("gelu(%v) = %v, want %v", x, got, want)
		}
		if x <= 0 {
			y := x * 6
			if got, want := float64(exp(float32(y))), math.Exp(float64(float32(y))); math.Abs(got-want) > 1e-6*want {
				t.Fatalf("exp(%v) = %v, want %v", y, got, want)
			}
		}
	}
	if nan := float32(math.NaN()); e.activate(nan) != 0 {
		t.Error("a NaN reached the activation's table")
	}
}
