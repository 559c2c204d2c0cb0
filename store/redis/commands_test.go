package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// TestNoCommandWalksOrCrosses: after the contract's kind of work no server has
// seen a walk over keys, nor refused a command that touches two slots.
func TestNoCommandWalksOrCrosses(t *testing.T) {
	t.Parallel()
	p := own(t)
	nodes := append([]string{p.dsn()}, cluster(t))
	for _, dsn := range nodes {
		db := open(t, dsn, Options{Shards: 16})
		before := stats(t, db)
		for i := range 20 {
			sc := scope(t, fmt.Sprint("tenant", i%3), tenet.User(fmt.Sprint("u", i)))
			fill(t, db, sc)
		}
		now := time.Now().Add(time.Hour)
		for range 60 {
			l, err := db.Lease(ctx, store.LeaseRequest{Worker: "w", Now: now, Until: now.Add(time.Minute)})
			if err != nil {
				t.Fatal(err)
			}
			if l == nil {
				break
			}
			if err := db.Ack(ctx, *l, store.Ack{Cursor: 1, Done: []tenet.CandidateID{"p"}, Now: now}); err != nil {
				t.Fatal(err)
			}
		}
		sc := scope(t, "tenant0", tenet.User("u0"))
		_, err1 := db.Sweep(ctx, now)
		_, err2 := db.Waiting(ctx, "tenant0", 0, 10)
		_, err3 := db.ServedWith(ctx, sc, []tenet.RecordID{"r"})
		served, err4 := db.Served(ctx, sc, time.Now().Add(-time.Hour))
		_, err5 := db.Drop(ctx, sc, "thread-plaintext")
		list, err7 := db.SessionsOf(ctx, sc, "", 10)
		w, err8 := db.Whole(ctx, sc, "session-plaintext")
		w.ID, w.Messages, w.Length, w.Consolidated = "put back", nil, 0, 0
		err9 := db.PutBack(ctx, sc, w)
		_, err6 := db.Erase(ctx, sc, time.Now())
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9); err != nil || len(served) != 1 || len(list) != 2 {
			t.Fatal(err, served)
		}
		after := stats(t, db)
		for _, bad := range []string{"cmdstat_keys", "cmdstat_scan", "cmdstat_hscan", "cmdstat_sscan", "cmdstat_zscan", "errorstat_CROSSSLOT"} {
			// The other tests walk on the shared cluster, so only the own server is asked about walks.
			if db.client == nil || strings.HasPrefix(bad, "cmdstat") && dsn != p.dsn() {
				continue
			}
			if after[bad] != before[bad] {
				t.Errorf("%s: %s", bad, after[bad])
			}
		}
		if after["cmdstat_evalsha"] == before["cmdstat_evalsha"] {
			t.Error("no script was counted: the figures are not read")
		}
	}
}

func stats(t testing.TB, db *DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	var mu sync.Mutex
	one := func(_ context.Context, c *redis.Client) error {
		text, err := c.Info(ctx, "commandstats", "errorstats").Result()
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.Lines(text) {
			if name, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				out[name] += v + ";"
			}
		}
		return err
	}
	var err error
	if c, ok := db.client.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(ctx, one)
	} else {
		err = one(ctx, db.client.(*redis.Client))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
