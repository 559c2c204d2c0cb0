package recall

// dictionary numbers the terms of an index. Surface forms are remembered so
// that each is stemmed once; the numbers carry no statistics, those are kept
// per lane.
type dictionary struct {
	tok      *Tokenizer
	surfaces map[string]uint32
	ids      map[string]uint32
	terms    []dictTerm
	free     []uint32
}

type dictTerm struct {
	text string
	uses int // entries that hold it
}

// stopTerm is the number of everything that is not searched for.
const stopTerm = ^uint32(0)

func newDictionary(tok *Tokenizer) dictionary {
	return dictionary{tok: tok, surfaces: map[string]uint32{}, ids: map[string]uint32{}}
}

// add appends the term numbers of a text to seq, making new numbers as needed.
func (d *dictionary) add(seq []uint32, text string) []uint32 {
	d.tok.scan(text, func(surface []byte, _, _ int) {
		if id := d.intern(surface); id != stopTerm {
			seq = append(seq, id)
		}
	})
	return seq
}

func (d *dictionary) intern(surface []byte) uint32 {
	if id, ok := d.surfaces[string(surface)]; ok {
		return id
	}
	s := string(surface)
	term, stop := d.tok.term(s)
	if stop {
		d.surfaces[s] = stopTerm
		return stopTerm
	}
	id, ok := d.ids[term]
	if !ok {
		if n := len(d.free); n > 0 {
			id, d.free = d.free[n-1], d.free[:n-1]
			d.terms[id] = dictTerm{text: term}
		} else {
			id = uint32(len(d.terms))
			d.terms = append(d.terms, dictTerm{text: term})
		}
		d.ids[term] = id
	}
	d.surfaces[s] = id
	return id
}

// find is intern without side effects, for queries.
func (d *dictionary) find(surface []byte) (id uint32, term string, known bool) {
	if id, ok := d.surfaces[string(surface)]; ok {
		if id == stopTerm {
			return id, "", true
		}
		return id, d.terms[id].text, true
	}
	term, stop := d.tok.term(string(surface))
	if stop {
		return stopTerm, "", true
	}
	id, known = d.ids[term]
	return id, term, known
}

// release gives back one use of a term. The last one forgets the word in every
// form, so that nothing of an erased entry stays in memory.
func (d *dictionary) release(id uint32) {
	t := &d.terms[id]
	t.uses--
	if t.uses > 0 {
		return
	}
	delete(d.ids, t.text)
	*t = dictTerm{}
	d.free = append(d.free, id)
	clear(d.surfaces)
}
