package recall

// Params are the numbers of the ranking. One set serves all kinds of data; how
// they were chosen, and what was tried and left out, is in TUNING.md.
type Params struct {
	Language string // of the stemmer and stop list; see NewTokenizer

	K1 float64 // BM25: how soon a repeated term stops counting
	B  float64 // BM25: how much a long entry is discounted

	// Window holds the weights, in 1/64, of the words of the neighbours at
	// distance 1, 2, ... in the same session. Integers, so that a sum does not
	// depend on its order.
	Window        []int
	WindowWeight  float64 // of the window score beside the entry's own
	SessionWeight float64 // of the session score beside the entry's own

	KeyWeight     int // how often a word of the key counts
	SpeakerWeight int // how often the speaker's name counts

	ExactBoost float64 // for a quoted phrase, an id or a key named in the query
	TimeBoost  float64 // for an entry inside the time that the query names
	DenseAlpha float64 // share of the dense score where there is one, 0 to 1

	NearDuplicate float64 // Jaccard of term sets from which hits are folded
	Lambda        float64 // relevance against novelty in Spread
	SpreadDepth   int     // how many hits Spread re-orders

	TrustedShare float64 // of k, for the trusted lane
}

// DefaultParams returns the tuned set.
func DefaultParams() Params {
	return Params{
		Language:      "english",
		K1:            0.9,
		B:             0.4,
		Window:        []int{32, 32},
		WindowWeight:  0.5,
		SessionWeight: 0.5,
		KeyWeight:     2,
		SpeakerWeight: 1,
		ExactBoost:    1,
		TimeBoost:     0.3,
		DenseAlpha:    0.4,
		NearDuplicate: 0.8,
		Lambda:        0.7,
		SpreadDepth:   50,
		TrustedShare:  0.8,
	}
}

func (p Params) valid() bool {
	if len(p.Window) > 4 || p.K1 < 0 || p.B < 0 || p.B > 1 ||
		p.KeyWeight < 0 || p.SpeakerWeight < 0 || p.KeyWeight > 16 || p.SpeakerWeight > 16 ||
		p.DenseAlpha < 0 || p.DenseAlpha > 1 || p.TrustedShare < 0 || p.TrustedShare > 1 ||
		p.Lambda < 0 || p.Lambda > 1 || p.SpreadDepth < 0 || p.NearDuplicate <= 0 {
		return false
	}
	for _, w := range p.Window {
		if w < 0 || w > 64 {
			return false
		}
	}
	return true
}
