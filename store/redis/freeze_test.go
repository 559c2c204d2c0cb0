package redis

import (
	"errors"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

func TestALegalHoldKeepsSessionsAndThreads(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"single": single, "cluster": cluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := few(t, dsn(t))
			now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
			scope, err := tenet.NewScope("acme", tenet.User("sarah"))
			ok := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			ok(err)
			frozen := func(what string, err error) {
				t.Helper()
				var e *tenet.Error
				if !errors.As(err, &e) || e.Kind != tenet.Conflict || e.Code != store.CodeLegalHold {
					t.Errorf("%s under a legal hold: %v", what, err)
				}
			}
			say := func(id string) {
				t.Helper()
				_, err := db.Ensure(ctx, scope, tenet.Session{ID: tenet.SessionID(id), Scope: scope, CreatedAt: now, TTL: time.Minute})
				ok(err)
				_, err = db.Append(ctx, scope, tenet.SessionID(id), []tenet.Message{{ID: tenet.MessageID("m" + id), Role: tenet.RoleUser, Text: "hello", RecordedAt: now}}, now)
				ok(err)
				l, err := db.Lease(ctx, store.LeaseRequest{Worker: "w", Now: now, Until: now.Add(time.Minute), Scope: scope, Only: tenet.SessionID(id)})
				ok(err)
				ok(db.Ack(ctx, *l, store.Ack{Cursor: 1, Now: now}))
			}
			put := func(id string) {
				t.Helper()
				ok(db.Put(ctx, scope, tenet.Blob{Thread: "thread", ID: id, Data: []byte("x"), CreatedAt: now, ExpiresAt: now.Add(time.Minute)}, false))
			}
			left := func() (messages, versions int) {
				t.Helper()
				for _, id := range []tenet.SessionID{"one", "two"} {
					ms, err := db.Messages(ctx, scope, id, 0, 10)
					ok(err)
					messages += len(ms)
				}
				bs, err := db.List(ctx, scope, time.Time{}, "thread", "", 10)
				ok(err)
				return messages, len(bs)
			}
			ok(db.Freeze(ctx, scope, false)) // of nobody: nothing
			say("one")
			put("v1")
			ok(db.Freeze(ctx, scope, true))
			ok(db.Freeze(ctx, scope, true))
			say("two") // what comes later is under it, too
			put("v2")
			frozen("deleting a session", db.DeleteSession(ctx, scope, "one", now))
			_, err = db.Drop(ctx, scope, "thread")
			frozen("dropping a thread", err)
			_, err = db.Remove(ctx, scope, "thread", []string{"v1"})
			frozen("removing a version", err)
			_, err = db.Erase(ctx, scope, now)
			frozen("erasing the subject", err)
			if n, err := db.Sweep(ctx, now.Add(time.Hour)); err != nil || n != 0 {
				t.Errorf("a sweep under a hold: %d, %v", n, err)
			}
			if ms, vs := left(); ms != 2 || vs != 2 {
				t.Errorf("under the hold %d messages and %d versions are left", ms, vs)
			}
			ok(db.Freeze(ctx, scope, false))
			if n, err := db.Sweep(ctx, now.Add(time.Hour)); err != nil || n != 2 {
				t.Errorf("a sweep after the hold: %d, %v", n, err)
			}
			if ms, vs := left(); ms != 0 || vs != 0 {
				t.Errorf("after the hold %d messages and %d versions are left", ms, vs)
			}
			if n, err := db.Erase(ctx, scope, now); err != nil || n != 2 {
				t.Errorf("erased %d sessions: %v", n, err)
			}
			// A hold ahead of the first word.
			ok(db.Freeze(ctx, scope, true))
			say("one")
			frozen("deleting a session", db.DeleteSession(ctx, scope, "one", now))
		})
	}
}
