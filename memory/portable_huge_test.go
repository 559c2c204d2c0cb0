package memory_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// gauge counts what is written through it, and the most memory that was in use
// meanwhile.
type gauge struct {
	io.Writer
	n, next int
	most    uint64
}

func (g *gauge) Write(b []byte) (int, error) {
	if g.n += len(b); g.n >= g.next {
		g.next += 1 << 20
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		g.most = max(g.most, m.HeapAlloc)
	}
	return g.Writer.Write(b)
}

// TestAHugeMemoryIsWrittenInBoundedMemory: what is held at a time does not grow
// with the memory. Not parallel: it measures the heap.
func TestAHugeMemoryIsWrittenInBoundedMemory(t *testing.T) {
	n := 24_000
	if testing.Short() {
		n = 3_000
	}
	e := mover(t, sqliteOnly(), 1)
	ctx := t.Context()
	grown := func(n int, from int) (uint64, time.Duration, []byte) {
		g := newGate()
		var ds []gate.Decision
		for i := range n {
			text := fmt.Sprintf("Sarah passed house %d of street %d. %s", i, from+i, strings.Repeat("It was painted in grey and stood alone. ", 8))
			c := tenet.Note(e.sarah, text)
			c.ID = memory.OfferID(fmt.Sprint(from + i))
			ds = append(ds, must[gate.Decision](t)(g.Judge(gate.Case{By: e.app, Candidate: c.Quoting(text), At: e.now()})))
			if len(ds) == 500 || i == n-1 {
				must[[]store.Applied](t)(e.ledger.Apply(ctx, ds, nil))
				ds = ds[:0]
			}
		}
		var file bytes.Buffer
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		seen := &gauge{Writer: io.Discard}
		began := time.Now()
		must[memory.Exported](t)(e.Export(ctx, e.op, e.sarah, false, seen))
		took := time.Since(began)
		if seen.most < m.HeapAlloc {
			return 0, took, nil
		}
		must[memory.Exported](t)(e.Export(ctx, e.op, e.sarah, false, &file))
		return seen.most - m.HeapAlloc, took, file.Bytes()
	}
	small, _, _ := grown(n/6, 0)
	large, took, file := grown(n-n/6, n/6)
	t.Logf("%d entries, %d MB: exported in %s; held at most %d KiB (of a sixth: %d KiB)", n, len(file)>>20, took, large>>10, small>>10)
	if large > small+24<<20 {
		t.Errorf("a memory six times as large takes %d KiB, not %d", large>>10, small>>10)
	}
	to := mover(t, sqliteOnly(), 1)
	to.clock.Store(e.clock.Load())
	began := time.Now()
	if got := to.bring(t, file); got.Restored != n {
		t.Errorf("%+v", got)
	}
	t.Logf("imported in %s", time.Since(began))
	to.verified(t)
}
