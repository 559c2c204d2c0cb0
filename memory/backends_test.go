package memory_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/postgres"
	"github.com/tenet-memory/tenet/store/redis"
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
	bs := []backend{
		{"oracle", func(*testing.T) stores { o := storetest.NewOracle(); return stores{o, o} }},
		{"sqlite", openSQLite},
	}
	if pg := os.Getenv("TENET_TEST_POSTGRES"); pg != "" {
		bs = append(bs, backend{"postgres", func(t *testing.T) stores { return openPostgres(t, pg) }})
	}
	return bs
}

// combinations are backends and those with the ledger in one place and the
// sessions in another.
func combinations() []backend {
	bs, pg := backends(), os.Getenv("TENET_TEST_POSTGRES")
	for _, r := range []struct{ name, dsn string }{{"redis", os.Getenv("TENET_TEST_REDIS")}, {"cluster", os.Getenv("TENET_TEST_REDIS_CLUSTER")}} {
		if r.dsn == "" {
			continue
		}
		bs = append(bs, backend{"sqlite and " + r.name, func(t *testing.T) stores { return stores{openSQLite(t).ledger, openRedis(t, r.dsn)} }})
		if pg != "" {
			bs = append(bs, backend{"postgres and " + r.name, func(t *testing.T) stores { return stores{openPostgres(t, pg).ledger, openRedis(t, r.dsn)} }})
		}
	}
	return bs
}

// TestTheServersThatAreRequiredAreThere: where servers are required, a story
// that did not run on one is a failure.
func TestTheServersThatAreRequiredAreThere(t *testing.T) {
	for name, variables := range map[string][]string{"postgres": {"TENET_TEST_POSTGRES"}, "redis": {"TENET_TEST_REDIS", "TENET_TEST_REDIS_CLUSTER"}} {
		for _, v := range variables {
			if strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), name) && os.Getenv(v) == "" {
				t.Errorf("%s is not set: scripts/test-servers.sh starts one", v)
			}
		}
	}
}

func openSQLite(t *testing.T) stores {
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
}

func openRedis(t *testing.T, dsn string) store.Sessions {
	t.Helper()
	db, err := redis.Open(t.Context(), dsn, redis.Options{
		MasterKey: bytes.Repeat([]byte{9}, 32), Prefix: fmt.Sprintf("m%d.%d", os.Getpid(), databases.Add(1)), Shards: 4, MaxConns: 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// openPostgres makes a database of the test's own on the server.
func openPostgres(t *testing.T, dsn string) stores {
	t.Helper()
	ctx := context.Background()
	server := func(query string) {
		t.Helper()
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	name := fmt.Sprintf("tenet_m%d_%d", os.Getpid(), databases.Add(1))
	server("CREATE DATABASE " + name)
	t.Cleanup(func() { server("DROP DATABASE " + name + " WITH (FORCE)") })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("TENET_TEST_POSTGRES is not a URL")
	}
	u.Path = "/" + name
	db, err := postgres.Open(ctx, u.String(), postgres.Options{MasterKey: bytes.Repeat([]byte{7}, 32), MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return stores{db, db}
}

var databases atomic.Int64

// newGate is the gate of the tests: the floor alone, with the allergy key as a
// registry would have it.
func newGate() *gate.Gate {
	return gate.New(nil, gate.WithKeys("tests/1", func(key string) (gate.KeySpec, bool) {
		switch key {
		case "allergy":
			return gate.KeySpec{Multi: true, Safety: true}, true
		case "language":
			return gate.KeySpec{Overridable: true}, true
		case "home_city", "name", "employer", "preferred_name", "email", "phone", "occupation":
			return gate.KeySpec{}, true
		}
		return gate.KeySpec{}, false
	}))
}
