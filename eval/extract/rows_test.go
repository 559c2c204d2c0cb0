// Package extract measures the default extractor on the development texts.
// It holds tests only.
package extract

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A row is one text of a development set, as one user turn. Its id says where
// it stands, so that a label needs no copy of the text.
type row struct {
	id, set, licence, text string
}

func dataDir() string {
	if d := os.Getenv("TENET_DATA"); d != "" {
		return d
	}
	return filepath.Join("..", "..", "..", "shared", "data")
}

// lines decodes a JSON Lines file; it skips the test when the data is absent.
func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(dataDir(), path))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no %s under %s", path, dataDir())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n') // texts hold U+2028: only \n ends a record
		if len(line) > 1 {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatal(path, err)
			}
			out = append(out, v)
		}
		if err != nil {
			return out
		}
	}
}

// rows are all texts that the extractor is measured on, each text once.
func rows(t testing.TB) []row {
	t.Helper()
	var out []row
	seen := map[string]bool{}
	add := func(r row) {
		if r.text != "" && !seen[r.text] {
			seen[r.text] = true
			out = append(out, r)
		}
	}
	for _, d := range lines[struct{ ID, Role, Text string }](t, "retrieval/lme_pool/docs.jsonl") {
		if d.Role == "user" {
			add(row{"lme_pool/" + d.ID, "longmemeval", "MIT", d.Text})
		}
	}
	var raw []struct {
		ID       string                             `json:"question_id"`
		Sessions [][]struct{ Role, Content string } `json:"haystack_sessions"`
	}
	b, err := os.ReadFile(filepath.Join(dataDir(), "longmemeval/lme_s_instances.json"))
	if err != nil {
		t.Skip("no LongMemEval instances")
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	for _, in := range raw {
		for i, s := range in.Sessions {
			for j, turn := range s {
				if turn.Role == "user" {
					add(row{fmt.Sprintf("lme_s/%s/%d/%d", in.ID, i, j), "longmemeval", "MIT", turn.Content})
				}
			}
		}
	}
	for _, c := range lines[struct {
		ID         string
		Statements []struct{ Text string }
	}](t, "supersede/lme_knowledge_update.jsonl") {
		for i, s := range c.Statements {
			add(row{fmt.Sprintf("lme_update/%s/%d", c.ID, i), "longmemeval", "MIT", s.Text})
		}
	}
	for i, d := range lines[struct{ Text, Kind, Source, License, Lang string }](t, "gate/benign_memory.jsonl") {
		id := fmt.Sprintf("benign_memory/%d", i+1)
		switch {
		case d.Kind == "conversation_turn":
			add(row{id, "longmemeval", d.License, d.Text})
		case d.Kind == "persona" && d.Lang == "en":
			add(row{id, "persona", d.License, d.Text})
		case d.Kind == "persona":
			add(row{id, "persona_" + d.Lang, d.License, d.Text})
		case d.Kind == "preference":
			add(row{id, "preference", d.License, d.Text})
		case d.Kind == "fact":
			add(row{id, "third_person", d.License, d.Text})
		}
	}
	for _, set := range []struct{ name, licence string }{{"locomo", "CC BY-NC 4.0"}, {"beam_100K_user", "unclear"}} {
		for _, d := range lines[struct{ ID, Text string }](t, "retrieval/"+set.name+"/docs.jsonl") {
			text := d.Text
			if set.name == "locomo" { // "[date] speaker: text"
				_, text, _ = strings.Cut(text, "] ")
				_, text, _ = strings.Cut(text, ": ")
			}
			add(row{set.name + "/" + d.ID, set.name, set.licence, text})
		}
	}
	return out
}
