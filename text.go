package tenet

import "unicode"

// Invisible reports whether a character shows nothing: format and tag
// characters, variation selectors, fillers, and controls other than
// white space.
func Invisible(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t' && r != '\r'
	case r < 0x7f:
		return false
	case r < 0xa0 || r == 0xad || r == 0x34f || r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 || r == 0x3164 || r == 0xffa0:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0x180b && r <= 0x180f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}
