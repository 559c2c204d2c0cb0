package memory_test

import (
	"slices"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// TestWhatContradictsIsKeptTwiceAndSaid: near-repetitions stay two records of
// one cluster; a difference that carries a fact is raised, never resolved.
func TestWhatContradictsIsKeptTwiceAndSaid(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		for _, c := range []struct {
			first, second string
			cluster, said bool
		}{
			{"Takes 5 mg of warfarin daily", "Takes 50 mg of warfarin daily", true, true},
			{"Is allergic to shellfish and nuts", "Is not allergic to shellfish and nuts", true, true},
			{"Flies from Berlin to Paris", "Flies from Paris to Berlin", true, true},
			{"Works with Anna on the quarterly report", "Works with Berta on the quarterly report", true, true},
			{"Reports go to a@example.com each week", "Reports go to b@example.com each week", true, true},
			{"Likes strong black tea in the morning", "Likes weak black tea in the morning", true, false},
			{"Likes tea", "Plays chess on Sundays", false, false},
		} {
			e := newEngine(t, b, nil)
			one := must[tenet.Verdict](t)(e.Remember(t.Context(), e.app, tenet.Note(e.sarah, c.first).Quoting(c.first)))
			two := must[tenet.Verdict](t)(e.Remember(t.Context(), e.app, tenet.Note(e.sarah, c.second).Quoting(c.second)))
			if one.Outcome != tenet.Stored || two.Outcome != tenet.Stored || one.Record == two.Record {
				t.Errorf("%q: %s and %s", c.second, one.Outcome, two.Outcome)
			}
			if got := slices.Contains(two.Codes, tenet.CodePossibleConflict); got != c.said {
				t.Errorf("%q: said %v, codes %v", c.second, got, two.Codes)
			}
			op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
			clusters := must[[]memory.Cluster](t)(op.Clusters(t.Context()))
			if (len(clusters) == 1) != c.cluster || c.cluster && (clusters[0].ID != one.Record || len(clusters[0].Records) != 2) {
				t.Errorf("%q: clusters %+v", c.second, clusters)
			}
			if got := must[[]memory.Cluster](t)(op.Conflicts(t.Context())); (len(got) == 1) != c.said {
				t.Errorf("%q: conflicts %+v", c.second, got)
			}
		}
	})
}

// TestAConflictWithinOneConversationIsSaid: the second statement stands in the
// same batch, where the first is not stored yet.
func TestAConflictWithinOneConversationIsSaid(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) {
			c.Extractor = scripted{
				"I am allergic to 5 kinds of nuts":  fact("allergy", "5 kinds of nuts", tenet.OpAssert),
				"I am allergic to 50 kinds of nuts": fact("allergy", "50 kinds of nuts", tenet.OpAssert),
			}
		})
		s := must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage("I am allergic to 5 kinds of nuts"), tenet.UserMessage("I am allergic to 50 kinds of nuts")))
		r := must[memory.Report](t)(e.Consolidate(t.Context(), e.app, e.sarah, "chat"))
		if len(r.Verdicts) != 2 || slices.Contains(r.Verdicts[0].Codes, tenet.CodePossibleConflict) || !slices.Contains(r.Verdicts[1].Codes, tenet.CodePossibleConflict) {
			t.Errorf("%+v", r.Verdicts)
		}
	})
}

// TestWhatCannotBeRoutedIsHeldUntilSomebodyDoes: an extractor that names no
// tier is not guessed for.
func TestWhatCannotBeRoutedIsHeldUntilSomebodyDoes(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) {
			c.Extractor = scripted{"I keep bees": {Route: "unsure: a hobby or a trade"}}
		})
		v := e.say(t, e.app, "I keep bees")
		if v.Outcome != tenet.Quarantined || !slices.Contains(v.Codes, tenet.CodeUnrouted) {
			t.Fatalf("%+v", v)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		if _, err := op.Release(t.Context(), v.Candidate); tenet.KindOf(err) != tenet.Refused {
			t.Errorf("released without a tier: %v", err)
		}
		got := must[tenet.Verdict](t)(op.ReleaseAs(t.Context(), v.Candidate, tenet.TierFact, "occupation"))
		if got.Outcome != tenet.Stored || len(e.values(t, "occupation")) != 1 {
			t.Errorf("released as a fact: %+v", got)
		}
	})
}
