package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

func TestARestoreBringsNoErasedSubjectBack(t *testing.T) {
	s := newShell(t)
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
