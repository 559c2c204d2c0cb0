package recall_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenet-memory/tenet/recall"
)

// apart makes two indexes of the same entries: one that holds the vectors, and
// one whose vectors are kept in the map.
func apart(t *testing.T, rng *rand.Rand, n, dim int) (here, there *recall.Index, kept map[string][]int8) {
	t.Helper()
	words := []string{"hotel", "quiet", "garden", "shrimp", "promotion", "train", "noon", "allergy", "violin", "snow"}
	kept = map[string][]int8{}
	samples := map[recall.Lane]recall.Sample{}
	var with, without []recall.Entry
	for i := range n {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(rng.NormFloat64()) + 1 // near to everything, so that the mean matters
		}
		e := recall.Entry{
			ID: fmt.Sprint("e", i), Lane: recall.Lane(rng.IntN(4)), Session: fmt.Sprint("s", i/7), Position: i,
			Text: words[rng.IntN(len(words))] + " " + words[rng.IntN(len(words))],
		}
		without = append(without, e)
		e.Vector = quantize(t, v...)
		with = append(with, e)
		kept[e.ID] = e.Vector.Values
		s := samples[e.Lane]
		samples[e.Lane] = recall.Sample{Count: s.Count + 1, Values: append(s.Values, e.Vector.Values)}
	}
	here, there = newIndex(t, with...), newIndex(t, without...)
	if err := there.Elsewhere("m", samples); err != nil {
		t.Fatal(err)
	}
	return here, there, kept
}

// TestWhatIsBroughtScoresAsIfItWereHere: when everything is brought, and the
// mean is of everything, nothing tells the two apart.
func TestWhatIsBroughtScoresAsIfItWereHere(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	here, there, kept := apart(t, rng, 300, 20)
	for _, text := range []string{"quiet hotel", "shrimp", "words that nobody said", "e17"} {
		v := make([]float32, 20)
		for j := range v {
			v[j] = float32(rng.NormFloat64())
		}
		q := recall.Query{Text: text, K: 50, Vector: quantize(t, v...), Explain: true}
		want := search(t, here, q)
		for id, values := range kept {
			q.Brought = append(q.Brought, recall.Placed{ID: id, Values: values})
		}
		got := search(t, there, q)
		for i := range got.Hits {
			if !got.Hits[i].Why.Approximate {
				t.Fatal("the explanation does not say that it is an approximation")
			}
			got.Hits[i].Why.Approximate = false
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
}

// TestWantedPointsAtTheNearest: the directions are those by which the entries
// that are here are ranked.
func TestWantedPointsAtTheNearest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 0))
	_, there, kept := apart(t, rng, 200, 16)
	q := recall.Query{Text: "quiet hotel", K: 10, Vector: recall.Vector{Space: "m", Values: kept["e42"]}}
	wanted, err := there.Wanted(q, 5)
	if err != nil || len(wanted) != 4 {
		t.Fatalf("%d lanes, %v", len(wanted), err)
	}
	best, most := "", -1e18
	for _, w := range wanted {
		if len(w.IDs) == 0 || len(w.IDs) > 5 {
			t.Errorf("lane %s wants %d by words, of at most 5", w.Lane, len(w.IDs))
		}
		for id, v := range kept {
			product, size := 0.0, 0.0
			for i, x := range v {
				product += float64(x) * float64(w.Toward[i])
				size += float64(x) * float64(x)
			}
			if a := product / size; a > most {
				best, most = id, a
			}
		}
	}
	if best != "e42" {
		t.Errorf("the directions point at %s", best)
	}
	near := there.Around([]string{"e42", "nobody"})
	if len(near) == 0 || slices.Contains(near, "e42") {
		t.Errorf("around it: %v", near)
	}
}

// TestALaneThatHadNoVectorIsWantedOnceOneCame: and the mean that is kept on while
// all are known is that of a sample of all.
func TestALaneThatHadNoVectorIsWantedOnceOneCame(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 0))
	_, whole, kept := apart(t, rng, 60, 8)
	_, told, _ := apart(t, rand.New(rand.NewPCG(3, 0)), 60, 8)
	if err := told.Elsewhere("m", map[recall.Lane]recall.Sample{0: {Count: 1, Values: [][]int8{kept["e0"]}}}); err != nil {
		t.Fatal(err)
	}
	q := recall.Query{Text: "hotel", K: 10, Vector: recall.Vector{Space: "m", Values: kept["e1"]}}
	if got, err := told.Wanted(q, 1); err != nil || len(got) != 1 {
		t.Fatalf("%d lanes, %v", len(got), err)
	}
	told.Told("e1", []int8{1}) // of another size
	told.Told("nobody", kept["e1"])
	for id, v := range kept {
		told.Told(id, v)
	}
	want, err := whole.Wanted(q, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := told.Wanted(q, 1)
	if err != nil || len(got) != 4 || len(want) != 4 {
		t.Fatalf("%d and %d lanes, %v", len(want), len(got), err)
	}
	if d := cmp.Diff(want[1:], got[1:]); d != "" {
		t.Error(d)
	}
}

func TestElsewhereTakesNoVectorsAndMixedSizesAreRefused(t *testing.T) {
	t.Parallel()
	_, there, kept := apart(t, rand.New(rand.NewPCG(1, 0)), 20, 8)
	if _, err := there.SetVector("e1", recall.Vector{Space: "m", Values: kept["e1"]}); err != recall.ErrVector {
		t.Errorf("a vector was taken: %v", err)
	}
	if err := there.Elsewhere("m", map[recall.Lane]recall.Sample{0: {Count: 2, Values: [][]int8{{1, 2}, {1}}}}); err != recall.ErrVector {
		t.Errorf("two sizes: %v", err)
	}
	// What was brought of another size, or of nobody, is left alone.
	q := recall.Query{Text: "hotel", K: 5, Vector: recall.Vector{Space: "m", Values: kept["e1"]}, Brought: []recall.Placed{{"e1", []int8{1}}, {"nobody", kept["e1"]}, {"e2", make([]int8, 8)}}}
	search(t, there, q)
	there.DropVectors()
	if ok, err := there.SetVector("e1", recall.Vector{Space: "m", Values: kept["e1"]}); !ok || err != nil {
		t.Errorf("afterwards: %v %v", ok, err)
	}
}
