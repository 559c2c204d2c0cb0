package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet/store/storetest"
)

func TestErasure(t *testing.T) {
	server(t)
	for name, open := range map[string]func(testing.TB) *DB{"one": fresh, "partitioned": split4} {
		t.Run(name, func(t *testing.T) { storetest.RunErasure(t, open, allRows, tamper) })
	}
}

// allRows reads every table that the live schema names, as the owner sees it.
func allRows(t testing.TB, db *DB) storetest.Rows {
	t.Helper()
	out := storetest.Rows{}
	c, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	rs, err := c.Query(ctx, `SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = 'tenet'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rs, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		rs, err := c.Query(ctx, `SELECT * FROM tenet.`+table, pgx.QueryResultFormats{pgx.BinaryFormatCode})
		if err != nil {
			t.Fatal(err)
		}
		var rows storetest.TableRows
		for _, f := range rs.FieldDescriptions() {
			rows.Columns = append(rows.Columns, f.Name)
		}
		for rs.Next() {
			var cells [][]byte
			for _, raw := range rs.RawValues() {
				cells = append(cells, append([]byte(nil), raw...))
			}
			rows.Rows = append(rows.Rows, cells)
		}
		if err := rs.Err(); err != nil {
			t.Fatal(err)
		}
		out[table] = rows
	}
	return out
}
