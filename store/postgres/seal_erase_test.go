package postgres

import (
	"bytes"
	"fmt"
	"os"
	"slices"
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

func TestErasureSealed(t *testing.T) {
	server(t)
	storetest.RunErasure(t, sealed, func(t testing.TB, db *DB) storetest.Rows { return allRows(t, db).Open(t, db.seal.Opened) }, tamper)
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
	if why, err := again.Chain(ctx, store.ChainName(id), 0, nil); err != nil || why != "" {
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
