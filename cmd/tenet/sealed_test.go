package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

// anotherServer starts a second PostgreSQL server and returns its DSN.
func anotherServer(t *testing.T) string {
	t.Helper()
	const script = "../../scripts/test-servers.sh"
	cmd := exec.Command(script, "start")
	cmd.Env = append(os.Environ(), "TENET_TEST_POSTGRES=", "TENET_TEST_ONLY=postgres")
	out, err := cmd.Output()
	var dsn string
	for line := range strings.Lines(string(out)) {
		if folder, ok := strings.CutPrefix(line, "export TENET_TEST_SERVERS="); ok {
			t.Cleanup(func() { exec.Command(script, "stop", strings.TrimSpace(folder)).Run() })
		}
		if v, ok := strings.CutPrefix(line, "export TENET_TEST_POSTGRES="); ok {
			dsn = strings.Trim(strings.TrimSpace(v), "'")
		}
	}
	if err != nil || dsn == "" {
		t.Fatalf("no second server: %v", err)
	}
	return dsn
}

// postgresTool runs one of the server's own programs.
func postgresTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
		if len(found) == 0 {
			t.Fatalf("no %s", name)
		}
		path = found[len(found)-1]
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v %.400s", name, err, out)
	}
	return string(out)
}

// TestASealedPostgresIsRestoredWithItsVault: a dump holds no word, and one from
// before an erasure brings nobody back, without the journal, too. The vault is
// on a server of its own.
func TestASealedPostgresIsRestoredWithItsVault(t *testing.T) {
	pg, redis := servers(t)
	s := newShell(t)
	s.store = pg
	key := strings.Repeat("7", 64)
	s.env["TENET_MASTER_KEY"], s.env["TENET_EMBEDDER"] = key, "none"

	s.env["TENET_VAULT"] = pg
	if r := s.fails(tenet.Invalid, "facts", "--user", "anna"); !strings.Contains(r.err, "own server") {
		t.Errorf("a vault on the store's server: %q", r.err)
	}
	onPostgres(t, pg, `DO $$ BEGIN IF to_regnamespace('tenet') IS NOT NULL OR to_regnamespace('tenet_vault') IS NOT NULL THEN RAISE 'it has left a schema'; END IF; END $$`)
	s.env["TENET_VAULT"] = "redis://localhost:1"
	s.fails(tenet.Invalid, "facts", "--user", "anna")

	vault := anotherServer(t)
	s.env["TENET_VAULT"] = vault
	s.ok("remember", "--tier", "fact", "city", "lives in qzwx city", "--quote", "lives in qzwx city", "--user", "anna")
	s.ok("remember", "--tier", "fact", "city", "lives in Turin", "--quote", "lives in Turin", "--user", "carl")
	dump := filepath.Join(t.TempDir(), "dump.sql")
	postgresTool(t, "pg_dump", "-d", pg, "-f", dump)
	text, err := os.ReadFile(dump)
	if err != nil || !strings.Contains(string(text), "tenet.records") {
		t.Fatalf("the dump has %d bytes (%v)", len(text), err)
	}
	for _, word := range []string{"qzwx", "anna", "Turin", "carl", "717a7778", "616e6e61"} { // the last are bytes as a dump writes them
		if strings.Contains(string(text), word) {
			t.Errorf("the dump holds %q", word)
		}
	}
	delete(s.env, "TENET_VAULT")
	if r := s.fails(tenet.Invalid, "facts", "--user", "anna"); !strings.Contains(r.err, "sealed") {
		t.Errorf("without its vault: %q", r.err)
	}
	other := filepath.Join(t.TempDir(), "other.vault")
	s.env["TENET_VAULT"] = other
	if r := s.fails(tenet.Unavailable, "facts", "--user", "anna"); !strings.Contains(r.err, "the vault is missing") {
		t.Errorf("with a file that is not there: %q", r.err)
	}
	if _, err := os.Stat(other); !os.IsNotExist(err) {
		t.Errorf("a vault was made for a database that has one (%v)", err)
	}
	s.env["TENET_VAULT"] = vault
	s.env["TENET_SESSIONS"] = redis
	s.fails(tenet.Invalid, "facts", "--user", "carl")
	delete(s.env, "TENET_SESSIONS")
	if r := s.fails(tenet.Denied, "index-vectors"); !strings.Contains(r.err, "sealed") {
		t.Errorf("index-vectors: %q", r.err)
	}
	from := newShell(t)
	from.ok("remember", "--tier", "fact", "city", "lives in Oslo", "--quote", "lives in Oslo", "--user", "dora")
	file := s.store
	s.store = ""
	s.fails(tenet.Invalid, "migrate-store", "--from", from.store, "--to", pg)
	delete(s.env, "TENET_VAULT")
	s.fails(tenet.Invalid, "migrate-store", "--from", from.store, "--to", pg)
	s.env["TENET_VAULT"], s.store = vault, file
	if parts, _ := s.diagnosis(); parts["vault"] != "ok" {
		t.Errorf("doctor: %v", parts)
	}
	if out := s.run("config", "check").out; !strings.Contains(out, "vault") {
		t.Errorf("config check: %s", out)
	}

	s.ok("erase", "subject", "--user", "anna", "--why", "asked to")
	if out := s.ok("erasure", "list"); !strings.Contains(out, "done") {
		t.Errorf("the list says %q", out)
	}
	// The dump is put back, without a journal of erasures.
	onPostgres(t, pg, `DROP SCHEMA tenet CASCADE`)
	postgresTool(t, "psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", pg, "-f", dump)
	if out := s.ok("facts", "--user", "anna"); !strings.Contains(out, "no facts") {
		t.Errorf("the dump brought back %q", out)
	}
	if out := s.ok("facts", "--user", "carl"); !strings.Contains(out, "Turin") {
		t.Errorf("the other's facts: %q", out)
	}
	if out := s.ok("fsck"); !strings.Contains(out, "0 faults") {
		t.Errorf("fsck says %q", out)
	}
	exported := filepath.Join(t.TempDir(), "carl.jsonl")
	s.ok("export", "--user", "carl", exported)
	if text, err := os.ReadFile(exported); err != nil || !strings.Contains(string(text), "Turin") {
		t.Errorf("the export has %d bytes (%v)", len(text), err)
	}
	next := strings.Repeat("8", 64)
	s.env["TENET_MASTER_KEY"] = next + "," + key
	s.ok("master-key", "rotate")
	s.env["TENET_MASTER_KEY"] = next
	if out := s.ok("facts", "--user", "carl"); !strings.Contains(out, "Turin") {
		t.Errorf("after a rotation: %q", out)
	}
	onPostgres(t, vault, `DELETE FROM tenet_vault.data_keys WHERE wrapped IS NOT NULL AND scope <> 1`)
	if r := s.fails(tenet.Unavailable, "facts", "--user", "carl"); !strings.Contains(r.err, "does not hold") {
		t.Errorf("without a key: %q", r.err)
	}
	s.fails(tenet.Unavailable, "remember", "--tier", "fact", "city", "lives in Bern", "--quote", "lives in Bern", "--user", "carl")
	if r := s.run("fsck"); r.code == 0 || !strings.Contains(r.out, "the vault does not give its data key") {
		t.Errorf("fsck says %q and %q", r.out, r.err)
	}
}

// TestServersOfOneMachineShareAVaultFile before one PostgreSQL.
func TestServersOfOneMachineShareAVaultFile(t *testing.T) {
	pg, _ := servers(t)
	one := newShell(t)
	one.store = pg
	one.env["TENET_MASTER_KEY"], one.env["TENET_EMBEDDER"] = strings.Repeat("7", 64), "none"
	one.env["TENET_VAULT"] = filepath.Join(t.TempDir(), "tenet.vault")
	two := newShell(t)
	two.store, two.env = one.store, one.env
	one.ok("remember", "--tier", "fact", "city", "lives in Turin", "--quote", "lives in Turin", "--user", "carl")
	if out := two.ok("facts", "--user", "carl"); !strings.Contains(out, "Turin") {
		t.Errorf("the other finds %q", out)
	}
	two.ok("erase", "subject", "--user", "carl", "--why", "asked to")
	if out := one.ok("facts", "--user", "carl"); !strings.Contains(out, "no facts") {
		t.Errorf("after the erasure: %q", out)
	}
}
