// Package rules is the extractor that needs no model. From a finished stretch
// it proposes every spoken turn as an episode, what the user asks to be
// remembered as a note, and by a small grammar (grammar.go) typed facts about
// the user under the keys of Keys. It prefers to say nothing over saying
// something wrong: questions, conditions, quotations, pasted texts, other
// people's doings and anything it does not read to the end give no fact.
//
// The words of a candidate are the words of the message it cites, so that the
// gate can prove them. A statement's time is read against the time at which
// the message was said, in the subject's zone. The same stretch gives the same
// candidates; how messages are cut into stretches makes no difference, except
// that a correction ("no, it's ...") needs the turn it corrects in its stretch.
//
// It imports tenet, model and the standard library, and never a store or a gate.
package rules

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
)

// Extractor implements model.Extractor. The zero value is ready to use.
type Extractor struct {
	// Zone is the time zone of a scope's subject. Default: UTC for all.
	Zone func(tenet.Scope) *time.Location
}

// Name implements model.Extractor.
func (Extractor) Name() string { return "rules/2" }

// Extract implements model.Extractor.
func (x Extractor) Extract(ctx context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	var zone *time.Location
	if x.Zone != nil {
		zone = x.Zone(st.Session.Scope)
	}
	var out []tenet.Candidate
	var last *fact // the latest asserted fact of this user turn and the one before
	age := 0       // in user turns
	for _, m := range st.Messages {
		said, err := model.Verbatim{}.Extract(ctx, model.Stretch{Session: st.Session, Messages: []tenet.Message{m}})
		if err != nil {
			return nil, err
		}
		out = append(out, said...)
		if m.Role != tenet.RoleUser {
			continue
		}
		if age++; age > 1 {
			last = nil
		}
		if m.Channel != tenet.ChannelTyped || m.RetainNone || len(m.Text) > maxText || !utf8.ValidString(m.Text) {
			continue
		}
		r := reading{msg: m, clock: speak(m, zone), last: last}
		r.read()
		if r.last != last {
			last, age = r.last, 0
		}
		for _, f := range r.facts {
			out = append(out, f.candidate())
			if f.still() {
				f.at = moment{}
				out = append(out, f.candidate())
			}
		}
	}
	return out, nil
}

// maxText is the longest message that is read for facts. Longer ones are
// material that was brought along.
const maxText = 4 << 10

// A fact is one thing that a message states.
type fact struct {
	key    string // empty: a note
	value  string
	number bool // the value is a JSON number
	text   string
	op     op
	at     moment
	urgent bool
	msgs   []tenet.Message

	// What a correction needs: the slot that read the value, and the value as
	// it was written.
	slot, written string
}

// still reports whether a second candidate has to say that the value holds
// when it is said. "I moved to Oslo in May" states a start and, beside it, that
// it is so today: what was said in between of another city must not remain the
// current value. Where nothing was, the second only corroborates the first.
func (f fact) still() bool {
	k, _ := Lookup(f.key)
	return f.op == assert && f.key != "" && !k.Many && !f.at.from.IsZero() && len(f.msgs) == 1 && f.at.from.Before(f.msgs[0].Said())
}

// candidate is what is proposed. Tier and Route are the routing: what has a
// typed key is a fact, what has none a note.
func (f fact) candidate() tenet.Candidate {
	c := tenet.Candidate{Text: f.text}
	for _, m := range f.msgs {
		c = c.Citing(m.ID)
		c.Speaker = m.Speaker
	}
	if f.key == "" {
		c.Tier, c.Route = tenet.TierNote, "note: no typed key"
		return c
	}
	k, _ := Lookup(f.key)
	c.Tier, c.Key, c.Multi, c.Safety = tenet.TierFact, f.key, k.Many, k.Safety || f.urgent
	c.Route = "fact: typed key"
	if c.Safety {
		c.Route = "fact: safety critical"
	}
	switch {
	case f.number:
		c.Value = json.RawMessage(f.value)
	case f.value != "":
		c.Value, _ = json.Marshal(f.value)
	}
	switch f.op {
	case assert:
		c.Valid.From = tenet.Micros(f.at.from)
	case end:
		c.Op, c.Valid.To = tenet.OpEnd, tenet.Micros(f.at.from)
	case retract:
		c.Op = tenet.OpRetract
	}
	return c
}

// A reading is one message on its way through the grammar.
type reading struct {
	msg   tenet.Message
	clock clock
	facts []fact
	last  *fact
}

func (r *reading) read() {
	ss := sentences(r.msg.Text)
	if material(r.msg.Text, ss) {
		return
	}
	for i := range ss {
		s := &ss[i]
		if fictional(s) { // and so may be what follows
			break
		}
		if r.remember(s, len(ss)) || r.forget(s) || r.correct(s) {
			continue
		}
		r.clauses(s, s.opening(0), assert)
		r.presupposed(s)
		r.foreign(s)
	}
}

// add keeps a fact, once.
func (r *reading) add(f fact) {
	f.msgs = append([]tenet.Message(nil), f.msgs...)
	if len(f.msgs) == 0 {
		f.msgs = []tenet.Message{r.msg}
	}
	for _, g := range r.facts {
		if g.key == f.key && g.value == f.value && g.op == f.op && (f.key != "" || g.text == f.text) {
			return
		}
	}
	r.facts = append(r.facts, f)
	if f.op == assert && f.slot != "" {
		kept := f
		r.last = &kept
	}
}

// clauses reads the clauses of a sentence from token i on. With flip retract,
// what they assert is taken back ("forget that I'm vegan").
func (r *reading) clauses(s *sentence, i int, flip op) {
	if s.question || conditions[s.word(i)] {
		return
	}
	for i < len(s.tokens) {
		if s.quoted(i) || s.poisoned(i) {
			return
		}
		from := i
		to, ok := r.clause(s, i, flip)
		if !ok {
			to = s.clauseEnd(i)
		}
		i = s.next(max(to, from+1))
		if ok && s.word(from) == "i" && i < len(s.tokens) && !negated(s, from, to) && !subjects[s.word(i)] {
			// "I'm vegan and allergic to nuts", "I live in Oslo and work as a nurse"
			if end, ok := r.shared(s, from, i, flip); ok {
				i = s.next(max(end, i+1))
			}
		}
	}
}

// subjects begin a clause of its own.
var subjects = set("i|my|we|our|you|he|she|it|they|the|this|that|there|what|can|could|would|please|any|is|are|do|does|how|let|call|contact|reach")

// shared reads the clause at k with the subject of the one at from.
func (r *reading) shared(s *sentence, from, k int, flip op) (int, bool) {
	for _, n := range []int{2, 1} {
		if n == 2 && s.word(from+1) != "am" {
			continue
		}
		joined := *s
		joined.tokens = append(append([]token(nil), s.tokens[from:from+n]...), s.tokens[k:]...)
		if to, ok := r.clause(&joined, 0, flip); ok {
			return to - n + k, true
		}
	}
	return 0, false
}

// clause tries the grammar at token i and returns where what matched ends.
func (r *reading) clause(s *sentence, i int, flip op) (int, bool) {
	lead, n := r.clock.moment(s, i) // "In May I moved to Oslo", "Last week, I ..."
	if n > 0 {
		i += n
		if s.word(i) == "," {
			i++
		}
		i = s.opening(i)
	}
	for k := range grammar {
		rule := &grammar[k]
		if rule.inside {
			continue
		}
		for _, p := range rule.patterns {
			end, found := i, false
			p.at(s, i, func(m match) bool {
				to, at, ok := s.after(m.to, r.clock)
				switch {
				case rule.loose:
				case !ok && !(rule.open && follows[s.word(to)]):
					return false
				}
				if s.doubted(to) || seasonal(s, to) || rule.loose && wed[s.word(m.to)] || rule.whole && !s.complete(to) {
					return false
				}
				if at.from.IsZero() {
					at = lead
				}
				if rule.timed && at.from.IsZero() {
					return false
				}
				end, found = max(to, s.clauseEnd(m.to)), true
				if c, many := m.slots["allergens"]; many && !ok { // "animals with fur" are not all animals
					c.values = append(slices.Clone(c.values[:len(c.values)-1]), lower(s, c.last, end))
					m.slots["allergens"] = c
				}
				m.to = end
				r.state(s, rule, m, at, flip)
				return true
			})
			if found {
				return end, true
			}
		}
	}
	return 0, false
}

// state adds the facts of a match.
func (r *reading) state(s *sentence, rule *rule, m match, at moment, flip op) {
	f := fact{key: rule.key, text: s.said(m.from, m.to), op: rule.op, at: at, urgent: rule.urgent, slot: rule.take}
	if flip == retract {
		if rule.op != assert {
			return
		}
		f.op = retract
	}
	for name, c := range m.slots {
		kind := c.values[0]
		if same := kinds[kind]; same != "" {
			kind = same
		}
		f.key = strings.ReplaceAll(f.key, "{"+name+"}", strings.ReplaceAll(kind, " ", "_"))
	}
	switch {
	case rule.key == "":
		f.slot = ""
		if f.op == assert {
			r.add(f)
		}
		return
	case rule.take == "":
		r.add(f)
		return
	case rule.take == "comparison":
		f.value = s.said(m.slots["left"].from, m.slots["right"].to)
		f.slot, f.written = "", ""
		r.add(f)
		return
	}
	c, ok := m.slots[rule.take]
	if title, bare := m.slots["title"]; !ok && bare { // "I'm a nurse" without the article
		if c = title; c.to-c.from > 2 {
			return
		}
	}
	f.number = rule.take == "age"
	f.written = s.said(c.from, c.to)
	if len(c.values) > 1 {
		f.slot = "" // "no, it's ..." would not say which
	}
	for _, v := range c.values {
		f.value = v
		r.add(f)
	}
}

// spoken reports whether the message says something about the same value
// already ("my cat Luna died").
func (r *reading) spoken(rule *rule, m match) bool {
	c := m.slots[rule.take]
	head, _, _ := strings.Cut(rule.key, ".")
	for _, f := range r.facts {
		if h, _, _ := strings.Cut(f.key, "."); h == head && len(c.values) == 1 && f.value == c.values[0] {
			return true
		}
	}
	return false
}

// presupposed reads what a sentence takes for granted, wherever it stands and
// be it a question: "my cat Luna", "my peanut allergy".
func (r *reading) presupposed(s *sentence) {
	for i := range s.tokens {
		if w := s.word(i); w != "my" && w != "i" || s.quoted(i) {
			continue
		}
		if s.word(i) == "i" && (s.question || s.poisoned(i) || i > 0 && !s.boundary(i-1) && s.opening(0) != i && s.word(i-1) != "that") {
			continue
		}
		for k := range grammar {
			rule := &grammar[k]
			if !rule.inside {
				continue
			}
			for _, p := range rule.patterns {
				p.at(s, i, func(m match) bool {
					if c, ok := m.slots["person"]; ok && (s.lower || c.to-c.from > 2 || !s.tokens[c.from].upper) {
						return false
					}
					if !r.spoken(rule, m) {
						r.state(s, rule, m, moment{}, assert)
					}
					return true
				})
			}
		}
	}
}
