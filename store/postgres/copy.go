package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Table is one table of the schema as a copy sees it.
type Table struct {
	Name    string
	Columns []string // without the tenant, where its scope says it, and without what is generated
	flags   []bool   // which columns are booleans, that another database may hold as numbers
	Scoped  bool     // has a scope, and is copied scope by scope
}

// Tables lists what a copy has to bring, in an order in which it can be written.
func (db *DB) Tables(ctx context.Context) ([]Table, error) {
	const op = "tables"
	var out []Table
	rows, err := db.pool.Query(ctx, `SELECT k.relname::text, a.attname::text, a.atttypid = 'bool'::regtype
		FROM pg_class k JOIN pg_attribute a ON a.attrelid = k.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		WHERE k.relnamespace = 'tenet'::regnamespace AND k.relkind IN ('r', 'p') AND NOT k.relispartition AND k.relname <> 'meta'
		AND (k.relname, a.attname) <> ('vectors', 'label') -- derived, when it is asked for
		ORDER BY k.relname <> 'subjects', k.relname, a.attnum`)
	if err != nil {
		return nil, failure(op, err)
	}
	var table, column string
	var flag bool
	if _, err := pgx.ForEachRow(rows, []any{&table, &column, &flag}, func() error {
		if len(out) == 0 || out[len(out)-1].Name != table {
			out = append(out, Table{Name: table})
		}
		t := &out[len(out)-1]
		if column == "scope" && table != "erasures" { // an erasure's scope may be gone
			t.Scoped = true
		}
		if column != "tenant" || table == "keys" {
			t.Columns, t.flags = append(t.Columns, column), append(t.flags, flag)
		}
		return nil
	}); err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Holds reports whether a copy brought the scope already: all of it or nothing
// is there.
func (db *DB) Holds(ctx context.Context, scope int64, tenant string) (is bool, err error) {
	is, err = holds(ctx, db.in(tenant), scope)
	return is, failure("holds", err)
}

func holds(ctx context.Context, c conn, scope int64) (is bool, err error) {
	err = c.row(ctx, `SELECT EXISTS (SELECT 1 FROM tenet.subjects WHERE scope = $1) OR EXISTS (SELECT 1 FROM tenet.heads WHERE scope = $1)
		OR EXISTS (SELECT 1 FROM tenet.chain WHERE scope = $1) OR EXISTS (SELECT 1 FROM tenet.elsewhere WHERE scope = $1)`, []any{scope}, &is)
	return is, err
}

// copied bounds the rows that are sent together.
const copied = 500

// Fill writes what each has, in one transaction of the tenant: rows of the tables,
// in their order, with the columns that Tables named. It takes no Decision: what
// it writes was decided where it comes from, and whoever copies verifies the
// chains on both sides. So it adds to nobody's memory: a scope that has anything
// here already is Conflict.
func (db *DB) Fill(ctx context.Context, tenant string, each func(put func(t Table, values []any) error) error) error {
	const op = "fill"
	c := db.in(tenant)
	_, err := c.try(ctx, beginWrite, func(c conn) error { // it is not tried again: each may not be called twice
		empty := map[int64]bool{}
		return each(func(t Table, values []any) error {
			if i := slices.Index(t.Columns, "scope"); t.Scoped {
				scope, ok := values[i].(int64)
				if !ok {
					return invalid(op, "a row of no scope")
				}
				if !empty[scope] {
					is, err := holds(ctx, c, scope)
					if err != nil {
						return err
					}
					if is {
						return conflict(op, "the scope has rows already")
					}
					empty[scope] = true
				}
			}
			query, args := t.insert(values)
			if err := c.exec(query, args...); err != nil || len(c.tx.waiting) < copied {
				return err
			}
			return c.tx.flush()
		})
	})
	return failure(op, err)
}

func (t Table) insert(values []any) (string, []any) {
	marks := make([]string, len(values))
	for i := range marks {
		marks[i] = fmt.Sprint("$", i+1)
	}
	query := `INSERT INTO tenet.` + t.Name + ` (` + strings.Join(t.Columns, ", ") + `) VALUES (` + strings.Join(marks, ", ") + `)`
	if !t.Scoped {
		query += ` ON CONFLICT DO NOTHING` // brought by an earlier try
	}
	return query, t.values(values)
}

// values are a row's, with numbers for booleans made booleans.
func (t Table) values(in []any) []any {
	out := slices.Clone(in)
	for i, flag := range t.flags {
		if n, ok := out[i].(int64); ok && flag {
			out[i] = n != 0
		}
	}
	return out
}

// Rows calls f for each row of a table, of one scope or, when scope is nil, of
// all, as Fill takes them.
func (db *DB) Rows(ctx context.Context, t Table, tenant string, scope *int64, f func(values []any) error) error {
	query, args := `SELECT `+strings.Join(t.Columns, ", ")+` FROM tenet.`+t.Name, []any(nil)
	if scope != nil {
		query, args = query+` WHERE scope = $1`, []any{*scope}
	}
	return failure("rows", db.in(tenant).each(ctx, query, args, func(rs *rows) error {
		values, err := rs.Values()
		if err != nil {
			return err
		}
		for i, v := range values {
			switch v := v.(type) {
			case int16:
				values[i] = int64(v)
			case int32:
				values[i] = int64(v)
			case bool:
				values[i] = int64(0)
				if v {
					values[i] = int64(1)
				}
			}
		}
		return f(values)
	}))
}

// Resume sets the order of writing past what was copied.
func (db *DB) Resume(ctx context.Context, past int64) error {
	_, err := db.pool.Exec(ctx, `SELECT setval('tenet.ordinal', greatest($1, (SELECT last_value FROM tenet.ordinal)))`, max(past, 1))
	if err != nil {
		return failure("resume", err)
	}
	return nil
}
