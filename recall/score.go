package recall

import (
	"cmp"
	"math"
	"slices"
)

// workspace is the scratch memory of one search.
type workspace struct {
	cells    []cell   // by slot; all zero between searches
	found    []uint32 // the slots whose cell is not zero
	sessions []sessionCell
	opened   []uint32 // sessions that hold the term at hand
	sessHit  []uint32 // sessions whose cell is not zero
	sessDF   [maxTerms]int
	weight   [maxTerms]float64 // of a term in this lane: its own times its idf
	place    [maxTerms]uint8   // of a term in the cells' freqs, or noPlace
	order    []uint8           // places in query.terms, the rarest term first
	given    int               // how many terms have a place
	whole    bool              // cells' freqs hold every term of the query and every entry that has one
	mark     []uint8           // by term number: 1 + place in query.terms
	top      []scored
	all      []candidate
	most     float32 // the best turn score
	passages []passage
	counts   []int32
	last     []int32
	gaps     []int32
	centred  []int16
	products []int32
	own      []float64
	sizes    []float64
	near     []float64
}

// windowTerms is how many terms of a query lend to the windows of neighbours:
// the rarest ones, since the others tell little.
const windowTerms = 10

const noPlace = 0xff

// cell is what one search knows of one entry. Four of them share a cache line:
// most of the time of a search goes into visiting them.
type cell struct {
	turn  float32
	freqs [windowTerms]uint8
	state uint8
	_     uint8
}

// several reports whether the entry holds two of the query's words or more.
func (c *cell) several() bool {
	n := 0
	for _, f := range c.freqs {
		if f > 0 {
			n++
		}
	}
	return n > 1
}

const (
	stateFound uint8 = 1 << iota
	stateExact
	stateTop // already among the candidates
	stateStanding
	stateKept // still among them after the second look
)

type sessionCell struct {
	score float64
	acc   int32
}

// candidate is an entry that may become a hit.
type candidate struct {
	score float64
	slot  uint32
}

// scored is a candidate that was looked at closely.
type scored struct {
	candidate
	win, near, passage float64
}

func (ws *workspace) size(slots, sessions, terms int) {
	if len(ws.cells) < slots {
		ws.cells = make([]cell, slots+slots/4)
	}
	if len(ws.sessions) < sessions {
		ws.sessions = make([]sessionCell, sessions+sessions/4)
	}
	if len(ws.mark) < terms {
		ws.mark = make([]uint8, terms+terms/4)
	}
}

func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// bend splits k1 * (1 - b + b * length / average) into a constant and a slope.
func bend(k1, b, average float64) (base, slope float64) {
	return k1 * (1 - b), k1 * b / average
}

func (ws *workspace) find(slot uint32) *cell {
	c := &ws.cells[slot]
	if c.state == 0 {
		c.state = stateFound
		ws.found = append(ws.found, slot)
	}
	return c
}

func (ln *lane) list(term uint32) []posting {
	if int(term) >= len(ln.posts) {
		return nil
	}
	return ln.posts[term]
}

// allot weighs the terms of the query in this lane, puts them in order, the
// rarest first, and gives the rarest words a place in the cells' freqs.
func (ln *lane) allot(terms []queryTerm, ws *workspace) {
	ws.order = ws.order[:0]
	for i, t := range terms {
		n := len(ln.list(t.id))
		ws.place[i] = noPlace
		ws.weight[i] = t.weight * idf(ln.count, n)
		if n > 0 {
			ws.order = append(ws.order, uint8(i))
		}
	}
	slices.SortStableFunc(ws.order, func(a, b uint8) int {
		return cmp.Compare(len(ln.list(terms[a].id)), len(ln.list(terms[b].id)))
	})
	ws.given, ws.whole = 0, true
	for _, i := range ws.order {
		switch {
		case terms[i].kin:
		case ws.given < windowTerms:
			ws.place[i] = uint8(ws.given)
			ws.given++
		default:
			ws.whole = false
		}
	}
}

// Where rarer terms have found enough entries, a common one adds to their
// scores and brings in no others: it could not lift them above the rest.
const (
	enough = 512
	common = 16 // of that many entries, one holds a common term
)

// scatter adds one term to the scores of the entries that hold it and of their
// sessions. Products are converted before they are added so that no machine
// fuses the two.
func (ln *lane) scatter(i int, t queryTerm, p *Params, ws *workspace) {
	ws.sessDF[i] = 0
	list := ln.list(t.id)
	if len(list) == 0 {
		return
	}
	w := float32(ws.weight[i] * (p.K1 + 1))
	b, m := bend(p.K1, p.B, float64(ln.length)/float64(ln.count))
	base, slope := float32(b), float32(m)
	place := ws.place[i]
	sessions := p.SessionWeight > 0 && ln.open > 1
	most := ws.most
	only := len(ws.found) >= enough && len(list) > ln.count/common
	ws.whole = ws.whole && !only
	for _, e := range list {
		s := e.slot()
		h := &ln.hot[s]
		c := &ws.cells[s]
		if c.state != 0 || !only {
			if c.state == 0 {
				c.state = stateFound
				ws.found = append(ws.found, s)
			}
			tf := float32(e.tf())
			c.turn += float32(w * tf / (tf + base + float32(slope*float32(h.length))))
			if place != noPlace {
				c.freqs[place] = uint8(e.tf())
			}
			most = max(most, c.turn)
		}
		if sessions && h.session != noSlot {
			sc := &ws.sessions[h.session]
			if sc.acc == 0 {
				ws.opened = append(ws.opened, h.session)
			}
			sc.acc += e.tf()
		}
	}
	ws.most = most
	if len(ws.opened) > 0 {
		ln.foldSessions(i, t, p, ws)
	}
}

// foldSessions turns the frequencies of one term into session scores.
func (ln *lane) foldSessions(i int, t queryTerm, p *Params, ws *workspace) {
	ws.sessDF[i] = len(ws.opened)
	w := t.weight * idf(ln.open, len(ws.opened)) * (p.SessionK1 + 1)
	base, slope := bend(p.SessionK1, p.SessionB, float64(ln.sessLen)/float64(ln.open))
	for _, id := range ws.opened {
		c := &ws.sessions[id]
		if c.score == 0 {
			ws.sessHit = append(ws.sessHit, id)
		}
		tf := float64(c.acc)
		c.score += float64(w * tf / (tf + base + float64(slope*float64(ln.sessions[id].length))))
		c.acc = 0
	}
	ws.opened = ws.opened[:0]
}

// windowScore is BM25 over an entry's words and, at the weights of the window,
// its neighbours'.
func (ln *lane) windowScore(slot uint32, terms []queryTerm, p *Params, window []reach, ws *workspace) float64 {
	var acc [windowTerms]int32
	given := ws.given
	for j, f := range ws.cells[slot].freqs[:given] {
		acc[j] = 64 * int32(f)
	}
	near := ln.near[int(slot)*2*len(window) : (int(slot)+1)*2*len(window)]
	for k, w := range window {
		for side, weight := range [2]int32{w.before, w.after} {
			n := near[2*k+side]
			if n == noSlot {
				continue
			}
			c := &ws.cells[n]
			if c.turn == 0 {
				continue
			}
			for j, f := range c.freqs[:given] {
				acc[j] += weight * int32(f)
			}
		}
	}
	base, slope := bend(64*p.WindowK1, p.WindowB, float64(ln.winLen)/float64(ln.count))
	rest := base + float64(slope*float64(ln.wide[slot]))
	sum := 0.0
	for i := range terms {
		if ws.place[i] == noPlace {
			continue
		}
		if a := acc[ws.place[i]]; a > 0 {
			tf := float64(a)
			sum += float64(ws.weight[i] * (p.WindowK1 + 1) * tf / (tf + rest))
		}
	}
	return sum
}

// phrase marks the entries that hold a quoted phrase.
func (ln *lane) phrase(seq []uint32, ws *workspace) {
	rare := seq[0]
	for _, t := range seq {
		if len(ln.list(t)) < len(ln.list(rare)) {
			rare = t
		}
	}
	for _, e := range ln.list(rare) {
		body := ln.docs[e.slot()].seq
		for i := 0; i+len(seq) <= len(body); i++ {
			if slices.Equal(body[i:i+len(seq)], seq) {
				ws.find(e.slot()).state |= stateExact
				break
			}
		}
	}
}
