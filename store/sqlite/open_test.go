package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

func wantKind(t testing.TB, what string, err error, kind tenet.Kind) {
	t.Helper()
	if err == nil || tenet.KindOf(err) != kind {
		t.Errorf("%s: want %v, got %v", what, kind, err)
	}
}

// remember keeps a fact and fails the test when that fails.
func remember(t testing.TB, db *DB, id, key, text string) {
	t.Helper()
	apply(t, db, judge(t, db, gate.New(nil), fact(principal(t, tenet.App), user(t, "sarah"), id, key, text, begin)))
}

func factTexts(t testing.TB, db *DB) (out []string) {
	t.Helper()
	rs, err := db.Facts(ctx, user(t, "sarah"), tenet.AsOf{Valid: begin.AddDate(1, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		out = append(out, r.Text)
	}
	return out
}

// alter runs SQL on a closed file, as another program would.
func alter(t testing.TB, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationsAreAppended holds the order of the schema's files. A file's
// version is how many of them it has had, so a new one goes last, here and by
// its number: one that sorts before another would never be run where that one
// was, and the last would be run twice.
func TestMigrationsAreAppended(t *testing.T) {
	t.Parallel()
	want := []string{"0001_core.sql", "0002_work.sql", "0003_recall.sql", "0004_boundary.sql", "0010_backlog.sql", "0030_erase.sql", "0040_freeze.sql", "0050_rotate.sql", "0060_seal.sql", "0070_held.sql", "0080_cut.sql", "0090_quota.sql"}
	files, err := schema.ReadDir("schema")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the schema's files are %v, want %v: add new ones at the end of both", got, want)
	}
}

func TestFilesThatCannotBeOpenedSayWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
		kind   tenet.Kind
		says   string
	}{
		{"newer schema", func(t *testing.T, p string) { alter(t, p, `PRAGMA user_version = 99`) }, tenet.Unavailable, "upgrade Tenet"},
		{"another program's database", func(t *testing.T, p string) { os.Remove(p); alter(t, p, `CREATE TABLE songs (a)`) }, tenet.Unavailable, "another program's"},
		{"not a database", func(t *testing.T, p string) { write(t, p, strings.Repeat("My secret diary. ", 1000)) }, tenet.Unavailable, "not a database"},
		{"a short text", func(t *testing.T, p string) { write(t, p, "hello") }, tenet.Unavailable, "not a database"},
		{"damaged pages", func(t *testing.T, p string) { scribble(t, p, 100, 3000) }, tenet.Unavailable, "damaged"},
		{"a directory", func(t *testing.T, p string) { os.Remove(p); os.Mkdir(p, 0o700) }, tenet.Unavailable, "directory"},
		{"key file gone", func(t *testing.T, p string) { os.Remove(p + ".key") }, tenet.Unavailable, "key file"},
		{"key file of another", func(t *testing.T, p string) { write(t, p+".key", strings.Repeat("ab", 32)) }, tenet.Invalid, "master key"},
		{"key file damaged", func(t *testing.T, p string) { write(t, p+".key", "abc") }, tenet.Unavailable, "hexadecimal"},
		{"no such directory", func(t *testing.T, p string) { os.RemoveAll(filepath.Dir(p)) }, tenet.Unavailable, "cannot be created"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tenet.db")
			db := open(t, path)
			remember(t, db, "c1", "diary", "My secret diary")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			c.damage(t, path)
			db, err := Open(ctx, path, Options{})
			if err == nil {
				db.Close()
			}
			wantKind(t, c.name, err, c.kind)
			if err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("the error is %q", err)
			}
		})
	}
	_, err := Open(ctx, filepath.Join(t.TempDir(), "x.db"), Options{MasterKey: make([]byte, 16)})
	wantKind(t, "a short master key", err, tenet.Invalid)
	_, err = Open(ctx, "", Options{})
	wantKind(t, "no path", err, tenet.Invalid)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// scribble overwrites a stretch of the file with text that no page looks like.
func scribble(t *testing.T, path string, from, n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[from:from+n], strings.Repeat("secret! ", n))
	write(t, path, string(b))
}

// A page that is damaged below the schema is found when it is read.
func TestDamageFoundLaterIsUnavailable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	db := open(t, path)
	for i := range 50 {
		remember(t, db, fmt.Sprint("c", i), fmt.Sprint("k", i), "secret "+strings.Repeat("x", 100))
	}
	db.Close()
	info, _ := os.Stat(path)
	for off := 4096 * 40; off+4096 <= int(info.Size()); off += 4096 {
		scribble(t, path, off, 4096)
	}
	db, err := Open(ctx, path, Options{})
	if err == nil {
		defer db.Close()
		_, err = db.Verify(ctx, user(t, "sarah"))
	}
	wantKind(t, "a read of a damaged page", err, tenet.Unavailable)
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the error quotes content: %v", err)
	}
}

func TestReadOnlyFileReadsAndRefusesWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	db := open(t, path)
	remember(t, db, "c1", "city", "Berlin")
	db.Close()
	os.Chmod(path, 0o400)
	db = open(t, path)
	if got := factTexts(t, db); len(got) != 1 || got[0] != "Berlin" {
		t.Errorf("facts of a read-only file: %q", got)
	}
	scope := user(t, "sarah")
	_, err := db.Apply(ctx, []gate.Decision{judge(t, db, gate.New(nil), fact(principal(t, tenet.App), scope, "c2", "city", "Paris", begin.Add(time.Hour)))}, nil)
	wantKind(t, "apply", err, tenet.Unavailable)
	_, err = db.Ensure(ctx, scope, tenet.Session{ID: "s", Scope: scope})
	wantKind(t, "ensure", err, tenet.Unavailable)
	if v, err := db.Verify(ctx, scope); err != nil || !v.OK() {
		t.Errorf("verify: %+v %v", v, err)
	}
	db.Close()
	os.Chmod(path, 0o600)
	if db = open(t, path); db.w == nil {
		t.Error("it stays read-only")
	}
}

func TestAnyPathIsAFileName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "50%.db", "what?mode=memory", "x#y.db", "é e\u0301.db", "a&_pragma=journal_mode(OFF)", "'quoted'.db", "file:x.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := open(t, path)
		remember(t, db, "c1", "city", "Berlin")
		db.Close()
		info, err := os.Stat(path)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%q has mode %v", name, info.Mode())
		}
		if key, err := os.Stat(path + ".key"); err != nil || key.Mode().Perm() != 0o600 {
			t.Errorf("key of %q: %v", name, err)
		}
		if got := factTexts(t, open(t, path)); len(got) != 1 {
			t.Errorf("%q lost its fact", name)
		}
	}
}

// Sixteen handles open one new file at the same time: one schema, one key.
func TestOpeningOneNewFileTogether(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := filepath.Join(t.TempDir(), "tenet.db")
		var wg sync.WaitGroup
		dbs := make([]*DB, 16)
		for i := range dbs {
			wg.Go(func() {
				db, err := Open(ctx, path, Options{})
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				dbs[i] = db
			})
		}
		wg.Wait()
		for i, db := range dbs {
			if db == nil {
				continue
			}
			remember(t, db, fmt.Sprint("c", i), fmt.Sprint("k", i), fmt.Sprint("value ", i))
			if !bytes.Equal(db.master().Wraps(), dbs[0].master().Wraps()) {
				t.Error("two master keys")
			}
		}
		if got := factTexts(t, dbs[0]); len(got) != 16 {
			t.Errorf("%d facts", len(got))
		}
		for _, db := range dbs {
			if db != nil {
				db.Close()
			}
		}
	}
}

// Every connection has the settings that durability and erasure rest on.
func TestEveryConnectionIsConfigured(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	for name, pool := range map[string]*sql.DB{"writer": db.w.pool, "readers": db.r.pool} {
		var conns []*sql.Conn
		for range map[string]int{"writer": 1, "readers": readers}[name] {
			c, err := pool.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		for _, c := range conns {
			for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "secure_delete": "1", "temp_store": "2", "trusted_schema": "0"} {
				var got string
				if err := c.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
					t.Errorf("%s: %s is %q, want %q (%v)", name, pragma, got, want, err)
				}
			}
			c.Close()
		}
	}
}

// A full disk refuses a write, keeps what was acknowledged, and recovers.
func TestFullDiskIsUnavailableAndLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	db := open(t, path)
	g := gate.New(nil, gate.WithLimits(gate.Limits{}))
	scope, app := user(t, "sarah"), principal(t, tenet.App)
	var pages int
	db.w.pool.QueryRow(`PRAGMA page_count`).Scan(&pages)
	if _, err := db.w.pool.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+40)); err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	var mu sync.Mutex
	var full int
	var wg sync.WaitGroup
	for w := range 8 { // together, so that some share a transaction with one that fails
		wg.Go(func() {
			for i := range 20 {
				id := fmt.Sprintf("c%d-%d", w, i)
				d, err := judged(db, g, fact(app, scope, id, "k"+id, id+strings.Repeat(" x", 2000), begin))
				if err != nil {
					t.Error(err)
					return
				}
				_, err = db.Apply(ctx, []gate.Decision{d}, nil)
				mu.Lock()
				if err == nil {
					kept[id] = true
				} else {
					full++
					wantKind(t, "a full disk", err, tenet.Unavailable)
					if !strings.Contains(err.Error(), "full") {
						t.Errorf("the error is %v", err)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if full == 0 || len(kept) == 0 {
		t.Fatalf("%d kept, %d refused: the disk did not fill", len(kept), full)
	}
	check := func(db *DB, want int) {
		t.Helper()
		rs, err := db.Facts(ctx, scope, tenet.AsOf{Valid: begin})
		if err != nil || len(rs) != want {
			t.Errorf("%d facts, %d were acknowledged (%v)", len(rs), want, err)
		}
		if v, err := db.Verify(ctx, scope); err != nil || !v.OK() {
			t.Errorf("verify: %+v %v", v, err)
		}
	}
	check(db, len(kept))
	if _, err := db.w.pool.Exec(`PRAGMA max_page_count = 1000000`); err != nil {
		t.Fatal(err)
	}
	apply(t, db, judge(t, db, g, fact(app, scope, "after", "after", "room again", begin)))
	check(db, len(kept)+1)
	db.Close()
	check(open(t, path), len(kept)+1)
}

// A lock that another process holds delays a write for as long as its context
// lives, and no longer.
func TestBusyFileWaitsForTheContextOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	db, other := open(t, path), open(t, path)
	d := judge(t, db, gate.New(nil), fact(principal(t, tenet.App), user(t, "sarah"), "c1", "city", "Berlin", begin))
	tx, err := other.w.pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := contextFor(150 * time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = db.Apply(short, []gate.Decision{d}, nil)
	wantKind(t, "a busy file", err, tenet.Unavailable)
	if waited := time.Since(began); waited < 100*time.Millisecond || waited > 5*time.Second {
		t.Errorf("it waited %v", waited)
	}
	done := make(chan error, 1)
	go func() {
		_, err := db.Apply(ctx, []gate.Decision{d}, nil)
		done <- err
	}()
	time.Sleep(400 * time.Millisecond)
	tx.Rollback()
	if err := <-done; err != nil {
		t.Errorf("once the file was free: %v", err)
	}
}

func TestClosedIsUnavailable(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	remember(t, db, "c1", "city", "Berlin")
	db.Close()
	_, err := db.Head(ctx, user(t, "sarah"))
	wantKind(t, "head", err, tenet.Unavailable)
	_, err = db.Append(ctx, user(t, "sarah"), "s", []tenet.Message{{ID: "m"}}, begin)
	wantKind(t, "append", err, tenet.Unavailable)
}
