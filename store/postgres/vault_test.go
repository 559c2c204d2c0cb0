package postgres

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sealing"
	"github.com/tenet-memory/tenet/store/storetest"
)

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

func TestAVaultKeepsAndDestroysKeys(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	storetest.Vault(t, v)
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
	if why, err := again.Chain(ctx, store.ChainName(id), 0, nil); err != nil || why != "" {
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
