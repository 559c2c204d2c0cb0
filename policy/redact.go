package policy

import (
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Redact replaces every secret in a text by a typed placeholder
// ("[SECRET:spoken-password]") and says which kinds it replaced. The rest of
// the text is kept byte for byte. An encoded run that decodes to a secret is
// replaced as a whole.
func (p *Policy) Redact(text string) (string, []tenet.Code) {
	f := legible(text)
	var codes []tenet.Code
	var b strings.Builder
	at := 0
	found := p.checkSecrets(f, true, nil)
	slices.SortStableFunc(found, func(x, y gate.Finding) int { return x.Start - y.Start })
	for _, g := range found {
		if !slices.Contains(codes, g.Code) {
			codes = append(codes, g.Code)
		}
		if g.Start < at {
			if g.End > at {
				at = g.End
			}
			continue
		}
		b.WriteString(text[at:g.Start])
		b.WriteString("[" + string(g.Code) + "]")
		at = g.End
	}
	if codes == nil {
		return text, nil
	}
	b.WriteString(text[at:])
	return b.String(), codes
}
