package recall

import (
	"math"
	"slices"
)

// workspace is the scratch memory of one search.
type workspace struct {
	cells    []cell // by slot; all zero between searches
	found    []uint32
	touched  []uint32
	sessions []sessionCell
	opened   []uint32
	sessHit  []uint32
	mark     []uint8 // by term number: 1 + place in query.terms
	top      []scored
	passages []passage
	counts   []int32
	last     []int32
	gaps     []int32
	dense    []float64
	near     []float64
	winDF    [maxTerms]int // windows, and sessions, that hold each query term
	sessDF   [maxTerms]int
}

// cell is what one search knows of one entry.
type cell struct {
	turn, win float64
	acc       int32 // window frequency of the term at hand, in 1/64
	exact     bool
	found     bool
}

type sessionCell struct {
	score float64
	acc   int32
}

// scored is a candidate of one lane.
type scored struct {
	slot    uint32
	score   float64
	passage float64
	parts   Explanation
}

// maxima normalise the scores of one lane for one query.
type maxima struct{ turn, win, sess float64 }

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

func (ws *workspace) find(slot uint32) *cell {
	c := &ws.cells[slot]
	if !c.found {
		c.found = true
		ws.found = append(ws.found, slot)
	}
	return c
}

// scatter adds one term to the scores of a lane: of the entries that hold it,
// of the windows around them and of their sessions. Products are converted
// before they are added so that no machine fuses the two.
func (ln *lane) scatter(i int, t queryTerm, p *Params, window []reach, ws *workspace) {
	ws.winDF[i], ws.sessDF[i] = 0, 0
	if int(t.id) >= len(ln.posts) || len(ln.posts[t.id]) == 0 {
		return
	}
	list := ln.posts[t.id]
	w := t.weight * idf(ln.count, len(list)) * (p.K1 + 1)
	base, slope := bend(p.K1, p.B, float64(ln.length)/float64(ln.count))
	for _, e := range list {
		s, tf := e.slot(), float64(e.tf())
		c := ws.find(s)
		c.turn += w * tf / (tf + base + float64(slope*float64(ln.docs[s].length)))
	}
	if ln.inSess == 0 || p.WindowWeight == 0 && p.SessionWeight == 0 {
		return
	}
	ws.winDF[i] = ln.scatterWindow(t, list, p, window, ws)
	ws.sessDF[i] = ln.scatterSessions(t, list, p, ws)
}

// bend splits k1 * (1 - b + b * length / average) into a constant and a slope.
func bend(k1, b, average float64) (base, slope float64) {
	return k1 * (1 - b), k1 * b / average
}

func (ln *lane) scatterWindow(t queryTerm, list []posting, p *Params, window []reach, ws *workspace) int {
	r := 2 * len(window)
	for _, e := range list {
		s, tf := e.slot(), e.tf()
		c := &ws.cells[s]
		if c.acc == 0 {
			ws.touched = append(ws.touched, s)
		}
		c.acc += 64 * tf
		near := ln.near[int(s)*r : (int(s)+1)*r]
		for k := range window {
			if n := near[2*k]; n != noSlot { // for whom this entry comes after
				ws.lend(n, window[k].after*tf)
			}
			if n := near[2*k+1]; n != noSlot {
				ws.lend(n, window[k].before*tf)
			}
		}
	}
	df := len(ws.touched)
	w := t.weight * idf(ln.count, df) * (p.WindowK1 + 1)
	base, slope := bend(64*p.WindowK1, p.WindowB, float64(ln.winLen)/float64(ln.count))
	for _, s := range ws.touched {
		c := ws.find(s)
		tf := float64(c.acc)
		c.win += w * tf / (tf + base + float64(slope*float64(ln.docs[s].winLen)))
		c.acc = 0
	}
	ws.touched = ws.touched[:0]
	return df
}

func (ws *workspace) lend(slot uint32, tf int32) {
	c := &ws.cells[slot]
	if c.acc == 0 {
		if tf == 0 {
			return
		}
		ws.touched = append(ws.touched, slot)
	}
	c.acc += tf
}

func (ln *lane) scatterSessions(t queryTerm, list []posting, p *Params, ws *workspace) int {
	for _, e := range list {
		id := ln.docs[e.slot()].session
		if id == noSlot {
			continue
		}
		c := &ws.sessions[id]
		if c.acc == 0 {
			ws.opened = append(ws.opened, id)
		}
		c.acc += e.tf()
	}
	df := len(ws.opened)
	w := t.weight * idf(ln.open, df) * (p.SessionK1 + 1)
	base, slope := bend(p.SessionK1, p.SessionB, float64(ln.sessLen)/float64(max(1, ln.open)))
	for _, id := range ws.opened {
		c := &ws.sessions[id]
		if c.score == 0 {
			ws.sessHit = append(ws.sessHit, id)
		}
		tf := float64(c.acc)
		c.score += w * tf / (tf + base + float64(slope*float64(ln.sessions[id].length)))
		c.acc = 0
	}
	ws.opened = ws.opened[:0]
	return df
}

// phrase marks the entries that hold a quoted phrase.
func (ln *lane) phrase(seq []uint32, ws *workspace) {
	rare := -1
	for _, t := range seq {
		if int(t) >= len(ln.posts) || len(ln.posts[t]) == 0 {
			return
		}
		if rare < 0 || len(ln.posts[t]) < len(ln.posts[rare]) {
			rare = int(t)
		}
	}
	for _, e := range ln.posts[rare] {
		body := ln.docs[e.slot()].seq
		for i := 0; i+len(seq) <= len(body); i++ {
			if slices.Equal(body[i:i+len(seq)], seq) {
				ws.find(e.slot()).exact = true
				break
			}
		}
	}
}
