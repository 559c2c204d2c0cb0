package recall

import (
	"cmp"
	"slices"
)

// stage is the ranking of one lane for one query.
type stage struct {
	ix    *Index
	ln    *lane
	q     *query
	ws    *workspace
	scale float64 // the best score that words alone can reach
	best  maxima
	dense float64 // share of the dense score, 0 without vectors
	picks []uint32
	// longest is the best passage score, 0 where no entry is long.
	longest float64
}

func (p *Params) scale() float64 { return 1 + p.WindowWeight + p.SessionWeight }

// measure finds the maxima that scores are divided by.
func (s *stage) measure() {
	for _, slot := range s.ws.found {
		c := &s.ws.cells[slot]
		s.best.turn = max(s.best.turn, c.turn)
		s.best.win = max(s.best.win, c.win)
	}
	for _, id := range s.ws.sessHit {
		s.best.sess = max(s.best.sess, s.ws.sessions[id].score)
	}
}

func over(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x / y
}

// lexical fills the parts that the first stage knows. An entry that stands
// alone is its own window and its own session, so that notes and turns can be
// compared.
func (s *stage) lexical(slot uint32, e *Explanation) {
	p, c, d := &s.ix.params, &s.ws.cells[slot], &s.ln.docs[slot]
	e.Turn = over(c.turn, s.best.turn)
	e.Window = p.WindowWeight * e.Turn
	e.Session = p.SessionWeight * e.Turn
	if d.session != noSlot {
		e.Window = p.WindowWeight * over(c.win, s.best.win)
		if s.ln.open > 1 {
			e.Session = p.SessionWeight * over(s.ws.sessions[d.session].score, s.best.sess)
		}
	}
}

// boost fills the parts that multiply what the words scored.
func (s *stage) boost(slot uint32, e *Explanation) {
	p, d := &s.ix.params, &s.ln.docs[slot]
	words := e.Turn + e.Window + e.Session + e.Near
	if d.speaker != noSlot && int(d.speaker) < len(s.q.speakers) && s.q.speakers[d.speaker] {
		e.Speaker = p.SpeakerBoost * words
	}
	if d.prefers && s.q.advice {
		e.Preference = p.PreferenceBoost * words
	}
	if s.q.time != nil {
		e.Time = p.TimeBoost * s.q.time.inTime(d) * words
	}
}

// finish adds what does not depend on words: the dense score takes its share
// of the lexical one, the rest comes on top.
func (s *stage) finish(slot uint32, e *Explanation) {
	p := &s.ix.params
	if s.dense > 0 {
		keep := 1 - s.dense
		for _, part := range []*float64{
			&e.Turn, &e.Window, &e.Session, &e.Near, &e.Speaker, &e.Preference, &e.Time,
		} {
			*part *= keep
		}
		e.Dense = s.dense * s.scale * s.ws.near[slot]
	}
	if s.ws.cells[slot].exact {
		e.Exact = p.ExactBoost * s.scale
	}
	if slices.Contains(s.picks, slot) {
		e.Standing = p.StandingBoost * s.scale
	}
}

// pickStanding chooses the standing instructions that get a place whatever the
// question: those that share the most with it, then the newest.
func (s *stage) pickStanding() {
	p := &s.ix.params
	if p.StandingBoost == 0 || p.StandingMost == 0 {
		return
	}
	picks := s.ws.top[:0]
	for _, slot := range s.ln.standing {
		c := s.ws.find(slot)
		picks = append(picks, scored{slot: slot, score: c.turn})
	}
	slices.SortFunc(picks, func(a, b scored) int {
		x, y := &s.ln.docs[a.slot], &s.ln.docs[b.slot]
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(y.recorded, x.recorded),
			cmp.Compare(y.position, x.position), cmp.Compare(y.id, x.id))
	})
	for _, c := range picks[:min(len(picks), p.StandingMost)] {
		s.picks = append(s.picks, c.slot)
	}
	s.ws.top = picks[:0]
}

// better orders candidates: the higher score, then the earlier, then the id.
func (s *stage) better(a, b *scored) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return s.ln.docs[a.slot].before(&s.ln.docs[b.slot])
}

// first keeps the best n candidates in a heap whose root is the worst of them.
func (s *stage) first(n int) {
	top := s.ws.top[:0]
	for _, slot := range s.ws.found {
		d := &s.ln.docs[slot]
		if s.q.within != nil && !s.q.within.overlaps(d) {
			continue
		}
		var e Explanation
		s.lexical(slot, &e)
		s.boost(slot, &e)
		s.finish(slot, &e)
		c := scored{slot: slot, score: e.sum()}
		if c.score == 0 {
			continue
		}
		switch {
		case len(top) < n:
			top = append(top, c)
			s.up(top)
		case s.better(&c, &top[0]):
			top[0] = c
			s.down(top)
		}
	}
	s.ws.top = top
}

func (s *stage) up(top []scored) {
	for i := len(top) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.better(&top[parent], &top[i]) {
			return
		}
		top[parent], top[i] = top[i], top[parent]
		i = parent
	}
}

func (s *stage) down(top []scored) {
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(top); c++ {
			if s.better(&top[worst], &top[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		top[worst], top[i] = top[i], top[worst]
		i = worst
	}
}

// second looks into the candidates: which words stand together, and what is
// the best passage of a long entry. Then it sorts them.
func (s *stage) second() {
	ws, p := s.ws, &s.ix.params
	for i, t := range s.q.terms {
		ws.mark[t.id] = uint8(i + 1)
	}
	if s.ln.long > 0 && p.PassageShare > 0 {
		for i := range ws.top {
			c := &ws.top[i]
			c.passage = s.passage(c.slot, nil)
			s.longest = max(s.longest, c.passage)
		}
	}
	for i := range ws.top {
		c := &ws.top[i]
		e := &c.parts
		s.lexical(c.slot, e)
		if s.longest > 0 {
			e.Turn = float64((1-p.PassageShare)*e.Turn) + float64(p.PassageShare*(c.passage/s.longest))
		}
		e.Near = p.NearWeight * over(s.together(c.slot), s.best.turn)
		s.boost(c.slot, e)
		s.finish(c.slot, e)
		c.score = e.sum()
	}
	slices.SortFunc(ws.top, func(a, b scored) int {
		switch {
		case a.slot == b.slot:
			return 0
		case s.better(&a, &b):
			return -1
		}
		return 1
	})
}

func (s *stage) passage(slot uint32, parts []float64) float64 {
	d := &s.ln.docs[slot]
	if passageCount(len(d.seq)) == 1 {
		return s.ws.cells[slot].turn
	}
	return s.ln.passageScore(d, s.q, &s.ix.params, s.ws, parts)
}

// nearBy is how far apart two words may stand and still be together.
const nearBy = 3

// together sums, over the pairs of neighbouring query words that stand close
// in the entry, the rarer one's weight over their distance.
func (s *stage) together(slot uint32) float64 {
	pairs := s.q.pairs
	if len(pairs) == 0 {
		return 0
	}
	ws := s.ws
	ws.last = slices.Grow(ws.last[:0], len(s.q.terms))[:len(s.q.terms)]
	for i := range ws.last {
		ws.last[i] = -2 * nearBy
	}
	ws.gaps = slices.Grow(ws.gaps[:0], len(pairs))[:len(pairs)]
	clear(ws.gaps)
	for i, t := range s.ln.docs[slot].seq {
		k := ws.mark[t]
		if k == 0 {
			continue
		}
		ws.last[k-1] = int32(i)
		for j, p := range pairs {
			other := p.a
			switch k - 1 {
			case p.a:
				other = p.b
			case p.b:
			default:
				continue
			}
			gap := int32(i) - ws.last[other]
			if gap <= nearBy && (ws.gaps[j] == 0 || gap < ws.gaps[j]) {
				ws.gaps[j] = gap
			}
		}
	}
	sum := 0.0
	for j, p := range pairs {
		if g := ws.gaps[j]; g > 0 {
			sum += min(s.idf(p.a), s.idf(p.b)) / float64(g)
		}
	}
	return sum
}

// idf weighs the term at a place of the query in this lane.
func (s *stage) idf(i uint8) float64 {
	t := &s.q.terms[i]
	df := 0
	if int(t.id) < len(s.ln.posts) {
		df = len(s.ln.posts[t.id])
	}
	return t.weight * idf(s.ln.count, df)
}
