package console

import (
	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// played is the playground: a conversation of the operator's own with a
// subject's memory.
type played struct {
	Subject, Text, Query string
	Tokens               int
	Window               *memory.Window
}

// playground is the session that the page speaks in, one a subject.
const playground tenet.SessionID = "console-playground"

const playTokens = 2000

func (c *Console) try(v *visit) (any, error) {
	_, scope, err := c.operator(v)
	return played{Subject: scope.Subject().String(), Tokens: playTokens}, err
}

// say appends a message in the operator's name and assembles the next context.
func (c *Console) say(v *visit) (any, error) {
	_, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	out := played{Subject: scope.Subject().String(), Query: v.PostFormValue("query"), Tokens: playTokens}
	if n, err := number64(v.PostFormValue("tokens")); err != nil || n > 100_000 {
		return nil, tenet.Errorf(tenet.Invalid, "try", "want a budget of at most 100000 tokens")
	} else if n > 0 {
		out.Tokens = int(n)
	}
	s, err := c.mem.Session(v.Context(), v.by, scope, playground)
	if err != nil {
		return nil, err
	}
	if text := v.PostFormValue("text"); text != "" {
		if _, err := s.Append(v.Context(), tenet.UserMessage(text)); err != nil {
			return nil, err
		}
	}
	w, err := s.Context(v.Context(), out.Query, memory.Budget{Tokens: out.Tokens})
	out.Window = &w
	return out, err
}
