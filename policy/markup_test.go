package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestPastedMarkupIsRememberedAsSaid: what a developer pastes into a chat is
// kept as the turn it was, because rendering defangs it; as a fact or a note,
// or from any other mouth, it stays control text.
func TestPastedMarkupIsRememberedAsSaid(t *testing.T) {
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	g := gate.New(Default())
	for _, text := range []string{
		`Why does <img src="/logo.png" class="wide"> overflow in my header?`,
		"My page has <script src=\"app.js\"></script> at the end.",
		"In my README I wrote ![build](https://ci.example/badge.svg?branch=main).",
		"The link was\n[docs]: https://docs.example/start",
	} {
		for _, c := range []struct {
			kind tenet.PrincipalKind
			tier tenet.Tier
			kept bool
		}{
			{tenet.App, tenet.TierEpisode, true},
			{tenet.App, tenet.TierNote, false},
			{tenet.App, tenet.TierFact, false},
			{tenet.Agent, tenet.TierEpisode, false},
		} {
			by, _ := tenet.NewPrincipal(c.kind, "acme", "x")
			cand := tenet.Candidate{ID: "c", Scope: scope, Tier: c.tier, Text: text, Quote: text}
			if c.tier == tenet.TierFact {
				cand.Key = "memo"
			}
			d, err := g.Judge(gate.Case{By: by, Candidate: cand, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			if v := d.Verdict(); v.Outcome.Kept() != c.kept {
				t.Errorf("%s as %s by %s: %v %v", text, c.tier, c.kind, v.Outcome, v.Codes)
			}
			if codes := d.Verdict().Codes; !slices.Contains(codes, CodeMarkdownImage) && !slices.Contains(codes, CodeLinkSink) {
				t.Errorf("%s: the verdict does not say what was seen: %v", text, codes)
			}
		}
	}
}
