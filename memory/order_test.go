package memory_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/recall"
)

// TestRankingDoesNotDependOnTheOrderOfArrival: the same conversations with the
// same times, consolidated in other orders, and each of those after a restart,
// give the same hits with the same scores to the bit. The ledger's own stamps
// differ between the orders, so they must not break a tie.
func TestRankingDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		rng := seeded(t)
		const sessions, turns = 24, 6
		words := strings.Fields("tea coffee harbour bicycle lantern garden violin winter Berta Oslo market repair")
		type turn struct {
			text string
			at   time.Time
		}
		said := make([][]turn, sessions)
		seen := map[string]bool{}
		for i := range said {
			for j := 0; j < turns; {
				var w []string
				for _, k := range rng.Perm(len(words))[:4] { // the same four in another order score alike
					w = append(w, words[k])
				}
				text := fmt.Sprintf("We spoke of %s.", strings.Join(w, " and "))
				if seen[text] {
					continue
				}
				seen[text] = true
				// No two at one instant: their ids, which decide then, are the
				// session store's own.
				at := time.Date(2026, 1, 1+rng.IntN(20), 0, 0, i, j*1000, time.UTC)
				said[i] = append(said[i], turn{text, at})
				j++
			}
		}
		questions := make([]string, 40)
		for i := range questions {
			questions[i] = fmt.Sprintf("Did we speak of %s or %s last week?", words[rng.IntN(len(words))], words[rng.IntN(len(words))])
		}
		ask := func(m *memory.Memory, e *engine) []string {
			var out []string
			for i, q := range questions {
				o := memory.RecallOptions{K: 30, Diversity: []recall.Diversity{recall.Collapse, recall.Plain, recall.Spread}[i%3]}
				for rank, h := range must[memory.Found](t)(m.Recall(t.Context(), e.app, q, o, e.sarah)).Hits {
					out = append(out, fmt.Sprintf("question %d, place %d: %q %x %d similar", i, rank, h.Text, math.Float64bits(h.Score), len(h.Similar)))
				}
			}
			return out
		}
		var want []string
		for round := range 3 {
			e := newEngine(t, b, nil)
			order := rng.Perm(sessions)
			for _, i := range order {
				s := must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, tenet.SessionID(fmt.Sprint("s", i))))
				var ms []tenet.Message
				for _, u := range said[i] {
					ms = append(ms, tenet.Message{Role: tenet.RoleUser, Text: u.text, SaidAt: u.at})
				}
				must[[]tenet.Message](t)(s.Append(t.Context(), ms...))
				must[memory.Report](t)(e.Consolidate(t.Context(), e.app, e.sarah, s.Info().ID))
				e.advance(time.Duration(rng.IntN(5)) * time.Second)
			}
			// The clock says the same when the questions are asked.
			e.clock.Store(time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC).UnixMicro())
			again := must[*memory.Memory](t)(memory.Open(t.Context(), memory.Config{Ledger: e.ledger, Sessions: e.sessions, Gate: newGate(), Now: e.now}))
			for name, m := range map[string]*memory.Memory{"as it grew": e.Memory, "after a restart": again} {
				got := ask(m, e)
				if want == nil {
					want = got
					t.Logf("%d hits of %d turns", len(got), sessions*turns)
				}
				for i := range max(len(got), len(want)) {
					if i >= len(got) || i >= len(want) || got[i] != want[i] {
						t.Fatalf("order %d, %s: %d hits and %d; they differ at %d: %s, before %s", round, name, len(got), len(want), i,
							got[min(i, len(got)-1)], want[min(i, len(want)-1)])
					}
				}
			}
		}
	})
}
