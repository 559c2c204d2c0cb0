package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// query is one question with the turns that answer it.
type query struct {
	Tenant, Category, Text string
	Gold                   []string
	Exclude                bool
}

func queries(t *testing.T, path string) []query {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var qs []query
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var q query
		if err := json.Unmarshal(sc.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		if len(q.Gold) > 0 && !q.Exclude { // scored, as reference/retrieval.md defines it
			qs = append(qs, q)
		}
	}
	return qs
}

// recallAt10 asks every question in the memory of its user and returns the mean
// share of the evidence turns among the ten best, by category and over all.
// turn names a record as the gold does.
func recallAt10(t *testing.T, s *shell, qs []query, turn func(*memory.Session, memory.Recalled) string) map[string]float64 {
	t.Helper()
	a := &app{ctx: context.Background(), getenv: os.Getenv}
	set, err := load(globals{Store: &s.store}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	a.set = set
	m, err := a.memory(reads)
	if err != nil {
		t.Fatal(err)
	}
	defer a.opened.close()
	by, err := a.principal(tenet.App)
	if err != nil {
		t.Fatal(err)
	}
	sum, n := map[string]float64{}, map[string]int{}
	for _, q := range qs {
		scope, err := tenet.NewScope("default", tenet.User(q.Tenant))
		if err != nil {
			t.Fatal(err)
		}
		found, err := m.Recall(a.ctx, by, q.Text, memory.RecallOptions{K: 10}, scope)
		if err != nil {
			t.Fatal(err)
		}
		gold := map[string]bool{}
		for _, g := range q.Gold {
			gold[g] = true
		}
		hit := 0
		for _, r := range found.Hits {
			session, err := m.Session(a.ctx, by, scope, r.Session)
			if err != nil {
				t.Fatal(err)
			}
			if gold[q.Tenant+"/"+turn(session, r)] {
				hit++
			}
		}
		for _, c := range []string{q.Category, "all"} {
			sum[c] += float64(hit) / float64(len(gold))
			n[c]++
		}
	}
	for c := range sum {
		sum[c] /= float64(n[c])
	}
	return sum
}

// clientIDs names a turn by the id that its file gives it.
func clientIDs(t *testing.T) func(*memory.Session, memory.Recalled) string {
	names := map[tenet.MessageID]string{}
	return func(s *memory.Session, r memory.Recalled) string {
		if _, known := names[r.Message]; !known {
			ms, err := s.Messages(context.Background(), 0, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range ms {
				names[m.ID] = m.ClientID
			}
		}
		return names[r.Message]
	}
}

func TestImportedLoCoMoIsRecalled(t *testing.T) {
	if testing.Short() {
		t.Skip("a long one")
	}
	const data = "../../../shared/data/"
	if _, err := os.Stat(data + "locomo/locomo10.json"); err != nil {
		t.Skip("the shared data is not here; TestOurOwnConversationIsRecalled stands in")
	}
	s := newShell(t)
	began := time.Now()
	var r imported
	s.into(&r, "import", data+"locomo/locomo10.json", "--participants", "all=user")
	took := time.Since(began)
	t.Logf("5,882 turns imported in %.1f s", took.Seconds())
	if r.Conversations != 272 || r.Added != 5882 || r.Failed != 0 || took > time.Minute {
		t.Errorf("%+v in %v", r, took)
	}
	refused := 0
	for code, n := range r.Refused { // each is a miss below
		t.Logf("refused: %s %d", code, n)
		refused += n
	}
	if r.Kept+refused < 5882 { // every turn is an episode, and some state facts beside
		t.Errorf("%d kept and %d refused: a turn is lost", r.Kept, refused)
	}
	qs := queries(t, data+"retrieval/locomo/queries.jsonl")
	scores := recallAt10(t, s, qs, clientIDs(t))
	t.Logf("recall@10 over %d questions: %v", len(qs), scores)
	if scores["all"] < 0.70 {
		t.Errorf("recall@10 is %.3f, want 0.70", scores["all"])
	}
}

func TestOurOwnConversationIsRecalled(t *testing.T) {
	s := newShell(t)
	s.ok("import", "../../examples/data/sarah.jsonl")
	names := clientIDs(t)
	turn := func(s *memory.Session, r memory.Recalled) string { return fmt.Sprintf("%s/%s", r.Session, names(s, r)) }
	var qs []query
	for text, gold := range map[string]string{
		"Which foods is she allergic to? shellfish": "chat-1/m3",
		"What flight was cancelled?":                "chat-1/m1",
		"Does she want an aisle or a middle seat?":  "chat-1/m5",
		"Which hotel was too loud?":                 "chat-2/m3",
		"Email or phone calls?":                     "chat-2/m1",
		"How old are the children Emma and Noah?":   "chat-3/m1",
		"Who is learning to surf?":                  "chat-3/m3",
	} {
		qs = append(qs, query{Tenant: "sarah", Text: text, Gold: []string{"sarah/" + gold}})
	}
	if scores := recallAt10(t, s, qs, turn); scores["all"] < 1 {
		t.Errorf("recall@10 is %.2f", scores["all"])
	}
}

func TestOurOwnConversationIsWhatTheReadmePromises(t *testing.T) {
	s := newShell(t)
	path, err := filepath.Abs("../../examples/data/sarah.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var r imported
	s.into(&r, "import", path)
	if r.Conversations != 3 || r.Failed != 0 || len(r.Refused) != 0 {
		t.Errorf("%+v", r)
	}
	if out := s.ok("session", "show", "chat-1", "--user", "sarah"); !strings.Contains(out, "shellfish") {
		t.Error(out)
	}
}
