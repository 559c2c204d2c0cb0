package gate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
)

// MessageLabel is whose word a message is, from the credential that records
// it. Role and channel can only lower it: what an agent key appends is
// agent_inferred whatever role it names, and text that a link filled in or a
// page supplied is nobody's statement.
func MessageLabel(by tenet.Principal, role tenet.Role, channel tenet.Channel) tenet.Label {
	var l tenet.Label
	switch role {
	case tenet.RoleUser:
		l = spokenLabel(by.Kind())
	case tenet.RoleAssistant, tenet.RoleSystem:
		l = tenet.LabelAgentInferred
	case tenet.RoleTool:
		l = tenet.LabelExternal // a tool's text may be anyone's text
		if by.Kind() == tenet.Connector {
			l = tenet.LabelAttestedTool
		}
	}
	if channel != tenet.ChannelTyped {
		l = min(l, tenet.LabelExternal)
	}
	return l
}

// spokenLabel is what a principal may attest as somebody's words.
func spokenLabel(k tenet.PrincipalKind) tenet.Label {
	switch k {
	case tenet.App, tenet.EndUser:
		return tenet.LabelUserStated
	case tenet.Connector:
		return tenet.LabelAttestedTool
	case tenet.Operator:
		return tenet.LabelOperator
	case tenet.Agent:
		return tenet.LabelAgentInferred
	}
	return 0
}

// authority is the highest label a principal may end or retract: a lower
// label never shortens or retracts a higher one.
func authority(by tenet.Principal, key string) tenet.Label {
	switch by.Kind() {
	case tenet.App:
		return tenet.LabelUserStated
	case tenet.EndUser:
		return tenet.LabelUserConfirmed
	case tenet.Operator:
		return tenet.LabelOperator
	case tenet.Connector:
		if by.Owns(key) {
			return tenet.LabelAttestedTool
		}
	}
	return 0
}

// derive computes the label, origins and evidence of a candidate: the lowest
// of its cited messages, and no more than agent_inferred unless the words are
// proven to stand in them.
func derive(c Case, known func(key string) bool) (tenet.Label, []tenet.Origin, []tenet.Evidence, []Finding) {
	cand := c.Candidate
	subject := cand.Scope.Key()
	var (
		label    = tenet.LabelOperator
		origins  []tenet.Origin
		evidence []tenet.Evidence
		spoken   []string
		findings []Finding
	)
	for _, m := range c.Evidence {
		label = min(label, m.Label)
		spoken = append(spoken, storedForm(m.Text))
		origins = append(origins, tenet.Origin{
			Principal: m.RecordedBy, Channel: m.Channel, Subject: subject,
			Session: m.Session, Message: m.ID, ToolCall: m.ToolCallID,
		})
		evidence = append(evidence, tenet.Evidence{
			Message: m.ID, Session: m.Session, Role: m.Role, Label: m.Label,
			Excerpt: excerpt(m.Text, cand.Text), SaidAt: tenet.Micros(m.Said()),
		})
	}
	if cand.Quote != "" {
		l := spokenLabel(c.By.Kind())
		id := tenet.MessageID(string(cand.ID) + "/quote")
		label = min(label, l)
		spoken = append(spoken, storedForm(cand.Quote))
		origins = append(origins, tenet.Origin{Principal: c.By.String(), Subject: subject, Session: cand.Session, Message: id})
		evidence = append(evidence, tenet.Evidence{
			Message: id, Session: cand.Session, Role: quoteRole(c.By.Kind()), Label: l,
			Excerpt: excerpt(cand.Quote, cand.Text), SaidAt: c.At,
		})
	}
	if len(origins) == 0 {
		return 0, nil, nil, []Finding{refusal("provenance", tenet.CodeNoProvenance, reject)}
	}
	keyed := cand.Key != "" && cand.Key != tenet.KeyForget // that one is a request's: it is never kept, and says nothing
	unproven := !proven(statement(cand), spoken, keyed) ||
		keyed && c.By.Kind() == tenet.Agent && cand.Tier == tenet.TierFact && !known(cand.Key) && !keyProven(cand.Key, spoken)
	if label >= tenet.LabelAttestedTool && label < tenet.LabelOperator && unproven {
		label = tenet.LabelAgentInferred
		findings = append(findings, Finding{Finding: tenet.Finding{Check: "span", Code: tenet.CodeSpanUnproven}})
		// Nothing the user said covers it, so it may come from what was
		// recalled: those records are parents too.
		for _, p := range c.Parents {
			label = min(label, p)
		}
	}
	return label, origins, evidence, findings
}

func quoteRole(k tenet.PrincipalKind) tenet.Role {
	switch k {
	case tenet.App, tenet.EndUser:
		return tenet.RoleUser
	case tenet.Connector:
		return tenet.RoleTool
	case tenet.Agent:
		return tenet.RoleAssistant
	}
	return tenet.RoleSystem
}

// statement is the text whose words must be proven: a typed value counts too,
// or a forged value could ride on honest words.
func statement(c tenet.Candidate) string {
	if len(c.Value) == 0 {
		return c.Text
	}
	return c.Text + "\n" + valueWords(c.Value)
}

// Share of content words that the cited messages must cover; protected words
// must all be covered.
const coverNum, coverDen = 9, 10

// proven reports whether the cited messages say what the statement says: every
// number, name, negation and address stands in them, and nine in ten of the
// other content words. It stops the delayed "yes", the summariser's injection
// and the invented profile, none of which the user's words contain.
func proven(text string, spoken []string, keyed bool) bool {
	for _, s := range spoken {
		if strings.TrimSpace(s) == text { // the whole message
			return !keyed || meaningful(text)
		}
	}
	// Only clauses that deny no more than the statement does can prove it: "I'm
	// not allergic to peanuts" does not say "allergic to peanuts".
	denies := denials(text)
	var clauses []string
	for _, s := range spoken {
		for _, cl := range clausesOf(s) {
			if within(denials(cl), denies) {
				clauses = append(clauses, cl)
			}
		}
	}
	pool := strings.Join(clauses, "\n")
	if verbatimIn(pool, text) {
		return !keyed || meaningful(text)
	}
	spokenWords := words(pool)
	said := make(map[string]bool, 2*len(spokenWords))
	normal := make([]string, 0, len(spokenWords))
	for _, w := range spokenWords {
		for part := range strings.FieldsSeq(expand(w)) {
			said[part] = true
			said[stem(part)] = true
			normal = append(normal, part)
		}
	}
	flat := strings.Join(normal, " ")
	names := capitalised(text)
	total, covered := 0, 0
	meant := false // something beside assent is said
	for _, w := range words(text) {
		for part := range strings.FieldsSeq(expand(w)) {
			if names[part] || protected(part) {
				if !said[part] && !said[stem(part)] {
					return false
				}
				meant = meant || !assents[part]
				continue
			}
			if functionWords[part] {
				continue
			}
			total++
			meant = meant || !assents[part]
			if said[part] || said[stem(part)] || !ascii(part) && strings.Contains(flat, part) {
				covered++
			}
		}
	}
	return (meant || !keyed) && covered*coverDen >= total*coverNum
}

// clausesOf splits a text where a new statement may begin: after punctuation
// that ends a word, at line breaks, and at the words that join clauses.
func clausesOf(s string) []string {
	s = cjkStops.Replace(s)
	var out []string
	var cur []string
	flush := func() {
		if len(cur) > 0 {
			out = append(out, strings.Join(cur, " "))
		}
		cur = nil
	}
	for line := range strings.Lines(s) {
		for field := range strings.FieldsSeq(line) {
			switch strings.ToLower(field) {
			case "but", "and", "though", "although", "however", "whereas", "because", "while", "so":
				flush()
			}
			cur = append(cur, field)
			if strings.ContainsAny(field[len(field)-1:], ".,;:!?") {
				flush()
			}
		}
		flush()
	}
	return out
}

var cjkStops = strings.NewReplacer("。", "。\n", "，", "，\n", "！", "！\n", "？", "？\n", "；", "；\n", "、", "、\n")

// denials are the negators of a text.
func denials(text string) map[string]bool {
	var out map[string]bool
	for _, w := range words(text) {
		for part := range strings.FieldsSeq(expand(w)) {
			if negators[part] {
				if out == nil {
					out = map[string]bool{}
				}
				out[part] = true
			}
		}
	}
	return out
}

// within reports whether everything in a is in b.
func within(a, b map[string]bool) bool {
	for w := range a {
		if !b[w] {
			return false
		}
	}
	return true
}

// keyProven reports whether the user's words hold the content words of a key
// that no registry knows: a key is read by models too, and an agent that chose
// "always approve refunds" as one would put an order beside honest words.
func keyProven(key string, spoken []string) bool {
	said := map[string]bool{}
	for _, w := range words(strings.Join(spoken, "\n")) {
		said[stem(w)] = true
	}
	split := strings.FieldsFunc(key, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range split {
		for _, part := range words(w) {
			if !functionWords[part] && !said[stem(part)] {
				return false
			}
		}
	}
	return true
}

// verbatimIn reports whether the text stands in the pool word for word, between
// white space: then every word of it is covered.
func verbatimIn(pool, text string) bool {
	i := strings.Index(pool, text)
	if i < 0 || text == "" {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(pool[:i])
	after, _ := utf8.DecodeRuneInString(pool[i+len(text):])
	return (i == 0 || unicode.IsSpace(before)) && (i+len(text) == len(pool) || unicode.IsSpace(after))
}

// meaningful reports whether something beside assent is said.
func meaningful(text string) bool {
	if ascii(text) {
		// Nearly always one of the first words settles it, whatever is a name.
		var few [8]string
		for field := range strings.FieldsSeq(text) {
			if verbatim(field) {
				continue
			}
			for _, w := range appendWords(few[:0], strings.ToLower(field)) {
				if e := expand(w); e == w && !functionWords[w] && !assents[w] {
					return true
				}
			}
		}
	}
	names := capitalised(text)
	for _, w := range words(text) {
		for part := range strings.FieldsSeq(expand(w)) {
			if (names[part] || protected(part) || !functionWords[part]) && !assents[part] {
				return true
			}
		}
	}
	return false
}

// assents agree to what somebody else said. A keyed record that holds nothing
// else gets its meaning from its key, which the user never spoke: the delayed
// "yes".
var assents = set(`yes yeah yep yup ok okay sure right correct true agreed fine exactly indeed absolutely definitely
	certainly please thanks thank good great alright confirmed confirm
	oui sí si ja jawohl sim sì да evet tak はい うん 是 是的 好 好的 对 네 예 نعم हाँ`)

// protected words carry the fact by themselves.
func protected(w string) bool {
	if negators[w] || verbatim(w) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsDigit(r) || unicode.IsSymbol(r)
}

// capitalised collects the words written as names: capitalised, and not
// because a sentence starts there.
func capitalised(text string) map[string]bool {
	names := map[string]bool{}
	start := true
	for field := range strings.FieldsSeq(text) {
		word := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		r, _ := utf8.DecodeRuneInString(word)
		if word != "" && !start && unicode.IsUpper(r) && word != "I" {
			for _, w := range words(word) {
				names[w] = true
			}
		}
		start = strings.ContainsAny(field[len(field)-1:], ".!?:;\n")
	}
	return names
}

// stem strips the commonest English endings, enough to match "prefers" with
// "prefer" and "allergies" with "allergy". Words outside ASCII stay whole.
func stem(w string) string {
	if !ascii(w) || len(w) < 4 {
		return w
	}
	if base, ok := strings.CutSuffix(w, "'s"); ok {
		return strings.TrimSuffix(base, "e") // "Alexis's" too
	}
	for _, e := range []struct{ end, to string }{
		{"ies", "y"}, {"sses", "ss"}, {"ches", "ch"}, {"shes", "sh"}, {"xes", "x"}, {"s", ""}, {"ied", "y"}, {"ing", ""}, {"ed", ""}, {"ly", ""},
	} {
		if base, ok := strings.CutSuffix(w, e.end); ok && len(base) >= 3 && !strings.HasSuffix(base+e.to, "s") {
			w = base + e.to
			break
		}
	}
	return strings.TrimSuffix(w, "e")
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// functionWords are not content: articles, pronouns, auxiliaries,
// prepositions, and the words by which a record names the person.
var functionWords = set(`a about above after again all am an and any are as at be because been before being below
	between both but by can could did do does doing down during each few for from further had has have having he her
	here hers herself him himself his how i if in into is it its itself just me more most my myself now of off on once
	only or other our ours ourselves out over own same she should so some such than that the their theirs them
	themselves then there these they this those through to too under until up us very was we were what when where which
	while who whom why will with would you your yours yourself also please really quite user customer client person
	shall may might must`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// excerptCap bounds what is kept of a long message as evidence.
const excerptCap = 2 << 10

// excerpt is the part of a message that supports the text: all of it when
// short, else whole sentences that share content words with it, in order.
func excerpt(message, text string) string {
	if len(message) <= excerptCap {
		return message
	}
	want := map[string]bool{}
	for _, w := range words(text) {
		if !functionWords[w] {
			want[stem(w)] = true
		}
	}
	var kept []string
	size := 0
	for _, s := range sentences(message) {
		if size+len(s) > excerptCap || !slices.ContainsFunc(words(s), func(w string) bool { return want[stem(w)] }) {
			continue
		}
		kept = append(kept, strings.TrimSpace(s))
		size += len(s) + 5
	}
	return strings.Join(kept, " ... ")
}

func sentences(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '.' || r == '!' || r == '?' || r == '。' })
}
