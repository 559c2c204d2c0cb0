package policy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rot13 decodes the secrets of the development data, which are stored that
// way so that scanners of repositories stay quiet.
func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func TestSpokenSecretsAreFoundAndLookAlikesAreNot(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(dataDir(t), "secrets", "handwritten.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	secrets, found, looks, flagged := 0, 0, 0, 0
	for line := range strings.Lines(string(b)) {
		var r struct {
			Label, Kind string
			Text        string `json:"text_rot13"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		text := rot13(r.Text)
		_, codes := Redact(text)
		switch {
		case r.Label == "secret" && len(codes) > 0:
			secrets, found = secrets+1, found+1
		case r.Label == "secret":
			secrets++
			t.Logf("missed: %s %q", r.Kind, text)
		case len(codes) > 0:
			looks, flagged = looks+1, flagged+1
			t.Logf("flagged: %v %q", codes, text)
		default:
			looks++
		}
	}
	t.Logf("secrets %d of %d found, look-alikes %d of %d flagged", found, secrets, flagged, looks)
	if found*100 < secrets*95 || flagged > 0 {
		t.Error("below the floor: 95% found, none flagged")
	}
}

// TestSecretsWrittenForTheProject is the same claim on our own list, in more
// languages and with more look-alikes.
func TestSecretsWrittenForTheProject(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "secrets.rot13.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n, missed, flagged := 0, 0, 0
	for line := range strings.Lines(string(b)) {
		if line[0] == '#' {
			continue
		}
		n++
		text := rot13(strings.TrimSpace(line[2:]))
		_, codes := Redact(text)
		switch {
		case line[0] == 'S' && len(codes) == 0:
			missed++
			t.Logf("missed %q", text)
		case line[0] == 'N' && len(codes) > 0:
			flagged++
			t.Logf("flagged %v %q", codes, text)
		}
	}
	t.Logf("%d lines: %d missed, %d flagged", n, missed, flagged)
	if missed+flagged > 0 {
		t.Fail()
	}
}

func TestRedactionKeepsTheRestOfTheText(t *testing.T) {
	got, codes := Redact("Hi! My wifi password is Tulip!Field92, see you at 8.")
	if got != "Hi! My wifi password is [SECRET:spoken-password], see you at 8." || len(codes) != 1 {
		t.Errorf("%q %v", got, codes)
	}
	if got, codes := Redact("nothing here"); got != "nothing here" || codes != nil {
		t.Errorf("%q %v", got, codes)
	}
}

func TestBenignMemoryHoldsNoSecrets(t *testing.T) {
	rows := readRows(t, filepath.Join(dataDir(t), "gate", "benign_memory.jsonl"))
	flagged := 0
	for _, r := range rows {
		if out, codes := Redact(r.Text); len(codes) > 0 {
			flagged++
			t.Logf("%v %.200q -> %.200q", codes, r.Text, out)
		}
	}
	t.Logf("%d of %d flagged", flagged, len(rows))
	if flagged*1000 > len(rows) {
		t.Error("more than 0.1% flagged")
	}
}

// TestGitleaksRulesFindTheirOwnSamples makes the samples out of the module, as
// whoever brings the rules up to date does: they are not part of the project.
func TestGitleaksRulesFindTheirOwnSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("downloads and builds the module")
	}
	path := filepath.Join(t.TempDir(), "samples.jsonl")
	gen := exec.Command("go", "run", "./internal/gitleaksgen/main.go", "-samples", path)
	if out, err := gen.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := builtin()
	want, found, not, flagged := 0, 0, 0, 0
	rules := map[string]bool{}
	missed := map[string]int{}
	for line := range strings.Lines(string(b)) {
		var r struct {
			Rule, Text string
			Want, Path bool
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got := len(p.secrets.find(r.Text)) > 0
		switch {
		case r.Want:
			want++
			rules[r.Rule] = true
			if got {
				found++
			} else {
				missed[r.Rule]++
				if missed[r.Rule] < 3 {
					t.Logf("missed %s %.160q", r.Rule, r.Text)
				}
			}
		default:
			not++
			if got {
				flagged++
			}
		}
	}
	t.Logf("%d rules: %d of %d samples found; %d of %d negatives flagged; missed by rule: %v", len(rules), found, want, flagged, not, missed)
	if found*100 < want*99 || want < 5000 {
		t.Error("below 99%, or not the samples")
	}
}
