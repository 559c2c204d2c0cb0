package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var integer = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// identity reads an id: a string, or an integer by its digits, never through a
// float64. The number 7 and the string "7" are two ids: "#7" and "7". So that
// no string can imitate a number or a position, one that starts with # or @
// gets a further # before it. Absent and null give "".
func identity(raw json.RawMessage) (string, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", nil
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil || s == "" {
			return "", errors.New("an id is empty")
		}
		if s[0] == '#' || s[0] == '@' {
			s = "#" + s
		}
		return s, nil
	case integer.Match(raw):
		return "#" + string(raw), nil
	}
	return "", errors.New("an id is neither a string nor an integer")
}

// position is the client id of a message that has none: its place in the
// conversation, from 1. A file that grows at its end keeps all of them.
func position(i int) string { return "@" + strconv.Itoa(i+1) }

// maxSeconds is the last second of the year 9999: a larger number is most
// likely milliseconds, and guessing would date a memory wrongly.
const maxSeconds = 253402300799

// moment reads a time: RFC 3339, a date, or Unix seconds with a fraction, exact
// to the microsecond. Absent and null give the zero time.
func moment(raw json.RawMessage) (time.Time, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return time.Time{}, nil
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return time.Time{}, errors.New("a time is not a string")
		}
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if t, err := time.Parse(layout, s); err == nil {
				return bounded(t)
			}
		}
		return time.Time{}, errors.New("a time is not RFC 3339")
	}
	lit := string(raw)
	if len(lit) > 32 || strings.ContainsAny(lit, "eE") {
		return time.Time{}, errors.New("a time is not in plain seconds")
	}
	sec, ok := new(big.Rat).SetString(lit)
	if !ok {
		return time.Time{}, errors.New("a time is neither a string nor a number")
	}
	micros := sec.Mul(sec, big.NewRat(1_000_000, 1))
	whole := new(big.Int).Quo(micros.Num(), micros.Denom())
	if !whole.IsInt64() || whole.Int64() > maxSeconds*1_000_000 {
		return time.Time{}, errors.New("a time is out of range; seconds are expected")
	}
	return bounded(time.UnixMicro(whole.Int64()))
}

func bounded(t time.Time) (time.Time, error) {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 || t.IsZero() {
		return time.Time{}, fmt.Errorf("a time is outside the years 1 to 9999")
	}
	return t.Truncate(time.Microsecond), nil
}
