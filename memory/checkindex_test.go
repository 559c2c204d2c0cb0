package memory_test

import (
	"context"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// interrupted writes once, while the records of a scope are being read.
type interrupted struct {
	store.Governor
	do func()
}

func (g *interrupted) Records(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int) ([]tenet.Record, error) {
	out, err := g.Governor.Records(ctx, scope, after, limit)
	if do := g.do; do != nil {
		g.do = nil
		do()
	}
	return out, err
}

func TestAnIndexIsCheckedAgainstOneState(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		g := new(interrupted)
		e := newEngine(t, b, func(c *memory.Config) { g.Governor = c.Ledger.(store.Governor); c.Governor = g })
		note := func(text string) {
			must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Note(e.sarah, text).Quoting(text)))
		}
		note("I like tea.")
		g.do = func() { note("I like coffee.") }
		if why, err := e.CheckIndex(ctx, e.sarah); why != "" || err != nil {
			t.Errorf("a write in between: %q, %v", why, err)
		}
		if g.do != nil {
			t.Error("nothing was written in between")
		}
	})
}

// noGovernor hides what lists a ledger's records.
type noGovernor struct{ store.Ledger }

func TestAnIndexThatCannotBeCheckedIsNotSound(t *testing.T) {
	t.Parallel()
	e := newEngine(t, backends()[0], func(c *memory.Config) { c.Ledger = noGovernor{c.Ledger} })
	_, err := e.CheckIndex(t.Context(), e.sarah)
	wantKind(t, err, tenet.Unavailable)
}
