package gate

import (
	"math"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
)

// alikeAt is the cosine of the sets of words from which two statements are
// similar. It holds for every pair whose Jaccard index is 0.8, and for short
// ones that differ in a single word.
const alikeAt = 0.8

// Alike reports whether two statements say nearly the same, and whether they
// then differ in what carries a fact by itself: a number, name, negation or
// address, or the order of those. It is a signal for people. Nothing is merged
// by it: equality is Signature's business.
func Alike(a, b string) (alike, differs bool) {
	wa, ga := carried(a)
	wb, gb := carried(b)
	if len(wa) == 0 || len(wb) == 0 {
		return false, false
	}
	both := 0
	for w := range wa {
		if wb[w] {
			both++
		}
	}
	if float64(both) < alikeAt*math.Sqrt(float64(len(wa)*len(wb))) {
		return false, false
	}
	return true, !slices.Equal(ga, gb)
}

// carried is the set of a text's words and, in order, those that are protected.
func carried(text string) (all map[string]bool, guarded []string) {
	all = map[string]bool{}
	names := capitalised(text)
	for _, w := range words(text) {
		for part := range strings.FieldsSeq(expand(w)) {
			if fillers[part] {
				continue
			}
			all[part] = true
			if names[part] || protected(part) {
				guarded = append(guarded, part)
			}
		}
	}
	return all, guarded
}

// SameLane reports whether two labels share the statistics and fate of one lane.
func SameLane(a, b tenet.Label) bool {
	return min(a, tenet.LabelUserStated) == min(b, tenet.LabelUserStated)
}

// similar notes that a record which was just placed nearly repeats another one
// and differs where it matters.
func similar(c Case, rec tenet.Record) []Finding {
	for _, r := range c.Similar {
		if r.ID == rec.ID || r.Tier != rec.Tier || r.Key != rec.Key || r.Signature == rec.Signature ||
			r.Label != 0 && !SameLane(r.Label, rec.Label) || !r.Valid.Overlaps(rec.Valid) {
			continue
		}
		if alike, differs := Alike(r.Text, rec.Text); alike && differs {
			f := note("similar", tenet.CodePossibleConflict)
			f.Detail = "with " + string(r.ID)
			return []Finding{f}
		}
	}
	return nil
}
