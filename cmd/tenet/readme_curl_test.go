package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The README's curl round trip, word for word, on a fresh server.
func TestTheReadmesCurlRoundTripWorks(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "## Over HTTP")
	_, block, ok2 := strings.Cut(rest, "```sh\n")
	script, _, ok3 := strings.Cut(block, "```")
	if !ok || !ok2 || !ok3 {
		t.Fatal("README.md has no round trip")
	}
	_, url := serving(t)
	// The key stands where make serve leaves it.
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(servedStore + ".app-key")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "tenet.db.app-key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", strings.Replace(script, "http://127.0.0.1:7766", url, 1))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "Severe shellfish allergy. Flag any seafood promotions.") || strings.Contains(string(out), "urn:tenet:problem") {
		t.Errorf("the round trip says\n%s", out)
	}
}
