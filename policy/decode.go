package policy

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// decode finds encoded runs in the plain text and canonicalises what they
// say, to the depth and within the byte budget that bound the whole work.
func (f *form) decode(depth int, budget *int, fold bool) {
	add := func(text string, i, j int, whole bool) {
		if *budget < len(text) || len(text) == 0 || len(f.decoded) >= 64 {
			return
		}
		*budget -= len(text)
		a, b := f.plainSpan(i, j)
		f.decoded = append(f.decoded, payload{canonicaliseDepth(text, depth+1, budget, fold), int32(a), int32(b), whole})
	}
	s := f.plain
	if strings.IndexByte(s, '&') >= 0 && strings.IndexByte(s, ';') >= 0 {
		if t := html.UnescapeString(s); t != s && utf8.ValidString(t) {
			add(t, 0, len(s), true)
		}
	}
	if percents(s) >= 3 {
		if t := unpercent(s); t != s && printable(t) {
			add(t, 0, len(s), true)
		}
	}
	if strings.Contains(s, `\u00`) || strings.Contains(s, `\x`) {
		if t := unescape(s); t != s && printable(t) {
			add(t, 0, len(s), true)
		}
	}
	if strings.Contains(s, "-\n") {
		add(strings.ReplaceAll(s, "-\n", ""), 0, len(s), true) // a word broken over two lines
	}
	if t := unspell(s); t != s {
		add(t, 0, len(s), true)
	}
	var parts []string // of a text that was cut before it was encoded
	first, last := 0, 0
	for i := 0; i < len(s); {
		if !base64Byte(s[i]) {
			i++
			continue
		}
		j := i
		for j < len(s) && base64Byte(s[j]) {
			j++
		}
		run := s[i:j]
		for j < len(s) && s[j] == '=' && j-i-len(run) < 2 {
			j++
		}
		if t, ok := decodeRun(run); ok || j > i+len(run) && len(run) >= 8 && !plainWord(run) && decodeShort(run, &t) {
			if ok { // a short one counts beside others only
				add(t, i, j, false)
			}
			if parts == nil {
				first = i
			}
			parts, last = append(parts, t), j
		}
		i = j
	}
	if len(parts) > 1 {
		add(strings.Join(parts, ""), first, last, false)
	}
	if i, j := hexPairs(s); j > i {
		if b, err := hex.DecodeString(strings.ReplaceAll(s[i:j], " ", "")); err == nil && printable(string(b)) {
			add(string(b), i, j, false)
		}
	}
}

// unspell joins words that are spelled with a sign between their letters
// ("i-g-n-o-r-e a.l.l"). One run of at least five letters is wanted, so that
// abbreviations alone change nothing.
func unspell(s string) string {
	const signs = "-._*/|+~"
	var b []byte
	at, spelled := 0, false
	for i := 0; i+4 < len(s); i++ {
		if !letter(s[i]) || i > 0 && (alnum(s[i-1]) || strings.IndexByte(signs, s[i-1]) >= 0) || strings.IndexByte(signs, s[i+1]) < 0 {
			continue
		}
		sign, j, n := s[i+1], i, 1
		for j+2 < len(s) && s[j+1] == sign && letter(s[j+2]) {
			j, n = j+2, n+1
		}
		if n < 3 || j+1 < len(s) && alnum(s[j+1]) {
			i = max(i, j)
			continue
		}
		spelled = spelled || n >= 5
		b = append(b, s[at:i]...)
		for k := i; k <= j; k += 2 {
			b = append(b, s[k])
		}
		at, i = j+1, j
	}
	if !spelled {
		return s
	}
	return string(append(b, s[at:]...))
}

// decodeRun decodes an unbroken run as hex (from 10 bytes) or base64 (from 16
// characters) when nearly all of the result is printable.
func decodeRun(run string) (string, bool) {
	if len(run) < 16 {
		return "", false
	}
	if len(run)%2 == 0 && len(run) >= 20 && isHex(run) {
		b, err := hex.DecodeString(run)
		if err == nil && printable(string(b)) {
			return string(b), true
		}
		return "", false
	}
	if plainWord(run) {
		return "", false
	}
	std := strings.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, run)
	if len(std)%4 == 1 {
		std = std[:len(std)-1]
	}
	b, err := base64.RawStdEncoding.DecodeString(std)
	if err != nil || !printable(string(b)) {
		return "", false
	}
	return string(b), true
}

// decodeShort decodes a run that is too short to be judged alone but ends in
// base64's own padding.
func decodeShort(run string, to *string) bool {
	b, err := base64.RawStdEncoding.DecodeString(run)
	*to = string(b)
	return err == nil && printable(*to)
}

// plainWord reports whether a run is small letters, dashes and slashes only:
// a word or a path, which base64 of a sentence never is.
func plainWord(run string) bool {
	for i := 0; i < len(run); i++ {
		c := run[i]
		if (c < 'a' || c > 'z') && c != '-' && c != '/' && c != '_' {
			return false
		}
	}
	return true
}

func base64Byte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if !hexByte(s[i]) {
			return false
		}
	}
	return true
}

func hexByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// hexPairs finds the longest run of at least ten two-digit hex numbers, each
// apart from the next by one blank.
func hexPairs(s string) (int, int) {
	best, bestEnd := 0, 0
	for i := 0; i+2 <= len(s); {
		if !hexByte(s[i]) || !hexByte(s[i+1]) || i > 0 && s[i-1] != ' ' && s[i-1] != '\n' {
			i++
			continue
		}
		j := i + 2
		for j+3 <= len(s) && s[j] == ' ' && hexByte(s[j+1]) && hexByte(s[j+2]) {
			j += 3
		}
		if j < len(s) && hexByte(s[j]) {
			j -= 3
		}
		if j-i >= 29 && j-i > bestEnd-best {
			best, bestEnd = i, j
		}
		i = max(j, i+2)
	}
	return best, bestEnd
}

func printable(s string) bool {
	if s == "" || !utf8.ValidString(s) {
		return false
	}
	good, letters, n := 0, 0, 0
	for _, r := range s {
		n++
		if unicode.IsPrint(r) || r == '\n' || r == '\t' || r == '\r' {
			good++
		}
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	return good*100 >= n*95 && letters*2 >= n
}

func percents(s string) int {
	n := 0
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '%' && hexByte(s[i+1]) && hexByte(s[i+2]) {
			n++
		}
	}
	return n
}

func unpercent(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && hexByte(s[i+1]) && hexByte(s[i+2]) {
			b = append(b, nibble(s[i+1])<<4|nibble(s[i+2]))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

// unescape reads \u0041 and \x41, with or without blanks between them.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+5 < len(s) && s[i+1] == 'u' && isHex(s[i+2:i+6]) {
			r := rune(nibble(s[i+2]))<<12 | rune(nibble(s[i+3]))<<8 | rune(nibble(s[i+4]))<<4 | rune(nibble(s[i+5]))
			if r > 0 && (r < 0xd800 || r > 0xdfff) {
				b = utf8.AppendRune(b, r)
				i += 5
				continue
			}
		}
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2:i+4]) {
			if c := nibble(s[i+2])<<4 | nibble(s[i+3]); c >= 0x20 && c < 0x7f {
				b = append(b, c)
				i += 3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func nibble(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
