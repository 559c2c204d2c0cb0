package sqlite

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// saidBy writes one fact of a person, and facts reads them back.
func saidBy(db *DB, t testing.TB, who string) error {
	d := judge(t, db, gate.New(nil), fact(principal(t, tenet.App), user(t, who), "c1", "city", "lives in Basel", begin))
	_, err := db.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

func TestAMasterKeyIsRotatedWhileOthersReadAndWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	opened := func() *DB {
		t.Helper()
		db, err := Open(ctx, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	one, two := opened(), opened()
	if err := saidBy(one, t, "sarah"); err != nil {
		t.Fatal(err)
	}
	if err := saidBy(one, t, "bob"); err != nil {
		t.Fatal(err)
	}
	secret := one.Secret("api keys")
	var before []byte
	sarah, err := one.find(ctx, one.r, "test", user(t, "sarah"))
	if err != nil {
		t.Fatal(err)
	}
	if err := one.r.row(ctx, `SELECT data_key FROM subjects WHERE scope = ?`, []any{sarah.id}, &before); err != nil {
		t.Fatal(err)
	}
	old, err := KeyFile(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	next := bytes.Repeat([]byte{9}, 32)
	if _, err := one.Rotate(ctx, next[:5]); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("a short key: %v", err)
	}
	if err := WriteKeyFile(path+".key", append(bytes.Clone(next), old...)); err != nil {
		t.Fatal(err)
	}
	// A crash after the database knows the new key, and before any was wrapped.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := one.Rotate(gone, next); tenet.KindOf(err) != tenet.Unavailable {
		t.Fatalf("a rotation whose context ended: %v", err)
	}
	if n, err := one.Rotate(ctx, next); err != nil || n != 2 {
		t.Fatalf("rotate: %d, %v, want 2", n, err)
	}
	// As a crash between two batches leaves it.
	if err := one.write(ctx, "test", func(c conn) error {
		return c.exec(`UPDATE subjects SET data_key = ? WHERE scope = ?`, before, sarah.id)
	}); err != nil {
		t.Fatal(err)
	}
	works := func(what string, db *DB) {
		t.Helper()
		for _, who := range []string{"sarah", "bob"} {
			v, err := db.Verify(ctx, user(t, who))
			if err != nil || !v.OK() {
				t.Errorf("%s: %s: %+v, %v", what, who, v, err)
			}
		}
		if !bytes.Equal(db.Secret("api keys"), secret) {
			t.Errorf("%s: what digests are made with has changed", what)
		}
	}
	works("the one that rotates, cut off", one)
	works("another that was open before", two)
	if n, err := one.Rotate(ctx, next); err != nil || n != 1 {
		t.Errorf("gone on with: %d, %v, want 1", n, err)
	}
	if err := saidBy(two, t, "carol"); err != nil { // under the new key, whichever it was opened with
		t.Fatal(err)
	}
	if err := WriteKeyFile(path+".key", next); err != nil {
		t.Fatal(err)
	}
	works("another, with the new key alone", two)
	three := opened()
	works("opened after it", three)
	if v, err := three.Verify(ctx, user(t, "carol")); err != nil || !v.OK() || v.Entries == 0 {
		t.Errorf("what was written meanwhile: %+v, %v", v, err)
	}
	if n, err := three.Rotate(ctx, next); err != nil || n != 0 {
		t.Errorf("when it is over: %d, %v, want 0", n, err)
	}
	if _, err := Open(ctx, path, Options{MasterKey: old}); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("the earlier key: %v", err)
	}
	if three.Kept() == nil || !bytes.Equal(three.Master(), next) {
		t.Error("a copy could not make the same digests")
	}
}

func TestAWriterThatCannotFollowARotationMakesNoSubject(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	old, next := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	one, err := Open(ctx, path, Options{MasterKey: append(bytes.Clone(next), old...)})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if err := saidBy(one, t, "sarah"); err != nil { // a new file is made with the first key
		t.Fatal(err)
	}
	if _, err := one.Rotate(ctx, old); err != nil {
		t.Fatal(err)
	}
	two, err := Open(ctx, path, Options{MasterKey: old})
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if _, err := one.Rotate(ctx, next); err != nil {
		t.Fatal(err)
	}
	if err := saidBy(two, t, "bob"); tenet.KindOf(err) != tenet.Unavailable {
		t.Errorf("a new subject under a key that was rotated away: %v", err)
	}
	if err := saidBy(one, t, "bob"); err != nil {
		t.Error(err)
	}
}
