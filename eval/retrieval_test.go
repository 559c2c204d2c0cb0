package eval_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenet-memory/tenet/eval"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// dataDir is where the shared sets are, or "" when they are not here.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TENET_DATA")
	if dir == "" {
		dir = "../../shared/data"
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

func engine(t *testing.T, change func(*memory.Config)) *memory.Memory {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c := memory.Config{Ledger: db, Sessions: db, Gate: gate.New(policy.Default(), policy.Keys())}
	if change != nil {
		change(&c)
	}
	mem, err := memory.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

// TestRetrievalHoldsThroughTheEngine measures the whole path - session, gate,
// ledger, recall - on the published sets when they are here, and on a small set
// of the project's own in any case.
func TestRetrievalHoldsThroughTheEngine(t *testing.T) {
	t.Parallel()
	r5 := func(m eval.Metrics) float64 { return m.Recall5 }
	r10 := func(m eval.Metrics) float64 { return m.Recall10 }
	hit1 := func(m eval.Metrics) float64 { return m.Hit1 }
	for _, c := range []struct {
		set   string
		what  string
		of    func(eval.Metrics) float64
		floor float64
	}{
		{"own", "recall@10", r10, 0.9},
		{"locomo", "recall@10", r10, 0.75},
		{"locomo", "recall@5", r5, 0.67},
		{"beam_100K_user", "recall@10", r10, 0.75},
		{"lme_pool", "recall@10", r10, 0.80},
		{"memdaily_zh", "recall@5", r5, 0.80},
		{"xquad_zh", "hit@1", hit1, 0.92},
	} {
		t.Run(c.set+" "+c.what, func(t *testing.T) {
			dir := "testdata/own"
			if c.set != "own" {
				data := dataDir(t)
				if data == "" {
					t.Skip("the shared data is not here")
				}
				dir = filepath.Join(data, "retrieval", c.set)
			}
			set, err := eval.ReadSet(dir)
			if err != nil {
				t.Fatal(err)
			}
			run, err := eval.Retrieve(t.Context(), engine(t, nil), set, nil)
			if err != nil {
				t.Fatal(err)
			}
			rep := eval.Score(set, run)
			t.Logf("%s: n %d, excluded %v; recall@5 %.4f @10 %.4f @20 %.4f hit@1 %.4f mrr %.4f; %d of %d documents kept, refused %v; import %.0f ms, query p50 %.0f us",
				c.set, rep.Overall.N, rep.Excluded, rep.Overall.Recall5, rep.Overall.Recall10, rep.Overall.Recall20, rep.Overall.Hit1, rep.Overall.MRR,
				rep.Kept, rep.Documents, rep.Refused, rep.ImportMS, rep.QueryP50US)
			if rep.Leaks != 0 {
				t.Errorf("%d hits of another tenant", rep.Leaks)
			}
			if got := c.of(rep.Overall); got < c.floor {
				t.Errorf("%s is %.4f, the floor is %.2f", c.what, got, c.floor)
			}
		})
	}
}
