package gate

import (
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
)

// alikeAt is the cosine of the sets of words from which two statements are
// similar. It holds for every pair whose Jaccard index is 0.8, and for short
// ones that differ in a single word.
const alikeAt = 0.8

// Wording is what the likeness of two statements is judged by: its set of words,
// and those that carry a fact by themselves - numbers, names, negations,
// addresses - in order. It holds hashes, ten words in about a hundred bytes, so
// that each of many statements is read once and compared often.
type Wording struct {
	words   []uint64 // sorted, each once
	guarded uint64
}

// WordingOf reads a statement.
func WordingOf(text string) Wording {
	var w Wording
	guarded := fnv.New64a()
	names := capitalised(text)
	for _, word := range words(text) {
		for part := range strings.FieldsSeq(expand(word)) {
			if fillers[part] {
				continue
			}
			h := fnv.New64a()
			io.WriteString(h, part)
			w.words = append(w.words, h.Sum64())
			if names[part] || protected(part) {
				io.WriteString(guarded, part+"\x00")
			}
		}
	}
	slices.Sort(w.words)
	w.words = slices.Clip(slices.Compact(w.words))
	w.guarded = guarded.Sum64()
	return w
}

// Alike reports whether two statements say nearly the same, and whether they
// then differ in what carries a fact by itself or in the order of that. It is a
// signal for people. Nothing is merged by it: equality is Signature's business.
func (w Wording) Alike(o Wording) (alike, differs bool) {
	a, b := w.words, o.words
	if len(a) > len(b) {
		a, b = b, a
	}
	least := alikeAt * math.Sqrt(float64(len(a)*len(b)))
	if len(a) == 0 || float64(len(a)) < least { // the common case: no likeness is possible
		return false, false
	}
	both := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both, a, b = both+1, a[1:], b[1:]
		}
	}
	if float64(both) < least {
		return false, false
	}
	return true, w.guarded != o.guarded
}

// SameLane reports whether two labels share the statistics and fate of one lane.
func SameLane(a, b tenet.Label) bool {
	return min(a, tenet.LabelUserStated) == min(b, tenet.LabelUserStated)
}

// similar notes that a record which was just placed nearly repeats another one
// and differs where it matters.
func similar(c Case, rec tenet.Record) []Finding {
	if len(c.Similar) == 0 {
		return nil
	}
	mine := WordingOf(rec.Text)
	for _, r := range c.Similar {
		if r.ID == rec.ID || r.Tier != rec.Tier || r.Key != rec.Key || r.Signature == rec.Signature ||
			r.Label != 0 && !SameLane(r.Label, rec.Label) || !r.Valid.Overlaps(rec.Valid) {
			continue
		}
		if alike, differs := mine.Alike(WordingOf(r.Text)); alike && differs {
			f := note("similar", tenet.CodePossibleConflict)
			f.Detail = "with " + string(r.ID)
			return []Finding{f}
		}
	}
	return nil
}
