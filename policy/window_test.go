package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// whole is find's search for shaped secrets without windows: every rule of
// which a keyword stands in the text, on all of it.
func (s *secrets) whole(text string) []secretSpan {
	var tried []int32
	var out []secretSpan
	s.words.each(text, func(w int32, end int) {
		for _, r := range s.rules[w] {
			if r >= 0 && !slices.Contains(tried, r) {
				tried = append(tried, r)
			}
		}
	})
	for _, r := range tried {
		out = s.match(&s.shaped[r], text, place{r, 0, len(text)}, out)
	}
	return out
}

// The windows find what a run of every expression over the whole text finds:
// on the corpora, and on samples made from the expressions, in running text.
func TestWindowsMissNothing(t *testing.T) {
	t.Parallel()
	s := builtin().secrets
	var texts, samples []string
	for _, file := range []string{"benign_memory", "attack_direct", "attack_memory", "attack_indirect", "memshield_bench", "benign_general"} {
		for i, r := range readRows(t, filepath.Join(dataDir(t), "gate", file+".jsonl")) {
			if i%5 == 0 {
				texts = append(texts, r.Text)
			}
		}
	}
	for i := range s.shaped {
		gen := rapid.StringMatching(s.shaped[i].re().String())
		for seed := range 8 {
			samples = append(samples, gen.Example(seed))
		}
	}
	for i, x := range samples {
		switch i % 3 {
		case 0:
			x = "As I said, " + x + " and that is it."
		case 1:
			x = "key: " + x + "\ntoken=" + x + ";x"
		}
		texts = append(texts, x, strings.Repeat("a b ", 40)+x)
	}
	n := 0
	for _, text := range texts {
		text = canonicalise(text).plain // as it is searched: NFKC has no long s and no Kelvin sign
		got := s.find(text)
		for _, w := range s.whole(text) {
			n++
			if !slices.ContainsFunc(got, func(g secretSpan) bool { return g.start <= w.start && w.end <= g.end }) {
				t.Errorf("%s at %d-%d of %q is not found", w.code, w.start, w.end, text)
			}
		}
	}
	t.Logf("%d texts, %d findings", len(texts), n)
	if n < 1000 {
		t.Error("too few findings to tell")
	}
}
