package console

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
)

// piece is a run of text: plain, or marked as what a rule spoke about, or
// standing for a character that cannot be seen.
type piece struct {
	Text        string
	Span, Blind bool
}

// shown cuts a text so that nothing in it hides: control, format and bidi
// characters and stray bytes become visible names.
func shown(s string, spans ...[]tenet.Finding) []piece {
	var out []piece
	findings := slices.Concat(spans...)
	from, was := 0, piece{}
	flush := func(to int) {
		if to > from {
			was.Text = s[from:to]
			out = append(out, was)
		}
		from = to
	}
	for i, r := range s {
		span := slices.ContainsFunc(findings, func(f tenet.Finding) bool { return i >= f.Start && i < f.End })
		if hides(r) {
			flush(i)
			out = append(out, piece{Text: fmt.Sprintf("[U+%04X]", r), Span: span, Blind: true})
			_, n := utf8.DecodeRuneInString(s[i:])
			from = i + n
			continue
		}
		if span != was.Span {
			flush(i)
			was.Span = span
		}
	}
	flush(len(s))
	return out
}

// hides reports whether a reader would not see the character, or not as it is:
// beside what is invisible, stray bytes, foreign line ends and private characters.
func hides(r rune) bool {
	return tenet.Invisible(r) || r == '\r' || r == unicode.ReplacementChar || unicode.In(r, unicode.Co, unicode.Zl, unicode.Zp)
}
