package recall_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenet-memory/tenet/eval"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/inproc"
	"github.com/tenet-memory/tenet/recall"
)

// installed opens the in-process embedder with its vectors cached outside the
// project, or skips.
func installed(tb testing.TB) model.Embedder {
	tb.Helper()
	dir := os.Getenv("TENET_MODELS")
	if dir == "" {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".local", "share", "tenet", "models")
	}
	m, err := inproc.Open(filepath.Join(dir, "e5-small-v2.tenet"), inproc.Options{Workers: 2})
	if err != nil {
		tb.Skip("the in-process model is not installed: make model")
	}
	c, err := eval.OpenCached(m, filepath.Join(os.TempDir(), "tenet-vectors"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

func (s *dataset) embedded(tb testing.TB, e model.Embedder) (docs map[string]recall.Vector, queries map[string]recall.Vector) {
	tb.Helper()
	embed := func(use model.Use, ids, texts []string) map[string]recall.Vector {
		out := map[string]recall.Vector{}
		for at := 0; at < len(ids); at += 64 {
			end := min(at+64, len(ids))
			vs, err := e.Embed(tb.Context(), use, texts[at:end]...)
			if err != nil {
				tb.Fatal(err)
			}
			for i, v := range vs {
				out[ids[at+i]], _ = recall.Quantize("e5", v)
			}
		}
		return out
	}
	var ids, texts []string
	for _, tenant := range slices.Sorted(maps.Keys(s.docs)) {
		for _, d := range s.docs[tenant] {
			text := d.Text
			if d.Role != "" {
				text = d.Role + ": " + text
			}
			ids, texts = append(ids, d.ID), append(texts, text)
		}
	}
	docs = embed(model.Passage, ids, texts)
	ids, texts = nil, nil
	for _, q := range s.queries {
		ids, texts = append(ids, q.ID), append(texts, q.Text)
	}
	return docs, embed(model.Query, ids, texts)
}

// TestTuneDense prints what the weights of the dense score are worth, and their
// choice by leave-one-conversation-out. TENET_TUNE=1 measures LoCoMo, 11 BEAM
// too, 111 and 1111 also XQuAD and the LongMemEval pool, whose texts take long.
func TestTuneDense(t *testing.T) {
	if os.Getenv("TENET_TUNE") == "" {
		t.Skip("TENET_TUNE is not set")
	}
	e := installed(t)
	locomo := loadSet(t, "locomo")
	sets := []*dataset{locomo}
	for _, name := range []string{"beam_100K_user", "xquad_en", "lme_pool"}[:len(os.Getenv("TENET_TUNE"))-1] {
		sets = append(sets, loadSet(t, name))
	}
	type vectors struct{ docs, queries map[string]recall.Vector }
	var vs []vectors
	for _, s := range sets {
		d, q := s.embedded(t, e)
		vs = append(vs, vectors{d, q})
	}
	tenants := slices.Sorted(maps.Keys(locomo.docs))
	scores := map[string]map[string]*figures{}
	for _, w := range []float64{0.75, 1, 1.25, 1.5} {
		for _, gates := range [][2]float64{{0, 0}, {0.5, 0.5}, {0.8, 0.5}, {0.9, 0.5}, {1, 0.5}, {0.9, 0}} {
			p := recall.DefaultParams()
			p.DenseWeight, p.WordsGate, p.DenseGate = w, gates[0], gates[1]
			name := fmt.Sprintf("w %.2f gates %.1f %.1f", w, gates[0], gates[1])
			line := name
			for i, s := range sets {
				by := s.measureDense(t, p, vs[i].docs, vs[i].queries)
				line += fmt.Sprintf(" | %.1f / %.1f", 100*by[""].r5/by[""].n, 100*by[""].r10/by[""].n)
				if i == 0 {
					line += fmt.Sprintf(" multi %.1f", 100*by["multi-hop"].r10/by["multi-hop"].n)
					scores[name] = map[string]*figures{}
					for _, tenant := range tenants {
						scores[name][tenant] = by["tenant "+tenant]
					}
				}
			}
			t.Log(line)
		}
	}
	var held figures
	for _, out := range tenants {
		best, top := "", 0.0
		for _, name := range slices.Sorted(maps.Keys(scores)) {
			var sum figures
			for _, tenant := range tenants {
				if f := scores[name][tenant]; tenant != out {
					sum.n, sum.r5, sum.r10 = sum.n+f.n, sum.r5+f.r5, sum.r10+f.r10
				}
			}
			if v := (sum.r5 + sum.r10) / sum.n; v > top {
				best, top = name, v
			}
		}
		f := scores[best][out]
		held.n, held.r5, held.r10 = held.n+f.n, held.r5+f.r5, held.r10+f.r10
		t.Logf("without %s: %s; there R@5 %.4f R@10 %.4f", out, best, f.r5/f.n, f.r10/f.n)
	}
	t.Logf("held out: R@5 %.4f R@10 %.4f n %.0f", held.r5/held.n, held.r10/held.n, held.n)
}

// measureDense is measure with vectors, by category and by tenant.
func (s *dataset) measureDense(tb testing.TB, p recall.Params, docs, queries map[string]recall.Vector) map[string]*figures {
	tb.Helper()
	indexes := map[string]*recall.Index{}
	for tenant, ds := range s.docs {
		ix, err := recall.New(p)
		if err != nil {
			tb.Fatal(err)
		}
		es := entries(ds)
		for i := range es {
			es[i].Vector = docs[es[i].ID]
		}
		if err := ix.Add(es...); err != nil {
			tb.Fatal(err)
		}
		indexes[tenant] = ix
	}
	out := map[string]*figures{"": {}}
	for _, q := range s.queries {
		if len(q.Gold) == 0 || q.Exclude {
			continue
		}
		res, err := indexes[q.Tenant].Search(recall.Query{
			Text: q.Text, K: evalK, Diversity: recall.Plain, Now: parseTime(q.Time), Vector: queries[q.ID],
		})
		if err != nil {
			tb.Fatal(err)
		}
		ids := make([]string, len(res.Hits))
		for i, h := range res.Hits {
			ids[i] = h.ID
		}
		for _, key := range []string{"", q.Category, "tenant " + q.Tenant} {
			if out[key] == nil {
				out[key] = &figures{}
			}
			out[key].add(ids, q.Gold)
		}
	}
	return out
}
