package postgres

import (
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// TestASeatThatIsGoneIsLookedForAgain: what one process remembers of where a
// session lies is no more than a guess: another one ends it, erases it and
// begins it anew.
func TestASeatThatIsGoneIsLookedForAgain(t *testing.T) {
	t.Parallel()
	dsn := named(t, server(t), database(t, 0))
	here, there := open(t, dsn), open(t, dsn)
	scope := user(t, "acme", "sarah")
	put := func(db *DB, v int64, state string) error {
		return db.PutCheckpoint(ctx, scope, tenet.Checkpoint{Session: "run", Version: v, State: []byte(state), At: begun}, 0, 5)
	}
	newest := func(db *DB) (string, error) {
		ks, err := db.Checkpoints(ctx, scope, "run", 0, 1)
		if len(ks) == 0 {
			return "", err
		}
		return string(ks[0].State), err
	}
	begin := func(db *DB) {
		t.Helper()
		if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "run", Scope: scope, CreatedAt: begun}); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(here, 1, "nobody"); tenet.KindOf(err) != tenet.NotFound {
		t.Errorf("a session that never was: %v", err)
	}
	begin(there)
	if err := put(here, 1, "first"); err != nil {
		t.Fatal(err)
	}
	if err := put(there, 2, "second"); err != nil {
		t.Fatal(err)
	}
	if s, err := newest(here); s != "second" || err != nil {
		t.Errorf("newest: %q, %v", s, err)
	}

	root, err := tenet.NewPrincipal(tenet.Operator, "acme", "op")
	if err != nil {
		t.Fatal(err)
	}
	d, err := gate.New(nil).Erase(root, scope, gate.Selection{Subject: true}, "erasure", "asked to", begun)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := there.Erase(ctx, d, store.EraseOptions{}); err != nil {
		t.Fatal(err)
	}
	if s, err := newest(here); s != "" || tenet.KindOf(err) != tenet.NotFound {
		t.Errorf("of an erased subject: %q, %v", s, err)
	}
	if err := put(here, 3, "late"); tenet.KindOf(err) != tenet.NotFound {
		t.Errorf("to an erased subject: %v", err)
	}
	begin(there)
	if err := put(here, 1, "again"); err != nil {
		t.Errorf("to the one who came back: %v", err)
	}
	if s, err := newest(there); s != "again" || err != nil {
		t.Errorf("what came of it elsewhere: %q, %v", s, err)
	}
	if err := there.DeleteSession(ctx, scope, "run", begun); err != nil {
		t.Fatal(err)
	}
	if err := put(here, 2, "late"); tenet.KindOf(err) != tenet.Conflict {
		t.Errorf("to a deleted session: %v", err)
	}
	if s, err := newest(here); s != "" || err != nil {
		t.Errorf("of a deleted session: %q, %v", s, err)
	}
}
