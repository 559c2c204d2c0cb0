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
