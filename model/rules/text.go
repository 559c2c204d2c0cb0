package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word, a number, an address or one sign of a message. Word is
// its comparable form: lower case, typographic apostrophes made plain,
// contractions opened ("I'm" is "i" and "am"). Start and End are byte offsets
// into the message, so that what is proposed are the message's own words.
type token struct {
	word       string
	start, end int
	kind       kind
	upper      bool // written with a capital
}

type kind uint8

const (
	letters kind = iota + 1
	number
	address // an e-mail address or URL: compared character by character
	sign    // everything else that is not space
)

// A sentence is what stands between two ends of sentence.
type sentence struct {
	text     string // the whole message
	tokens   []token
	question bool
	lower    bool // the message has no capital at all: names can't show theirs
}

// maxSentence bounds the work on one sentence: nobody states a fact about
// himself in the two-hundredth word.
const maxSentence = 200

// sentences cuts a message. Lines of code, quotations ("> ..."), list items
// and lines that begin with a speaker's name ("Bob: ...") are pasted material
// and are left out.
func sentences(text string) []sentence {
	var out []sentence
	lower := strings.IndexFunc(text, unicode.IsUpper) < 0
	fenced, shown := false, false
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		line := strings.TrimSpace(text[start:end])
		// "What does this mean:" shows what follows, up to an empty line.
		if head, ok := strings.CutSuffix(line, ":"); ok {
			shown = !introduces(strings.ToLower(head))
		} else if line == "" {
			shown = false
		}
		switch {
		case shown:
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case !fenced && !pasted(line):
			out = append(out, cut(text, start, end, lower)...)
		}
		start = end + 1
	}
	return out
}

// pasted reports whether a line looks brought along and not said.
func pasted(line string) bool {
	if line == "" {
		return true
	}
	switch line[0] {
	case '>', '|', '#', '*', '-', '<', '{', '[', '/', '"':
		return true
	}
	r, _ := utf8.DecodeRuneInString(line)
	if unicode.IsDigit(r) || strings.HasPrefix(line, "\u201c") || strings.HasPrefix(line, "\u2022") {
		return true
	}
	head, rest, ok := strings.Cut(line, ":")
	if !ok || len(head) > 30 || strings.HasPrefix(rest, "//") {
		return false
	}
	words := strings.Fields(strings.ToLower(head))
	return len(words) <= 3 && !announces[strings.Join(words, " ")]
}

// announces are heads that introduce the user's own statement.
var announces = set("note|fyi|correction|update|reminder|ps|edit|btw|remember|please note|please remember|also|info|for reference|for the record|quick note|side note|about me|my email|my email address|my e-mail|my phone|my phone number|my name|my number|allergies|my allergies")

// cut splits one line into sentences.
func cut(text string, start, end int, lower bool) []sentence {
	var out []sentence
	s := sentence{text: text, lower: lower}
	flush := func(question bool) {
		s.question = question
		if len(s.tokens) > 0 && len(s.tokens) <= maxSentence {
			s.open()
			out = append(out, s)
		}
		s = sentence{text: text, lower: lower}
	}
	for i := start; i < end; {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsSpace(r), pictograph(r):
			i += n
		case r == '?' || r == '!' || r == '.' || r == '\u2026' || r == '。' || r == '！' || r == '？':
			j := i
			question := false
			for j < end {
				r, n := utf8.DecodeRuneInString(text[j:])
				if !strings.ContainsRune("?!.…。！？", r) {
					break
				}
				question = question || r == '?' || r == '？'
				j += n
			}
			if r == '.' && j < end && !spaceAt(text, j) || r == '.' && abbreviated(s.tokens) {
				i = j // inside a word or after "Dr."
				continue
			}
			flush(question)
			i = j
		default:
			t := scan(text[:end], i)
			s.tokens = append(s.tokens, t)
			i = t.end
		}
	}
	flush(false)
	return out
}

// pictograph reports whether a rune decorates and says nothing. Those that
// make a joke, a doubt or a denial of what they stand beside are read as signs,
// and a sign that the grammar does not know keeps a statement from being read.
func pictograph(r rune) bool {
	switch {
	case strings.ContainsRune("\u2049\u2753\u2754\u274c\u274e\U0001f6ab\U0001f645\U0001f914\U0001f643\U0001f609\U0001f60f\U0001f61c\U0001f61d\U0001f92a\U0001f639\U0001f606\U0001f602\U0001f923\U0001f605\U0001f644\U0001f921", r):
		return false
	case r == '\ufe0f' || r == '\u200d' || r == '\u20e3':
		return true
	}
	return r >= 0x2600 && r <= 0x27bf || r >= 0x1f000 && r <= 0x1faff
}

func spaceAt(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return unicode.IsSpace(r) || r == '"' || r == '\'' || r == ')' || r == '\u201d' || r == '\u2019'
}

var abbreviations = set("dr|mr|mrs|ms|st|mt|ft|jr|sr|prof|vs|etc|approx|no|dept|inc|ltd|co|corp")

func abbreviated(ts []token) bool {
	if len(ts) == 0 {
		return false
	}
	last := ts[len(ts)-1]
	return last.kind == letters && (abbreviations[last.word] && last.upper || len(last.word) == 1 && last.word != "i" && last.upper)
}

// scan reads the token at i.
func scan(text string, i int) token {
	if i == 0 || spaceBefore(text, i) {
		if e := field(text, i); isAddress(text[i:e]) {
			return token{text[i:e], i, e, address, false}
		}
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	switch {
	case unicode.IsDigit(r):
		j := i + n
		for j < len(text) {
			r, n := utf8.DecodeRuneInString(text[j:])
			if unicode.IsDigit(r) || strings.ContainsRune(".,:/-", r) && digitAt(text, j+n) {
				j += n
				continue
			}
			break
		}
		return token{text[i:j], i, j, number, false}
	case unicode.IsLetter(r):
		j := i + n
		for j < len(text) {
			r, n := utf8.DecodeRuneInString(text[j:])
			if unicode.IsLetter(r) || unicode.IsMark(r) || (r == '\'' || r == '\u2019' || r == '-') && letterAt(text, j+n) {
				j += n
				continue
			}
			break
		}
		w := strings.ReplaceAll(strings.ToLower(text[i:j]), "\u2019", "'")
		return token{w, i, j, letters, unicode.IsUpper(r)}
	}
	return token{text[i : i+n], i, i + n, sign, false}
}

func field(text string, i int) int {
	if j := strings.IndexFunc(text[i:], unicode.IsSpace); j >= 0 {
		text = text[:i+j]
	}
	return i + len(strings.TrimRight(text[i:], ".,;!?)"))
}

func spaceBefore(text string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:i])
	return unicode.IsSpace(r)
}

func isAddress(f string) bool {
	return strings.Contains(f, "://") || strings.IndexByte(f, '@') > 0 && strings.IndexByte(f, '.') > 0
}

func digitAt(text string, i int) bool { return i < len(text) && text[i] >= '0' && text[i] <= '9' }

func letterAt(text string, i int) bool {
	if i >= len(text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return unicode.IsLetter(r)
}

// ends are the contractions that stand for a word of their own; the possessive
// 's stays as it is.
var ends = []struct{ end, word string }{
	{"n't", "not"}, {"'m", "am"}, {"'ve", "have"}, {"'ll", "will"}, {"'re", "are"}, {"'d", "would"}, {"'s", "'s"},
}

var isForms = set("it|that|he|she|there|what|who|where|here")

// open replaces contractions by their words, and so it does with those that a
// tokeniser tore apart ("i m", "don t").
func (s *sentence) open() {
	out := make([]token, 0, len(s.tokens)+4)
	for i, t := range s.tokens {
		if i > 0 && t.kind == letters && len(t.word) <= 2 {
			prev := s.tokens[i-1].word
			switch {
			case t.word == "m" && prev == "i":
				t.word = "am"
			case t.word == "ve" && prev == "i":
				t.word = "have"
			case t.word == "t" && len(out) > 0 && torn[prev] != "":
				out[len(out)-1].word = torn[prev]
				t.word = "not"
			}
		}
		if t.word == "cannot" {
			out = append(out, token{"can", t.start, t.start + 3, letters, t.upper}, token{"not", t.start + 3, t.end, letters, false})
			continue
		}
		split := false
		if t.kind == letters && strings.IndexByte(t.word, '\'') > 0 {
			for _, e := range ends {
				base, ok := strings.CutSuffix(t.word, e.end)
				if !ok || base == "" {
					continue
				}
				w := e.word
				switch {
				case base == "ca" || base == "wo":
					base = map[string]string{"ca": "can", "wo": "will"}[base]
				case w == "'s" && isForms[base]:
					w = "is"
				}
				mid := t.start + strings.LastIndexAny(s.text[t.start:t.end], "'\u2019")
				if e.end == "n't" {
					mid--
				}
				if mid <= t.start || mid >= t.end {
					break
				}
				out = append(out, token{base, t.start, mid, letters, t.upper}, token{w, mid, t.end, letters, false})
				split = true
				break
			}
		}
		if !split {
			out = append(out, t)
		}
	}
	s.tokens = out
}

// torn are the verbs whose "n't" a tokeniser may have split to "n t".
var torn = map[string]string{"don": "do", "doesn": "does", "didn": "did", "isn": "is", "aren": "are", "wasn": "was", "can": "can",
	"won": "will", "haven": "have", "hasn": "has", "couldn": "could", "wouldn": "would", "shouldn": "should"}

// words is the comparable form of tokens i to j.
func (s *sentence) words(i, j int) string {
	ws := make([]string, 0, j-i)
	for _, t := range s.tokens[i:j] {
		ws = append(ws, t.word)
	}
	return strings.Join(ws, " ")
}

// said is what the message says from token i to j, as written.
func (s *sentence) said(i, j int) string {
	if i >= j {
		return ""
	}
	return s.text[s.tokens[i].start:s.tokens[j-1].end]
}

func (s *sentence) word(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.tokens[i].word
}

// set reads a word list: entries are separated by bars or line ends.
func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.FieldsFunc(list, func(r rune) bool { return r == '|' || r == '\n' }) {
		if w = strings.TrimSpace(w); w != "" {
			m[w] = true
		}
	}
	return m
}
