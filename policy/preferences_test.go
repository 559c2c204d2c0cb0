package policy

import (
	"path/filepath"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestTrickyPreferencesAreKept offers what people really ask to be
// remembered, full of words that attacks use too.
func TestTrickyPreferencesAreKept(t *testing.T) {
	g := gate.New(Default())
	rows := readRows(t, filepath.Join("testdata", "preferences.jsonl"))
	if len(rows) < 250 {
		t.Fatalf("%d rows, want 250", len(rows))
	}
	var c tally
	for _, r := range rows {
		v, err := Offer(g, "user", r.Text)
		if err != nil {
			t.Fatal(err)
		}
		c.add(v.Outcome)
		switch {
		case v.Outcome == tenet.Rejected:
			t.Errorf("rejected: %q %v", r.Text, v.Codes)
		case v.Outcome == tenet.Quarantined:
			t.Logf("held: %q %v", r.Text, v.Codes)
		}
	}
	t.Log(c)
	if c.hold*100 > c.n*2 {
		t.Error("more than 2% held")
	}
}

// TestFreshParaphrasesAreReported prints what texts that no rule was written
// for come to. It is never gated and never tuned on: origin stops
// paraphrases, word lists do not. Write a new set for each release.
func TestFreshParaphrasesAreReported(t *testing.T) {
	g := gate.New(Default())
	rates := map[string]*tally{}
	for _, r := range readRows(t, filepath.Join("testdata", "paraphrases.jsonl")) {
		v, err := Offer(g, "user", r.Text)
		if err != nil {
			t.Fatal(err)
		}
		if rates[r.Lang] == nil {
			rates[r.Lang] = &tally{}
		}
		rates[r.Lang].add(v.Outcome)
	}
	printRates(t, "user", rates)
}
