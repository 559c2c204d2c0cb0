package recall

import (
	"strings"
	"unicode"
)

// dictionary numbers the terms of an index. Surface forms are remembered so
// that each is stemmed once; the numbers carry no statistics, those are kept
// per lane.
type dictionary struct {
	tok      *Tokenizer
	surfaces map[string]surface
	ids      map[string]uint32
	terms    []dictTerm
	free     []uint32
}

type dictTerm struct {
	text string
	uses int // entries that hold it
	// fact marks numbers and negators: entries that differ in one are never near
	// duplicates.
	fact bool
}

// surface is what is remembered of a form.
type surface struct {
	id  uint32
	cue cue
}

// stopTerm is the number of everything that is not searched for.
const stopTerm = ^uint32(0)

func newDictionary(tok *Tokenizer) dictionary {
	return dictionary{tok: tok, surfaces: map[string]surface{}, ids: map[string]uint32{}}
}

// add appends the term numbers of a text to seq, making new numbers as needed,
// and shows every word to the reader of cues, if there is one.
func (d *dictionary) add(seq []uint32, text string, cues *cueReader) []uint32 {
	d.tok.scan(text, func(form []byte, _, _ int) {
		s := d.intern(form)
		if cues != nil {
			cues.word(s.cue)
		}
		if s.id != stopTerm {
			seq = append(seq, s.id)
		}
	})
	return seq
}

func (d *dictionary) intern(form []byte) surface {
	if s, ok := d.surfaces[string(form)]; ok {
		return s
	}
	text := string(form)
	s := surface{id: stopTerm, cue: d.tok.lex.cues[text]}
	if term, stop := d.tok.term(text); !stop {
		id, ok := d.ids[term]
		if !ok {
			id = d.number(term)
		}
		s.id = id
	}
	d.surfaces[text] = s
	return s
}

func (d *dictionary) number(term string) uint32 {
	t := dictTerm{text: term, fact: isFact(term)}
	var id uint32
	if n := len(d.free); n > 0 {
		id, d.free = d.free[n-1], d.free[:n-1]
		d.terms[id] = t
	} else {
		id = uint32(len(d.terms))
		d.terms = append(d.terms, t)
	}
	d.ids[term] = id
	return id
}

func isFact(term string) bool {
	switch term {
	case "no", "not", "nor", "never", "without":
		return true
	}
	return strings.IndexFunc(term, unicode.IsNumber) >= 0
}

// find is intern without side effects, for queries.
func (d *dictionary) find(form []byte) (id uint32, term string, known bool) {
	if s, ok := d.surfaces[string(form)]; ok {
		if s.id == stopTerm {
			return s.id, "", true
		}
		return s.id, d.terms[s.id].text, true
	}
	term, stop := d.tok.term(string(form))
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
