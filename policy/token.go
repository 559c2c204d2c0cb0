package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word, address or symbol of the detection text.
type token struct {
	start, end int32
	brk        uint8 // what stands before it
	kind       uint8
	hit, hits  int32 // its dictionary hits: scan.hits[hit : hit+hits]
}

// What separates a token from the one before it.
const (
	joined  uint8 = iota
	comma         // a comma
	clause        // newline, colon, dash, arrow, bar
	stopped       // full stop, question or exclamation mark, semicolon
)

const (
	word uint8 = iota
	wideWord
	number
	mail
	url
	domain
	path
	symbol
)

// tokenise splits detection text into tokens. Letters of scripts without
// spaces are a token each; an address stays whole.
func tokenise(s string, out []token) []token {
	brk := stopped
	for i := 0; i < len(s); {
		c := s[i]
		switch c {
		case ' ', '"', '(', ')', '{', '}', '*', '`', '\'', '~', '^', '_', '\\':
			i++
			continue
		case ',':
			brk = max(brk, comma)
			i++
			continue
		case '\n', ':', '|', '\t', '[', ']':
			brk = max(brk, clause)
			i++
			continue
		case '.':
			// A dot inside system.prompt or 3.5 ends nothing.
			if i == 0 || i+1 >= len(s) || !isWordByte(s[i-1]) || !isWordByte(s[i+1]) {
				brk = stopped
			}
			i++
			continue
		case '!', '?', ';':
			brk = stopped
			i++
			continue
		case '-', '>', '=', '<', '+':
			// " - " and "->" separate; a hyphen in a word only ends a token.
			if (c == '>' || c == '-') && (i == 0 || s[i-1] == ' ' || s[i-1] == '-') {
				brk = max(brk, clause)
			}
			i++
			continue
		}
		if end, kind := address(s, i); end > i {
			out = append(out, token{start: int32(i), end: int32(end), brk: brk, kind: kind})
			brk = joined
			i = end
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case wideScript(r):
			out = append(out, token{start: int32(i), end: int32(i + n), brk: brk, kind: wideWord})
		case unicode.IsLetter(r) || unicode.IsMark(r):
			n = wordLen(s[i:])
			out = append(out, token{start: int32(i), end: int32(i + n), brk: brk, kind: word})
		case unicode.IsDigit(r):
			n = wordLen(s[i:])
			kind := number
			if strings.IndexFunc(s[i:i+n], unicode.IsLetter) >= 0 {
				kind = word
			}
			out = append(out, token{start: int32(i), end: int32(i + n), brk: brk, kind: kind})
		case r == '。' || r == '！' || r == '？' || r == '؟' || r == '।' || r == '；':
			brk = stopped
			i += n
			continue
		case r == '、' || r == '，' || r == '،':
			brk = max(brk, comma)
			i += n
			continue
		case r == '→' || r == '：' || r == '–' || r == '—' || r == '•' || r == '\u2028':
			brk = max(brk, clause)
			i += n
			continue
		case unicode.IsSpace(r) || unicode.IsPunct(r) && r != '#' && r != '/' && r != '%' && r != '&' && r != '@':
			i += n
			continue
		default:
			out = append(out, token{start: int32(i), end: int32(i + n), brk: brk, kind: symbol})
		}
		brk = joined
		i += n
	}
	return out
}

// wordLen is the length of the word at the start of s: letters, marks,
// digits, and apostrophes between letters.
func wordLen(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			n++
			continue
		}
		if c == '\'' || c == '@' || c == '$' || c == '_' {
			// don't; and p@ssword, ca$h: a sign inside a word stands for a letter
			if n > 0 && n+1 < len(s) && s[n+1] >= 'a' && s[n+1] <= 'z' {
				if c == '_' {
					return n
				}
				n++
				continue
			}
			return n
		}
		if c < utf8.RuneSelf {
			return n
		}
		r, w := utf8.DecodeRuneInString(s[n:])
		if wideScript(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			return n
		}
		n += w
	}
	return n
}

// wideScript reports whether a script writes no spaces between words. Hangul
// does, so its syllables are letters like others.
func wideScript(r rune) bool {
	return r >= 0x2e80 && r <= 0x9fff && (r < 0x3000 || r > 0x303f) && (r < 0x3130 || r > 0x318f) || r >= 0xf900 && r <= 0xfaff ||
		r >= 0x20000 && r <= 0x3ffff || r >= 0xe00 && r <= 0xeff
}

// address recognises a URL, mail address, bare domain or absolute path at i.
func address(s string, i int) (int, uint8) {
	c := s[i]
	if c == '/' {
		j := i + 1
		for j < len(s) && (isWordByte(s[j]) || s[j] == '/' || s[j] == '.') {
			j++
		}
		for j > i && s[j-1] == '.' {
			j--
		}
		if j-i >= 4 && (i == 0 || !isWordByte(s[i-1])) {
			return j, path
		}
		return i, 0
	}
	if !isWordByte(c) {
		return i, 0
	}
	j, dots, at, lastDot, scheme := i, 0, -1, -1, false
	for j < len(s) {
		b := s[j]
		if isWordByte(b) || b == '-' || b == '+' || b == '%' && at < 0 {
			j++
			continue
		}
		if b == '.' && j+1 < len(s) && isWordByte(s[j+1]) {
			dots++
			lastDot = j
			j++
			continue
		}
		if b == '@' && at < 0 && j+1 < len(s) && isWordByte(s[j+1]) {
			at = j
			dots = 0
			j++
			continue
		}
		if b == ':' && strings.HasPrefix(s[j:], "://") {
			scheme = true
		}
		break
	}
	switch {
	case scheme:
		for j < len(s) && s[j] > ' ' && !strings.ContainsRune("\"'<>`)]}", rune(s[j])) {
			j++
		}
		for s[j-1] == '.' || s[j-1] == ',' {
			j--
		}
		return j, url
	case dots == 0:
		return i, 0
	case at > i && letters(s[lastDot+1:j]):
		return j, mail
	case at >= 0:
		return i, 0
	}
	host := s[i:j]
	if strings.HasPrefix(host, "www.") || topLevel(s[lastDot+1:j]) && !digitsOnly(s[i:lastDot]) {
		if j < len(s) && s[j] == '/' {
			for j < len(s) && s[j] > ' ' && !strings.ContainsRune("\"'<>`)]},", rune(s[j])) {
				j++
			}
		}
		return j, domain
	}
	return i, 0
}

func isWordByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_' }

func letters(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return len(s) >= 2
}

func digitsOnly(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }) < 0
}

// topLevel reports whether a label ends host names that people write bare.
// Labels that are also file endings (sh, py, rs, md) are left out.
func topLevel(s string) bool {
	switch s {
	case "com", "net", "org", "io", "dev", "app", "ai", "co", "info", "biz", "cloud", "site", "online", "xyz", "top", "link", "click",
		"example", "internal", "local", "test", "edu", "gov", "uk", "de", "fr", "es", "it", "nl", "eu", "us", "ru", "cn", "jp", "in", "br", "tr":
		return true
	}
	return false
}
