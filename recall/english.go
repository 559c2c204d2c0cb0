package recall

import (
	"strings"
	"sync"
)

// lexicon is what a language knows beyond its stemmer. It never changes once
// made, so all indexes share it.
type lexicon struct {
	stop  map[string]struct{}
	base  map[string]string   // irregular form to base form
	kin   map[string][]string // term to terms of nearly the same meaning
	about map[string]struct{} // terms that speak of the question, not its subject
	cues  map[string]cue      // surface forms that make statements stand out
}

// english is built when the first English tokeniser is made.
var english = sync.OnceValue(func() *lexicon {
	lx := &lexicon{
		stop:  map[string]struct{}{},
		base:  map[string]string{},
		kin:   map[string][]string{},
		about: map[string]struct{}{},
		cues:  map[string]cue{},
	}
	for w := range strings.FieldsSeq(englishStop) {
		lx.stop[w] = struct{}{}
	}
	for line := range strings.Lines(englishIrregular) {
		forms := strings.Fields(line)
		for _, f := range forms[1:] {
			lx.base[f] = forms[0]
		}
	}
	tok := &Tokenizer{language: "english", lex: lx}
	stem := func(w string) string { t, _ := tok.term(w); return t }
	for line := range strings.Lines(englishKin) {
		words := strings.Fields(line)
		for i, a := range words {
			for j, b := range words {
				if s, t := stem(a), stem(b); i != j && s != t {
					lx.kin[s] = append(lx.kin[s], t)
				}
			}
		}
	}
	for w := range strings.FieldsSeq(englishAbout) {
		lx.about[stem(w)] = struct{}{}
	}
	for c, words := range englishCues {
		for w := range strings.FieldsSeq(words) {
			lx.cues[w] = c
		}
	}
	return lx
})

// cue is the part a word plays in saying that a statement stands out.
type cue uint8

const (
	cueNone   cue = iota
	cueAlways     // opens a standing instruction
	cueLead       // may come before it
	cueWhen       // when I ask
	cueI
	cueAsk
	cuePrefer // a preference by itself
	cueAm     // I am allergic
	cueTrait
	cueVery // I really love
	cueLove
	cueMy // my favourite
	cueFavourite
)

var englishCues = map[cue]string{
	cueAlways:    "always never whenever",
	cueLead:      "please remember to make sure be and",
	cueWhen:      "when if time anytime",
	cueI:         "i",
	cueAsk:       "ask mention inquire request",
	cuePrefer:    "prefer prefers preferred preferring preference preferences rather",
	cueAm:        "m am",
	cueTrait:     "allergic intolerant vegan vegetarian fond",
	cueVery:      "really absolutely just",
	cueLove:      "love hate dislike avoid",
	cueMy:        "my",
	cueFavourite: "favorite favourite",
}

// englishAdvice are the ways to ask what one should do: the answer depends on
// what one likes.
var englishAdvice = []string{
	"suggest", "recommend", "advice", "advise", "tips", " idea", "should i", "how can i", "what should",
	"would you", "can you help", "help me", "any thoughts",
}

// englishAbout are the words of questions that say nothing of their subject:
// "what did I mention", "how many different kinds in total".
const englishAbout = `mention mentioned say said tell told discuss discussed talk
talked conversation chat session sessions ask asked question questions suggest
suggested suggestions recommend recommendation recommended remind many much kind
kinds type types different total specific previous previously provide give name
list according based advice help want need think`

// englishKin are groups of everyday words for nearly the same thing. A word of
// the question lends a little of its weight to its kin.
const englishKin = `buy purchase
job work career profession occupation
car vehicle auto
house home
apartment flat
country nation
vacation holiday trip travel journey
doctor physician
sick ill illness disease
exercise workout gym fitness
author writer
friend buddy pal
begin start
finish complete end
like love enjoy
dislike hate
hobby pastime interest
live reside
move relocate
help assist support
happy glad joy
sad unhappy upset
afraid scared fear
parent mom dad
sibling brother sister
spouse husband wife partner
child kid son daughter
baby infant newborn
pet dog cat puppy kitten
present gift
prize award trophy
contest competition tournament
game match
beautiful pretty gorgeous
big large huge
small little tiny
shop store
city town
school college university
student pupil
teacher instructor
class course lesson workshop
meeting appointment
party celebration
wedding marriage marry
money cash fund finance
cost price expense
salary income pay
boss manager
company firm business
goal aim objective
plan intend
idea suggestion
problem issue trouble challenge
injury hurt injure
food meal dish
dinner supper
breakfast brunch
sweet dessert
drink beverage
clothes clothing outfit
picture painting drawing artwork
song music
band group
book novel
recommend suggest
visit go
watch see
talk speak chat discuss conversation
ask request
answer reply respond
type kind sort
way method
advice tip guidance
stress anxiety anxious stressed
relax calm unwind destress
excited thrilled
volunteer charity nonprofit
community neighborhood
hike trail
beach ocean sea
forest wood
mountain hill
reason why because
name nickname
inspire motivate
create make build
repair fix
phone cellphone smartphone
computer laptop pc
deadline due
schedule calendar
software tool app application
error bug`
