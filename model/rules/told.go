package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the user tells the memory itself: remember this, forget that, no, it is
// this.

// rememberings ask to remember what follows them.
var rememberings = compiledAll(
	"please? ~ remember that|: <statement>",
	"please? remember this : <statement>",
	"can|could|would|will you please? remember that <statement>",
	"i want|need you to remember that <statement>",
	"i would like you to remember that <statement>",
	"please? do not forget that|: <statement>",
	"please? never forget that <statement>",
	"please note that|: <statement>",
	"please? take note that <statement>",
	"please? make a note that|: <statement>",
	"please? keep in mind that|: <statement>",
	"please? bear in mind that <statement>",
	"note that <statement>",
)

// mentions may lead a fact of the grammar, but ask for no note: what follows
// them is as often advice as news.
var mentions = compiledAll(
	"please? ~ remember ,? <statement>",
	"please? do not forget ,? <statement>",
	"please? keep in mind , <statement>",
	"please note , <statement>",
)

var safetyWords = set("allergic|allergy|allergies|anaphylaxis|anaphylactic|epipen|medication|medications|pacemaker|diabetic|diabetes|epileptic|epilepsy|seizure|seizures|insulin|intolerance|intolerant|overdose|asthma|asthmatic")

var firstPerson = set("i|me|my|mine|we|our|us|myself")

// remember reads an explicit request to remember. It reports whether the
// sentence is one.
func (r *reading) remember(s *sentence, sentences int) bool {
	i := s.opening(0)
	if s.word(i) == "note" || s.word(i) == "please" && i > 0 {
		i-- // openers swallow these words
	}
	for _, start := range []int{0, i} {
		for n, p := range append(rememberings[:len(rememberings):len(rememberings)], mentions...) {
			var m match
			if !p.at(s, start, func(found match) bool { m = found; return true }) {
				continue
			}
			c := m.slots["statement"]
			if s.quoted(c.from) || s.question && s.word(start) != "can" && s.word(start) != "could" && s.word(start) != "would" && s.word(start) != "will" {
				return false
			}
			inner := *s
			inner.question = false
			before := len(r.facts)
			r.clauses(&inner, inner.opening(c.from), assert)
			r.presupposed(&inner)
			if len(r.facts) == before && n < len(rememberings) {
				r.keep(s, c.from, sentences)
			}
			return true
		}
	}
	return false
}

// keep proposes a statement that has no typed key, word for word: a note, or a
// fact of the safety key when a life may hang on it.
func (r *reading) keep(s *sentence, i, sentences int) {
	switch s.word(i) {
	case "to", "when", "how", "what", "where", "who", "the", "me", "it", "this", "that", "if", "about", "why", "us", "which", "them":
		if s.word(i) != "the" && s.word(i) != "it" {
			return
		}
	}
	mine, safety := false, false
	for _, t := range s.tokens[i:] {
		if t.word == "you" || t.word == "your" {
			return // advice: "remember that you are worth it"
		}
		mine = mine || firstPerson[t.word]
		safety = safety || safetyWords[t.word]
	}
	verb := len(s.tokens)-i >= 3
	if !verb || !mine && (sentences > 1 || len(r.msg.Text) > 400) {
		return
	}
	f := fact{text: strings.TrimSpace(s.said(i, len(s.tokens)))}
	if safety && mine {
		f.key, f.value = "safety_note", f.text
	}
	r.add(f)
}

var forgettings = compiledAll(
	"please? forget|delete|remove|erase my <np>",
	"can|could|would|will you please? forget|delete|remove|erase my <np>",
	"i want|need you to forget|delete|remove|erase my <np>",
)

var takebacks = compiledAll(
	"please? forget that <statement>",
	"please? forget <statement>",
)

// forget reads a request to forget a key, or something that was said.
func (r *reading) forget(s *sentence) bool {
	i := s.opening(0)
	for _, p := range forgettings {
		var key string
		var m match
		if p.at(s, i, func(found match) bool {
			c := found.slots["np"]
			key = forgettable[s.words(c.from, c.to)]
			to, _, ok := s.after(found.to, r.clock)
			m = found
			return key != "" && ok && to == len(s.tokens)
		}) {
			r.add(fact{key: key, op: retract, text: s.said(m.from, m.to)})
			return true
		}
	}
	if s.question {
		return false
	}
	for _, p := range takebacks {
		var m match
		if p.at(s, i, func(found match) bool { m = found; return true }) {
			before := len(r.facts)
			if key := forgettable[s.words(m.slots["statement"].from, len(s.tokens))]; key != "" {
				r.add(fact{key: key, op: retract, text: s.said(m.from, m.to)})
				return true
			}
			r.clauses(s, m.slots["statement"].from, retract)
			return len(r.facts) > before
		}
	}
	return false
}

var corrections = compiledAll(
	"no|sorry|correction|oops|wait|actually|nope ,? :? it is|'s ~",
	"no|sorry|correction|oops|wait|nope ,? :? that|it should be|read",
	"no|sorry|oops|wait|actually ,? i meant|mean",
	"no|oh|oops|sorry ,? wait|sorry|no ,? :? it is|'s ~",
	"wait|sorry|oops ,? no ,? :? it is|'s ~",
	"no|oh|oops|sorry ,? wait|sorry|no ,? i meant|mean",
	"no|oh|oops|sorry ,? wait|sorry|no ,? make that",
	"sorry|oops|wait ,? make that",
	"i meant|mean",
	"correction :",
	"make that",
)

// correct reads "no, it's ...": the value of the last statement, of this turn
// or the user's turn before, said anew. The new value takes the old one's
// place from the same time on; of a key with several values the old one is
// taken back.
func (r *reading) correct(s *sentence) bool {
	if r.last == nil || s.question || len(s.tokens) > 16 {
		return false
	}
	old := *r.last
	read := readers[old.slot]
	if read == nil {
		return false
	}
	for _, p := range corrections {
		done := p.at(s, 0, func(m match) bool {
			i := m.to
			if s.word(i) == "," || s.word(i) == ":" {
				i++
			}
			for _, c := range read(s, i) {
				if c.to != len(s.tokens) || len(c.values) != 1 || c.values[0] == old.value {
					continue
				}
				f := old
				f.value, f.written = c.values[0], s.said(c.from, c.to)
				text, ok := replaceWords(old.text, old.written, f.written)
				if !ok {
					return false
				}
				f.text = text
				if old.msgs[0].ID != r.msg.ID {
					f.msgs = append(f.msgs[:len(f.msgs):len(f.msgs)], r.msg)
				}
				if f.at.from.IsZero() {
					f.at.from = old.msgs[0].Said()
				}
				if k, _ := Lookup(old.key); k.Many {
					undo := f
					undo.op, undo.value, undo.at = retract, old.value, moment{}
					undo.text = s.said(0, len(s.tokens))
					r.add(undo)
				}
				r.add(f)
				return true
			}
			return false
		})
		if done {
			return true
		}
	}
	return false
}

// replaceWords puts words in the place of others, once, and only where they
// stand as whole words.
func replaceWords(text, old, with string) (string, bool) {
	for from := 0; old != ""; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(old):])
		letter := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
		if !letter(before) && !letter(after) {
			return text[:i] + with + text[i+len(old):], true
		}
		from = i + len(old)
	}
	return "", false
}

func compiledAll(says ...string) []pattern {
	var out []pattern
	for _, s := range says {
		out = append(out, compile(s))
	}
	return out
}
