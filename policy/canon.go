package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tenet-memory/tenet"
)

// form is a text in the shape in which rules read it. Every byte keeps its
// offset in the original, so that a finding points at what was written.
type form struct {
	source string
	// plain is the text after NFKC without invisible characters, case kept:
	// secrets are looked for here, because base64 is case-sensitive.
	plain    string
	plainOff []int32
	// text is plain after case folding, the confusable skeleton, rejoining of
	// spaced-out words and collapsing of spaces. Canonicalising it again
	// changes nothing.
	text    string
	textOff []int32

	hidden  int        // invisible characters dropped that no script needs
	bidi    int        // direction controls dropped that no script needs
	mixed   [][2]int32 // words of mixed Latin and Cyrillic or Greek letters, in source offsets
	decoded []payload
}

// payload is a decoded piece of the text, with the source span it came from.
type payload struct {
	form       *form
	start, end int32
	whole      bool // the text itself with its escapes read, not a run inside it
}

// span maps [i, j) of the detection text to the source.
func (f *form) span(i, j int) (int, int) { return f.back(f.textOff, i, j) }

// plainSpan maps [i, j) of the plain text to the source.
func (f *form) plainSpan(i, j int) (int, int) { return f.back(f.plainOff, i, j) }

func (f *form) back(off []int32, i, j int) (int, int) {
	if off == nil {
		return i, j
	}
	start, end := int(off[i]), int(off[j])
	for end > start && (f.source[end-1] == ' ' || f.source[end-1] == '\n') {
		end--
	}
	return start, end
}

const (
	decodeDepth = 2
	decodeTotal = 64 << 10
	hiddenLimit = 4
)

// canonicalise makes the detection form, decoded payloads included. The work
// is linear in the text: normalisation rounds, decoding depth and decoded
// bytes are all bounded.
func canonicalise(s string) *form {
	budget := decodeTotal
	return canonicaliseDepth(s, 0, &budget, true)
}

// legible is canonicalise without the detection text, for who looks for
// secrets only.
func legible(s string) *form {
	budget := decodeTotal
	return canonicaliseDepth(s, 0, &budget, false)
}

func canonicaliseDepth(s string, depth int, budget *int, fold bool) *form {
	f := &form{source: s}
	f.normalise()
	if depth < decodeDepth {
		f.decode(depth, budget, fold)
	}
	if fold {
		f.fold()
	}
	return f
}

// normalise applies NFKC and drops what cannot be seen.
func (f *form) normalise() {
	s := f.source
	if isASCII(s) {
		f.plain = s // offsets are the identity
		return
	}
	f.countHidden()
	f.plain, f.plainOff = visible(s, nil)
}

// visible is NFKC without invisible characters, with offsets composed onto
// prev (nil: identity).
func visible(s string, prev []int32) (string, []int32) {
	at := func(i int) int32 {
		if prev == nil {
			return int32(i)
		}
		return prev[i]
	}
	out := make([]byte, 0, len(s)+8)
	off := make([]int32, 0, len(s)+9)
	marks := 0
	var it norm.Iter
	it.InitString(norm.NFKC, s)
	for !it.Done() {
		pos := at(it.Pos())
		seg := it.Next()
		for len(seg) > 0 {
			r, n := utf8.DecodeRune(seg)
			hidden := tenet.Invisible(r)
			switch {
			case hidden: // what shows nothing ends no stack of marks
			case unicode.Is(unicode.Mn, r):
				marks++
			default:
				marks = 0
			}
			// No script stacks more than four marks on a letter; the rest is
			// there to hide or to cost time.
			if !hidden && marks <= 4 {
				out = append(out, seg[:n]...)
				for range n {
					off = append(off, pos)
				}
			}
			seg = seg[n:]
		}
	}
	return string(out), append(off, at(len(s)))
}

// fold makes the detection text from the plain one.
func (f *form) fold() {
	text, off := skeleton(f.plain, f.plainOff)
	f.findMixed()
	text, off = rejoin(text, off)
	// Folding can undo normalisation and rejoining can make new runs; a few
	// rounds reach the fixed point.
	for range 6 {
		more := text
		moreOff := off
		if !isASCII(more) && !norm.NFKC.IsNormalString(more) {
			more, moreOff = visible(more, moreOff)
		}
		more, moreOff = skeleton(more, moreOff)
		more, moreOff = rejoin(more, moreOff)
		if more == text {
			break
		}
		text, off = more, moreOff
	}
	f.text, f.textOff = text, off
}

// skeleton folds case, then maps look-alike letters to Latin. In this order,
// because a table of small letters does not know a Cyrillic capital.
func skeleton(s string, prev []int32) (string, []int32) {
	at := func(i int) int32 {
		if prev == nil {
			return int32(i)
		}
		return prev[i]
	}
	if isASCII(s) {
		return strings.ToLower(s), prev // byte for byte, so offsets stay
	}
	out := make([]byte, 0, len(s))
	off := make([]int32, 0, len(s)+1)
	for i, r := range s {
		pos := at(i)
		n := len(out)
		switch {
		case r >= 'A' && r <= 'Z':
			out = append(out, byte(r)+32)
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r == 'ß' || r == 'ẞ':
			out = append(out, "ss"...)
		case r == 'İ':
			out = append(out, 'i')
		case pointing(r):
			// Vowel points and accents are optional in writing and free to add.
		default:
			r = unicode.ToLower(unicode.ToUpper(unicode.ToLower(r)))
			if d := norm.NFD.PropertiesString(string(r)).Decomposition(); len(d) > 1 && d[0] < utf8.RuneSelf {
				r = rune(d[0])
			}
			if t, ok := confusable(r); ok {
				r = t
			}
			out = utf8.AppendRune(out, r)
		}
		for range len(out) - n {
			off = append(off, pos)
		}
	}
	return string(out), append(off, at(len(s)))
}

// pointing reports combining accents and the vowel points of Arabic and
// Hebrew. The marks of Indic scripts are letters and stay.
func pointing(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x64b && r <= 0x65f || r == 0x670 || r >= 0x591 && r <= 0x5c7 || r == 0x640
}

// rejoin puts spaced-out words together ("i g n o r e") and collapses white
// space to one blank, or one newline where there was one.
func rejoin(s string, prev []int32) (string, []int32) {
	at := func(i int) int32 {
		if prev == nil {
			return int32(i)
		}
		return prev[i]
	}
	if !needsRejoin(s) {
		return s, prev
	}
	out := make([]byte, 0, len(s))
	off := make([]int32, 0, len(s)+1)
	for i := 0; i < len(s); {
		if end, gap := singles(s, i); end > 0 {
			for i < end {
				if n := blanks(s[i:]); n > 0 {
					if n > gap {
						out, off = append(out, ' '), append(off, at(i))
					}
					i += n
					continue
				}
				_, n := utf8.DecodeRuneInString(s[i:])
				for k := range n {
					out, off = append(out, s[i+k]), append(off, at(i+k))
				}
				i += n
			}
			continue
		}
		if n := blanks(s[i:]); n > 0 {
			b := byte(' ')
			if strings.ContainsAny(s[i:i+n], "\n\r") {
				b = '\n'
			}
			if len(out) > 0 && i+n < len(s) {
				out, off = append(out, b), append(off, at(i))
			}
			i += n
			continue
		}
		out, off = append(out, s[i]), append(off, at(i))
		i++
	}
	return string(out), append(off, at(len(s)))
}

func needsRejoin(s string) bool {
	if s == "" {
		return false
	}
	if blanks(s) > 0 || blanks(s[len(s)-1:]) > 0 {
		return true
	}
	single := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if i+1 < len(s) && (s[i+1] == ' ' || s[i+1] == '\n') {
				return true
			}
			if i >= 2 && s[i-2] == ' ' || i == 1 {
				single++
			}
		case '\n':
			if i+1 < len(s) && (s[i+1] == ' ' || s[i+1] == '\n') {
				return true
			}
		case '\t', '\r':
			return true
		default:
			if s[i] >= utf8.RuneSelf {
				return true
			}
		}
	}
	return single >= 4
}

// blanks is the length of the white space at the start of s.
func blanks(s string) int {
	n := 0
	for n < len(s) {
		switch s[n] {
		case ' ', '\t', '\n', '\r':
			n++
			continue
		}
		if s[n] < utf8.RuneSelf {
			return n
		}
		r, w := utf8.DecodeRuneInString(s[n:])
		if !unicode.IsSpace(r) {
			return n
		}
		n += w
	}
	return n
}

// singles reports whether a run of at least six single letters, each apart
// from the next by white space, starts at i: where it ends, and the gap
// between letters of one word.
func singles(s string, i int) (end, gap int) {
	if i > 0 && blanks(s[i-1:i]) == 0 {
		return 0, 0
	}
	count, last := 0, 0
	for p := i; p < len(s); {
		r, n := utf8.DecodeRuneInString(s[p:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || wide(r) {
			break
		}
		g := blanks(s[p+n:])
		if g == 0 && p+n < len(s) {
			break
		}
		count++
		last = p + n
		if g == 0 {
			break
		}
		if next, _ := utf8.DecodeRuneInString(s[p+n+g:]); p+n+g < len(s) && (unicode.IsLetter(next) || unicode.IsDigit(next)) {
			if gap == 0 || g < gap {
				gap = g
			}
		}
		p += n + g
	}
	if count < 6 {
		return 0, 0
	}
	return last, gap
}

// wide reports whether a letter is a word or syllable by itself, so that
// spaces between such letters mean nothing.
func wide(r rune) bool {
	return r >= 0x2e80 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7ff || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
