package console

import (
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// rulebook is the policy page: what is in force, and what it says about a text,
// or another policy about the past.
type rulebook struct {
	Subject, RuleSet, InForce string
	Codes                     map[tenet.Code]string
	MayTry                    bool // candidate policies can be compiled here

	Text, Key string
	Answers   []voice

	Candidate string
	N         int
	Trial     *memory.Trial
}

// voice is a way in which a text can arrive, and what would be decided.
type voice struct {
	As      string
	Verdict tenet.Verdict
}

func (c *Console) rulebook(v *visit) (*memory.Operator, *rulebook, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, nil, err
	}
	out := &rulebook{Subject: scope.Subject().String(), RuleSet: o.RuleSet(), Codes: words, MayTry: c.cfg.Trial != nil, N: 100}
	if c.cfg.Policy != nil {
		out.InForce = c.cfg.Policy()
	}
	return o, out, nil
}

func (c *Console) policy(v *visit) (any, error) {
	_, out, err := c.rulebook(v)
	return out, err
}

// channels are the ways in which a text reaches memory.
var channels = []struct {
	as      string
	kind    tenet.PrincipalKind
	role    tenet.Role
	channel tenet.Channel
}{
	{"the user, typed", tenet.App, tenet.RoleUser, tenet.ChannelTyped},
	{"the user, from a link that filled the prompt in", tenet.App, tenet.RoleUser, tenet.ChannelPrefilled},
	{"a page, mail or document that the user quotes", tenet.App, tenet.RoleUser, tenet.ChannelExternal},
	{"an assistant", tenet.Agent, tenet.RoleAssistant, tenet.ChannelTyped},
	{"a tool's result", tenet.Agent, tenet.RoleTool, tenet.ChannelTyped},
	{"a connected system", tenet.Connector, tenet.RoleTool, tenet.ChannelTyped},
	{"the harness's own instructions", tenet.App, tenet.RoleSystem, tenet.ChannelTyped},
	{"an operator", tenet.Operator, tenet.RoleUser, tenet.ChannelTyped},
}

// vet asks what would be decided about a text on every channel, and writes nothing.
func (c *Console) vet(v *visit) (any, error) {
	o, out, err := c.rulebook(v)
	if err != nil {
		return nil, err
	}
	out.Text, out.Key = v.PostFormValue("text"), v.PostFormValue("key")
	k := tenet.Candidate{Tier: tenet.TierNote, Text: out.Text}
	if out.Key != "" {
		k.Tier, k.Key = tenet.TierFact, out.Key
	}
	for _, ch := range channels {
		d, err := o.VetAs(v.Context(), k, ch.kind, tenet.Message{Role: ch.role, Channel: ch.channel, Text: out.Text})
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, voice{ch.as, d})
	}
	return out, nil
}

// trial asks what a candidate policy would have made of the last decisions.
func (c *Console) trial(v *visit) (any, error) {
	o, out, err := c.rulebook(v)
	if err != nil {
		return nil, err
	}
	if c.cfg.Trial == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "trial", "this server compiles no candidate policies")
	}
	out.Candidate = v.PostFormValue("policy")
	if out.N, err = strconv.Atoi(v.PostFormValue("n")); err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "trial", "want a number of decisions")
	}
	t, err := c.cfg.Trial(v.Context(), o, out.Candidate, out.N)
	out.Trial = &t
	return out, err
}
