package policy

import (
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// checkTier refuses what belongs to a session or can be fetched again: the
// details of a passing task, raw tool output, reasoning traces and session
// metadata. It speaks only where the text leaves no doubt. An episode is what
// was said and a document what was filed, whatever they hold.
func (p *Policy) checkTier(pr gate.Proposal, s *scan, f *form, fs []gate.Finding) []gate.Finding {
	if pr.Candidate.Tier != tenet.TierFact && pr.Candidate.Tier != tenet.TierNote {
		return fs
	}
	add := func(code tenet.Code, a, b int) {
		fs = append(fs, gate.Finding{Finding: tenet.Finding{Check: "tier", Code: code, Start: a, End: b}, Reject: true})
	}
	own := pr.Label >= tenet.LabelUserStated
	// A long text may mention anything; only a short one is about it.
	if len(s.tokens) <= 40 {
		for _, m := range s.found {
			var code tenet.Code
			switch p.lexicon.rules[m.rule].code {
			case "#transient":
				code = CodeTransient
			case "#metadata":
				// "session id: 7" is metadata; "my session ids expire" is talk.
				end := int(s.tokens[m.end-1].end)
				if m.start > 1 || end >= len(s.text) || !strings.ContainsAny(s.text[end:min(len(s.text), end+3)], ":=#") && s.text[end:] != "" && !startsDigit(s.text[end:]) {
					continue
				}
				code = CodeSessionMetadata
			case "#speculative":
				if own {
					continue // people may guess about themselves
				}
				code = CodeSpeculative
			default:
				continue
			}
			a, b := f.span(int(s.tokens[m.start].start), int(s.tokens[m.end-1].end))
			add(code, a, b)
		}
	}
	t := f.text
	switch {
	case strings.Contains(t, "<think>") || strings.Contains(t, "<thinking>") || strings.Contains(t, "<reasoning>") || strings.Contains(t, "<scratchpad>"):
		add(CodeSpeculative, 0, 0)
	case strings.HasPrefix(t, "traceback (most recent call last)") || strings.HasPrefix(t, "http/1.1 ") || strings.HasPrefix(t, "http/2 ") || strings.HasPrefix(t, "<!doctype html"):
		add(CodeRefetchable, 0, 0)
	case !own && (strings.HasPrefix(t, "{") && strings.HasSuffix(t, "}") || strings.HasPrefix(t, "[{") && strings.HasSuffix(t, "]")) &&
		(strings.Contains(t, `"status":`) || strings.Contains(t, `"timestamp":`) || strings.Contains(t, `"results":`) || strings.Contains(t, `"error":`)):
		add(CodeRefetchable, 0, 0)
	}
	return fs
}

func startsDigit(s string) bool {
	s = strings.TrimLeft(s, " ")
	return s != "" && digit(s[0])
}
