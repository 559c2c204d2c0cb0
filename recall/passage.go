package recall

// An entry of longEntry terms or more (a whole session, a pasted document) is
// scored by its best passage as well: words that stand together say more than
// the same words far apart. Shorter ones are one passage.
const (
	longEntry    = 128
	passageTerms = 12
)

// passageCount is the number of passages of a sequence of n terms.
func passageCount(n int) int {
	if n < longEntry {
		return 1
	}
	return (n + passageTerms/2) / passageTerms
}

// countPassages keeps the passage statistics; by is 1 to add, -1 to take away.
func (ln *lane) countPassages(d *doc, by int) {
	n := passageCount(len(d.seq))
	ln.passages += int64(by * n)
	if n == 1 {
		return
	}
	ln.long += by
	if ln.extra == nil {
		ln.extra = map[uint32]int32{}
	}
	last := make(map[uint32]int, len(d.seq))
	for i := range n {
		for _, t := range d.seq[i*len(d.seq)/n : (i+1)*len(d.seq)/n] {
			at, seen := last[t]
			if !seen || at == i {
				last[t] = i
				continue
			}
			last[t] = i
			ln.extra[t] += int32(by)
			if ln.extra[t] == 0 {
				delete(ln.extra, t)
			}
		}
	}
}

// passageScore is the best passage of a long entry, by BM25 without a length
// norm over passages of nearly one length, each with half the words of the two
// on either side. parts, where given, gets each term's share.
func (ln *lane) passageScore(d *doc, q *query, p *Params, ws *workspace, parts []float64) float64 {
	n := passageCount(len(d.seq))
	ws.passages = append(ws.passages[:0], make([]passage, n)...)
	ws.counts = append(ws.counts[:0], make([]int32, n*len(q.terms))...)
	counts := ws.counts // term-major, in halves
	for i := range n {
		for _, t := range d.seq[i*len(d.seq)/n : (i+1)*len(d.seq)/n] {
			k := ws.mark[t]
			if k == 0 {
				continue
			}
			row := counts[int(k-1)*n : int(k)*n]
			for j := max(0, i-2); j < min(n, i+3); j++ {
				row[j]++
			}
			row[i]++ // the passage itself counts twice a half
		}
	}
	best := 0
	for k := range q.terms {
		w := q.terms[k].weight * idf(int(ln.passages), ln.passagesWith(q.terms[k].id)) * (p.K1 + 1)
		for i, c := range counts[k*n : (k+1)*n] {
			if c > 0 {
				tf := float64(c) / 2
				ws.passages[i].score += w * tf / (tf + p.K1)
			}
		}
	}
	for i := range ws.passages {
		if ws.passages[i].score > ws.passages[best].score {
			best = i
		}
	}
	for k := range parts {
		w := q.terms[k].weight * idf(int(ln.passages), ln.passagesWith(q.terms[k].id)) * (p.K1 + 1)
		tf := float64(counts[k*n+best]) / 2
		parts[k] = w * tf / (tf + p.K1)
	}
	return ws.passages[best].score
}

type passage struct{ score float64 }

func (ln *lane) passagesWith(t uint32) int {
	if int(t) >= len(ln.posts) {
		return 0
	}
	return len(ln.posts[t]) + int(ln.extra[t])
}
