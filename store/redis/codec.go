package redis

import (
	"strconv"
	"time"
)

// Times that scripts compare are decimal microseconds, empty for none. What is
// sealed is written by package column.

// micros and when write and read them.
func micros(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

func when(s string) time.Time {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func decimal[N ~int | ~int64 | ~uint64](n N) string { return strconv.FormatInt(int64(n), 10) }

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
