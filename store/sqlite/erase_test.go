package sqlite

import (
	"database/sql"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/storetest"
)

func TestErasure(t *testing.T) { storetest.RunErasure(t, fresh, allRows, tamper) }

// TestErasureSealed reads the rows of a sealed file as its owner can.
func TestErasureSealed(t *testing.T) {
	storetest.RunErasure(t, sealed, func(t testing.TB, db *DB) storetest.Rows { return allRows(t, db).Open(t, db.seal.Opened) }, tamper)
}

// TestAnErasedNameIsNotRemembered: the process keeps surrogates by scope.
func TestAnErasedNameIsNotRemembered(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	scope := lived(t, db)
	if _, err := db.Head(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	if _, known := db.surrogates.Load(scope); !known {
		t.Fatal("the control: the name is not kept")
	}
	d, err := gate.New(nil).Erase(principal(t, tenet.Operator), scope, gate.Selection{Subject: true}, "erasure-1", "asked to", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Erase(t.Context(), d, store.EraseOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, known := db.surrogates.Load(scope); known {
		t.Error("an erased name is kept")
	}
}

// allRows reads every table that the live schema names, past the ports.
func allRows(t testing.TB, db *DB) storetest.Rows {
	t.Helper()
	out := storetest.Rows{}
	var tables []string
	eachRow(t, db.w.pool, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`, func(cells [][]byte, _ []string) {
		tables = append(tables, string(cells[0]))
	})
	for _, table := range tables {
		var rows storetest.TableRows
		eachRow(t, db.w.pool, `SELECT * FROM `+table, func(cells [][]byte, columns []string) {
			rows.Columns = columns
			if cells != nil {
				rows.Rows = append(rows.Rows, cells)
			}
		})
		out[table] = rows
	}
	return out
}

// eachRow calls f on every row, and once with nil for the columns alone.
func eachRow(t testing.TB, p *sql.DB, query string, f func(cells [][]byte, columns []string)) {
	t.Helper()
	rs, err := p.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rs.Close()
	columns, err := rs.Columns()
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) > 1 {
		f(nil, columns)
	}
	for rs.Next() {
		cells := make([][]byte, len(columns))
		dest := make([]any, len(columns))
		for i := range cells {
			dest[i] = &cells[i]
		}
		if err := rs.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		f(cells, columns)
	}
	if err := rs.Err(); err != nil {
		t.Fatal(err)
	}
}
