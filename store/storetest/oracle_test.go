package storetest

import (
	"testing"

	"github.com/tenet-memory/tenet/store"
)

func oracle() Backend {
	return Backend{
		Ledger:   func(testing.TB) store.Ledger { return NewOracle() },
		Sessions: func(testing.TB) store.Sessions { return NewOracle() },
		Threads:  func(testing.TB) store.Threads { return NewOracle() },
		Tamper:   TamperOracle,
	}
}

func TestOraclePassesTheSuite(t *testing.T) { Run(t, oracle()) }

func TestModelAgreesWithItself(t *testing.T) {
	for seed := range uint64(2) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			Model(t, oracle().Ledger, seed)
			ModelSessions(t, oracle().Sessions, seed)
		})
	}
}
