package recall

import (
	"cmp"
	"slices"
)

// Explanation takes a hit's score apart: its parts, the terms aside, sum to the
// score, and the terms' parts sum to Turn, Window and Session.
type Explanation struct {
	Parts
	// Approximate: Dense was reckoned among what a search elsewhere brought.
	Approximate bool
	Terms       []TermPart
}

// Parts are what a score is the sum of.
type Parts struct {
	Turn       float64 // the entry's own words; of a long one, also of its best passage
	Window     float64 // its words and its neighbours'
	Session    float64 // its session as one text
	Near       float64 // query words that stand together in it
	Speaker    float64 // said by someone whom the query names
	Preference float64 // states a preference, and the query asks for advice
	Time       float64 // inside the time the query names
	Standing   float64 // an instruction for every question
	Dense      float64 // nearness of its vector and its neighbours'
	Exact      float64 // quoted, or named by id or key
}

// TermPart is what one term of the query adds.
type TermPart struct {
	Term                  string
	Kin                   bool // not in the query itself, but near in meaning to a word that is
	Turn, Window, Session float64
}

func (e *Parts) sum() float64 { return e.words() + e.Standing + e.Dense + e.Exact }

func (e *Parts) words() float64 {
	return e.Turn + e.Window + e.Session + e.Near + e.Speaker + e.Preference + e.Time
}

// explain works out again what each term gave to a hit.
func (s *stage) explain(c *scored) *Explanation {
	e := Explanation{Approximate: s.ix.elsewhere && s.dense > 0}
	s.score(c, &e.Parts)
	p, d := &s.ix.params, &s.ln.docs[c.slot]
	var passages []float64
	if s.passages > 0 && passageCount(len(d.seq)) > 1 {
		passages = make([]float64, len(s.q.terms))
		s.passage(c.slot, passages)
	}
	keep := s.keep
	for i, t := range s.q.terms {
		raw := s.turnPart(c.slot, i)
		own := over(raw, s.turn)
		if s.passages > 0 {
			if passages != nil {
				raw = passages[i]
			}
			own = (1-p.PassageShare)*own + p.PassageShare*raw/s.passages
		}
		part := TermPart{
			Term: t.text, Kin: t.kin,
			Turn: keep * own, Window: keep * p.WindowWeight * own, Session: keep * p.SessionWeight * own,
		}
		if id := s.ln.hot[c.slot].session; id != noSlot {
			part.Window = 0
			if s.ws.place[i] != noPlace {
				part.Window = keep * p.WindowWeight * over(s.windowPart(c.slot, i), s.win)
			}
			if s.ln.open > 1 {
				part.Session = keep * p.SessionWeight * over(s.ln.sessionPart(id, t, p, s.ws.sessDF[i]), s.sess)
			}
		}
		if part.Turn+part.Window+part.Session > 0 {
			e.Terms = append(e.Terms, part)
		}
	}
	return &e
}

// frequency is how often an entry holds a term, weighted by field.
func (ln *lane) frequency(slot, term uint32) int32 {
	list := ln.list(term)
	i, ok := slices.BinarySearchFunc(list, slot, func(p posting, s uint32) int { return cmp.Compare(p.slot(), s) })
	if !ok {
		return 0
	}
	return list[i].tf()
}

func (s *stage) turnPart(slot uint32, i int) float64 {
	p, ln := &s.ix.params, s.ln
	tf := float64(ln.frequency(slot, s.q.terms[i].id))
	if tf == 0 || s.ws.cells[slot].turn == 0 {
		return 0
	}
	base, slope := bend(p.K1, p.B, float64(ln.length)/float64(ln.count))
	return s.ws.weight[i] * (p.K1 + 1) * tf / (tf + base + slope*float64(ln.hot[slot].length))
}

func (s *stage) windowPart(slot uint32, i int) float64 {
	p, ln, place := &s.ix.params, s.ln, s.ws.place[i]
	acc := 64 * int32(s.ws.cells[slot].freqs[place])
	near := ln.near[int(slot)*2*len(s.ix.window):]
	for k, w := range s.ix.window {
		if n := near[2*k]; n != noSlot {
			acc += w.before * int32(s.ws.cells[n].freqs[place])
		}
		if n := near[2*k+1]; n != noSlot {
			acc += w.after * int32(s.ws.cells[n].freqs[place])
		}
	}
	if acc == 0 {
		return 0
	}
	base, slope := bend(64*p.WindowK1, p.WindowB, float64(ln.winLen)/float64(ln.count))
	tf := float64(acc)
	return s.ws.weight[i] * (p.WindowK1 + 1) * tf / (tf + base + slope*float64(ln.wide[slot]))
}

func (ln *lane) sessionPart(id uint32, t queryTerm, p *Params, df int) float64 {
	var acc int32
	for _, m := range ln.sessions[id].members {
		acc += ln.frequency(m, t.id)
	}
	if acc == 0 {
		return 0
	}
	base, slope := bend(p.SessionK1, p.SessionB, float64(ln.sessLen)/float64(max(1, ln.open)))
	tf := float64(acc)
	return t.weight * idf(ln.open, df) * (p.SessionK1 + 1) * tf / (tf + base + slope*float64(ln.sessions[id].length))
}
