package memory_test

import (
	"fmt"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// A batch has at most MaxBatch versions; a page may be asked for with one more.
func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := backends()[0]
	e := newEngine(t, b, nil)
	th, err := e.Threads(e.app, e.sarah)
	if err != nil {
		t.Fatal(err)
	}
	batch := func(n int) (ks []memory.Kept, ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprintf("v%03d", i))
			ks = append(ks, memory.Kept{Blob: tenet.Blob{ID: ids[i], Data: []byte("x")}})
		}
		return ks, ids
	}
	for n, want := range map[int]tenet.Kind{0: tenet.Invalid, memory.MaxBatch: tenet.NoError, memory.MaxBatch + 1: tenet.Invalid} {
		ks, ids := batch(n)
		got := map[string]error{"put": th.PutAll(ctx, "t", ks, 0)}
		_, got["named"] = th.Named(ctx, "t", ids)
		_, got["remove"] = th.Remove(ctx, "other", ids)
		for name, err := range got {
			if k := tenet.KindOf(err); k != want {
				t.Errorf("%s of %d: %v, want %v", name, n, err, want)
			}
		}
	}
	for n, want := range map[int]tenet.Kind{memory.MaxBatch + 1: tenet.NoError, memory.MaxBatch + 2: tenet.Invalid} {
		_, find := th.Find(ctx, "t", "", "", n)
		_, names := th.Names(ctx, "", "", n)
		if tenet.KindOf(find) != want || tenet.KindOf(names) != want {
			t.Errorf("a page of %d: %v, %v, want %v", n, find, names, want)
		}
	}
}
