package postgres

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/sealing"
	"github.com/tenet-memory/tenet/store/storetest"
)

func TestAVaultKeepsAndDestroysKeys(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	storetest.Vault(t, v)
}

func TestErasureSealed(t *testing.T) {
	server(t)
	storetest.RunErasure(t, sealed, func(t testing.TB, db *DB) storetest.Rows { return allRows(t, db).Open(t, db.seal.Opened) }, tamper)
}

// vault makes a vault that is dropped after the test.
func vault(t testing.TB) (*Vault, string) {
	t.Helper()
	v, name := vaultIn(t)
	t.Cleanup(func() {
		v.Close()
		raw(t, server(t), "DROP DATABASE "+name+" WITH (FORCE)")
	})
	return v, named(t, server(t), name)
}

// empties makes a database without a schema.
func empties(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("tenet_t%d_%d", os.Getpid(), databases.Add(1))
	raw(t, server(t), "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name)
	t.Cleanup(func() { raw(t, server(t), "DROP DATABASE "+name+" WITH (FORCE)") })
	return named(t, server(t), name)
}

// openWith opens a database with a vault that stands for one elsewhere.
func openWith(t testing.TB, dsn string, v store.Vault, key []byte) (*DB, error) {
	t.Helper()
	o := Options{MasterKey: key, MaxConns: 8}
	if v != nil {
		o.Vault = elsewhere{v}
	}
	db, err := Open(ctx, dsn, o)
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return db, err
}

// newSealed makes a sealed database with a vault of its own.
func newSealed(t testing.TB) (db *DB, v *Vault, dsn string) {
	t.Helper()
	v, _ = vault(t)
	dsn = empties(t)
	db, err := openWith(t, dsn, v, testKey)
	if err != nil {
		t.Fatal(err)
	}
	return db, v, dsn
}

// aWord is one that nothing else has written to the server.
func aWord() string {
	b := make([]byte, 15)
	rand.Read(b)
	return "Q" + strings.ToLower(strings.NewReplacer("2", "g", "3", "h", "4", "j", "5", "k", "6", "v", "7", "w").Replace(base32.StdEncoding.EncodeToString(b)))
}

// rowsOf is a copy of all rows of all tables, byte for byte, by place.
func rowsOf(t testing.TB, db *DB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for table, rows := range allRows(t, db) {
		for _, row := range rows.Rows {
			for i, cell := range row {
				out[table+"."+rows.Columns[i]] = append(append(out[table+"."+rows.Columns[i]], cell...), '\n')
			}
		}
	}
	return out
}

// onDisk are the files that a server keeps of a database, its write-ahead log and
// its own log, when they can be read here.
func onDisk(t testing.TB, db *DB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	dir := os.Getenv("TENET_TEST_SERVERS")
	if dir == "" {
		t.Log("the server's files are elsewhere: its rows are searched, not its files")
		return out
	}
	raw(t, server(t), "CHECKPOINT")
	var oid int
	if err := db.pool.QueryRow(ctx, `SELECT oid::int FROM pg_database WHERE datname = current_database()`).Scan(&oid); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"data/pg_wal/0*", fmt.Sprintf("data/base/%d/*", oid), "log"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s (%v)", pattern, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if os.IsNotExist(err) { // recycled meanwhile
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			out[pattern] = append(out[pattern], b...)
		}
	}
	return out
}

// places are those that hold the word in any form.
func places(word string, in map[string][]byte) (found []string) {
	for place, b := range in {
		for form, want := range storetest.FormsOf(word) {
			if bytes.Contains(b, want) || bytes.Contains(b, []byte(hex.EncodeToString(want))) {
				found = append(found, place+": "+form)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestNoCopyOfASealedDatabaseHoldsAWord searches a copy of every row, and the
// server's own files, while the subject is alive.
func TestNoCopyOfASealedDatabaseHoldsAWord(t *testing.T) {
	t.Parallel()
	plain, word := fresh(t), aWord()
	storetest.Fill(t, plain, word)
	if found := places(word, rowsOf(t, plain)); len(found) < 30 {
		t.Fatalf("the control finds %v only", found)
	}
	if found := places(word, onDisk(t, plain)); os.Getenv("TENET_TEST_SERVERS") != "" && len(found) < 6 {
		t.Fatalf("the control finds %v only", found)
	}
	for name, open := range map[string]func(testing.TB) *DB{"one": sealed, "partitioned": sealedSplit4} {
		db, word := open(t), aWord()
		scope := storetest.Fill(t, db, word)
		if found := places(word, rowsOf(t, db)); len(found) > 0 {
			t.Errorf("%s: the word is in %v", name, found)
		}
		if found := places(word, onDisk(t, db)); len(found) > 0 {
			t.Errorf("%s: the word is in %v", name, found)
		}
		if v, err := db.Verify(ctx, scope); err != nil || !v.OK() || v.Records == 0 {
			t.Errorf("%s: %+v (%v)", name, v, err)
		}
	}
}

// TestEveryTextOfASealedDatabaseIsSealed goes by the schema: a text column that
// is not sealed is one that somebody said is a word of the vocabulary.
func TestEveryTextOfASealedDatabaseIsSealed(t *testing.T) {
	t.Parallel()
	db := sealed(t)
	storetest.Fill(t, db, aWord())
	met := map[string]bool{}
	for _, table := range erasing.Tables {
		if table.Rule == erasing.Stays {
			continue
		}
		rs, err := db.pool.Query(ctx, `SELECT * FROM tenet.`+table.Name)
		if err != nil {
			t.Fatal(err)
		}
		for rs.Next() {
			cells, err := rs.Values()
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range rs.FieldDescriptions() {
				name := table.Name + "." + f.Name
				if f.Name == "tenant" || storetest.Unsealed(name) {
					continue
				}
				switch cell := cells[i].(type) {
				case string:
					if cell == "" {
						continue
					}
					met[name] = true
					if plain, err := db.seal.Open(cell); err != nil || plain == cell {
						t.Errorf("%s is not sealed (%v)", name, err)
					}
				case []byte:
					if len(cell) == 0 {
						continue
					}
					met[name] = true
					was := bytes.Clone(cell)
					if err := db.seal.Opened([]any{&cell}); err != nil || bytes.Equal(was, cell) {
						t.Errorf("%s is not sealed (%v)", name, err)
					}
				}
			}
		}
		if err := rs.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if len(met) < 30 {
		t.Errorf("only %d columns hold anything: %v", len(met), met)
	}
}

func operator(t testing.TB) tenet.Principal {
	t.Helper()
	p, err := tenet.NewPrincipal(tenet.Operator, "acme", "ops")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// erased erases a subject and leaves its key to Purge.
func erased(t testing.TB, db *DB, scope tenet.Scope) store.Journaled {
	t.Helper()
	d, err := gate.New(nil).Erase(operator(t), scope, gate.Selection{Subject: true}, "erasure-1", "asked to", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	e, err := db.Erase(ctx, d, store.EraseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Journal
}

func surrogate(t testing.TB, db *DB, scope tenet.Scope) int64 {
	t.Helper()
	s, err := db.find(ctx, db.at(scope), "test", scope)
	if err != nil {
		t.Fatal(err)
	}
	return s.id
}

// say writes a fact of a subject.
func say(t testing.TB, db *DB, scope tenet.Scope, id string) error {
	t.Helper()
	by, err := tenet.NewPrincipal(tenet.App, scope.Tenant(), "test")
	if err != nil {
		t.Fatal(err)
	}
	c := tenet.Fact(scope, "city", "lives in Basel").Quoting("lives in Basel")
	c.ID = tenet.CandidateID(id)
	d, err := gate.New(nil).Judge(gate.Case{By: by, Candidate: c, At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Apply(ctx, []gate.Decision{d}, func(_ int, st gate.State) (gate.Decision, error) {
		return gate.New(nil).Judge(gate.Case{By: by, Candidate: c, State: st, At: time.Now()})
	})
	return err
}

// TestAnOldCopyOfAnErasedSubjectCannotBeRead: not with the master key and the
// vault as it is now, neither through the store nor past it.
func TestAnOldCopyOfAnErasedSubjectCannotBeRead(t *testing.T) {
	t.Parallel()
	db, v, dsn := newSealed(t)
	word := aWord()
	sarah, bob := storetest.Fill(t, db, word), storetest.Fill(t, db, "basil")
	id := surrogate(t, db, sarah)
	rows := allRows(t, db)
	db.Close() // a database that is in use cannot be copied
	old := fmt.Sprintf("tenet_t%d_%d", os.Getpid(), databases.Add(1))
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	raw(t, server(t), "CREATE DATABASE "+old+" TEMPLATE "+c.Database)
	t.Cleanup(func() { raw(t, server(t), "DROP DATABASE "+old+" WITH (FORCE)") })
	if db, err = openWith(t, dsn, v, testKey); err != nil {
		t.Fatal(err)
	}
	// tried opens every sealed value of the old rows, with every key there is.
	tried := func() (readable, dead, others int) {
		t.Helper()
		seal := sealing.New(v, db.unwrapped) // of a process that has no key in memory
		for _, table := range rows {
			at := slices.Index(table.Columns, "scope")
			for _, row := range table.Rows {
				for _, cell := range row {
					if !isSealed.Match(cell) {
						continue
					}
					content, text := bytes.Clone(cell), string(cell)
					err := seal.Opened([]any{&content, &text})
					opened := err == nil && (!bytes.Equal(content, cell) || text != string(cell))
					mine := at >= 0 && bytes.Equal(row[at], binaryOf(id))
					switch {
					case mine && opened:
						readable++
					case mine && err != nil:
						dead++
					case opened:
						others++
					}
				}
			}
		}
		return readable, dead, others
	}
	if readable, dead, others := tried(); readable < 100 || dead > 0 || others < 100 {
		t.Fatalf("the control: %d of the subject's values can be read, %d cannot, and %d of others", readable, dead, others)
	}
	wrapped, err := v.Kept(ctx, id)
	if err != nil || len(wrapped) == 0 {
		t.Fatalf("the control: no key (%v)", err)
	}
	erased(t, db, sarah)
	if err := db.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	if w, err := v.Kept(ctx, id); err != nil || w != nil {
		t.Errorf("the key: %d bytes (%v)", len(w), err)
	}
	if readable, dead, others := tried(); readable > 0 || dead < 100 || others < 100 {
		t.Errorf("%d of the erased subject's values can be read, %d cannot, and %d of others", readable, dead, others)
	}
	// Through the store: opening removes what nobody can read, and serves the rest.
	again, err := openWith(t, named(t, dsn, old), v, testKey)
	if err != nil {
		t.Fatal(err)
	}
	if n := surrogate(t, again, sarah); n != 0 {
		t.Error("the restored copy knows the erased subject")
	}
	if fs, err := again.Facts(ctx, sarah, tenet.AsOf{Valid: time.Now()}); err != nil || len(fs) != 0 {
		t.Errorf("%d facts (%v)", len(fs), err)
	}
	left, err := erasing.Left(sharedTx{again.at(sarah), bg}, id)
	if err != nil {
		t.Fatal(err)
	}
	for table, n := range left {
		if n > 0 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
	if fs, err := again.Facts(ctx, bob, tenet.AsOf{Valid: time.Now()}); err != nil || len(fs) == 0 {
		t.Errorf("the other subject has %d facts (%v)", len(fs), err)
	}
	if why, err := again.Chain(ctx, chainName(id), 0, nil); err != nil || why != "" {
		t.Errorf("the chain: %s (%v)", why, err)
	}
	// Whoever comes back under the name begins anew.
	if err := say(t, db, sarah, "c-new"); err != nil {
		t.Fatal(err)
	}
	if n := surrogate(t, db, sarah); n == 0 || n == id {
		t.Errorf("the surrogate is %d, and was %d", n, id)
	}
}

// isSealed matches what a sealed text or content looks like.
var isSealed = regexp.MustCompile(`(?s)^(\x01[A-Za-z0-9_-]{48,}$|\x00tenet\x01\x00)`)

// binaryOf is a bigint as the protocol has it.
func binaryOf(n int64) []byte {
	b, _ := hex.DecodeString(fmt.Sprintf("%016x", uint64(n)))
	return b
}

// TestACrashBeforeTheKeyIsDestroyedIsMadeUpFor: the erasure is committed and
// pending, and says done only when the key is gone.
func TestACrashBeforeTheKeyIsDestroyedIsMadeUpFor(t *testing.T) {
	t.Parallel()
	db, v, dsn := newSealed(t)
	sarah := storetest.Fill(t, db, aWord())
	id := surrogate(t, db, sarah)
	erased(t, db, sarah)
	states := func(db *DB) string {
		t.Helper()
		es, err := db.Erasures(ctx, "acme", 10)
		if err != nil || len(es) != 1 {
			t.Fatalf("%v (%v)", es, err)
		}
		return es[0].State
	}
	if w, err := v.Kept(ctx, id); err != nil || w == nil || states(db) != store.ErasurePending {
		t.Fatalf("the control: %s, key %d bytes (%v)", states(db), len(w), err)
	}
	db.Close() // the process goes
	db, err := openWith(t, dsn, v, testKey)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := v.Kept(ctx, id); err != nil || w != nil || states(db) != store.ErasurePending {
		t.Errorf("after the start: %s, key %d bytes (%v)", states(db), len(w), err)
	}
	// A crash after the key was destroyed, and before the database knew.
	if _, err := db.pool.Exec(ctx, `INSERT INTO tenet.shreds (scope) VALUES ($1)`, id); err != nil {
		t.Fatal(err)
	}
	if err := db.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	var shreds int
	if err := db.pool.QueryRow(ctx, `SELECT count(*) FROM tenet.shreds`).Scan(&shreds); err != nil || shreds != 0 || states(db) != store.ErasureDone {
		t.Errorf("%s, and %d keys are still to be destroyed (%v)", states(db), shreds, err)
	}
}

// TestAnErasureIsPendingUntilItsVaultIsBack: the rows go at once, and the key
// when it can be reached.
func TestAnErasureIsPendingUntilItsVaultIsBack(t *testing.T) {
	t.Parallel()
	db, v, dsn := newSealed(t)
	sarah := user(t, "acme", "sarah")
	if err := say(t, db, sarah, "c1"); err != nil {
		t.Fatal(err)
	}
	id := surrogate(t, db, sarah)
	own := v.pool.Config().ConnString()
	v.Close()
	erased(t, db, sarah)
	if err := db.Purge(ctx); tenet.KindOf(err) != tenet.Unavailable {
		t.Errorf("without the vault: %v", err)
	}
	es, err := db.Erasures(ctx, "acme", 10)
	if err != nil || len(es) != 1 || es[0].State != store.ErasurePending {
		t.Errorf("%+v (%v)", es, err)
	}
	if n := surrogate(t, db, sarah); n != 0 {
		t.Error("the rows are there")
	}
	back, err := OpenVault(ctx, own, false)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	again, err := openWith(t, dsn, back, testKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	if w, err := back.Kept(ctx, id); err != nil || w != nil {
		t.Errorf("the key: %d bytes (%v)", len(w), err)
	}
	if es, err = again.Erasures(ctx, "acme", 10); err != nil || es[0].State != store.ErasureDone {
		t.Errorf("%+v (%v)", es, err)
	}
}

func TestASealedDatabaseIsOpenedWithItsVaultOnly(t *testing.T) {
	t.Parallel()
	db, v, dsn := newSealed(t)
	sarah := user(t, "acme", "sarah")
	if err := say(t, db, sarah, "c1"); err != nil {
		t.Fatal(err)
	}
	other, otherDSN := vault(t)
	refused := func(what string, want tenet.Kind, err error) {
		t.Helper()
		if tenet.KindOf(err) != want {
			t.Errorf("%s: want %v, got %v", what, want, err)
		}
	}
	_, err := openWith(t, dsn, nil, testKey)
	refused("without a vault", tenet.Invalid, err)
	_, err = openWith(t, dsn, other, testKey)
	refused("with another vault", tenet.Invalid, err)
	_, err = openWith(t, named(t, server(t), database(t, 0)), other, testKey)
	refused("a database that is not sealed, with a vault", tenet.Invalid, err)
	made := func(dsn string) (is bool) {
		t.Helper()
		c, err := pgx.Connect(ctx, dsn)
		if err == nil {
			defer c.Close(ctx)
			err = c.QueryRow(ctx, `SELECT to_regnamespace('tenet') IS NOT NULL OR to_regnamespace('tenet_vault') IS NOT NULL`).Scan(&is)
		}
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	empty := empties(t)
	_, err = openWith(t, empty, v, testKey)
	refused("a new database with a vault in use", tenet.Invalid, err)
	_, err = Open(ctx, empty, Options{MasterKey: testKey, Vault: other})
	refused("a new database with a vault on its own server", tenet.Invalid, err)
	_, err = OpenVault(ctx, empty, false)
	refused("a vault that is not there", tenet.Unavailable, err)
	if made(empty) {
		t.Error("what was refused has left a schema")
	}
	_, err = Open(ctx, dsn, Options{MasterKey: testKey, Vault: v})
	refused("with its vault on its own server", tenet.Invalid, err)
	_, err = OpenVault(ctx, "postgres://nobody@127.0.0.1:1/none?connect_timeout=2", false)
	refused("a vault whose server is away", tenet.Unavailable, err)
	if again, err := OpenVault(ctx, otherDSN, true); err != nil || !bytes.Equal(again.ID(), other.ID()) {
		t.Errorf("a vault that is there is made anew (%v)", err)
	} else {
		again.Close()
	}
}

// TestAServerWithoutAKeyTakesNobodyForNew: neither with an older copy of the
// vault nor while it is away.
func TestAServerWithoutAKeyTakesNobodyForNew(t *testing.T) {
	t.Parallel()
	db, v, dsn := newSealed(t)
	sarah := user(t, "acme", "sarah")
	if err := say(t, db, sarah, "c1"); err != nil {
		t.Fatal(err)
	}
	id := surrogate(t, db, sarah)
	var wrapped []byte
	if err := v.pool.QueryRow(ctx, `DELETE FROM tenet_vault.data_keys WHERE scope = $1 RETURNING wrapped`, id).Scan(&wrapped); err != nil {
		t.Fatal(err)
	}
	again, err := openWith(t, dsn, v, testKey)
	if err != nil {
		t.Fatal(err)
	}
	turned := func(db *DB, why string) {
		t.Helper()
		check := func(what string, err error) {
			t.Helper()
			if tenet.KindOf(err) != tenet.Unavailable || !strings.Contains(fmt.Sprint(err), why) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := db.Facts(ctx, sarah, tenet.AsOf{Valid: time.Now()})
		check("facts", err)
		check("a decision", say(t, db, sarah, "c2"))
		_, err = db.Ensure(ctx, sarah, tenet.Session{ID: "s1", Scope: sarah, CreatedAt: time.Now()})
		check("a session", err)
		var subjects, entries int
		if err := db.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM tenet.subjects), (SELECT count(*) FROM tenet.chain)`).Scan(&subjects, &entries); err != nil || subjects != 1 || entries != 1 {
			t.Errorf("%d subjects, %d entries (%v)", subjects, entries, err)
		}
	}
	turned(again, "does not hold a subject's data key")
	if faults, err := again.Check(ctx, "acme"); err != nil || len(faults) != 1 || !strings.Contains(faults[0].What, "vault") {
		t.Errorf("fsck finds %v (%v)", faults, err)
	}
	if why, err := again.Chain(ctx, chainName(id), 0, nil); err != nil || why != "" {
		t.Errorf("the chain needs no key: %s (%v)", why, err)
	}
	if err := v.Keep(ctx, id, wrapped); err != nil {
		t.Fatal(err)
	}
	if fs, err := again.Facts(ctx, sarah, tenet.AsOf{Valid: time.Now()}); err != nil || len(fs) != 1 {
		t.Errorf("when the vault has it: %d facts (%v)", len(fs), err)
	}
	// A server that never met her, and whose vault goes away.
	third, err := openWith(t, dsn, v, testKey)
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	turned(third, "cannot be reached")
	if tenet.KindOf(say(t, third, user(t, "acme", "bob"), "c1")) != tenet.Unavailable {
		t.Error("somebody new was entered without a vault")
	}
	if fs, err := again.Facts(ctx, sarah, tenet.AsOf{Valid: time.Now()}); err != nil || len(fs) != 1 {
		t.Errorf("who has the key in memory is served on: %d facts (%v)", len(fs), err)
	}
}

// TestOfServersThatMeetASubjectAtOnceOneMakesItsKey: each server has its own
// connections to the vault, and no other way to the others.
func TestOfServersThatMeetASubjectAtOnceOneMakesItsKey(t *testing.T) {
	t.Parallel()
	_, v, dsn := newSealed(t)
	ownDSN := v.pool.Config().ConnString()
	const servers, subjects = 4, 8
	dbs := make([]*DB, servers)
	for i := range dbs {
		own, err := OpenVault(ctx, ownDSN, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { own.Close() })
		if dbs[i], err = openWith(t, dsn, own, testKey); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for n := range subjects {
		for i, db := range dbs {
			wg.Go(func() {
				if err := say(t, db, user(t, "acme", fmt.Sprint("new-", n)), fmt.Sprint("c-", i)); err != nil {
					t.Errorf("server %d: %v", i, err)
				}
			})
		}
	}
	wg.Wait()
	for n := range subjects {
		who := user(t, "acme", fmt.Sprint("new-", n))
		for i, db := range dbs {
			if r, err := db.Verify(ctx, who); err != nil || !r.OK() || r.Entries != servers {
				t.Errorf("server %d: %+v (%v)", i, r, err)
			}
		}
	}
	var keys, rows int
	if err := v.pool.QueryRow(ctx, `SELECT count(*) FROM tenet_vault.data_keys WHERE scope <> $1`, sealing.Everybody).Scan(&keys); err != nil {
		t.Fatal(err)
	}
	if err := dbs[0].pool.QueryRow(ctx, `SELECT count(*) FROM tenet.subjects`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows != subjects || keys != subjects {
		t.Errorf("%d subjects and %d keys, want %d of each", rows, keys, subjects)
	}
}

func TestARotationWrapsTheVaultsKeys(t *testing.T) {
	t.Parallel()
	db, v, dsn := newSealed(t)
	sarah := storetest.Fill(t, db, aWord())
	id := surrogate(t, db, sarah)
	before, err := v.Kept(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	next := bytes.Repeat([]byte{7}, 32)
	both, err := openWith(t, dsn, v, append(bytes.Clone(next), testKey...))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := both.Rotate(ctx, next); err != nil || n < 2 {
		t.Fatalf("%d keys (%v)", n, err)
	}
	if after, err := v.Kept(ctx, id); err != nil || bytes.Equal(before, after) {
		t.Errorf("the key was not wrapped anew (%v)", err)
	}
	both.Close()
	again, err := openWith(t, dsn, v, next)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := again.Verify(ctx, sarah); err != nil || !r.OK() || r.Records == 0 {
		t.Errorf("%+v (%v)", r, err)
	}
	if _, err := openWith(t, dsn, v, testKey); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("the old master key: %v", err)
	}
}

func TestVectorsOfASealedDatabaseAreNotIndexed(t *testing.T) {
	t.Parallel()
	db := sealed(t)
	if err := db.IndexPlaces(ctx, 1, []store.Band{{Low: 1, High: 6}}, nil); tenet.KindOf(err) != tenet.Denied {
		t.Errorf("%v", err)
	}
}
