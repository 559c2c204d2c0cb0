package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModelsAreListedAndChosen: without weights every command works, and a
// model that is not there is a clear error.
func TestModelsAreListedAndChosen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := func(name string) string {
		return map[string]string{"TENET_MODELS": filepath.Join(dir, "models"), "TENET_STORE": filepath.Join(dir, "t.db"), "TENET_USER": "sarah"}[name]
	}
	tenet := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		code := run(t.Context(), args, env, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	if code, out, _ := tenet("model", "list"); code != 0 || !strings.Contains(out, "e5-small-v2") {
		t.Errorf("list: %d %s", code, out)
	}
	if code, _, errs := tenet("model", "use", "e5-small-v2"); code != 3 {
		t.Errorf("use of what is not there: %d %s", code, errs)
	}
	if code, _, errs := tenet("model", "install", "--from", dir); code != 2 {
		t.Errorf("install from an empty folder: %d %s", code, errs)
	}
	if code, _, errs := tenet("model", "install", "unknown"); code != 3 {
		t.Errorf("install of an unknown one: %d %s", code, errs)
	}
	code, _, errs := tenet("remember", "--tier", "note", "--quote", "I like tea.", "I like tea.")
	if code != 0 || strings.Count(errs, "recall goes by words") != 1 {
		t.Errorf("the first command says once that no model is there: %d %q", code, errs)
	}
	if code, out, errs := tenet("recall", "tea"); code != 0 || errs != "" || !strings.Contains(out, "I like tea.") {
		t.Errorf("and then no more: %d %s %q", code, out, errs)
	}
	if code, _, errs := tenet("model", "use", "none"); code != 0 {
		t.Errorf("use none: %d %s", code, errs)
	}
	if code, _, errs := tenet("forget", "--dry-run"); code != 0 {
		t.Errorf("forget: %d %s", code, errs)
	}
}

// TestEvalWritesWhatItSays: figures, rankings, plot and comparison of a small
// set with other tenants, empty fields and unknown ones.
func TestEvalWritesWhatItSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	docs := `{"id":"a1","tenant":"a","session":"","time":"","role":"","text":"The violin lesson is on Tuesday.","more":{"x":[1]}}
{"id":"a2","tenant":"a","session":"s","time":"2024-01-02","role":"user","text":"My dentist is in Lisbon."}
{"id":"a3","tenant":"a","session":"s","time":"odd","role":"assistant","text":"Noted, the dentist."}

{"id":"b1","tenant":"b","session":"s","time":"","role":"Bob","text":"The violin is broken."}
`
	queries := `{"id":"q1","tenant":"a","category":"x","text":"violin lesson","gold":["a1"],"answer":7}
{"id":"q2","tenant":"a","category":"y","text":"dentist in Lisbon","gold":["a2","a3"]}
{"id":"q3","tenant":"b","category":"","text":"violin","gold":["b1"]}
{"id":"q4","tenant":"b","category":"x","text":"violin","gold":["b1"],"exclude":true}
{"id":"q5","tenant":"c","category":"x","text":"violin","gold":["b1"]}
{"id":"q6","tenant":"a","category":"x","text":"","gold":["a1"]}
`
	for name, text := range map[string]string{"docs.jsonl": docs, "queries.jsonl": queries} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := func(string) string { return "" }
	tenet := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		code := run(t.Context(), args, env, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	fig, rankings, plot := filepath.Join(dir, "f.json"), filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "p.svg")
	code, out, errs := tenet("eval", "retrieval", dir, "--json", fig, "--run", rankings, "--plot", plot)
	if code != 0 {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	var got struct {
		Overall    map[string]float64            `json:"overall"`
		Categories map[string]map[string]float64 `json:"categories"`
		Leaks      *int                          `json:"leaks"`
	}
	data, err := os.ReadFile(fig)
	if err != nil || json.Unmarshal(data, &got) != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if got.Leaks == nil || *got.Leaks != 0 || got.Overall["n"] != 5 || got.Overall["recall@5"] != 0.6 || got.Categories["y"]["recall@10"] != 1 {
		t.Errorf("figures: %s", data)
	}
	lines, _ := os.ReadFile(rankings)
	if n := strings.Count(string(lines), "\n"); n != 6 || !strings.Contains(string(lines), `{"id":"q6","hits":[]}`) || !strings.Contains(string(lines), `{"id":"q1","hits":["a1"`) {
		t.Errorf("rankings: %s", lines)
	}
	if svg, _ := os.ReadFile(plot); !strings.HasPrefix(string(svg), "<svg") {
		t.Errorf("plot: %.40s", svg)
	}
	if code, out, errs := tenet("eval", "retrieval", dir, "--compare", rankings); code != 0 || !strings.Contains(out, "paired bootstrap") {
		t.Errorf("compare: %d %s %s", code, out, errs)
	}
	if code, out, _ := tenet("eval", "retrieval", dir, "--json"); code != 0 || !strings.HasPrefix(out, "{") {
		t.Errorf("--json without a file prints: %d %s", code, out)
	}
	if code, _, errs := tenet("eval", "retrieval", filepath.Join(dir, "absent")); code != 3 {
		t.Errorf("no such folder: %d %s", code, errs)
	}
	if code, _, errs := tenet("eval", "convert", "locomo", fig, dir); code != 2 {
		t.Errorf("another file's form: %d %s", code, errs)
	}
}
