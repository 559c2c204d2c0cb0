package policy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Category is a kind of personal data.
type Category string

// The categories that have a recogniser.
const (
	Email        Category = "email"
	Phone        Category = "phone"
	Address      Category = "address"
	GovernmentID Category = "government_id"
	Card         Category = "card"
	IBAN         Category = "iban"
	BirthDate    Category = "date_of_birth"
	Geo          Category = "geo"
	IP           Category = "ip"
	Health       Category = "health"
)

// categories are all of them, in the order of reports.
var categories = [...]Category{Email, Phone, Address, GovernmentID, Card, IBAN, BirthDate, Geo, IP, Health}

// Action is what policy does about something it found.
type Action string

// The actions, from mild to strict. RedactSpan has the candidate kept with a
// typed placeholder ("[PII:phone]") in the span's place; what has no span in
// the text, because it stands in the value or the quote alone, is held.
const (
	Allow      Action = "allow"
	Hold       Action = "hold"
	RedactSpan Action = "redact"
	Reject     Action = "reject"
)

// PIIRule says what happens to a category in a tier. From is the label from
// which the action counts; below it the candidate is held.
type PIIRule struct {
	Category Category    `json:"category"`
	Tier     tenet.Tier  `json:"tier,omitzero"` // zero: every tier
	Action   Action      `json:"action"`
	From     tenet.Label `json:"from,omitzero"` // for allow: the lowest label that is allowed
}

// defaultPII is the reference's table. Later rules win.
func defaultPII() []PIIRule {
	var rules []PIIRule
	for _, c := range []Category{Email, Phone, Address, BirthDate, Geo} {
		rules = append(rules, PIIRule{Category: c, Action: Allow}, PIIRule{c, tenet.TierFact, Allow, tenet.LabelUserStated})
	}
	return append(rules,
		PIIRule{Category: IP, Action: Allow},
		PIIRule{Category: GovernmentID, Action: Reject},
		PIIRule{Category: Card, Action: Reject},
		PIIRule{Category: IBAN, Action: Reject},
		PIIRule{Category: Health, Action: Allow},
		PIIRule{Health, tenet.TierFact, Allow, tenet.LabelUserStated}, // so that the allergy works
		PIIRule{Health, tenet.TierNote, Allow, tenet.LabelUserStated},
	)
}

// piiSpan is personal data at [start, end) of the scanned text.
type piiSpan struct {
	category   Category
	start, end int
}

// piiRules are the recognisers, compiled once for each policy.
type piiRules struct {
	mail, phone, phoneWord, house, street, ssn, idWord, nino, cpf, birth, geo, ip, chinese, dni, fiscal *regexp.Regexp
}

// all are the expressions in a fixed order, for the digest.
func (p *piiRules) all() []any {
	return []any{p.mail, p.phone, p.phoneWord, p.house, p.street, p.ssn, p.idWord, p.nino, p.cpf, p.birth, p.geo, p.ip, p.chinese, p.dni, p.fiscal}
}

func newPII() *piiRules {
	re := regexp.MustCompile
	return &piiRules{
		mail:      re(`(?i)\b[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,4}\.(?:[a-z]{2,24}|xn--[a-z0-9-]{1,59})\b`),
		phone:     re(`(?:\+|\b00)[1-9][0-9](?:[ ().-]{0,2}[0-9]){5,13}\b|\(?\b[0-9]{3}\)?[ .-][0-9]{3}[ .-][0-9]{4}\b`),
		phoneWord: re(`(?i)\b(?:phone|telephone|tel|mobile|cell|handy|telefon\w*|teléfono|téléphone|portable|numara\w*|call me (?:at|on)|电话|電話|手机|携帯|전화\w*|телефон)\b?[^0-9\n+]{0,24}([+(]?[0-9](?:[ ().-]{0,2}[0-9]){6,13})`),
		house:     re(`(?i)^[0-9]{1,5}[a-z]?,? (?:[a-z'.-]{1,24} ){1,4}(?:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court|ct|square|sq|terrace|way|place|pl|close|crescent)\b`),
		street: re(`(?i)\b[a-zäöüß.-]{2,30}(?:straße|strasse|str\.|weg|platz|allee|gasse) ?[0-9]{1,4}\b` +
			`|\b[0-9]{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|impasse|chemin|quai) [^\n,.;]{2,40}` +
			`|\b(?:calle|avenida|plaza|paseo|rua|via|viale|piazza) [a-zà-ÿ' ]{2,40},? (?:n[ºo.] ?)?[0-9]{1,4}\b`),
		ssn:     re(`\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b`),
		idWord:  re(`(?i)\b(?:ssn|social security(?: number)?|passport(?: (?:no|number))?|driver'?s? licen[cs]e(?: (?:no|number))?|national id|id card number|tax id|steuer-?id|personalausweis\w*|reisepass\w*|passeport|pasaporte|dni|nie|tc kimlik(?: no)?|kimlik no|aadhaar|codice fiscale|身份证号?|护照号?|マイナンバー|주민등록번호|паспорт)[^A-Za-z0-9\n]{0,3}(?:is|ist|es|est|number|no|nr|:|#|=|是|는|は|：)?[^A-Za-z0-9\n]{0,3}([A-Z0-9][A-Z0-9 -]{4,18}[A-Z0-9])`),
		nino:    re(`\b[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b`),
		cpf:     re(`\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b`),
		chinese: re(`\b[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9Xx]\b`),
		dni:     re(`\b[XYZ]?[0-9]{7,8}-?[A-Z]\b`),
		fiscal:  re(`\b[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]\b`),
		birth: re(`(?i)(?:\b(?:born|birthday|birth date|birthdate|date of birth|d\.?o\.?b\.?|geboren|geburtsdatum|geburtstag|nacimiento|nací|cumpleaños|né le|née le|date de naissance|nascimento|nato il|nata il|doğum)\b|родил\w*|рождения|生日|出生|誕生日|생일)` +
			`[^0-9\n]{0,24}([0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4}|[0-9]{1,2}(?:st|nd|rd|th|\.)? (?:of )?[a-zà-ÿа-я]{3,12},? [0-9]{4}|[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日)`),
		geo: re(`-?\b[0-9]{1,2}\.[0-9]{3,8}°?,\s?-?[0-9]{1,3}\.[0-9]{3,8}\b`),
		ip:  re(`\b(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})\b`),
	}
}

// find returns the personal data in a plain text. Cards and IBANs are found
// with the secrets, health words with the lexicon.
func (p *piiRules) find(text string) []piiSpan {
	var out []piiSpan
	group := func(c Category, re *regexp.Regexp, ok func(string) bool) {
		for _, m := range re.FindAllStringSubmatchIndex(text, 32) {
			a, b := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				a, b = m[2], m[3]
			}
			if ok == nil || ok(text[a:b]) {
				out = append(out, piiSpan{c, a, b})
			}
		}
	}
	if strings.IndexByte(text, '@') >= 0 {
		group(Email, p.mail, nil)
	}
	n := digits(text)
	if n == 0 {
		return out
	}
	// Each expression is tried only where one of its words stands.
	low := strings.ToLower(text)
	out = p.houses(text, out)
	if contains(low, streetWords) {
		group(Address, p.street, nil)
	}
	if n >= 4 && contains(low, birthWords) {
		group(BirthDate, p.birth, nil)
	}
	if n < 5 {
		return out
	}
	if contains(low, idWords) {
		group(GovernmentID, p.idWord, func(s string) bool { return digits(s) >= 4 && len(s) >= 6 })
	}
	if n < 6 {
		return out
	}
	if dots := strings.Count(text, "."); dots >= 2 {
		group(Geo, p.geo, nil)
		if dots >= 3 {
			group(IP, p.ip, nil)
		}
		if n >= 11 && strings.IndexByte(text, '-') > 0 {
			group(GovernmentID, p.cpf, cpf)
		}
	}
	run := longestRun(text)
	if n >= 7 {
		if contains(low, phoneWords) {
			group(Phone, p.phoneWord, nil)
		}
		if run >= 7 {
			group(GovernmentID, p.dni, dni)
		}
		out = p.phones(text, out)
		group(GovernmentID, p.fiscal, nil)
	}
	group(GovernmentID, p.nino, nil)
	if n >= 9 && strings.Count(text, "-") >= 2 {
		group(GovernmentID, p.ssn, ssn)
	}
	if run >= 17 {
		group(GovernmentID, p.chinese, chineseID)
	}
	return out
}

// houses finds addresses that begin with a house number.
func (p *piiRules) houses(text string, out []piiSpan) []piiSpan {
	for i := 0; i < len(text); i++ {
		if !digit(text[i]) || i > 0 && (alnum(text[i-1]) || text[i-1] == '.' || text[i-1] == ',') {
			continue
		}
		j := i
		for j < len(text) && alnum(text[j]) {
			j++
		}
		if j-i <= 6 && j < len(text) && (text[j] == ' ' || text[j] == ',') {
			if m := p.house.FindStringIndex(text[i:min(len(text), i+110)]); m != nil {
				out = append(out, piiSpan{Address, i, i + m[1]})
				j = i + m[1]
			}
		}
		i = j
	}
	return out
}

// phones finds telephone numbers in clusters of digits and separators.
func (p *piiRules) phones(text string, out []piiSpan) []piiSpan {
	for i := 0; i < len(text); i++ {
		if !digit(text[i]) && text[i] != '+' && text[i] != '(' || i > 0 && alnum(text[i-1]) {
			continue
		}
		n, gap, j := 0, 0, i
		for j < len(text) && gap <= 2 {
			switch {
			case digit(text[j]):
				n, gap = n+1, 0
			case strings.IndexByte("+ ().-", text[j]) >= 0:
				gap++
			default:
				gap = 3
				continue
			}
			j++
		}
		if n >= 8 && n <= 20 {
			if m := p.phone.FindStringIndex(text[i:j]); m != nil && digits(text[i+m[0]:i+m[1]]) >= 8 {
				out = append(out, piiSpan{Phone, i + m[0], i + m[1]})
			}
		}
		i = max(i, j-1)
	}
	return out
}

// The words without which an expression cannot match.
var (
	streetWords = strings.Fields(`straße calle strasse str. weg platz allee gasse rue impasse chemin quai avenida plaza paseo rua viale piazza boulevard avenue`)
	birthWords  = strings.Fields(`born birth d.o.b dob gebor geburt nacim nací cumple né née naissance nascimento nato nata doğum родил рожден 生日 出生 誕生 생일`)
	idWords     = strings.Fields(`ssn social passport licen national card tax steuer ausweis reisepass passeport pasaporte dni nie kimlik aadhaar codice 身份 护照 マイナ 주민 паспорт`)
	phoneWords  = strings.Fields(`phone tel mobile cell handy teléfono téléphone portable numara call 电话 電話 手机 携帯 전화 телефон`)
)

func contains(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// longestRun is the length of the longest unbroken run of digits.
func longestRun(s string) int {
	best, n := 0, 0
	for i := 0; i < len(s); i++ {
		if !digit(s[i]) {
			n = 0
			continue
		}
		n++
		best = max(best, n)
	}
	return best
}

// ssn reports whether the area, group and serial of a US number exist.
func ssn(s string) bool {
	return s[:3] != "000" && s[:3] != "666" && s[4:6] != "00" && s[7:] != "0000"
}

// cpf checks the two check digits of a Brazilian number.
func cpf(s string) bool {
	var d [11]int
	n := 0
	for i := 0; i < len(s) && n < 11; i++ {
		if digit(s[i]) {
			d[n] = int(s[i] - '0')
			n++
		}
	}
	check := func(k int) int {
		sum := 0
		for i := 0; i < k; i++ {
			sum += d[i] * (k + 1 - i)
		}
		return sum * 10 % 11 % 10
	}
	return n == 11 && check(9) == d[9] && check(10) == d[10]
}

// chineseID checks the check character of an 18-character identity number.
func chineseID(s string) bool {
	weights := [17]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}
	sum := 0
	for i, w := range weights {
		sum += int(s[i]-'0') * w
	}
	return "10X98765432"[sum%11] == strings.ToUpper(s)[17]
}

// dni checks the letter of a Spanish identity number.
func dni(s string) bool {
	s = strings.ReplaceAll(s, "-", "")
	if len(s) != 9 {
		return false
	}
	n := 0
	for i := 0; i < 8; i++ {
		c := s[i]
		if i == 0 && c >= 'X' {
			c = '0' + c - 'X'
		}
		if !digit(c) {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return "TRWAGMYFPDXBNJZSQVHLCKE"[n%23] == s[8]
}

// piiAction is what the table says, as a finding's outcome.
func (p *Policy) piiAction(c Category, tier tenet.Tier, label tenet.Label) Action {
	a := Allow
	for _, r := range p.config.PII {
		if r.Category != c || r.Tier != 0 && r.Tier != tier {
			continue
		}
		a = r.Action
		if a == Allow && label < r.From {
			a = Hold
		}
	}
	return a
}

// decidePII gives a finding the outcome that the table says.
func (p *Policy) decidePII(g *gate.Finding, c Category, pr gate.Proposal) {
	a := p.piiAction(c, pr.Candidate.Tier, pr.Label)
	g.Check = "pii"
	spanned := g.Start < g.End
	g.Hold = a == Hold || a == RedactSpan && !spanned
	g.Redact = a == RedactSpan && spanned
	g.Reject = a == Reject
	g.Mask = a == Reject || a == RedactSpan // in the log of what another check refuses
}

// checkPIIBeside reports personal data in another field than the text.
func (p *Policy) checkPIIBeside(pr gate.Proposal, f *form, fs []gate.Finding) []gate.Finding {
	for _, m := range p.pii.find(f.plain) {
		g := gate.Finding{Finding: tenet.Finding{Check: "pii", Code: tenet.Code("PII:" + m.category)}}
		p.decidePII(&g, m.category, pr)
		fs = append(fs, g)
	}
	return fs
}

// unsaid leaves out of findings in a part beside the text the personal data
// that the text holds in the same words. There it has a span, which decides;
// and what redacts the span redacts those words in the value, and the quote
// with all its own.
func (p *Policy) unsaid(pr gate.Proposal, part string, fs []gate.Finding) []gate.Finding {
	personal := func(f gate.Finding) bool { return strings.HasPrefix(string(f.Code), "PII:") }
	if !slices.ContainsFunc(fs, personal) {
		return fs
	}
	text := pr.Candidate.Text
	f := canonicalise(text)
	said := p.checkSecrets(f, true, nil)
	for _, m := range p.pii.find(f.plain) {
		a, b := f.plainSpan(m.start, m.end)
		said = append(said, gate.Finding{Finding: tenet.Finding{Code: tenet.Code("PII:" + m.category), Start: a, End: b}})
	}
	in := map[tenet.Code]bool{}
	for _, g := range said {
		if personal(g) && 0 <= g.Start && g.Start < g.End && g.End <= len(text) {
			in[g.Code] = true
			part = strings.ReplaceAll(part, text[g.Start:g.End], "\n")
		}
	}
	rest := legible(part)
	left := map[tenet.Code]bool{}
	for _, g := range p.checkPIIBeside(pr, rest, p.checkSecrets(rest, false, nil)) {
		left[g.Code] = true
	}
	return slices.DeleteFunc(fs, func(g gate.Finding) bool { return personal(g) && in[g.Code] && !left[g.Code] })
}

// checkPII reports personal data. What is allowed is still named, so that a
// subject's data can be found by category.
func (p *Policy) checkPII(pr gate.Proposal, s *scan, f *form, fs []gate.Finding) []gate.Finding {
	add := func(c Category, a, b int) {
		g := gate.Finding{Finding: tenet.Finding{Check: "pii", Code: tenet.Code("PII:" + c), Start: a, End: b}}
		p.decidePII(&g, c, pr)
		fs = append(fs, g)
	}
	for _, m := range p.pii.find(f.plain) {
		a, b := f.plainSpan(m.start, m.end)
		add(m.category, a, b)
	}
	for _, m := range s.found {
		if p.lexicon.rules[m.rule].code == "#health" {
			a, b := f.span(int(s.tokens[m.start].start), int(s.tokens[m.end-1].end))
			add(Health, a, b)
			break // once is enough to flag the fact
		}
	}
	return fs
}
