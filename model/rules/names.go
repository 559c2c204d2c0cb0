package rules

import "unicode/utf8"

// Slots for what has a name of its own: people, places, employers, titles.

// person reads one to three capitalised names; in a message without any
// capital, one word that ends the clause.
func person(s *sentence, i int) []capture {
	j := i
	for j < i+3 && j < len(s.tokens) && s.tokens[j].kind == letters && s.tokens[j].upper && nameable(s, j) {
		j++
	}
	if j > i {
		return one(s.said(i, j), i, j)
	}
	if s.lower && s.nominal(i) && nameable(s, i) && !adverbs[s.word(i)] && (s.boundary(i+1) || s.word(i+1) == "who" || s.word(i+1) == "dan") {
		return one(s.said(i, i+1), i, i+1)
	}
	return nil
}

func nameable(s *sentence, i int) bool {
	w := s.word(i)
	return !notNames[w] && !pointers[w] && utf8.RuneCountInString(w) > 1 && !places[w] || w == "florence" || w == "paris"
}

// place reads where somebody lives: an entry of the gazetteer, or in a message
// with capitals a capitalised name, each with the region after a comma.
func place(s *sentence, i int) []capture {
	if s.word(i) == "the" && (s.word(i+1) == "netherlands" || s.word(i+1) == "philippines" || s.word(i+1) == "united" || s.word(i+1) == "us" || s.word(i+1) == "usa" || s.word(i+1) == "uk" || s.word(i+1) == "uae") {
		i++
	}
	j := 0
	if known := oneOf(places, 4, asWritten)(s, i); known != nil {
		j = known[0].to
		if w := s.word(i); j == i+1 && (w == "us" || w == "nice" || w == "split" || w == "tours" || w == "reading" || w == "java") && !s.tokens[i].upper {
			return nil
		}
	} else if j = capitalised(s, i, 4); j == i || vague[s.word(i)] || vague[s.word(j-1)] {
		return nil
	}
	for s.word(j) == "," {
		next := oneOf(places, 4, asWritten)(s, j+1)
		switch {
		case next != nil:
			j = next[0].to
			continue
		case len(s.word(j+1)) == 2 && j+1 < len(s.tokens) && (s.tokens[j+1].upper || s.lower) && states[s.word(j+1)]:
			j += 2
			continue
		}
		break
	}
	return one(s.said(i, j), i, j)
}

// vague are capitalised words that are no place to live in.
var vague = set(`monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october
november|december|europe|asia|africa|north america|america|earth|i|university|college|excel|slack|vim|emacs|notion|fear|peace|section|room
apartment|building|block|zone|airbnb|god|jesus|christ`)

var states = set(`al|ak|az|ar|ca|co|ct|de|fl|ga|hi|id|il|in|ia|ks|ky|la|me|md|ma|mi|mn|ms|mo|mt|ne|nv|nh|nj|nm|ny|nc|nd|oh|ok|or|pa|ri|sc|sd|tn|tx
ut|vt|va|wa|wv|wi|wy|dc|uk|us|bc|on|qc|ab`)

// capitalised reads a run of capitalised words, with "of" and "de" inside.
func capitalised(s *sentence, i, most int) int {
	j := i
	for j < len(s.tokens) && j < i+most {
		t := s.tokens[j]
		joined := (t.word == "of" || t.word == "de" || t.word == "la" || t.word == "upon" || t.word == "am") && j > i && j+1 < len(s.tokens) && s.tokens[j+1].upper
		if t.kind != letters || !t.upper && !joined || t.word == "i" {
			break
		}
		j++
	}
	return j
}

// org reads a capitalised name of an employer.
func org(s *sentence, i int) []capture {
	if s.word(i) == "the" {
		i++
	}
	j := capitalised(s, i, 5)
	if j == i || j == i+1 && (vague[s.word(i)] || s.word(i) == "home" || places[s.word(i)]) {
		return nil
	}
	return one(s.said(i, j), i, j)
}

// occupation reads a title by its last word: "piano teacher", not "huge fan".
func occupation(s *sentence, i int) []capture {
	j := i
	for j < len(s.tokens) && j < i+5 && s.nominal(j) && !prepositions[s.word(j)] && !adverbs[s.word(j)] {
		j++
	}
	for k := i; k < j; k++ {
		w := s.word(k)
		if untitled[w] || k == i && gerund(w) && !trades[w] {
			return nil
		}
		if w == "a" || w == "an" || w == "the" || w == "new" {
			j = k
		}
	}
	for k := j; k > i; k-- {
		if occupations[s.word(k-1)] || k-2 >= i && occupations[s.words(k-2, k)] || k-4 >= i && occupations[s.words(k-4, k)] {
			if k < j { // words after the title belong to something else
				return nil
			}
			return one(lower(s, i, k), i, k)
		}
	}
	return nil
}

// trades are gerunds that titles begin with.
var trades = set("traveling|travelling|recording|wedding|marketing|nursing|acting|consulting|swimming|dancing|singing|boxing|building|engineering|practicing|practising|managing|leading|fishing|training|teaching|visiting|cleaning|working|casting|lighting|engineering|banking|shipping|welding")

// job reads what follows "I work as a".
func job(s *sentence, i int) []capture {
	j := i
	for j < len(s.tokens) && j < i+6 && s.nominal(j) && !prepositions[s.word(j)] && !closers[s.word(j)] {
		j++
	}
	if j == i || j == i+6 || untitled[s.word(i)] || j == i+1 && (s.word(i) == "team" || s.word(i) == "pair" || s.word(i) == "group" || s.word(i) == "charm") {
		return nil
	}
	return one(lower(s, i, j), i, j)
}
