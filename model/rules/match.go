package rules

import "strings"

// A pattern is one way to say something, written as it is said:
//
//	i am ~ allergic to <items>
//
// A word matches itself; a|b matches either; a trailing ? makes an element
// optional; ~ stands for up to two adverbs that change nothing ("really",
// "severely"); <slot> reads a value (slots.go). A sign such as , matches
// itself. Patterns are anchored at the start of a clause.
type pattern []elem

type elem struct {
	words    []string
	optional bool
	adverbs  bool
	slot     string
	as       string // the name under which the slot's value is kept
}

func compile(s string) pattern {
	var p pattern
	for f := range strings.FieldsSeq(s) {
		if f == "~" {
			p = append(p, elem{adverbs: true})
			continue
		}
		var e elem
		if f != "?" {
			f, e.optional = strings.CutSuffix(f, "?")
		}
		if name, ok := strings.CutPrefix(f, "<"); ok {
			e.slot = strings.TrimSuffix(name, ">")
			if e.as, e.slot, ok = strings.Cut(e.slot, ":"); !ok {
				e.slot = e.as
			}
			if readers[e.slot] == nil {
				panic("rules: no slot " + e.slot)
			}
		} else {
			e.words = strings.Split(f, "|")
		}
		p = append(p, e)
	}
	return p
}

// A capture is what a slot read: its values, as they will be stored, and the
// tokens they stand in.
type capture struct {
	values   []string
	from, to int
	last     int // where the last of several values begins
}

// A match is a pattern found from token from to token to.
type match struct {
	from, to int
	slots    map[string]capture
}

// at tries the pattern at token i. done judges what follows a full match and
// may refuse it, in which case other readings are tried.
func (p pattern) at(s *sentence, i int, done func(match) bool) bool {
	slots := map[string]capture{}
	var step func(k, j int) bool
	step = func(k, j int) bool {
		if k == len(p) {
			return done(match{i, j, slots})
		}
		e := p[k]
		switch {
		case e.adverbs:
			for n := 2; n >= 0; n-- {
				if adverbRun(s, j, n) && step(k+1, j+n) {
					return true
				}
			}
			return false
		case e.slot != "":
			for _, c := range readers[e.slot](s, j) {
				slots[e.as] = c
				if step(k+1, c.to) {
					return true
				}
				delete(slots, e.as)
			}
		default:
			w := s.word(j)
			for _, alt := range e.words {
				if w == alt && step(k+1, j+1) {
					return true
				}
			}
		}
		return e.optional && step(k+1, j)
	}
	return step(0, i)
}

func adverbRun(s *sentence, i, n int) bool {
	for k := range n {
		if !adverbs[s.word(i+k)] {
			return false
		}
	}
	return true
}

// boundary reports whether a clause ends before token i.
func (s *sentence) boundary(i int) bool {
	if i >= len(s.tokens) {
		return true
	}
	switch s.word(i) {
	case "-": // a dash, not the sign inside "sub-200ms"
		return i == 0 || s.tokens[i-1].end < s.tokens[i].start || i+1 < len(s.tokens) && s.tokens[i].end < s.tokens[i+1].start
	case ",", ";", ":", ")", "(", "\u2013", "\u2014", "&":
		return true
	case "and", "but", "so", "because", "although", "though", "while", "which", "since", "yet":
		return true
	}
	return false
}

// complete reports whether nothing after token i can belong to the phrase that
// ends there.
func (s *sentence) complete(i int) bool {
	if i >= len(s.tokens) {
		return true
	}
	switch s.word(i) {
	case ";", ")", "but", "because", "so", "although", "though", "while", "since":
		return true
	case "which", "(", ":", "-", "\u2013", "\u2014": // explained by what follows
		return false
	}
	for i < len(s.tokens) && s.boundary(i) {
		i++
	}
	return subjects[s.word(i)] || verbs[s.word(i)] || s.word(i-1) != "," && s.word(i-1) != "and" && s.word(i-1) != "&"
}

// verbs go on with the subject of the clause before.
var verbs = set("avoid|hate|love|dislike|like|enjoy|want|tend|try|feel|think|find|use|do|don|have|am|would|will|can|could|need|always|never|usually|strongly|really|absolutely|avoiding|especially|rather|not|as|if|when|because|far")

// closers may follow a statement before its clause ends and add nothing.
var closers = set("now|too|right now|these days|currently|as well|btw|by the way|please|thanks|you know|lol|anyway|again|nowadays|at the moment|haha|in case it matters|if that matters|ok|okay|actually|instead" +
	"|sorry|thank|thank you|thanks a lot|unfortunately|sadly|though|fyi|man|dude|bro|mate|guys|folks|everyone|honestly|frankly|alas|yes|yeah|cheers|obviously|remember|help|dear|friend|buddy")

// after reads what follows a match: nothing, closers, or a time, up to the end
// of the clause. It returns where that end is, and the time.
func (s *sentence) after(i int, c clock) (end int, at moment, ok bool) {
	for {
		n := 0
		for k := min(5, len(s.tokens)-i); k > 0 && n == 0; k-- {
			if closers[s.words(i, i+k)] {
				n = k
			}
		}
		if n == 0 && at.from.IsZero() {
			at, n = c.moment(s, i)
		}
		if n == 0 {
			break
		}
		i += n
	}
	return i, at, s.boundary(i)
}

// prepositions end a plain noun phrase; follows are those that may come after
// a statement without changing it.
var (
	prepositions = set("with|for|at|in|on|near|by|from|who|where|that|as|of|to|when|whenever|after|before|over|around|under|through|during|if|out|until|like|than|outside|downtown|based|specializing|working|living|full|part|here|there")
	follows      = set("with|for|at|in|on|near|by|from|who|where|as|of|over|through|downtown|based|specializing|working|living|outside|here")
)

// clauseEnd is the first boundary at or after i.
func (s *sentence) clauseEnd(i int) int {
	for !s.boundary(i) {
		i++
	}
	return min(i, len(s.tokens))
}
