package recall

import "slices"

// Params are the numbers of the ranking. One set serves all kinds of data; how
// they were chosen, and what was tried and left out, is in docs/tuning.md.
type Params struct {
	Language string // of the stemmer and stop list; see NewTokenizer

	// BM25: how soon a repeated term stops counting, and how much a long entry,
	// window or session is discounted.
	K1, B               float64
	WindowK1, WindowB   float64
	SessionK1, SessionB float64

	// Before and After hold the weights, in 1/64, that the words of the neighbours
	// at distance 1, 2, ... in the same session have in an entry's window: an
	// answer carries the words of its question, less so the other way round.
	// Integers, so that a sum does not depend on its order.
	Before, After []int
	WindowWeight  float64 // of the window score beside the entry's own
	SessionWeight float64 // of the session score beside the entry's own
	PassageShare  float64 // of a long entry's own score that its best passage makes
	NearWeight    float64 // of query words that stand together in the entry too

	KeyWeight     int     // how often a word of the key counts
	SpeakerWeight int     // how often the speaker's name counts
	AboutWeight   float64 // of query words that speak of the question ("mention", "how many")
	KinWeight     float64 // of words of nearly the same meaning as one of the query

	SpeakerBoost    float64 // for what was said by someone whom the query names
	PreferenceBoost float64 // for a stated preference when the query asks for advice
	TimeBoost       float64 // for an entry inside the time that the query names
	// StandingBoost is added, as a share of the best score that words can reach,
	// to the StandingMost best instructions of the trusted lane: "always answer
	// in German" is for questions it shares no word with.
	StandingBoost float64
	StandingMost  int
	ExactBoost    float64 // likewise, for a quoted phrase, an id or a key named in the query
	// DenseWeight is that of the dense score, where there is one, beside the best
	// score for words. WordsGate is how much less the words count when the best
	// entry holds none of the query's words, DenseGate how much less the dense
	// score when it holds them all; 0 to 1.
	DenseWeight, WordsGate, DenseGate float64

	// Depth is how many candidates are looked at closely, or k where that is more;
	// four times as many when near duplicates leave too few hits.
	Depth         int
	NearDuplicate float64 // Jaccard of term sets from which hits are folded
	Lambda        float64 // relevance against novelty in Spread
	SpreadDepth   int     // how many hits Spread re-orders

	TrustedShare float64 // of k, for the trusted lane
}

// DefaultParams returns the tuned set.
func DefaultParams() Params {
	return Params{
		Language: "english",
		K1:       1.2, B: 0.6,
		WindowK1: 0.9, WindowB: 0.75,
		SessionK1: 0.9, SessionB: 0.8,
		Before:          []int{45, 38},
		After:           []int{16, 6},
		WindowWeight:    1.5,
		SessionWeight:   1,
		PassageShare:    0.4,
		NearWeight:      0.6,
		KeyWeight:       2,
		SpeakerWeight:   1,
		AboutWeight:     0.5,
		KinWeight:       0.2,
		SpeakerBoost:    0.4,
		PreferenceBoost: 0.6,
		TimeBoost:       0.3,
		StandingBoost:   0.55,
		StandingMost:    2,
		ExactBoost:      1,
		DenseWeight:     1,
		WordsGate:       0.9,
		DenseGate:       0.5,
		Depth:           24,
		NearDuplicate:   0.8,
		Lambda:          0.7,
		SpreadDepth:     50,
		TrustedShare:    0.8,
	}
}

func (p Params) valid() bool {
	if len(p.Before) > 4 || len(p.After) > 4 || p.KeyWeight < 0 || p.KeyWeight > 16 || p.SpeakerWeight < 0 || p.SpeakerWeight > 16 ||
		p.StandingMost < 0 || p.Depth < 0 || p.SpreadDepth < 0 || !(p.NearDuplicate > 0) {
		return false
	}
	for _, share := range []float64{
		p.B, p.WindowB, p.SessionB, p.PassageShare, p.WordsGate, p.DenseGate, p.TrustedShare, p.Lambda,
	} {
		if !(share >= 0 && share <= 1) {
			return false
		}
	}
	for _, weight := range []float64{
		p.K1, p.WindowK1, p.SessionK1, p.WindowWeight, p.SessionWeight, p.NearWeight, p.AboutWeight, p.KinWeight,
		p.SpeakerBoost, p.PreferenceBoost, p.TimeBoost, p.StandingBoost, p.ExactBoost, p.DenseWeight,
	} {
		if !(weight >= 0 && weight <= 1000) { // refuses NaN as well
			return false
		}
	}
	for _, w := range slices.Concat(p.Before, p.After) {
		if w < 0 || w > 64 {
			return false
		}
	}
	return true
}

// reaches pairs the two sides of the window by distance.
func (p *Params) reaches() []reach {
	out := make([]reach, max(len(p.Before), len(p.After)))
	for i, w := range p.Before {
		out[i].before = int32(w)
	}
	for i, w := range p.After {
		out[i].after = int32(w)
	}
	return out
}
