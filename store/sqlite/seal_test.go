package sqlite

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/sealing"
	"github.com/tenet-memory/tenet/store/storetest"
)

const word = "Qzwxmark"

// inFiles lists the forms of a word that any file of a folder holds.
func inFiles(t testing.TB, dir, word string) []string {
	t.Helper()
	var found []string
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files (%v)", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for form, want := range storetest.FormsOf(word) {
			if bytes.Contains(b, want) {
				found = append(found, f.Name()+": "+form)
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestAVaultKeepsAndDestroysKeys(t *testing.T) {
	t.Parallel()
	v, err := OpenVault(ctx, filepath.Join(t.TempDir(), "tenet.vault"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	storetest.Vault(t, v)
}

// TestASealedFileHoldsNoWord searches the files, the log and the vault included,
// while the subject is alive.
func TestASealedFileHoldsNoWord(t *testing.T) {
	t.Parallel()
	control := t.TempDir()
	storetest.Fill(t, open(t, filepath.Join(control, "tenet.db")), word)
	if found := inFiles(t, control, word); len(found) < 3 {
		t.Fatalf("the control finds %v only", found)
	}
	dir := t.TempDir()
	db, _ := sealedAt(t, filepath.Join(dir, "tenet.db"))
	scope := storetest.Fill(t, db, word)
	if found := inFiles(t, dir, word); len(found) > 0 {
		t.Errorf("the word is in %v", found)
	}
	if found := inFiles(t, dir, scope.Subject().ID()); len(found) > 0 {
		t.Errorf("the subject's name is in %v", found)
	}
	if v, err := db.Verify(ctx, scope); err != nil || !v.OK() {
		t.Errorf("%+v (%v)", v, err)
	}
}

// TestEveryTextOfASealedFileIsSealed goes by the schema: a text column that is
// not sealed is one that somebody said is a word of the vocabulary.
func TestEveryTextOfASealedFileIsSealed(t *testing.T) {
	t.Parallel()
	db := sealed(t)
	storetest.Fill(t, db, word)
	met := map[string]bool{}
	for _, table := range erasing.Tables {
		if table.Rule == erasing.Stays {
			continue
		}
		rs, err := db.w.pool.Query(`SELECT * FROM ` + table.Name)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rs.Columns()
		for rs.Next() {
			cells, dest := make([]any, len(columns)), make([]any, len(columns))
			for i := range cells {
				dest[i] = &cells[i]
			}
			if err := rs.Scan(dest...); err != nil {
				t.Fatal(err)
			}
			for i, cell := range cells {
				name := table.Name + "." + columns[i]
				switch cell := cell.(type) {
				case string:
					if cell == "" || storetest.Unsealed(name) {
						continue
					}
					met[name] = true
					if plain, err := db.seal.Open(cell); err != nil || plain == cell {
						t.Errorf("%s is not sealed (%v)", name, err)
					}
				case []byte:
					if len(cell) == 0 || storetest.Unsealed(name) {
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
		rs.Close()
	}
	if len(met) < 30 {
		t.Errorf("only %d columns hold anything: %v", len(met), met)
	}
}

// sarahErased fills a sealed file with two subjects, copies it, and erases one.
func sarahErased(t testing.TB, dir string) (db *DB, v *Vault, old string, sarah, bob tenet.Scope, journal store.Journaled) {
	t.Helper()
	path := filepath.Join(dir, "tenet.db")
	db, v = sealedAt(t, path)
	sarah, bob = storetest.Fill(t, db, word), storetest.Fill(t, db, "basil")
	old = filepath.Join(dir, "old.db")
	if err := db.Backup(ctx, old); err != nil {
		t.Fatal(err)
	}
	d, err := gate.New(nil).Erase(principal(t, tenet.Operator), sarah, gate.Selection{Subject: true}, "erasure-1", "asked to", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	e, err := db.Erase(ctx, d, store.EraseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return db, v, old, sarah, bob, e.Journal
}

func surrogate(t testing.TB, db *DB, scope tenet.Scope) int64 {
	t.Helper()
	s, err := db.find(ctx, db.r, "test", scope)
	if err != nil {
		t.Fatal(err)
	}
	return s.id
}

// opens opens a copy of a sealed file with its master key and its vault.
func opens(t testing.TB, path, keys string, v store.Vault) (*DB, error) {
	t.Helper()
	key, err := KeyFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(ctx, path, Options{MasterKey: key, Vault: v})
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return db, err
}

// TestAnOldBackupOfAnErasedSubjectCannotBeRead: not with the master key and the
// vault as it is now, neither through the store nor past it.
func TestAnOldBackupOfAnErasedSubjectCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, v, old, sarah, bob, _ := sarahErased(t, dir)
	keys := filepath.Join(dir, "tenet.db.key")
	copied := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(old)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// The control: until the key is destroyed the backup is as readable as the
	// file was.
	whole, err := opens(t, copied("control.db"), keys, v)
	if err != nil {
		t.Fatal(err)
	}
	id := surrogate(t, whole, sarah)
	if fs, err := whole.Facts(ctx, sarah, tenet.AsOf{Valid: time.Now()}); err != nil || len(fs) == 0 {
		t.Fatalf("the control: %d facts (%v)", len(fs), err)
	}
	wrapped, err := v.Kept(ctx, id)
	if err != nil || len(wrapped) == 0 {
		t.Fatalf("the control: no key (%v)", err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "tenet.db.vault")); err != nil || !bytes.Contains(b, wrapped) {
		t.Fatalf("the control: the vault's file does not hold the key (%v)", err)
	}
	if err := db.Purge(ctx); err != nil {
		t.Fatal(err)
	}

	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if b, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || bytes.Contains(b, wrapped) {
			t.Errorf("%s holds the destroyed key (%v)", f.Name(), err)
		}
	}
	// Past the store: every sealed value against every key there is.
	path := copied("raw.db")
	raw, err := openPool(path, readParams, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	seal := sealing.New(v, db.unwrapped)
	own, others := 0, 0
	for _, q := range []string{`SELECT scope, text FROM records WHERE text <> ''`, `SELECT scope, text FROM messages WHERE text <> ''`, `SELECT scope, name FROM subjects`, `SELECT scope, excerpt FROM evidence WHERE excerpt <> ''`} {
		rs, err := raw.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rs.Next() {
			var scope int64
			var text string
			if err := rs.Scan(&scope, &text); err != nil {
				t.Fatal(err)
			}
			plain, err := seal.Open(text)
			switch {
			case scope == id && err == nil:
				t.Errorf("%s: %q is readable", q, plain)
			case scope == id:
				own++
			case err == nil && plain != "" && plain != text:
				others++
			}
		}
		rs.Close()
	}
	if own < 10 || others < 10 {
		t.Errorf("%d of the erased subject's and %d of others' values were tried", own, others)
	}
	// Through the store: opening removes what nobody can read, and serves the rest.
	again, err := opens(t, copied("again.db"), keys, v)
	if err != nil {
		t.Fatal(err)
	}
	if n := surrogate(t, again, sarah); n != 0 {
		t.Error("the restored backup knows the erased subject")
	}
	if fs, err := again.Facts(ctx, sarah, tenet.AsOf{Valid: time.Now()}); err != nil || len(fs) != 0 {
		t.Errorf("%d facts (%v)", len(fs), err)
	}
	left, err := erasing.Left(sharedTx{again.r.of(id), bg}, id)
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
	// A file that may not be written is not served with such rows in it.
	path = copied("readonly.db")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := opens(t, path, keys, v); tenet.KindOf(err) != tenet.Unavailable {
		t.Errorf("a read-only old backup: %v", err)
	}
}

// TestACrashBeforeTheKeyIsDestroyedIsMadeUpFor: the erasure is committed and
// pending, and says done only when the key is gone.
func TestACrashBeforeTheKeyIsDestroyedIsMadeUpFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, v, _, _, _, journal := sarahErased(t, dir)
	states := func(db *DB) string {
		t.Helper()
		es, err := db.Erasures(ctx, "acme", 10)
		if err != nil || len(es) != 1 {
			t.Fatalf("%v (%v)", es, err)
		}
		return es[0].State
	}
	id, err := store.ChainOf(journal.Chains[0])
	if err != nil {
		t.Fatal(err)
	}
	if w, err := v.Kept(ctx, id); err != nil || w == nil || states(db) != store.ErasurePending {
		t.Fatalf("the control: %s, key %d bytes (%v)", states(db), len(w), err)
	}
	if err := db.Close(); err != nil { // the process goes
		t.Fatal(err)
	}
	db, err = opens(t, filepath.Join(dir, "tenet.db"), filepath.Join(dir, "tenet.db.key"), v)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := v.Kept(ctx, id); err != nil || w != nil || states(db) != store.ErasurePending {
		t.Errorf("after the start: %s, key %d bytes (%v)", states(db), len(w), err)
	}
	// A crash after the key was destroyed, and before the database knew.
	if _, err := db.w.pool.Exec(`INSERT INTO shreds (scope) VALUES (?)`, id); err != nil {
		t.Fatal(err)
	}
	if err := db.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	if w, err := v.Kept(ctx, id); err != nil || w != nil || states(db) != store.ErasureDone {
		t.Errorf("%s, key %d bytes (%v)", states(db), len(w), err)
	}
	var shreds int
	if err := db.w.pool.QueryRow(`SELECT count(*) FROM shreds`).Scan(&shreds); err != nil || shreds != 0 {
		t.Errorf("%d keys are still to be destroyed (%v)", shreds, err)
	}
}

func TestASealedFileIsOpenedWithItsVaultOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenet.db")
	db, v := sealedAt(t, path)
	if err := saidBy(db, t, "sarah"); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain.db")
	open(t, plain)
	other, err := OpenVault(ctx, filepath.Join(dir, "other.vault"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("no vault, but long enough to be looked at as one: "+strings.Repeat("x", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, want tenet.Kind, err error) {
		t.Helper()
		if tenet.KindOf(err) != want {
			t.Errorf("%s: want %v, got %v", what, want, err)
		}
	}
	_, err = Open(ctx, path, Options{})
	refused("without a vault", tenet.Invalid, err)
	_, err = Open(ctx, path, Options{Vault: other})
	refused("with another vault", tenet.Invalid, err)
	_, err = Open(ctx, plain, Options{Vault: other})
	refused("a file that is not sealed, with a vault", tenet.Invalid, err)
	_, err = Open(ctx, filepath.Join(dir, "new.db"), Options{Vault: v})
	refused("a new file with a vault in use", tenet.Invalid, err)
	_, err = OpenVault(ctx, filepath.Join(dir, "missing.vault"), false)
	refused("a vault that is not there", tenet.Unavailable, err)
	_, err = OpenVault(ctx, filepath.Join(dir, "text"), false)
	refused("a text as a vault", tenet.Unavailable, err)
	_, err = OpenVault(ctx, plain, false)
	refused("a database as a vault", tenet.Unavailable, err)
	_, err = Open(ctx, filepath.Join(dir, "tenet.db.vault"), Options{})
	refused("a vault as a database", tenet.Unavailable, err)

	// An older copy of the vault lacks the keys of who came later.
	if _, err := v.c.pool.Exec(`DELETE FROM data_keys WHERE scope = ?`, surrogate(t, db, user(t, "sarah"))); err != nil {
		t.Fatal(err)
	}
	again, err := Open(ctx, path, Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if faults, err := again.Check(ctx, "acme"); err != nil || len(faults) != 1 {
		t.Errorf("fsck finds %v (%v)", faults, err)
	}
	_, err = again.Facts(ctx, user(t, "sarah"), tenet.AsOf{Valid: time.Now()})
	refused("a subject whose key the vault lacks", tenet.Unavailable, err)
}

func TestARotationWrapsTheVaultsKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	db, v := sealedAt(t, path)
	sarah := storetest.Fill(t, db, word)
	old, err := KeyFile(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	id := surrogate(t, db, sarah)
	before, err := v.Kept(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	next := bytes.Repeat([]byte{7}, 32)
	if err := WriteKeyFile(path+".key", append(bytes.Clone(next), old...)); err != nil {
		t.Fatal(err)
	}
	n, err := db.Rotate(context.Background(), next)
	if err != nil || n < 2 {
		t.Fatalf("%d keys (%v)", n, err)
	}
	after, err := v.Kept(ctx, id)
	if err != nil || bytes.Equal(before, after) {
		t.Errorf("the key was not wrapped anew (%v)", err)
	}
	if err := WriteKeyFile(path+".key", next); err != nil {
		t.Fatal(err)
	}
	db.Close()
	again, err := Open(ctx, path, Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if r, err := again.Verify(ctx, sarah); err != nil || !r.OK() || r.Records == 0 {
		t.Errorf("%+v (%v)", r, err)
	}
	if _, err := Open(ctx, path, Options{Vault: v, MasterKey: old}); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("the old master key: %v", err)
	}
}
