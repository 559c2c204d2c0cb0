package gate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
)

// withPlaceholders puts a typed placeholder in the place of each span. Spans
// that overlap go as one.
func withPlaceholders(text string, spans []Finding) string {
	slices.SortStableFunc(spans, func(a, b Finding) int { return a.Start - b.Start })
	var b strings.Builder
	end := 0
	for _, f := range spans {
		if f.Start >= end {
			b.WriteString(text[end:f.Start] + "[" + string(f.Code) + "]")
		}
		end = max(end, f.End)
	}
	return b.String() + text[end:]
}

// redact takes what findings ask to redact out of a candidate that is to be
// kept, and reports whether there was any. What is kept of the evidence is the
// same words: an excerpt of the message would hold what the record may not.
func redact(c *Case, findings []Finding, evidence []tenet.Evidence) bool {
	var spans []Finding
	text := c.Candidate.Text
	for _, f := range findings {
		if f.Redact && f.Start >= 0 && f.Start < f.End && f.End <= len(text) {
			spans = append(spans, f)
		}
	}
	if spans == nil {
		return false
	}
	cand := &c.Candidate
	cand.Text = withPlaceholders(text, spans)
	if len(cand.Value) > 0 {
		var value any
		if json.Unmarshal(cand.Value, &value) == nil {
			if b, err := json.Marshal(redactValue(value, text, spans)); err == nil {
				cand.Value = b
			}
		}
	}
	cand.Quote = ""
	for i := range evidence {
		evidence[i].Excerpt = cand.Text
	}
	c.fingerprint, c.spelled = fingerprint(*cand)
	return true
}

// redactValue replaces in a value's strings what the spans hold of the text.
func redactValue(value any, text string, spans []Finding) any {
	switch v := value.(type) {
	case string:
		for _, f := range spans {
			v = strings.ReplaceAll(v, text[f.Start:f.End], "["+string(f.Code)+"]")
		}
		return v
	case []any:
		for i := range v {
			v[i] = redactValue(v[i], text, spans)
		}
	case map[string]any:
		for k := range v {
			v[k] = redactValue(v[k], text, spans)
		}
	}
	return value
}
