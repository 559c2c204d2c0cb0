package policy

import (
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Channels are the ways in which Offer can offer a text.
func Channels() []string { return []string{"user", "agent", "tool", "external", "system"} }

// Offer judges a text as a new fact that says exactly what its evidence says,
// arriving on one of the Channels. It is the unit of measurement of the
// corpora: the user channel is the most favourable case for an attack, all
// others must never make a fact.
func Offer(g *gate.Gate, channel, text string) (tenet.Verdict, error) {
	return OfferAs(g, channel, "memo", text)
}

// OfferAs is Offer under a key.
func OfferAs(g *gate.Gate, channel, key, text string) (tenet.Verdict, error) {
	kind, role, via := tenet.App, tenet.RoleUser, tenet.ChannelTyped
	switch channel {
	case "user":
	case "agent":
		kind, role = tenet.Agent, tenet.RoleAssistant
	case "tool":
		kind, role = tenet.Agent, tenet.RoleTool
	case "external":
		via = tenet.ChannelExternal
	case "system":
		role = tenet.RoleSystem
	default:
		return tenet.Verdict{}, tenet.Errorf(tenet.Invalid, "offer", "unknown channel")
	}
	by, err := tenet.NewPrincipal(kind, "measure", "corpus")
	if err != nil {
		return tenet.Verdict{}, err
	}
	scope, err := tenet.NewScope("measure", tenet.User("subject"))
	if err != nil {
		return tenet.Verdict{}, err
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := tenet.Message{
		ID: "m", Session: "s", Seq: 1, Role: role, Channel: via, Text: text,
		Label: gate.MessageLabel(by, role, via), RecordedBy: by.String(), RecordedAt: at,
	}
	c := tenet.Fact(scope, key, text).Citing(m.ID)
	c.ID = "offer"
	d, err := g.Judge(gate.Case{By: by, Candidate: c, Evidence: []tenet.Message{m}, At: at})
	if err != nil {
		return tenet.Verdict{}, err
	}
	return d.Verdict(), nil
}
