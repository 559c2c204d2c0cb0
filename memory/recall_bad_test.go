package memory_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/recall"
)

// bagEmbedder places a text by its letters: texts of the same letters are near.
type bagEmbedder struct{ name string }

func (b bagEmbedder) Space() model.Space { return model.Space{Model: "bag" + b.name, Dim: 26} }

func (b bagEmbedder) Embed(_ context.Context, _ model.Use, texts ...string) ([][]float32, error) {
	var out [][]float32
	for _, t := range texts {
		v := make([]float32, 26)
		for _, r := range strings.ToLower(t) {
			if r >= 'a' && r <= 'z' {
				v[r-'a']++
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// badEmbedder answers as told when it is asked about a query.
type badEmbedder struct {
	bagEmbedder
	answer func(ctx context.Context) ([][]float32, error)
}

func (b badEmbedder) Embed(ctx context.Context, use model.Use, texts ...string) ([][]float32, error) {
	if use == model.Query {
		return b.answer(ctx)
	}
	return b.bagEmbedder.Embed(ctx, use, texts...)
}

func (e *engine) embedAll(t *testing.T) {
	t.Helper()
	for {
		n, err := e.EmbedOnce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// TestOddQueriesGetAnAnswerOrAnError: never a hang, a panic or an empty list
// without a reason.
func TestOddQueriesGetAnAnswerOrAnError(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) { c.Embedder = bagEmbedder{} })
		e.note(t, "I like green tea in the morning.")
		e.note(t, "The cat is called Minka 😀.")
		e.embedAll(t)
		for name, c := range map[string]struct {
			query string
			o     memory.RecallOptions
			fails bool
		}{
			"empty":               {"", memory.RecallOptions{}, true},
			"white space":         {" \n\t ", memory.RecallOptions{}, true},
			"a megabyte":          {strings.Repeat("tea ", 1<<18), memory.RecallOptions{}, true},
			"k is negative":       {"tea", memory.RecallOptions{K: -1}, true},
			"k is huge":           {"tea", memory.RecallOptions{K: 1 << 30}, true},
			"a range backwards":   {"tea", memory.RecallOptions{Within: &recall.Range{Start: e.now(), End: e.now().Add(-time.Hour)}}, true},
			"k is 0: the default": {"tea", memory.RecallOptions{}, false},
			"stop words":          {"the of and", memory.RecallOptions{}, false},
			"emoji":               {"😀😀", memory.RecallOptions{}, false},
			"lone surrogates":     {"tea \xed\xa0\x80\xed\xb0\x80", memory.RecallOptions{}, false},
			"right-to-left":       {"\u202etea\u202c \u200f", memory.RecallOptions{}, false},
			"nul bytes":           {"tea\x00", memory.RecallOptions{}, false},
			"64 KiB of one word":  {strings.Repeat("a", 60<<10), memory.RecallOptions{}, false},
		} {
			found, err := e.Recall(t.Context(), e.app, c.query, c.o, e.sarah)
			switch {
			case c.fails && tenet.KindOf(err) != tenet.Invalid:
				t.Errorf("%s: want an Invalid error, got %v", name, err)
			case !c.fails && err != nil:
				t.Errorf("%s: %v", name, err)
			case !c.fails && len(found.Hits) == 0 && found.Reason == "":
				t.Errorf("%s: nothing, and no reason", name)
			}
		}
	})
}

func TestAFailingEmbedderLeavesTheWordsAndSaysSo(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		vector := func(n int, x float32) []float32 {
			v := make([]float32, n)
			v[0] = x
			return v
		}
		for name, c := range map[string]struct {
			answer func(context.Context) ([][]float32, error)
			want   tenet.Code
		}{
			"time-out": {func(ctx context.Context) ([][]float32, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}, memory.CodeEmbedderAway},
			"away": {func(context.Context) ([][]float32, error) {
				return nil, tenet.Errorf(tenet.Unavailable, "embed", "away")
			}, memory.CodeEmbedderAway},
			"wrong dimension": {func(context.Context) ([][]float32, error) { return [][]float32{vector(3, 1)}, nil }, memory.CodeEmbedderBad},
			"NaN": {func(context.Context) ([][]float32, error) {
				return [][]float32{vector(26, float32(math.NaN()))}, nil
			}, memory.CodeEmbedderBad},
			"infinite": {func(context.Context) ([][]float32, error) {
				return [][]float32{vector(26, float32(math.Inf(1)))}, nil
			}, memory.CodeEmbedderBad},
			"no vector":   {func(context.Context) ([][]float32, error) { return nil, nil }, memory.CodeEmbedderBad},
			"two vectors": {func(context.Context) ([][]float32, error) { return [][]float32{vector(26, 1), vector(26, 1)}, nil }, memory.CodeEmbedderBad},
		} {
			t.Run(name, func(t *testing.T) {
				e := newEngine(t, b, func(cfg *memory.Config) {
					cfg.Embedder, cfg.EmbedPatience = badEmbedder{answer: c.answer}, 50*time.Millisecond
				})
				id := e.note(t, "I like green tea in the morning.")
				e.note(t, "The cat is called Minka.")
				e.embedAll(t)
				started := time.Now()
				found, err := e.Recall(t.Context(), e.app, "green tea", memory.RecallOptions{}, e.sarah)
				if err != nil || len(found.Hits) == 0 || found.Hits[0].ID != id || found.Degraded != c.want {
					t.Errorf("%+v %v, want degraded %s", found, err, c.want)
				}
				if _, err := e.PutDocument(t.Context(), e.app, e.sarah, memory.DocumentPut{Path: "tea.md", Text: "Green tea is brewed at 70 degrees."}); err != nil {
					t.Fatal(err)
				}
				if ds, err := e.SearchDocuments(t.Context(), e.app, e.sarah, "", "green tea", 5); err != nil || len(ds.Hits) != 1 || ds.Degraded != c.want {
					t.Errorf("documents: %+v %v, want degraded %s", ds, err, c.want)
				}
				if d := time.Since(started); d > 20*time.Second {
					t.Errorf("it took %v", d)
				}
				s, err := e.Session(t.Context(), e.app, e.sarah, "chat")
				if err != nil {
					t.Fatal(err)
				}
				if w, err := s.Context(t.Context(), "green tea", memory.Budget{}); err != nil || len(w.Recalled) == 0 || w.Degraded != c.want {
					t.Errorf("context: %+v %v", w, err)
				}
			})
		}
	})
}

// TestAnEmbedderThatChokesOnOneTextPlacesTheOthers: and the one is found by its
// words, and not asked for again and again.
func TestAnEmbedderThatChokesOnOneTextPlacesTheOthers(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) { c.Embedder = choking{} })
		e.note(t, "I like green tea.")
		bad := e.note(t, "Chokes on this one.")
		e.note(t, "The cat is called Minka.")
		n, err := e.EmbedOnce(t.Context())
		if n != 3 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := e.EmbedOnce(t.Context()); n != 0 || err != nil {
			t.Errorf("again: %d %v", n, err)
		}
		if hs := e.found(t, "chokes", memory.RecallOptions{}); len(hs) == 0 || hs[0].ID != bad {
			t.Errorf("%+v", hs)
		}
	})
}

type choking struct{ bagEmbedder }

func (c choking) Embed(ctx context.Context, use model.Use, texts ...string) ([][]float32, error) {
	for _, t := range texts {
		if strings.Contains(t, "Chokes") {
			return nil, tenet.Errorf(tenet.Internal, "embed", "choked")
		}
	}
	return c.bagEmbedder.Embed(ctx, use, texts...)
}

// TestAnotherModelStartsFromNothing: its space is its own, recall goes on by
// words, and what is embedded meanwhile counts.
func TestAnotherModelStartsFromNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) { c.Embedder = bagEmbedder{"/1"} })
		e.note(t, "I like green tea.")
		e.note(t, "The cat is called Minka.")
		e.embedAll(t)
		dense := func(m *memory.Memory) float64 {
			f, err := m.Recall(t.Context(), e.app, "green tea", memory.RecallOptions{Explain: true}, e.sarah)
			if err != nil || len(f.Hits) == 0 {
				t.Fatalf("%+v %v", f, err)
			}
			return f.Hits[0].Why.Dense
		}
		if dense(e.Memory) == 0 {
			t.Error("no dense part with the first model")
		}
		other, err := memory.Open(t.Context(), memory.Config{
			Ledger: e.ledger, Sessions: e.sessions, Gate: newGate(), Now: e.now, Embedder: bagEmbedder{"/2"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if dense(other) != 0 {
			t.Error("vectors of another model were compared")
		}
		if n, err := other.EmbedOnce(t.Context()); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		if dense(other) == 0 || dense(e.Memory) == 0 {
			t.Error("after re-embedding, both spaces must serve")
		}
	})
}

// TestTenNearDuplicatesTakeOnePlace: what the similar ones leave goes to what
// says something else.
func TestTenNearDuplicatesTakeOnePlace(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		var alike []tenet.RecordID
		for i := range 10 {
			alike = append(alike, e.note(t, fmt.Sprintf(
				"Sarah prefers contact by email instead of phone or post about the weekly promotions and news from our shop in Lisbon, %s.", names[i])))
		}
		other := e.note(t, "Promotions for seafood must be flagged.")
		hs := e.found(t, "this week's promotions", memory.RecallOptions{K: 3})
		places, folded, found := 0, 0, false
		for _, h := range hs {
			if slices.Contains(alike, h.ID) {
				places++
				folded += len(h.Similar)
			}
			found = found || h.ID == other
		}
		if places != 1 || folded != 9 || !found {
			t.Errorf("ten near-duplicates take %d places with %d folded in; the other one is found: %v", places, folded, found)
		}
	})
}

var names = strings.Fields("Anna Bruno Clara Diego Elena Felix Greta Hugo Irma Jonas")

// TestTheSameQuestionRanksTheSameAfterARestart: and in a store filled in
// another order with the same times.
func TestTheSameQuestionRanksTheSameAfterARestart(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) { c.Embedder = bagEmbedder{} })
		e.mundane(t)
		e.embedAll(t)
		want, err := e.Recall(t.Context(), e.app, "grey cover of Aurora report", memory.RecallOptions{K: 20, Explain: true}, e.sarah)
		if err != nil {
			t.Fatal(err)
		}
		again, err := memory.Open(t.Context(), memory.Config{
			Ledger: e.ledger, Sessions: e.sessions, Gate: newGate(), Now: e.now, Embedder: bagEmbedder{},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Recall(t.Context(), e.app, "grey cover of Aurora report", memory.RecallOptions{K: 20, Explain: true}, e.sarah)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got.Hits, want.Hits, func(a, b memory.Recalled) bool { return a.ID == b.ID && a.Score == b.Score }) {
			t.Error("ranks otherwise after a restart")
		}
	})
}
