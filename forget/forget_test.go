package forget

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const day = 24 * time.Hour

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// withWorth is an entry whose worth is w, from enough outcomes to count, that
// do not fade during the test.
func withWorth(c Class, importance, w float64) (Params, Entry) {
	p := DefaultParams()
	p.WorthHalfLife = math.MaxInt64
	e := Entry{Class: c, Importance: importance, RecordedAt: start, CountedAt: start}
	if w != 0.5 {
		const n = 16
		e.Success = w*(n+2*p.WorthPrior) - p.WorthPrior
		e.Failure = n - e.Success
	}
	return p, e
}

// TestFirstDayUnderTheLine holds the golden days of the corrected score.
func TestFirstDayUnderTheLine(t *testing.T) {
	t.Parallel()
	const never = 0
	for _, c := range []struct {
		importance, worth        float64
		episode, note, procedure int
	}{
		{0.2, 0.5, 43, 92, 184},
		{0.2, 0.1, 21, 45, 89},
		{0.3, 0.5, 52, 110, 219},
		{0.4, 0.5, 66, 140, 279},
		{0.6, 0.5, never, never, never},
		{0.7, 0.5, never, never, never},
		{0.6, 0.1, 33, 70, 140},
		{0.7, 0.1, 38, 80, 159},
		{0.8, 0.1, 43, 92, 184},
		{0.2, 0.9, never, never, never},
	} {
		for class, want := range map[Class]int{Episode: c.episode, Note: c.note, Procedure: c.procedure} {
			p, e := withWorth(class, c.importance, c.worth)
			got := never
			for d := 1; d < 2000; d++ {
				if p.Score(e, start.Add(time.Duration(d)*day)) < p.Demote {
					got = d
					break
				}
			}
			if got != want {
				t.Errorf("importance %v worth %v class %d: under %v on day %d, want %d", c.importance, c.worth, class, p.Demote, got, want)
			}
		}
	}
}

// TestTheArticlesFormulaNeverEvictsWhatIsUnused shows the traps of the formula
// as printed, which is why the score here differs.
func TestTheArticlesFormulaNeverEvictsWhatIsUnused(t *testing.T) {
	t.Parallel()
	evicts := func(hours, importance, worth float64) bool {
		saliency := (math.Pow(0.995, hours) + importance + 0) / 3
		return saliency < 0.15 && worth < 0.15
	}
	if evicts(10*365*24, 0, 0.5) {
		t.Error("unused for ten years and worth 0.5: the article's AND should not fire")
	}
	if evicts(10*365*24, 0.45, 0) {
		t.Error("importance 0.45: the article's threshold should not be reachable")
	}
	if !evicts(7*24, 0, 0) {
		t.Error("one failure is enough for the raw ratio")
	}
	p := DefaultParams()
	one := Entry{RecordedAt: start, Failure: 1, CountedAt: start}
	if p.Worth(one, start) < 0.5 {
		t.Error("here one failure must not count against an entry")
	}
}

// TestOneImportantAndTwentyMundane is the article's exercise: after the decay
// period the mundane have left, the important one is served.
func TestOneImportantAndTwentyMundane(t *testing.T) {
	t.Parallel()
	p := DefaultParams()
	now := start.Add(120 * day)
	awake := 0
	for i := range 21 {
		e := Entry{Class: Note, Importance: ImportanceNote, RecordedAt: start}
		if i == 0 {
			e.Importance = ImportanceCommitment
		}
		st := p.Sweep(e, now, true)
		e.LowSince = st.LowSince
		st = p.Sweep(e, now.Add(25*time.Hour), true)
		if !st.Dormant {
			awake++
			if i != 0 {
				t.Errorf("mundane entry %d is awake: %s", i, st.Reason)
			}
		}
	}
	if awake != 1 {
		t.Errorf("%d entries awake, want the important one", awake)
	}
}

func TestASweepNeedsTwoSignalsTwice(t *testing.T) {
	t.Parallel()
	p := DefaultParams()
	old := Entry{Class: Note, Importance: ImportanceNote, RecordedAt: start}
	low := old
	low.LowSince = start.Add(199 * day)
	failing := low
	failing.Success, failing.Failure, failing.CountedAt = 0, 8, start.Add(199*day)
	sleeping := failing
	sleeping.Dormant = true
	credited := sleeping
	credited.CreditedAt = start.Add(200 * day)
	now := start.Add(200*day + time.Hour)
	for name, c := range map[string]struct {
		e    Entry
		over bool
		want Reason
	}{
		"first time low":                 {old, true, Low},
		"low, nothing reported, room":    {low, false, OneSign},
		"low, unserved, over budget":     {low, true, Sleeps},
		"low and failing":                {failing, false, Sleeps},
		"low an hour ago":                {Entry{Class: Note, Importance: ImportanceNote, RecordedAt: start, LowSince: now.Add(-time.Hour)}, true, Low},
		"served last week, over budget":  {Entry{Class: Note, Importance: ImportanceNote, RecordedAt: start, LowSince: start.Add(199 * day), ServedAt: now.Add(-7 * day)}, true, OneSign},
		"dormant stays":                  {sleeping, false, Asleep},
		"dormant and used well: wakes":   {credited, false, Wakes},
		"exempt":                         {Entry{RecordedAt: start, Exempt: true}, true, Exempted},
		"young":                          {Entry{Class: Episode, RecordedAt: now.Add(-13 * day), Failure: 90, CountedAt: now}, true, Keeps},
		"recorded in the future by skew": {Entry{RecordedAt: now.Add(day)}, true, Keeps},
	} {
		if got := p.Sweep(c.e, now, c.over); got.Reason != c.want {
			t.Errorf("%s: %s (score %.3f), want %s", name, got.Reason, got.Score, c.want)
		}
	}
}

// TestTheGapAbsorbsNoise: an entry that hovers between the lines never moves.
func TestTheGapAbsorbsNoise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := DefaultParams()
		e := Entry{
			Class: Class(rapid.IntRange(0, 2).Draw(t, "class")), Importance: rapid.Float64Range(0, 1).Draw(t, "importance"),
			RecordedAt: start, CountedAt: start, Success: rapid.Float64Range(0, 30).Draw(t, "s"), Failure: rapid.Float64Range(0, 30).Draw(t, "f"),
			Dormant: rapid.Bool().Draw(t, "dormant"), LowSince: start,
		}
		now := start.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "days")) * day)
		score := p.Score(e, now)
		if score < 0 || score > 1 || math.IsNaN(score) {
			t.Fatalf("score %v is outside 0 to 1", score)
		}
		if st := p.Sweep(e, now, true); score >= p.Demote && score < p.Promote && st.Dormant != e.Dormant {
			t.Fatalf("score %v between the lines changed the state", score)
		}
	})
}
