package redis

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
	"github.com/tenet-memory/tenet/store/storetest"
)

var ctx = context.Background()

var testKey = []byte("0123456789abcdef0123456789abcdef")

// single and cluster are DSNs of servers that tests may fill. Without one the
// test is skipped, or fails where servers are required.
func single(t testing.TB) string { return needed(t, "redis", "TENET_TEST_REDIS") }

func cluster(t testing.TB) string { return needed(t, "redis", "TENET_TEST_REDIS_CLUSTER") }

func needed(t testing.TB, name, variable string) string {
	t.Helper()
	dsn := os.Getenv(variable)
	if dsn != "" {
		return dsn
	}
	if strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), name) {
		t.Fatalf("%s is not set, and TENET_TEST_REQUIRE names %s: scripts/test-servers.sh starts one", variable, name)
	}
	t.Skipf("SKIPPED, NOTHING TESTED: %s is not set; make test-redis starts one", variable)
	return ""
}

var prefixes atomic.Int64

// open opens a store of the test's own on the server.
func open(t testing.TB, dsn string, o Options) *DB {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = fmt.Sprintf("t%d.%d", os.Getpid(), prefixes.Add(1))
	}
	if o.MasterKey == nil {
		o.MasterKey = testKey
	}
	db, err := Open(ctx, dsn, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// few keeps a cluster's tests quick: three shards on three nodes.
func few(t testing.TB, dsn string) *DB { return open(t, dsn, Options{Shards: 4, MaxConns: 8}) }

func sessionContract(t *testing.T, open func(testing.TB) *DB) {
	storetest.Run(t, storetest.Backend{
		Sessions: func(t testing.TB) store.Sessions { return open(t) },
		Threads:  func(t testing.TB) store.Threads { return open(t) },
	})
	storetest.RunWork(t, func(t testing.TB) split {
		ledger, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ledger.Close() })
		return split{ledger, open(t)}
	})
}

// split is a ledger with its sessions elsewhere, as cmd opens them. The answers
// of session calls lie with their subject.
type split struct {
	ledger
	*DB
}

type ledger interface {
	store.Ledger
	store.Keys
	store.Documents
}

func (s split) Close() error { return nil }

func (s split) Recorded(ctx context.Context, o *store.Once) (*store.Replay, error) {
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		return nil, err
	}
	return s.RecordedIn(ctx, scope, o)
}

func TestContract(t *testing.T) {
	dsn := single(t)
	sessionContract(t, func(t testing.TB) *DB { return open(t, dsn, Options{MaxConns: 16}) })
}

func TestContractOnACluster(t *testing.T) {
	dsn := cluster(t)
	sessionContract(t, func(t testing.TB) *DB { return few(t, dsn) })
}

func TestModel(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 1
	}
	for name, dsn := range map[string]string{"single": single(t), "cluster": cluster(t)} {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				storetest.ModelSessions(t, func(t testing.TB) store.Sessions { return few(t, dsn) }, seed)
			})
		}
	}
}

// on is the DSN with another parameter.
func on(t testing.TB, dsn, name, value string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is not a URL")
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
