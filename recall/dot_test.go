package recall

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestKernelsAgreeToTheBit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{16, 32, 48, 384, 512, 1536, 4096} {
		for _, n := range []int{1, 2, 7, 33} {
			for trial := range 8 {
				q, rows := make([]int16, k), make([]int8, k*n)
				top := int(largest(k))
				for i := range q {
					q[i] = int16(r.IntN(2*top+1) - top)
					if trial < 2 { // the sums that come nearest to the edge of int32
						q[i] = int16(top * (1 - 2*trial))
					}
				}
				for i := range rows {
					rows[i] = int8(r.IntN(256) - 128)
					if trial < 2 {
						rows[i] = -128
					}
				}
				got, want := make([]int32, n), make([]int32, n)
				fastRows()(&q[0], &rows[0], k, n, &got[0])
				rowsPortable(&q[0], &rows[0], k, n, &want[0])
				if !slices.Equal(got, want) {
					t.Fatalf("k %d n %d trial %d: %v, portable %v", k, n, trial, got, want)
				}
				exact := int64(0)
				for i := range q {
					exact += int64(q[i]) * int64(rows[i])
				}
				if int64(want[0]) != exact {
					t.Fatalf("k %d: %d, exactly %d", k, want[0], exact)
				}
			}
		}
	}
}

// spread makes n entries with vectors, in sessions of five.
func spread(r *rand.Rand, n, dim int) []Entry {
	words := []string{"harbour", "violin", "orchard", "ticket", "lantern", "saddle", "marble", "ferry"}
	out := make([]Entry, n)
	for i := range out {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(r.NormFloat64() + 2) // all near to each other, as such models place them
		}
		q, _ := Quantize("m", v)
		if i%11 == 0 {
			q = Vector{} // not embedded yet
		}
		out[i] = Entry{
			ID: string(rune('a'+i%26)) + string(rune('a'+i/26)), Session: string(rune('A' + i/5)), Position: i,
			Text: words[r.IntN(len(words))] + " " + words[r.IntN(len(words))], Vector: q, Ordinal: int64(i),
		}
	}
	return out
}

func answers(t *testing.T, ix *Index, seed uint64, dim int) [][]Hit {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	var out [][]Hit
	for _, text := range []string{"violin harbour", "nothing shared", "ticket", "lantern of the orchard"} {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(r.NormFloat64() + 2)
		}
		q, _ := Quantize("m", v)
		res, err := ix.Search(Query{Text: text, K: 30, Vector: q, Diversity: Plain})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, res.Hits)
	}
	return out
}

// TestDenseRankingIsTheSameEverywhere: on the portable kernel, in another order
// of arrival, and after entries came and went.
func TestDenseRankingIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	const dim = 40
	r := rand.New(rand.NewPCG(3, 4))
	es := spread(r, 200, dim)
	build := func(es []Entry, also ...Entry) *Index {
		ix, err := New(DefaultParams())
		if err != nil {
			t.Fatal(err)
		}
		if err := ix.Add(also...); err != nil {
			t.Fatal(err)
		}
		if err := ix.Add(es...); err != nil {
			t.Fatal(err)
		}
		for _, e := range also {
			ix.Remove(e.ID)
		}
		return ix
	}
	want := answers(t, build(es), 1, dim)
	portable := build(es)
	portable.rows = rowsPortable
	shuffled := slices.Clone(es)
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	extra := spread(r, 30, dim)
	for i := range extra {
		extra[i].ID += " gone"
	}
	late := slices.Clone(es)
	for i := range late {
		late[i].Vector = Vector{}
	}
	after := build(late)
	for _, e := range shuffled {
		if len(e.Vector.Values) > 0 {
			if _, err := after.SetVector(e.ID, e.Vector); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, ix := range map[string]*Index{
		"portable": portable, "another order": build(shuffled), "after others went": build(es, extra...), "vectors later": after,
	} {
		got := answers(t, ix, 1, dim)
		for i := range want {
			if !slices.EqualFunc(got[i], want[i], func(a, b Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
				t.Errorf("%s: query %d ranks otherwise", name, i)
			}
		}
	}
}

func TestEntriesWithoutVectorStayOutOfTheDenseScore(t *testing.T) {
	t.Parallel()
	const dim = 40
	es := spread(rand.New(rand.NewPCG(5, 6)), 60, dim)
	ix, _ := New(DefaultParams())
	if err := ix.Add(es...); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 7))
	v := make([]float32, dim)
	for j := range v {
		v[j] = float32(r.NormFloat64() + 2)
	}
	q, _ := Quantize("m", v)
	res, err := ix.Search(Query{Text: "violin harbour", K: 60, Vector: q, Diversity: Plain, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	bare := 0
	for _, h := range res.Hits {
		has := len(es[h.Ordinal].Vector.Values) > 0
		if !has && h.Why.Dense != 0 {
			t.Errorf("%s has no vector and a dense part of %v", h.ID, h.Why.Dense)
		}
		if !has {
			bare++
		}
	}
	if bare == 0 {
		t.Error("no entry without a vector was found by its words")
	}
}

// TestWordsAloneRankAsWithoutVectors: a query without a vector sees none.
func TestWordsAloneRankAsWithoutVectors(t *testing.T) {
	t.Parallel()
	es := spread(rand.New(rand.NewPCG(8, 9)), 100, 40)
	with, _ := New(DefaultParams())
	without, _ := New(DefaultParams())
	for _, e := range es {
		if err := with.Add(e); err != nil {
			t.Fatal(err)
		}
		e.Vector = Vector{}
		if err := without.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"violin harbour", "ticket", `"marble ferry"`} {
		a, _ := with.Search(Query{Text: text, K: 20})
		b, _ := without.Search(Query{Text: text, K: 20})
		if !slices.EqualFunc(a.Hits, b.Hits, func(a, b Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
			t.Errorf("%q ranks otherwise", text)
		}
	}
}

// TestPoisonMovesNoTrustedVectorScore: untrusted copies of the query, vectors
// and all, change no score in the trusted lane.
func TestPoisonMovesNoTrustedVectorScore(t *testing.T) {
	t.Parallel()
	const dim = 40
	es := spread(rand.New(rand.NewPCG(10, 11)), 100, dim)
	ix, _ := New(DefaultParams())
	if err := ix.Add(es...); err != nil {
		t.Fatal(err)
	}
	trusted := func() []Hit {
		r := rand.New(rand.NewPCG(1, 7))
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(r.NormFloat64() + 2)
		}
		q, _ := Quantize("m", v)
		for i := range 20 {
			if err := ix.Add(Entry{ID: "poison " + string(rune('a'+i)), Lane: External, Text: "violin harbour", Vector: q}); err != nil {
				t.Fatal(err)
			}
		}
		res, err := ix.Search(Query{Text: "violin harbour", K: 20, Vector: q, Lanes: []Lane{Trusted}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Hits
	}
	before := answers(t, ix, 1, dim)
	hits := trusted()
	after := answers(t, ix, 1, dim)
	if len(hits) == 0 {
		t.Fatal("no trusted hit")
	}
	for i := range before {
		var a, b []Hit
		for _, h := range before[i] {
			if h.Lane == Trusted {
				a = append(a, h)
			}
		}
		for _, h := range after[i] {
			if h.Lane == Trusted {
				b = append(b, h)
			}
		}
		for j := range min(len(a), len(b)) {
			if a[j].ID != b[j].ID || a[j].Score != b[j].Score {
				t.Errorf("query %d: trusted hit %d was %s %v, is %s %v", i, j, a[j].ID, a[j].Score, b[j].ID, b[j].Score)
			}
		}
	}
}

func BenchmarkRows(b *testing.B) {
	const k, n = 384, 10_000
	q, rows, out := make([]int16, k), make([]int8, k*n), make([]int32, n)
	for name, f := range map[string]func(*int16, *int8, int, int, *int32){"fast": fastRows(), "portable": rowsPortable} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(&q[0], &rows[0], k, n, &out[0])
			}
		})
	}
}
