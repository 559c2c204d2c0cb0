package postgres

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/storetest"
)

var ctx = context.Background()

var testKey = []byte("0123456789abcdef0123456789abcdef")

// server is the DSN of a server on which tests may make databases. Without one
// the test is skipped, or fails where servers are required.
func server(t testing.TB) string { return needed(t, "postgres", "TENET_TEST_POSTGRES") }

// proxy is the DSN of a transaction-pooling proxy before that server.
func proxy(t testing.TB) string { return needed(t, "pgbouncer", "TENET_TEST_PGBOUNCER") }

func needed(t testing.TB, name, variable string) string {
	t.Helper()
	dsn := os.Getenv(variable)
	if dsn != "" {
		return dsn
	}
	if strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), name) {
		t.Fatalf("%s is not set, and TENET_TEST_REQUIRE names %s: scripts/test-servers.sh starts one", variable, name)
	}
	t.Skipf("SKIPPED, NOTHING TESTED: %s is not set; make test-postgres starts a server", variable)
	return ""
}

// named is the DSN with another database.
func named(t testing.TB, dsn, database string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is not a URL")
	}
	u.Path = "/" + database
	return u.String()
}

func raw(t testing.TB, dsn string, queries ...string) {
	t.Helper()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, q := range queries {
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// template is what a fresh database is made like.
type template struct {
	partitions int
	sealed     bool
}

var templates struct {
	sync.Mutex
	made   map[template]string
	vaults map[template]*Vault // of all sealed databases that are made like one
}

var databases atomic.Int64

// spare databases are empty again, and dirty ones must not be used again.
var (
	spare = map[template][]string{}
	dirty sync.Map
)

const empty = `DO $$ DECLARE t regclass; BEGIN
	FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'tenet'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'meta' LOOP
		EXECUTE format('DELETE FROM %s', t);
	END LOOP; END $$`

// database makes a fresh database with the schema, split into so many parts,
// and returns its name. The schema is made once and copied.
func database(t testing.TB, partitions int) string {
	t.Helper()
	return like(t, template{partitions: partitions})
}

func like(t testing.TB, of template) string {
	t.Helper()
	dsn := server(t)
	templates.Lock()
	defer templates.Unlock()
	from := templates.made[of]
	if from == "" {
		from = fmt.Sprintf("tenet_t%d_template%d_%t", os.Getpid(), of.partitions, of.sealed)
		raw(t, dsn, "DROP DATABASE IF EXISTS "+from) // of a try that failed
		raw(t, dsn, "CREATE DATABASE "+from)
		o := Options{MasterKey: testKey, Partitions: of.partitions, MaxConns: 2}
		if of.sealed {
			v, _ := vaultIn(t)
			o.Vault = elsewhere{v}
			if templates.vaults == nil {
				templates.vaults = map[template]*Vault{}
			}
			templates.vaults[of] = v
		}
		db, err := Open(ctx, named(t, dsn, from), o)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		if templates.made == nil {
			templates.made = map[template]string{}
		}
		templates.made[of] = from
	}
	var name string
	if n := len(spare[of]); n > 0 {
		name, spare[of] = spare[of][n-1], spare[of][:n-1]
	} else {
		name = fmt.Sprintf("tenet_t%d_%d", os.Getpid(), databases.Add(1))
		raw(t, dsn, "CREATE DATABASE "+name+" TEMPLATE "+from)
	}
	t.Cleanup(func() {
		if _, is := dirty.Load(name); is {
			raw(t, dsn, "DROP DATABASE "+name+" WITH (FORCE)")
			return
		}
		raw(t, named(t, dsn, name), empty)
		templates.Lock()
		defer templates.Unlock()
		spare[of] = append(spare[of], name)
	})
	return name
}

func TestMain(m *testing.M) {
	code := m.Run()
	names := slices.Collect(maps.Values(templates.made))
	for _, v := range templates.vaults {
		names = append(names, v.pool.Config().ConnConfig.Database)
		v.Close()
	}
	for _, more := range spare {
		names = append(names, more...)
	}
	for _, name := range names {
		if c, err := pgx.Connect(ctx, os.Getenv("TENET_TEST_POSTGRES")); err == nil {
			c.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
			c.Close(ctx)
		}
	}
	os.Exit(code)
}

func open(t testing.TB, dsn string) *DB {
	t.Helper()
	db, err := Open(ctx, dsn, Options{MasterKey: testKey, MaxConns: 8})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func fresh(t testing.TB) *DB {
	t.Helper()
	return open(t, named(t, server(t), database(t, 0)))
}

func split4(t testing.TB) *DB {
	t.Helper()
	return open(t, named(t, server(t), database(t, 4)))
}

func proxied(t testing.TB) *DB {
	t.Helper()
	return open(t, named(t, proxy(t), database(t, 0)))
}

// elsewhere is a vault as if it were on a server of its own.
type elsewhere struct{ store.Vault }

// vaultIn makes a vault in a database of its own.
func vaultIn(t testing.TB) (*Vault, string) {
	t.Helper()
	dsn := server(t)
	name := fmt.Sprintf("tenet_t%d_vault%d", os.Getpid(), databases.Add(1))
	raw(t, dsn, "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name)
	v, err := OpenVault(ctx, named(t, dsn, name), true)
	if err != nil {
		t.Fatal(err)
	}
	return v, name
}

// sealedIn opens a fresh sealed database like of, on the server or through a
// proxy before it.
func sealedIn(t testing.TB, dsn string, of template) *DB {
	t.Helper()
	of.sealed = true
	name := like(t, of)
	templates.Lock()
	v := templates.vaults[of]
	templates.Unlock()
	db, err := Open(ctx, named(t, dsn, name), Options{MasterKey: testKey, MaxConns: 8, Vault: elsewhere{v}})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func sealed(t testing.TB) *DB { t.Helper(); return sealedIn(t, server(t), template{}) }

func sealedSplit4(t testing.TB) *DB {
	t.Helper()
	return sealedIn(t, server(t), template{partitions: 4})
}

func sealedProxied(t testing.TB) *DB { t.Helper(); return sealedIn(t, proxy(t), template{}) }

func contract(t *testing.T, open func(testing.TB) *DB) {
	storetest.Run(t, storetest.Backend{
		Ledger:   func(t testing.TB) store.Ledger { return open(t) },
		Sessions: func(t testing.TB) store.Sessions { return open(t) },
		Threads:  func(t testing.TB) store.Threads { return open(t) },
		Tamper:   tamper,
	})
	storetest.RunWork(t, open)
}

func TestContract(t *testing.T) { server(t); contract(t, fresh) }

func TestContractPartitioned(t *testing.T) { server(t); contract(t, split4) }

func TestContractThroughProxy(t *testing.T) { server(t); proxy(t); contract(t, proxied) }

func TestContractSealed(t *testing.T) { server(t); contract(t, sealed) }

func TestContractSealedPartitioned(t *testing.T) {
	if testing.Short() {
		t.Skip("a long test")
	}
	server(t)
	contract(t, sealedSplit4)
}

func TestContractSealedThroughProxy(t *testing.T) {
	if testing.Short() {
		t.Skip("a long test")
	}
	server(t)
	proxy(t)
	contract(t, sealedProxied)
}

func TestModel(t *testing.T) {
	server(t)
	seeds := 4
	if testing.Short() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			storetest.Model(t, func(t testing.TB) store.Ledger { return fresh(t) }, seed)
			storetest.ModelSessions(t, func(t testing.TB) store.Sessions { return fresh(t) }, seed)
		})
	}
}

// tamper alters a row as the server's superuser, past everything.
func tamper(t testing.TB, l store.Ledger, w storetest.Tampering) {
	t.Helper()
	db := l.(*DB)
	s, err := db.find(ctx, db.at(w.Scope), "tamper", w.Scope)
	if err != nil {
		t.Fatal(err)
	}
	alter := func(query string, args ...any) {
		t.Helper()
		s := db.at(w.Scope).of(s.id).statement(query, args)
		if s.err != nil {
			t.Fatal(s.err)
		}
		tag, err := db.pool.Exec(ctx, query, s.args...)
		if err != nil {
			t.Fatal(err)
		}
		if tag.RowsAffected() == 0 {
			t.Fatalf("%s: nothing to alter", w.Damage)
		}
	}
	record := func(set string) {
		t.Helper()
		alter(`UPDATE tenet.records SET `+set+` WHERE scope = $1 AND id = $2`, s.id, string(w.Record))
	}
	switch w.Damage {
	case storetest.RecordText:
		record(`text = 'something else'`)
	case storetest.RecordLabel:
		record(`label = 6`)
	case storetest.RecordValid:
		unbound(t, db)
		record(`valid_from = valid_from - 3600000000`)
	case storetest.RecordReopened:
		// Past its successor: the open place of the key is taken.
		unbound(t, db)
		record(`sys_to = 9223372036854775807, valid_to = CASE WHEN valid_to = 9223372036854775807 THEN valid_to - 1 ELSE valid_to END, closed = '', superseded_by = '', closed_seq = 0`)
	case storetest.RecordDropped:
		alter(`DELETE FROM tenet.records WHERE scope = $1 AND id = $2`, s.id, string(w.Record))
	case storetest.RecordPlanted:
		plant(t, db, s.id, string(w.Record))
	case storetest.EvidenceText:
		alter(`UPDATE tenet.evidence SET excerpt = 'something else' WHERE scope = $1 AND record = $2`, s.id, string(w.Record))
	case storetest.VerdictOutcome:
		alter(`UPDATE tenet.chain SET outcome = 1 WHERE scope = $1 AND seq = (SELECT seq FROM tenet.trail WHERE scope = $1 AND ref = $2 AND content IS NOT NULL)`, s.id, string(w.Candidate))
	case storetest.EntryAltered:
		alter(`UPDATE tenet.chain SET action = 'altered' WHERE scope = $1 AND seq = $2`, s.id, int64(w.Seq))
	case storetest.EntryDropped:
		alter(`DELETE FROM tenet.chain WHERE scope = $1 AND seq = $2`, s.id, int64(w.Seq))
	case storetest.HoldLifted:
		alter(`UPDATE tenet.heads SET frozen = 0 WHERE scope = $1`, s.id)
	case storetest.HeadMoved:
		var body []byte
		if err := db.pool.QueryRow(ctx, `SELECT body FROM tenet.cuts WHERE scope = $1 AND body IS NOT NULL`, s.id).Scan(&body); err != nil {
			t.Fatal(err)
		}
		body = storetest.Moved(t, body)
		alter(`UPDATE tenet.cuts SET upto = upto + 1, body = $1, digest = $2 WHERE scope = $3 AND body IS NOT NULL`, body, store.CutDigest(body), s.id)
		alter(`UPDATE tenet.heads SET cut = cut + 1 WHERE scope = $1`, s.id)
	case storetest.HeadDropped:
		alter(`DELETE FROM tenet.cuts WHERE scope = $1 AND body IS NOT NULL`, s.id)
	case storetest.TombDropped:
		alter(`DELETE FROM tenet.tombstones WHERE scope = $1`, s.id)
	default:
		t.Fatalf("no way to do %q", w.Damage)
	}
}

// unbound drops the exclusion constraint, which would not let the damage be
// done.
func unbound(t testing.TB, db *DB) {
	t.Helper()
	dirty.Store(db.pool.Config().ConnConfig.Database, true)
	if _, err := db.pool.Exec(ctx, `DO $$ DECLARE t record; BEGIN
		FOR t IN SELECT conrelid::regclass AS name, conname FROM pg_constraint WHERE conname LIKE 'records%apart' LOOP
			EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', t.name, t.conname);
		END LOOP; END $$`); err != nil {
		t.Fatal(err)
	}
}

// plant copies a record's row under another id and key.
func plant(t testing.TB, db *DB, scope int64, id string) {
	t.Helper()
	tx, err := db.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	s := conn{db: db}.of(scope).statement("", []any{scope, id})
	if _, err := tx.Exec(ctx, `CREATE TEMP TABLE planted ON COMMIT DROP AS SELECT * FROM tenet.records WHERE scope = $1 AND id = $2`, append([]any{pgx.QueryExecModeExec}, s.args...)...); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{`UPDATE planted SET id = 'planted', key = 'planted'`, `INSERT INTO tenet.records SELECT * FROM planted`} {
		if _, err := tx.Exec(ctx, q, pgx.QueryExecModeExec); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}
