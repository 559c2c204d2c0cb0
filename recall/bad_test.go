package recall_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet/recall"
)

func TestBadQueriesGetAClearAnswer(t *testing.T) {
	t.Parallel()
	ix := newIndex(t, note("a", "apple pie"))
	rng := &recall.Range{Start: monday, End: monday.Add(-1)}
	for _, c := range []struct {
		q      recall.Query
		err    error
		reason recall.Reason
	}{
		{recall.Query{Text: "", K: 5}, recall.ErrEmptyQuery, 0},
		{recall.Query{Text: " \n\t", K: 5}, recall.ErrEmptyQuery, 0},
		{recall.Query{Text: "apple", K: 0}, recall.ErrK, 0},
		{recall.Query{Text: "apple", K: -1}, recall.ErrK, 0},
		{recall.Query{Text: "apple", K: math.MaxInt}, recall.ErrK, 0},
		{recall.Query{Text: strings.Repeat("apple ", 200_000), K: 5}, recall.ErrQuerySize, 0},
		{recall.Query{Text: "apple", K: 5, Lanes: []recall.Lane{9}}, recall.ErrLane, 0},
		{recall.Query{Text: "apple", K: 5, Within: rng}, recall.ErrRange, 0},
		{recall.Query{Text: "the of and", K: 5}, nil, recall.ReasonNoTerms},
		{recall.Query{Text: "👍🏽🎉", K: 5}, nil, recall.ReasonNoTerms},
		{recall.Query{Text: "\u202e\u200f\xff\x00", K: 5}, nil, recall.ReasonNoTerms},
		{recall.Query{Text: "quantum", K: 5}, nil, recall.ReasonNoMatch},
		{recall.Query{Text: "apple", K: 5, Lanes: []recall.Lane{recall.Tool}}, nil, recall.ReasonEmpty},
	} {
		res, err := ix.Search(c.q)
		if !errors.Is(err, c.err) || res.Reason != c.reason || len(res.Hits) != 0 {
			t.Errorf("%.20q k %d: %v %v, want %v %v", c.q.Text, c.q.K, err, res.Reason, c.err, c.reason)
		}
	}
	if res := search(t, ix, recall.Query{Text: "apple", K: recall.MaxK}); len(res.Hits) != 1 {
		t.Errorf("%+v", res)
	}
	long := strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(&long, "apple w%d ", i)
	}
	if res := search(t, ix, recall.Query{Text: long.String()}); len(res.Hits) != 1 {
		t.Errorf("%+v", res)
	}
}

func TestTheWorstQueriesEnd(t *testing.T) {
	t.Parallel()
	entries, _ := chat(3000)
	for i := range entries {
		entries[i].Key = "home"
	}
	ix := newIndex(t, entries...)
	for _, unit := range []string{`"w0" `, "home ", "w0 w1 w2 ", "\"", "between and ", "1 2 3 ", "é", "東"} {
		start := time.Now()
		text := strings.Repeat(unit, recall.MaxQueryBytes/len(unit))
		search(t, ix, recall.Query{Text: text, K: 10, Now: monday})
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q took %v", unit, took)
		}
	}
}

func TestBadEntriesChangeNothing(t *testing.T) {
	t.Parallel()
	ix := newIndex(t, note("a", "apple"))
	v := func(space string, n int) recall.Vector { return recall.Vector{Space: space, Values: make([]int8, n)} }
	for _, c := range []struct {
		entries []recall.Entry
		err     error
	}{
		{[]recall.Entry{note("b", "x"), {}}, recall.ErrNoID},
		{[]recall.Entry{note("b", "x"), {ID: "c", Lane: 7}}, recall.ErrLane},
		{[]recall.Entry{{ID: "b", Vector: v("m", 3)}, {ID: "c", Vector: v("m", 4)}}, recall.ErrVector},
		{[]recall.Entry{{ID: "b", Vector: v("m", 3)}, {ID: "c", Vector: v("n", 3)}}, recall.ErrVector},
	} {
		if err := ix.Add(c.entries...); !errors.Is(err, c.err) || ix.Len() != 1 {
			t.Errorf("%v, %d entries, want %v", err, ix.Len(), c.err)
		}
	}
	if _, err := recall.New(recall.Params{B: math.NaN()}); !errors.Is(err, recall.ErrParams) {
		t.Errorf("%v", err)
	}
}
