package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball"
	"golang.org/x/text/unicode/norm"
)

// maxTokenBytes bounds a term: what is longer (base64, a line of dashes) is
// known by its first bytes only. Offsets still cover the whole run.
const maxTokenBytes = 128

// Token is a searchable piece of a text.
type Token struct {
	Term       string // folded, and stemmed where the language has a stemmer
	Start, End int    // bytes of the original text that it stands for
	Stop       bool   // too common to be searched for
}

// Tokenizer turns texts into terms. It is immutable and safe for concurrent
// use.
type Tokenizer struct {
	language string   // a Snowball language, or "" for none
	lex      *lexicon // empty but for English
}

// NewTokenizer makes a tokeniser that stems in the given language: english,
// spanish, french, russian, swedish, norwegian, hungarian, or "none". Scripts
// without spaces are cut into bigrams whatever the language.
func NewTokenizer(language string) (*Tokenizer, error) {
	switch language {
	case "", "english":
		return &Tokenizer{language: "english", lex: english()}, nil
	case "none":
		return &Tokenizer{lex: &lexicon{}}, nil
	}
	if _, err := snowball.Stem("probe", language, true); err != nil {
		return nil, ErrParams
	}
	return &Tokenizer{language: language, lex: &lexicon{}}, nil
}

// Tokens returns the tokens of a text in order. Any bytes are fit to be read:
// what is not UTF-8 separates words.
func (t *Tokenizer) Tokens(text string) []Token {
	var out []Token
	t.scan(text, func(surface []byte, start, end int) {
		term, stop := t.term(string(surface))
		out = append(out, Token{Term: term, Start: start, End: end, Stop: stop})
	})
	return out
}

// term maps a folded surface form to what is indexed.
func (t *Tokenizer) term(surface string) (term string, stop bool) {
	if _, ok := t.lex.stop[surface]; ok {
		return surface, true
	}
	if base, ok := t.lex.base[surface]; ok {
		surface = base
	}
	if isArabic(surface) {
		return stemArabic(surface), false
	}
	if t.language == "" || !t.stems(surface) {
		return surface, false
	}
	stem, err := snowball.Stem(surface, t.language, true)
	if err != nil || stem == "" {
		return surface, false
	}
	return stem, false
}

// stems reports whether the stemmer of the language should see the word. The
// English one is for ASCII words of three letters and more: on others it does
// harm. Numbers and mixed identifiers stay as they are.
func (t *Tokenizer) stems(word string) bool {
	if len(word) < 3 {
		return false
	}
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c >= utf8.RuneSelf {
			if t.language == "english" {
				return false
			}
			continue
		}
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// scan cuts a text into folded surface forms. emit must not keep the slice.
func (t *Tokenizer) scan(text string, emit func(surface []byte, start, end int)) {
	w := wordScanner{emit: emit, text: text}
	for i := 0; i < len(text); {
		c := text[i]
		// An ASCII byte before another one cannot compose with anything.
		if c < utf8.RuneSelf && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) {
			w.ascii(c, i)
			i++
			continue
		}
		n := norm.NFKC.NextBoundaryInString(text[i:], true)
		if n <= 0 {
			n = 1
		}
		seg := text[i : i+n]
		if !norm.NFKC.IsNormalString(seg) {
			seg = norm.NFKC.String(seg)
			for _, r := range seg {
				w.rune(r, i, i+n)
			}
		} else {
			for j, r := range seg {
				size := utf8.RuneLen(r)
				if r == utf8.RuneError {
					_, size = utf8.DecodeRuneInString(seg[j:])
				}
				w.rune(r, i+j, i+j+size)
			}
		}
		i += n
	}
	w.flush()
}

// class says how a character takes part in tokens.
type class uint8

const (
	classBreak class = iota
	classWord
	classMark // belongs to the word before it
	classPair // a script written without spaces
)

// wordScanner collects characters into runs of one class.
type wordScanner struct {
	emit       func(surface []byte, start, end int)
	text       string
	buf        []byte
	start, end int
	class      class
	pairs      []pairRune
}

type pairRune struct {
	r          rune
	start, end int
}

func (w *wordScanner) ascii(c byte, at int) {
	switch {
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
	case c >= 'A' && c <= 'Z':
		c += 'a' - 'A'
	default:
		w.flush()
		return
	}
	w.open(classWord, at)
	w.end = at + 1
	if len(w.buf) < maxTokenBytes {
		w.buf = append(w.buf, c)
	}
}

func (w *wordScanner) open(c class, at int) {
	if w.class == c {
		return
	}
	w.flush()
	w.class, w.start = c, at
}

func (w *wordScanner) rune(r rune, start, end int) {
	r = foldRune(r)
	if r == 0 {
		return
	}
	switch c := classOf(r); c {
	case classBreak:
		w.flush()
	case classPair:
		w.open(classPair, start)
		w.end = end
		w.pairs = append(w.pairs, pairRune{r, start, end})
	case classMark:
		if w.class != classWord { // an emoji's or an ideograph's variant
			return
		}
		fallthrough
	default:
		w.open(classWord, start)
		w.end = end
		if len(w.buf)+utf8.RuneLen(r) <= maxTokenBytes {
			w.buf = utf8.AppendRune(w.buf, r)
		}
	}
}

func (w *wordScanner) flush() {
	switch w.class {
	case classWord:
		if w.negates() {
			w.buf = append(w.buf[:0], "not"...)
		}
		w.emit(w.buf, w.start, w.end)
	case classPair:
		for i := range w.pairs {
			if i+1 == len(w.pairs) && i > 0 {
				break
			}
			p := w.pairs[i]
			end := p.end
			w.buf = utf8.AppendRune(w.buf[:0], p.r)
			if i+1 < len(w.pairs) {
				w.buf = utf8.AppendRune(w.buf, w.pairs[i+1].r)
				end = w.pairs[i+1].end
			}
			w.emit(w.buf, p.start, end)
		}
	}
	w.buf, w.pairs, w.class = w.buf[:0], w.pairs[:0], classBreak
}

// negates reports whether the run is the t of "don't": the stop list drops the
// rest of the word, and the negation must not go with it.
func (w *wordScanner) negates() bool {
	if len(w.buf) != 1 || w.buf[0] != 't' {
		return false
	}
	before, ok := strings.CutSuffix(w.text[:w.start], "'")
	if !ok {
		before, ok = strings.CutSuffix(w.text[:w.start], "\u2019")
	}
	return ok && (strings.HasSuffix(before, "n") || strings.HasSuffix(before, "N"))
}

// foldRune lower-cases one character after NFKC. It returns 0 for what is
// invisible inside a word: U+0307, the dot that remains of a Turkish capital I,
// joiners, direction marks, soft hyphens and variation selectors.
func foldRune(r rune) rune {
	switch r {
	case '\u0307', '\u00AD', '\u200C', '\u200D', '\u200E', '\u200F', '\u2060', '\uFEFF':
		return 0
	case 'ς':
		return 'σ'
	// Arabic is written with and without its vowel marks, hamzas and dots.
	case 'أ', 'إ', 'آ', 'ٱ':
		return 'ا'
	case 'ى', 'ی':
		return 'ي'
	case 'ة':
		return 'ه'
	case 'ک':
		return 'ك'
	case '\u0640', '\u0670':
		return 0
	case 'ẞ':
		return 'ß'
	}
	if r >= 0x064B && r <= 0x065F || r >= 0x0591 && r <= 0x05C7 || // vowel signs of Arabic and Hebrew
		r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF {
		return 0
	}
	return unicode.ToLower(r)
}

func classOf(r rune) class {
	switch {
	case r < 0x0E00:
	case r >= 0x3005 && r <= 0x3007: // iteration mark, closing mark, zero
		return classPair
	case r <= 0x0EFF, // Thai, Lao
		r >= 0x1000 && r <= 0x109F,   // Myanmar
		r >= 0x1780 && r <= 0x17FF,   // Khmer
		r >= 0x3041 && r <= 0x30FF,   // kana
		r >= 0x3400 && r <= 0x9FFF,   // Han
		r >= 0xAC00 && r <= 0xD7AF,   // hangul
		r >= 0xF900 && r <= 0xFAFF,   // Han, compatibility
		r >= 0x20000 && r <= 0x3134F: // Han, supplementary planes
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			return classPair
		}
	}
	switch {
	case r == utf8.RuneError:
		return classBreak
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsNumber(r):
		return classWord
	case unicode.IsMark(r):
		return classMark
	}
	return classBreak
}
