package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/postgres"
)

// TestEveryLabelIsInTheBandOfItsLane: a label in no band would never be found by
// nearness, and one in two would lend its places to another lane.
func TestEveryLabelIsInTheBandOfItsLane(t *testing.T) {
	t.Parallel()
	for l := tenet.LabelExternal; l <= tenet.LabelOperator; l++ {
		in := 0
		for _, b := range memory.Bands() {
			if b.Low <= l && l <= b.High {
				in++
			}
		}
		if in != 1 {
			t.Errorf("%s is in %d bands", l, in)
		}
	}
}

// topicEmbedder places a text by its topics: each word has a direction of its
// own, and all lean one way.
type topicEmbedder struct{}

func (topicEmbedder) Space() model.Space { return model.Space{Model: "topics", Dim: 64} }

func (topicEmbedder) Embed(_ context.Context, _ model.Use, texts ...string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = slices.Repeat([]float32{1}, 64)
		for _, w := range strings.Fields(text) {
			var seed uint64 = 7
			for _, c := range strings.TrimSuffix(w, ".")[:min(len(w), 4)] { // "quiet" and "quietly" are near
				seed = seed*31 + uint64(c)
			}
			rng := rand.New(rand.NewPCG(seed, 0))
			for j := range out[i] {
				out[i][j] += float32(rng.NormFloat64())
			}
		}
	}
	return out, nil
}

// TestALargeScopeIsSearchedInTheDatabaseAndSaysSo: the same scope, first with
// all vectors in process, then with the database's index. The answers are
// nearly the same, and the second says that it is an approximation, and how good.
func TestALargeScopeIsSearchedInTheDatabaseAndSaysSo(t *testing.T) {
	t.Parallel()
	dsn := os.Getenv("TENET_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("SKIPPED, NOTHING TESTED: TENET_TEST_POSTGRES is not set; TENET_TEST_REQUIRE=postgres makes that a failure")
	}
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var is bool
	if err := c.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')`).Scan(&is); err != nil {
		t.Fatal(err)
	}
	if !is && strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), "postgres") {
		t.Fatal("the server has no pgvector: scripts/test-pgvector.sh installs it")
	} else if !is {
		t.Skip("SKIPPED, NOTHING TESTED: the server has no pgvector")
	}

	rng := seeded(t)
	e := newEngine(t, backend{"postgres", func(t *testing.T) stores { return openPostgres(t, dsn) }}, func(c *memory.Config) { c.Embedder = topicEmbedder{} })
	ledger := e.ledger.(*postgres.DB)
	words := strings.Fields("hotel garden shrimp promotion train noon allergy violin snow harbour cinnamon ledger puppy marathon opera bicycle lantern tulip")
	phrase := func(n int) string {
		var out []string
		for range n {
			out = append(out, words[rng.IntN(len(words))]+string(rune('a'+rng.IntN(26))))
		}
		return strings.Join(out, " ")
	}
	const entries = 1500
	s, err := e.Session(t.Context(), e.app, e.sarah, "chat")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < entries; i += 100 {
		ms := make([]tenet.Message, 100)
		for j := range ms {
			ms[j] = tenet.Message{Role: tenet.RoleUser, Text: fmt.Sprintf("%s number%d.", phrase(5), i+j), ClientID: fmt.Sprint("m", i+j)}
		}
		if _, err := s.Append(t.Context(), ms...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.embedAll(t)

	queries := make([]string, 60)
	for i := range queries {
		queries[i] = phrase(2) // most of these words nobody said, their topics were
	}
	ask := func(m *memory.Memory) (found []memory.Found) {
		for _, q := range queries {
			f, err := m.Recall(t.Context(), e.app, q, memory.RecallOptions{K: 10, Explain: true}, e.sarah)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, f)
		}
		return found
	}
	exact := ask(e.Memory)
	for _, f := range exact {
		if f.Approximate != nil || len(f.Hits) != 10 || f.Hits[0].Why.Approximate {
			t.Fatalf("without an index the answer is approximate, or short: %d hits, %+v", len(f.Hits), f.Approximate)
		}
	}
	if err := ledger.IndexPlaces(t.Context(), entries/2, memory.Bands(), nil); err != nil {
		t.Fatal(err)
	}
	again, err := memory.Open(t.Context(), memory.Config{Ledger: e.ledger, Sessions: e.sessions, Gate: newGate(), Now: e.now, Embedder: topicEmbedder{}})
	if err != nil {
		t.Fatal(err)
	}
	same, dense := 0, 0
	for i, f := range ask(again) {
		if f.Approximate == nil || f.Approximate.Questions == 0 || f.Approximate.Recall < 0.9 {
			t.Fatalf("the answer does not say what it is: %+v", f.Approximate)
		}
		for _, h := range f.Hits {
			if h.Why.Dense > 0 {
				dense++
			}
			if !h.Why.Approximate {
				t.Error("a hit's explanation does not say it")
			}
			if slices.ContainsFunc(exact[i].Hits, func(x memory.Recalled) bool { return x.ID == h.ID }) {
				same++
			}
		}
	}
	share := float64(same) / float64(10*len(queries))
	t.Logf("of the ten hits of the exact answer, %.3f are in the approximate one (n %d queries, %d entries)", share, len(queries), entries)
	if share < 0.93 || dense < 5*len(queries) {
		t.Errorf("%.3f of the exact answer, want .93; %d of %d hits by nearness", share, dense, 10*len(queries))
	}

	// The window says it too, and a query that a filter thins out.
	w, err := s.Context(t.Context(), queries[0], memory.Budget{Recall: 5})
	if err != nil || w.Approximate != nil { // that engine's index was made before the database's
		t.Errorf("the first engine's window: %+v %v", w.Approximate, err)
	}
	f, err := again.Recall(t.Context(), e.app, queries[0], memory.RecallOptions{K: 10, Tiers: []tenet.Tier{tenet.TierEpisode}}, e.sarah)
	if err != nil || len(f.Hits) != 10 || f.Approximate == nil {
		t.Errorf("episodes only: %d hits, %+v, %v", len(f.Hits), f.Approximate, err)
	}

	// What is erased is not brought back by the index.
	gone := f.Hits[0].ID
	if _, err := again.Erase(t.Context(), e.op, e.sarah, memory.Erasing{Of: gate.Selection{Record: gone}, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	f, err = again.Recall(t.Context(), e.app, queries[0], memory.RecallOptions{K: 10}, e.sarah)
	if err != nil || f.Approximate == nil || slices.ContainsFunc(f.Hits, func(h memory.Recalled) bool { return h.ID == gone }) {
		t.Errorf("after the erasure: %d hits, %+v, %v", len(f.Hits), f.Approximate, err)
	}

	// A lane that had nothing when the scope was loaded is not passed over.
	var late tenet.RecordID // the last; to be near is to be nearer than others of the lane
	for _, text := range []string{"turbines whirr", "meadows bloom", "zeppelins fly"} {
		late = must[tenet.Verdict](t)(e.Remember(t.Context(), principal(t, tenet.Agent, "helper"), tenet.Note(e.sarah, text).Quoting(text))).Record
	}
	e.embedAll(t)
	meant := func() memory.Found {
		t.Helper()
		f := must[memory.Found](t)(again.Recall(t.Context(), e.app, "zeppish", memory.RecallOptions{K: 10, Explain: true}, e.sarah))
		i := slices.IndexFunc(f.Hits, func(h memory.Recalled) bool { return h.ID == late })
		if i < 0 || f.Hits[i].Why.Dense <= 0 {
			t.Errorf("what an agent noted is not found by its meaning: %d hits, %+v", len(f.Hits), f.Approximate)
		}
		return f
	}
	if meant().Approximate == nil {
		t.Error("the vectors are read again")
	}

	// The indexes go while the server runs: all is compared again, and found.
	if err := ledger.IndexPlaces(t.Context(), 10*entries, memory.Bands(), nil); err != nil {
		t.Fatal(err)
	}
	if f := meant(); f.Approximate != nil {
		t.Errorf("without an index the answer is approximate: %+v", f.Approximate)
	}
	for i, f := range ask(again)[:10] {
		if f.Approximate != nil || len(f.Hits) != 10 || f.Hits[0].Why.Approximate {
			t.Errorf("query %d: %d hits, %+v", i, len(f.Hits), f.Approximate)
		}
	}
}

// intruder is another writer between the entries of a refresh and its vectors.
type intruder struct {
	store.Vectors
	write func()
}

func (m *intruder) Places(ctx context.Context, scope tenet.Scope, space string, since uint64) ([]store.Vector, uint64, error) {
	if f := m.write; f != nil {
		m.write = nil
		f()
	}
	return m.Vectors.Places(ctx, scope, space, since)
}

// TestAVectorThatComesBeforeItsEntryIsNotLost: it is read again with the entry.
func TestAVectorThatComesBeforeItsEntryIsNotLost(t *testing.T) {
	t.Parallel()
	var between *intruder
	e := newEngine(t, backend{"sqlite", openSQLite}, func(c *memory.Config) {
		between = &intruder{Vectors: c.Ledger.(store.Vectors)}
		c.Embedder, c.Vectors = topicEmbedder{}, between
	})
	other := &engine{Memory: must[*memory.Memory](t)(memory.Open(t.Context(), memory.Config{Ledger: e.ledger, Sessions: e.sessions, Gate: newGate(), Now: e.now, Embedder: topicEmbedder{}}))}
	note := func(text string) tenet.RecordID {
		defer other.embedAll(t)
		return must[tenet.Verdict](t)(other.Remember(t.Context(), e.app, tenet.Note(e.sarah, text).Quoting(text))).Record
	}
	note("turbines whirr")
	note("meadows bloom")
	var late tenet.RecordID
	between.write = func() { late = note("zeppelins fly") }
	for range 2 {
		must[memory.Found](t)(e.Recall(t.Context(), e.app, "zeppish", memory.RecallOptions{}, e.sarah))
	}
	f := must[memory.Found](t)(e.Recall(t.Context(), e.app, "zeppish", memory.RecallOptions{Explain: true}, e.sarah))
	if len(f.Hits) == 0 || f.Hits[0].ID != late || f.Hits[0].Why.Dense <= 0 {
		t.Errorf("its meaning is not found: %+v", f.Hits)
	}
}
