package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// lexicon is the compiled rule data: words and phrases in classes, and rules
// that are short patterns over classes. It is built once and never written
// again.
type lexicon struct {
	words   byteTrie // spellings, whole or as the start of a word
	phrases phraseTrie
	classes map[string]int32
	rules   []rule
	first   map[int32][]int32 // class of a rule's first element -> rules
	kinds   [symbol + 1]int32 // the classes of addresses and numbers
	tag     tags
}

// tags are the classes that the clause reader asks for by name.
type tags struct {
	opener, verb, consequence, agent, you, modal, first, third, negation, question, condition,
	style, aux, link, agentpart, talk, late, weakverb, weakobject int32
}

// rule is a pattern with what it means.
type rule struct {
	code   tenet.Code
	effect gate.Effect
	when   condition
	elems  []element
}

// condition narrows when a rule counts.
type condition struct {
	directed bool // the clause is a directive, addresses an agent, or the sentence has a persistence marker
	nofirst  bool // not when the clause is about the speaker
	notOwn   bool // not when the match holds a first-person word
	noask    bool // not in a question or a request to explain
	marker   bool // only names a stretch of text; no finding by itself
}

// element is one step of a pattern: a class, after at most gap other tokens.
type element struct {
	class    int32
	gap      int
	optional bool
}

// parseLexicon reads the rule data. Lines are:
//
//	class NAME: word word* "a phrase"     (continued by indented lines)
//	E3 CODE [directed|nofirst|notown]...: pattern
//	mark NAME: pattern
//
// A pattern is made of words, @class, (a|b c|d*), each optionally ending in
// "?", and ~N for a gap of at most N tokens.
func parseLexicon(data string) (*lexicon, error) {
	l := &lexicon{classes: map[string]int32{}, first: map[int32][]int32{}}
	l.phrases.next = map[[2]int32]int32{}
	l.phrases.ends = [][]int32{nil}
	var lines []string
	for n, line := range strings.Split(data, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			if len(lines) == 0 {
				return nil, fmt.Errorf("lexicon line %d: nothing to continue", n+1)
			}
			lines[len(lines)-1] += " " + strings.TrimSpace(line)
		default:
			lines = append(lines, line)
		}
	}
	for k, name := range map[uint8]string{number: "number", mail: "sink", url: "sink", domain: "sink", path: "path"} {
		l.kinds[k] = l.class(name)
	}
	for _, line := range lines {
		head, body, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("lexicon: no colon in %q", line)
		}
		f := strings.Fields(head)
		var err error
		switch {
		case f[0] == "class" && len(f) == 2:
			err = l.addClass(f[1], body)
		case f[0] == "mark" && len(f) == 2:
			err = l.addRule("#"+f[1], gate.E0, condition{marker: true}, body)
		case len(f) >= 2 && len(f[0]) == 2 && f[0][0] == 'E':
			var c condition
			for _, w := range f[2:] {
				switch w {
				case "directed":
					c.directed = true
				case "nofirst":
					c.nofirst = true
				case "noask":
					c.noask = true
				case "notown":
					c.notOwn = true
				default:
					err = fmt.Errorf("unknown condition %s", w)
				}
			}
			e, aerr := strconv.Atoi(f[0][1:])
			if aerr != nil || e > 3 {
				err = fmt.Errorf("unknown effect %s", f[0])
			}
			if err == nil {
				err = l.addRule(f[1], gate.Effect(e), c, body)
			}
		default:
			err = fmt.Errorf("unknown line")
		}
		if err != nil {
			return nil, fmt.Errorf("lexicon: %q: %v", head, err)
		}
	}
	l.phrases.more = make([]bool, len(l.phrases.ends))
	for k := range l.phrases.next {
		l.phrases.more[k[0]] = true
	}
	for name, id := range map[string]*int32{
		"opener": &l.tag.opener, "verb": &l.tag.verb, "consequence": &l.tag.consequence, "agent": &l.tag.agent, "you": &l.tag.you,
		"modal": &l.tag.modal, "first": &l.tag.first, "third": &l.tag.third, "neg": &l.tag.negation, "question": &l.tag.question,
		"cond": &l.tag.condition, "style": &l.tag.style, "aux": &l.tag.aux, "talk": &l.tag.talk, "late": &l.tag.late, "weakverb": &l.tag.weakverb, "weakobject": &l.tag.weakobject, "link": &l.tag.link, "agentpart": &l.tag.agentpart,
	} {
		if *id = l.classes[name]; *id == 0 {
			return nil, fmt.Errorf("lexicon: no class %s", name)
		}
	}
	return l, nil
}

func (l *lexicon) class(name string) int32 {
	id, ok := l.classes[name]
	if !ok {
		id = int32(len(l.classes)) + 1
		l.classes[name] = id
	}
	return id
}

func (l *lexicon) addClass(name, body string) error {
	if l.classes[name] != 0 {
		return fmt.Errorf("class %s is there already", name)
	}
	id := l.class(name)
	for body = strings.TrimSpace(body); body != ""; body = strings.TrimSpace(body) {
		var w string
		if body[0] == '"' {
			end := strings.IndexByte(body[1:], '"')
			if end < 0 {
				return fmt.Errorf("open quote")
			}
			w, body = body[1:end+1], body[end+2:]
		} else if i := strings.IndexAny(body, " \t"); i >= 0 {
			w, body = body[:i], body[i:]
		} else {
			w, body = body, ""
		}
		if err := l.addPhrase(id, w); err != nil {
			return err
		}
	}
	return nil
}

// addPhrase brings a phrase into detection form, so that data and text meet.
func (l *lexicon) addPhrase(class int32, phrase string) error {
	node := int32(0)
	fields := strings.Fields(phrase)
	if len(fields) == 0 {
		return fmt.Errorf("empty phrase")
	}
	for _, w := range fields {
		w, prefix := strings.CutSuffix(w, "*")
		text := canonicalise(w).text
		tokens := tokenise(text, nil)
		if len(tokens) == 0 {
			return fmt.Errorf("no word in %q", w)
		}
		for i, t := range tokens {
			id := l.words.add(text[t.start:t.end], prefix && i == len(tokens)-1)
			node = l.phrases.step(node, id)
		}
	}
	l.phrases.ends[node] = append(l.phrases.ends[node], class)
	return nil
}

func (l *lexicon) addRule(code string, e gate.Effect, c condition, body string) error {
	r := rule{code: tenet.Code(code), effect: e, when: c}
	gap := 0
	for _, part := range splitPattern(body) {
		if g, ok := strings.CutPrefix(part, "~"); ok {
			n, err := strconv.Atoi(g)
			if err != nil || n > 12 {
				return fmt.Errorf("bad gap %s", part)
			}
			gap = n
			continue
		}
		part, optional := strings.CutSuffix(part, "?")
		var class int32
		switch {
		case strings.HasPrefix(part, "@"):
			class = l.classes[part[1:]]
			if class == 0 {
				return fmt.Errorf("no class %s", part)
			}
		default:
			name := part
			known := l.classes[name] != 0
			class = l.class(name)
			if !known {
				for _, alt := range strings.Split(strings.Trim(part, "()"), "|") {
					if err := l.addPhrase(class, alt); err != nil {
						return err
					}
				}
			}
		}
		r.elems = append(r.elems, element{class, gap, optional})
		gap = 0
	}
	if len(r.elems) == 0 || r.elems[0].optional {
		return fmt.Errorf("a pattern must start with something")
	}
	l.rules = append(l.rules, r)
	l.first[r.elems[0].class] = append(l.first[r.elems[0].class], int32(len(l.rules)-1))
	return nil
}

// splitPattern splits on blanks outside parentheses.
func splitPattern(s string) []string {
	var out []string
	depth, start := 0, -1
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ' ' && depth == 0 {
			if start >= 0 {
				out = append(out, s[start:i])
			}
			start = -1
			continue
		}
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if start < 0 {
			start = i
		}
	}
	return out
}

// byteTrie finds spellings. Each node lists its children by byte.
type byteTrie struct {
	nodes []trieNode
	root  [256]int32 // the first byte decides among many, so it has a table
	ids   int32
}

type trieNode struct {
	kids          []trieEdge
	exact, prefix int32 // spelling ids, 0 for none
}

type trieEdge struct {
	b    byte
	node int32
}

func (t *byteTrie) add(w string, prefix bool) int32 {
	if t.nodes == nil {
		t.nodes = make([]trieNode, 1)
	}
	n := int32(0)
	for i := 0; i < len(w); i++ {
		k := t.child(n, w[i])
		if k == 0 {
			k = int32(len(t.nodes))
			t.nodes = append(t.nodes, trieNode{})
			t.nodes[n].kids = append(t.nodes[n].kids, trieEdge{w[i], k})
			if n == 0 {
				t.root[w[i]] = k
			}
		}
		n = k
	}
	id := &t.nodes[n].exact
	if prefix {
		id = &t.nodes[n].prefix
	}
	if *id == 0 {
		t.ids++
		*id = t.ids
	}
	return *id
}

func (t *byteTrie) child(n int32, b byte) int32 {
	if n == 0 {
		return t.root[b]
	}
	for _, e := range t.nodes[n].kids {
		if e.b == b {
			return e.node
		}
	}
	return 0
}

// find appends the spellings that w is or starts with.
func (t *byteTrie) find(w string, out []int32) []int32 {
	n := int32(0)
	for i := 0; i < len(w); i++ {
		if n = t.child(n, w[i]); n == 0 {
			return out
		}
		if id := t.nodes[n].prefix; id != 0 {
			out = append(out, id)
		}
	}
	if id := t.nodes[n].exact; id != 0 {
		out = append(out, id)
	}
	return out
}

// phraseTrie holds sequences of spellings; ends lists the classes of each.
type phraseTrie struct {
	next map[[2]int32]int32
	ends [][]int32
	more []bool // whether a longer phrase goes on from here
}

func (p *phraseTrie) step(node, word int32) int32 {
	k := [2]int32{node, word}
	n, ok := p.next[k]
	if !ok {
		n = int32(len(p.ends))
		p.ends = append(p.ends, nil)
		p.next[k] = n
	}
	return n
}
