package memory_test

import (
	"context"
	"os"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// TestALostSessionIsNotGoneOnWith: when the session store has lost a log that
// the ledger consolidated, new messages at its positions would never be looked at.
func TestALostSessionIsNotGoneOnWith(t *testing.T) {
	dsn := os.Getenv("TENET_TEST_REDIS")
	if dsn == "" {
		t.Skip("SKIPPED, NOTHING TESTED: TENET_TEST_REDIS is not set; make test starts a server")
	}
	ctx := context.Background()
	sessions := openRedis(t, dsn)
	mem, err := memory.Open(ctx, memory.Config{Ledger: openSQLite(t).ledger, Sessions: sessions, Gate: newGate()})
	if err != nil {
		t.Fatal(err)
	}
	by, err := tenet.NewPrincipal(tenet.App, "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := tenet.NewScope("shop", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := mem.Session(ctx, by, scope, "chat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, tenet.UserMessage("I live in Berlin")); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.Consolidate(ctx, by, scope, "chat"); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.Session(ctx, by, scope, "chat"); err != nil {
		t.Errorf("a session that is there: %v", err)
	}
	if _, err := sessions.(store.SessionEraser).Erase(ctx, scope); err != nil { // as a server without persistence does
		t.Fatal(err)
	}
	if _, err := mem.Session(ctx, by, scope, "chat"); tenet.KindOf(err) != tenet.Conflict {
		t.Errorf("a session whose log is lost: %v", err)
	}
	if _, err := mem.Session(ctx, by, scope, "chat-2"); err != nil {
		t.Errorf("a new one: %v", err)
	}
}
