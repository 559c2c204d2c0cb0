package gate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/storetest"
)

// said is a message on its day: a value that begins, or one that ends.
func saidOn(t *rapid.T, l store.Ledger, g *gate.Gate, n int, town string, op tenet.Op, when time.Time) {
	text := "the town is " + town
	c := gate.Case{By: who(tenet.App), At: noon.Add(time.Duration(n) * time.Second)}
	m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", when.Unix())), Role: tenet.RoleUser, Session: "s", RecordedBy: "app:test", Text: text, SaidAt: when, Label: tenet.LabelUserStated}
	c.Evidence = []tenet.Message{m}
	c.Candidate = tenet.Fact(sarah, "city", text).Citing(m.ID)
	c.Candidate.Value, _ = json.Marshal(town)
	c.Candidate.ID, c.Candidate.Op = tenet.CandidateID(fmt.Sprintf("c%03d", n)), op
	_, d := judgeOn(t, l, g, c)
	if _, err := l.Apply(ctx, []gate.Decision{d}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestAnEndMayArriveBeforeWhatItEnds: a value that begins, is said again and
// ends has the same history in whatever order the days arrive.
func TestAnEndMayArriveBeforeWhatItEnds(t *testing.T) {
	g := gate.New(nil)
	rapid.Check(t, func(t *rapid.T) {
		years := slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.IntRange(2000, 2020), 1, 5, rapid.ID[int]).Draw(t, "years")))
		last := years[len(years)-1] + 1
		order := append(slices.Clone(years), last)
		var want []string
		for i, order := range [][]int{order, rapid.Permutation(order).Draw(t, "order")} {
			l := storetest.NewOracle()
			for n, y := range order {
				op := tenet.OpAssert
				if y == last {
					op = tenet.OpEnd
				}
				saidOn(t, l, g, n, "Rome", op, day(y, 1, 1))
			}
			got := timeline(t, l)
			if i == 0 {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("in order %v: %q, want %q", order, got, want)
			}
			v, err := l.Verify(ctx, sarah)
			if err != nil || !v.OK() {
				t.Fatalf("%+v %v", v, err)
			}
		}
		if len(want) != 1 || want[0] != fmt.Sprintf("the town is Rome [%d-01-01, %d-01-01)", years[0], last) {
			t.Fatalf("in order: %q", want)
		}
	})
}

// TestAValueThatCameBackAfterItsEndIsOpen: the end speaks for what began before it.
func TestAValueThatCameBackAfterItsEndIsOpen(t *testing.T) {
	g := gate.New(nil)
	rapid.Check(t, func(t *rapid.T) {
		type day1 struct {
			y  int
			op tenet.Op
		}
		days := []day1{{2001, tenet.OpAssert}, {2005, tenet.OpEnd}, {2009, tenet.OpAssert}}
		l := storetest.NewOracle()
		for n, d := range rapid.Permutation(days).Draw(t, "order") {
			saidOn(t, l, g, n, "Rome", d.op, day(d.y, 1, 1))
		}
		got := timeline(t, l)
		if want := []string{"the town is Rome [2001-01-01, 2005-01-01)", "the town is Rome [2009-01-01, 0001-01-01)"}; !slices.Equal(got, want) {
			t.Fatalf("%q", got)
		}
	})
}
