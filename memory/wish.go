package memory

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/tenet-memory/tenet"
)

// forget turns what users asked to forget into requests. A message that asks is
// no turn to remember: of what an extractor made of it only retractions stay.
// When one key of the scope matches, the request retracts it; else it is listed
// for an operator, who sees what was asked and decides.
func (m *Memory) forget(ctx context.Context, scope tenet.Scope, ms []tenet.Message, cs []tenet.Candidate) ([]tenet.Candidate, error) {
	if m.cfg.Wish == nil {
		return cs, nil
	}
	for _, msg := range ms {
		if msg.Label < tenet.LabelUserStated || msg.RetainNone {
			continue
		}
		what, asked := m.cfg.Wish(msg.Text)
		if !asked {
			continue
		}
		keys, err := m.openKeys(ctx, scope)
		if err != nil {
			return nil, err
		}
		for _, c := range cs { // what is said in the same stretch is not known yet, and to be forgotten as well
			if c.Op == tenet.OpAssert && c.Key != "" && !slices.Contains(c.Cites, msg.ID) && !slices.Contains(keys, c.Key) {
				keys = append(keys, c.Key)
			}
		}
		found := false
		cs = slices.DeleteFunc(cs, func(c tenet.Candidate) bool {
			if !slices.Contains(c.Cites, msg.ID) {
				return false
			}
			// One of a key that holds nothing yet is kept beside the request: what
			// it is about may be staged by another session.
			found = found || c.Op == tenet.OpRetract && slices.Contains(keys, c.Key)
			return c.Op != tenet.OpRetract
		})
		if found {
			continue
		}
		c := tenet.Candidate{Scope: scope, Tier: tenet.TierFact, Op: tenet.OpRetract, Key: tenet.KeyForget, Text: what, Route: "retract: asked to forget"}
		if c.Text == "" {
			c.Text = "forget"
		}
		if match := matching(keys, what); len(match) == 1 {
			c.Key = match[0]
		}
		cs = append(cs, c.Citing(msg.ID))
	}
	return cs, nil
}

// openKeys are the keys of the scope that hold something now.
func (m *Memory) openKeys(ctx context.Context, scope tenet.Scope) ([]string, error) {
	facts, err := m.ledger.Facts(ctx, scope, tenet.AsOf{Valid: m.now()})
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, f := range facts {
		if !slices.Contains(keys, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys, nil
}

// matching are the keys that a phrase names: all words of one are words of the
// other. A key that is the phrase wins alone.
func matching(keys []string, phrase string) []string {
	want := keyWords(phrase)
	if len(want) == 0 {
		return nil
	}
	var out []string
	for _, k := range keys {
		have := keyWords(k)
		if slices.Equal(have, want) {
			return []string{k}
		}
		if subset(have, want) || subset(want, have) {
			out = append(out, k)
		}
	}
	return out
}

func subset(a, b []string) bool {
	return len(a) > 0 && !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}

// keyWords are the words of a key or phrase, without the commonest that carry
// nothing and without a plural's ending.
func keyWords(s string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch w {
		case "my", "the", "a", "an", "our", "of", "about", "number", "please":
			continue
		case "allergies":
			w = "allergy"
		}
		if len(w) > 3 {
			w = strings.TrimSuffix(w, "s")
		}
		out = append(out, w)
	}
	return out
}
