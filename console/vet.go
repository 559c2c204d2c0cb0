package console

import "github.com/tenet-memory/tenet"

// vetted is what would be decided about a text, by whose word it would be.
type vetted struct {
	Subject, RuleSet, Text, Key string
	Answers                     []voice
}

type voice struct {
	As      string
	Verdict tenet.Verdict
}

func (c *Console) policy(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	return vetted{Subject: scope.Subject().String(), RuleSet: o.RuleSet()}, nil
}

// vet asks what Remember would decide, and writes nothing: on the operator's
// word, and as if a model had said it.
func (c *Console) vet(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	out := vetted{scope.Subject().String(), o.RuleSet(), v.PostFormValue("text"), v.PostFormValue("key"), nil}
	for _, by := range []tenet.Principal{v.by, v.by.AsAgent()} {
		k := tenet.Note(scope, out.Text)
		if out.Key != "" {
			k = tenet.Fact(scope, out.Key, out.Text)
		}
		d, err := c.mem.Vet(v.Context(), by, k.Quoting(out.Text))
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, voice{by.Kind().String(), d})
	}
	return out, nil
}
