package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// everything is all that the masters hold, keys and values. Only a test may
// walk them.
func everything(t testing.TB, db *DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	var mu sync.Mutex
	walk := func(c *redis.Client) error {
		it := c.Scan(ctx, 0, "*"+db.prefix+"*", 1000).Iterator()
		for it.Next(ctx) {
			raw, err := c.Dump(ctx, it.Val()).Result()
			if members, e := c.SMembers(ctx, it.Val()).Result(); e == nil { // the dump of a set tells its history, too
				slices.Sort(members)
				raw = strings.Join(members, " ")
			}
			if err != nil && err != redis.Nil {
				return err
			}
			mu.Lock()
			out[it.Val()] = raw
			mu.Unlock()
		}
		return it.Err()
	}
	var err error
	if c, ok := db.client.(*redis.ClusterClient); ok {
		nodes := map[string]bool{}
		err = c.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
			mu.Lock()
			nodes[c.Options().Addr] = true
			mu.Unlock()
			return walk(c)
		})
		if len(nodes) < 3 {
			t.Fatalf("the cluster has %d masters", len(nodes))
		}
	} else {
		err = walk(db.client.(*redis.Client))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fill writes one of everything for a subject.
func fill(t testing.TB, db *DB, sc tenet.Scope) {
	t.Helper()
	now := time.Now()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	drawn := map[tenet.SessionID]string{"session-plaintext": "m1", "other-plaintext": "m2"} // the engine draws them
	for _, id := range []tenet.SessionID{"session-plaintext", "other-plaintext"} {
		ensure(t, db, sc, id)
		_, err := db.Append(ctx, sc, id, []tenet.Message{message(drawn[id], "text-plaintext")}, now)
		must(err)
		must(db.Propose(ctx, sc, id, tenet.Candidate{ID: "p", Scope: sc, Tier: tenet.TierNote, Text: "candidate-plaintext"}, now))
		must(db.Serve(ctx, sc, tenet.Receipt{ID: "receipt-plaintext", Session: id, At: now, Facts: []tenet.RecordID{"f"}, Recalled: []tenet.RecordID{"r"}}))
		must(db.PutCheckpoint(ctx, sc, tenet.Checkpoint{Session: id, Version: 1, State: []byte("state-plaintext"), At: now}, 0, 3))
		_, _, err = db.Claim(ctx, sc, store.Claim{Session: id, Key: "effect", Payload: []byte("payload-plaintext"), By: "agent:a", Now: now, Until: now.Add(time.Minute)})
		must(err)
		_, err = db.Settle(ctx, sc, store.Settle{Session: id, Key: "effect", Attempt: 1, State: tenet.EffectCompleted, Outcome: []byte(`"outcome-plaintext"`), Now: now})
		must(err)
		_, err = db.Hold(ctx, sc, id, "holder-plaintext", now, now.Add(time.Minute))
		must(err)
	}
	must(db.Put(ctx, sc, tenet.Blob{Thread: "thread-plaintext", ID: "v1", Data: []byte("blob-plaintext"), Meta: []byte("meta-plaintext"), CreatedAt: now, ExpiresAt: now.Add(time.Hour)}, true))
}

// TestNothingReadableIsKept: neither texts nor names of people stand in what the
// server holds, and so in its snapshots and logs.
func TestNothingReadableIsKept(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"single": single(t), "cluster": cluster(t)} {
		db := few(t, dsn)
		fill(t, db, scope(t, "tenant-plaintext", tenet.User("user-plaintext")))
		all := everything(t, db)
		if len(all) < 20 {
			t.Errorf("%s: only %d keys: the walk is broken", name, len(all))
		}
		for k, v := range all {
			if strings.Contains(k+v, "plaintext") {
				t.Errorf("%s: %s can be read", name, k)
			}
		}
	}
}

// TestErasingASubjectLeavesNoKey but that it was erased, under a keyed digest,
// and leaves its neighbour everything.
func TestErasingASubjectLeavesNoKey(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"single": single(t), "cluster": cluster(t)} {
		db := open(t, dsn, Options{Shards: 1})
		tom, sarah := scope(t, "acme", tenet.User("tom")), scope(t, "acme", tenet.User("sarah"))
		fill(t, db, tom)
		was := everything(t, db)
		fill(t, db, sarah)
		for i := range 120 { // more than go at a time
			ensure(t, db, sarah, tenet.SessionID(fmt.Sprint("more", i)))
		}
		if err := db.DeleteSession(ctx, sarah, "more7", time.Now()); err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		n, err := db.Erase(ctx, sarah, at)
		if err != nil || n != 122 {
			t.Errorf("%s: %d sessions went: %v", name, n, err)
		}
		now := everything(t, db)
		delete(now, db.shards[0]+":gone")
		place, err := db.place("test", sarah)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := db.client.HGetAll(ctx, db.shards[0]+":gone").Result(); err != nil || len(left) != 1 || left[place.u] != micros(at) {
			t.Errorf("%s: of the erasure itself stays %v, %v", name, left, err)
		}
		for k, v := range now {
			if was[k] != v {
				t.Errorf("%s: %s is left, or changed", name, k)
			}
		}
		if len(now) != len(was) {
			t.Errorf("%s: %d keys, before %d", name, len(now), len(was))
		}
		// Another process knew her key: it must not write with it.
		ensure(t, db, sarah, "session-plaintext")
		if ms, err := db.Messages(ctx, sarah, "session-plaintext", 0, 10); len(ms) != 0 || err != nil {
			t.Errorf("%s: a new session of that name holds %d messages: %v", name, len(ms), err)
		}
	}
}

// TestAnErasedKeyIsNotUsedAgain by a process that still knows it.
func TestAnErasedKeyIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	dsn, sc := single(t), scope(t, "acme", tenet.User("sarah"))
	a := few(t, dsn)
	b := open(t, dsn, Options{Prefix: a.prefix})
	ensure(t, a, sc, "one")
	ensure(t, b, sc, "one")
	if _, err := a.Erase(ctx, sc, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(ctx, sc, "one", []tenet.Message{message("m", "late")}, time.Time{}); tenet.KindOf(err) != tenet.NotFound {
		t.Errorf("a write to what was erased: %v", err)
	}
	ensure(t, a, sc, "one")
	if _, err := b.Append(ctx, sc, "one", []tenet.Message{message("m", "new")}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	ms, err := a.Messages(ctx, sc, "one", 0, 10)
	if err != nil || len(ms) != 1 || ms[0].Text != "new" {
		t.Errorf("%v %v", ms, err)
	}
}

// TestWhatWasErasedIsNotPutBack by an import that had read it before, also from
// a process that still knows the subject's key, and in the middle of the erasure;
// what was said since is.
func TestWhatWasErasedIsNotPutBack(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"single": single(t), "cluster": cluster(t)} {
		sc := scope(t, "acme", tenet.User("sarah"))
		a := few(t, dsn)
		b := open(t, dsn, Options{Prefix: a.prefix})
		fill(t, a, sc)
		for i := range 2 * erased { // more than go at a time
			ensure(t, a, sc, tenet.SessionID(fmt.Sprint("more", i)))
		}
		ensure(t, b, sc, "session-plaintext")
		w, err := a.Whole(ctx, sc, "session-plaintext")
		if err != nil {
			t.Fatal(err)
		}
		bare, err := a.Whole(ctx, sc, "more1")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for _, db := range []*DB{a, b} {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					for _, w := range []store.WholeSession{w, bare} {
						w.ID = tenet.SessionID(fmt.Sprint(w.ID, " again ", i))
						w.Messages = slices.Clone(w.Messages)
						for j := range w.Messages {
							w.Messages[j].ID = tenet.MessageID(fmt.Sprintf("%p %d", db, i))
							w.Messages[j].Session = w.ID
						}
						if err := db.PutBack(ctx, sc, w); err != nil && tenet.KindOf(err) != tenet.Conflict {
							t.Error(err)
						}
					}
				}
			})
		}
		time.Sleep(20 * time.Millisecond)
		if _, err := a.Erase(ctx, sc, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		close(stop)
		wg.Wait()
		for _, w := range []store.WholeSession{w, bare} {
			var e *tenet.Error
			if err := b.PutBack(ctx, sc, w); !errors.As(err, &e) || e.Code != tenet.CodeErased {
				t.Errorf("%s: put back after the erasure: %v", name, err)
			}
		}
		if left, err := a.SessionsOf(ctx, sc, "", 10); err != nil || len(left) != 0 {
			t.Errorf("%s: %d sessions are back: %v", name, len(left), err)
		}
		place, err := a.place("test", sc)
		if err != nil {
			t.Fatal(err)
		}
		for key := range everything(t, a) {
			if strings.Contains(key, place.tag) && !strings.HasSuffix(key, ":gone") && !strings.HasSuffix(key, ":u:"+place.u) {
				t.Errorf("%s: %s is left", name, key)
			}
		}
		w.Receipts, w.Proposals = nil, nil
		for i := range w.Messages {
			w.Messages[i].RecordedAt = time.Now()
		}
		if err := b.PutBack(ctx, sc, w); err != nil {
			t.Errorf("%s: what was said since: %v", name, err)
		}
	}
}
