package sqlite

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// childEnv makes the test binary act as a writing process instead.
const childEnv = "TENET_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		child(job)
		return
	}
	os.Exit(m.Run())
}

// child writes as told ("write PATH NAME FROM GOROUTINES" or "race PATH NAME
// FROM COUNT") and prints a line for every acknowledged write.
func child(job string) {
	f := strings.Split(job, "\x1f")
	from, n := must(strconv.Atoi(f[3])), must(strconv.Atoi(f[4]))
	db := must(Open(ctx, f[1], Options{}))
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	ack := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format+"\n", args...)
		out.Flush()
	}
	if f[0] == "race" {
		raceOn(db, f[2], from, n, func(what string) { ack("%s", what) })
		db.Close()
		return
	}
	scope := must(tenet.NewScope("acme", tenet.User("sarah")))
	by := must(tenet.NewPrincipal(tenet.App, "acme", "test"))
	g := gate.New(nil, gate.WithLimits(gate.Limits{}))
	must(db.Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, CreatedAt: begin}))
	for w := range n {
		go func() {
			for i := from; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", f[2], w, i)
				// Two messages at once; a killed call is sent again by the next
				// run under the same client ids.
				var ms []tenet.Message
				for _, half := range []string{"a", "b"} {
					ms = append(ms, tenet.Message{ID: tenet.MessageID(id + half), ClientID: id + half, Role: tenet.RoleUser, Text: "text of " + id, RecordedAt: begin.Add(time.Duration(i) * time.Second)})
				}
				kept := must(db.Append(ctx, scope, "chat", ms, begin))
				ack("m %s %d %d", id, kept[0].Seq, kept[1].Seq)
				c := fact(by, scope, id, fmt.Sprintf("key.%s.%d", f[2], w), "value "+id, begin.Add(time.Duration(i)*time.Second))
				as, err := db.Apply(ctx, []gate.Decision{must(judged(db, g, c))}, func(_ int, s gate.State) (gate.Decision, error) {
					c := c
					c.State = s
					return g.Judge(c)
				})
				if err != nil {
					panic(err)
				}
				ack("f %s %d", id, as[0].Entry.Seq)
			}
		}()
	}
	select {} // until killed
}

// start runs the test binary as a child.
func startChild(t *testing.T, job ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(job, "\x1f"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// Two processes append and apply on one file and are killed at random points,
// again and again. What was acknowledged is there once, in its place.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	length, messages := 3*time.Second, 0
	if s := os.Getenv("TENET_SOAK"); s != "" { // a duration; or 1 for two minutes
		if length, _ = time.ParseDuration(s); length == 0 {
			length = 2 * time.Minute
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	path := filepath.Join(t.TempDir(), "tenet.db")
	open(t, path).Close() // the key file and schema, so that the first kill has something to hit
	end := time.Now().Add(length)
	acked := make([]map[string]string, 2) // by process: line without its positions -> positions
	var wg sync.WaitGroup
	kills := 0
	var mu sync.Mutex
	for p := range acked {
		acked[p] = map[string]string{}
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			from := 0
			for time.Now().Before(end) {
				cmd, out := startChild(t, "write", path, fmt.Sprint("p", p), strconv.Itoa(from), "3")
				go func() {
					time.Sleep(time.Duration(20+r.IntN(400)) * time.Millisecond)
					cmd.Process.Kill()
				}()
				newest := from
				for out.Scan() {
					f := strings.Fields(out.Text())
					if len(f) < 3 {
						continue // cut off by the kill: not acknowledged
					}
					where := strings.Join(f[2:], " ")
					if f[0] == "m" && len(f) < 4 {
						continue
					}
					if old, ok := acked[p][f[0]+" "+f[1]]; ok && old != where {
						t.Errorf("%s was acknowledged at %s, and again at %s", f[1], old, where)
					}
					acked[p][f[0]+" "+f[1]] = where
					n, _ := strconv.Atoi(f[1][strings.LastIndex(f[1], "-")+1:])
					newest = max(newest, n)
				}
				cmd.Wait()
				mu.Lock()
				kills++
				mu.Unlock()
				from = max(0, newest-1) // repeats some that were acknowledged and some that were not
			}
		})
	}
	wg.Wait()

	db := open(t, path)
	scope := user(t, "sarah")
	ms, err := db.Messages(ctx, scope, "chat", 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int64{}
	for i, m := range ms {
		if m.Seq != int64(i)+1 {
			t.Fatalf("message %d has position %d: a gap", i+1, m.Seq)
		}
		if _, ok := at[m.ClientID]; ok {
			t.Errorf("%s was kept twice", m.ClientID)
		}
		at[m.ClientID] = m.Seq
	}
	for p := range acked {
		for what, where := range acked[p] {
			kind, id, _ := strings.Cut(what, " ")
			switch kind {
			case "m":
				messages += 2
				if got := fmt.Sprintf("%d %d", at[id+"a"], at[id+"b"]); got != where {
					t.Errorf("message %s was acknowledged at %s and stands at %s", id, where, got)
				}
				if at[id+"b"] != at[id+"a"]+1 {
					t.Errorf("the halves of %s are apart", id)
				}
			case "f":
				v, err := db.Verdict(ctx, scope, tenet.CandidateID(id))
				if err != nil || !v.Outcome.Kept() {
					t.Errorf("fact %s was acknowledged and is lost: %v", id, err)
				}
			}
		}
	}
	v, err := db.Verify(ctx, scope)
	if err != nil || !v.OK() {
		t.Errorf("verify: %+v %v", v, err)
	}
	if messages == 0 {
		t.Error("nothing was acknowledged at all")
	}
	t.Logf("%d kills, %d messages acknowledged of %d kept, %d entries", kills, messages, len(ms), v.Entries)
}

// raceOn remembers n different values of one key at the same time.
func raceOn(db *DB, name string, from, n int, done func(string)) {
	scope := must(tenet.NewScope("acme", tenet.User("sarah")))
	by := must(tenet.NewPrincipal(tenet.App, "acme", "test"))
	g := gate.New(nil)
	var wg sync.WaitGroup
	for i := from; i < from+n; i++ {
		wg.Go(func() {
			c := fact(by, scope, fmt.Sprintf("%s-%d", name, i), "city", fmt.Sprintf("city number %d", i), begin.Add(time.Duration(i)*time.Second))
			_, err := db.Apply(ctx, []gate.Decision{must(judged(db, g, c))}, func(_ int, s gate.State) (gate.Decision, error) {
				c := c
				c.State = s
				return g.Judge(c)
			})
			if err != nil {
				done("failed " + err.Error())
			} else {
				done("kept")
			}
		})
	}
	wg.Wait()
}

// 200 writers in two processes give one key 200 values at once.
func TestRacingWritersLeaveOneOpenRow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	db := open(t, path)
	cmd, out := startChild(t, "race", path, "there", "0", "100")
	var mu sync.Mutex
	lines := map[string]int{}
	count := func(s string) { mu.Lock(); lines[s]++; mu.Unlock() }
	raceOn(db, "here", 100, 100, count)
	for out.Scan() {
		count(out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if lines["kept"] != 200 {
		t.Errorf("of 200 writers: %v", lines)
	}
	h, err := db.History(ctx, user(t, "sarah"), tenet.TierFact, "city")
	if err != nil {
		t.Fatal(err)
	}
	texts, open := map[string]bool{}, 0
	for _, r := range h {
		texts[r.Text] = true
		if r.Known.Open() && r.Valid.Open() {
			open++
			if r.Text != "city number 199" {
				t.Errorf("the open value is %q, not the latest said", r.Text)
			}
		}
	}
	if open != 1 || len(texts) != 200 {
		t.Errorf("%d open rows, %d of 200 values in the history", open, len(texts))
	}
	if v, err := db.Verify(ctx, user(t, "sarah")); err != nil || !v.OK() || v.Entries != 200 {
		t.Errorf("verify: %+v %v", v, err)
	}
}

// Appends of many goroutines through two handles: order, no gaps, and two
// genuine equal messages stay two.
func TestRacingAppendsKeepPositions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenet.db")
	dbs := []*DB{open(t, path), open(t, path)}
	scope := user(t, "sarah")
	must(dbs[0].Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, CreatedAt: begin}))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			last := int64(0)
			for i := range 50 {
				id := fmt.Sprintf("%d-%d", w, i)
				m := tenet.Message{ID: tenet.MessageID(id), ClientID: id, Role: tenet.RoleUser, Text: "Yes.", RecordedAt: begin}
				for range 2 { // the second is a retry
					kept, err := dbs[w%2].Append(ctx, scope, "chat", []tenet.Message{m}, time.Time{})
					if err != nil {
						t.Error(err)
						return
					}
					if kept[0].Seq < last {
						t.Errorf("message %s went before the one before it", id)
					}
					last = kept[0].Seq
				}
			}
		})
	}
	wg.Wait()
	ms := must(dbs[1].Messages(ctx, scope, "chat", 0, 1000))
	if len(ms) != 400 {
		t.Errorf("%d messages of 400", len(ms))
	}
	for i, m := range ms {
		if m.Seq != int64(i)+1 {
			t.Fatalf("position %d at place %d", m.Seq, i+1)
		}
	}
}
