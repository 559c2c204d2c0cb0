package recall

import (
	"cmp"
	"slices"
)

// stage is the ranking of one lane for one query. A first look scores every
// entry that holds a word of the query, by its own words and its session's. A
// second look scores the windows of the best and of their neighbours, and a
// weighWords finds the best score for words among the candidates, which is
// what the dense score is measured by.
func (s *stage) weighWords(e *Parts) {
	if s.dense == 0 {
		return
	}
	best := 0.0
	for i := range s.ws.top {
		s.score(&s.ws.top[i], e)
		best = max(best, e.words())
	}
	if s.words = s.scale; best > 0 {
		s.words = best / s.keep
	}
}

// third goes through the text of the best of those.
type stage struct {
	ix    *Index
	lane  Lane
	ln    *lane
	q     *query
	ws    *workspace
	scale float64 // the best score that words alone can reach
	// What scores are divided by: the best turn, window and passage. Session
	// scores are divided where they lie.
	turn, win, passages float64
	sess                float64
	keep                float64 // share of the score for words, 1 without vectors
	dense               float64 // weight of the dense score, 0 without vectors
	words               float64 // the best score for words, at the look at hand
	// Whether the query names a speaker, and whether factor beyond that, and
	// extra, have something to say: mostly they do not.
	named, boosts, extras bool
	total                 int // candidates that the first look found
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
	if id := s.ln.hot[slot].session; id != noSlot && s.ln.open > 1 {
		return s.ws.sessions[id].score
	}
	return s.ix.params.SessionWeight * turn
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
	if s.ws.cells[slot].state&stateStanding != 0 {
		standing = p.StandingBoost * s.scale
	}
	if s.dense > 0 {
		// Both keep their place beside the best score that can be reached now.
		exact *= 1 + s.dense
		standing *= s.keep + s.dense
		dense = s.dense * s.words * s.ws.near[slot]
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
	picks := s.ws.all[:0]
	for _, slot := range s.ln.standing {
		if !s.admits(slot) {
			continue
		}
		c := s.ws.find(slot)
		picks = append(picks, candidate{float64(c.turn), slot})
	}
	slices.SortFunc(picks, func(a, b candidate) int {
		x, y := &s.ln.docs[a.slot], &s.ln.docs[b.slot]
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(y.recorded, x.recorded),
			cmp.Compare(y.position, x.position), cmp.Compare(y.id, x.id))
	})
	for _, c := range picks[:min(len(picks), p.StandingMost)] {
		s.ws.cells[c.slot].state |= stateStanding
		s.extras = true
	}
	s.ws.all = picks[:0]
}

// measure finds what scores are divided by.
func (s *stage) measure() {
	s.turn = float64(s.ws.most)
	for _, id := range s.ws.sessHit {
		s.sess = max(s.sess, s.ws.sessions[id].score)
	}
	by := over(s.ix.params.SessionWeight, s.sess)
	for _, id := range s.ws.sessHit {
		s.ws.sessions[id].score *= by
	}
	s.named = slices.Contains(s.q.speakers, true)
	s.boosts = s.q.advice || s.q.time != nil
	s.extras = s.extras || s.dense > 0 || len(s.q.named) > 0 || len(s.q.phrases) > 0
}

// admits reports whether an entry may be a hit at all.
func (s *stage) admits(slot uint32) bool {
	if s.ln.hot[slot].dormant && !s.q.dormant && s.ws.cells[slot].state&stateExact == 0 {
		return false
	}
	if s.q.only != nil && !s.q.only(s.ln.docs[slot].ordinal) {
		return false
	}
	return s.q.within == nil || s.q.within.overlaps(&s.ln.docs[slot])
}

// first scores all entries found by what is known of each without its
// neighbours, and keeps the best n or a few more.
func (s *stage) first(n int) {
	own := over(1+s.ix.params.WindowWeight, s.turn)
	alone := over(s.ix.params.SessionWeight, s.turn)
	many := s.ln.open > 1
	named, spoken := s.named, 1+s.ix.params.SpeakerBoost
	all := s.ws.all[:0]
	filtered := s.q.within != nil || s.q.only != nil
	for _, slot := range s.ws.found {
		h := &s.ln.hot[slot]
		if (filtered || h.dormant) && !s.admits(slot) {
			continue
		}
		turn := float64(s.ws.cells[slot].turn)
		score := float64(own * turn)
		if many && h.session != noSlot {
			score += s.ws.sessions[h.session].score
		} else {
			score += float64(alone * turn)
		}
		if s.boosts {
			speaker, preference, time := s.factor(slot)
			score *= 1 + speaker + preference + time
		} else if named && h.speaker != noSlot && s.q.speakers[h.speaker] {
			score *= spoken
		}
		if s.extras || score > 0 {
			all = append(all, candidate{score, slot})
		}
	}
	if s.extras {
		s.words = 0
		for i := range all {
			s.words = max(s.words, all[i].score)
		}
		if s.words == 0 {
			s.words = s.scale
		}
		kept := all[:0]
		for _, c := range all {
			exact, standing, dense := s.extra(c.slot)
			if c.score = float64(c.score*s.keep) + exact + standing + dense; c.score > 0 {
				kept = append(kept, c)
			}
		}
		all = kept
	}
	s.ws.all, s.total = all, len(all)
	s.ws.top = s.ws.top[:0]
	for _, c := range s.cut(n) {
		s.ws.top = append(s.ws.top, scored{candidate: c})
	}
}

// cut drops the worst of the candidates in ws.all, in one pass by a histogram
// of their scores. It keeps n and what shares a bucket with the last of them,
// but never more than twice n.
func (s *stage) cut(n int) []candidate {
	all := s.ws.all
	if len(all) <= n {
		return all
	}
	best := 0.0
	for i := range all {
		best = max(best, all[i].score)
	}
	const buckets = 256
	var count [buckets]int32
	by := (buckets - 1) / best
	for i := range all {
		count[int(all[i].score*by)]++
	}
	low, kept := buckets-1, int(count[buckets-1])
	for low > 0 && kept < n {
		low--
		kept += int(count[low])
	}
	out, least := all[:0], float64(low)
	for _, c := range all {
		if c.score*by >= least {
			out = append(out, c)
		}
	}
	if len(out) > 2*n {
		slices.SortFunc(out, s.order)
		out = out[:n]
	}
	return out
}

// order puts the higher score first, then the earlier entry, then the id.
func (s *stage) order(a, b candidate) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	case a.slot == b.slot:
		return 0
	case s.ln.docs[a.slot].before(&s.ln.docs[b.slot]):
		return -1
	}
	return 1
}

// again makes ready for another round with more candidates.
func (s *stage) again() {
	s.win, s.passages = 0, 0
	for _, slot := range s.ws.found {
		s.ws.cells[slot].state &^= stateTop | stateKept
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
				if slot == noSlot || ws.cells[slot].state&stateTop != 0 || !s.admits(slot) {
					continue
				}
				ws.find(slot).state |= stateTop
				ws.top = append(ws.top, scored{candidate: candidate{slot: slot}})
			}
		}
		for i := range ws.top {
			c := &ws.top[i]
			c.win = s.ln.windowScore(c.slot, s.q.terms, p, s.ix.window, ws)
			s.win = max(s.win, c.win)
		}
	}
	ws.all = ws.all[:0]
	var e Parts
	s.weighWords(&e)
	for i := range ws.top {
		c := &ws.top[i]
		s.score(c, &e)
		if c.score > 0 {
			ws.all = append(ws.all, c.candidate)
		}
	}
	for _, c := range s.cut(n) {
		ws.cells[c.slot].state |= stateKept
	}
	ws.top = slices.DeleteFunc(ws.top, func(c scored) bool { return ws.cells[c.slot].state&stateKept == 0 })
}

// score fills the parts of a candidate and adds them up.
func (s *stage) score(c *scored, e *Parts) {
	p := &s.ix.params
	own := over(float64(s.ws.cells[c.slot].turn), s.turn)
	if s.passages > 0 {
		own = float64((1-p.PassageShare)*own) + float64(p.PassageShare*c.passage/s.passages)
	}
	keep := s.keep
	e.Turn = keep * own
	e.Window = keep * p.WindowWeight * own
	if s.ln.hot[c.slot].session != noSlot {
		e.Window = keep * p.WindowWeight * over(c.win, s.win)
	}
	e.Session = keep * s.sessionPart(c.slot, own)
	e.Near = keep * p.NearWeight * over(c.near, s.turn)
	if s.boosts || s.named {
		words := e.Turn + e.Window + e.Session + e.Near
		speaker, preference, time := s.factor(c.slot)
		e.Speaker, e.Preference, e.Time = speaker*words, preference*words, time*words
	}
	if s.extras {
		e.Exact, e.Standing, e.Dense = s.extra(c.slot)
	}
	c.score = e.sum()
}

// third goes through the text of the candidates: which words of the query stand
// together, and what is the best passage of a long entry. Then it sorts them.
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
	var e Parts
	for i := range ws.top {
		ws.top[i].near = s.together(ws.top[i].slot)
	}
	s.weighWords(&e)
	for i := range ws.top {
		s.score(&ws.top[i], &e)
	}
	slices.SortFunc(ws.top, func(a, b scored) int { return s.order(a.candidate, b.candidate) })
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
	if ws.whole && !ws.cells[slot].several() {
		return 0
	}
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
			sum += min(ws.weight[p.a], ws.weight[p.b]) / float64(g)
		}
	}
	return sum
}
