package postgres

import (
	"bytes"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

func TestAMasterKeyIsRotatedWhileOthersReadAndWrite(t *testing.T) {
	name := database(t, 0)
	dirty.Store(name, true)
	dsn := named(t, server(t), name)
	next := bytes.Repeat([]byte{9}, 32)
	both := append(bytes.Clone(next), testKey...)
	opened := func(key []byte) *DB {
		t.Helper()
		db, err := Open(ctx, dsn, Options{MasterKey: key, MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	scope := func(tenant, who string) tenet.Scope {
		t.Helper()
		s, err := tenet.NewScope(tenant, tenet.User(who))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	say := func(db *DB, s tenet.Scope) error {
		t.Helper()
		by, err := tenet.NewPrincipal(tenet.App, s.Tenant(), "test")
		if err != nil {
			t.Fatal(err)
		}
		c := tenet.Fact(s, "city", "lives in Basel").Quoting("lives in Basel")
		c.ID = "c1"
		d, err := gate.New(nil).Judge(gate.Case{By: by, Candidate: c, At: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Apply(ctx, []gate.Decision{d}, nil)
		return err
	}
	works := func(what string, db *DB, scopes ...tenet.Scope) {
		t.Helper()
		for _, s := range scopes {
			v, err := db.Verify(ctx, s)
			if err != nil || !v.OK() || v.Entries != 1 {
				t.Errorf("%s: %+v, %v", what, v, err)
			}
		}
	}
	sarah, bob, carol, dan := scope("acme", "sarah"), scope("other", "bob"), scope("acme", "carol"), scope("acme", "dan")
	alone, one, two := opened(testKey), opened(both), opened(both)
	secret := one.Secret("api keys")
	for _, s := range []tenet.Scope{sarah, bob} {
		if err := say(one, s); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := one.Rotate(ctx, next); err != nil || n != 2 {
		t.Fatalf("rotate: %d, %v, want 2", n, err)
	}
	works("the one that rotated", one, sarah, bob)
	works("another that has both", two, sarah, bob)
	if err := say(two, carol); err != nil {
		t.Fatal(err)
	}
	works("under the new key alone", opened(next), sarah, bob, carol)
	if err := say(alone, dan); tenet.KindOf(err) != tenet.Unavailable {
		t.Errorf("a new subject under a key that was rotated away: %v", err)
	}
	if n, err := two.Rotate(ctx, next); err != nil || n != 0 {
		t.Errorf("when it is over: %d, %v, want 0", n, err)
	}
	if !bytes.Equal(opened(next).Secret("api keys"), secret) {
		t.Error("what digests are made with has changed")
	}
	if db, err := Open(ctx, dsn, Options{MasterKey: testKey}); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("the earlier key: %v", err)
		if err == nil {
			db.Close()
		}
	}

	// A copy of its rows makes the same digests.
	other := database(t, 0)
	dirty.Store(other, true)
	copied, err := Open(ctx, named(t, server(t), other), Options{MasterKey: testKey, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if _, err := copied.Rotate(ctx, next); err != nil { // now under the same master key
		t.Fatal(err)
	}
	kept := two.master().Kept()
	for range 2 { // the second time it has it
		if err := copied.Adopt(ctx, kept); err != nil || !bytes.Equal(copied.Secret("api keys"), secret) {
			t.Errorf("adopt: %v", err)
		}
	}
	if err := say(copied, sarah); err != nil {
		t.Fatal(err)
	}
	if err := copied.Adopt(ctx, kept[:len(kept)-1]); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("an altered secret: %v", err)
	}
}
