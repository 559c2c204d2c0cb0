package recall_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet/recall"
)

// chat makes n turns in sessions of twenty whose words are drawn as in speech:
// few words often, many rarely.
func chat(n int) ([]recall.Entry, []string) {
	rnd := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rnd, 1.25, 8, 30_000)
	word := func() string { return fmt.Sprintf("w%x", zipf.Uint64()*2654435761%1_000_003) }
	text := func(n int) string {
		words := make([]string, n)
		for i := range words {
			words[i] = word()
		}
		return strings.Join(words, " ")
	}
	base := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	entries := make([]recall.Entry, n)
	for i := range entries {
		entries[i] = recall.Entry{
			ID: fmt.Sprintf("e%d", i), Session: fmt.Sprintf("s%d", i/20), Position: i % 20,
			Speaker: []string{"Ann", "Ben"}[i%2], Text: text(8 + rnd.IntN(12)),
			RecordedAt: base.Add(time.Duration(i) * time.Minute),
		}
	}
	queries := make([]string, 500)
	for i := range queries {
		queries[i] = "What did Ann say about " + text(5) + "?"
	}
	return entries, queries
}

func benchmarkSearch(b *testing.B, entries []recall.Entry, queries []string) {
	ix, err := recall.New(recall.DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	if err := ix.Add(entries...); err != nil {
		b.Fatal(err)
	}
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if _, err := ix.Search(recall.Query{Text: queries[i%len(queries)], K: 10, Now: now}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
}

func BenchmarkSearch6k(b *testing.B) {
	entries, queries := chat(6_000)
	benchmarkSearch(b, entries, queries)
}

func BenchmarkSearch60k(b *testing.B) {
	entries, queries := chat(60_000)
	benchmarkSearch(b, entries, queries)
}

// locomoCopies is the published set, n times over in one scope.
func locomoCopies(b *testing.B, n int) ([]recall.Entry, []string) {
	set := loadSet(b, "locomo")
	var all []recall.Entry
	for c := range n {
		for tenant, docs := range set.docs {
			for _, e := range entries(docs) {
				e.ID = fmt.Sprint(c, e.ID)
				e.Session = fmt.Sprint(c, tenant, e.Session)
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b recall.Entry) int { return a.RecordedAt.Compare(b.RecordedAt) })
	var queries []string
	for _, q := range set.queries {
		queries = append(queries, q.Text)
	}
	return all, queries
}

func BenchmarkSearchLoCoMo6k(b *testing.B) {
	entries, queries := locomoCopies(b, 1)
	benchmarkSearch(b, entries, queries)
}

func BenchmarkSearchLoCoMo60k(b *testing.B) {
	entries, queries := locomoCopies(b, 10)
	benchmarkSearch(b, entries, queries)
}

func BenchmarkBuild(b *testing.B) {
	entries, _ := chat(6_000)
	for b.Loop() {
		ix, err := recall.New(recall.DefaultParams())
		if err != nil {
			b.Fatal(err)
		}
		if err := ix.Add(entries...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(entries)), "us/entry")
}

func BenchmarkBuildLoCoMo(b *testing.B) {
	entries, _ := locomoCopies(b, 1)
	for b.Loop() {
		ix, err := recall.New(recall.DefaultParams())
		if err != nil {
			b.Fatal(err)
		}
		if err := ix.Add(entries...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(entries)), "us/entry")
}
