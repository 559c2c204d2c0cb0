package policy

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// reach is how far from its keyword a shaped rule's match can lie, and so which
// part of a long text its expression has to be run on.
type reach uint8

const (
	// reachText: anywhere. The expression is run on the whole text.
	reachText reach = iota
	// reachToken: within the unbroken run of characters that holds the keyword.
	reachToken
	// reachSign: the keyword, a few characters, a sign (":", "="), the value.
	reachSign
)

// What gitleaks' rules are made of.
const (
	signPart = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(`
	stopPart = `(?:[\x60'"\s;]|\\[nr]|$)`
)

// reachOf reads a rule's reach off its expression. What it cannot tell has no
// bound; a test holds the windowed search against the whole one.
func reachOf(expr string, keywords []string) reach {
	expr = strings.TrimSuffix(expr, stopPart)
	if name, _, ok := strings.Cut(expr, signPart); ok {
		re, err := regexp.Compile(name)
		// A keyword that is not a name by itself may be the value's own.
		if err != nil || strings.Contains(name, "SDK.") || slices.ContainsFunc(keywords, func(k string) bool { return !re.MatchString(k) }) {
			return reachText
		}
		return reachSign
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || crossesBlanks(re) {
		return reachText
	}
	return reachToken
}

// crossesBlanks reports whether an expression can match white space.
func crossesBlanks(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return slices.ContainsFunc(re.Rune, blankRune)
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for _, r := range "\t\n\v\f\r " {
				if re.Rune[i] <= r && r <= re.Rune[i+1] {
					return true
				}
			}
		}
	}
	return slices.ContainsFunc(re.Sub, crossesBlanks)
}

func blankRune(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }

func blankByte(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// longestValue is more than any value that a rule with a sign wants.
const longestValue = 1024

// leastToken is the length below which no token is a secret of a shaped rule.
const leastToken = 14

// window is the part of the text that a rule's expression has to see for the
// keyword that ends at end. ok is false when nothing there could match.
func (r reach) window(text string, end int) (from, to int, ok bool) {
	const before = 128 // the keyword and what may stand in front of it, with room
	switch r {
	case reachToken:
		from, to = end-1, end
		for from > 0 && !blankByte(text[from-1]) {
			from--
		}
		for to < len(text) && !blankByte(text[to]) {
			to++
		}
		if to-from < leastToken {
			return 0, 0, false
		}
	case reachSign:
		// A keyword may be the first part of what the expression wants there.
		sign := end
		for sign < len(text) && sign < end+48 && (text[sign] == '_' || text[sign] == '.' || text[sign] == '-' || text[sign] == '\'' || text[sign] == '"' || alnum(text[sign]) || blankByte(text[sign])) {
			sign++
		}
		if sign == len(text) || strings.IndexByte("=>|:?,", text[sign]) < 0 {
			return 0, 0, false
		}
		value := sign
		for value < len(text) && value < sign+12 && (strings.IndexByte("=>|:?,`'\"", text[value]) >= 0 || blankByte(text[value])) {
			value++
		}
		for to = value; to < len(text) && to < value+longestValue && !blankByte(text[to]); to++ {
		}
		if to-value < 6 {
			return 0, 0, false
		}
		from = max(0, end-before)
	default:
		return 0, len(text), true
	}
	// What stands beside it: the expressions look at a character more.
	from, to = max(0, from-1), min(len(text), to+1)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to, true
}

// mayMatch reports whether the words that an expression cannot do without stand
// in the text: a cheap look before a run over all of it.
func mayMatch(re *syntax.Regexp, text, low string) bool {
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) < 3 {
			return true
		}
		if re.Flags&syntax.FoldCase != 0 {
			return strings.Contains(low, strings.ToLower(string(re.Rune)))
		}
		return strings.Contains(text, string(re.Rune))
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			if !mayMatch(sub, text, low) {
				return false
			}
		}
	case syntax.OpRepeat:
		return re.Min == 0 || mayMatch(re.Sub[0], text, low)
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return mayMatch(sub, text, low) })
	}
	return true
}
