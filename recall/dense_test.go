package recall_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tenet-memory/tenet/recall"
)

func quantize(tb testing.TB, v ...float32) recall.Vector {
	tb.Helper()
	q, ok := recall.Quantize("m", v)
	if !ok {
		tb.Fatal("no direction")
	}
	return q
}

func withVector(e recall.Entry, v recall.Vector) recall.Entry {
	e.Vector = v
	return e
}

func TestVectorsFindWhatSharesNoWord(t *testing.T) {
	t.Parallel()
	ix := newIndex(t,
		withVector(note("shrimp", "cannot eat shrimp or crab"), quantize(t, 1, 0.1, 0)),
		withVector(note("promo", "this week's promotions"), quantize(t, 0, 1, 0.2)),
		withVector(note("id-7", "ticket for the opera"), quantize(t, 0, 0, 1)),
	)
	got := search(t, ix, recall.Query{Text: "seafood allergy", Vector: quantize(t, 1, 0, 0), Explain: true}).Hits
	if got[0].ID != "shrimp" || got[0].Why.Dense <= 0 {
		t.Errorf("%+v", got)
	}
	// A query whose words are all there is decided by them.
	if got := search(t, ix, recall.Query{Text: "opera ticket", Vector: quantize(t, 1, 0, 0)}).Hits; got[0].ID != "id-7" {
		t.Errorf("%q", ids(got))
	}
	if got := search(t, ix, recall.Query{Text: "id-7", Vector: quantize(t, 1, 0, 0)}).Hits; got[0].ID != "id-7" || !got[0].Exact {
		t.Errorf("%q", ids(got))
	}
}

func TestANeighboursVectorHelps(t *testing.T) {
	t.Parallel()
	turn := func(id, session string, position int, v recall.Vector) recall.Entry {
		return recall.Entry{ID: id, Session: session, Position: position, Text: id, Vector: v}
	}
	ix := newIndex(t,
		turn("question", "s", 1, quantize(t, 1, 0)), turn("answer", "s", 2, quantize(t, 0.3, 1)),
		turn("other", "t", 1, quantize(t, 0, 1)), turn("lookalike", "t", 2, quantize(t, 0.3, 1)),
	)
	got := ids(search(t, ix, recall.Query{Text: "nothing shared", Vector: quantize(t, 1, 0)}).Hits)
	if slices.Index(got, "answer") > slices.Index(got, "lookalike") {
		t.Errorf("%q", got)
	}
}

func TestAnotherSpaceGivesTheLexicalResultAndSaysSo(t *testing.T) {
	t.Parallel()
	ix := newIndex(t, withVector(note("a", "apple"), quantize(t, 1, 0)))
	other, _ := recall.Quantize("other", []float32{1, 0})
	for _, v := range []recall.Vector{other, quantize(t, 1, 0, 0)} {
		res := search(t, ix, recall.Query{Text: "apple", Vector: v})
		if res.Reason != recall.ReasonNoSpace || len(res.Hits) != 1 {
			t.Errorf("%+v", res)
		}
	}
	if _, err := ix.SetVector("a", other); !errors.Is(err, recall.ErrVector) {
		t.Error(err)
	}
	ix.DropVectors()
	if ok, err := ix.SetVector("a", other); !ok || err != nil {
		t.Error(ok, err)
	}
	if res := search(t, ix, recall.Query{Text: "apple", Vector: other}); res.Reason != recall.ReasonNone {
		t.Errorf("%+v", res)
	}
}

func TestVectorsWithoutDirectionAreRefused(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range [][]float32{nil, {}, {0, 0}, {nan, 1}, {inf, 1}} {
		if _, ok := recall.Quantize("m", v); ok {
			t.Errorf("%v", v)
		}
	}
}
