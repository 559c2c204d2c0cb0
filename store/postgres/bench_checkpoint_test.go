package postgres

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

// state is 10 KB of what an agent keeps: a conversation as JSON. (One sentence
// over and over would be next to nothing for whoever packs it.)
var state = func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the of and to in is you that it was for on are with as they be at one have this from or had by but some what there we can out other were all your when up use word how said an each she which do their time if will way about many then them would write like so these her long make thing see him two has look more day could go come did my sound no most number who over know water than call first people may down side been now find shellfish allergy promotion shipping order customer refund invoice quantity warehouse schedule appointment reservation calendar meeting project deadline budget estimate")
	b := []byte(`{"messages":[`)
	for n := 0; len(b) < 10<<10; n++ {
		b = fmt.Appendf(b, `{"id":"%016x","type":"%s","content":"`, r.Uint64(), []string{"human", "ai", "tool"}[n%3])
		for range 8 + r.IntN(40) {
			b = append(append(b, words[r.IntN(len(words))]...), ' ')
		}
		b = fmt.Appendf(b, `","additional_kwargs":{},"response_metadata":{"tokens":%d}},`, r.IntN(900))
	}
	return append(b[:10<<10-3], `"}]}`[1:]...)
}()

// BenchmarkCheckpoint is the next version of 10 KB, of which twenty stay, and the
// newest one read back, beside the same rows by hand under the session's lock.
func BenchmarkCheckpoint(b *testing.B) {
	each(b, func(b *testing.B, clients int) {
		db, scopes, ids := bench(b, 64)
		sids := make([]int64, 64)
		for i, scope := range scopes {
			for _, id := range []tenet.SessionID{"ours", "hand"} {
				if _, err := db.Ensure(ctx, scope, tenet.Session{ID: id, Scope: scope, CreatedAt: begun}); err != nil {
					b.Fatal(err)
				}
			}
			if err := db.pool.QueryRow(ctx, `SELECT sid FROM tenet.session_names WHERE scope = $1 AND external_id = 'hand'`, ids[i]).Scan(&sids[i]); err != nil {
				b.Fatal(err)
			}
		}
		versions := make([]int64, 64)
		b.Run("put", func(b *testing.B) {
			sideBySide(b, clients, func(c, _ int) error {
				versions[c]++
				return db.PutCheckpoint(ctx, scopes[c], tenet.Checkpoint{Session: "ours", Version: versions[c], State: state, At: begun}, 0, 20)
			}, func(c, _ int) error {
				tx, err := db.pool.Begin(ctx)
				if err != nil {
					return err
				}
				defer tx.Rollback(ctx)
				if _, err := tx.Exec(ctx, `SELECT 1 FROM tenet.sessions WHERE scope = $1 AND sid = $2 FOR UPDATE`, ids[c], sids[c]); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, `INSERT INTO tenet.checkpoints (scope, sid, version, step, position, at, content, sealed, tenant) VALUES ($1, $2, $3, 0, 0, 0, $4, $5, 'acme')`,
					ids[c], sids[c], versions[c], state[:32], state); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, `DELETE FROM tenet.checkpoints WHERE scope = $1 AND sid = $2 AND version <= $3`, ids[c], sids[c], versions[c]-20); err != nil {
					return err
				}
				return tx.Commit(ctx)
			})
		})
		for c := range 64 { // whoever has none yet
			if versions[c] == 0 {
				db.PutCheckpoint(ctx, scopes[c], tenet.Checkpoint{Session: "ours", Version: 1, State: state, At: begun}, 0, 20)
			}
		}
		b.Run("get", func(b *testing.B) {
			sideBySide(b, clients, func(c, _ int) error {
				ks, err := db.Checkpoints(ctx, scopes[c], "ours", 0, 1)
				if err == nil && (len(ks) != 1 || len(ks[0].State) != len(state)) {
					err = fmt.Errorf("%d checkpoints", len(ks))
				}
				return err
			}, func(c, _ int) error {
				var sealed []byte
				return db.pool.QueryRow(ctx, `SELECT k.sealed FROM tenet.subjects s JOIN tenet.session_names n ON n.scope = s.scope AND n.external_id = 'ours'
					JOIN tenet.checkpoints k ON k.scope = n.scope AND k.sid = n.sid WHERE s.tenant = 'acme' AND s.kind = 1 AND s.external_id = $1 ORDER BY k.version DESC LIMIT 1`,
					fmt.Sprint("u", c)).Scan(&sealed)
			})
		})
	})
}

// TestCheckpointThroughput is scripts/bench-langgraph.sh: puts and gets of the
// same bytes a second by Tenet, by LangGraph and by one statement by hand, in
// slices that take turns, on one server.
func TestCheckpointThroughput(t *testing.T) {
	peer := os.Getenv("TENET_BENCH_LANGGRAPH")
	if peer == "" {
		t.Skip("scripts/bench-langgraph.sh runs it, beside LangGraph")
	}
	const slice = time.Second
	rounds, _ := strconv.Atoi(cmp.Or(os.Getenv("TENET_BENCH_ROUNDS"), "7"))
	name := database(t, 0)
	db, err := Open(ctx, named(t, server(t), name), Options{MasterKey: testKey, MaxConns: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.pool.Exec(ctx, `CREATE TABLE hand (client bigint, version bigint, state bytea, PRIMARY KEY (client, version))`); err != nil {
		t.Fatal(err)
	}
	defer db.pool.Exec(ctx, `DROP TABLE hand`)
	file := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(file, state, 0o600); err != nil {
		t.Fatal(err)
	}
	var peers []func(line string) float64
	for range 2 { // as many processes as there are cores, for the clients of one share an interpreter
		peers = append(peers, ask(t, named(t, server(t), name), peer, file))
	}
	var scopes []tenet.Scope
	for c := range 64 {
		scopes = append(scopes, user(t, "acme", fmt.Sprint("u", c)))
		if _, err := db.Ensure(ctx, scopes[c], tenet.Session{ID: "run", Scope: scopes[c], CreatedAt: begun}); err != nil {
			t.Fatal(err)
		}
	}
	versions, written := make([]int64, 64), make([]int64, 64)
	ours := func(what string, c int) error {
		if what == "put" {
			versions[c]++
			return db.PutCheckpoint(ctx, scopes[c], tenet.Checkpoint{Session: "run", Version: versions[c], State: state, At: begun}, 0, 20)
		}
		ks, err := db.Checkpoints(ctx, scopes[c], "run", 0, 1)
		if err == nil && (len(ks) != 1 || !bytes.Equal(ks[0].State, state)) {
			err = fmt.Errorf("%d checkpoints", len(ks))
		}
		return err
	}
	hand := func(what string, c int) error {
		if what == "put" {
			written[c]++
			_, err := db.pool.Exec(ctx, `INSERT INTO hand VALUES ($1, $2, $3)`, c, written[c], state)
			return err
		}
		var b []byte
		return db.pool.QueryRow(ctx, `SELECT state FROM hand WHERE client = $1 AND version = $2`, c, written[c]).Scan(&b)
	}
	rate := func(clients int, f func(c int) error) float64 {
		var n atomic.Int64
		var wg sync.WaitGroup
		from := time.Now()
		for c := range clients {
			wg.Go(func() {
				for time.Since(from) < slice {
					if err := f(c); err != nil {
						t.Error(err)
						return
					}
					n.Add(1)
				}
			})
		}
		wg.Wait()
		return float64(n.Load()) / time.Since(from).Seconds()
	}
	theirs := func(clients, processes int, what string) float64 {
		var sum float64
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, p := range peers[:processes] {
			wg.Go(func() {
				n := p(fmt.Sprintln(what, clients/processes, slice.Seconds()))
				mu.Lock()
				sum += n
				mu.Unlock()
			})
		}
		wg.Wait()
		return sum
	}
	for _, clients := range []int{1, 8, 64} {
		for _, what := range []string{"put", "get"} {
			var o, l, p, h, ratios []float64
			for round := range rounds + 1 {
				a := rate(clients, func(c int) error { return ours(what, c) })
				b := theirs(clients, 1, what)
				d := b
				if clients > 1 {
					d = theirs(clients, 2, what)
				}
				e := rate(clients, func(c int) error { return hand(what, c) })
				if t.Failed() {
					return
				}
				if round > 0 { // the first one warms up
					o, l, p, h, ratios = append(o, a), append(l, b), append(p, d), append(h, e), append(ratios, a/max(b, d))
				}
			}
			fmt.Printf("checkpoint %s, %d clients: Tenet %.0f/s, LangGraph %.0f/s (two processes %.0f/s), one statement by hand %.0f/s; Tenet / LangGraph %.2f (of %d rounds, %.2f to %.2f)\n",
				what, clients, median(o), median(l), median(p), median(h), median(ratios), rounds, slices.Min(ratios), slices.Max(ratios))
		}
	}
	for _, what := range []string{"store-put", "store-get"} {
		for _, clients := range []int{1, 8, 64} {
			fmt.Printf("LangGraph PostgresStore %s, %d clients: %.0f/s\n", what, clients, theirs(clients, 1, what))
		}
	}
}

func median[T cmp.Ordered](xs []T) T {
	xs = slices.Sorted(slices.Values(xs))
	return xs[len(xs)/2]
}

// ask starts the other side, which answers a line with a number.
func ask(t *testing.T, dsn string, command ...string) func(string) float64 {
	cmd := exec.Command("sh", append([]string{"-c", `exec $0 "$@"`}, command...)...)
	cmd.Env = append(os.Environ(), "TENET_TEST_POSTGRES="+dsn)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the other side does not start")
	}
	return func(line string) float64 {
		io.WriteString(in, line)
		if !lines.Scan() {
			t.Error("the other side went away")
			return 0
		}
		n, err := strconv.ParseFloat(lines.Text(), 64)
		if err != nil {
			t.Error(err)
		}
		return n
	}
}
