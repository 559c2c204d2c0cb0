package rules

import (
	"strings"
	"unicode"
)

// Other languages are covered for two things only: the user's name and
// allergies. Values stay as said.

// foreigns are patterns of languages that put spaces between words.
var foreigns = compiled([]rule{
	{key: "name", take: "person", says: []string{
		"je m'appelle <person>", "mon nom est <person>", "ich heiße|heisse <person>", "mein name ist <person>",
		"me llamo <person>", "mi nombre es <person>", "mi chiamo <person>", "il mio nome è <person>",
		"meu nome é <person>", "me chamo <person>", "eu me chamo <person>", "ik heet <person>", "mijn naam is <person>",
		"nama saya <person>", "nama saya adalah <person>", "jag heter <person>", "jeg heter <person>",
	}},
	{key: "allergy", take: "foreign", says: []string{
		"je suis allergique aux|à|au <foreign>", "je suis allergique à la <foreign>",
		"j'ai une allergie aux|à|au <foreign>", "j'ai une allergie à la <foreign>",
		"ich bin allergisch gegen|auf <foreign>", "ich bin gegen <foreign> allergisch", "ich habe eine allergie gegen <foreign>",
		"yo? soy alérgico|alérgica a|al la|los|las|el? <foreign>", "tengo alergia a|al la|los|las|el? <foreign>",
		"tengo una alergia a|al la|los|las|el? <foreign>",
		"sono allergico|allergica a|al|alla|ai|alle|agli|allo <foreign>", "ho un'allergia a|al|alla|ai|alle|agli|allo <foreign>",
		"eu? sou alérgico|alérgica a|ao|à|aos|às <foreign>", "eu? tenho alergia a|ao|à|aos|às <foreign>",
		"ik ben allergisch voor <foreign>", "saya alergi terhadap? <foreign>", "jag är allergisk mot <foreign>",
		"jeg er allergisk mot <foreign>",
	}},
})

// framed are statements of languages without spaces: the value stands between
// the two ends.
var framed = []struct{ key, before, after string }{
	{"allergy", "我对", "过敏"}, {"allergy", "我對", "過敏"},
	{"allergy", "私は", "にアレルギーがあります"}, {"allergy", "私は", "アレルギーがあります"}, {"allergy", "私は", "アレルギーです"},
	{"allergy", "나는 ", " 알레르기가 있"}, {"allergy", "저는 ", " 알레르기가 있"}, {"allergy", "제가 ", " 알레르기가 있"},
	{"name", "我叫", ""}, {"name", "私の名前は", "です"}, {"name", "私の名前は", "で"},
}

// joiners of clauses and lists in the languages above.
var foreignJoints = set("et|und|y|e|ed|en|dan|och|og|mais|aber|pero|ma|mas|maar|tapi|men|car|denn|porque|perché|dus|donc|also|allergisch")

// foreignPoison makes what follows it somebody else's word, a condition or a
// guess.
var foreignPoison = set(`sagt|sagte|sagen|meint|meinte|denkt|glaubt|glaubte|behauptet|schreibt|fragt|wenn|falls|ob|als|angenommen|vielleicht|stell
dit|disent|pense|croit|prétend|écrit|demande|si|peut-être|imagine|supposons
dice|dicen|dijo|piensa|cree|pregunta|quizás|imagina|supongamos|dicono|pensa|crede|se|forse|immagina|diz|dizem|acha|talvez|imagine
zegt|zei|denkt|gelooft|als|misschien|stel|säger|sier|tror|om|hvis|kanske|kanskje|kata|kalau|jika|mungkin`)

// foreign reads the sentence by the patterns above.
func (r *reading) foreign(s *sentence) {
	if s.question || s.quoted(0) {
		return
	}
	for start := range s.tokens {
		if start > 0 && foreignPoison[s.word(start-1)] || foreignPoison[s.word(start)] {
			break
		}
		if start > 0 && s.word(start-1) != "," && !foreignJoints[s.word(start-1)] && !(start == 1 && greetings[s.word(0)]) {
			continue
		}
		if r.foreignClause(s, start) {
			return
		}
	}
	r.frame(s)
}

func (r *reading) foreignClause(s *sentence, start int) bool {
	for k := range foreigns {
		rule := &foreigns[k]
		for _, p := range rule.patterns {
			if p.at(s, start, func(m match) bool {
				if w := s.word(m.to); m.to < len(s.tokens) && w != "," && !foreignJoints[w] {
					return false
				}
				r.state(s, rule, m, moment{}, assert)
				return true
			}) {
				return true
			}
		}
	}
	return false
}

// foreignItems reads one to three things joined by "et", "und", "y" ...
func foreignItems(s *sentence, i int) []capture {
	c := capture{from: i, to: i}
	for len(c.values) < 8 {
		j := i
		for j < len(s.tokens) && j < i+2 && s.tokens[j].kind == letters && !foreignJoints[s.word(j)] {
			j++
		}
		if j == i || foreignVague[s.word(i)] {
			break
		}
		c.values = append(c.values, lower(s, i, j))
		c.to = j
		if s.word(j) != "," && !(foreignJoints[s.word(j)] && j+1 < len(s.tokens)) {
			break
		}
		i = j + 1
		for foreignArticles[s.word(i)] {
			i++
		}
	}
	if c.values == nil {
		return nil
	}
	return []capture{c}
}

var greetings = set("hi|hello|hey|hei|hola|salut|hallo|bonjour|ciao|olá|oi|hoi|hej|halo|hai")

var (
	foreignVague    = set("rien|nichts|nada|niente|niets|apa-apa|ça|das|eso|je|ich|yo|io|ik|saya|eu|que|wat|was|todo|tout|alles|tutto|tudo|j'ai|pas|nicht|no|non|niet|não|tidak")
	foreignArticles = set("les|la|le|aux|à|au|die|das|der|gegen|los|las|el|a|al|alla|ai|alle|agli|os|as|o|ao|aos|às|voor|mot")
)

// frame reads statements of Chinese, Japanese and Korean.
func (r *reading) frame(s *sentence) {
	if len(s.tokens) == 0 {
		return
	}
	from, to := s.tokens[0].start, s.tokens[len(s.tokens)-1].end
	for _, part := range strings.FieldsFunc(s.text[from:to], func(c rune) bool { return strings.ContainsRune("，、,;；", c) }) {
		part = strings.TrimSpace(part)
		for _, f := range framed {
			rest, ok := strings.CutPrefix(part, f.before)
			if !ok {
				continue
			}
			value, tail := rest, ""
			if f.after != "" {
				if value, tail, ok = strings.Cut(rest, f.after); !ok {
					continue
				}
			}
			if n := len([]rune(value)); n < 1 || n > 8 || !plainScript(value) || len([]rune(tail)) > 3 || strings.ContainsAny(value, "不没沒也都") ||
				strings.HasSuffix(tail, "吗") || strings.HasSuffix(tail, "か") {
				continue
			}
			r.add(fact{key: f.key, value: value, text: part})
			break
		}
	}
}

// plainScript reports whether a value is letters only and no Latin.
func plainScript(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && r != 'ー' || r < 0x250 {
			return false
		}
	}
	return true
}
