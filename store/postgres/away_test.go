package postgres

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

// TestACallerWhoGivesUpOpensNoCircuit: the database is there for the others.
func TestACallerWhoGivesUpOpensNoCircuit(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		for _, limit := range []time.Duration{-1, 50 * time.Microsecond} {
			short, cancel := context.WithTimeout(ctx, limit)
			db.Head(short, scope)
			db.Ensure(short, scope, tenet.Session{ID: "chat", Scope: scope})
			cancel()
		}
	}
	if _, err := db.Head(ctx, scope); err != nil {
		t.Error(err)
	}
}

// TestAwayIsQuickAndSaysWhenToComeBack stops a real server: calls fail as
// Unavailable with a time, at once when the circuit is open, and go on by
// themselves when it is back. What was acknowledged is there.
func TestAwayIsQuickAndSaysWhenToComeBack(t *testing.T) {
	server(t)
	const script = "../../scripts/test-servers.sh"
	cmd := exec.Command(script, "start")
	cmd.Env = append(os.Environ(), "TENET_TEST_POSTGRES=", "TENET_TEST_ONLY=postgres", "TENET_TEST_DURABLE=1")
	out, err := cmd.Output()
	var folder, dsn string
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(line, "export TENET_TEST_SERVERS="); ok {
			folder = strings.TrimSpace(v)
			t.Cleanup(func() { exec.Command(script, "stop", folder).Run() })
		}
		if v, ok := strings.CutPrefix(line, "export TENET_TEST_POSTGRES="); ok {
			dsn = strings.Trim(strings.TrimSpace(v), "'")
		}
	}
	if err != nil || dsn == "" {
		t.Fatalf("no server: %v", err)
	}
	db := open(t, dsn)
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	say := func(id string) error {
		_, err := db.Append(ctx, scope, "chat", []tenet.Message{{ID: tenet.MessageID(id), Role: tenet.RoleUser, Text: id, Label: tenet.LabelUserStated, RecordedBy: "app:a", RecordedAt: time.Now()}}, time.Time{})
		return err
	}
	if err := say("before"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(script, "halt", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for range 12 {
		err := say("while")
		var e *tenet.Error
		if !errors.As(err, &e) || e.Kind != tenet.Unavailable || e.After <= 0 {
			t.Fatalf("while it is away: %v", err)
		}
	}
	began := time.Now()
	for range 100 {
		say("while")
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("with the circuit open 100 failures took %v", d)
	}
	if out, err := exec.Command(script, "restart", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	deadline := time.Now().Add(10 * time.Second)
	for say("after") != nil {
		if time.Now().After(deadline) {
			t.Fatal("not back")
		}
		time.Sleep(50 * time.Millisecond)
	}
	ms, err := db.Messages(ctx, scope, "chat", 0, 10)
	if err != nil || len(ms) != 2 || ms[0].Text != "before" || ms[1].Text != "after" {
		t.Errorf("%v %v", ms, err)
	}
}
