package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet/recall"
)

func TestTenNearDuplicatesTakeOnePlace(t *testing.T) {
	t.Parallel()
	entries := []recall.Entry{
		note("allergy", "Sarah is allergic to shellfish, no seafood promotions please"),
		note("size", "Sarah ordered from the promotions of last spring"),
	}
	for i := range 10 {
		entries = append(entries, note(fmt.Sprint("mail", i), "Sarah prefers contact by email for promotions"+strings.Repeat("!", i)))
	}
	ix := newIndex(t, entries...)
	q := recall.Query{Text: "promotions that Sarah prefers by email", K: 3}
	got := search(t, ix, q).Hits
	if len(got) != 3 || len(got[0].Similar) != 9 {
		t.Fatalf("%+v", got)
	}
	q.Diversity = recall.Plain
	if got := search(t, ix, q).Hits; !strings.HasPrefix(got[2].ID, "mail") {
		t.Errorf("plain ranking was changed: %q", ids(got))
	}
}

func TestManyNearDuplicatesHideNothing(t *testing.T) {
	t.Parallel()
	var entries []recall.Entry
	for i := range 300 {
		entries = append(entries, note(fmt.Sprint("mail", i), "Sarah prefers contact by email for promotions"+strings.Repeat("!", i)))
	}
	for i, text := range []string{"promotions end", "an email came", "contact the shop", "Sarah slept"} {
		entries = append(entries, note(fmt.Sprint("other", i), text))
	}
	res := search(t, newIndex(t, entries...), recall.Query{Text: "promotions that Sarah prefers by email contact", K: 5})
	if len(res.Hits) != 5 || len(res.Hits[0].Similar) != 299 {
		t.Errorf("%q, %d folded", ids(res.Hits), len(res.Hits[0].Similar))
	}
}

func TestEntriesThatDifferInAFactAreNotFolded(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"Anna takes warfarin 5 mg daily in the morning", "Anna takes warfarin 50 mg daily in the morning"},
		{"Anna is allergic to shellfish and peanuts today", "Anna is not allergic to shellfish and peanuts today"},
	} {
		ix := newIndex(t, note("a", c[0]), note("b", c[1]))
		if got := search(t, ix, recall.Query{Text: c[0]}).Hits; len(got) != 2 {
			t.Errorf("%q hides %q", c[0], c[1])
		}
	}
}

func TestSpreadPutsOtherThingsBeforeRepetition(t *testing.T) {
	t.Parallel()
	ix := newIndex(t,
		note("a", "garden roses need water and sun every summer"),
		note("b", "garden roses need water and shade every summer day"),
		note("c", "the garden fence is broken"),
	)
	got := ids(search(t, ix, recall.Query{Text: "garden roses", K: 3, Diversity: recall.Spread}).Hits)
	plain := ids(search(t, ix, recall.Query{Text: "garden roses", K: 3, Diversity: recall.Plain}).Hits)
	if plain[2] != "c" || got[0] != plain[0] || len(got) != 3 {
		t.Errorf("spread %q, plain %q", got, plain)
	}
}
