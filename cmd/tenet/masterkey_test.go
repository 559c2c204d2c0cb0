package main

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

func TestAMasterKeyIsRotatedAndWhatWasEarlierOpensOldBackupsOnly(t *testing.T) {
	s := newShell(t)
	file := s.store + ".key"
	remember := func(user, text string) {
		t.Helper()
		s.ok("remember", "--tier", "fact", "drink", text, "--quote", text, "--user", user)
	}
	remember("sarah", "likes tea")
	remember("bob", "likes coffee")
	s.ok("erase", "subject", "--user", "bob", "--receipt", filepath.Join(t.TempDir(), "bob.json"))
	s.ok("session", "append", "chat", "I like tea", "--role", "user", "--user", "sarah")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copied, old := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "old.key")
	s.ok("backup", copied)
	s.fails(tenet.Invalid, "master-key", "rotate")
	s.fails(tenet.Invalid, "master-key", "rotate", "--old", old, "--discard-old")
	if out := s.ok("master-key", "rotate", "--old", old); !strings.Contains(out, "data keys are wrapped") || strings.HasPrefix(out, "0 ") {
		t.Errorf("rotate says %q", out)
	}
	second, err := os.ReadFile(file)
	if err != nil || bytes.Equal(first, second) || len(second) != 65 {
		t.Fatalf("the key file: %d bytes, %v", len(second), err)
	}
	if kept, err := os.ReadFile(old); err != nil || !bytes.Equal(kept, first) {
		t.Errorf("the earlier key was not kept: %v", err)
	}
	check := func(what string) {
		t.Helper()
		if out := s.ok("facts", "--user", "sarah"); !strings.Contains(out, "likes tea") {
			t.Errorf("%s: the facts are %q", what, out)
		}
		s.ok("verify", "--user", "sarah")
		if out := s.ok("fsck"); !strings.Contains(out, "0 faults") {
			t.Errorf("%s: fsck says %q", what, out)
		}
		if out := s.ok("erasure", "list"); !strings.Contains(out, "done") { // found by a digest
			t.Errorf("%s: the erasures are %q", what, out)
		}
	}
	check("after the rotation")
	remember("carol", "likes water")
	s.ok("erase", "subject", "--user", "carol")
	check("after an erasure under the new key")

	// The earlier key opens nothing here, and a backup opens with nothing else.
	if err := os.WriteFile(file, first, 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(tenet.Invalid, "facts", "--user", "sarah")
	if err := os.WriteFile(file, second, 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(tenet.Invalid, "restore", copied, "--replace")
	if err := os.WriteFile(file, append(bytes.Clone(second), first...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("restore", copied, "--replace")
	if out := s.ok("facts", "--user", "sarah"); !strings.Contains(out, "likes tea") {
		t.Errorf("the backup's facts are %q", out)
	}
	// Begun again, the rotation goes on to the key that was made for it.
	s.ok("master-key", "rotate", "--discard-old")
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, second) {
		t.Errorf("a rotation that was cut off made another key (%v)", err)
	}
	check("after a restore and a second rotation")
	s.ok("master-key", "rotate", "--discard-old")
	check("after a third rotation")
	if now, _ := os.ReadFile(file); bytes.Equal(now, second) || len(now) != 65 {
		t.Error("no new key was made")
	}

	// Keys of the configuration.
	now, _ := os.ReadFile(file)
	key := strings.TrimSpace(string(now))
	next := hex.EncodeToString(bytes.Repeat([]byte{7}, 32))
	s.env["TENET_MASTER_KEY"] = key
	s.fails(tenet.Invalid, "master-key", "rotate")
	s.env["TENET_MASTER_KEY"] = next + "," + key
	check("with both keys, before")
	s.ok("master-key", "rotate")
	check("with both keys, after")
	s.env["TENET_MASTER_KEY"] = next
	check("with the new key alone")
	s.env["TENET_MASTER_KEY"] = key
	s.fails(tenet.Invalid, "facts", "--user", "sarah")
}
