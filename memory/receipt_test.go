package memory_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// TestAWindowKeepsTheScoresOfItsMoment: what brought a record into a window is
// what it was then, whatever is learned or erased afterwards.
func TestAWindowKeepsTheScoresOfItsMoment(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		note := func(text string) tenet.RecordID {
			return must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Note(e.sarah, text).Quoting(text))).Record
		}
		kayak := note("Keeps a red kayak in the boathouse by the lake.")
		lake := note("Swims in the lake on Sundays.")
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		found := must[memory.Found](t)(s.Recall(ctx, "the kayak at the lake", memory.RecallOptions{}))
		if len(found.Hits) != 2 || found.Hits[0].ID != kayak {
			t.Fatalf("recalled: %+v", found.Hits)
		}
		then := must[[]tenet.Receipt](t)(e.sessions.Receipts(ctx, e.sarah, "chat"))
		scores := then[0].Scores
		if len(scores) != 2 {
			t.Fatalf("scores: %+v", then)
		}
		for i, x := range scores {
			sum := x.Turn + x.Window + x.Session + x.Near + x.Speaker + x.Preference + x.Time + x.Standing + x.Dense + x.Exact
			if math.Abs(float64(sum)/1e4-found.Hits[i].Score) > 1e-3 {
				t.Errorf("the parts of hit %d sum to %d, its score is %v", i, sum, found.Hits[i].Score)
			}
		}
		for i := range 20 { // the same words weigh less now, and another text fits better
			note(fmt.Sprintf("The kayak club of lake number %d meets on day %d.", i, i))
		}
		e.advance(time.Minute)
		note("Swims in the lake on Sundays.") // somebody agrees, and had not then
		if r := must[tenet.Record](t)(e.ledger.Record(ctx, e.sarah, lake)); len(r.Origins) != 2 {
			t.Fatalf("nobody agreed: %+v", r)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		stood := func() []memory.StoodItem {
			return must[memory.Stood](t)(op.Stood(ctx, "chat", then[0].ID)).Items
		}
		if is := stood(); len(is) != 2 || *is[0].Score != scores[0] || *is[1].Score != scores[1] || is[1].ID != lake || len(is[1].Record.Origins) != 1 {
			t.Errorf("the window's scores and origins are not those of its moment: %+v, were %+v", is, scores)
		}
		if _, ok := e.ledger.(store.Eraser); !ok {
			return // the oracle
		}
		must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Record: kayak}, Why: "asked for"}))
		if is := stood(); len(is) != 1 || is[0].ID != lake || *is[0].Score != scores[1] {
			t.Errorf("after the erasure: %+v", is)
		}
		if r := then[0].Without(func(id tenet.RecordID) bool { return id == lake }); !slices.Equal(r.Recalled, []tenet.RecordID{kayak}) || r.Scores[0] != scores[0] {
			t.Errorf("without one: %+v", r)
		}
	})
}
