package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// masks are what differs from run to run: ids, fences and the process.
var masks = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "FENCE"},
	{regexp.MustCompile(`Process \d+`), "Process PID"},
}

func masked(s string) string {
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.with)
	}
	return s
}

func TestTheDemoTellsTheStoryThatItAlwaysTells(t *testing.T) {
	t.Setenv("TENET_TEST_MAIN", "1") // its second process is this test binary
	t.Setenv("TMPDIR", t.TempDir())
	s := newShell(t)
	s.store = ""
	began := time.Now()
	out := masked(s.ok("demo"))
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("colour, and this is no terminal")
	}
	golden := filepath.Join("testdata", "demo.txt")
	if os.Getenv("TENET_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out != string(want) {
		t.Errorf("the demo tells another story than testdata/demo.txt:\n%s", out)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("it leaves %v behind", left)
	}
}

func TestTheDemosClaimsHoldInItsData(t *testing.T) {
	t.Setenv("TENET_TEST_MAIN", "1")
	s := newShell(t)
	s.store = ""
	var d struct {
		Bucket struct {
			Nearest []string
			Place   int `json:"allergy_place"`
		}
		SessionTwo struct{ System string } `json:"session_two"`
		Injection  struct {
			Verdicts []struct{ Key, Outcome, Label string }
			Held     []struct {
				Proposal struct{ Text string }
				Verdict  struct{ Codes []string }
			}
		}
		Then, Now struct {
			Fact struct{ Text string }
		}
		KnownThen struct{ Fact struct{ Text string } } `json:"known_then"`
		KnownNow  struct{ Fact struct{ Text string } } `json:"known_now"`
	}
	if err := json.Unmarshal([]byte(s.ok("demo", "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Bucket.Place <= 10 || len(d.Bucket.Nearest) != 10 {
		t.Errorf("the bucket finds the allergy at place %d", d.Bucket.Place)
	}
	for _, text := range d.Bucket.Nearest {
		if !strings.Contains(text, "email") {
			t.Errorf("not a near-duplicate: %q", text)
		}
	}
	if !strings.Contains(d.SessionTwo.System, allergy) {
		t.Error("the second process lacks the allergy")
	}
	outcomes := map[string]string{}
	for _, v := range d.Injection.Verdicts {
		outcomes[v.Key] = v.Outcome
	}
	if outcomes["refund_policy"] != "rejected" || outcomes["seat"] != "stored" {
		t.Error(outcomes)
	}
	if h := d.Injection.Held; len(h) != 1 || h[0].Proposal.Text != poison || len(h[0].Verdict.Codes) == 0 {
		t.Errorf("%+v", h)
	}
	if !strings.Contains(d.KnownThen.Fact.Text, "Boston") || !strings.Contains(d.KnownNow.Fact.Text, "Denver") {
		t.Errorf("%+v %+v", d.KnownThen, d.KnownNow)
	}
}
