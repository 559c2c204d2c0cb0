//go:build !amd64

package recall

func fastRows() func(q *int16, rows *int8, k, n int, out *int32) { return rowsPortable }
