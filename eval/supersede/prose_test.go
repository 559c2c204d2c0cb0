package supersede

import (
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model/rules"
)

// TestProseWithoutAKeyIsNotResolved reports, without a bar, what becomes of
// the same chains when nobody gives a key: what the grammar finds in them, and
// how often recall ranks the newest turn above the older ones. This is why
// updates are resolved at write time, by key.
func TestProseWithoutAKeyIsNotResolved(t *testing.T) {
	chains := chainsOfLongMemEval(t)
	questions := map[string]string{}
	for _, r := range lines[struct{ ID, Question string }](t, "supersede/lme_knowledge_update.jsonl") {
		questions["lme "+r.ID] = r.Question
	}
	backends(t, func(t *testing.T, e *engine) {
		first, n := 0, 0
		for _, c := range chains {
			if len(c.texts) < 2 {
				continue
			}
			for i, text := range c.texts {
				e.now = c.at[i]
				if v := e.tell(t.Context(), t, tenet.Note(c.scope, text)); !v.Outcome.Kept() {
					t.Logf("%s: %v", c.scope, v.Codes)
				}
			}
			found, err := e.Recall(t.Context(), e.app, questions[c.scope.Subject().ID()], memory.RecallOptions{}, c.scope)
			if err != nil {
				t.Fatal(err)
			}
			n++
			for _, h := range found.Hits {
				if newest := c.texts[len(c.texts)-1]; h.Text == strings.TrimSpace(newest) {
					first++
				}
				break
			}
		}
		t.Logf("longmemeval prose: recall ranks the newest first in %d of %d chains", first, n)
	})
}

// TestWhatTheGrammarFindsInTheUpdateSets reports the share of chain statements
// under a typed key.
func TestWhatTheGrammarFindsInTheUpdateSets(t *testing.T) {
	for name, chains := range map[string][]chain{"longmemeval": chainsOfLongMemEval(t), "beam": chainsOfBeam(t)} {
		statements, keyed := 0, 0
		for _, c := range chains {
			for i, text := range c.texts {
				statements++
				m := tenet.Message{ID: "m", Seq: 1, Role: tenet.RoleUser, Text: text, SaidAt: c.at[i]}
				for _, x := range extract(t, rules.Extractor{}, m) {
					if x.Tier == tenet.TierFact {
						keyed++
						break
					}
				}
			}
		}
		t.Logf("%s: the grammar finds a typed fact in %d of %d statements", name, keyed, statements)
	}
}

// TestAContradictionInProseIsKeptOnBothSides: neither side of a contradiction
// is merged away or wins silently. Raising it as a conflict is not built yet.
func TestAContradictionInProseIsKeptOnBothSides(t *testing.T) {
	type said struct{ Text string }
	backends(t, func(t *testing.T, e *engine) {
		pairs, both := 0, 0
		for i, r := range lines[struct {
			ID            string
			First, Second []said
		}](t, "supersede/beam_contradictions.jsonl") {
			if len(r.First) == 0 || len(r.Second) == 0 || r.First[0].Text == r.Second[0].Text {
				continue
			}
			pairs++
			scope := user(t, "contradiction "+r.ID)
			e.now = time.Date(2023, 1, 1, i, 0, 0, 0, time.UTC)
			a := e.tell(t.Context(), t, tenet.Note(scope, r.First[0].Text))
			e.at(e.now)
			b := e.tell(t.Context(), t, tenet.Note(scope, r.Second[0].Text))
			if a.Outcome == tenet.Stored && b.Outcome == tenet.Stored {
				both++
			} else {
				t.Logf("%s: %s %v, %s %v", r.ID, a.Outcome, a.Codes, b.Outcome, b.Codes)
			}
		}
		t.Logf("contradictions: both sides kept %d of %d", both, pairs)
	})
}
