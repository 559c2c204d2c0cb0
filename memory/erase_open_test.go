package memory_test

import (
	"context"
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/storetest"
)

type nowhere struct{}

func (nowhere) Append([]byte) error { return nil }

// A journal that is signed with a key made at this start could not be read at
// the next one.
func TestAJournalOfErasuresNeedsItsKey(t *testing.T) {
	t.Parallel()
	_, key, _ := ed25519.GenerateKey(nil)
	for name, c := range map[string]struct {
		key     ed25519.PrivateKey
		journal memory.Sink
		want    tenet.Kind
	}{
		"no journal, no key":        {nil, nil, tenet.NoError},
		"a journal and its key":     {key, nowhere{}, tenet.NoError},
		"a journal without a key":   {nil, nowhere{}, tenet.Invalid},
		"a journal, and half a key": {key[:32], nowhere{}, tenet.Invalid},
		"half a key":                {key[:32], nil, tenet.Invalid},
	} {
		db := storetest.NewOracle()
		_, err := memory.Open(t.Context(), memory.Config{Ledger: db, Sessions: db, Gate: newGate(), ErasureKey: c.key, Erasures: c.journal})
		if tenet.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// apart is a session tier in a database of its own that erases subjects.
type apart struct{ *storetest.Oracle }

func (apart) Erase(context.Context, tenet.Scope, time.Time) (int, error) {
	panic("a dry run erased")
}

var _ store.SessionEraser = apart{}

// What cannot be erased is not counted by a dry run either.
func TestADryRunCountsNoErasureThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sessions store.Sessions
		of       gate.Selection
		want     tenet.Kind
	}{
		"a record, sessions apart":          {apart{storetest.NewOracle()}, gate.Selection{Record: "r"}, tenet.Unavailable},
		"a subject, sessions apart":         {apart{storetest.NewOracle()}, gate.Selection{Subject: true}, tenet.NoError},
		"a subject, sessions never erase":   {storetest.NewOracle(), gate.Selection{Subject: true}, tenet.Unavailable},
		"a tenant's record, sessions apart": {apart{storetest.NewOracle()}, gate.Selection{Origin: "agent:a"}, tenet.Unavailable},
	} {
		e := newEngine(t, backends()[1], func(cfg *memory.Config) { cfg.Sessions = c.sessions })
		e.Remember(t.Context(), e.app, tenet.Note(e.sarah, "I like tea.").Quoting("I like tea."))
		out, err := e.Erase(t.Context(), e.op, e.sarah, memory.Erasing{Of: c.of, DryRun: true})
		if tenet.KindOf(err) != c.want {
			t.Errorf("%s: %+v, %v, want %v", name, out.Counts, err, c.want)
		}
	}
}
