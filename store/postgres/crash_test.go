package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestTwoPoolsRace: writers of two processes, each with its own pool, state
// values of one key and notes at once. One value is open at the end, nothing
// acknowledged is missing, the chain verifies.
func TestTwoPoolsRace(t *testing.T) {
	for _, partitions := range []int{0, 4} {
		dsn := named(t, server(t), database(t, partitions))
		pools := []*DB{open(t, dsn), open(t, dsn)}
		scope := user(t, "acme", "sarah")
		g := gate.New(nil)
		var acked atomic.Int64
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				db := pools[w%2]
				for i := range 12 {
					c := tenet.Fact(scope, "city", fmt.Sprintf("Lives in place %d of %d.", i, w))
					if i%3 == 2 {
						c = tenet.Note(scope, fmt.Sprintf("Went to place %d of %d.", i, w))
					}
					c = c.Quoting(c.Text)
					c.ID = tenet.CandidateID(fmt.Sprintf("w%d-%d", w, i))
					kase := gate.Case{By: app(t, "acme"), Candidate: c, At: begun.Add(time.Duration(i) * time.Second)}
					d, err := g.Judge(kase)
					if err != nil {
						t.Error(err)
						return
					}
					as, err := db.Apply(ctx, []gate.Decision{d}, func(_ int, s gate.State) (gate.Decision, error) {
						kase.State = s
						return g.Judge(kase)
					})
					if err != nil || !as[0].Verdict.Outcome.Kept() {
						t.Errorf("w%d-%d: %v %+v", w, i, err, as)
						return
					}
					acked.Add(1)
				}
			})
		}
		wg.Wait()
		v, err := pools[0].Verify(ctx, scope)
		if err != nil || !v.OK() || int64(v.Entries) != acked.Load() {
			t.Errorf("%d parts: %d acknowledged, verified %+v: %v", partitions, acked.Load(), v, err)
		}
		rs, err := pools[1].Facts(ctx, scope, tenet.AsOf{Valid: begun.Add(time.Hour)})
		if err != nil || len(rs) != 1 {
			t.Errorf("%d parts: %d values of one key: %v", partitions, len(rs), err)
		}
	}
}

// ownServer starts a server for one test, which may kill it, and returns its
// folder and DSN.
func ownServer(t *testing.T) (dir, dsn string) {
	t.Helper()
	server(t) // the same rule for when there is none
	cmd := exec.Command("../../scripts/test-servers.sh", "start")
	cmd.Env = append(os.Environ(), "TENET_TEST_POSTGRES=", "TENET_TEST_DURABLE=1")
	out, err := cmd.Output()
	if err != nil {
		if os.Getenv("TENET_TEST_REQUIRE") != "" {
			t.Fatalf("a server of its own: %v", err)
		}
		t.Skipf("SKIPPED, NOTHING TESTED: no server can be started here: %v", err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		switch name {
		case "TENET_TEST_SERVERS":
			dir = value
		case "TENET_TEST_POSTGRES":
			dsn = strings.Trim(value, "'")
		}
	}
	t.Cleanup(func() { exec.Command("../../scripts/test-servers.sh", "stop", dir).Run() })
	return dir, dsn
}

// kill ends the server's first process and all its children at once, as a
// machine that loses power would.
func kill(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	syscall.Kill(pid, syscall.SIGKILL)
	for _, c := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(c); err == nil {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// restart starts the killed server again on its port.
func restart(t *testing.T, dir, dsn string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if len(bins) == 0 {
		t.Fatal("no pg_ctl")
	}
	start := fmt.Sprintf("%s -s -D %s/data -l %s/log -w -o '-p %s -k %s -c listen_addresses=127.0.0.1' start", bins[len(bins)-1], dir, dir, u.Port(), dir)
	cmd := exec.Command("sh", "-c", start)
	if os.Getuid() == 0 {
		cmd = exec.Command("su", "postgres", "-s", "/bin/sh", "-c", start)
	}
	var last []byte
	for range 20 { // memory of the killed processes may still be attached
		if last, err = cmd.CombinedOutput(); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
		cmd = exec.Command(cmd.Args[0], cmd.Args[1:]...)
	}
	t.Fatalf("restart: %v\n%s", err, last)
}

// TestKilledServerLosesNothingAcknowledged kills the whole server under
// writers, starts it again, and goes on with the same handle: what was
// acknowledged is there, what failed says so, the chains verify.
func TestKilledServerLosesNothingAcknowledged(t *testing.T) {
	dir, dsn := ownServer(t)
	db, err := Open(ctx, dsn, Options{MasterKey: testKey, MaxConns: 8, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	g := gate.New(nil)
	const writers = 6
	var mu sync.Mutex
	said := map[tenet.Scope][]tenet.MessageID{}
	kept := map[tenet.Scope][]tenet.RecordID{}
	var failed, acked atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range writers {
		scope := user(t, "acme", fmt.Sprint("user", w))
		if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, CreatedAt: begun}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				at := begun.Add(time.Duration(i) * time.Second)
				if i%2 == 0 {
					m := tenet.Message{ID: tenet.MessageID(fmt.Sprintf("m%d-%d", w, i)), Role: tenet.RoleUser, Text: "hello", RecordedAt: at}
					_, err = db.Append(ctx, scope, "chat", []tenet.Message{m}, at)
					if err == nil {
						mu.Lock()
						said[scope] = append(said[scope], m.ID)
						mu.Unlock()
					}
					count(t, err, &acked, &failed)
					continue
				}
				id := fmt.Sprintf("w%d-%d", w, i)
				c := tenet.Note(scope, fmt.Sprintf("Went to place number %d.", i))
				c = c.Quoting(c.Text)
				c.ID = tenet.CandidateID(id)
				d, err := g.Judge(gate.Case{By: app(t, "acme"), Candidate: c, At: at})
				if err != nil {
					t.Error(err)
					return
				}
				as, err := db.Apply(ctx, []gate.Decision{d}, nil)
				if err == nil {
					mu.Lock()
					kept[scope] = append(kept[scope], as[0].Verdict.Record)
					mu.Unlock()
				}
				count(t, err, &acked, &failed)
			}
		})
	}
	kills := 3
	if testing.Short() {
		kills = 1
	}
	for range kills {
		time.Sleep(700 * time.Millisecond)
		kill(t, dir)
		time.Sleep(100 * time.Millisecond)
		restart(t, dir, dsn)
	}
	// The circuit may stand open for a while, and a loaded machine takes its time.
	for before, patience := acked.Load(), time.Now().Add(20*time.Second); acked.Load() < before+writers; {
		if time.Now().After(patience) {
			t.Error("nothing is written after the restart: the handle did not recover")
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()
	for w := range writers {
		scope := user(t, "acme", fmt.Sprint("user", w))
		ms, err := db.Cited(ctx, scope, said[scope])
		if err != nil || len(ms) != len(said[scope]) {
			t.Errorf("user%d: %d of %d acknowledged messages: %v", w, len(ms), len(said[scope]), err)
		}
		for _, id := range kept[scope] {
			if _, err := db.Record(ctx, scope, id); err != nil {
				t.Errorf("acknowledged record %s: %v", id, err)
			}
		}
		if v, err := db.Verify(ctx, scope); err != nil || !v.OK() {
			t.Errorf("user%d: %+v %v", w, v, err)
		}
	}
	t.Logf("%d kills: %d acknowledged, %d failed as unavailable", kills, acked.Load(), failed.Load())
}

// count takes a failure as one only when it says that the database was away.
func count(t *testing.T, err error, acked, failed *atomic.Int64) {
	var te *tenet.Error
	switch {
	case err == nil:
		acked.Add(1)
	case errors.As(err, &te) && te.Kind == tenet.Unavailable:
		failed.Add(1)
		time.Sleep(5 * time.Millisecond)
	default:
		t.Errorf("while the server was away: %v", err)
	}
}
