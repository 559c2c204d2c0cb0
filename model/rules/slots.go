package rules

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A reader reads a slot at token i: all readings, the preferred one first.
type reader func(s *sentence, i int) []capture

// readers are the slots of the pattern language.
var readers = map[string]reader{
	"person":       person,
	"place":        place,
	"geo":          oneOf(places, 4, asWritten),
	"org":          org,
	"age":          age,
	"date":         date,
	"email":        email,
	"phone":        phone,
	"allergens":    items(3),
	"eaten":        items(2),
	"allergen":     oneOf(withPlurals(allergens), 2, singular),
	"intolerance":  oneOf(intolerances, 1, lower),
	"drink":        oneOf(drinks, 2, lower),
	"language":     oneOf(languages, 3, asWritten),
	"languages":    listOf(languages, 3),
	"demonym":      oneOf(demonyms, 2, asWritten),
	"diet":         oneOf(diets, 2, lower),
	"diet_rule":    oneOf(dietRules, 2, lower),
	"one_relation": oneOf(relationsOne, 1, lower),
	"relation":     oneOf(relations, 2, lower),
	"any_kin":      oneOf(union(kin, withPlurals(kin)), 2, lower),
	"pet":          oneOf(pets, 3, lower),
	"marital":      oneOf(set("married|divorced|widowed|engaged|single"), 1, lower),
	"occupation":   occupation,
	"job":          job,
	"thing":        thing,
	"np":           np(6),
	"absolute":     absolute,
	"left":         np(5),
	"right":        np(5),
	"way":          oneOf(set("email|e-mail|emails|text|texts|texting|sms|phone|phone calls|calls|whatsapp|chat|letter|post|mail"), 2, lower),
	"seat":         oneOf(set("aisle|window"), 1, lower),
	"dish":         oneOf(set("coffee|tea|steak|steaks|eggs|toast|pizza|burgers|latte"), 1, lower),
	"how":          np(4),
	"statement":    rest,
	"foreign":      foreignItems,
}

func lower(s *sentence, i, j int) string     { return strings.ToLower(s.said(i, j)) }
func asWritten(s *sentence, i, j int) string { return s.said(i, j) }

func one(v string, i, j int) []capture {
	return []capture{{values: []string{v}, from: i, to: j, last: i}}
}

// oneOf reads the longest entry of a closed list.
func oneOf(list map[string]bool, most int, form func(*sentence, int, int) string) reader {
	return func(s *sentence, i int) []capture {
		for n := min(most, len(s.tokens)-i); n > 0; n-- {
			if list[s.words(i, i+n)] {
				return one(form(s, i, i+n), i, i+n)
			}
		}
		return nil
	}
}

// listOf reads entries of a closed list joined by commas and "and".
func listOf(list map[string]bool, most int) reader {
	read := oneOf(list, most, asWritten)
	return func(s *sentence, i int) []capture {
		c := capture{from: i, to: i}
		for {
			next := read(s, i)
			if next == nil {
				break
			}
			c.values = append(c.values, next[0].values[0])
			c.to = next[0].to
			i = s.joint(c.to)
			if i == c.to && read(s, i) == nil {
				break // "english spanish" is a list to those who type no commas
			}
		}
		if c.values == nil {
			return nil
		}
		return []capture{c}
	}
}

// joint steps over what joins the entries of a list.
func (s *sentence) joint(i int) int {
	if s.word(i) == "," {
		i++
	}
	if s.word(i) == "and" || s.word(i) == "&" {
		i++
		if s.word(i) == "also" {
			i++
		}
	}
	return i
}

// nominal reports whether token i can be part of a noun phrase that names a
// thing: a plain word, not one that points at something said elsewhere.
func (s *sentence) nominal(i int) bool {
	return i < len(s.tokens) && s.tokens[i].kind == letters && !pointers[s.word(i)]
}

var pointers = set(`i|me|my|you|your|he|she|it|we|they|them|him|her|his|its|our|their|us|this|that|these|those|there|here|what|who|whom|which
when|where|why|how|whether|if|because|since|so|but|and|or|nor|is|are|was|were|be|being|been|am|do|does|did|have|has|had|will|would|can|could
should|may|might|must|not|no|never|none|nothing|anything|everything|something|one|ones|some|someone|everyone|anyone|more|much|many|such|than
as|at|in|on|for|with|from|by|of|to|into|about|while|until|unless|though|although|please|too|anymore|any|either|neither|both|'s|myself
yourself|well|out|enough|lots|lot|maybe|probably|perhaps|usually|sometimes|often|certain|several|mostly|especially|currently|thanks|still|also|ago|last|yesterday|today|tomorrow|two|three|four|five|six|seven|eight|nine|ten`)

// items reads a list of plain things, each of at most so many words, and gives
// them in the singular: "peanuts, tree nuts and shellfish".
func items(most int) reader {
	return func(s *sentence, i int) []capture {
		c := capture{from: i, to: i}
		sure := 0 // how many are items of a list, whatever comes after
		ends := []int{}
		for {
			j := i
			for s.word(j) == "all" || s.word(j) == "any" || s.word(j) == "a" || s.word(j) == "an" || s.word(j) == "the" || s.word(j) == "both" {
				j++
			}
			k := j
			for k-j <= most && s.nominal(k) && !prepositions[s.word(k)] && !closers[s.word(k)] && !adverbs[s.word(k)] {
				k++
			}
			if k == j || k-j > most || gerund(s.word(j)) || joked[s.word(j)] || !s.listGoesOn(k) || j > c.from && doings[s.word(j)] {
				break
			}
			c.values = append(c.values, singular(s, j, k))
			ends = append(ends, k)
			c.to, c.last = k, j
			if n := len(c.values); n == 1 || s.word(i-1) != "," || allergens[c.values[n-1]] {
				sure = n // "nuts, Sarah" is no list of two
			}
			if i = s.joint(k); i == k {
				break
			}
		}
		if c.values == nil {
			return nil
		}
		if sure < len(c.values) {
			c.values, c.to = c.values[:sure], ends[sure-1]
			c.last = c.from
			if sure > 1 {
				c.last = s.joint(ends[sure-2])
			}
		}
		return []capture{c}
	}
}

// doings begin what else somebody does, after "and": "and take antihistamines".
var doings = set("hate|love|like|take|eat|drink|want|need|use|get|got|carry|avoid|prefer|enjoy|live|work|know|think|hope|keep|suffer|react|feel|break|swell|sneeze|cough|die|miss|try|buy|cook|make|order|study|speak|play|own|run|see|look|wear|go|went|send|came|come|find|asked|ask|hence|thus|therefore|otherwise")

// joked are things that nobody is allergic to.
var joked = set(`morning|mornings|monday|mondays|work|exercise|responsibility|commitment|people|drama|stress|stupidity|fun|nonsense|bullshit|meeting
meetings|deadline|deadlines|sports|homework|cardio|losing|failure|love|sleep|money|effort|change|compliments|feelings|bad|terrible|seasonal|mild
severe|worse|gone`)

// listGoesOn reports whether a list's entry can end before token k; a verb
// there would make the entry the subject of another clause ("cats and dogs are").
func (s *sentence) listGoesOn(k int) bool {
	switch s.word(k) {
	case "is", "are", "was", "were", "has", "have", "had", "will", "would", "can", "does", "do", "'s", "not", "or":
		return false
	}
	return true
}

func gerund(w string) bool { return len(w) > 5 && strings.HasSuffix(w, "ing") && !nouns[w] }

// nouns end in -ing and name things all the same.
var nouns = set("dumpling|pudding|dressing|herring|bee sting|sting|stuffing|icing|frosting|seasoning|wedding|morning|evening")

// singular is the lower-case form without the plural ending of its last word,
// so that "peanuts" and "peanut" are one allergy.
func singular(s *sentence, i, j int) string {
	v := strings.ToLower(s.said(i, j))
	if w := s.word(i); j-i > 1 && (w == "most" || w == "all" || w == "many" || w == "some") {
		return v
	}
	for _, e := range []struct{ end, to string }{{"ies", "y"}, {"oes", "o"}, {"ches", "ch"}, {"shes", "sh"}} {
		if base, ok := strings.CutSuffix(v, e.end); ok && len(base) > 2 {
			return base + e.to
		}
	}
	if base, ok := strings.CutSuffix(v, "s"); ok && len(base) > 2 && !strings.HasSuffix(base, "s") && !strings.HasSuffix(base, "u") &&
		!strings.HasSuffix(base, "i") && !strings.HasSuffix(v, "'s") && !strings.HasSuffix(v, "\u2019s") && asciiOnly(v) {
		return base
	}
	return v
}

func asciiOnly(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func withPlurals(list map[string]bool) map[string]bool {
	out := map[string]bool{}
	for w := range list {
		out[w], out[w+"s"] = true, true
		if base, ok := strings.CutSuffix(w, "y"); ok {
			out[base+"ies"] = true
		}
		if strings.HasSuffix(w, "o") {
			out[w+"es"] = true
		}
	}
	return out
}

// age reads whole years that somebody can be.
func age(s *sentence, i int) []capture {
	if i >= len(s.tokens) || s.tokens[i].kind != number {
		return nil
	}
	n, err := strconv.Atoi(s.word(i))
	if err != nil || n < 4 || n > 120 || s.word(i)[0] == '0' {
		return nil
	}
	to := i + 1
	if s.word(to) == "-" && s.tokens[to].start == s.tokens[i].end { // 32-year-old, not 30-something
		if w := s.word(to + 1); w != "year-old" && w != "years-old" && w != "yr-old" {
			return nil
		}
		to += 2
	}
	return one(s.word(i), i, to)
}

// date reads a day, a month or both, as said.
func date(s *sentence, i int) []capture {
	j := i
	if s.word(j) == "the" {
		j++
	}
	_, _, n := dayMonth(s, j)
	if n == 0 {
		return nil
	}
	k := j + n
	if y := k; s.word(y) == "," && year(s.word(y+1)) > 0 {
		k = y + 2
	} else if year(s.word(y)) > 0 {
		k = y + 1
	}
	return one(s.said(j, k), j, k)
}

func email(s *sentence, i int) []capture {
	if i >= len(s.tokens) || s.tokens[i].kind != address {
		return nil
	}
	w := s.said(i, i+1)
	local, host, ok := strings.Cut(w, "@")
	if !ok || local == "" || strings.Count(w, "@") != 1 || strings.Contains(w, "://") || !strings.Contains(host, ".") ||
		strings.ContainsAny(w, "()<>[]\"',;:\\/|*") || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") {
		return nil
	}
	return one(w, i, i+1)
}

// phone reads seven to fifteen digits with the usual signs between them.
func phone(s *sentence, i int) []capture {
	digits, j := 0, i
	for j < len(s.tokens) && j < i+12 {
		t := s.tokens[j]
		if t.kind == number {
			for _, r := range t.word {
				switch {
				case unicode.IsDigit(r):
					digits++
				case r == ',' || r == ':':
					return nil
				}
			}
		} else if t.word != "+" && t.word != "(" && t.word != ")" && t.word != "-" {
			break
		}
		j++
	}
	for j > i && s.tokens[j-1].kind != number {
		j--
	}
	if digits < 7 || digits > 15 {
		return nil
	}
	return one(s.said(i, j), i, j)
}

// thing reads what somebody has a favourite of.
func thing(s *sentence, i int) []capture {
	j := i
	for j < len(s.tokens) && j < i+3 && s.nominal(j) && s.tokens[j].kind == letters {
		j++
	}
	if (s.word(i) == "type" || s.word(i) == "kind") && s.word(i+1) == "of" && s.nominal(i+2) {
		j = i + 3
	}
	if j == i || passing[s.word(i)] || passing[s.word(j-1)] || gerund(s.word(j-1)) {
		return nil
	}
	return one(favoriteOf(s, i, j), i, j)
}

// passing are things of which a favourite holds for one occasion only.
var passing = set(`part|parts|thing|things|moment|moments|memory|memories|bit|way|ways|aspect|one|line|scene|quote|place|trick|tip|idea|ideas|option
person|people|time|feature|section|chapter|episode|toy|new|recent|pastime|child`)

func favoriteOf(s *sentence, i, j int) string {
	w := strings.ReplaceAll(s.words(i, j), "colour", "color")
	if base, ok := strings.CutSuffix(w, "s"); ok && !strings.HasSuffix(base, "s") && base != "serie" {
		if strings.HasSuffix(base, "ie") && base != "movie" && base != "cookie" {
			base = strings.TrimSuffix(base, "ie") + "y"
		}
		w = base
	}
	return strings.ReplaceAll(w, " ", "_")
}

// comparatives need the thing they are compared with.
var comparatives = set(`quieter|smaller|larger|bigger|shorter|longer|cheaper|cleaner|simpler|lighter|darker|warmer|cooler|slower|faster|older|newer
easier|healthier|busier|spicier|fancier|heavier|happier|better|less|fewer|softer|stronger|weaker|higher|lower|brighter|colder|hotter|closer|nicer|safer`)

func absolute(s *sentence, i int) []capture {
	if comparatives[s.word(i)] {
		return nil
	}
	return np(6)(s, i)
}

// np reads a plain phrase of at most so many words that ends where the clause
// does or where the pattern goes on; shorter readings are offered too.
func np(most int) reader {
	return func(s *sentence, i int) []capture {
		j := i
		for j < len(s.tokens) && j-i < most && s.phrasal(j, j == i) {
			j++
		}
		var out []capture
		if j > i && (s.word(j) == "and" || s.word(j) == "&") { // "macaroni and cheese"
			k := j + 1
			for k < len(s.tokens) && k-j <= 3 && s.phrasal(k, k == j+1) && !verbs[s.word(k)] {
				k++
			}
			if k > j+1 && s.boundary(k) && s.word(k) != "and" {
				out = append(out, capture{values: []string{s.said(i, k)}, from: i, to: k})
			}
		}
		for ; j > i; j-- {
			out = append(out, capture{values: []string{s.said(i, j)}, from: i, to: j})
		}
		return out
	}
}

func (s *sentence) phrasal(i int, first bool) bool {
	t, w := s.tokens[i], s.word(i)
	switch {
	case t.kind == number:
		return true
	case t.kind != letters:
		return false
	case first && (w == "a" || w == "an" || w == "the"):
		return true
	case w == "of" || w == "in" || w == "the" || w == "at" || w == "'s" || w == "to" || w == "with" || w == "on" || w == "from" || w == "by" || w == "be":
		return !first
	}
	return !pointers[w] || w == "no"
}

// rest reads the remainder of the sentence.
func rest(s *sentence, i int) []capture {
	if len(s.tokens)-i < 2 {
		return nil
	}
	return one(s.said(i, len(s.tokens)), i, len(s.tokens))
}
