package memory_test

import (
	"context"
	"crypto/ed25519"
	"os"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
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
	if _, err := sessions.(store.SessionEraser).Erase(ctx, scope, time.Now()); err != nil { // as a server without persistence does
		t.Fatal(err)
	}
	if _, err := mem.Session(ctx, by, scope, "chat"); tenet.KindOf(err) != tenet.Conflict {
		t.Errorf("a session whose log is lost: %v", err)
	}
	if _, err := mem.Session(ctx, by, scope, "chat-2"); err != nil {
		t.Errorf("a new one: %v", err)
	}
}

// TestWhatAnErasureDoesNotSearchIsSaid: a session store apart finds sessions by
// their own subject, so a dry run and a receipt say what was not looked at.
func TestWhatAnErasureDoesNotSearchIsSaid(t *testing.T) {
	dsn := os.Getenv("TENET_TEST_REDIS")
	if dsn == "" {
		t.Skip("SKIPPED, NOTHING TESTED: TENET_TEST_REDIS is not set; make test starts a server")
	}
	ctx := context.Background()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	op, err := tenet.NewPrincipal(tenet.Operator, "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := tenet.NewScope("shop", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	for _, apart := range []bool{false, true} {
		o := openSQLite(t)
		c := memory.Config{Ledger: o.ledger, Sessions: o.ledger.(store.Sessions), Gate: newGate(), Eraser: o.ledger.(store.Eraser), ErasureKey: key}
		if apart {
			c.Sessions = openRedis(t, dsn)
		}
		mem, err := memory.Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mem.Remember(ctx, op, tenet.Fact(scope, "city", "Berlin").Quoting("I live in Berlin")); err != nil {
			t.Fatal(err)
		}
		whole := memory.Erasing{Of: gate.Selection{Subject: true}, DryRun: true}
		dry, err := mem.Erase(ctx, op, scope, whole)
		if err != nil || (dry.NotSearched != "") != apart {
			t.Fatalf("apart %v: a dry run: %q %v", apart, dry.NotSearched, err)
		}
		_, err = mem.Erase(ctx, op, scope, memory.Erasing{Of: gate.Selection{Key: "city"}, DryRun: true})
		if (tenet.KindOf(err) == tenet.Unavailable) != apart || !apart && err != nil {
			t.Errorf("apart %v: a dry run of what the store does not do: %v", apart, err)
		}
		whole.DryRun = false
		e, err := mem.Erase(ctx, op, scope, whole)
		if err != nil || e.Receipt == nil || e.NotSearched != dry.NotSearched || e.Receipt.NotSearched != dry.NotSearched {
			t.Fatalf("apart %v: %+v %v", apart, e, err)
		}
		check, err := mem.VerifyErasure(ctx, op, *e.Receipt, nil)
		if err != nil || !check.OK {
			t.Errorf("apart %v: the receipt: %+v %v", apart, check, err)
		}
		altered := *e.Receipt
		altered.NotSearched = "nothing"
		if check, err := mem.VerifyErasure(ctx, op, altered, nil); err == nil && check.Signature {
			t.Error("a receipt that hides what was not searched verifies")
		}
	}
}
