package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// planted begins every text, name, id and key that these tests hand to the
// server. It has nothing to do in a span or a log.
const planted = "zqx7vwk9j"

// carriesNothing drives every operation, every tool and the jobs of a real
// server over one choice of stores, with planted words in all texts, ids, names
// and keys, and looks for them in everything that it exported and logged.
func carriesNothing(t *testing.T, env map[string]string, systems ...string) {
	w := newTraced(t, env)
	w.story()
	ids, succeeded := w.everyOperation()
	tools := w.agents()
	w.do("app", "GET", "/v1/me", nil, "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "an-id-of-the-caller")
	for range 200 {
		if len(w.c.named("job consolidate")) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.stop()
	names := w.c.names()
	t.Logf("%d spans of %d names; %d operations, %d of them with success; %d tools; %d bytes of log", len(w.c.spans), len(names), len(ids), succeeded, len(tools), len(w.logs.String()))
	if len(ids) < 100 || succeeded < 60 || len(tools) < 20 {
		t.Errorf("only %d operations, %d of them with success, and %d tools", len(ids), succeeded, len(tools))
	}
	for _, id := range ids {
		if names[id] == 0 {
			t.Errorf("no span is named after %s", id)
		}
	}
	for _, tool := range tools {
		if names["mcp "+tool] == 0 {
			t.Errorf("no span is named after the tool %s", tool)
		}
	}
	for _, name := range []string{"job consolidate", "job sweep", "consolidate", "extract", "judge", "recall", "assemble context", "console", "mcp", "none"} {
		if names[name] == 0 {
			t.Errorf("no span is named %q", name)
		}
	}
	for _, found := range leaks(w.c.all) {
		t.Errorf("a span carries what was planted: %s", found)
	}
	for _, found := range leaks([]byte(w.logs.String())) {
		t.Errorf("the log carries what was planted: %s", found)
	}
	for _, secret := range w.keys {
		if part := secret[len(secret)-20:]; bytes.Contains(w.c.all, []byte(part)) || strings.Contains(w.logs.String(), part) {
			t.Error("a key is in a span or in the log")
		}
	}
	w.below(systems)
	w.joined()
}

func TestSpansAndLogsCarryNoMemoryOverAFile(t *testing.T) {
	carriesNothing(t, map[string]string{"TENET_STORE": newShell(t).store}, "sqlite")
}

func TestSpansAndLogsCarryNoMemoryOverPostgreSQL(t *testing.T) {
	pg, _ := servers(t)
	carriesNothing(t, map[string]string{"TENET_STORE": pg, "TENET_MASTER_KEY": strings.Repeat("7", 64)}, "postgresql")
}

func TestSpansAndLogsCarryNoMemoryWithSessionsInRedis(t *testing.T) {
	pg, rd := servers(t)
	carriesNothing(t, map[string]string{"TENET_STORE": pg, "TENET_SESSIONS": rd, "TENET_MASTER_KEY": strings.Repeat("7", 64)}, "postgresql", "redis")
}

// below: each store's calls stand below the request or job that made them.
func (w *traced) below(systems []string) {
	w.Helper()
	byID := map[string]bool{}
	for _, s := range w.c.spans {
		byID[string(s.SpanId)] = true
	}
	seen := map[string]int{}
	for _, s := range w.c.spans {
		if system := attributeOf(s, "db.system.name"); system != "" {
			if seen[system]++; !byID[string(s.ParentSpanId)] {
				w.Errorf("%s of %s stands below nothing", s.Name, system)
			}
		}
	}
	for _, system := range systems {
		if seen[system] < 50 {
			w.Errorf("%d spans of %s", seen[system], system)
		}
	}
	if len(seen) != len(systems) {
		w.Errorf("the stores are %v, want %v", seen, systems)
	}
}

// joined: a caller's trace goes on; every line of the log is JSON and says of
// which request or job it is, and in which trace.
func (w *traced) joined() {
	w.Helper()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	continued := false
	for _, s := range w.c.named("me") {
		if fmt.Sprintf("%x %x", s.TraceId, s.ParentSpanId) == trace+" "+parent {
			continued = s.Kind == tracepb.Span_SPAN_KIND_SERVER && attributeOf(s, "http.response.status_code") == "200"
		}
	}
	if !continued {
		w.Error("the caller's trace does not go on")
	}
	requests, own := 0, false
	for line := range strings.Lines(w.logs.String()) {
		var l struct{ Time, Level, Msg, Operation, Request, Trace string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Time == "" || l.Level == "" || l.Msg == "" {
			w.Errorf("a line is not of the log's form: %s", line)
		}
		if l.Msg == "drained" { // the process's own
			continue
		}
		requests++
		if l.Request == "" || l.Trace == "" {
			w.Errorf("a line that says of no request: %s", line)
		}
		own = own || l.Request == "an-id-of-the-caller" && l.Trace == trace && l.Operation == "me"
	}
	if requests < 100 || !own {
		w.Errorf("%d lines; the caller's own is there: %v", requests, own)
	}
}

// TestTheSearchForPlantedWordsFindsThem: the same collector, log and search see
// what is planted on purpose.
func TestTheSearchForPlantedWordsFindsThem(t *testing.T) {
	w := newTraced(t, map[string]string{"TENET_STORE": newShell(t).store})
	c, url := newCollector(t)
	out, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(url+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(out))
	_, s := p.Tracer("t").Start(t.Context(), "GET /v1/users/"+planted)
	s.End()
	if err := p.Shutdown(t.Context()); err != nil || len(leaks(c.all)) == 0 {
		t.Errorf("a planted name is not found: %v, %s", err, c.all)
	}
	w.do("app", "GET", "/v1/me", nil, "X-Request-Id", planted)
	w.stop()
	if len(leaks([]byte(w.logs.String()))) == 0 || len(leaks(w.c.all)) > 0 {
		t.Errorf("a caller's id is for the log alone: %s", w.logs.String())
	}
}

// TestACollectorThatIsAwayCostsNothing: nobody listens, or whoever listens never
// answers. Requests are answered as ever, and the end does not wait for long.
func TestACollectorThatIsAwayCostsNothing(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	for name, endpoint := range map[string]string{"nobody": "http://127.0.0.1:1", "deaf": "http://" + deaf.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			w := newTraced(t, map[string]string{"TENET_STORE": newShell(t).store, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
			var slowest time.Duration
			for i := range 300 { // more spans than the queue of 2048 holds
				start := time.Now()
				if status, data := w.do("app", "POST", "/v1/users/u/memories", node{"tier": "note", "text": fmt.Sprint("Likes hotel ", i), "quote": fmt.Sprint("I like hotel ", i)}); status >= 300 {
					t.Fatalf("%d %s", status, data)
				}
				slowest = max(slowest, time.Since(start))
			}
			start := time.Now()
			w.stop()
			took := time.Since(start)
			t.Logf("the slowest of 300 requests took %s, the end %s", slowest, took)
			if slowest > 3*time.Second || took > flushFor+3*time.Second {
				t.Error("the collector is waited for")
			}
			for line := range strings.Lines(w.logs.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
		})
	}
}

func TestTracingIsOffUnlessACollectorIsNamed(t *testing.T) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, c := range []struct {
		env  map[string]string
		want string
		bad  bool
	}{
		{nil, "", false},
		{map[string]string{general: "http://c:4318"}, "http://c:4318/v1/traces", false},
		{map[string]string{general: "https://c/otlp/"}, "https://c/otlp/v1/traces", false},
		{map[string]string{general: "http://a", traces: "http://b/x"}, "http://b/x", false},
		{map[string]string{general: "http://a", "OTEL_SDK_DISABLED": "true"}, "", false},
		{map[string]string{general: "http://a", "OTEL_TRACES_EXPORTER": "none"}, "", false},
		{map[string]string{general: "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "http://a/v1/traces", false},
		{map[string]string{general: "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "", true},
		{map[string]string{general: "c:4318"}, "", true},
		{map[string]string{general: "%"}, "", true},
	} {
		got, err := collector(func(k string) string { return c.env[k] })
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%v is %q, %v", c.env, got, err)
		}
	}
}
