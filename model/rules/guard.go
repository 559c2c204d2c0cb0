package rules

import "strings"

// What keeps the grammar from reading things into a text that it does not say.

// conditions begin a sentence that states nothing.
var conditions = set("if|unless|suppose|supposing|imagine|pretend|assuming|assume|whenever|say|let|when|would|should|whether|once|until|think|as")

// poison is what makes a later clause of a sentence somebody else's word, a
// wish or a guess.
var poison = set(`if|unless|whether|suppose|supposing|imagine|imagining|pretend|pretending|say|says|said|saying|tell|tells|told|telling|thinks|thought
believes|believed|claims|claimed|would|wish|wished|hope|hopes|hoping|maybe|perhaps|might|could|guess|writes|wrote|called|asks|asked
dream|dreamed|dreamt|joke|joked|argument|assume|assuming|act|acting|reads|quote|like|feel|as`)

func (s *sentence) poisoned(i int) bool {
	for k, t := range s.tokens[:i] {
		if poison[t.word] || t.word == ":" && !introduces(s.words(0, k)) {
			return true
		}
	}
	return false
}

// introduces reports whether what stands before a colon announces the user's
// own words; otherwise it announces something to look at.
func introduces(head string) bool {
	return announces[head] || openers[head] || strings.HasSuffix(head, "about me") || strings.HasSuffix(head, "about myself") || strings.HasSuffix(head, "remember this")
}

// quoted reports whether token i stands inside quotation marks.
func (s *sentence) quoted(i int) bool {
	n := 0
	for _, t := range s.tokens[:i] {
		switch t.word {
		case `"`, "\u201c", "\u201d", "\u201e", "\u00ab", "\u00bb", "\u300c", "\u300d":
			n++
		}
	}
	return n%2 == 1
}

// doubted reports whether what follows a statement takes it back.
func (s *sentence) doubted(i int) bool {
	switch s.word(i) {
	case ",", "-", "(", "\u2013", "\u2014":
		i++
	}
	if s.amended(i) {
		return true
	}
	if s.word(i) == "not" && (i+1 == len(s.tokens) || s.word(i+1) == ")") {
		return true // "I'm vegan, not!"
	}
	switch s.words(min(i, len(s.tokens)), min(i+2, len(s.tokens))) {
	case "and then", "but then", "i think", "i guess", "i believe", "i suppose", "just kidding", "not really", "or maybe", "or something", "i wish", "i assume", "or so":
		return true
	}
	return s.word(i) == "or" || s.word(i) == "right" || s.word(i) == "kidding" || s.word(i) == "jk" || s.word(i) == "until" || s.word(i) == "then"
}

// amended reports whether the speaker breaks off at token i to say something
// else instead: "I live in Oslo, no wait, it's Bergen". What comes after is not
// read either: nothing is better than the wrong half.
func (s *sentence) amended(i int) bool {
	switch s.words(min(i, len(s.tokens)), min(i+2, len(s.tokens))) {
	case "i mean", "i meant", "make that", "or rather", "scratch that", "no ,":
		return true
	}
	switch s.word(i) {
	case "no", "nope", "wait", "sorry", "oops":
	default:
		return false
	}
	k := i + 1
	if s.word(k) == "," {
		k++
	}
	switch s.word(k) {
	case "no", "wait", "sorry", "it", "that", "make", "scratch":
		return true
	case "i":
		return s.word(k+1) == "mean" || s.word(k+1) == "meant"
	}
	return false
}

// wed are what people say they are married to and are not.
var wed = set("job|work|career|business|company|phone|computer|laptop|game|games|hobby|hobbies|music|art|craft|sport|sea|land|idea|money|bed|couch|sofa|car|bike")

// seasonal reports whether a time at token i says how often and not since
// when: "in the summer", "on weekdays".
func seasonal(s *sentence, i int) bool {
	switch s.word(i) {
	case "in", "during", "on", "at", "for":
	default:
		return false
	}
	k := i + 1
	if s.word(k) == "the" {
		k++
	}
	switch s.word(k) {
	case "summer", "summers", "winter", "winters", "spring", "autumn", "fall", "weekends", "weekdays", "side", "weekend", "evenings", "mornings", "past", "future",
		"game", "dream", "story", "novel", "simulation":
		return true
	}
	return false
}

// fiction marks a sentence that is about no real person.
var fiction = set(`character|characters|roleplay|role-play|fictional|hypothetical|hypothetically|protagonist|minecraft|skyrim|screenplay
storyline|fanfic|fanfiction|prompt|chatbot|persona|scenario|lyrics|impersonate`)

func fictional(s *sentence) bool {
	for _, t := range s.tokens {
		if fiction[t.word] {
			return true
		}
	}
	return false
}

// drafting are orders to work on a text; what a message that gives one says is
// the text's, not the user's.
var drafting = set(`write|rewrite|translate|proofread|paraphrase|summarize|summarise|compose|draft|act|pretend|imagine|edit|improve|correct|rephrase
simulate|roleplay|role-play|generate|continue|classify|label|extract|fix|convert|reword|answer|respond|reply|behave|play`)

// works are what such an order makes.
var works = set(`letter|email|e-mail|essay|story|poem|song|bio|biography|script|dialogue|dialog|paragraph|speech|resume|cv|post|caption|tweet|article|text
sentence|sentences|message|monologue|joke|scene|novel|profile|statement|summary|following|above|below|blog|review|cover|rap|play|ad
introduction|description|translation|conversation|interviewer|assistant|expert|terminal|therapist|poet|as|copywriter|prompt|fanfic|grammar|wording|phrase|phrasing|spelling|tone|code|function`)

// material reports whether a message brings a text along to be worked on, or
// asks for one to be made up.
func material(text string, ss []sentence) bool {
	if strings.Count(text, "\n") > 12 {
		return true
	}
	for line := range strings.Lines(text) { // "Proofread this:" is no sentence of its own
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ":") {
			ss = append(cut(line, 0, len(line), false), ss...)
		}
	}
	for i := range ss {
		s := &ss[i]
		for k := range min(len(s.tokens), 24) {
			if !drafting[s.word(k)] || !ordered(s, k) {
				continue
			}
			for _, t := range s.tokens[k+1:] {
				if works[t.word] {
					return true
				}
			}
		}
	}
	return false
}

// ordered reports whether the verb at k is asked of the assistant: at the start
// of its clause, or after "you", "please", "to", "me".
func ordered(s *sentence, k int) bool {
	k0 := s.opening(0)
	switch s.word(k - 1) {
	case "", "you", "please", "to", "me", ",", ":", "and", "then", "also", "just":
		return true
	}
	return k <= k0
}

func negated(s *sentence, i, j int) bool {
	for _, t := range s.tokens[i:min(j, len(s.tokens))] {
		switch t.word {
		case "not", "no", "never", "neither", "nor", "without":
			return true
		}
	}
	return false
}

// openers may stand before a statement; the longest is taken, again and again.
var openers = set(`hi|hello|hey|hi there|hello there|hey there|hiya|well|oh|ok|okay|yes|yeah|yep|sure|no|nope|actually|also|so|and|but|btw|fyi|by the way|for your information
just so you know|just to let you know|so you know|for context|for reference|for the record|for future reference|as a reminder|reminder
quick note|side note|on a side note|to clarify|please|sorry|in fact|honestly|basically|currently|now|right now|these days|at the moment
as you know|as i mentioned|as i said|like i said|thanks|thank you|great|cool|nice|awesome|perfect|unfortunately|fortunately|luckily
oh and|one more thing|first|secondly|important|update|correction|edit|note|ps|additionally|plus|besides|anyway|anyways|speaking of which
hmm|ah|right|good|wait|oops|just fyi|oh yeah|personally|generally|usually|because|since|although|though|while|yet|see|look|hey hey
a bit about me|about me|more about me|just a heads up|heads up|full disclosure|fun fact|just to clarify|just a note|i should mention that
i should mention|i just want to mention that|i want to mention that|i forgot to mention that|i forgot to mention|i need to mention that
you should know that|you should know|just know that|as i told you|to be clear|to be honest|tbh|in general|still|recently
turns out|turns out that|it turns out|it turns out that|as it turns out`)

// opening steps over openers and the signs between them.
func (s *sentence) opening(i int) int {
	for i < len(s.tokens) {
		n := 0
		for k := min(7, len(s.tokens)-i); k > 0; k-- {
			if openers[s.words(i, i+k)] {
				n = k
				break
			}
		}
		switch {
		case n > 0:
			i += n
		case i > 0 && (s.word(i) == "," || s.word(i) == ":" || s.word(i) == "-" || s.word(i) == "\u2013" || s.word(i) == "\u2014" || s.word(i) == "!"):
			i++
		default:
			return i
		}
	}
	return i
}

// next is where the clause after the boundary at i begins.
func (s *sentence) next(i int) int {
	for i < len(s.tokens) && !s.boundary(i) {
		i++
	}
	for i < len(s.tokens) && s.boundary(i) {
		i++
	}
	return s.opening(i)
}
