package memory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model/rules"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// TestTheHotPathBesideConsolidation measures a turn, one append and one
// context, in rounds: alone, and while another goroutine consolidates a backlog
// without pause. It prints the medians. With TENET_HOTPATH set (make
// bench-hotpath) their ratio must be at most 1.2; else loosely, since the
// machine is shared.
func TestTheHotPathBesideConsolidation(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	limit, rounds, turns := 6.0, 4, 40
	if os.Getenv("TENET_HOTPATH") != "" {
		limit, rounds, turns = 1.2, 10, 100
	}
	ctx := t.Context()
	db := must[*sqlite.DB](t)(sqlite.Open(ctx, filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{}))
	t.Cleanup(func() { db.Close() })
	m := must[*memory.Memory](t)(memory.Open(ctx, memory.Config{Ledger: db, Sessions: db, Gate: newGate(), Extractor: rules.Extractor{}, Debounce: time.Hour}))
	app, sarah := principal(t, tenet.App, "shop"), scope(t, "sarah")
	backlog := 0
	fill := func() { // other people's conversations, ended
		for range 20 {
			whose := scope(t, fmt.Sprint("user", backlog))
			s := must[*memory.Session](t)(m.Session(ctx, app, whose, "chat"))
			var ms []tenet.Message
			for i := range 200 {
				ms = append(ms, tenet.UserMessage(fmt.Sprintf("This is turn %d of conversation %d.", i, backlog)))
			}
			must[[]tenet.Message](t)(s.Append(ctx, ms...))
			if err := s.EndLater(ctx); err != nil {
				t.Fatal(err)
			}
			backlog++
		}
	}
	hot := must[*memory.Session](t)(m.Session(ctx, app, sarah, "hot"))
	turn := func(n int) time.Duration {
		began := time.Now()
		must[[]tenet.Message](t)(hot.Append(ctx, tenet.UserMessage(fmt.Sprintf("What did I say in turn %d?", n))))
		must[memory.Window](t)(hot.Context(ctx, "", memory.Budget{}))
		return time.Since(began)
	}
	for n := range 20 {
		turn(n)
	}
	var alone, beside []time.Duration
	consolidated := 0
	for range rounds {
		for n := range turns {
			alone = append(alone, turn(n))
		}
		fill()
		busy, stop := context.WithCancel(ctx)
		done := make(chan int)
		go func() {
			n := 0
			for busy.Err() == nil {
				r, more, err := m.ConsolidateOnce(ctx)
				if err != nil {
					t.Error(err)
					break
				}
				if n += r.Messages; !more {
					break
				}
			}
			done <- n
		}()
		for n := range turns {
			beside = append(beside, turn(n))
		}
		stop()
		consolidated += <-done
		for { // the rest, so that each round begins with nothing due
			if _, more, err := m.ConsolidateOnce(ctx); err != nil || !more {
				break
			}
		}
	}
	slices.Sort(alone)
	slices.Sort(beside)
	p := func(d []time.Duration, q int) time.Duration { return d[len(d)*q/100].Round(10 * time.Microsecond) }
	ratio := float64(beside[len(beside)/2]) / float64(alone[len(alone)/2])
	t.Logf("a turn alone: p50 %v, p95 %v; beside consolidation (%d messages meanwhile): p50 %v, p95 %v; ratio %.2f, n %d and %d",
		p(alone, 50), p(alone, 95), consolidated, p(beside, 50), p(beside, 95), ratio, len(alone), len(beside))
	if ratio > limit {
		t.Errorf("the median is %.2f times, want at most %.1f", ratio, limit)
	}
}
