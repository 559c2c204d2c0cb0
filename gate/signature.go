package gate

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Two statements are the same when their signatures are equal, never when
// they are merely similar: similarity merges "allergic" with "not allergic".
// The removed words are the largest set that merges no two different facts on
// the development data; safety statements lose only articles.
var (
	articles = map[string]bool{"a": true, "an": true, "the": true}
	fillers  = map[string]bool{"a": true, "an": true, "the": true, "very": true, "really": true,
		"quite": true, "also": true, "please": true, "that": true}
	contractions = map[string]string{
		"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not",
		"he's": "he is", "she's": "she is", "it's": "it is", "that's": "that is", "there's": "there is",
	}
	contractionEnds = []struct{ end, full string }{
		{"n't", " not"}, {"'m", " am"}, {"'ve", " have"}, {"'d", " would"}, {"'ll", " will"}, {"'re", " are"},
	}
	negators = map[string]bool{"not": true, "no": true, "never": true, "none": true, "nor": true, "without": true,
		"neither": true, "nothing": true, "nobody": true, "hardly": true}
)

// Signature is the ordered, normalised word list of a statement, with its
// count of negations at the end. Equal signatures mean the same statement.
func Signature(text string, safety bool) string {
	drop := fillers
	if safety {
		drop = articles
	}
	ws := words(text)
	out := make([]string, 0, len(ws)+4)
	polarity := 0
	for _, w := range ws {
		if e := expand(w); e != w {
			for part := range strings.FieldsSeq(e) {
				if negators[part] {
					polarity++
				}
				if !drop[part] {
					out = append(out, part)
				}
			}
			continue
		}
		if negators[w] {
			polarity++
		}
		if !drop[w] {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ") + "|" + strings.Repeat("-", polarity)
}

// words splits normalised text into runs of letters, marks, digits and
// apostrophes, keeping order. A digit run and a letter run are apart, so that
// "5mg" is "5 mg"; punctuation inside numbers, addresses and URLs stays.
func words(text string) []string {
	if !ascii(text) {
		text = strings.Map(func(r rune) rune {
			switch r {
			case '\u2018', '\u2019', '\u02bc', '\uff07':
				return '\''
			}
			return r
		}, norm.NFKC.String(text))
	}
	out := make([]string, 0, len(text)/5+1)
	for field := range strings.FieldsSeq(text) {
		if verbatim(field) {
			out = append(out, strings.TrimRight(field, ".,;!?)"))
			continue
		}
		out = appendWords(out, strings.ToLower(field))
	}
	return out
}

// verbatim reports whether a field is an address or id that must be compared
// character by character.
func verbatim(field string) bool {
	return strings.Contains(field, "://") || strings.IndexByte(field, '@') > 0 && strings.IndexByte(field, '.') > 0
}

func appendWords(out []string, field string) []string {
	const (
		none = iota
		word
		number
		symbol
	)
	start, kind := 0, none
	flush := func(end int) {
		if kind != none {
			w := field[start:end]
			for w != "" && w[0] == '\'' {
				w = w[1:]
			}
			for w != "" && w[len(w)-1] == '\'' {
				w = w[:len(w)-1]
			}
			if w != "" {
				out = append(out, w)
			}
		}
		kind = none
	}
	for i, r := range field {
		k := none
		switch {
		case r >= 'a' && r <= 'z':
			k = word
		case unicode.IsDigit(r):
			k = number
		case unicode.IsLetter(r) || unicode.IsMark(r) || r == '\'' || r == '_':
			k = word
		case (r == '.' || r == ',' || r == ':' || r == '/' || r == '-') && kind == number && digitAfter(field[i+1:]):
			k = number // 1,000  12:30  2023-05-07
		case unicode.IsSymbol(r) || r == '%' || r == '&' || r == '#' || r == '-' && digitAfter(field[i+1:]):
			k = symbol // currency, percent, sign: part of the statement
		}
		if k != kind || k == symbol {
			flush(i)
			start, kind = i, k
		}
	}
	flush(len(field))
	return out
}

func digitAfter(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func expand(w string) string {
	if w != "cannot" && strings.IndexByte(w, '\'') < 0 {
		return w // as nearly all are
	}
	if full, ok := contractions[w]; ok {
		return full
	}
	for _, c := range contractionEnds {
		if base, ok := strings.CutSuffix(w, c.end); ok && base != "" {
			return base + c.full
		}
	}
	return w
}

// valueSignature is the canonical form of a typed value: object keys sorted,
// insignificant space gone, numbers as written.
func valueSignature(v json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return "", err
	}
	b, err := json.Marshal(x)
	return string(b), err
}
