package recall

import "math"

// Vector is a place in a dense space. Values are int8, so that a product is an
// exact integer and every machine ranks alike.
type Vector struct {
	Space  string // model and version; two spaces are never compared
	Values []int8
}

// Quantize scales a vector to unit length and rounds it to int8. It reports
// false for a vector that has no direction: empty, zero, NaN or infinite.
func Quantize(space string, v []float32) (Vector, bool) {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return Vector{}, false
	}
	// The largest component gets the full range: int8 is coarse, and the length
	// is divided out again when two vectors are compared.
	var peak float64
	for _, x := range v {
		peak = max(peak, math.Abs(float64(x)))
	}
	q := make([]int8, len(v))
	for i, x := range v {
		q[i] = int8(math.RoundToEven(float64(x) / peak * 127))
	}
	return Vector{Space: space, Values: q}, true
}

// dot is the integer product of two vectors of equal length.
func dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// setVector stores the vector of an entry; the first one sets space and size.
func (ix *Index) setVector(at place, v Vector) {
	if len(v.Values) == 0 {
		return
	}
	if ix.dim == 0 {
		ix.space, ix.dim = v.Space, len(v.Values)
	}
	ln := &ix.lanes[at.lane]
	if need := len(ln.docs) * ix.dim; len(ln.vectors) < need {
		ln.vectors = append(ln.vectors, make([]int8, need-len(ln.vectors))...)
	}
	copy(ln.vectors[int(at.slot)*ix.dim:], v.Values)
}
