package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Search returns the best entries for a query, each lane in its share. It returns
// ErrK, ErrEmptyQuery, ErrQuerySize, ErrLane or ErrRange for what cannot be
// answered; everything else has an answer, if need be an empty one with its
// reason.
func (ix *Index) Search(q Query) (Result, error) {
	if err := q.check(); err != nil {
		return Result{}, err
	}
	var res Result
	if r, ok := TimeExpression(q.Text, q.Now, q.Location); ok {
		res.Time = &r
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	rd := ix.read(q.Text)
	rd.within, rd.only, rd.dormant, rd.time, rd.brought = q.Within, q.Only, q.Dormant, res.Time, q.Brought
	res.Ignored = rd.ignored
	if len(q.Vector.Values) > 0 {
		if rd.vector = ix.fits(q.Vector); rd.vector == nil {
			res.Reason = ReasonNoSpace
		}
	}
	ws := ix.work.Get().(*workspace)
	defer ix.work.Put(ws)
	var found [laneCount][]Hit
	held := 0
	for l := range ix.lanes {
		if len(q.Lanes) > 0 && !slices.Contains(q.Lanes, Lane(l)) {
			continue
		}
		held += ix.lanes[l].count
		if ix.lanes[l].count > 0 {
			found[l] = ix.searchLane(Lane(l), &q, &rd, ws)
		}
	}
	res.Hits = merge(found, q.K, ix.params.TrustedShare)
	if len(res.Hits) == 0 {
		switch {
		case held == 0:
			res.Reason = ReasonEmpty
		case rd.words == 0 && len(rd.named) == 0 && rd.vector == nil:
			res.Reason = ReasonNoTerms
		case res.Reason == ReasonNone:
			res.Reason = ReasonNoMatch
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
	return nil
}

func (r *Range) valid() bool {
	return r.Start.IsZero() || r.End.IsZero() || r.Start.Before(r.End)
}

// overlaps reports whether the entry was valid or, without a validity, recorded
// in the range.
func (r *Range) overlaps(d *doc) bool {
	start, end := micros(r.Start), micros(r.End)
	from, to := d.from, d.to
	if from == noTime && to == noTime {
		if d.recorded == noTime {
			return false
		}
		return (start == noTime || d.recorded >= start) && (end == noTime || d.recorded < end)
	}
	return (end == noTime || from == noTime || from < end) && (start == noTime || to == noTime || to > start)
}

// afterwards is how long what happened in a time is still talked about.
const afterwards = 7 * 24 * time.Hour

// inTime is 1 for an entry inside the range, one half for one recorded soon
// after: of what happened on Sunday people speak on Monday.
func (r *Range) inTime(d *doc) float64 {
	if r.overlaps(d) {
		return 1
	}
	if !r.End.IsZero() && d.recorded != noTime && d.from == noTime && d.to == noTime {
		end := micros(r.End)
		if d.recorded >= end && d.recorded < end+afterwards.Microseconds() {
			return 0.5
		}
	}
	return 0
}

// searchLane ranks one lane, and leaves the workspace clean.
func (ix *Index) searchLane(l Lane, q *Query, rd *query, ws *workspace) []Hit {
	ln := &ix.lanes[l]
	ws.size(len(ln.docs), len(ln.sessions), len(ix.dict.terms))
	s := stage{ix: ix, lane: l, ln: ln, q: rd, ws: ws, scale: ix.params.scale(), keep: 1}
	ln.allot(rd.terms, ws)
	ws.most = 0
	for _, i := range ws.order {
		ln.scatter(int(i), rd.terms[i], &ix.params, ws)
	}
	for _, p := range rd.phrases {
		ln.phrase(p, ws)
	}
	for _, at := range rd.named {
		if at.lane == l {
			ws.find(at.slot).state |= stateExact
		}
	}
	if rd.vector != nil && (!ix.elsewhere || len(rd.brought) > 0) {
		s.densify()
	}
	if len(ws.found) == 0 {
		return nil
	}
	if l == Trusted {
		s.pickStanding()
	}
	s.measure()
	var hits []Hit
	for n := max(q.K, ix.params.Depth); ; n *= 4 {
		s.first(n)
		s.second(n)
		s.third()
		hits = s.hits(q)
		// Many near duplicates may leave fewer hits than asked for: look deeper.
		if len(hits) >= q.K || s.total <= n || n >= MaxK {
			break
		}
		s.again()
	}
	for _, t := range rd.terms {
		ws.mark[t.id] = 0
	}
	for _, slot := range ws.found {
		ws.cells[slot] = cell{}
	}
	for _, id := range ws.sessHit {
		ws.sessions[id] = sessionCell{}
	}
	ws.found, ws.sessHit = ws.found[:0], ws.sessHit[:0]
	return hits
}

// merge gives the trusted lane its share of every stretch of the result, the
// others the rest by score, and what one side leaves to the other. So the first
// ten of a hundred are the ten that a search for ten returns.
func merge(found [laneCount][]Hit, k int, share float64) []Hit {
	trusted := found[Trusted]
	var others []Hit
	for _, hits := range found[Trusted+1:] {
		others = append(others, hits...)
	}
	if len(others) == 0 {
		return trusted[:min(k, len(trusted))]
	}
	slices.SortStableFunc(others, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	out := make([]Hit, 0, min(k, len(trusted)+len(others)))
	for len(out) < cap(out) {
		due := int((1-share)*float64(len(out)+1) + 1e-9) // places of the others so far
		if had := len(out) - (len(found[Trusted]) - len(trusted)); len(trusted) == 0 || len(others) > 0 && had < due {
			out, others = append(out, others[0]), others[1:]
		} else {
			out, trusted = append(out, trusted[0]), trusted[1:]
		}
	}
	return out
}
