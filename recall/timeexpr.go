package recall

import (
	"strings"
	"time"
)

// TimeExpression finds the first expression of time in a question and returns
// the half-open range it stands for: today, last week, in June, two months ago,
// on Tuesday, 7 May 2023, May 2023, 2023, 2023-05-07; with since, after,
// before, until, between. English, and ISO dates. Relative expressions need a
// base time; with a zero now only dates that carry their year are read. A
// question for a length of time ("how long", "how many months ago") has none.
//
// Weeks begin on Monday, seasons are those of the northern hemisphere, a bare
// weekday or month is the last one that has begun.
func TimeExpression(text string, now time.Time, loc *time.Location) (Range, bool) {
	if loc == nil {
		loc = time.UTC
	}
	p := timeParser{words: timeWords(text), loc: loc}
	if !now.IsZero() {
		p.now, p.based = now.In(loc), true
		y, m, d := p.now.Date()
		p.today = p.date(y, m, d)
	}
	if p.asksLength() {
		return Range{}, false
	}
	for i := range p.words {
		if r, n, ok := p.at(i); ok {
			return p.qualify(i, n, r)
		}
	}
	return Range{}, false
}

type timeParser struct {
	words []string
	loc   *time.Location
	now   time.Time
	today time.Time // midnight
	based bool
}

// maxTimeWords bounds the work on a long text: a question names its time early.
const maxTimeWords = 512

// timeWords lower-cases a text into words; "-", "/" and "." stay inside numbers.
func timeWords(text string) []string {
	if len(text) > 16*maxTimeWords {
		text = text[:16*maxTimeWords]
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '/' || r > 127)
	})
	out := words[:0]
	for _, w := range words {
		w = strings.Trim(w, "-/")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "\u2019s")
		if w != "" {
			out = append(out, w)
		}
	}
	return out[:min(len(out), maxTimeWords)]
}

func (p *timeParser) word(i int) string {
	if i < 0 || i >= len(p.words) {
		return ""
	}
	return p.words[i]
}

func (p *timeParser) asksLength() bool {
	for i, w := range p.words {
		if w != "how" {
			continue
		}
		switch p.word(i + 1) {
		case "long", "often":
			return true
		case "many", "much":
			if _, ok := timeUnit(p.word(i + 2)); ok || p.word(i+2) == "time" {
				return true
			}
		}
	}
	return false
}

func (p *timeParser) date(y int, m time.Month, d int) time.Time {
	return time.Date(y, m, d, 0, 0, 0, 0, p.loc)
}

// at reads an expression that begins at word i and takes n words.
func (p *timeParser) at(i int) (r Range, n int, ok bool) {
	if r, n, ok = p.absolute(i); ok {
		return r, n, true
	}
	if !p.based {
		return Range{}, 0, false
	}
	return p.relative(i)
}

// qualify applies the words before an expression: since, before, the week
// after, between ... and.
func (p *timeParser) qualify(i, n int, r Range) (Range, bool) {
	j := i - 1
	switch w := p.word(j); w {
	case "the", "on", "in", "of", "early", "late", "mid", "around", "about":
		if q := p.word(j - 1); timeQualifier(q) {
			j--
		}
	}
	switch p.word(j) {
	case "since":
		if p.based {
			return r.only(Range{r.Start, p.now})
		}
		return Range{Start: r.Start}, true
	case "after":
		if u, ok := timeUnit(p.word(j - 1)); ok && u.start != nil {
			return Range{r.End, u.add(r.End, 1)}, true
		}
		return Range{Start: r.End}, true
	case "before":
		if u, ok := timeUnit(p.word(j - 1)); ok {
			return Range{u.add(r.Start, -1), r.Start}, true
		}
		return Range{End: r.Start}, true
	case "until", "till", "by":
		return Range{End: r.End}, true
	case "between", "from":
		if c := p.word(i + n); c == "and" || c == "to" || c == "until" || c == "till" {
			k := i + n + 1
			if p.word(k) == "the" {
				k++
			}
			if to, _, ok := p.at(k); ok && r.Start.Before(to.End) {
				return Range{r.Start, to.End}, true
			}
		}
		if p.word(j) == "from" && p.word(i+n) == "on" {
			return Range{Start: r.Start}, true
		}
	}
	return r, true
}

// only returns the range when it is one.
func (r Range) only(with Range) (Range, bool) {
	if with.Start.Before(with.End) {
		return with, true
	}
	return Range{Start: r.Start}, true
}

func timeQualifier(w string) bool {
	switch w {
	case "since", "after", "before", "until", "till", "by", "between", "from":
		return true
	}
	return false
}
