package recall

import (
	"cmp"
	"slices"
)

// stage is the ranking of one lane for one query. A first look scores every
// entry that holds a word of the query, by its own words and its session's. A
// second look scores the windows of the best and of their neighbours, and a
// third goes through the text of the best of those.
type stage struct {
	ix    *Index
	ln    *lane
	q     *query
	ws    *workspace
	scale float64 // the best score that words alone can reach
	// What scores are divided by: the best turn, window, session and passage.
	turn, win, sess, passages float64
	dense                     float64 // share of the dense score, 0 without vectors
	picks                     []uint32
}

func (p *Params) scale() float64 { return 1 + p.WindowWeight + p.SessionWeight }

func over(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x / y
}

// sessionPart is an entry's part for its session. An entry that stands alone is
// its own session, and its own window, so that notes and turns can be compared.
func (s *stage) sessionPart(slot uint32, turn float64) float64 {
	id := s.ln.hot[slot].session
	if id == noSlot || s.ln.open < 2 {
		return s.ix.params.SessionWeight * turn
	}
	return s.ix.params.SessionWeight * over(s.ws.sessions[id].score, s.sess)
}

// factor is what an entry's score for words is multiplied with, by cause.
func (s *stage) factor(slot uint32) (speaker, preference, time float64) {
	p, h := &s.ix.params, &s.ln.hot[slot]
	if h.speaker != noSlot && s.q.speakers != nil && s.q.speakers[h.speaker] {
		speaker = p.SpeakerBoost
	}
	if h.prefers && s.q.advice {
		preference = p.PreferenceBoost
	}
	if s.q.time != nil {
		time = p.TimeBoost * s.q.time.inTime(&s.ln.docs[slot])
	}
	return speaker, preference, time
}

// extra is what does not depend on words and comes on top.
func (s *stage) extra(slot uint32) (exact, standing, dense float64) {
	p := &s.ix.params
	if s.ws.cells[slot].state&stateExact != 0 {
		exact = p.ExactBoost * s.scale
	}
	if slices.Contains(s.picks, slot) {
		standing = p.StandingBoost * s.scale
	}
	if s.dense > 0 {
		dense = s.dense * s.scale * s.ws.near[slot]
	}
	return exact, standing, dense
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
		picks = append(picks, scored{slot: slot, score: float64(c.turn)})
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

// first keeps the best n of all entries found, by what is known of each
// without its neighbours, in a heap whose root is the worst of them.
func (s *stage) first(n int) {
	for _, slot := range s.ws.found {
		s.turn = max(s.turn, float64(s.ws.cells[slot].turn))
	}
	for _, id := range s.ws.sessHit {
		s.sess = max(s.sess, s.ws.sessions[id].score)
	}
	own := over(1+s.ix.params.WindowWeight, s.turn)
	top := s.ws.top[:0]
	for _, slot := range s.ws.found {
		if s.q.within != nil && !s.q.within.overlaps(&s.ln.docs[slot]) {
			continue
		}
		turn := float64(s.ws.cells[slot].turn)
		score := float64(own*turn) + s.sessionPart(slot, over(turn, s.turn))
		speaker, preference, time := s.factor(slot)
		score *= (1 - s.dense) * (1 + speaker + preference + time)
		exact, standing, dense := s.extra(slot)
		c := scored{slot: slot, score: score + exact + standing + dense}
		switch {
		case c.score == 0:
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

// second adds the neighbours of the candidates and scores the windows of all.
func (s *stage) second(n int) {
	ws, p := s.ws, &s.ix.params
	r := 2 * len(s.ix.window)
	for i := range ws.top {
		ws.cells[ws.top[i].slot].state |= stateTop
	}
	if p.WindowWeight > 0 && s.ln.inSess > 0 {
		for _, c := range ws.top {
			for _, slot := range s.ln.near[int(c.slot)*r : (int(c.slot)+1)*r] {
				if slot == noSlot || ws.cells[slot].state&stateTop != 0 ||
					s.q.within != nil && !s.q.within.overlaps(&s.ln.docs[slot]) {
					continue
				}
				ws.find(slot).state |= stateTop
				ws.top = append(ws.top, scored{slot: slot})
			}
		}
		for i := range ws.top {
			c := &ws.top[i]
			c.win = s.ln.windowScore(c.slot, s.q.terms, p, s.ix.window, ws)
			s.win = max(s.win, c.win)
		}
	}
	for i := range ws.top {
		s.score(&ws.top[i], 0)
	}
	s.sort(n)
}

// score fills the parts of a candidate and adds them up.
func (s *stage) score(c *scored, near float64) {
	p, e := &s.ix.params, &c.parts
	turn := over(float64(s.ws.cells[c.slot].turn), s.turn)
	keep := 1 - s.dense
	e.Turn = keep * turn
	e.Window = keep * p.WindowWeight * turn
	if s.ln.hot[c.slot].session != noSlot {
		e.Window = keep * p.WindowWeight * over(c.win, s.win)
	}
	e.Session = keep * s.sessionPart(c.slot, turn)
	if s.passages > 0 {
		e.Turn = float64((1-p.PassageShare)*e.Turn) + float64(keep*p.PassageShare*c.passage/s.passages)
	}
	e.Near = keep * p.NearWeight * over(near, s.turn)
	words := e.Turn + e.Window + e.Session + e.Near
	speaker, preference, time := s.factor(c.slot)
	e.Speaker, e.Preference, e.Time = speaker*words, preference*words, time*words
	e.Exact, e.Standing, e.Dense = s.extra(c.slot)
	c.score = e.sum()
}

// sort orders the candidates and keeps n.
func (s *stage) sort(n int) {
	slices.SortFunc(s.ws.top, func(a, b scored) int {
		switch {
		case a.slot == b.slot:
			return 0
		case s.better(&a, &b):
			return -1
		}
		return 1
	})
	s.ws.top = s.ws.top[:min(n, len(s.ws.top))]
}

// third goes through the text of the candidates: which words of the query stand
// together, and what is the best passage of a long entry.
func (s *stage) third() {
	ws, p := s.ws, &s.ix.params
	for i, t := range s.q.terms {
		ws.mark[t.id] = uint8(i + 1)
	}
	if s.ln.long > 0 && p.PassageShare > 0 {
		for i := range ws.top {
			c := &ws.top[i]
			c.passage = s.passage(c.slot, nil)
			s.passages = max(s.passages, c.passage)
		}
	}
	for i := range ws.top {
		s.score(&ws.top[i], s.together(ws.top[i].slot))
	}
	s.sort(len(ws.top))
}

func (s *stage) passage(slot uint32, parts []float64) float64 {
	d := &s.ln.docs[slot]
	if passageCount(len(d.seq)) == 1 {
		return float64(s.ws.cells[slot].turn)
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
	return t.weight * idf(s.ln.count, len(s.ln.list(t.id)))
}
