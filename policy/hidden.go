package policy

import (
	"strings"
	"unicode"

	"github.com/tenet-memory/tenet"
)

func bidiControl(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// countHidden counts invisible characters that the script around them does
// not need: joiners belong in Arabic and Indic words and in emoji, direction
// marks beside right-to-left letters, selectors after what they select.
func (f *form) countHidden() {
	rs := []rune(f.source)
	rtl := strings.ContainsFunc(f.source, rightToLeft)
	inFlag := false
	for i, r := range rs {
		if r == 0x1f3f4 {
			inFlag = true
		} else if r < 0xe0020 || r > 0xe007f {
			inFlag = false
		}
		if !tenet.Invisible(r) || r == 0xad {
			continue
		}
		var before, after rune
		if i > 0 {
			before = rs[i-1]
		}
		if i+1 < len(rs) {
			after = rs[i+1]
		}
		switch {
		case bidiControl(r):
			if !rtl || r == 0x202d || r == 0x202e {
				f.bidi++
			}
		case r == 0x200e || r == 0x200f || r == 0x61c:
			if !rtl {
				f.bidi++
			}
		case r == 0x200c || r == 0x200d:
			if !joins(before) && !joins(after) {
				f.hidden++
			}
		case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r >= 0x180b && r <= 0x180f:
			if before < 0x80 && !strings.ContainsRune("0123456789#*", before) || tenet.Invisible(before) && before != 0x200d {
				f.hidden++
			}
		case inFlag, r == 0xfeff && i == 0:
		default:
			f.hidden++
		}
	}
}

func rightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefe
}

// joins reports whether a joiner beside r has a job.
func joins(r rune) bool {
	switch {
	case r < 0x590:
		return false
	case r >= 0x590 && r <= 0x8ff, r >= 0x900 && r <= 0xdff, r >= 0x1000 && r <= 0x109f, r >= 0x1780 && r <= 0x18af:
		return true
	}
	return r == 0xfe0f || r >= 0x2190 && r <= 0x2bff || r >= 0x1f000 && r <= 0x1faff || rightToLeft(r)
}

// findMixed notes words that mix Latin letters with Cyrillic or Greek ones.
func (f *form) findMixed() {
	if isASCII(f.plain) {
		return
	}
	start := -1
	latin, other := false, false
	flush := func(end int) {
		if start >= 0 && latin && other && len(f.mixed) < 16 {
			a, b := f.plainSpan(start, end)
			f.mixed = append(f.mixed, [2]int32{int32(a), int32(b)})
		}
		start, latin, other = -1, false, false
	}
	for i, r := range f.plain {
		if !unicode.IsLetter(r) {
			flush(i)
			continue
		}
		if start < 0 {
			start = i
		}
		switch {
		case r < 0x250 && r != 'µ':
			latin = true
		case r >= 0x370 && r <= 0x52f:
			other = true
		}
	}
	flush(len(f.plain))
}
