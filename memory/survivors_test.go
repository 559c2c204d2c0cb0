package memory_test

import (
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// TestAnOversizeTurnIsAVerdictAndHoldsNothingUp: a message may be larger than
// any record. It is refused with its reason, and its neighbours are kept.
func TestAnOversizeTurnIsAVerdictAndHoldsNothingUp(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage(strings.Repeat("word ", tenet.MaxMessage/5)), tenet.UserMessage("My home airport is Boston.")))
		r := must[memory.Report](t)(s.End(ctx))
		if len(r.Verdicts) != 2 || r.Verdicts[0].Outcome != tenet.Rejected || r.Verdicts[0].Codes[0] != tenet.CodeSize || r.Verdicts[1].Outcome != tenet.Stored {
			t.Fatalf("verdicts: %+v", r.Verdicts)
		}
		found := must[memory.Found](t)(e.Recall(ctx, e.app, "home airport", memory.RecallOptions{}, e.sarah))
		if len(found.Hits) != 1 {
			t.Errorf("the neighbour is not recalled: %d hits", len(found.Hits))
		}
	})
}

// TestAToolResultIsNeverShownWithoutItsCall, neither when the budget cuts the
// call off nor when the log has none.
func TestAToolResultIsNeverShownWithoutItsCall(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		call := tenet.AssistantMessage(strings.Repeat("a long explanation ", 40))
		call.ToolCalls = []string{"c1"}
		must[[]tenet.Message](t)(s.Append(ctx, tenet.ToolMessage("c0", "an orphan"), call, tenet.ToolMessage("c1", "the result"), tenet.UserMessage("And now?")))
		for _, tokens := range []int{30, 60, 4000} {
			w := must[memory.Window](t)(s.Context(ctx, "", memory.Budget{Tokens: tokens}))
			called := map[string]bool{}
			for _, m := range w.Messages {
				for _, id := range m.ToolCalls {
					called[id] = true
				}
				if m.Role == tenet.RoleTool && !called[m.ToolCallID] {
					t.Errorf("%d tokens: the result of %s stands without its call", tokens, m.ToolCallID)
				}
			}
			if n := len(w.Messages); n == 0 || w.Messages[n-1].Text != "And now?" {
				t.Errorf("%d tokens: the newest message is missing", tokens)
			}
		}
	})
}
