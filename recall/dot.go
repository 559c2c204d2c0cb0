package recall

import "unsafe"

// wide is what the length of a row is filled up to, with zeros.
const wide = 16

func padded(dim int) int { return (dim + wide - 1) &^ (wide - 1) }

// rowsPortable sets out[i] to the product of q and row i, of n rows with k
// numbers each; k is a multiple of 16. All is integer and, within largest,
// exact, so every machine ranks alike.
func rowsPortable(q *int16, rows *int8, k, n int, out *int32) {
	qs, rs, to := unsafe.Slice(q, k), unsafe.Slice(rows, k*n), unsafe.Slice(out, n)
	for i := range to {
		row := rs[i*k : (i+1)*k][:len(qs)]
		var s0, s1, s2, s3 int32
		for j := 0; j+4 <= len(qs); j += 4 {
			s0 += int32(qs[j]) * int32(row[j])
			s1 += int32(qs[j+1]) * int32(row[j+1])
			s2 += int32(qs[j+2]) * int32(row[j+2])
			s3 += int32(qs[j+3]) * int32(row[j+3])
		}
		to[i] = s0 + s1 + s2 + s3
	}
}

// largest is the magnitude that k numbers of q may have, so that no sum with
// int8 numbers leaves int32.
func largest(k int) float64 { return float64(min(32767, (1<<31-1)/(128*k))) }
