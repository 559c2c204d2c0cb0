package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// BenchmarkSealed sets a sealed database beside one that is not, on the same
// decisions: the two take turns, so that a busy machine slows both, and the
// medians are compared. The vault is another database of the same server.
func BenchmarkSealed(b *testing.B) {
	two := []*DB{sealed(b), fresh(b)}
	took := func(b *testing.B, n int, f func(db *DB, i int)) {
		b.Helper()
		var all [2][]time.Duration
		for i := range n {
			for k, db := range two {
				t0 := time.Now()
				f(db, i)
				all[k] = append(all[k], time.Since(t0))
			}
		}
		for k := range all {
			slices.Sort(all[k])
		}
		s, p := all[0][n/2], all[1][n/2]
		b.ReportMetric(float64(p.Microseconds()), "plain-µs")
		b.ReportMetric(float64(s.Microseconds()), "sealed-µs")
		b.ReportMetric(float64(s)/float64(p), "quotient")
	}
	g := gate.New(nil, gate.WithLimits(gate.Limits{Rows: 1 << 30, Bytes: 1 << 40, Value: 6 << 10}))
	apply := func(b *testing.B, n int, who func(i int) string) {
		b.Helper()
		ds := make([]gate.Decision, n)
		for i := range ds {
			ds[i] = fact(b, g, user(b, "acme", who(i)), fmt.Sprint("c", i), fmt.Sprint("key.", i), fmt.Sprint("The value of number ", i, " is of ordinary length."), begun)
		}
		took(b, n, func(db *DB, i int) {
			if _, err := db.Apply(ctx, ds[i:i+1], nil); err != nil {
				b.Fatal(err)
			}
		})
	}
	const people, each = 20, 50
	b.Run("a new subject", func(b *testing.B) { apply(b, 200, func(i int) string { return fmt.Sprint("new", i) }) })
	b.Run("apply a fact", func(b *testing.B) { apply(b, people*each, func(i int) string { return fmt.Sprint("u", i%people) }) })
	at := tenet.AsOf{Valid: begun.AddDate(1, 0, 0)}
	load := func(db *DB) {
		if rs, err := db.Facts(ctx, user(b, "acme", "u15"), at); err != nil || len(rs) != each {
			b.Fatal(len(rs), err)
		}
	}
	b.Run("50 facts, uncached", func(b *testing.B) {
		took(b, 300, func(db *DB, _ int) { db.facts.clear(); load(db) })
	})
	b.Run("50 facts, cached", func(b *testing.B) { took(b, 1000, func(db *DB, _ int) { load(db) }) })
	b.Run("append a message", func(b *testing.B) {
		talker := user(b, "acme", "talker")
		for _, db := range two {
			if _, err := db.Ensure(ctx, talker, tenet.Session{ID: "chat", Scope: talker, CreatedAt: time.Now()}); err != nil {
				b.Fatal(err)
			}
		}
		took(b, 500, func(db *DB, i int) {
			m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", i)), Role: tenet.RoleUser, Text: "What is on this week?", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: time.Now()}
			if _, err := db.Append(ctx, talker, "chat", []tenet.Message{m}, time.Time{}); err != nil {
				b.Fatal(err)
			}
		})
	})
}
