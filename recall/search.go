package recall

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

var _ = math.Log1p

// Search returns the best entries for a query, trusted lane first. It returns
// ErrK, ErrEmptyQuery, ErrQuerySize, ErrLane or ErrRange for what cannot be
// answered; everything else has an answer, if need be an empty one with its
// reason.
func (ix *Index) Search(q Query) (Result, error) {
	if err := q.check(); err != nil {
		return Result{}, err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	rd := ix.read(q)
	rd.within = q.Within
	res := Result{Ignored: rd.ignored}
	ws := ix.work.Get().(*workspace)
	defer ix.work.Put(ws)
	var per [laneCount][]scored
	for l := range ix.lanes {
		if len(q.Lanes) > 0 && !slices.Contains(q.Lanes, Lane(l)) {
			continue
		}
		per[l] = ix.searchLane(Lane(l), &rd, q.K, ws)
	}
	for l := range per {
		for _, s := range per[l] {
			d := &ix.lanes[l].docs[s.slot]
			res.Hits = append(res.Hits, Hit{ID: d.id, Ordinal: d.ordinal, Lane: Lane(l), Score: s.score})
		}
	}
	return res, nil
}

func (q *Query) check() error {
	switch {
	case q.K < 1 || q.K > MaxK:
		return ErrK
	case len(q.Text) > MaxQueryBytes:
		return ErrQuerySize
	case strings.TrimSpace(q.Text) == "" && len(q.Vector.Values) == 0:
		return ErrEmptyQuery
	case q.Within != nil && !q.Within.valid():
		return ErrRange
	}
	for _, l := range q.Lanes {
		if l >= laneCount {
			return ErrLane
		}
	}
	_ = utf8.RuneError
	return nil
}

func (r *Range) valid() bool {
	return r.Start.IsZero() || r.End.IsZero() || r.Start.Before(r.End)
}

// scored is a candidate of one lane.
type scored struct {
	slot  uint32
	score float64
}

// workspace is the scratch memory of one search.
type workspace struct {
	turn, win []float64
	acc       []int32
	touched   []uint32
	cands     []uint32
	sess      []float64
	sacc      []int32
	stouched  []uint32
	sseen     []uint32
}

func (ws *workspace) size(slots, sessions int) {
	if len(ws.turn) < slots {
		ws.turn = make([]float64, slots+slots/4)
		ws.win = make([]float64, slots+slots/4)
		ws.acc = make([]int32, slots+slots/4)
	}
	if len(ws.sess) < sessions {
		ws.sess = make([]float64, sessions+sessions/4)
		ws.sacc = make([]int32, sessions+sessions/4)
	}
}

func (ix *Index) searchLane(l Lane, q *query, k int, ws *workspace) []scored {
	ln := &ix.lanes[l]
	p := &ix.params
	ws.size(len(ln.docs), len(ln.sessions))
	for _, t := range q.terms {
		ln.scatter(t.id, p, ws)
	}
	var maxT, maxW, maxS float64
	for _, s := range ws.cands {
		maxT = max(maxT, ws.turn[s])
		maxW = max(maxW, ws.win[s])
	}
	for _, s := range ws.sseen {
		maxS = max(maxS, ws.sess[s])
	}
	out := make([]scored, 0, len(ws.cands))
	for _, s := range ws.cands {
		sc := ws.turn[s] / maxT
		sc += p.WindowWeight * ws.win[s] / maxW
		if id := ln.docs[s].session; id != noSlot && ln.open > 1 && maxS > 0 {
			sc += p.SessionWeight * ws.sess[id] / maxS
		}
		out = append(out, scored{s, sc})
		ws.turn[s], ws.win[s] = 0, 0
	}
	for _, s := range ws.sseen {
		ws.sess[s] = 0
	}
	ws.cands, ws.sseen = ws.cands[:0], ws.sseen[:0]
	slices.SortFunc(out, func(a, b scored) int {
		if a.score != b.score {
			if a.score > b.score {
				return -1
			}
			return 1
		}
		if ln.docs[a.slot].before(&ln.docs[b.slot]) {
			return -1
		}
		return 1
	})
	return out[:min(k, len(out))]
}

func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// scatter adds one term to the scores of a lane.
func (ln *lane) scatter(t uint32, p *Params, ws *workspace) {
	if int(t) >= len(ln.posts) || len(ln.posts[t]) == 0 {
		return
	}
	list := ln.posts[t]
	r := 2 * len(p.Window)
	w := idf(ln.count, len(list)) * (p.K1 + 1)
	avg := float64(ln.length) / float64(ln.count)
	for _, e := range list {
		s := e.slot()
		d := &ln.docs[s]
		tf := float64(e.tf())
		if ws.turn[s] == 0 && ws.win[s] == 0 {
			ws.cands = append(ws.cands, s)
		}
		ws.turn[s] += w * tf / (tf + p.K1*(1-p.B+p.B*float64(d.length)/avg))
		if ws.acc[s] == 0 {
			ws.touched = append(ws.touched, s)
		}
		ws.acc[s] += 64 * e.tf()
		for i, n := range ln.near[int(s)*r : (int(s)+1)*r] {
			if n == noSlot {
				continue
			}
			if ws.acc[n] == 0 {
				ws.touched = append(ws.touched, n)
			}
			ws.acc[n] += int32(p.Window[i/2]) * e.tf()
		}
		if d.session != noSlot {
			if ws.sacc[d.session] == 0 {
				ws.stouched = append(ws.stouched, d.session)
			}
			ws.sacc[d.session] += e.tf()
		}
	}
	ww := idf(ln.count, len(ws.touched)) * (p.K1 + 1)
	avgW := float64(ln.winLen) / 64 / float64(ln.count)
	for _, s := range ws.touched {
		if ws.turn[s] == 0 && ws.win[s] == 0 {
			ws.cands = append(ws.cands, s)
		}
		tf := float64(ws.acc[s]) / 64
		ws.win[s] += ww * tf / (tf + p.K1*(1-p.B+p.B*float64(ln.docs[s].winLen)/64/avgW))
		ws.acc[s] = 0
	}
	ws.touched = ws.touched[:0]
	ws2 := idf(ln.open, len(ws.stouched)) * (p.K1 + 1)
	avgS := float64(ln.sessLen) / float64(max(1, ln.open))
	for _, s := range ws.stouched {
		if ws.sess[s] == 0 {
			ws.sseen = append(ws.sseen, s)
		}
		tf := float64(ws.sacc[s])
		ws.sess[s] += ws2 * tf / (tf + p.K1*(1-p.B+p.B*float64(ln.sessions[s].length)/avgS))
		ws.sacc[s] = 0
	}
	ws.stouched = ws.stouched[:0]
}
