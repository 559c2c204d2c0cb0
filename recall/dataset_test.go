package recall_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet/recall"
)

// A dataset is a retrieval set in the published docs.jsonl and queries.jsonl
// form, see data/README.md of the shared folder.
type dataset struct {
	docs    map[string][]setDoc // by tenant, in file order
	queries []setQuery
}

type setDoc struct {
	ID, Tenant, Session, Time, Role, Text string
}

type setQuery struct {
	ID, Tenant, Category, Text, Time string
	Gold                             []string
	Exclude                          bool
}

// dataDir is where the restricted sets lie; they are never part of the project.
func dataDir() string {
	if dir := os.Getenv("TENET_DATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "shared", "data")
}

func loadSet(tb testing.TB, name string) *dataset {
	tb.Helper()
	return loadDir(tb, filepath.Join(dataDir(), "retrieval", name))
}

func loadDir(tb testing.TB, dir string) *dataset {
	tb.Helper()
	set := &dataset{docs: map[string][]setDoc{}}
	readLines(tb, filepath.Join(dir, "docs.jsonl"), func(line []byte) {
		var d setDoc
		if err := json.Unmarshal(line, &d); err != nil {
			tb.Fatal(err)
		}
		set.docs[d.Tenant] = append(set.docs[d.Tenant], d)
	})
	readLines(tb, filepath.Join(dir, "queries.jsonl"), func(line []byte) {
		var q setQuery
		if err := json.Unmarshal(line, &q); err != nil {
			tb.Fatal(err)
		}
		set.queries = append(set.queries, q)
	})
	return set
}

func readLines(tb testing.TB, path string, each func([]byte)) {
	tb.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("no data at %s: set TENET_DATA", path)
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadBytes('\n') // texts may hold U+2028: only \n ends a record
		if len(strings.TrimSpace(string(line))) > 0 {
			each(line)
		}
		if err != nil {
			return
		}
	}
}

// index builds one index per tenant, as one scope each.
func (s *dataset) index(tb testing.TB, p recall.Params) map[string]*recall.Index {
	tb.Helper()
	out := map[string]*recall.Index{}
	for tenant, docs := range s.docs {
		ix, err := recall.New(p)
		if err != nil {
			tb.Fatal(err)
		}
		if err := ix.Add(entries(docs)...); err != nil {
			tb.Fatal(err)
		}
		out[tenant] = ix
	}
	return out
}

// entries maps documents as an importer does: the role is the speaker, file
// order is the position. The text stays as published.
func entries(docs []setDoc) []recall.Entry {
	out := make([]recall.Entry, len(docs))
	for i, d := range docs {
		out[i] = recall.Entry{
			ID: d.ID, Session: d.Session, Position: i, Speaker: d.Role, Text: d.Text,
			RecordedAt: parseTime(d.Time), Ordinal: int64(i),
		}
	}
	return out
}

func parseTime(s string) time.Time {
	for _, layout := range []string{
		"3:04 pm on 2 January, 2006", "January-2-2006", "2006/01/02 (Mon) 15:04", "2006-01-02T15:04:05",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	if i := strings.Index(s, "日"); i > 0 {
		if t, err := time.Parse("2006年01月02日", s[:i]+"日"); err == nil {
			return t
		}
	}
	return time.Time{}
}

// sessions makes one document of each session and points the gold at them.
// Adversarial questions count here.
func (s *dataset) sessions() *dataset {
	out := &dataset{docs: map[string][]setDoc{}}
	of := map[string]string{}
	for tenant, docs := range s.docs {
		at := map[string]int{}
		for _, d := range docs {
			id := tenant + "/" + d.Session
			of[d.ID] = id
			i, ok := at[id]
			if !ok {
				i = len(out.docs[tenant])
				at[id] = i
				out.docs[tenant] = append(out.docs[tenant], setDoc{ID: id, Tenant: tenant, Time: d.Time})
			}
			out.docs[tenant][i].Text += d.Text + "\n"
		}
	}
	for _, q := range s.queries {
		seen := map[string]bool{}
		gold := q.Gold
		q.Gold, q.Exclude = nil, false
		for _, g := range gold {
			if id := of[g]; !seen[id] {
				seen[id] = true
				q.Gold = append(q.Gold, id)
			}
		}
		out.queries = append(out.queries, q)
	}
	return out
}

// figures are sums over scored queries; divide by n.
type figures struct {
	n                      float64
	hit1, r5, r10, r20     float64
	hit5, hit10, mrr, ndcg float64
}

func (f *figures) add(ranking, gold []string) {
	rel := map[string]bool{}
	for _, g := range gold {
		rel[g] = true
	}
	var found, dcg, ideal float64
	first := 0
	for i, id := range ranking {
		if i >= 100 {
			break
		}
		if rel[id] {
			found++
			if first == 0 {
				first = i + 1
			}
			if i < 10 {
				dcg += 1 / math.Log2(float64(i+2))
			}
			n := float64(len(gold))
			if i < 5 {
				f.r5 += 1 / n
			}
			if i < 10 {
				f.r10 += 1 / n
			}
			if i < 20 {
				f.r20 += 1 / n
			}
		}
	}
	for i := range min(10, len(gold)) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	f.n++
	f.ndcg += dcg / ideal
	if first > 0 {
		f.mrr += 1 / float64(first)
	}
	if first == 1 {
		f.hit1++
	}
	if first > 0 && first <= 5 {
		f.hit5++
	}
	if first > 0 && first <= 10 {
		f.hit10++
	}
}

// measure runs every scored query and returns the figures by category, "" for
// all, and how many queries were not scored.
func (s *dataset) measure(tb testing.TB, p recall.Params, diversity recall.Diversity) (map[string]*figures, int) {
	tb.Helper()
	indexes := s.index(tb, p)
	out := map[string]*figures{"": {}}
	skipped := 0
	for _, q := range s.queries {
		if len(q.Gold) == 0 || q.Exclude {
			skipped++
			continue
		}
		res, err := indexes[q.Tenant].Search(recall.Query{
			Text: q.Text, K: evalK, Diversity: diversity, Now: parseTime(q.Time),
		})
		if err != nil {
			tb.Fatal(err)
		}
		ids := make([]string, len(res.Hits))
		for i, h := range res.Hits {
			ids[i] = h.ID
		}
		if out[q.Category] == nil {
			out[q.Category] = &figures{}
		}
		out[q.Category].add(ids, q.Gold)
		out[""].add(ids, q.Gold)
	}
	return out, skipped
}

func report(tb testing.TB, name string, by map[string]*figures, skipped int) {
	tb.Helper()
	var cats []string
	for c := range by {
		cats = append(cats, c)
	}
	sort.Strings(cats)
	for _, c := range cats {
		f := *by[c]
		label := c
		if c == "" {
			label = "overall"
		}
		tb.Logf("%-18s %-26s n %4.0f  R@5 %.4f  R@10 %.4f  R@20 %.4f  hit@1 %.4f  MRR %.4f  nDCG@10 %.4f",
			name, label, f.n, f.r5/f.n, f.r10/f.n, f.r20/f.n, f.hit1/f.n, f.mrr/f.n, f.ndcg/f.n)
	}
	tb.Logf("%-18s %d queries not scored", name, skipped)
}

// evalK is how deep a ranking is asked for; MRR is cut there.
const evalK = 20
