package memory_test

import (
	"path/filepath"
	"testing"

	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
	"github.com/tenet-memory/tenet/store/storetest"
)

// stores are one fresh pair of ports.
type stores struct {
	ledger   store.Ledger
	sessions store.Sessions
}

// backend is a combination of stores that the stories run on.
type backend struct {
	name string
	open func(*testing.T) stores
}

func backends() []backend {
	return []backend{
		{"oracle", func(*testing.T) stores { o := storetest.NewOracle(); return stores{o, o} }},
		{"sqlite", func(t *testing.T) stores {
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			return stores{db, db}
		}},
	}
}

// newGate is the gate of the tests: the floor alone, with the allergy key as a
// registry would have it.
func newGate() *gate.Gate {
	return gate.New(nil, gate.WithKeys("tests/1", func(key string) (gate.KeySpec, bool) {
		switch key {
		case "allergy":
			return gate.KeySpec{Multi: true, Safety: true}, true
		case "language":
			return gate.KeySpec{Overridable: true}, true
		}
		return gate.KeySpec{}, false
	}))
}
