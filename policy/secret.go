package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	_ "embed" // the rule data

	"github.com/tenet-memory/tenet"
)

// The rule data of gitleaks (MIT, notice inside), written by
// internal/gitleaksgen. Only the data: its scanner is not linked.
//
//go:embed gitleaks.json
var gitleaksData []byte

// secrets finds credentials: those with a shape by gitleaks' rules, those
// people say by the spoken rules. A rule's expression is tried only where one
// of its keywords stands, and compiled when that first happens.
type secrets struct {
	words  *automaton
	rules  [][]int32 // word -> rules of shaped
	spoken []*spokenRule
	shaped []shaped
	allow  allowance
}

type shaped struct {
	code    tenet.Code
	re      func() *regexp.Regexp
	reach   reach
	parsed  *syntax.Regexp // reachText: for mayMatch
	group   int
	entropy float64
	generic bool
	allow   []allowance
}

// allowance is what makes a finding no secret: examples and placeholders.
type allowance struct {
	regexes   []*regexp.Regexp
	stopwords []string
	target    string
}

// secretSpan is a credential at [start, end) of the scanned text.
type secretSpan struct {
	code       tenet.Code
	start, end int
}

type gitleaksAllow struct {
	Regexes   []string `json:"regexes"`
	Stopwords []string `json:"stopwords"`
	Target    string   `json:"target"`
}

func newSecrets() (*secrets, error) {
	var data struct {
		Allow gitleaksAllow `json:"allow"`
		Rules []struct {
			ID       string          `json:"id"`
			Regex    string          `json:"regex"`
			Group    int             `json:"group"`
			Entropy  float64         `json:"entropy"`
			Keywords []string        `json:"keywords"`
			Allow    []gitleaksAllow `json:"allow"`
		} `json:"rules"`
	}
	if err := json.Unmarshal(gitleaksData, &data); err != nil {
		return nil, fmt.Errorf("gitleaks data: %v", err)
	}
	s := &secrets{spoken: spokenRules()}
	var err error
	if s.allow, err = newAllowance(data.Allow); err != nil {
		return nil, err
	}
	var words []string
	index := map[string]int{}
	word := func(w string) int {
		w = strings.ToLower(w)
		id, ok := index[w]
		if !ok {
			id = len(words)
			index[w] = id
			words = append(words, w)
			s.rules = append(s.rules, nil)
		}
		return id
	}
	for i, r := range data.Rules {
		sh := shaped{
			code: tenet.Code("SECRET:" + r.ID), group: r.Group, entropy: r.Entropy, generic: r.ID == "generic-api-key",
			re: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.Regex) }), // the generator compiled it
		}
		if sh.reach = reachOf(r.Regex, r.Keywords); sh.reach == reachText {
			parsed, err := syntax.Parse(r.Regex, syntax.Perl)
			if err != nil {
				return nil, fmt.Errorf("gitleaks rule %s: %v", r.ID, err)
			}
			sh.parsed = parsed
		}
		for _, a := range r.Allow {
			al, err := newAllowance(a)
			if err != nil {
				return nil, fmt.Errorf("gitleaks rule %s: %v", r.ID, err)
			}
			sh.allow = append(sh.allow, al)
		}
		s.shaped = append(s.shaped, sh)
		if len(r.Keywords) == 0 {
			return nil, fmt.Errorf("gitleaks rule %s has no keyword", r.ID)
		}
		for _, k := range r.Keywords {
			w := word(k)
			s.rules[w] = append(s.rules[w], int32(i))
		}
	}
	if len(s.shaped) > maxShaped {
		return nil, fmt.Errorf("gitleaks data: more than %d rules", maxShaped)
	}
	// Spoken rules have negative ids, so that one pass finds both.
	for i, r := range s.spoken {
		for _, k := range r.words {
			w := word(k)
			s.rules[w] = append(s.rules[w], -int32(i)-1)
		}
	}
	s.words = newAutomaton(words)
	return s, nil
}

func newAllowance(a gitleaksAllow) (allowance, error) {
	out := allowance{stopwords: a.Stopwords, target: a.Target}
	for _, r := range a.Regexes {
		re, err := regexp.Compile(r)
		if err != nil {
			return out, err
		}
		out.regexes = append(out.regexes, re)
	}
	return out, nil
}

// find returns the credentials in text, in order, without overlaps.
func (s *secrets) find(text string) []secretSpan {
	var out []secretSpan
	var places []place
	var last [maxShaped]int32 // rule -> its last place, from 1
	scanned := text
	if !isASCII(text) {
		// The automaton folds ASCII only; lower case of other scripts keeps
		// the offsets when it keeps the length.
		if low := strings.ToLower(text); len(low) == len(text) {
			scanned = low
		}
	}
	// What expressions may be run over: long values said one into another, and
	// stretches in which every rule's keyword stands, are made to cost time. What
	// is left unread then is taken for a secret.
	long, stretch := workLimit+len(text), workLimit+workPerByte*len(text)
	unread := len(text)
	s.words.each(scanned, func(w int32, end int) {
		for _, r := range s.rules[w] {
			if r < 0 {
				if long < 0 {
					unread = min(unread, end)
					continue
				}
				var took int
				out, took = s.spoken[-r-1].find(text, end, out)
				long -= took
				continue
			}
			sh := &s.shaped[r]
			var before *place
			if at := last[r]; at > 0 {
				before = &places[at-1]
				if sh.reach != reachSign && end <= before.to {
					continue // in what is tried already
				}
			}
			from, to, ok := sh.reach.window(text, end)
			switch {
			case !ok:
			case before != nil && from <= before.to: // a match of the one may reach into the other
				before.to = max(before.to, to)
			default:
				places = append(places, place{r, from, to})
				last[r] = int32(len(places))
			}
		}
	})
	// Those of one rule stand in order of the text: they were found so.
	slices.SortStableFunc(places, func(a, b place) int { return int(a.rule - b.rule) })
	low := ""
	if unread < len(text) {
		out = append(out, secretSpan{codeUnread, unread, len(text)})
	}
	for _, pl := range places {
		r := &s.shaped[pl.rule]
		if r.reach == reachText {
			if low == "" {
				low = strings.ToLower(text)
			}
			if !mayMatch(r.parsed, text, low) {
				continue
			}
		}
		if stretch -= pl.to - pl.from; stretch < 0 {
			out = append(out, secretSpan{codeUnread, pl.from, pl.to})
			continue
		}
		out = s.match(r, text, pl, out)
	}
	out = numbers(text, out)
	out = phrases(text, out)
	if len(out) < 2 {
		return out
	}
	slices.SortFunc(out, func(a, b secretSpan) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	kept := out[:1]
	for _, f := range out[1:] {
		last := &kept[len(kept)-1]
		if f.start < last.end {
			last.end = max(last.end, f.end)
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

// codeUnread marks what was not looked through, because the text was made so
// that this would take too long.
const codeUnread tenet.Code = "SECRET:unread"

// Bounds of the work on one text, in bytes that expressions are run over: a
// fixed part, and one for each byte of it. The densest text of the corpora takes
// three bytes for each of its own.
const (
	workLimit   = 1 << 20
	workPerByte = 6
)

// maxShaped bounds the shaped rules, so that a search needs no map of them.
const maxShaped = 256

// place is where a rule has to be tried.
type place struct {
	rule     int32
	from, to int
}

func (s *secrets) match(r *shaped, text string, in place, out []secretSpan) []secretSpan {
	for _, m := range r.re().FindAllStringSubmatchIndex(text[in.from:in.to], -1) {
		for k := range m {
			if m[k] >= 0 {
				m[k] += in.from
			}
		}
		a, b := m[0], m[1]
		if g := r.group; g > 0 && 2*g+1 < len(m) && m[2*g] >= 0 {
			a, b = m[2*g], m[2*g+1]
		} else if g == 0 {
			for k := 2; k+1 < len(m); k += 2 {
				if m[k] >= 0 && m[k+1] > m[k] {
					a, b = m[k], m[k+1]
					break
				}
			}
		}
		secret := text[a:b]
		if r.entropy > 0 && entropy(secret) <= r.entropy {
			continue
		}
		if r.generic && !strings.ContainsAny(secret, "0123456789") {
			continue
		}
		if s.allow.covers(secret, text, m) || slices.ContainsFunc(r.allow, func(al allowance) bool { return al.covers(secret, text, m) }) {
			continue
		}
		out = append(out, secretSpan{r.code, a, b})
	}
	return out
}

func (a *allowance) covers(secret, text string, m []int) bool {
	target := secret
	switch a.target {
	case "match":
		target = text[m[0]:m[1]]
	case "line":
		from := strings.LastIndexByte(text[:m[0]], '\n') + 1
		to := len(text)
		if n := strings.IndexByte(text[m[1]:], '\n'); n >= 0 {
			to = m[1] + n
		}
		target = text[from:to]
	}
	for _, re := range a.regexes {
		if re.MatchString(target) {
			return true
		}
	}
	if len(a.stopwords) > 0 {
		low := strings.ToLower(secret)
		for _, w := range a.stopwords {
			if strings.Contains(low, w) {
				return true
			}
		}
	}
	return false
}

// entropy is Shannon's, in bits per byte.
func entropy(s string) float64 {
	if s == "" {
		return 0
	}
	var n [256]int
	for i := 0; i < len(s); i++ {
		n[s[i]]++
	}
	e := 0.0
	for _, c := range n {
		if c > 0 {
			p := float64(c) / float64(len(s))
			e -= p * math.Log2(p)
		}
	}
	return e
}
