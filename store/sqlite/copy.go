package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/sealing"
)

// Surrogates returns the scopes that the database holds anything of, subjects
// that were erased included, in order after the given one, at most limit. They
// say nothing about whose they are. tenants has those that are still somebody's.
func (db *DB) Surrogates(ctx context.Context, after int64, limit int) (scopes []int64, tenants map[int64]string, err error) {
	tenants = map[int64]string{}
	err = db.r.each(ctx, `SELECT x.scope, coalesce(s.tenant, '') FROM (SELECT scope FROM subjects UNION SELECT scope FROM heads UNION SELECT scope FROM chain UNION SELECT scope FROM elsewhere) x
		LEFT JOIN subjects s ON s.scope = x.scope WHERE x.scope > ? ORDER BY x.scope LIMIT ?`, []any{after, limit}, func(rs *rows) error {
		var scope int64
		var tenant string
		err := rs.Scan(&scope, &tenant)
		scopes = append(scopes, scope)
		tenants[scope] = tenant
		return err
	})
	return scopes, tenants, failure("surrogates", err)
}

// Rows calls f for each row of a table, of one scope or, when scope is nil, of
// all, with the named columns. The column n of a table that has none is the
// order in which its rows were written. It is for a copy of the whole database:
// sealed values stay sealed.
func (db *DB) Rows(ctx context.Context, table string, columns []string, scope *int64, f func(values []any) error) error {
	const op = "rows"
	has := map[string]bool{}
	if err := db.r.each(ctx, `SELECT name FROM pragma_table_info(?)`, []any{sealing.Plain(table)}, func(rs *rows) error {
		var name string
		err := rs.Scan(&name)
		has[name] = true
		return err
	}); err != nil {
		return failure(op, err)
	}
	var names []string
	for _, c := range columns {
		if !has[c] && c == "n" {
			c = "rowid"
		} else if !has[c] {
			return tenet.Errorf(tenet.Unavailable, op, "the file's table %s has no column %s: the two are not of one version", table, c)
		}
		names = append(names, c)
	}
	query, args := `SELECT `+strings.Join(names, ", ")+` FROM `+table, []any(nil)
	if scope != nil {
		query, args = query+` WHERE scope = ?`, []any{*scope}
	}
	if slices.Contains(names, "rowid") {
		query += ` ORDER BY rowid`
	}
	return failure(op, db.r.each(ctx, query, args, func(rs *rows) error {
		values, dest := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rs.Scan(dest...); err != nil {
			return err
		}
		for i, v := range values {
			if b, ok := v.([]byte); ok && b == nil { // an empty value, which is not none
				values[i] = []byte{}
			}
		}
		return f(values)
	}))
}

// Master is the key that wraps the subjects' keys, and Kept the secret that
// digests are made with as it is sealed under that (nil: it is that key), for a
// database that is to hold the same sealed values.
func (db *DB) Master() []byte { return db.master().Wraps() }

func (db *DB) Kept() []byte {
	if k := db.master(); k.Rotated() {
		return k.Kept()
	}
	return nil
}
