package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store/column"
)

// TestMigrationsAreAppended holds the order of the schema's files. A database's
// version is how many of them it has had, so a new one goes last, here and by
// its number: one that sorts before another would never be run where that one
// was, and the last would be run twice.
func TestMigrationsAreAppended(t *testing.T) {
	t.Parallel()
	want := []string{"0001_core.sql", "0010_backlog.sql", "0030_erase.sql", "0040_freeze.sql", "0050_rotate.sql", "0060_near.sql", "0061_seal.sql", "0070_held.sql", "0080_cut.sql", "0090_quota.sql"}
	if got := versions(); !slices.Equal(got, want) {
		t.Errorf("the schema's files are %v, want %v: add new ones at the end of both", got, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	name := database(t, 0)
	dirty.Store(name, true)
	dsn := named(t, server(t), name)
	kind := func(what string, want tenet.Kind, dsn string, o Options) {
		t.Helper()
		db, err := Open(ctx, dsn, o)
		if err == nil {
			db.Close()
		}
		if tenet.KindOf(err) != want || err == nil {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error holds the password: %v", what, err)
		}
	}
	ok := Options{MasterKey: testKey}
	kind("no master key", tenet.Invalid, dsn, Options{})
	kind("another master key", tenet.Invalid, dsn, Options{MasterKey: []byte(strings.Repeat("k", 32))})
	kind("a DSN that does not parse", tenet.Invalid, "postgres://u:secret@[bad", ok)
	kind("no such database", tenet.Unavailable, named(t, dsn, "nowhere"), ok)
	kind("nobody there", tenet.Unavailable, "postgres://u:secret@127.0.0.1:1/x?sslmode=disable", ok)
	raw(t, dsn, `UPDATE tenet.meta SET version = 99`)
	kind("a newer schema", tenet.Unavailable, dsn, ok)
	raw(t, dsn, `DELETE FROM tenet.meta`)
	kind("a damaged schema", tenet.Unavailable, dsn, ok)
	raw(t, dsn, `DROP SCHEMA tenet CASCADE; CREATE SCHEMA tenet`)
	kind("another program's schema", tenet.Unavailable, dsn, ok)
}

// TestManyOpensMakeOneSchema: processes that start together on an empty
// database make it once.
func TestManyOpensMakeOneSchema(t *testing.T) {
	name := fmt.Sprint("tenet_new_", time.Now().UnixNano())
	raw(t, server(t), "CREATE DATABASE "+name)
	t.Cleanup(func() { raw(t, server(t), "DROP DATABASE "+name+" WITH (FORCE)") })
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			db, err := Open(ctx, named(t, server(t), name), Options{MasterKey: testKey, MaxConns: 2})
			if err != nil {
				t.Error(err)
				return
			}
			db.Close()
		})
	}
	wg.Wait()
}

// TestProxyIsNoticed: behind a pooling proxy statements have no names.
func TestProxyIsNoticed(t *testing.T) {
	name := database(t, 0)
	for dsn, want := range map[string]pgx.QueryExecMode{
		named(t, server(t), name): pgx.QueryExecModeCacheStatement,
		named(t, proxy(t), name):  pgx.QueryExecModeCacheDescribe,
	} {
		if got := open(t, dsn).pool.Config().ConnConfig.DefaultQueryExecMode; got != want {
			t.Errorf("mode %v, want %v", got, want)
		}
	}
}

// TestWaitingEnds: a call whose lock another holds ends with its context, and
// the handle is as good as before.
func TestWaitingEnds(t *testing.T) {
	dsn := named(t, server(t), database(t, 0))
	db := open(t, dsn)
	scope := user(t, "acme", "sarah")
	g := gate.New(nil)
	if _, err := db.Apply(ctx, []gate.Decision{fact(t, g, scope, "1", "city", "Lives in Oslo.", begun)}, nil); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `SELECT 1 FROM tenet.heads FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	t0 := time.Now()
	_, err = db.Apply(short, []gate.Decision{fact(t, g, scope, "2", "job", "Works as a nurse.", begun)}, nil)
	if tenet.KindOf(err) != tenet.Unavailable || err == nil || time.Since(t0) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(t0), err)
	}
	tx.Rollback(ctx)
	if _, err := db.Apply(ctx, []gate.Decision{fact(t, g, scope, "2", "job", "Works as a nurse.", begun)}, nil); err != nil {
		t.Error(err)
	}
}

// TestPlansTouchOnePart: in split tables, every query of a scope reads one
// part of each.
func TestPlansTouchOnePart(t *testing.T) {
	_, db := filled(t, 8)
	scope := user(t, "acme", "sarah")
	s, err := db.find(ctx, db.at(scope), "find", scope)
	if err != nil {
		t.Fatal(err)
	}
	for what, q := range map[string]struct {
		query string
		args  []any
	}{
		"facts":    {`SELECT ` + recordColumns + ` FROM tenet.records WHERE scope = $1 AND tier = 1 AND sys_to = 9223372036854775807 AND valid_to > $2`, []any{s.id, column.Start(begun)}},
		"record":   {`SELECT ` + recordColumns + ` FROM tenet.records WHERE scope = $1 AND id = $2`, []any{s.id, "acme-1"}},
		"messages": {`SELECT ` + messageColumns + ` FROM tenet.messages WHERE scope = $1 AND sid = $2 AND seq > $3 ORDER BY seq LIMIT $4`, []any{s.id, int64(1), int64(0), 20}},
		"head": {`SELECT h.text FROM tenet.subjects s JOIN tenet.heads h ON h.scope = s.scope WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3`,
			[]any{"acme", 1, "sarah"}},
		"run": {selectRun, []any{"acme", 1, "sarah", "chat"}},
	} {
		var plan []string
		err := db.at(scope).snapshot(ctx, func(c conn) error {
			if err := c.each(ctx, `SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`, nil, func(*rows) error { return nil }); err != nil {
				return err
			}
			return c.each(ctx, `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) `+q.query, q.args, func(rs *rows) error {
				var line string
				err := rs.Scan(&line)
				plan = append(plan, line)
				return err
			})
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		parts := map[string]int{}
		for _, line := range plan {
			if i := strings.Index(line, " on "); i > 0 && !strings.Contains(line, "never executed") {
				table, _, _ := strings.Cut(strings.Fields(line[i+4:])[0], "_p")
				if strings.Contains(line[i:], "_p") && !strings.Contains(line, "Bitmap Index") {
					parts[table]++
				}
			}
		}
		for table, n := range parts {
			if n > 1 {
				t.Errorf("%s reads %d parts of %s:\n%s", what, n, table, strings.Join(plan, "\n"))
			}
		}
		if len(parts) == 0 {
			t.Errorf("%s reads no part:\n%s", what, strings.Join(plan, "\n"))
		}
		if testing.Verbose() {
			t.Logf("%s:\n%s", what, strings.Join(plan, "\n"))
		}
	}
}
