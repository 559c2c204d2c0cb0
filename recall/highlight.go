package recall

// Span is a piece of a text, in bytes.
type Span struct{ Start, End int }

// Highlight finds the pieces of a text that share a term with a query, merged
// where they touch, in order. Stop words are never highlighted.
func (t *Tokenizer) Highlight(text, query string) []Span {
	want := map[string]bool{}
	for _, q := range t.Tokens(query) {
		if !q.Stop {
			want[q.Term] = true
		}
	}
	var out []Span
	for _, k := range t.Tokens(text) {
		if k.Stop || !want[k.Term] {
			continue
		}
		if n := len(out); n > 0 && k.Start <= out[n-1].End { // bigrams overlap
			out[n-1].End = max(out[n-1].End, k.End)
			continue
		}
		out = append(out, Span{k.Start, k.End})
	}
	return out
}
