package recall

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxTerms bounds the distinct terms of one query; the rarest ones are kept.
const maxTerms = 256

// query is a Query after reading its text, the same for every lane.
type query struct {
	terms   []queryTerm
	phrases [][]uint32
	named   []place // entries whose id or key the query names
	ignored int
	within  *Range
	time    *Range
	vector  []int8
}

type queryTerm struct {
	id   uint32
	text string
}

// read turns the text into terms, phrases and names.
func (ix *Index) read(q Query) query {
	var out query
	seen := map[uint32]bool{}
	ix.dict.tok.scan(q.Text, func(surface []byte, _, _ int) {
		id, term, known := ix.dict.find(surface)
		if id == stopTerm {
			return
		}
		out.ignored++ // for now: every searchable word
		if known && !seen[id] {
			seen[id] = true
			out.terms = append(out.terms, queryTerm{id, term})
		}
	})
	searchable := out.ignored
	out.ignored = 0
	if len(out.terms) > maxTerms {
		out.ignored = len(out.terms) - maxTerms
		slices.SortStableFunc(out.terms, func(a, b queryTerm) int {
			return cmp.Compare(ix.dict.terms[a.id].uses, ix.dict.terms[b.id].uses)
		})
		out.terms = out.terms[:maxTerms]
	}
	_ = searchable
	// The order of the sum must not depend on how the words were put.
	slices.SortFunc(out.terms, func(a, b queryTerm) int { return strings.Compare(a.text, b.text) })
	for _, text := range quoted(q.Text) {
		var seq []uint32
		whole := true
		ix.dict.tok.scan(text, func(surface []byte, _, _ int) {
			id, _, known := ix.dict.find(surface)
			whole = whole && known
			if known && id != stopTerm {
				seq = append(seq, id)
			}
		})
		if whole && len(seq) > 0 {
			out.phrases = append(out.phrases, seq)
		}
		out.named = ix.name(out.named, text)
	}
	for field := range strings.FieldsSeq(q.Text) {
		out.named = ix.name(out.named, field)
	}
	slices.SortFunc(out.named, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.slot, b.slot))
	})
	out.named = slices.Compact(out.named)
	return out
}

// name adds the entries whose id or key the word is.
func (ix *Index) name(to []place, word string) []place {
	for _, w := range []string{word, strings.TrimFunc(word, unicode.IsPunct)} {
		if at, ok := ix.where[w]; ok {
			to = append(to, at)
		}
		to = append(to, ix.keys[foldKey(w)]...)
	}
	return to
}

// foldKey is the form in which keys are compared.
func foldKey(key string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(key)))
}

// quoted returns what stands between quotation marks. A lone mark quotes
// nothing; apostrophes are not marks.
func quoted(text string) []string {
	var out []string
	closing := map[rune]string{'"': "\"", '“': "”", '„': "“”", '«': "»", '「': "」", '『': "』"}
	for i, r := range text {
		_ = i
		_ = r
	}
	for len(text) > 0 {
		i := strings.IndexAny(text, "\"“„«「『")
		if i < 0 {
			break
		}
		r := []rune(text[i : i+len(firstRune(text[i:]))])[0]
		rest := text[i+len(string(r)):]
		j := strings.IndexAny(rest, closing[r])
		if j < 0 {
			text = rest
			continue
		}
		if s := strings.TrimSpace(rest[:j]); s != "" {
			out = append(out, s)
		}
		text = rest[j+len(firstRune(rest[j:])):]
	}
	return out
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}
