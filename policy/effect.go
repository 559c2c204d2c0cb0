package policy

import (
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// sentence is tokens [start, end) between full stops, with what the clauses
// in it inherit.
type sentence struct {
	start, end int
	question   bool
	inquiry    bool // asks to explain, or asks how and what: talk about an act, not the act
	persists   bool
	addressed  bool // names an agent or tells "you" what must be done
}

// clauseRange is tokens [start, end) of one clause and how it reads.
type clauseRange struct {
	start, end int
	directive  bool
	own        bool // its subject is the speaker
	told       bool // its subject is a third party
	head       int  // the verb it begins with, when directive
}

// sentences splits the scan.
func (l *lexicon) sentences(s *scan, out []sentence) []sentence {
	for i := 0; i < len(s.tokens); {
		j := i + 1
		for j < len(s.tokens) && s.tokens[j].brk < stopped {
			j++
		}
		sen := sentence{start: i, end: j}
		last := int(s.tokens[j-1].end)
		for last < len(s.text) && (s.text[last] == ' ' || s.text[last] == '"' || s.text[last] == ')' || s.text[last] == '\'') {
			last++
		}
		sen.question = last < len(s.text) && s.text[last] == '?'
		sen.inquiry = l.inquiry(s, sen)
		out = append(out, sen)
		i = j
	}
	for _, m := range s.found {
		if l.rules[m.rule].code == "#persist" {
			for k := range out {
				if int(m.start) >= out[k].start && int(m.start) < out[k].end {
					out[k].persists = true
				}
			}
		}
	}
	for k := range out {
		out[k].addressed = l.addressed(s, out[k].start, out[k].end)
	}
	return out
}

// inquiry reports whether a sentence asks about something. "Can you" plus an
// act is a request for the act; only "can you explain" asks.
func (l *lexicon) inquiry(s *scan, sen sentence) bool {
	i := sen.start
	for i < sen.end && s.is(i, l.tag.opener) > 0 {
		i += s.is(i, l.tag.opener)
	}
	if i >= sen.end {
		return false
	}
	if s.is(i, l.tag.talk) > 0 {
		return true
	}
	if s.is(i, l.tag.question) == 0 {
		return false
	}
	if i+2 < sen.end && s.is(i+1, l.tag.you) > 0 {
		return s.is(i+2, l.tag.talk) > 0 || s.is(i+2, l.tag.opener) > 0 && i+3 < sen.end && s.is(i+3, l.tag.talk) > 0
	}
	return sen.question
}

// addressed reports whether a stretch speaks of what an agent or "you" must
// do, or of an agent's responses, rules or memory.
func (l *lexicon) addressed(s *scan, i, j int) bool {
	for ; i < j; i++ {
		n := s.is(i, l.tag.agent)
		if n > 0 {
			return true
		}
		if n = s.is(i, l.tag.you); n > 0 && i+n < j && (s.is(i+n, l.tag.modal) > 0 || s.is(i+n, l.tag.agentpart) > 0) {
			return true
		}
	}
	return false
}

// clauses splits a sentence at clause breaks, commas and "and", "but",
// "then", and reads each.
func (l *lexicon) clauses(s *scan, sen sentence, out []clauseRange) []clauseRange {
	start := sen.start
	inherited := clauseRange{}
	flush := func(end int) {
		if end <= start {
			return
		}
		c := l.readClause(s, sen, start, end, inherited)
		if c.own || c.told {
			inherited = c
		}
		// A condition ("when I ask, ...") lends its subject to nobody.
		if s.is(start, l.tag.condition) > 0 {
			inherited = clauseRange{}
		}
		out = append(out, c)
		start = end
	}
	for i := sen.start + 1; i < sen.end; i++ {
		switch brk := s.tokens[i].brk; {
		case brk >= clause:
			flush(i)
			inherited = clauseRange{}
		case brk == comma, s.is(i, l.tag.link) > 0:
			flush(i)
		}
	}
	flush(sen.end)
	return out
}

// readClause decides whether a clause tells somebody to do something.
func (l *lexicon) readClause(s *scan, sen sentence, start, end int, inherited clauseRange) clauseRange {
	c := clauseRange{start: start, end: end, head: -1}
	i := start
	linked := s.is(i, l.tag.link) > 0 || s.tokens[i].brk == comma && i > sen.start
	if n := s.is(i, l.tag.link); n > 0 {
		i += n
	}
	for i < end {
		if n := l.marker(s, i); n > 0 {
			i += n
			continue
		}
		// "my reply" is about the speaker; "always reply" is an order.
		if n := s.is(i, l.tag.opener); n > 0 {
			i += n
			continue
		}
		break
	}
	if i >= end {
		c.own, c.told = linked && inherited.own, linked && inherited.told
		return c
	}
	switch {
	case s.is(i, l.tag.first) > 0:
		c.own = true
		return c
	case s.is(i, l.tag.verb) > 0 && !(linked && (inherited.own || inherited.told)):
		c.directive = !sen.question && !l.nounish(s, i, end)
		c.head = i
	case s.is(i, l.tag.third) > 0:
		c.told = true
	case linked:
		c.own, c.told = inherited.own, inherited.told
	}
	if !c.directive && !c.own && !sen.question && l.addressed(s, i, end) {
		if v := s.where(i, end, l.tag.verb); v >= 0 {
			c.directive, c.head = true, v
		}
	}
	return c
}

// nounish reports whether the verb at i is used as a noun: "order history is",
// "the" never follows a noun, an auxiliary verb often does.
func (l *lexicon) nounish(s *scan, i, end int) bool {
	return i+1 < end && s.is(i+1, l.tag.aux) > 0 && s.is(i+1, l.tag.verb) == 0
}

// marker is the length of a persistence marker that starts at token i.
func (l *lexicon) marker(s *scan, i int) int {
	for _, m := range s.found {
		if int(m.start) == i && l.rules[m.rule].code == "#persist" {
			return int(m.end - m.start)
		}
		if int(m.start) > i {
			break
		}
	}
	return 0
}

// effectFinding is a feature on tokens of the scan.
type effectFinding struct {
	code              tenet.Code
	effect            gate.Effect
	start, end        int // bytes of the detection text
	persists, negated bool
	errand            bool // a sink that is a mail address, as in "send invites to me@example.org"
	markup            bool // what a renderer would fetch or run: an image, a link, HTML
	page              bool // the markup is tags that fetch nothing by being looked at
}

// effects classifies a text: every feature found, strongest effects included.
func (l *lexicon) effects(s *scan, out []effectFinding) []effectFinding {
	sens := l.sentences(s, nil)
	var cls []clauseRange
	for _, sen := range sens {
		cls = l.clauses(s, sen, cls[:0])
		out = l.ruled(s, sen, cls, out)
		for _, c := range cls {
			if !c.directive {
				continue
			}
			out = l.directive(s, sen, c, out)
		}
	}
	return out
}

// ruled turns the pattern matches of a sentence into findings.
func (l *lexicon) ruled(s *scan, sen sentence, cls []clauseRange, out []effectFinding) []effectFinding {
	for _, m := range s.found {
		if int(m.start) < sen.start {
			continue
		}
		if int(m.start) >= sen.end {
			break
		}
		r := &l.rules[m.rule]
		c := clauseAt(cls, int(m.start))
		f := effectFinding{code: r.code, effect: r.effect, start: int(s.tokens[m.start].start), end: int(s.tokens[m.end-1].end)}
		switch {
		case r.code == "#suppression":
			// "Never buy anything without asking me" protects; it is held, not
			// refused. Alone, in a story about somebody, the words mean nothing.
			if c.own || !(anyDirective(cls) || sen.addressed || sen.persists || c.head >= 0) {
				continue
			}
			f.code, f.effect = CodeSuppression, gate.E3
			f.negated = l.negatedOutside(s, sen, m)
		case r.when.marker:
			continue
		case r.when.nofirst && c.own, r.when.notOwn && s.any(int(m.start), int(m.end), l.tag.first):
			continue
		case r.when.noask && sen.inquiry:
			continue
		case r.when.directed && !(c.directive || sen.addressed || sen.persists):
			continue
		case r.code == CodeLinkSink:
			if c.own {
				continue
			}
			f.negated = l.negatedOutside(s, sen, m)
			f.errand, f.persists = mailOnly(s, m), sen.persists
			if s.any(int(m.start), int(m.end), l.tag.first) {
				f.effect = gate.E2 // "send my receipts to ...": a person's own errand, to be confirmed
			}
		case r.effect == gate.E2:
			f.persists = sen.persists
			f.negated = l.negatedOutside(s, sen, m)
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// directive classes what a directive clause asks for.
func (l *lexicon) directive(s *scan, sen sentence, c clauseRange, out []effectFinding) []effectFinding {
	f := effectFinding{code: CodeStyle, effect: gate.E1, start: int(s.tokens[c.start].start), end: int(s.tokens[c.end-1].end)}
	switch {
	case sen.inquiry || s.is(c.head, l.tag.talk) > 0:
	case l.consequential(s, c.head, l.objectEnd(s, c)):
		f.code, f.effect = CodeActionDirective, gate.E2
		f.persists, f.negated = sen.persists, s.any(sen.start, sen.end, l.tag.negation)
		if f.persists {
			f.code = CodeStandingAction
		}
	case sen.persists && l.addressed(s, c.start, c.end) && s.is(c.head, l.tag.style) == 0:
		f.code, f.effect = CodeStandingAction, gate.E2
	}
	return append(out, f)
}

// consequential reports whether tokens [i, j) touch money, access, execution
// or deletion. "Execute" and "delete" do so only with such an object: a
// procedure or a line of a draft is no harm.
func (l *lexicon) consequential(s *scan, i, j int) bool {
	if s.any(i, j, l.tag.consequence) {
		return true
	}
	v := s.where(i, j, l.tag.weakverb)
	return v >= 0 && s.any(v+1, j, l.tag.weakobject)
}

// objectEnd is where what the clause acts on ends: "when I ask about
// expenses" says when, not what.
func (l *lexicon) objectEnd(s *scan, c clauseRange) int {
	if i := s.where(c.head+1, c.end, l.tag.late); i >= 0 {
		return i
	}
	return c.end
}

func (l *lexicon) negatedOutside(s *scan, sen sentence, m match) bool {
	return s.any(sen.start, int(m.start), l.tag.negation) || s.any(int(m.end), sen.end, l.tag.negation)
}

// mailOnly reports whether the addresses of a match are mail addresses.
func mailOnly(s *scan, m match) bool {
	found := false
	for _, t := range s.tokens[m.start:m.end] {
		if t.kind == url || t.kind == domain {
			return false
		}
		found = found || t.kind == mail
	}
	return found
}

func clauseAt(cls []clauseRange, i int) clauseRange {
	for _, c := range cls {
		if i >= c.start && i < c.end {
			return c
		}
	}
	return clauseRange{head: -1}
}

func anyDirective(cls []clauseRange) bool {
	return slices.ContainsFunc(cls, func(c clauseRange) bool { return c.directive })
}
