package sqlite

import (
	"testing"

	"github.com/tenet-memory/tenet/store/storetest"
)

func TestWorkContract(t *testing.T)       { storetest.RunWork(t, fresh) }
func TestWorkContractSealed(t *testing.T) { storetest.RunWork(t, sealed) }
func TestWorkContractInMemory(t *testing.T) {
	storetest.RunWork(t, func(t testing.TB) *DB { return open(t, Memory) })
}
