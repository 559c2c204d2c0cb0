package memory_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// TestConversationsMayBeConsolidatedInAnyOrder: what was said on given days has
// one history, in whatever order the days come through the engine.
func TestConversationsMayBeConsolidatedInAnyOrder(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		rng := seeded(t)
		days := []struct {
			year int
			text string
		}{
			{2010, "I live in Berlin"}, {2012, "I live in Berlin"}, {2014, "I no longer live in Berlin"},
			{2018, "I live in Oslo"}, {2020, "I live in Berlin"}, {2021, "I live in Berlin"},
		}
		towns := scripted{"I live in Oslo": fact("home_city", "Oslo", tenet.OpAssert)}
		for text, c := range spoken {
			towns[text] = c
		}
		var want []string
		for round := range 8 {
			e := newEngine(t, b, func(c *memory.Config) { c.Extractor = towns })
			order := rng.Perm(len(days))
			if round == 0 {
				slices.Sort(order)
			}
			for _, i := range order {
				d := days[i]
				s := must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, tenet.SessionID(fmt.Sprint("day", d.year))))
				m := tenet.UserMessage(d.text)
				m.SaidAt = time.Date(d.year, 1, 1, 0, 0, 0, 0, time.UTC)
				must[[]tenet.Message](t)(s.Append(t.Context(), m))
				must[memory.Report](t)(e.Consolidate(t.Context(), e.app, e.sarah, s.Info().ID))
			}
			h := slices.DeleteFunc(must[[]tenet.Record](t)(e.History(t.Context(), e.app, e.sarah, "home_city")), func(r tenet.Record) bool { return !r.Known.Open() })
			slices.SortFunc(h, func(a, b tenet.Record) int { return cmp.Compare(a.Valid.From.Unix(), b.Valid.From.Unix()) })
			var got []string
			var last tenet.Record
			for _, r := range h { // adjoining pieces of one value are one
				if len(got) > 0 && string(last.Value) == string(r.Value) && last.Valid.To.Equal(r.Valid.From) {
					got = got[:len(got)-1]
					r.Valid.From = last.Valid.From
				}
				got = append(got, fmt.Sprintf("%s %d-%d", r.Value, r.Valid.From.Year(), r.Valid.To.Year()))
				last = r
			}
			if round == 0 {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("in order %v: %v, want %v", order, got, want)
			}
		}
		if !slices.Equal(want, []string{`"Berlin" 2010-2014`, `"Oslo" 2018-2020`, `"Berlin" 2020-1`}) {
			t.Errorf("%v", want)
		}
	})
}
