package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
)

// version is a scripted extractor under another name, which keeps the turns too.
type version struct {
	scripted
	name string
}

func (v version) Name() string { return v.name }

// withTurns adds the episodes.
type withTurns struct{ version }

func (x withTurns) Extract(ctx context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	out, err := model.Verbatim{}.Extract(ctx, st)
	if err != nil {
		return nil, err
	}
	more, err := x.version.Extract(ctx, st)
	return append(out, more...), err
}

// TestAnotherExtractorTakesTheOldOnesPlace: the difference is shown first, what
// both derive is left alone, and nothing that a person stated is touched.
func TestAnotherExtractorTakesTheOldOnesPlace(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) { c.Extractor, c.SessionTTL = withTurns{version{spoken, "spoken/1"}}, time.Hour })
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I live in Berlin"), tenet.UserMessage("I am allergic to nuts"), tenet.UserMessage("I am allergic to cats"),
			tenet.UserMessage("I keep bees")))
		must[memory.Report](t)(e.Consolidate(ctx, e.app, e.sarah, "chat"))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Fact(e.sarah, "employer", "I work at Acme").Quoting("I work at Acme")))
		e.advance(48 * time.Hour) // the log runs out, the episodes stay
		must[memory.Swept](t)(e.Sweep(ctx))

		next := version{scripted{
			"I am allergic to nuts": fact("allergy", "nuts", tenet.OpAssert),    // as before
			"I live in Berlin":      fact("language", "Berlin", tenet.OpAssert), // under another key
			"I keep bees":           fact("bees", "bees", tenet.OpAssert),       // not read before, and the key is said
		}, "spoken/2"} // and no cats
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		was := must[store.Head](t)(e.ledger.Head(ctx, e.sarah))
		r := must[memory.Reextraction](t)(op.Reextract(ctx, next, time.Time{}, false))
		if r.Messages != 4 || r.Same != 1 || len(r.Added) != 2 || len(r.Removed) != 2 || r.Committed {
			t.Fatalf("the difference: %+v", r)
		}
		if h := must[store.Head](t)(e.ledger.Head(ctx, e.sarah)); h != was {
			t.Error("it was applied without being asked")
		}
		r = must[memory.Reextraction](t)(op.Reextract(ctx, next, time.Time{}, true))
		if !r.Committed || len(r.Verdicts) != 2 {
			t.Fatalf("committed: %+v", r)
		}
		for _, v := range r.Verdicts {
			if v.Outcome != tenet.Stored || v.Label != tenet.LabelUserStated {
				t.Errorf("%+v", v)
			}
		}
		for key, n := range map[string]int{"language": 1, "bees": 1, "allergy": 1, "home_city": 0, "employer": 1} {
			if got := e.values(t, key); len(got) != n {
				t.Errorf("%s: %v", key, got)
			}
		}
		if h := must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "home_city")); len(h) != 1 || h[0].Closed != tenet.ClosedRetracted {
			t.Errorf("the history of what is gone: %+v", h)
		}
		if again := must[memory.Reextraction](t)(op.Reextract(ctx, next, time.Time{}, true)); len(again.Removed) != 0 {
			t.Errorf("a second time: %+v", again)
		}
		for key, n := range map[string]int{"language": 1, "bees": 1, "allergy": 1} {
			if got := e.values(t, key); len(got) != n {
				t.Errorf("a second time, %s: %v", key, got)
			}
		}
		if r = must[memory.Reextraction](t)(op.Reextract(ctx, next, e.now(), false)); r.Messages != 0 {
			t.Errorf("turns before since: %+v", r)
		}
		if v := must[store.Verification](t)(op.Verify(ctx)); !v.OK() {
			t.Errorf("%+v", v)
		}
	})
}
