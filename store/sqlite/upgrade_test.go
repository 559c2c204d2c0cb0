package sqlite

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

// TestADatabaseOfAnEarlierSchemaOpens: a file that any earlier version made,
// with facts, an ended one and a conversation in it, is brought up to date when
// it is opened, and holds what it held.
func TestADatabaseOfAnEarlierSchemaOpens(t *testing.T) {
	t.Parallel()
	files, err := schema.ReadDir("schema")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	now := filepath.Join(dir, "now.db")
	db := open(t, now)
	remember(t, db, "c1", "allergy", "Severe shellfish allergy")
	remember(t, db, "c2", "home", "Lives in Rome")
	remember(t, db, "c3", "home", "Lives in Oslo")
	said := []tenet.Message{{ID: "m1", Role: tenet.RoleUser, Text: "I moved to Oslo.", SaidAt: begin, RecordedAt: begin, Label: tenet.LabelUserStated, RecordedBy: "app:host"}}
	if _, err := db.Ensure(ctx, user(t, "sarah"), tenet.Session{ID: "chat", Scope: user(t, "sarah"), Reads: []tenet.Scope{user(t, "sarah")}, CreatedAt: begin}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Append(ctx, user(t, "sarah"), "chat", said, begin); err != nil {
		t.Fatal(err)
	}
	want := factTexts(t, db)
	whole, err := db.Verify(ctx, user(t, "sarah"))
	if err != nil || !whole.OK() {
		t.Fatalf("%+v (%v)", whole, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(files); n++ {
		t.Run(files[n-1].Name(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, fmt.Sprintf("old%d.db", n))
			asOf(t, path, now, n)
			db := open(t, path)
			if got := factTexts(t, db); !slices.Equal(got, want) || len(got) != 2 {
				t.Errorf("the facts are %q, were %q", got, want)
			}
			hist, err := db.History(ctx, user(t, "sarah"), tenet.TierFact, "home")
			if err != nil || len(hist) < 2 {
				t.Errorf("home has %d records (%v)", len(hist), err)
			}
			ms, err := db.Messages(ctx, user(t, "sarah"), "chat", 0, 10)
			if err != nil || len(ms) != 1 || ms[0].Text != said[0].Text {
				t.Errorf("the conversation is %v (%v)", ms, err)
			}
			if v, err := db.Verify(ctx, user(t, "sarah")); err != nil || v != whole {
				t.Errorf("the chain: %+v (%v)", v, err)
			}
			remember(t, db, "c4", "diet", "Vegetarian")
			if got := factTexts(t, db); len(got) != 3 {
				t.Errorf("after another fact there are %q", got)
			}
			if v, err := db.Verify(ctx, user(t, "sarah")); err != nil || !v.OK() {
				t.Errorf("the chain: %+v (%v)", v, err)
			}
		})
	}
}

// asOf makes a file with the first n schemas, and copies into it what the
// present file's tables have in common with them.
func asOf(t *testing.T, path, now string, n int) {
	t.Helper()
	for _, suffix := range []string{".key", ".datakeys"} { // beside every file
		if b, err := os.ReadFile(now + suffix); err == nil {
			write(t, path+suffix, string(b))
		}
	}
	db, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(q string, args ...any) {
		t.Helper()
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatalf("%v in %.80s", err, q)
		}
	}
	files, _ := schema.ReadDir("schema")
	for _, f := range files[:n] {
		text, err := schema.ReadFile("schema/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		run(string(text))
	}
	run(fmt.Sprintf("PRAGMA user_version=%d", n))
	run(fmt.Sprintf("PRAGMA application_id=%d", applicationID))
	run("ATTACH DATABASE ? AS present", now)
	for _, table := range texts(t, db, `SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name IN (SELECT name FROM present.sqlite_schema)`) {
		both := texts(t, db, `SELECT name FROM pragma_table_info(?, 'main') INTERSECT SELECT name FROM pragma_table_info(?, 'present')`, table, table)
		cols := strings.Join(both, ", ")
		run(fmt.Sprintf("INSERT INTO main.%s (%s) SELECT %s FROM present.%s", table, cols, cols, table))
	}
	run("DETACH DATABASE present")
}

func texts(t *testing.T, db *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rs, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rs.Close()
	for rs.Next() {
		var s string
		if err := rs.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}
