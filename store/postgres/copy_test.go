package postgres

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

// TestFillAddsToNobody: a copy writes rows without a decision, so it brings a
// scope whole or not at all.
func TestFillAddsToNobody(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	s, err := db.find(ctx, db.at(scope), "test", scope)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := db.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if table.Name != "session_names" {
			continue
		}
		names := func() (rows [][]any) {
			if err := db.Rows(ctx, table, "acme", &s.id, func(values []any) error { rows = append(rows, values); return nil }); err != nil {
				t.Fatal(err)
			}
			return rows
		}
		planted := names()[0]
		for i, c := range table.Columns { // no key is in its way
			switch c {
			case "sid":
				planted[i] = planted[i].(int64) + 1
			case "external_id":
				planted[i] = "planted"
			}
		}
		err := db.Fill(ctx, "acme", func(put func(Table, []any) error) error { return put(table, planted) })
		if tenet.KindOf(err) != tenet.Conflict || len(names()) != 1 {
			t.Errorf("a row more of a scope that is there: %v, %d rows", err, len(names()))
		}
		return
	}
	t.Fatal("no table session_names")
}
