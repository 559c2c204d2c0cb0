package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// servers are the DSNs of a fresh database and of the Redis server, where they
// are wanted.
func servers(t *testing.T) (postgres, redis string) {
	t.Helper()
	postgres, redis = os.Getenv("TENET_TEST_POSTGRES"), os.Getenv("TENET_TEST_REDIS")
	if postgres == "" || redis == "" {
		if strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), "redis") {
			t.Fatal("no servers: scripts/test-servers.sh starts them")
		}
		t.Skip("SKIPPED, NOTHING TESTED: no servers; make test starts them")
	}
	admin := postgres
	name := fmt.Sprintf("tenet_c%d_%s", os.Getpid(), strings.ToLower(t.Name()))
	onPostgres(t, admin, "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name)
	t.Cleanup(func() { onPostgres(t, admin, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(postgres)
	if err != nil {
		t.Fatal("the DSN is not a URL")
	}
	u.Path = "/" + name
	return u.String(), redis + "?prefix=" + name
}

func onPostgres(t *testing.T, dsn string, queries ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, q := range queries {
		if _, err := c.Exec(context.Background(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// diagnosis runs doctor and returns the state of each part.
func (s *shell) diagnosis() (map[string]string, int) {
	s.t.Helper()
	r := s.run("doctor", "--json")
	var v struct {
		Findings []finding `json:"findings"`
	}
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		s.t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	out := map[string]string{}
	for _, f := range v.Findings {
		out[f.Part] = f.State
		if f.State != "ok" && f.Do == "" {
			s.t.Errorf("%s is %s and nothing says what to do", f.Part, f.State)
		}
	}
	return out, r.code
}

// TestDoctorFindsWhatIsBroken breaks one thing after another on real servers.
func TestDoctorFindsWhatIsBroken(t *testing.T) {
	pg, rd := servers(t)
	s := newShell(t)
	s.store = pg
	s.env["TENET_SESSIONS"] = rd
	s.env["TENET_MASTER_KEY"] = strings.Repeat("7", 64)
	s.env["TENET_EMBEDDER"] = "none"
	if got, _ := s.diagnosis(); got["schema"] != "warn" {
		t.Errorf("before the first use: %v", got)
	}
	s.ok("remember", "--user", "sarah", "--tier", "fact", "--quote", "I drink tea", "favorite_drink", "I drink tea")
	well, _ := s.diagnosis()
	for _, part := range []string{"schema", "roles", "row-level security", "tenants", "audit", "Redis", "eviction", "clock"} {
		if well[part] != "ok" {
			t.Errorf("%s: %q", part, well[part])
		}
	}
	for _, c := range []struct{ part, bad, good string }{
		{"row-level security", "ALTER TABLE tenet.messages NO FORCE ROW LEVEL SECURITY", "ALTER TABLE tenet.messages FORCE ROW LEVEL SECURITY"},
		{"tenants", "CREATE POLICY open ON tenet.subjects FOR SELECT TO tenet_app USING (true)", "DROP POLICY open ON tenet.subjects"},
		{"audit", "GRANT DELETE ON tenet.chain TO tenet_app", "REVOKE DELETE ON tenet.chain FROM tenet_app"},
		{"schema", "UPDATE tenet.meta SET version = version + 100", "UPDATE tenet.meta SET version = version - 100"},
	} {
		onPostgres(t, pg, c.bad)
		got, code := s.diagnosis()
		if got[c.part] != "fail" || code != 7 {
			t.Errorf("after %s: %s is %q, exit %d", c.bad, c.part, got[c.part], code)
		}
		onPostgres(t, pg, c.good)
	}
	s.env["TENET_MASTER_KEY"] = ""
	if got, code := s.diagnosis(); got["master key"] != "fail" || code != 7 {
		t.Errorf("without a master key: %v, exit %d", got, code)
	}
	s.env["TENET_MASTER_KEY"] = strings.Repeat("7", 64)
	s.env["TENET_SESSIONS"] = "redis://127.0.0.1:1"
	if got, code := s.diagnosis(); got["Redis"] != "fail" || code != 7 {
		t.Errorf("without Redis: %v, exit %d", got, code)
	}
}

// TestDoctorFindsAnEvictingServer on a server of its own.
func TestDoctorFindsAnEvictingServer(t *testing.T) {
	servers(t) // where they are wanted
	k := &soak{T: t}
	k.redisAt = []string{"redis-server", "--port", freePort(t), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--logfile", "log", "--maxmemory-policy", "allkeys-lru"}
	k.startRedis()
	defer kill(k.redis)
	s := newShell(t)
	s.env["TENET_SESSIONS"] = "redis://127.0.0.1:" + k.redisAt[2]
	if got, code := s.diagnosis(); got["eviction"] != "fail" || got["persistence"] != "warn" || code != 7 {
		t.Errorf("%v, exit %d", got, code)
	}
}

// TestDoctorOfAFile finds a key that others may read, and one that is gone.
func TestDoctorOfAFile(t *testing.T) {
	s := newShell(t)
	s.env["TENET_EMBEDDER"] = "none"
	if got, code := s.diagnosis(); got["database"] != "warn" || code != 0 {
		t.Errorf("before the first use: %v, exit %d", got, code)
	}
	s.ok("remember", "--user", "sarah", "--tier", "fact", "--quote", "I drink tea", "favorite_drink", "I drink tea")
	if got, code := s.diagnosis(); got["master key"] != "ok" || got["open"] != "ok" || code != 0 {
		t.Errorf("%v, exit %d", got, code)
	}
	key := filepath.Clean(s.store + ".key")
	os.Chmod(key, 0o644)
	if got, code := s.diagnosis(); got["master key"] != "fail" || code != 7 {
		t.Errorf("a key that others may read: %v, exit %d", got, code)
	}
	os.Remove(key)
	if got, code := s.diagnosis(); got["master key"] != "fail" || code != 7 {
		t.Errorf("a key that is gone: %v, exit %d", got, code)
	}
}
