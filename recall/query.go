package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTerms bounds the distinct terms of one query, kin included, so that a
// term's number fits a byte; the rarest ones are kept.
const maxTerms = 200

// maxPhrases and maxNames bound what else an overlong query can make a search
// look up.
const (
	maxPhrases = 16
	maxNames   = 256
)

// query is a Query after reading its text, the same for every lane.
type query struct {
	terms    []queryTerm
	places   map[uint32]int // of terms by id, for very long queries
	pairs    []termPair
	phrases  [][]uint32
	named    []place // entries whose id or key the query names
	speakers []bool  // by number: the query names this speaker
	advice   bool
	words    int     // searchable words
	unknown  float64 // weight of those that are not in the index
	ignored  int
	within   *Range
	only     func(ordinal int64) bool
	dormant  bool // dormant entries may be found
	time     *Range
	vector   []int8
	brought  []Placed
}

type queryTerm struct {
	id     uint32
	text   string
	weight float64
	kin    bool // not in the query, but near to a word that is
}

// termPair holds the places in query.terms of two words that stand together.
type termPair struct{ a, b uint8 }

// read turns the text into terms, pairs, phrases and names.
func (ix *Index) read(text string) query {
	q := query{terms: make([]queryTerm, 0, 16)}
	lx := ix.dict.tok.lex
	order := make([]uint32, 0, 16) // the words in their order, unknown ones as stopTerm
	var spoken []string
	ix.dict.tok.scan(text, func(form []byte, _, _ int) {
		if _, ok := ix.speakers[string(form)]; ok {
			spoken = append(spoken, string(form))
		}
		id, term, known := ix.dict.find(form)
		if known && id == stopTerm {
			return
		}
		q.words++
		weight := 1.0
		if _, ok := lx.about[term]; ok {
			weight = ix.params.AboutWeight
		}
		if !known {
			q.unknown += weight
			order = append(order, stopTerm)
			q.addKin(ix, term)
			return
		}
		order = append(order, id)
		if i := q.find(id); i >= 0 && !q.terms[i].kin {
			return
		}
		q.put(queryTerm{id: id, text: term, weight: weight})
		q.addKin(ix, term)
	})
	q.trim(ix)
	// The order of a sum must not depend on how the words were put.
	slices.SortFunc(q.terms, func(a, b queryTerm) int { return strings.Compare(a.text, b.text) })
	q.pair(order)
	q.name(ix, text)
	q.match(ix, spoken, text)
	q.advice = lx.asksAdvice(text)
	return q
}

// find is the place of a term in the query, or -1.
func (q *query) find(id uint32) int {
	if q.places != nil {
		if i, ok := q.places[id]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(q.terms, func(t queryTerm) bool { return t.id == id })
}

// put adds a term; a word of the query replaces the same term as kin.
func (q *query) put(t queryTerm) {
	i := q.find(t.id)
	switch {
	case i < 0:
		i = len(q.terms)
		q.terms = append(q.terms, t)
	case q.terms[i].kin && !t.kin:
		q.terms[i] = t
	}
	switch {
	case q.places != nil:
		q.places[t.id] = i
	case len(q.terms) > maxTerms: // too many to go through for every word
		q.places = map[uint32]int{}
		for i, t := range q.terms {
			q.places[t.id] = i
		}
	}
}

func (q *query) addKin(ix *Index, term string) {
	if ix.params.KinWeight == 0 {
		return
	}
	for _, k := range ix.dict.tok.lex.kin[term] {
		if id, ok := ix.dict.ids[k]; ok {
			q.put(queryTerm{id: id, text: k, weight: ix.params.KinWeight, kin: true})
		}
	}
}

// trim keeps the terms that are rarest in the trusted lane, so that no other
// lane has a say in what is searched there.
func (q *query) trim(ix *Index) {
	q.places = nil
	if len(q.terms) <= maxTerms {
		return
	}
	trusted := &ix.lanes[Trusted]
	rank := func(t queryTerm) int {
		if n := len(trusted.list(t.id)); n > 0 {
			return n
		}
		return math.MaxInt
	}
	slices.SortFunc(q.terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.text, b.text))
	})
	q.ignored = len(q.terms) - maxTerms
	q.terms = q.terms[:maxTerms]
}

// pair finds the terms that stand next to each other, or with one between.
// Bigrams of one run overlap: that they stand together says nothing.
func (q *query) pair(order []uint32) {
	place := func(id uint32) int {
		if id == stopTerm {
			return -1
		}
		return q.find(id)
	}
	for i := range order {
		a := place(order[i])
		for _, j := range []int{i + 1, i + 2} {
			if a < 0 || j >= len(order) || len(q.pairs) >= maxTerms {
				continue
			}
			if b := place(order[j]); b >= 0 && a != b && !(isBigram(q.terms[a].text) && isBigram(q.terms[b].text)) {
				q.pairs = append(q.pairs, termPair{uint8(a), uint8(b)})
			}
		}
	}
}

func isBigram(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return classOf(r) == classPair
}

// match marks the speakers whom the query names, by the whole name or a part.
func (q *query) match(ix *Index, spoken []string, text string) {
	if ix.params.SpeakerBoost == 0 || len(ix.names) == 0 {
		return
	}
	q.speakers = make([]bool, len(ix.names))
	for _, s := range spoken {
		q.speakers[ix.speakers[s]] = true
	}
	for i, n := range ix.names {
		if strings.Contains(n.folded, " ") && n.uses > 0 {
			q.speakers[i] = strings.Contains(" "+strings.ToLower(text)+" ", " "+n.folded+" ")
		}
	}
}

// name finds the quoted phrases, and the ids and keys that the text names.
func (q *query) name(ix *Index, text string) {
	phrases := quoted(text)
	for _, phrase := range phrases[:min(len(phrases), maxPhrases)] {
		var seq []uint32
		whole := true
		ix.dict.tok.scan(phrase, func(form []byte, _, _ int) {
			id, _, known := ix.dict.find(form)
			whole = whole && known
			if known && id != stopTerm {
				seq = append(seq, id)
			}
		})
		if whole && len(seq) > 0 {
			q.phrases = append(q.phrases, seq)
		}
		q.named = ix.name(q.named, phrase)
	}
	fields := make([]string, 0, 16)
	for field := range strings.FieldsSeq(text) {
		if len(fields) == maxNames {
			break
		}
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
			q.named = ix.name(q.named, field)
		}
	}
	slices.SortFunc(q.named, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.slot, b.slot))
	})
	q.named = slices.Compact(q.named)
}

// name adds the entries whose id or key the word is.
func (ix *Index) name(to []place, word string) []place {
	for {
		if len(word) >= ix.shortest {
			if at, ok := ix.where[word]; ok {
				to = append(to, at)
			}
		}
		if len(ix.keys) > 0 {
			to = append(to, ix.keys[foldKey(word)]...)
		}
		bare := strings.TrimFunc(word, unicode.IsPunct)
		if bare == word || bare == "" {
			return to
		}
		word = bare
	}
}

// foldKey is the form in which keys are compared.
func foldKey(key string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(key)))
}

// quotes pairs opening quotation marks with those that close them.
const quotes = `"" “” „“ «» 「」 『』`

// quoted returns what stands between quotation marks. A lone mark quotes
// nothing; apostrophes are not marks.
func quoted(text string) []string {
	var out []string
	for len(text) > 0 {
		i := strings.IndexAny(text, `"“„«「『`)
		if i < 0 {
			break
		}
		open, n := utf8.DecodeRuneInString(text[i:])
		text = text[i+n:]
		_, after, _ := strings.Cut(quotes, string(open))
		closing, m := utf8.DecodeRuneInString(after)
		if j := strings.IndexRune(text, closing); j >= 0 {
			if s := strings.TrimSpace(text[:j]); s != "" {
				out = append(out, s)
			}
			text = text[j+m:]
		}
	}
	return out
}
