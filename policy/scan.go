package policy

import "math/bits"

// scan is one text with its tokens and what the dictionary says about each.
// Scans are reused; nothing in one outlives a check.
type scan struct {
	text   string
	tokens []token
	hits   []hit
	found  []match
	ids    [][]int32 // scratch: spellings of each token
	flat   []int32
}

// hit is a class whose phrase of n tokens starts at a token.
type hit struct {
	class int32
	n     int32
}

// match is a rule found on tokens [start, end).
type match struct {
	rule       int32
	start, end int32
}

// tokenLimit bounds the work on one text; what is beyond is judged by label
// and size alone. A fact has at most a few hundred words.
const tokenLimit = 6000

// read tokenises the text, looks every token up and finds every rule.
func (l *lexicon) read(s *scan, text string) {
	s.text = text
	s.tokens = tokenise(text, s.tokens[:0])
	if len(s.tokens) > tokenLimit {
		s.tokens = s.tokens[:tokenLimit]
	}
	s.hits, s.found, s.flat = s.hits[:0], s.found[:0], s.flat[:0]
	s.ids = s.ids[:0]
	var buf [256]byte
	for i := range s.tokens {
		t := &s.tokens[i]
		w := text[t.start:t.end]
		from := len(s.flat)
		switch t.kind {
		case word, wideWord, number, symbol, path:
			s.flat = l.words.find(w, s.flat)
			if len(s.flat) == from && t.kind == word && len(w) < len(buf) {
				if v := unleet(w, buf[:0]); v != nil {
					s.flat = l.words.find(string(v), s.flat)
				}
			}
		}
		s.ids = append(s.ids, s.flat[from:len(s.flat):len(s.flat)])
	}
	for i := range s.tokens {
		t := &s.tokens[i]
		t.hit = int32(len(s.hits))
		if c := l.kinds[t.kind]; c != 0 {
			s.hits = append(s.hits, hit{c, 1})
		}
		if len(s.ids[i]) > 0 {
			l.phrase(s, i, i, 0)
		}
		t.hits = int32(len(s.hits)) - t.hit
	}
	for i := range s.tokens {
		t := &s.tokens[i]
		for k := t.hit; k < t.hit+t.hits; k++ {
			h := s.hits[k]
			for _, r := range l.first[h.class] {
				if end := l.match(s, &l.rules[r], i, int(h.n)); end > 0 {
					s.found = append(s.found, match{r, int32(i), int32(end)})
				}
			}
		}
	}
}

// phrase follows the phrases that start at token i and have reached token j.
// A phrase does not run over a full stop.
func (l *lexicon) phrase(s *scan, i, j int, node int32) {
	if j > i && s.tokens[j].brk >= stopped {
		return
	}
	for _, id := range s.ids[j] {
		n, ok := l.phrases.next[[2]int32{node, id}]
		if !ok {
			continue
		}
		for _, c := range l.phrases.ends[n] {
			if !s.has(i, c, int32(j-i+1)) {
				s.hits = append(s.hits, hit{c, int32(j - i + 1)})
			}
		}
		if l.phrases.more[n] && j+1 < len(s.tokens) && j-i < 16 {
			l.phrase(s, i, j+1, n)
		}
	}
}

// has reports whether the hits collected for the token so far hold the class
// with that length.
func (s *scan) has(i int, class, n int32) bool {
	for _, h := range s.hits[s.tokens[i].hit:] {
		if h.class == class && h.n == n {
			return true
		}
	}
	return false
}

// match tries a rule whose first element is n tokens at i, and returns where
// the longest match ends, or 0. The reached positions are a bit set relative
// to i, so the work is bounded whatever the text.
func (l *lexicon) match(s *scan, r *rule, i, n int) int {
	limit := len(s.tokens)
	reach := uint64(1) << n
	if n > 60 {
		return 0
	}
	for _, e := range r.elems[1:] {
		var next uint64
		if e.optional {
			next = reach
		}
		var tried uint64
		for set := reach; set != 0; set &= set - 1 {
			p := bits.TrailingZeros64(set)
			for q := p; q <= p+e.gap && q < 60; q++ {
				j := i + q
				if j >= limit || s.tokens[j].brk >= stopped {
					break
				}
				if tried&(1<<q) != 0 {
					continue
				}
				tried |= 1 << q
				t := &s.tokens[j]
				for _, h := range s.hits[t.hit : t.hit+t.hits] {
					if h.class == e.class && q+int(h.n) < 62 {
						next |= 1 << (q + int(h.n))
					}
				}
			}
		}
		if reach = next; reach == 0 {
			return 0
		}
	}
	return i + 63 - bits.LeadingZeros64(reach)
}

// is reports whether a class starts at token i, and how many tokens it takes.
func (s *scan) is(i int, class int32) int {
	t := &s.tokens[i]
	best := 0
	for _, h := range s.hits[t.hit : t.hit+t.hits] {
		if h.class == class && int(h.n) > best {
			best = int(h.n)
		}
	}
	return best
}

// any reports whether a class starts anywhere in tokens [i, j).
func (s *scan) any(i, j int, class int32) bool { return s.where(i, j, class) >= 0 }

func (s *scan) where(i, j int, class int32) int {
	for ; i < j; i++ {
		if s.is(i, class) > 0 {
			return i
		}
	}
	return -1
}

// unleet reads digits and signs inside a word as the letters they imitate, or
// returns nil when there are none or no letters.
func unleet(w string, out []byte) []byte {
	sign, letter := false, false
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch c {
		case '0':
			c = 'o'
		case '1':
			c = 'i'
		case '3':
			c = 'e'
		case '4', '@':
			c = 'a'
		case '5', '$':
			c = 's'
		case '7':
			c = 't'
		default:
			letter = letter || c >= 'a' && c <= 'z'
			out = append(out, c)
			continue
		}
		sign = true
		out = append(out, c)
	}
	if !sign || !letter {
		return nil
	}
	return out
}
