package postgres

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// TestLoadByIdentityStaysFlat measures a subject's 50 facts, read past the
// cache, among ten times 10,000 rows, then ten times as many and so on up to
// TENET_SCALE_ROWS, each in turn with the same read among 10,000 in a database
// of its own, and prints the plan: it is one index scan of one subject. The
// claim is about 200 subjects of all that are in use, as 200 are in the other
// database: that their pages are in memory. Anybody's, asked for the first time
// in hours, may be on the disk, which is printed and not bounded.
func TestLoadByIdentityStaysFlat(t *testing.T) {
	most, err := strconv.Atoi(os.Getenv("TENET_SCALE_ROWS"))
	if err != nil {
		t.Skip("a long run: TENET_SCALE_ROWS says up to how many rows; make bench-scale")
	}
	const few = 10_000
	small, db := fresh(t), fresh(t)
	for _, d := range []*DB{small, db} {
		dirty.Store(d.pool.Config().ConnConfig.Database, true)
	}
	grow(t, small, patterned(t, small), 0, few/50)
	template := patterned(t, db)
	subjects := 0
	for rows := 10 * few; subjects < most/50; rows *= 10 {
		rows = min(rows, most)
		began := time.Now()
		grow(t, db, template, subjects, rows/50)
		subjects = rows / 50
		if _, err := db.pool.Exec(ctx, `VACUUM ANALYZE`); err != nil {
			t.Fatal(err)
		}
		grown := time.Since(began)
		used := rand.Perm(subjects)[:few/50]
		for _, n := range used {
			identity(t, db, n)
		}
		var first, took, anybody []time.Duration
		for range 3000 {
			first = append(first, identity(t, small, rand.IntN(few/50)))
			took = append(took, identity(t, db, used[rand.IntN(len(used))]))
			anybody = append(anybody, identity(t, db, rand.IntN(subjects)))
		}
		base, p50, cold := median(first), median(took), median(anybody)
		var size string
		if err := db.pool.QueryRow(ctx, `SELECT pg_size_pretty(pg_database_size(current_database()))`).Scan(&size); err != nil {
			t.Fatal(err)
		}
		t.Logf("%9d rows of %7d subjects, %s, made in %v: p50 %v, among %d rows %v: %.2f; of anybody %v", rows, subjects, size,
			grown.Round(time.Second), p50, few, base, float64(p50)/float64(base), cold)
		if float64(p50) > 1.3*float64(base) {
			t.Errorf("not flat")
		}
	}
	plan, err := db.pool.Query(ctx, `EXPLAIN (COSTS OFF) SELECT r.id, r.text FROM tenet.subjects s JOIN tenet.records r ON r.scope = s.scope
		WHERE s.tenant = 'tenant7' AND s.kind = 1 AND s.external_id = 'u7' AND r.tier = 1 AND r.sys_to = 9223372036854775807 AND r.valid_from <= 0 AND r.valid_to > 0 ORDER BY r.key`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(plan, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the plan:\n%s", strings.Join(lines, "\n"))
	if most >= 1_000_000 && strings.Contains(strings.Join(lines, "\n"), "Seq Scan") { // of few rows it is right
		t.Error("a table is read from end to end")
	}
}

// identity times one read of a subject's facts past the cache.
func identity(t *testing.T, db *DB, n int) time.Duration {
	t.Helper()
	scope := user(t, fmt.Sprint("tenant", n%1000), fmt.Sprint("u", n))
	db.facts.mu.Lock()
	db.facts.sets, db.facts.rows = nil, 0
	db.facts.mu.Unlock()
	began := time.Now()
	rs, err := db.Facts(ctx, scope, tenet.AsOf{Valid: begun.Add(time.Hour)})
	took := time.Since(began)
	if err != nil || len(rs) != 50 {
		t.Fatalf("%d facts: %v", len(rs), err)
	}
	return took
}

// patterned is a subject with 50 facts.
func patterned(t *testing.T, db *DB) int64 {
	t.Helper()
	scope := user(t, "template", "template")
	g := gate.New(nil, gate.WithLimits(gate.Limits{Rows: 1 << 30, Bytes: 1 << 40, Value: 6 << 10}))
	for i := range 50 {
		d := fact(t, g, scope, fmt.Sprint("c", i), fmt.Sprint("key.", i), fmt.Sprint("The value of number ", i, " is of ordinary length."), begun.Add(time.Duration(i)*time.Second))
		if _, err := db.Apply(ctx, []gate.Decision{d}, nil); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := db.find(ctx, db.at(scope), "find", scope)
	if err != nil {
		t.Fatal(err)
	}
	return sub.id
}

// grow copies the template's rows for further subjects of a thousand tenants.
func grow(t *testing.T, db *DB, template int64, from, to int) {
	t.Helper()
	var columns []string
	rows, err := db.pool.Query(ctx, `SELECT attname::text FROM pg_attribute WHERE attrelid = 'tenet.records'::regclass AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('scope', 'tenant', 'n')`)
	if err != nil {
		t.Fatal(err)
	}
	if columns, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	for ; from < to; from += 2000 {
		var subs [][]any
		for i := from; i < min(to, from+2000); i++ {
			id := store.Surrogate()
			subs = append(subs, []any{id, fmt.Sprint("tenant", i%1000), int16(1), fmt.Sprint("u", i), db.master().Wrap(id, store.NewDataKey())})
		}
		tx, err := db.pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, `CREATE TEMP TABLE fresh (scope bigint, tenant text, kind smallint, external_id text, data_key bytea) ON COMMIT DROP`); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"fresh"}, []string{"scope", "tenant", "kind", "external_id", "data_key"}, pgx.CopyFromRows(subs)); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			`INSERT INTO tenet.subjects (scope, tenant, kind, external_id, data_key) SELECT * FROM fresh`,
			fmt.Sprintf(`INSERT INTO tenet.heads (scope, audit, facts, last_at, hash, tenant) SELECT f.scope, h.audit, h.facts, h.last_at, h.hash, f.tenant FROM fresh f, tenet.heads h WHERE h.scope = %d`, template),
			fmt.Sprintf(`INSERT INTO tenet.records (scope, tenant, %s) SELECT f.scope, f.tenant, r.%s FROM fresh f, tenet.records r WHERE r.scope = %d`, strings.Join(columns, ", "), strings.Join(columns, ", r."), template),
		} {
			if _, err := tx.Exec(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
