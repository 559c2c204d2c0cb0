package main

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

// TestAFileMovesToPostgres copies a file with everything in it, finds the same
// there by every command, and goes on after it was stopped in the middle.
func TestAFileMovesToPostgres(t *testing.T) {
	pg, _ := servers(t)
	s := newShell(t)
	s.env["TENET_EMBEDDER"] = "none"
	for _, user := range []string{"sarah", "tom"} {
		at := []string{"--tenant", "acme", "--user", user}
		run := func(args ...string) { t.Helper(); s.ok(append(args, at...)...) }
		run("remember", "--tier", "fact", "--quote", "I live in Berlin", "home_city", "Berlin")
		run("remember", "--tier", "fact", "--quote", "I moved to Paris", "home_city", "Paris")
		run("remember", "--tier", "note", "--quote", user+" prefers quiet hotels", user+" prefers quiet hotels")
		run("session", "append", "--role", "user", "chat", "I am allergic to shellfish and I drink green tea")
		run("consolidate", "chat")
		run("session", "append", "--role", "user", "chat", "Not consolidated yet")
		run("checkpoint", "put", "chat", "1", "1")
		run("effect", "claim", "chat", "pay/1")
		run("doc", "put", "notes/a.md", "the file of "+user)
		s.run(append([]string{"remember", "--as", "agent", "--tier", "fact", "--quote", "x", "role", "admin"}, at...)...) // held
	}
	s.ok("key", "create", "--tenant", "acme", "app", "shop")
	s.ok("key", "create", "--tenant", "globex", "app", "shop") // a tenant that has nobody yet
	queries := [][]string{
		{"facts"}, {"history", "home_city"}, {"recall", "quiet hotels"}, {"session", "show", "chat"}, {"checkpoint", "list", "chat"},
		{"doc", "list"}, {"audit", "list"}, {"audit", "held"}, {"verify"}, {"stats"}, {"effect", "list", "chat"},
	}
	queueAge := regexp.MustCompile(`"queue_age": \d+`)
	answers := func() (out []string) {
		for _, user := range []string{"sarah", "tom"} {
			for _, q := range queries {
				r := s.run(append(append([]string{}, q...), "--tenant", "acme", "--user", user, "--json")...)
				// How long the queue has waited goes on while the file moves.
				out = append(out, strings.Join(q, " ")+": "+queueAge.ReplaceAllString(r.out, "")+r.err)
			}
		}
		return out
	}
	before := answers()
	for _, a := range before {
		if strings.Contains(a, `"error"`) && !strings.Contains(a, "not_found") {
			t.Errorf("a query that fails proves nothing: %.300s", a)
		}
	}
	move := func() migrated {
		t.Helper()
		var m migrated
		file := s.store
		defer func() { s.store = file }()
		s.store = ""
		if err := json.Unmarshal([]byte(s.ok("migrate-store", "--from", "sqlite://"+file, "--to", pg, "--json")), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := move()
	if first.Subjects < 2 || first.Verified < 2 || first.Rows["records"] == 0 || first.Rows["messages"] == 0 || first.Rows["checkpoints"] == 0 || first.Rows["keys"] != 2 {
		t.Errorf("%+v", first)
	}
	// As if it had been stopped after the first subjects.
	onPostgres(t, pg, `DO $$ DECLARE t text; s bigint; BEGIN SELECT scope INTO s FROM tenet.subjects WHERE external_id = 'tom';
		FOREACH t IN ARRAY ARRAY['subjects','session_names','thread_names','heads','chain','trail','records','evidence','corroborations','held','tombstones','stages','staged','sessions','messages','proposals','receipts','blobs','holds','checkpoints','effects','once','vectors','outcomes','retention','erased','elsewhere'] LOOP
		EXECUTE format('DELETE FROM tenet.%I WHERE scope = %s', t, s); END LOOP; END $$`)
	second := move()
	if second.Skipped != first.Subjects-1 || second.Subjects != first.Subjects {
		t.Errorf("going on: %+v", second)
	}
	// A key that is not what it is in the source is found, whatever their number.
	for _, tenant := range []string{"acme", "globex"} {
		onPostgres(t, pg, `UPDATE tenet.keys SET name = 'other' WHERE tenant = '`+tenant+`'`)
		func() {
			file := s.store
			defer func() { s.store = file }()
			s.store = ""
			if r := s.fails(tenet.Conflict, "migrate-store", "--from", "sqlite://"+file, "--to", pg); !strings.Contains(r.err, "keys") {
				t.Errorf("a key of %s that differs: %s", tenant, r.err)
			}
		}()
		onPostgres(t, pg, `UPDATE tenet.keys SET name = 'shop' WHERE tenant = '`+tenant+`'`)
	}
	raw, err := os.ReadFile(s.store + ".key")
	if err != nil {
		t.Fatal(err)
	}
	s.env["TENET_MASTER_KEY"] = strings.TrimSpace(string(raw))
	if len(raw) == 32 {
		s.env["TENET_MASTER_KEY"] = hex.EncodeToString(raw)
	}
	file := s.store
	s.store = pg
	after := answers()
	for i := range before {
		if before[i] != after[i] {
			t.Errorf("on PostgreSQL it is otherwise:\n%s\n%s", before[i], after[i])
		}
	}
	// The copy lives: what is written next comes after what was copied.
	s.ok("remember", "--tenant", "acme", "--user", "tom", "--tier", "fact", "--quote", "I moved to Rome", "home_city", "Rome")
	s.ok("verify", "--tenant", "acme", "--user", "tom")
	s.store = ""
	s.fails(tenet.Conflict, "migrate-store", "--from", file, "--to", pg)
	s.fails(tenet.Invalid, "migrate-store", "--from", pg, "--to", file)
}
