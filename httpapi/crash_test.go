package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// provider is an external system with side effects. It counts executions by
// key; one that honours keys executes a key once.
type provider struct {
	mu      sync.Mutex
	honours bool
	done    map[string]int
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.URL.Query().Get("key")
	if !p.honours || p.done[key] == 0 {
		p.done[key]++
	}
	fmt.Fprintf(w, `{"receipt":"for %s"}`, key)
}

func (p *provider) executed(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[key]
}

const (
	steps    = 20
	lease    = 0.25 // seconds: how long a dead worker's hold and claims last
	leaseDur = 250 * time.Millisecond
)

var (
	errCrashed = errors.New("killed")
	errInDoubt = errors.New("in doubt: an operator has to look")
)

// worker carries out a run of 20 steps over HTTP, one side effect each. point
// is called before and after everything that leaves the process.
type worker struct {
	url, secret, session, provider, name string
	honours                              bool
	point                                func() error
	report                               func(inDoubt []string)
}

func (k worker) do(ctx context.Context, method, path string, body any, key string) (answer, error) {
	if err := k.point(); err != nil {
		return answer{}, err
	}
	c := as{&world{url: k.url}, k.secret}
	a, err := c.try(ctx, http.DefaultClient, method, "/v1/users/sarah/sessions/"+k.session+path, body, once(key))
	if err != nil {
		return a, err
	}
	return a, k.point()
}

// run works until the run is done. It retries what the contract says may be
// retried: a hold or a claim whose time has not run out.
func (k worker) run(ctx context.Context) error {
	var held answer
	var err error
	for {
		held, err = k.do(ctx, "POST", "/hold", obj{"holder": k.name, "seconds": lease}, k.name+"-hold-"+fmt.Sprint(rand.Int64()))
		if err != nil {
			return err
		}
		if held.status == 200 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	fence := held.at("fence")
	state, err := k.do(ctx, "GET", "/run", nil, "")
	if err != nil {
		return err
	}
	step, version := 0, 0
	if state.status == 200 {
		step, version = int(state.at("checkpoint.step").(float64)), int(state.at("checkpoint.version").(float64))
	}
	for ; step < steps; step++ {
		if err := k.effect(ctx, step, fence); err != nil {
			return err
		}
		version++
		a, err := k.do(ctx, "POST", "/checkpoints", obj{"version": version, "step": step + 1, "fence": fence, "state": []byte("after " + fmt.Sprint(step))}, fmt.Sprintf("%s-%d-%d", k.session, version, step))
		if err != nil {
			return err
		}
		if a.status != 201 {
			return fmt.Errorf("checkpoint %d: %v", version, a)
		}
		held, err = k.do(ctx, "POST", "/hold", obj{"holder": k.name, "seconds": lease}, k.name+"-extend-"+fmt.Sprint(rand.Int64()))
		if err != nil {
			return err
		}
		fence = held.at("fence") // a new one when the hold ran out meanwhile and nobody else took it
	}
	return nil
}

// effect carries out one side effect under its key.
func (k worker) effect(ctx context.Context, step int, fence any) error {
	key := fmt.Sprintf("%s-step-%d", k.session, step)
	claim := obj{"step": step, "payload": obj{"step": step}, "seconds": lease, "fence": fence, "retry": k.honours}
	for {
		c, err := k.do(ctx, "POST", "/effects/"+key+"/claim", claim, "")
		if err != nil {
			return err
		}
		switch {
		case c.status == 409 && strings.Contains(string(c.body), "fence"):
			return fmt.Errorf("fenced off: %v", c)
		case c.status == 409: // a dead worker's claim still runs
			time.Sleep(20 * time.Millisecond)
			continue
		case c.status != 200:
			return fmt.Errorf("claim: %v", c)
		case c.at("granted") == false && c.at("effect.state") == "completed":
			return nil
		case c.at("granted") == false && c.at("effect.state") == "failed":
			claim["retry"] = true // known not to have happened: try again, asked for
			continue
		case c.at("granted") == false:
			k.report([]string{key})
			return errInDoubt
		}
		if err := k.point(); err != nil {
			return err
		}
		resp, err := http.Get(k.provider + "?key=" + key)
		if err != nil {
			return err
		}
		receipt, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err := k.point(); err != nil {
			return err
		}
		attempt := c.at("effect.attempt")
		done, err := k.do(ctx, "POST", "/effects/"+key+"/complete", obj{"attempt": attempt, "outcome": json.RawMessage(receipt)}, fmt.Sprintf("%s-%v", key, attempt))
		if err == nil && done.status != 200 {
			err = fmt.Errorf("complete: %v", done)
		}
		return err
	}
}

// audit holds the state after a death against what the provider knows.
func (w *world) auditRun(t *testing.T, p *provider, session string) (step int) {
	t.Helper()
	a := w.as("agent").do("GET", "/v1/users/sarah/sessions/"+session+"/run", nil)
	if a.status == 404 {
		return 0
	}
	w.want(a, 200)
	step = int(a.at("checkpoint.step").(float64))
	stands := map[string]string{}
	for _, list := range []string{"open", "in_doubt", "settled"} {
		es, _ := a.at(list).([]any)
		for _, e := range es {
			stands[e.(obj)["key"].(string)] = e.(obj)["state"].(string)
		}
	}
	for i := range steps {
		key := fmt.Sprintf("%s-step-%d", session, i)
		switch n := p.executed(key); {
		case i < step && n != 1:
			t.Errorf("%s: step %d is behind the checkpoint and was executed %d times", session, i, n)
		case i > step && (n != 0 || stands[key] != ""):
			t.Errorf("%s: step %d is ahead of the checkpoint %d: executed %d times, %s", session, i, step, n, stands[key])
		case i == step && n > 1:
			t.Errorf("%s: step %d was executed %d times", session, i, n)
		case i == step && n == 1 && stands[key] == "":
			t.Errorf("%s: step %d was executed and nobody says so", session, i)
		}
	}
	return step
}

// kills is how many deaths each variant dies: 200 by make crash.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("TENET_KILLS")); err == nil {
		return n
	}
	if testing.Short() {
		return 4
	}
	return 16
}

// A worker dies at a random point of the run - before, between or after any
// two things that leave the process - and another takes over.
func TestAWorkerDiesAtAnyPoint(t *testing.T) {
	for _, honours := range []bool{true, false} {
		t.Run(fmt.Sprintf("honours=%v", honours), func(t *testing.T) {
			w := newWorld(t)
			p := &provider{honours: honours, done: map[string]int{}}
			srv := httptest.NewServer(p)
			defer srv.Close()
			var wg sync.WaitGroup
			var mu sync.Mutex
			doubts, resumed := 0, map[int]int{}
			slots := make(chan struct{}, 8)
			for i := range kills() {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					session := fmt.Sprintf("run-%v-%d", honours, i)
					deadline := 1 + rand.IntN(10*steps)
					k := worker{url: w.url, secret: w.as("agent").secret, session: session, provider: srv.URL, honours: honours, name: "first"}
					n := 0
					k.point = func() error {
						if n++; n >= deadline {
							return errCrashed
						}
						return nil
					}
					k.report = func([]string) {}
					if err := k.run(t.Context()); err != nil && !errors.Is(err, errCrashed) {
						t.Errorf("%s: %v", session, err)
						return
					}
					time.Sleep(leaseDur + 10*time.Millisecond)
					step := w.auditRun(t, p, session)
					mu.Lock()
					resumed[step]++
					mu.Unlock()
					k.name, k.point = "second", func() error { return nil }
					for tries := 0; ; tries++ {
						var doubt []string
						k.report = func(keys []string) { doubt = keys }
						err := k.run(t.Context())
						if err == nil {
							break
						}
						if !errors.Is(err, errInDoubt) || honours || tries > 2 {
							t.Errorf("%s: the second worker: %v", session, err)
							return
						}
						mu.Lock()
						doubts += len(doubt)
						mu.Unlock()
						w.resolve(t, p, session, doubt)
						k.name = fmt.Sprint("second-", tries)
						time.Sleep(leaseDur)
					}
					if got := w.auditRun(t, p, session); got != steps {
						t.Errorf("%s: ended at step %d", session, got)
					}
				})
			}
			wg.Wait()
			t.Logf("%d deaths at random points, resumed at %d different steps, %d effects in doubt: each key executed once", kills(), len(resumed), doubts)
		})
	}
}

// resolve is the operator: it asks the provider and settles what is in doubt.
func (w *world) resolve(t *testing.T, p *provider, session string, keys []string) {
	t.Helper()
	run := w.want(w.as("operator").do("GET", "/v1/users/sarah/sessions/"+session+"/run", nil), 200)
	listed, _ := run.at("in_doubt").([]any)
	if len(listed) != len(keys) {
		t.Errorf("%s: %d in doubt, the worker met %d", session, len(listed), len(keys))
	}
	for _, e := range listed {
		key, attempt := e.(obj)["key"].(string), e.(obj)["attempt"]
		state := "failed"
		if p.executed(key) > 0 {
			state = "completed"
		}
		w.want(w.as("operator").do("POST", "/v1/users/sarah/sessions/"+session+"/effects/"+key+"/resolve", obj{"attempt": attempt, "state": state}, w.key()), 200)
	}
}

// The same with real processes and SIGKILL: nothing is flushed, nothing is
// said.
func TestAProcessIsKilled(t *testing.T) {
	if os.Getenv("TENET_TEST_WORKER") != "" {
		k := worker{url: os.Getenv("TENET_URL"), secret: os.Getenv("TENET_SECRET"), session: os.Getenv("TENET_SESSION"), provider: os.Getenv("TENET_PROVIDER"),
			name: os.Getenv("TENET_TEST_WORKER"), honours: true, point: func() error { return nil }, report: func([]string) {}}
		if err := k.run(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	w := newWorld(t)
	p := &provider{honours: true, done: map[string]int{}}
	srv := httptest.NewServer(p)
	defer srv.Close()
	start := func(session, name string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAProcessIsKilled$")
		cmd.Env = append(os.Environ(), "TENET_TEST_WORKER="+name, "TENET_URL="+w.url, "TENET_SECRET="+w.as("agent").secret, "TENET_SESSION="+session, "TENET_PROVIDER="+srv.URL)
		cmd.Stderr = os.Stderr
		ok(t, cmd.Start())
		return cmd
	}
	whole := time.Now()
	ok(t, start("measure", "w").Wait())
	took := time.Since(whole)
	at := map[int]int{}
	for i := range max(3, kills()/8) {
		session := fmt.Sprint("killed-", i)
		one := start(session, "one")
		time.Sleep(time.Duration(rand.Int64N(int64(took))))
		one.Process.Kill()
		one.Wait()
		time.Sleep(leaseDur + 10*time.Millisecond)
		at[w.auditRun(t, p, session)]++
		ok(t, start(session, "two").Wait())
		if got := w.auditRun(t, p, session); got != steps {
			t.Errorf("%s ended at step %d", session, got)
		}
	}
	t.Logf("%d processes killed, at steps %v", max(3, kills()/8), at)
}

// Two workers on one run: the second gets Conflict or a fencing refusal, never
// a second execution.
func TestTwoWorkersOnOneRun(t *testing.T) {
	w := newWorld(t)
	p := &provider{honours: false, done: map[string]int{}} // would execute twice if asked twice
	srv := httptest.NewServer(p)
	defer srv.Close()
	agent := w.as("agent")
	base := "/v1/users/sarah/sessions/shared"
	one := w.want(agent.do("POST", base+"/hold", obj{"holder": "one", "seconds": 1}), 200)
	w.want(agent.do("POST", base+"/hold", obj{"holder": "two"}), 409)
	w.want(agent.do("POST", base+"/checkpoints", obj{"version": 1, "step": 1, "fence": one.at("fence")}, w.key()), 201)
	time.Sleep(1100 * time.Millisecond) // one hangs; two takes over
	two := w.want(agent.do("POST", base+"/hold", obj{"holder": "two"}), 200)
	for _, late := range []answer{
		agent.do("POST", base+"/checkpoints", obj{"version": 2, "step": 2, "fence": one.at("fence")}, w.key()),
		agent.do("POST", base+"/effects/pay/claim", obj{"fence": one.at("fence")}),
		agent.do("POST", base+"/hold", obj{"holder": "one"}),
	} {
		w.want(late, 409)
	}
	w.want(agent.do("POST", base+"/checkpoints", obj{"version": 2, "step": 2, "fence": two.at("fence")}, w.key()), 201)

	// Unfenced, in a race: of eight workers one is granted each effect.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for s := range steps {
				key := fmt.Sprint("race-", s)
				c, err := agent.try(t.Context(), client(), "POST", base+"/effects/"+key+"/claim", obj{"step": s, "seconds": 60})
				if err == nil && c.status == 200 && c.at("granted") == true {
					resp, err := http.Get(srv.URL + "?key=" + key)
					if err == nil {
						resp.Body.Close()
					}
				}
			}
		})
	}
	wg.Wait()
	for s := range steps {
		if n := p.executed(fmt.Sprint("race-", s)); n != 1 {
			t.Errorf("step %d was executed %d times", s, n)
		}
	}
}
