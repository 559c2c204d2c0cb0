package policy

import (
	"strings"
	"unicode/utf8"
)

// wishReach is how many bytes of a message are looked at for a wish about its
// keeping, and tokenLimit how many words of those. Of a longer message the last
// tokenLimit bytes are read too, which hold no more words than that. In the
// middle of one a wish is not heard.
const wishReach = 256 << 10

// Wish is what a message asks about its own keeping.
type Wish uint8

// The wishes.
const (
	WishKeep   Wish = iota // nothing was asked
	WishNone               // "off the record", "don't remember this"
	WishForget             // "forget my address"
)

// Retention reads what a message asks about its own keeping. For WishForget
// the phrase names what to forget ("address"), as the person wrote it.
// "Don't forget" and "I don't remember" ask for nothing.
func Retention(text string) (Wish, string) { return builtin().Retention(text) }

// Retention is the method behind the function of that name.
func (p *Policy) Retention(text string) (Wish, string) {
	w, what := p.wish(text[:boundary(text, min(wishReach, len(text)))])
	if w == WishKeep && len(text) > tokenLimit {
		w, what = p.wish(text[boundary(text, len(text)-tokenLimit):])
	}
	return w, what
}

// boundary is where the character begins in whose midst i may lie.
func boundary(text string, i int) int {
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// wish reads a text as a whole.
func (p *Policy) wish(text string) (Wish, string) {
	f := canonicalise(text)
	s := p.scratch.Get().(*scan)
	defer p.scratch.Put(s)
	p.lexicon.read(s, f.text)
	var cls []clauseRange
	for _, sen := range p.lexicon.sentences(s, nil) {
		cls = p.lexicon.clauses(s, sen, cls[:0])
		for _, m := range s.found {
			if int(m.start) < sen.start || int(m.start) >= sen.end {
				continue
			}
			code := p.lexicon.rules[m.rule].code
			if code != "#retain" && code != "#forget" {
				continue
			}
			// "I don't remember this" and "we forget my keys" are statements;
			// "don't forget my birthday" asks for the opposite.
			if p.stated(s, cls, int(m.start)) {
				continue
			}
			if code == "#retain" {
				return WishNone, ""
			}
			phrase := p.forgotten(s, sen, m)
			a, b := f.span(int(s.tokens[phrase[0]].start), int(s.tokens[phrase[1]-1].end))
			words := strings.Trim(text[a:b], " .,!?")
			for _, lead := range []string{"my ", "that i ", "mein ", "meine ", "mon ", "ma ", "mes ", "mi ", "mis ", "мой ", "мою ", "我的", "我"} {
				if len(words) > len(lead) && strings.EqualFold(words[:len(lead)], lead) {
					words = words[len(lead):]
					break
				}
			}
			return WishForget, words
		}
	}
	return WishKeep, ""
}

// forgotten is which tokens name what to forget: from the first word about
// the speaker to the end of the clause or to "from your memory", or what
// stands before the verb in languages that put it last.
func (p *Policy) forgotten(s *scan, sen sentence, m match) [2]int {
	start := s.where(int(m.start), int(m.end), p.lexicon.tag.first)
	if start < 0 {
		return [2]int{int(m.start), max(int(m.end)-1, int(m.start)+1)}
	}
	end := start + 1
	for end < sen.end && s.tokens[end].brk < comma && s.is(end, p.lexicon.tag.link) == 0 && s.text[s.tokens[end].start:s.tokens[end].end] != "from" {
		end++
	}
	return [2]int{start, end}
}

// stated reports whether the words at token i are part of a statement or
// negated, rather than a request.
func (p *Policy) stated(s *scan, cls []clauseRange, i int) bool {
	for _, c := range cls {
		if i < c.start || i >= c.end {
			continue
		}
		if c.own && i > c.start {
			return true
		}
		for k := c.start; k < i; k++ {
			if s.is(k, p.lexicon.tag.negation) > 0 || s.is(k, p.lexicon.tag.first) > 0 || s.is(k, p.lexicon.tag.third) > 0 {
				return true
			}
		}
	}
	return false
}
