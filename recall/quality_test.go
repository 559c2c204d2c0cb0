package recall_test

import (
	"testing"

	"github.com/tenet-memory/tenet/recall"
)

// TestRecallHoldsItsFloors measures the one parameter set on every set of the
// shared data. Figures are of the plain ranking; what folding near duplicates
// costs is printed beside it.
func TestRecallHoldsItsFloors(t *testing.T) {
	t.Parallel()
	type floor struct {
		what string
		of   func(*figures) float64
		min  float64
	}
	r5 := func(f *figures) float64 { return f.r5 / f.n }
	r10 := func(f *figures) float64 { return f.r10 / f.n }
	hit1 := func(f *figures) float64 { return f.hit1 / f.n }
	sets := []struct {
		name     string
		sessions bool
		floors   []floor
	}{
		{"locomo", false, []floor{{"recall@10", r10, 0.75}, {"recall@5", r5, 0.67}}},
		{"locomo", true, []floor{{"hit@1", hit1, 0.76}, {"recall@10", r10, 0.945}}},
		{"beam_100K_user", false, []floor{{"recall@10", r10, 0.75}}},
		{"lme_pool", false, []floor{{"recall@10", r10, 0.80}}},
		{"lme_s4_sessions", false, nil},
		{"memdaily_zh", false, []floor{{"recall@5", r5, 0.80}}},
		{"xquad_en", false, []floor{{"hit@1", hit1, 0.915}}},
		{"xquad_zh", false, []floor{{"hit@1", hit1, 0.92}}},
		{"xquad_hi", false, []floor{{"hit@1", hit1, 0.895}}},
		{"xquad_ar", false, []floor{{"hit@1", hit1, 0.81}}},
		{"xquad_tr", false, []floor{{"hit@1", hit1, 0.82}}},
		{"jaquad_dev", false, []floor{{"hit@1", hit1, 0.82}}},
	}
	for _, s := range sets {
		name := s.name
		if s.sessions {
			name += " sessions"
		}
		t.Run(name, func(t *testing.T) {
			set := loadSet(t, s.name)
			if s.sessions {
				set = set.sessions()
			}
			by, skipped := set.measure(t, recall.DefaultParams(), recall.Plain)
			report(t, name, by, skipped)
			for _, f := range s.floors {
				if got := f.of(by[""]); got < f.min {
					t.Errorf("%s: %s %.4f, floor %.4f", name, f.what, got, f.min)
				}
			}
		})
	}
}

// TestOwnChatIsRecalled needs no outside data: a small invented set that lies
// beside this file.
func TestOwnChatIsRecalled(t *testing.T) {
	t.Parallel()
	set := loadDir(t, "testdata/chat")
	by, skipped := set.measure(t, recall.DefaultParams(), recall.Collapse)
	report(t, "own chat", by, skipped)
	if f := by[""]; f.r5/f.n < 0.9 || f.hit1/f.n < 0.6 {
		t.Errorf("recall@5 %.3f, hit@1 %.3f", f.r5/f.n, f.hit1/f.n)
	}
}
