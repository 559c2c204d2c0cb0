package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/tenet-memory/tenet"
)

func TestBadInputIsRefusedByItsKindAndWritesNothing(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	s.ok("session", "append", "closed", "hello", "--role", "user")
	s.ok("session", "end", "closed")
	before := s.state()
	fact := []string{"--tier", "fact", "--quote", "x"}
	for name, c := range map[string]struct {
		kind  tenet.Kind
		stdin string
		args  []string
	}{
		"invalid UTF-8 text":      {tenet.Invalid, "", append([]string{"remember", "k", "a\xffb"}, fact...)},
		"invalid UTF-8 key":       {tenet.Invalid, "", append([]string{"remember", "\xff", "text"}, fact...)},
		"invalid UTF-8 message":   {tenet.Invalid, "a\xffb", []string{"session", "append", "new", "-", "--role", "user"}},
		"invalid UTF-8 session":   {tenet.Invalid, "", []string{"session", "append", "\xff", "x", "--role", "user"}},
		"invalid UTF-8 user":      {tenet.Invalid, "", []string{"facts", "--user", "\xff"}},
		"NUL":                     {tenet.Invalid, "a\x00b", []string{"session", "append", "new", "-", "--role", "user"}},
		"NUL in a fact":           {tenet.Invalid, "a\x00b", append([]string{"remember", "k", "-"}, fact...)},
		"empty message":           {tenet.Invalid, "", []string{"session", "append", "new", "", "--role", "user"}},
		"oversize message":        {tenet.Invalid, strings.Repeat("x", tenet.MaxMessage+1), []string{"session", "append", "new", "-", "--role", "user"}},
		"oversize candidate":      {tenet.Invalid, strings.Repeat("x", tenet.MaxCandidate+1), append([]string{"remember", "k", "-"}, fact...)},
		"lone surrogate in value": {tenet.Invalid, "", append([]string{"remember", "k", "--value", `"\ud800"`}, fact...)},
		"duplicate key in value":  {tenet.Invalid, "", append([]string{"remember", "k", "--value", `{"a":1,"a":2}`}, fact...)},
		"not JSON":                {tenet.Invalid, "", append([]string{"remember", "k", "--value", `{`}, fact...)},
		"unknown tier":            {tenet.Invalid, "", []string{"remember", "k", "t", "--tier", "bucket", "--quote", "t"}},
		"ends before it starts":   {tenet.Invalid, "", append([]string{"remember", "k", "t", "--valid-from", "2026-02-01", "--valid-to", "2026-01-01"}, fact...)},
		"a time in words":         {tenet.Invalid, "", append([]string{"remember", "k", "t", "--valid-from", "yesterday"}, fact...)},
		"no words":                {tenet.Invalid, "", append([]string{"remember"}, fact...)},
		"three words":             {tenet.Invalid, "", append([]string{"remember", "a", "b", "c"}, fact...)},
		"a missing role":          {tenet.Invalid, "", []string{"session", "append", "new", "x"}},
		"an unknown role":         {tenet.Invalid, "", []string{"session", "append", "new", "x", "--role", "wizard"}},
		"an unknown flag":         {tenet.Invalid, "", []string{"facts", "--frobnicate"}},
		"an unknown command":      {tenet.Invalid, "", []string{"frobnicate"}},
		"two subjects":            {tenet.Invalid, "", []string{"facts", "--user", "a", "--project", "b"}},
		"an empty user":           {tenet.Invalid, "", []string{"facts", "--user", ""}},
		"no such kind":            {tenet.Invalid, "", []string{"facts", "--as", "admin"}},
		"an app owning keys":      {tenet.Invalid, "", []string{"facts", "--owns", "k"}},
		"k below one":             {tenet.Invalid, "", []string{"recall", "x", "-k", "0"}},
		"k beyond the bound":      {tenet.Invalid, "", []string{"recall", "x", "-k", "100000"}},
		"a budget below facts":    {tenet.Invalid, "", []string{"context", "--tokens", "0"}},
		"a closed session":        {tenet.Conflict, "", []string{"session", "append", "closed", "late", "--role", "user"}},
		"no such session":         {tenet.NotFound, "", []string{"session", "show", "misspelt"}},
		"no such record":          {tenet.NotFound, "", []string{"retract", "--record", "none-such"}},
		"an operator's work":      {tenet.Denied, "", []string{"audit", "list", "--as", "agent"}},
		"an agent's retraction":   {tenet.NotFound, "", []string{"retract", "k", "--as", "agent"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shell{t: t, store: s.store, env: s.env, stdin: c.stdin}
			s.fails(c.kind, c.args...)
			if after := s.state(); after != before {
				t.Errorf("something was written:\n%s\n%s", before, after)
			}
		})
	}
}

// state is all that the database holds, as numbers of rows.
func (s *shell) state() string {
	s.t.Helper()
	db, err := sql.Open("sqlite", s.store)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			s.t.Fatal(err)
		}
		names = append(names, n)
	}
	var b strings.Builder
	for _, n := range names {
		var count int
		if err := db.QueryRow(`SELECT count(*) FROM "` + n + `"`).Scan(&count); err != nil {
			s.t.Fatal(err)
		}
		b.WriteString(n + " " + strings.Repeat("|", count) + "\n")
	}
	return b.String()
}

func TestPolicysRefusalsAreVerdictsInTheLogAndNoRecords(t *testing.T) {
	for name, c := range map[string]struct {
		code tenet.Code
		args []string
	}{
		"a missing tier":   {tenet.CodeTierMissing, []string{"remember", "k", "text", "--quote", "text"}},
		"no evidence":      {tenet.CodeNoProvenance, []string{"remember", "k", "text", "--tier", "fact"}},
		"an empty text":    {tenet.CodeEmpty, []string{"remember", "k", "", "--tier", "fact", "--quote", "x"}},
		"an empty key":     {tenet.CodeKeyMissing, []string{"remember", "", "text", "--tier", "fact", "--quote", "text"}},
		"a large fact":     {tenet.CodeSize, []string{"remember", "k", strings.Repeat("word ", 2000), "--tier", "fact", "--quote", "x"}},
		"unknown messages": {tenet.CodeUnknownMessage, []string{"remember", "k", "text", "--tier", "fact", "--cite", "no-such-message"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			s.env["TENET_USER"] = "sarah"
			s.fails(tenet.Refused, c.args...)
			if out := s.ok("facts"); !strings.Contains(out, "no facts") {
				t.Error(out)
			}
			if out := s.ok("audit", "held"); !strings.Contains(out, string(c.code)) {
				t.Error(out)
			}
			s.fails(tenet.NotFound, "history", "k")
		})
	}
}

func TestAStaleVersionIsAConflict(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	fact := func(more ...string) []string {
		return append([]string{"remember", "seat", "Aisle.", "--tier", "fact", "--quote", "Aisle."}, more...)
	}
	s.ok(fact("--if-version", "none", "--id", "one")...)
	s.ok(fact("--if-version", "none", "--id", "one")...) // a retry
	s.fails(tenet.Conflict, fact("--if-version", "none")...)
	s.fails(tenet.Conflict, "remember", "seat", "Window.", "--tier", "fact", "--quote", "Window.", "--id", "one")
}

func TestDatabasesThatCannotBeUsedAreUnavailableAndLeftAlone(t *testing.T) {
	for name, spoil := range map[string]func(*shell){
		"damaged": func(s *shell) {
			b, err := os.ReadFile(s.store)
			if err != nil {
				s.t.Fatal(err)
			}
			for i := range b[:min(len(b), 8192)] {
				b[i] ^= 0x55
			}
			os.WriteFile(s.store, b, 0o600)
		},
		"not a database":     func(s *shell) { os.WriteFile(s.store, []byte(strings.Repeat("hello ", 1000)), 0o600) },
		"newer":              func(s *shell) { s.exec("PRAGMA user_version = 9999") },
		"another program's":  func(s *shell) { s.exec("PRAGMA application_id = 77") },
		"without its key":    func(s *shell) { os.Remove(s.store + ".key") },
		"a directory":        func(s *shell) { os.Remove(s.store); os.Mkdir(s.store, 0o700) },
		"with a foreign key": func(s *shell) { os.WriteFile(s.store+".key", []byte("zz"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			s.env["TENET_USER"] = "sarah"
			s.ok("session", "append", "chat", "hello", "--role", "user")
			os.Remove(s.store + "-wal")
			spoil(s)
			before, _ := os.ReadFile(s.store)
			s.fails(tenet.Unavailable, "facts")
			s.fails(tenet.Unavailable, "session", "append", "chat", "more", "--role", "user")
			if after, _ := os.ReadFile(s.store); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func (s *shell) exec(statement string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", s.store)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		s.t.Fatal(err)
	}
}

func TestAReadOnlyFileIsReadAndNotWritten(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	s.ok("remember", "seat", "Aisle.", "--tier", "fact", "--quote", "Aisle.")
	if err := os.Chmod(s.store, 0o400); err != nil {
		t.Fatal(err)
	}
	if out := s.ok("facts"); !strings.Contains(out, "Aisle.") {
		t.Error(out)
	}
	s.fails(tenet.Unavailable, "remember", "seat", "Window.", "--tier", "fact", "--quote", "Window.")
	s.fails(tenet.Unavailable, "session", "append", "chat", "hello", "--role", "user")
}

func TestReadingDoesNotMakeADatabase(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	for _, args := range [][]string{{"facts"}, {"context"}, {"recall", "x"}, {"audit", "list"}, {"verify", "--all"}, {"session", "show", "x"}, {"session", "end", "x"}, {"retract", "k"}} {
		s.fails(tenet.NotFound, args...)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(s.store), "*")); len(files) != 0 {
		t.Error(files)
	}
}

func TestOtherStores(t *testing.T) {
	s := newShell(t)
	s.store = ""
	s.env["TENET_USER"] = "sarah"
	for _, d := range []string{"mysql://h/db", "", "sqlite:", "redis://h", "postgres://h/db", "postgresql://h/db"} { // Redis keeps sessions only; PostgreSQL wants its key from the configuration
		s.fails(tenet.Invalid, "facts", "--store", d)
	}
	s.env["TENET_MASTER_KEY"] = strings.Repeat("07", 32)
	s.fails(tenet.Unavailable, "facts", "--store", "postgres://127.0.0.1:1/nobody")
	delete(s.env, "TENET_MASTER_KEY")
	path := filepath.Join(t.TempDir(), "a:b.db")
	s.ok("session", "append", "c", "x", "--role", "user", "--store", "sqlite:"+path)
	s.ok("session", "show", "c", "--store", path)
}
