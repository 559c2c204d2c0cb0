package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestPastedMarkupIsRememberedAsSaid: what a developer pastes into a chat is
// kept as the turn it was, because rendering defangs it, and the tags of a page
// in what they want kept as a fact are only remarked on; an image or link to
// elsewhere is no fact, and as a note, or from any other mouth, all of it stays
// control text.
func TestPastedMarkupIsRememberedAsSaid(t *testing.T) {
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	g := gate.New(Default())
	for text, page := range map[string]bool{
		`Why does <img src="/logo.png" class="wide"> overflow in my header?`:                       true,
		"My page has <script src=\"app.js\"></script> at the end.":                                 true,
		`Use this head: <meta charset="UTF-8"><link href="https://cdn.example/a.css"> always.`:     true,
		`My pixel is <img src="https://evil.example/p?d=1">.`:                                      false,
		"In my README I wrote ![build](https://ci.example/badge.svg?branch=main).":                 false,
		"My page has <script src=\"app.js\"></script> and ![build](https://ci.example/badge.svg).": false,
		"The link was\n[docs]: https://docs.example/start":                                         false,
	} {
		for _, c := range []struct {
			kind tenet.PrincipalKind
			tier tenet.Tier
			kept bool
		}{
			{tenet.App, tenet.TierEpisode, true},
			{tenet.App, tenet.TierNote, false},
			{tenet.App, tenet.TierFact, page},
			{tenet.EndUser, tenet.TierFact, page},
			{tenet.Operator, tenet.TierFact, page},
			{tenet.Agent, tenet.TierEpisode, false},
			{tenet.Agent, tenet.TierFact, false},
			{tenet.Connector, tenet.TierFact, false},
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
