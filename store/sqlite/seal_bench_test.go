package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// BenchmarkSealed sets a sealed file beside one that is not, on the same
// decisions: the two take turns, so that a busy machine slows both, and the
// medians are compared ("hand" is the file that is not sealed).
func BenchmarkSealed(b *testing.B) {
	const people, each = 20, 50
	two := []*DB{sealed(b), fresh(b)}
	ds := decisions(b, two[1], people*each)
	b.Run("apply a fact", func(b *testing.B) {
		var took [2][]time.Duration
		for i := range ds {
			for n, db := range two {
				t0 := time.Now()
				if _, err := db.Apply(ctx, ds[i:i+1], nil); err != nil {
					b.Fatal(err)
				}
				took[n] = append(took[n], time.Since(t0))
			}
		}
		report(b, took[0], took[1])
	})
	b.Run("a new subject", func(b *testing.B) {
		var took [2][]time.Duration
		g, by := noLimit(), principal(b, tenet.App)
		for i := range 200 {
			d, err := g.Judge(fact(by, user(b, fmt.Sprint("new", b.N, "-", i)), "c", "city", "lives in Basel", begin))
			if err != nil {
				b.Fatal(err)
			}
			for n, db := range two {
				t0 := time.Now()
				if _, err := db.Apply(ctx, []gate.Decision{d}, nil); err != nil {
					b.Fatal(err)
				}
				took[n] = append(took[n], time.Since(t0))
			}
		}
		report(b, took[0], took[1])
	})
	b.Run("50 facts, uncached", func(b *testing.B) {
		var took [2][]time.Duration
		at := tenet.AsOf{Valid: begin.AddDate(1, 0, 0)}
		for range 300 {
			for n, db := range two {
				db.facts.clear()
				t0 := time.Now()
				if rs, err := db.Facts(ctx, user(b, "u15"), at); err != nil || len(rs) != each {
					b.Fatal(len(rs), err)
				}
				took[n] = append(took[n], time.Since(t0))
			}
		}
		report(b, took[0], took[1])
	})
	b.Run("6,000 turns for a cold index", func(b *testing.B) {
		scope := user(b, "talker")
		g, by := noLimit(), principal(b, tenet.App)
		for _, db := range two {
			if h, err := db.Head(ctx, scope); err != nil || h.Text > 0 {
				continue
			}
			var batch []gate.Decision
			for i := range 6000 {
				c := tenet.Candidate{Scope: scope, Tier: tenet.TierEpisode, Text: fmt.Sprint("Turn ", i, ": we spoke of the garden, the weather in Basel and what to cook on Sunday."), Session: "chat"}
				c.ID = tenet.CandidateID(fmt.Sprint("e", i))
				m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", i)), Session: "chat", Role: tenet.RoleUser, Text: c.Text, Label: tenet.LabelUserStated, RecordedBy: "app:test", SaidAt: begin, RecordedAt: begin}
				d, err := g.Judge(gate.Case{By: by, Candidate: c.Citing(m.ID), Evidence: []tenet.Message{m}, At: begin.Add(time.Duration(i) * time.Second)})
				if err != nil {
					b.Fatal(err)
				}
				if batch = append(batch, d); len(batch) == 500 {
					apply(b, db, batch...)
					batch = nil
				}
			}
		}
		var took [2][]time.Duration
		for range 15 {
			for n, db := range two {
				t0 := time.Now()
				if ch, err := db.Changes(ctx, scope, 0); err != nil || len(ch.Added) != 6000 {
					b.Fatal(len(ch.Added), err)
				}
				took[n] = append(took[n], time.Since(t0))
			}
		}
		report(b, took[0], took[1])
	})
}
