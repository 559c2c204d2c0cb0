package eval

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tenet-memory/tenet"
)

// Metrics are means over scored queries. Definitions: recall@k is the share of
// the gold documents in the top k; hit@k whether any is, all@k whether every
// one is; MRR the mean of 1/rank of the first, 0 beyond the cut; nDCG@10 with
// binary gains and log2(i+1).
type Metrics struct {
	N        int     `json:"n"`
	Recall5  float64 `json:"recall@5"`
	Recall10 float64 `json:"recall@10"`
	Recall20 float64 `json:"recall@20"`
	Hit1     float64 `json:"hit@1"`
	Hit5     float64 `json:"hit@5"`
	Hit10    float64 `json:"hit@10"`
	All10    float64 `json:"all@10"`
	MRR      float64 `json:"mrr"`
	NDCG10   float64 `json:"ndcg@10"`
}

// Report is a scored run.
type Report struct {
	Set        string              `json:"set"`
	Embedder   string              `json:"embedder,omitempty"` // the space of its vectors, or none
	Overall    Metrics             `json:"overall"`
	Categories map[string]Metrics  `json:"categories"`
	Excluded   map[string]int      `json:"excluded"` // queries that do not count, by why
	Documents  int                 `json:"documents"`
	Kept       int                 `json:"kept"`
	Merged     int                 `json:"merged"`
	Refused    map[tenet.Code]int  `json:"refused"`
	Leaks      int                 `json:"leaks"`
	Degraded   int                 `json:"degraded,omitempty"` // queries answered by words because the embedder was away
	ImportMS   float64             `json:"import_ms"`
	QueryP50US float64             `json:"query_p50_us"`
	QueryP99US float64             `json:"query_p99_us"`
	PerQuery   map[string]Recalled `json:"-"`
}

// Recalled is one query's own figures, for comparisons.
type Recalled struct {
	Category                    string
	Recall5, Recall10, Recall20 float64
	Hit1, ReciprocalRank, NDCG  float64
}

// Score scores rankings against a set.
func Score(s Set, r Run) Report {
	byID := map[string][]string{}
	for _, k := range r.Rankings {
		byID[k.ID] = k.Hits
	}
	rep := Report{
		Set: s.Name, Categories: map[string]Metrics{}, Excluded: map[string]int{}, Documents: len(s.Docs), Kept: r.Kept,
		Merged: r.Merged, Refused: r.Refused, Leaks: r.Leaks, Degraded: r.Degraded, ImportMS: float64(r.Import.Microseconds()) / 1000,
		PerQuery: map[string]Recalled{},
	}
	sums := map[string]*Metrics{"": {}}
	for _, q := range s.Queries {
		if !q.Scored() {
			why := "no gold"
			if q.Exclude {
				why = "excluded by the set"
			}
			rep.Excluded[why]++
			continue
		}
		if sums[q.Category] == nil {
			sums[q.Category] = &Metrics{}
		}
		m, own := scoreOne(q, byID[q.ID])
		rep.PerQuery[q.ID] = own
		for _, into := range []string{"", q.Category} {
			sums[into].add(m)
			if q.Category == "" {
				break
			}
		}
	}
	for name, sum := range sums {
		if m := sum.mean(); name == "" {
			rep.Overall = m
		} else {
			rep.Categories[name] = m
		}
	}
	if n := len(r.Latency); n > 0 {
		l := slices.Clone(r.Latency)
		slices.Sort(l)
		rep.QueryP50US = float64(l[n/2].Nanoseconds()) / 1000
		rep.QueryP99US = float64(l[min(n-1, n*99/100)].Nanoseconds()) / 1000
	}
	return rep
}

func scoreOne(q Query, hits []string) (Metrics, Recalled) {
	gold := map[string]bool{}
	for _, g := range q.Gold {
		gold[g] = true
	}
	found := 0
	var dcg, ideal float64
	m := Metrics{N: 1}
	share := func() float64 { return float64(found) / float64(len(gold)) }
	for i, h := range hits {
		if gold[h] {
			found++
			if m.MRR == 0 {
				m.MRR = 1 / float64(i+1)
			}
			if i < 10 {
				dcg += 1 / math.Log2(float64(i+2))
			}
		}
		switch i + 1 {
		case 1:
			m.Hit1 = float64(found)
		case 5:
			m.Recall5, m.Hit5 = share(), min(1, float64(found))
		case 10:
			m.Recall10, m.Hit10, m.All10 = share(), min(1, float64(found)), math.Floor(share())
		case 20:
			m.Recall20 = share()
		}
	}
	n := len(hits) // a short ranking ends before some of the cuts
	if n < 5 {
		m.Recall5, m.Hit5 = share(), min(1, float64(found))
	}
	if n < 10 {
		m.Recall10, m.Hit10, m.All10 = share(), min(1, float64(found)), math.Floor(share())
	}
	if n < 20 {
		m.Recall20 = share()
	}
	for i := range min(10, len(gold)) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	m.NDCG10 = dcg / ideal
	return m, Recalled{q.Category, m.Recall5, m.Recall10, m.Recall20, m.Hit1, m.MRR, m.NDCG10}
}

func (m *Metrics) fields() []*float64 {
	return []*float64{&m.Recall5, &m.Recall10, &m.Recall20, &m.Hit1, &m.Hit5, &m.Hit10, &m.All10, &m.MRR, &m.NDCG10}
}

func (m *Metrics) add(o Metrics) {
	m.N += o.N
	of := o.fields()
	for i, f := range m.fields() {
		*f += *of[i]
	}
}

func (m Metrics) mean() Metrics {
	if m.N == 0 {
		return m
	}
	for _, f := range m.fields() {
		*f /= float64(m.N)
	}
	return m
}

// Difference is a paired comparison of two runs on one measure.
type Difference struct {
	N          int     `json:"n"`
	Mean       float64 `json:"mean"` // of b - a
	Low, High  float64 // 95% interval of the mean
	Wins, Loss int     // queries where b is better, worse
}

// Compared is the difference of two runs in one category on one measure.
type Compared struct {
	Category string `json:"category"`
	Measure  string `json:"measure"`
	Difference
}

// CompareRuns compares b with a on recall@5 and recall@10, over all queries and
// in every category.
func CompareRuns(a, b Report) []Compared {
	var out []Compared
	for _, c := range append([]string{""}, slices.Sorted(maps.Keys(b.Categories))...) {
		for _, m := range []struct {
			name string
			of   func(Recalled) float64
		}{
			{"recall@5", func(r Recalled) float64 { return r.Recall5 }}, {"recall@10", func(r Recalled) float64 { return r.Recall10 }},
		} {
			name := c
			if c == "" {
				name = "overall"
			}
			out = append(out, Compared{name, m.name, Compare(a, b, c, m.of, 1)})
		}
	}
	return out
}

// Compare is a paired bootstrap (10,000 resamples, seeded) of b against a over
// the queries both have, in one category or, when it is empty, in all.
func Compare(a, b Report, category string, measure func(Recalled) float64, seed uint64) Difference {
	var ids []string
	for id, q := range a.PerQuery {
		if _, ok := b.PerQuery[id]; ok && (category == "" || q.Category == category) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	d := Difference{N: len(ids)}
	if len(ids) == 0 {
		return d
	}
	diffs := make([]float64, len(ids))
	for i, id := range ids {
		diffs[i] = measure(b.PerQuery[id]) - measure(a.PerQuery[id])
		d.Mean += diffs[i] / float64(len(ids))
		switch {
		case diffs[i] > 0:
			d.Wins++
		case diffs[i] < 0:
			d.Loss++
		}
	}
	const resamples = 10_000
	rng := rand.New(rand.NewPCG(seed, 0))
	means := make([]float64, resamples)
	for i := range means {
		var sum float64
		for range diffs {
			sum += diffs[rng.IntN(len(diffs))]
		}
		means[i] = sum / float64(len(diffs))
	}
	slices.Sort(means)
	d.Low, d.High = means[resamples*25/1000], means[resamples*975/1000]
	return d
}
