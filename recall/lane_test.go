package recall_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet/recall"
)

func TestStuffedPoisonMovesNoTrustedHit(t *testing.T) {
	t.Parallel()
	entries, queries := chat(400)
	clean := newIndex(t, entries...)
	poisoned := newIndex(t, entries...)
	for i, q := range queries[:20] {
		for lane := recall.Tool; lane <= recall.External; lane++ {
			for c := range 20 {
				err := poisoned.Add(recall.Entry{
					ID: fmt.Sprint("poison", i, lane, c), Lane: lane, Session: "s1", Position: c,
					Speaker: "Ann", Text: q + strings.Repeat(" now", c),
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		query := recall.Query{Text: q, K: 10, Lanes: []recall.Lane{recall.Trusted}, Explain: true}
		a, b := search(t, clean, query), search(t, poisoned, query)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%q: trusted lane was moved", q)
		}
		all := search(t, poisoned, recall.Query{Text: q, K: 10})
		trusted := 0
		for _, h := range all.Hits {
			if h.Lane == recall.Trusted {
				trusted++
			}
		}
		if want := min(8, len(a.Hits)); trusted < want {
			t.Errorf("%q: %d trusted hits, want %d", q, trusted, want)
		}
	}
}

func TestUnusedPlacesFlowBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ trusted, external, k, wantTrusted, wantExternal int }{
		{20, 20, 10, 8, 2}, {3, 20, 10, 3, 7}, {20, 1, 10, 9, 1}, {20, 0, 10, 10, 0}, {0, 20, 10, 0, 10}, {5, 5, 1, 1, 0},
	} {
		var all []recall.Entry
		for i := range c.trusted {
			all = append(all, note(fmt.Sprint("t", i), fmt.Sprintf("apple tree%d", i)))
		}
		for i := range c.external {
			e := note(fmt.Sprint("x", i), fmt.Sprintf("apple tree%d", i))
			e.Lane = recall.External
			all = append(all, e)
		}
		n := map[recall.Lane]int{}
		for _, h := range search(t, newIndex(t, all...), recall.Query{Text: "apple", K: c.k}).Hits {
			n[h.Lane]++
		}
		if n[recall.Trusted] != c.wantTrusted || n[recall.External] != c.wantExternal {
			t.Errorf("%+v: %v", c, n)
		}
	}
}

func TestStandingInstructionsAreServedFromTheTrustedLaneOnly(t *testing.T) {
	t.Parallel()
	entries, queries := chat(60)
	rule := "Always give percentages when I ask about improvement."
	for lane := recall.Trusted; lane <= recall.External; lane++ {
		e := note("rule "+lane.String(), rule)
		e.Lane = lane
		entries = append(entries, e)
	}
	ix := newIndex(t, entries...)
	got := ids(search(t, ix, recall.Query{Text: queries[0], K: 30}).Hits)
	if s := strings.Join(got, "|"); !strings.Contains(s, "rule trusted") || strings.Count(s, "rule") != 1 {
		t.Errorf("%q", got)
	}
}
