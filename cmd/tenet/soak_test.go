package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// soakFor is how long the clients work: TENET_SOAK_SECONDS, or 20 seconds.
func soakFor() time.Duration {
	if n, err := strconv.Atoi(os.Getenv("TENET_SOAK_SECONDS")); err == nil {
		return time.Duration(n) * time.Second
	}
	if testing.Short() {
		return 8 * time.Second
	}
	return 20 * time.Second
}

// TestTwoServersLoseNothingWhileEverythingIsKilled: 64 clients of four tenants
// write through two servers over one PostgreSQL and one Redis (append-only,
// flushed at each write), while servers are killed and both databases are stopped hard
// and started again. Each client repeats a call under its key until it is
// answered. Then all that was acknowledged is there once, each key has one open
// value, no effect was carried out twice, every chain verifies, and no client
// ever read another tenant's word.
func TestTwoServersLoseNothingWhileEverythingIsKilled(t *testing.T) {
	if os.Getenv("TENET_TEST_POSTGRES") == "" || os.Getenv("TENET_TEST_REDIS") == "" {
		if strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), "redis") {
			t.Fatal("no servers: scripts/test-servers.sh starts them")
		}
		t.Skip("SKIPPED, NOTHING TESTED: no servers; make soak starts them")
	}
	s := newSoak(t)
	begun, stop := time.Now(), make(chan struct{})
	var wg, chaos sync.WaitGroup
	for i := range 64 {
		wg.Go(func() { s.clients[i].work(stop) })
	}
	chaos.Go(func() { s.disturb(stop) })
	// A slow machine spends seconds on a start: it is given the time to try enough.
	for end := time.Now().Add(soakFor()); time.Now().Before(end) || (!s.enough() && time.Now().Before(end.Add(3*time.Minute))); {
		time.Sleep(100 * time.Millisecond)
	}
	close(stop)
	chaos.Wait()
	wg.Wait()
	s.check(begun)
}

var soakTenants = []string{"amber", "basalt", "cedar", "dune"}

type soak struct {
	*testing.T
	env      map[string]string
	folder   string // of the PostgreSQL server
	postgres string
	redis    *exec.Cmd
	redisAt  []string // its command line
	servers  [2]*exec.Cmd
	ports    [2]string
	clients  []*soakClient
	faults   [4]atomic.Int32 // server, server, Redis, PostgreSQL
	r        *rand.Rand

	said, kept, checkpoints, effects atomic.Int32 // acknowledged
}

func (s *soak) enough() bool {
	return s.said.Load() >= 100 && s.kept.Load() >= int32(len(s.clients)/4) && s.checkpoints.Load() > 0 && s.effects.Load() > 0 &&
		s.faults[0].Load() > 0 && s.faults[2].Load() > 0 && s.faults[3].Load() > 0
}

func newSoak(t *testing.T) *soak {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &soak{T: t, r: rand.New(rand.NewPCG(seed, 0)), env: map[string]string{}}
	s.startPostgres()
	s.redisAt = []string{"redis-server", "--port", freePort(t), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--logfile", "log", "--appendonly", "yes", "--appendfsync", "always"}
	if _, err := exec.LookPath(s.redisAt[0]); err != nil {
		s.redisAt[0] = "valkey-server"
	}
	s.startRedis()
	t.Cleanup(func() { kill(s.redis) })
	s.env["TENET_STORE"] = s.postgres
	s.env["TENET_SESSIONS"] = "redis://127.0.0.1:" + s.redisAt[2]
	s.env["TENET_MASTER_KEY"] = fmt.Sprintf("%064x", s.r.Uint64())
	s.env["TENET_EMBEDDER"] = "none"
	s.env["TENET_LEASE"] = "2s"
	for i, tenant := range soakTenants {
		app, operator := s.key(tenant, "app"), s.key(tenant, "operator")
		for u := range 16 {
			s.clients = append(s.clients, &soakClient{
				soak: s, tenant: tenant, user: fmt.Sprint("u", u), app: app, operator: operator,
				http: &http.Client{Timeout: 10 * time.Second}, executed: map[string]*atomic.Int32{}, first: (i + u) % 2,
			})
		}
	}
	for i := range s.servers {
		s.ports[i] = freePort(t)
		s.startServer(i)
		t.Cleanup(func() { kill(s.servers[i]) })
	}
	return s
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func kill(c *exec.Cmd) {
	if c != nil && c.Process != nil {
		c.Process.Kill()
		c.Wait()
	}
}

const serversScript = "../../scripts/test-servers.sh"

func (s *soak) startPostgres() {
	cmd := exec.Command(serversScript, "start")
	cmd.Env = append(os.Environ(), "TENET_TEST_POSTGRES=", "TENET_TEST_ONLY=postgres", "TENET_TEST_DURABLE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(line, "export TENET_TEST_SERVERS="); ok {
			s.folder = strings.TrimSpace(v)
			s.Cleanup(func() { exec.Command(serversScript, "stop", s.folder).Run() })
		}
		if v, ok := strings.CutPrefix(line, "export TENET_TEST_POSTGRES="); ok {
			s.postgres = strings.Trim(strings.TrimSpace(v), "'")
		}
	}
	if err != nil || s.postgres == "" {
		s.Fatalf("no PostgreSQL: %v", err)
	}
}

func (s *soak) startRedis() {
	s.redis = exec.Command(s.redisAt[0], s.redisAt[1:]...)
	if err := s.redis.Start(); err != nil {
		s.Fatal(err)
	}
	for range 200 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+s.redisAt[2]); err == nil {
			c.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Error("Redis does not start")
}

func (s *soak) startServer(i int) {
	self, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	c := exec.Command(self, "serve", "--quiet", "--listen", "127.0.0.1:"+s.ports[i])
	c.Env = append(os.Environ(), "TENET_TEST_MAIN=1")
	for k, v := range s.env {
		c.Env = append(c.Env, k+"="+v)
	}
	c.Dir = s.TempDir() // for the first keys
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	s.servers[i] = c
}

func (s *soak) key(tenant, kind string) string {
	var out, errs bytes.Buffer
	env := func(k string) string { return s.env[k] }
	if code := run(context.Background(), []string{"key", "create", "--tenant", tenant, kind, "soak", "--json"}, env, strings.NewReader(""), &out, &errs); code != 0 {
		s.Fatalf("key: %s", errs.String())
	}
	var k struct {
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal(out.Bytes(), &k); err != nil || k.Secret == "" {
		s.Fatalf("key: %v %s", err, out.String())
	}
	return k.Secret
}

// disturb kills one thing after another; of four times, three when all stands
// again.
func (s *soak) disturb(stop chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(500*time.Millisecond + time.Duration(s.r.IntN(1500))*time.Millisecond):
		}
		what := n % 4
		if n >= 4 {
			what = s.r.IntN(4)
		}
		s.faults[what].Add(1)
		switch what {
		case 0, 1:
			kill(s.servers[what])
			time.Sleep(time.Duration(s.r.IntN(300)) * time.Millisecond)
			s.startServer(what)
		case 2:
			kill(s.redis)
			time.Sleep(time.Duration(s.r.IntN(300)) * time.Millisecond)
			s.startRedis()
		case 3:
			if out, err := exec.Command(serversScript, "restart", s.folder).CombinedOutput(); err != nil {
				s.Errorf("PostgreSQL does not come back: %v\n%s", err, out)
			}
		}
		if s.r.IntN(4) > 0 {
			s.awaitServers(stop)
		}
	}
}

func (s *soak) awaitServers(stop chan struct{}) {
	client := &http.Client{Timeout: time.Second}
	for _, port := range s.ports {
		for range 600 {
			res, err := client.Get("http://127.0.0.1:" + port + "/readyz")
			if err == nil {
				res.Body.Close()
				if res.StatusCode == http.StatusOK {
					break
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// soakClient is one person's program, and what it was told.
type soakClient struct {
	*soak
	tenant, user, app, operator string
	http                        *http.Client
	first                       int
	calls, repeats              int

	said     []string // acknowledged messages
	kept     []string // acknowledged facts
	version  int64    // of the last acknowledged checkpoint
	done     []string // effects acknowledged as completed
	executed map[string]*atomic.Int32
}

// do repeats a call until it is answered, at one server and at the other.
func (c *soakClient) do(method, path, once string, body any, key string) (int, []byte) {
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body)
	}
	deadline := time.Now().Add(90 * time.Second)
	for n := c.first; ; n++ {
		req, _ := http.NewRequest(method, "http://127.0.0.1:"+c.ports[n%2]+"/v1/users/"+c.user+path, bytes.NewReader(data))
		req.Header.Set("Authorization", "Bearer "+key)
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		if once != "" {
			req.Header.Set("Idempotency-Key", c.user+"-"+once) // the tenant's clients share one API key
		}
		c.calls++
		res, err := c.http.Do(req)
		status := 0
		var answer []byte
		if err == nil {
			answer, err = io.ReadAll(res.Body)
			res.Body.Close()
			status = res.StatusCode
		}
		for _, other := range soakTenants {
			if other != c.tenant && bytes.Contains(answer, []byte(other)) {
				c.Errorf("%s of %s reads a word of %s", c.user, c.tenant, other)
			}
		}
		switch {
		case err == nil && status == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "":
			c.Errorf("a 503 does not say when to come back: %s", answer)
		case err == nil && status == http.StatusInternalServerError:
			c.Errorf("%s %s: 500 %s", method, path, answer)
		case err == nil && status != http.StatusServiceUnavailable && !(status == http.StatusConflict && bytes.Contains(answer, []byte("ONCE_IN_FLIGHT"))):
			return status, answer
		}
		if time.Now().After(deadline) {
			c.Errorf("%s %s: not answered in 90 s: %d %v", method, path, status, err)
			return status, answer
		}
		c.repeats++
		time.Sleep(time.Duration(20+rand.IntN(80)) * time.Millisecond)
	}
}

func (c *soakClient) want(status int, what string, got int, answer []byte) bool {
	if got != status {
		c.Errorf("%s of %s/%s: %d, want %d: %s", what, c.tenant, c.user, got, status, answer)
	}
	return got == status
}

func (c *soakClient) work(stop chan struct{}) {
	if status, a := c.do("PUT", "/sessions/s", "", map[string]any{}, c.app); status != 200 && status != 201 {
		c.Errorf("opening: %d %s", status, a)
		return
	}
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		id := fmt.Sprint("n", n)
		switch {
		case n%16 == 5:
			text := fmt.Sprintf("The %s blend number %d", c.tenant, n)
			status, a := c.do("POST", "/memories", id, map[string]any{"tier": "fact", "key": "favorite_tea", "text": text, "quote": text}, c.app)
			if status == 201 {
				c.kept = append(c.kept, text)
				c.soak.kept.Add(1)
			} else if status != 422 { // too often under one key: a verdict, too
				c.want(201, "remember", status, a)
			}
		case n%8 == 2:
			status, a := c.do("POST", "/sessions/s/checkpoints", id, map[string]any{"version": c.version + 1, "step": n, "state": []byte(c.tenant)}, c.app)
			if c.want(201, "checkpoint", status, a) {
				c.version++
				c.checkpoints.Add(1)
			}
		case n%8 == 4:
			c.effect(fmt.Sprint("pay/", n))
		case n%8 == 6:
			status, a := c.do("POST", "/sessions/s/context", "", map[string]any{"query": "which blend?"}, c.app)
			c.want(200, "context", status, a)
		default:
			text := fmt.Sprintf("%s says note %d", c.tenant, n)
			status, a := c.do("POST", "/sessions/s/messages", id, map[string]any{"messages": []any{map[string]any{"role": "user", "text": text, "client_id": id}}}, c.app)
			if c.want(201, "append", status, a) {
				c.said = append(c.said, text)
				c.soak.said.Add(1)
			}
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
	}
}

// effect carries something out, if it is told to, once.
func (c *soakClient) effect(key string) {
	path := "/sessions/s/effects/" + strings.ReplaceAll(key, "/", "%2F")
	c.executed[key] = new(atomic.Int32)
	status, a := c.do("POST", path+"/claim", "", map[string]any{"payload": key, "seconds": 5}, c.app)
	if status == http.StatusConflict {
		return // the claim was granted and its answer lost: nobody knows, so nobody acts
	}
	var got struct {
		Granted bool `json:"granted"`
		Effect  struct {
			Attempt int `json:"attempt"`
		} `json:"effect"`
	}
	if !c.want(200, "claim", status, a) || json.Unmarshal(a, &got) != nil || !got.Granted {
		return
	}
	if n := c.executed[key].Add(1); n > 1 || got.Effect.Attempt != 1 {
		c.Errorf("effect %s: carried out %d times, attempt %d", key, n, got.Effect.Attempt)
	}
	status, a = c.do("POST", path+"/complete", "done-"+strings.ReplaceAll(key, "/", "-"), map[string]any{"attempt": 1, "outcome": map[string]any{"receipt": key}}, c.app)
	if c.want(200, "complete", status, a) {
		c.done = append(c.done, key)
		c.effects.Add(1)
	}
}

// check reads everything back.
func (s *soak) check(begun time.Time) {
	var calls, repeats int
	for _, c := range s.clients {
		c.check()
		calls, repeats = calls+c.calls, repeats+c.repeats
	}
	db, err := pgx.Connect(context.Background(), s.postgres)
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close(context.Background())
	var doubled, open int
	if err := db.QueryRow(context.Background(), `SELECT count(*) FILTER (WHERE n > 1), count(*) FROM (SELECT count(*) AS n FROM tenet.records
		WHERE tier = 1 AND sys_to = 9223372036854775807 AND valid_to = 9223372036854775807 AND NOT multi GROUP BY scope, key) k`).Scan(&doubled, &open); err != nil {
		s.Fatal(err)
	}
	if doubled > 0 {
		s.Errorf("%d keys have more than one open value", doubled)
	}
	s.Logf("%v: %d calls, %d of them repeats; killed: servers %d and %d times, Redis %d, PostgreSQL %d", time.Since(begun).Round(time.Second), calls, repeats, s.faults[0].Load(), s.faults[1].Load(), s.faults[2].Load(), s.faults[3].Load())
	s.Logf("acknowledged and there: %d messages, %d facts, %d checkpoints, %d effects; %d keys, each with one open value; %d chains verify", s.said.Load(), s.kept.Load(), s.checkpoints.Load(), s.effects.Load(), open, len(s.clients))
	if !s.enough() {
		s.Error("too little was tried")
	}
}

func (c *soakClient) check() {
	found := map[string]int{}
	var position int64
	for {
		status, a := c.do("GET", fmt.Sprintf("/sessions/s/messages?limit=1000&after=%d", position), "", nil, c.app)
		var page struct {
			Messages []struct {
				Text string `json:"text"`
				Seq  int64  `json:"seq"`
			} `json:"messages"`
		}
		if !c.want(200, "messages", status, a) || json.Unmarshal(a, &page) != nil || len(page.Messages) == 0 {
			break
		}
		for _, m := range page.Messages {
			if m.Seq != position+1 {
				c.Errorf("position %d follows %d", m.Seq, position)
			}
			position = m.Seq
			found[m.Text]++
		}
	}
	for _, text := range c.said {
		if found[text] != 1 {
			c.Errorf("%s/%s: %q was acknowledged and is there %d times", c.tenant, c.user, text, found[text])
		}
	}
	for text, n := range found {
		if n != 1 {
			c.Errorf("%s/%s: %q is there %d times", c.tenant, c.user, text, n)
		}
	}
	_, history := c.do("GET", "/facts/favorite_tea/history", "", nil, c.operator)
	for _, text := range c.kept {
		if !bytes.Contains(history, []byte(text+`"`)) {
			c.Errorf("%s/%s: the fact %q was acknowledged and is gone", c.tenant, c.user, text)
		}
	}
	status, a := c.do("GET", "/sessions/s/checkpoints?limit=1", "", nil, c.app)
	if c.version > 0 && (!c.want(200, "checkpoints", status, a) || !bytes.Contains(a, fmt.Appendf(nil, `"version":%d,`, c.version))) {
		c.Errorf("%s/%s: checkpoint %d was acknowledged: %s", c.tenant, c.user, c.version, a)
	}
	_, a = c.do("GET", "/sessions/s/effects", "", nil, c.app)
	var es struct {
		Effects []struct {
			Key, State string
			Attempt    int
		}
	}
	if json.Unmarshal(a, &es) != nil {
		c.Errorf("effects: %s", a)
	}
	state := map[string]string{}
	for _, e := range es.Effects {
		if state[e.Key] = e.State; e.Attempt != 1 {
			c.Errorf("effect %s was retried unasked", e.Key)
		}
	}
	for _, key := range c.done {
		if state[key] != "completed" {
			c.Errorf("%s/%s: effect %s was acknowledged and is %q", c.tenant, c.user, key, state[key])
		}
	}
	status, a = c.do("GET", "/verify", "", nil, c.operator)
	if !c.want(200, "verify", status, a) || !bytes.Contains(a, []byte(`"ok":true`)) {
		c.Errorf("%s/%s: %s", c.tenant, c.user, a)
	}
}
