package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

func TestARestoreBringsNoErasedSubjectBack(t *testing.T) { aRestoreBringsNobodyBack(t, newShell(t)) }

// TestASealedDatabaseIsRestoredWithItsVault: its files hold no word while it is
// in use, and without the journal of erasures, too, a backup is not readable.
func TestASealedDatabaseIsRestoredWithItsVault(t *testing.T) {
	s := newShell(t)
	vault := filepath.Join(t.TempDir(), "tenet.vault")
	s.env["TENET_VAULT"] = vault
	s.ok("remember", "--tier", "fact", "city", "lives in qzwx city", "--quote", "lives in qzwx city", "--user", "anna")
	s.ok("remember", "--tier", "fact", "city", "lives in Turin", "--quote", "lives in Turin", "--user", "carl")
	files, err := filepath.Glob(s.store + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v (%v)", files, err)
	}
	for _, name := range append(files, vault) {
		if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "qzwx") || strings.Contains(string(text), "anna") {
			t.Errorf("%s holds a word, or a name (%v)", filepath.Base(name), err)
		}
	}
	delete(s.env, "TENET_VAULT")
	if r := s.fails(tenet.Invalid, "facts", "--user", "anna"); !strings.Contains(r.err, "sealed") {
		t.Errorf("without its vault: %q", r.err)
	}
	s.env["TENET_VAULT"] = vault + ".other"
	s.fails(tenet.Unavailable, "facts", "--user", "anna")
	s.env["TENET_VAULT"] = vault
	copied := filepath.Join(t.TempDir(), "backup.db")
	s.ok("backup", copied)
	s.ok("erase", "subject", "--user", "anna", "--why", "asked to")
	if err := os.Remove(s.store + ".erasures"); err != nil {
		t.Fatal(err)
	}
	s.ok("restore", copied, "--replace")
	if out := s.ok("facts", "--user", "anna"); !strings.Contains(out, "no facts") {
		t.Errorf("the backup brought back %q", out)
	}
	if out := s.ok("facts", "--user", "carl"); !strings.Contains(out, "Turin") {
		t.Errorf("the other's facts: %q", out)
	}
	if out := s.ok("fsck"); !strings.Contains(out, "0 faults") {
		t.Errorf("fsck says %q", out)
	}
	s.ok("master-key", "rotate", "--discard-old")
	if out := s.ok("facts", "--user", "carl"); !strings.Contains(out, "Turin") {
		t.Errorf("after a rotation: %q", out)
	}
	s.env["TENET_SESSIONS"] = "redis://localhost:1"
	s.fails(tenet.Invalid, "facts", "--user", "carl")
	delete(s.env, "TENET_SESSIONS")

	again := newShell(t)
	again.env["TENET_VAULT"] = filepath.Join(t.TempDir(), "tenet.vault")
	aRestoreBringsNobodyBack(t, again)
}

func aRestoreBringsNobodyBack(t *testing.T, s *shell) {
	t.Helper()
	remember := func(user, key, text string) {
		s.ok("remember", "--tier", "fact", key, text, "--quote", text, "--user", user)
	}
	remember("sarah", "drink", "likes qzwx tea")
	remember("bob", "drink", "likes coffee")
	dir := t.TempDir()
	copied, receipt := filepath.Join(dir, "backup.db"), filepath.Join(dir, "receipt.json")
	s.ok("backup", copied)
	s.fails(tenet.Conflict, "backup", copied)
	if out := s.ok("erase", "subject", "--user", "sarah", "--dry-run"); !strings.Contains(out, "would erase a subject: 1 records") {
		t.Errorf("the dry run says %q", out)
	}
	s.fails(tenet.Denied, "erase", "subject", "--user", "sarah", "--as", "app")
	s.fails(tenet.Invalid, "erase", "record", "--user", "sarah")
	s.ok("erase", "subject", "--user", "sarah", "--why", "asked to", "--receipt", receipt)
	s.ok("erasure", "verify", receipt)
	if out := s.ok("erasure", "list"); !strings.Contains(out, "done") {
		t.Errorf("the list says %q", out)
	}
	remember("bob", "city", "lives in Oslo")
	s.fails(tenet.Conflict, "restore", copied)
	if out := s.ok("restore", copied, "--replace"); !strings.Contains(out, "1 later erasures were carried out again") {
		t.Errorf("restore says %q", out)
	}
	if out := s.ok("facts", "--user", "sarah"); !strings.Contains(out, "no facts") {
		t.Errorf("the backup brought back %q", out)
	}
	if out := s.ok("facts", "--user", "bob"); !strings.Contains(out, "coffee") || strings.Contains(out, "Oslo") {
		t.Errorf("the other's facts as of the backup: %q", out)
	}
	for _, name := range []string{s.store, s.store + ".erasures"} {
		if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "qzwx") || strings.Contains(string(text), "sarah") {
			t.Errorf("%s holds what was erased (%v)", filepath.Base(name), err)
		}
	}
	if out := s.ok("fsck"); !strings.Contains(out, "0 faults") {
		t.Errorf("fsck says %q", out)
	}
	text, err := os.ReadFile(receipt)
	if err != nil {
		t.Fatal(err)
	}
	forged := s.write("forged.json", strings.Replace(string(text), `"asked to"`, `"asked so"`, 1))
	if r := s.fails(tenet.Internal, "erasure", "verify", forged); !strings.Contains(r.out, "altered") {
		t.Errorf("an altered receipt: %q", r.out)
	}
}

func TestFsckFindsWhatNoChainAnswersFor(t *testing.T) {
	s := newShell(t)
	s.ok("remember", "--tier", "fact", "drink", "likes tea", "--quote", "likes tea", "--user", "sarah")
	s.ok("session", "append", "chat", "hello", "--role", "user", "--user", "sarah")
	if out := s.ok("fsck"); !strings.Contains(out, "0 faults") {
		t.Fatalf("fsck says %q", out)
	}
	raw, err := sql.Open("sqlite", s.store)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, c := range []struct{ name, damage, want string }{
		{"a row of nobody", `INSERT INTO outcomes VALUES (12345, 1, 'r', 1, 1)`, "rows of no subject"},
		{"a vector of nothing", `INSERT INTO vectors SELECT scope, 'nothing', 1, 1, x'00' FROM subjects LIMIT 1`, "vectors of no record"},
		{"a chain that was cut", `DELETE FROM chain WHERE seq = (SELECT max(seq) FROM chain)`, "the end of the chain is missing"},
	} {
		if _, err := raw.Exec(c.damage); err != nil {
			t.Fatal(err)
		}
		if r := s.fails(tenet.Internal, "fsck"); !strings.Contains(r.out, c.want) {
			t.Errorf("%s: fsck says %q, want %q", c.name, r.out, c.want)
		}
	}
}
