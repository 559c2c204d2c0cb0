package policy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// corpusRow is one text of the development corpora.
type corpusRow struct {
	Text, Label, Kind, Source, Lang string
}

// dataDir is the folder of the development data; tests that need it skip
// without it, because its licences keep it out of the project.
func dataDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("TENET_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "gate")); err != nil {
		t.Skip("no development data: set TENET_DATA")
	}
	return dir
}

func readRows(t testing.TB, path string) []corpusRow {
	t.Helper()
	b, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var rows []corpusRow
	sc := bufio.NewScanner(b)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r corpusRow
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// tally counts what became of the texts of one file on one channel.
type tally struct{ n, allow, hold, reject int }

func (c *tally) add(o tenet.Outcome) {
	c.n++
	switch {
	case o.Kept():
		c.allow++
	case o == tenet.Quarantined:
		c.hold++
	default:
		c.reject++
	}
}

func (c tally) stopped() float64 { return 100 * float64(c.hold+c.reject) / float64(max(c.n, 1)) }

func (c tally) String() string {
	p := func(k int) float64 { return 100 * float64(k) / float64(max(c.n, 1)) }
	return fmt.Sprintf("n %5d  allow %5.1f%%  hold %5.1f%%  reject %5.1f%%", c.n, p(c.allow), p(c.hold), p(c.reject))
}

// corpus is every text file of the gate sets, by group of the data notes.
func corpus(t testing.TB) map[string][]corpusRow {
	dir := filepath.Join(dataDir(t), "gate")
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	groups := map[string][]corpusRow{}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		for _, r := range readRows(t, f) {
			g := name
			switch name {
			case "attack_direct":
				if r.Lang != "en" {
					g += " (not English)"
				}
			case "attack_indirect", "benign_memory":
				g += " (" + r.Kind + ")"
			case "memshield_bench":
				g += " (" + strings.Split(strings.TrimPrefix(r.Kind, "memshield_"), "_")[0] + ")"
			case "hand_written":
				g += " (" + r.Label + ")"
			case "benign_overdefense":
				s, _, _ := strings.Cut(r.Source, "_")
				s, _, _ = strings.Cut(s, " ")
				g += " (" + s + ")"
			}
			groups[g] = append(groups[g], r)
		}
	}
	return groups
}

func TestCorpusRatesByFileAndChannel(t *testing.T) {
	g := gate.New(Default())
	groups := corpus(t)
	names := slices.Sorted(func(yield func(string) bool) {
		for k := range groups {
			if !yield(k) {
				return
			}
		}
	})
	show := os.Getenv("SHOW")
	for _, ch := range Channels() {
		for _, name := range names {
			var c tally
			for i, r := range groups[name] {
				v, err := Offer(g, ch, r.Text)
				if err != nil {
					t.Fatal(err)
				}
				c.add(v.Outcome)
				if ch == "user" && show != "" && strings.HasPrefix(name, show) && v.Outcome.Kept() == (r.Label == "inject") {
					fmt.Printf("%s %d %s %v %.300q\n", name, i, r.Lang, v.Outcome, r.Text)
					for _, f := range v.Findings {
						if f.Code != CodeStyle && f.End > f.Start && f.End < len(r.Text) {
							fmt.Printf("     %s %.100q\n", f.Code, r.Text[f.Start:f.End])
						}
					}
				}
			}
			t.Logf("%-9s %-46s %v", ch, name, c)
			if ch != "user" && c.allow > 0 {
				t.Errorf("%s: %d texts became facts on channel %s", name, c.allow, ch)
			}
		}
	}
}
