package recall

import "strings"

// A standing instruction ("always include a summary when I ask about plans")
// shares no word with the questions it is for. It is short and either opens
// with its cue or says when it applies.
const (
	standingWords = 40
	whenWords     = 60
)

// cueReader watches the words of a text go by and notes what kind of statement
// it is. It knows what the lexicon of the language knows; without one it sees
// nothing.
type cueReader struct {
	words        int
	before, last cue
	opened       bool // the leading words are over
	always       bool
	when         bool
	preference   bool
}

func (c *cueReader) word(w cue) {
	c.words++
	switch {
	case !c.opened && w == cueAlways:
		c.always, c.opened = true, true
	case !c.opened && w != cueLead:
		c.opened = true
	}
	switch w {
	case cueAsk:
		c.when = c.when || c.last == cueI && (c.before == cueWhen || c.before == cueAlways)
	case cuePrefer:
		c.preference = true
	case cueLove:
		c.preference = c.preference || c.last == cueI || c.last == cueVery
	case cueTrait:
		c.preference = c.preference || c.last == cueAm
	case cueFavourite:
		c.preference = c.preference || c.last == cueMy
	}
	c.before, c.last = c.last, w
}

// standing reports whether the text tells the agent how things are done.
func (c *cueReader) standing() bool {
	return c.always && c.words <= standingWords || c.when && c.words <= whenWords
}

// asksAdvice reports whether a question wants to know what to do.
func (lx *lexicon) asksAdvice(text string) bool {
	if len(lx.cues) == 0 {
		return false
	}
	text = " " + strings.ToLower(text[:min(len(text), 2048)])
	for _, w := range englishAdvice {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
