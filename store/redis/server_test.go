package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// process is a server that a test stops and starts.
type process struct {
	testing.TB
	dir, port string
	args      []string
	cmd       *exec.Cmd
}

func (p *process) dsn() string { return "redis://127.0.0.1:" + p.port }

// own starts a server of the test's own.
func own(t testing.TB, args ...string) *process {
	t.Helper()
	single(t) // where servers are wanted
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	p := &process{TB: t, dir: t.TempDir(), port: port, args: args}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.Helper()
	name := "redis-server"
	if _, err := exec.LookPath(name); err != nil {
		name = "valkey-server"
	}
	p.cmd = exec.Command(name, append([]string{"--port", p.port, "--bind", "127.0.0.1", "--dir", p.dir, "--save", "", "--logfile", "log"}, p.args...)...)
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + p.port})
	defer c.Close()
	for range 200 {
		if c.Ping(ctx).Err() == nil {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	p.Fatalf("the server does not start:\n%s", log)
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func scope(t testing.TB, tenant string, s tenet.Subject) tenet.Scope {
	t.Helper()
	sc, err := tenet.NewScope(tenant, s)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func ensure(t testing.TB, db *DB, sc tenet.Scope, id tenet.SessionID) {
	t.Helper()
	if _, err := db.Ensure(ctx, sc, tenet.Session{ID: id, Scope: sc, Reads: []tenet.Scope{sc}, CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func message(id, text string) tenet.Message {
	return tenet.Message{ID: tenet.MessageID(id), Role: tenet.RoleUser, Text: text, ClientID: "client " + id, Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: time.Now()}
}

// TestAServerThatMayEvictIsRefused: what it evicts would be lost in silence.
func TestAServerThatMayEvictIsRefused(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		p := own(t, "--maxmemory-policy", policy)
		_, err := Open(ctx, p.dsn(), Options{MasterKey: testKey})
		if tenet.KindOf(err) != tenet.Unavailable || !strings.Contains(err.Error(), policy) {
			t.Errorf("%s: %v", policy, err)
		}
		db, err := Open(ctx, p.dsn()+"?evict=allow", Options{MasterKey: testKey})
		if err != nil {
			t.Fatalf("told to: %v", err)
		}
		db.Close()
	}
}

// TestAStoreKnowsItsKey: with another master key nothing could be read, so it
// is not opened.
func TestAStoreKnowsItsKey(t *testing.T) {
	t.Parallel()
	dsn := on(t, single(t), "prefix", fmt.Sprintf("k%d", os.Getpid()))
	open(t, dsn, Options{Prefix: fmt.Sprintf("k%d", os.Getpid()), Shards: 7})
	_, err := Open(ctx, dsn, Options{MasterKey: bytes.Repeat([]byte{1}, 32)})
	if tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("another key: %v", err)
	}
	again, err := Open(ctx, dsn, Options{MasterKey: testKey, Shards: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if len(again.shards) != 7 {
		t.Errorf("%d shards: subjects would not be found again", len(again.shards))
	}
	for _, bad := range []string{"redis://", "redis://h:x", "http://127.0.0.1:1", "redis://127.0.0.1:1?nonsense=1", "redis://127.0.0.1:1?evict=yes"} {
		if _, err := Open(ctx, bad, Options{MasterKey: testKey}); tenet.KindOf(err) != tenet.Invalid && tenet.KindOf(err) != tenet.Unavailable {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestAwayIsLoudAndLosesNothing: writers go on while the server is killed and
// started again. What was acknowledged is there, what failed said Unavailable
// with a time to come back, and once the circuit is open failures are quick.
func TestAwayIsLoudAndLosesNothing(t *testing.T) {
	t.Parallel()
	// A killed process loses nothing under always. Under everysec Redis holds its
	// writes back while an earlier flush runs, for two seconds at most.
	for fsync, held := range map[string]time.Duration{"always": 0, "everysec": 2500 * time.Millisecond} {
		p := own(t, "--appendonly", "yes", "--appendfsync", fsync)
		db := open(t, p.dsn(), Options{})
		sc := scope(t, "acme", tenet.User("sarah"))
		ensure(t, db, sc, "chat")
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		acked, failed := map[string]time.Time{}, 0
		var kills []time.Time
		for w := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					id := fmt.Sprint("m", w, ".", i)
					_, err := db.Append(ctx, sc, "chat", []tenet.Message{message(id, id)}, time.Now())
					mu.Lock()
					if err == nil {
						acked[id] = time.Now()
					} else {
						failed++
						var e *tenet.Error
						if !errors.As(err, &e) || e.Kind != tenet.Unavailable || e.After <= 0 {
							t.Errorf("while it is away: %v", err)
						}
					}
					mu.Unlock()
					if err != nil {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		for range 2 {
			time.Sleep(200*time.Millisecond + held)
			kills = append(kills, time.Now())
			p.kill()
			time.Sleep(200 * time.Millisecond)
			began := time.Now()
			if _, err := db.Messages(ctx, sc, "chat", 0, 1); err == nil {
				t.Error("an answer from a server that is away")
			}
			if d := time.Since(began); d > 500*time.Millisecond {
				t.Errorf("with the circuit open a failure took %v", d)
			}
			p.start()
			deadline := time.Now().Add(10 * time.Second)
			for {
				if _, err := db.Messages(ctx, sc, "chat", 0, 1); err == nil {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("not back: %v", err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		time.Sleep(100 * time.Millisecond)
		close(stop)
		wg.Wait()
		ms, err := db.Messages(ctx, sc, "chat", 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		kept := map[string]int{}
		for i, m := range ms {
			if kept[m.Text]++; m.Seq != int64(i+1) {
				t.Fatalf("position %d holds %d", i+1, m.Seq)
			}
		}
		for id, at := range acked {
			late := slices.ContainsFunc(kills, func(k time.Time) bool { return at.After(k.Add(-held)) && at.Before(k.Add(held)) })
			if kept[id] > 1 || kept[id] == 0 && !late {
				t.Errorf("appendfsync %s: %s was acknowledged and is there %d times", fsync, id, kept[id])
			}
		}
		t.Logf("appendfsync %s: %d acknowledged, %d failed, %d kept", fsync, len(acked), failed, len(ms))
		if len(acked) < 50 || failed == 0 {
			t.Errorf("%d acknowledged, %d failed: nothing was tried", len(acked), failed)
		}
	}
}

// TestAnEvictedSessionStopsNoQueue: under evict=allow the server may drop a
// session's row and keep its place in the queue. Nobody gets it, and those
// behind it are served.
func TestAnEvictedSessionStopsNoQueue(t *testing.T) {
	t.Parallel()
	p := own(t)
	db := open(t, p.dsn()+"?evict=allow&shards=1", Options{})
	sc := scope(t, "acme", tenet.User("sarah"))
	at := time.Now()
	for i, id := range []tenet.SessionID{"first", "second"} {
		ensure(t, db, sc, id)
		if _, err := db.Append(ctx, sc, id, []tenet.Message{message("m"+string(id), "x")}, at.Add(time.Duration(i)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	place, s, err := db.at("test", sc, "first")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := db.client.Del(ctx, place.tag+":s:"+s).Result(); n != 1 || err != nil {
		t.Fatalf("%d rows: %v", n, err)
	}
	limit, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ask := func() *store.Lease {
		t.Helper()
		l, err := db.Lease(limit, store.LeaseRequest{Worker: "w", Now: at.Add(time.Second), Until: at.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := ask(); l == nil || l.Session.ID != "second" {
		t.Errorf("leased: %+v", l)
	}
	if l := ask(); l != nil {
		t.Errorf("leased: %+v", l)
	}
	if n, err := db.client.ZCard(ctx, place.tag+":due").Result(); n != 0 || err != nil {
		t.Errorf("%d still due: %v", n, err)
	}
}

// TestACallerWhoGivesUpOpensNoCircuit: the server is there for the others.
func TestACallerWhoGivesUpOpensNoCircuit(t *testing.T) {
	t.Parallel()
	db := open(t, own(t).dsn(), Options{})
	sc := scope(t, "acme", tenet.User("sarah"))
	ensure(t, db, sc, "chat")
	for range 20 {
		short, cancel := context.WithTimeout(ctx, time.Microsecond)
		db.Messages(short, sc, "chat", 0, 1)
		cancel()
	}
	if _, err := db.Messages(ctx, sc, "chat", 0, 1); err != nil {
		t.Error(err)
	}
}

// TestOutOfMemoryIsLoud: a server at its limit refuses writes, whole ones, and
// still lets a session be deleted.
func TestOutOfMemoryIsLoud(t *testing.T) {
	t.Parallel()
	p := own(t, "--maxmemory", "6mb", "--maxmemory-policy", "noeviction")
	db := open(t, p.dsn(), Options{})
	sc := scope(t, "acme", tenet.User("sarah"))
	ensure(t, db, sc, "chat")
	kept := 0
	var err error
	for i := range 1000 {
		if _, err = db.Append(ctx, sc, "chat", []tenet.Message{message(fmt.Sprint("m", i), strings.Repeat("x", 64<<10))}, time.Now()); err != nil {
			break
		}
		kept++
	}
	if tenet.KindOf(err) != tenet.Unavailable || !strings.Contains(err.Error(), "memory") {
		t.Fatalf("after %d: %v", kept, err)
	}
	// What a failed write took on its way may have come free again: the limit
	// goes below what is kept, so that reading happens without any memory.
	if err := db.client.ConfigSet(ctx, "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	ms, err := db.Messages(ctx, sc, "chat", 0, 10000)
	if err != nil || len(ms) != kept {
		t.Errorf("%d acknowledged, %d kept: %v", kept, len(ms), err)
	}
	if err := db.DeleteSession(ctx, sc, "chat", time.Now()); err != nil {
		t.Errorf("deleting: %v", err)
	}
	if err := db.client.ConfigSet(ctx, "maxmemory", "6mb").Err(); err != nil {
		t.Fatal(err)
	}
	ensure(t, db, sc, "next")
	if _, err := db.Append(ctx, sc, "next", []tenet.Message{message("n", "x")}, time.Now()); err != nil {
		t.Errorf("after room was made: %v", err)
	}
}
