package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/trace"
)

func recording(opts ...sdk.TracerProviderOption) (*sdk.TracerProvider, *tracetest.InMemoryExporter) {
	out := tracetest.NewInMemoryExporter()
	return sdk.NewTracerProvider(append(opts, sdk.WithSyncer(out))...), out
}

func TestWithoutAProviderNothingHappens(t *testing.T) { // not parallel: it counts allocations
	ctx := t.Context()
	if trace.With(ctx, nil) != ctx {
		t.Error("no provider changed the context")
	}
	for _, begin := range []func() (context.Context, trace.Span){
		func() (context.Context, trace.Span) { return trace.Start(ctx, "a") },
		func() (context.Context, trace.Span) { return trace.Begin(ctx, "a") },
		func() (context.Context, trace.Span) { return trace.Query(ctx, "sqlite", "SELECT 1 FROM x") },
	} {
		got, s := begin()
		if got != ctx || s.On() {
			t.Error("a span began")
		}
		s.Name("x")
		s.Count("x", 1)
		s.Is("x", "y")
		s.Verdict(tenet.Verdict{})
		s.Failed(tenet.Internal)
		s.End(errors.New("x"))
	}
	if n := testing.AllocsPerRun(100, func() { trace.Query(ctx, "sqlite", "SELECT 1 FROM x") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A store's call is never the first of a trace: a worker that finds nothing to
// do leaves no trace.
func TestOnlyBeginStartsATrace(t *testing.T) {
	t.Parallel()
	p, out := recording()
	ctx := trace.Fresh(trace.With(t.Context(), p))
	if _, s := trace.Ask(ctx, "redis", "peek"); s.On() {
		t.Error("a call began a trace")
	}
	job, s := trace.Begin(ctx, "job")
	_, below := trace.Query(job, "sqlite", "SELECT x FROM records WHERE y = 1")
	below.End(nil)
	s.End(tenet.Errorf(tenet.Unavailable, "op", "why"))
	spans := out.GetSpans()
	if len(spans) != 2 || spans[0].Name != "SELECT records" || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() {
		t.Fatalf("%+v", spans)
	}
	if got := fmt.Sprint(spans[1].Attributes); !strings.Contains(got, trace.Request(ctx)) || !strings.Contains(got, "unavailable") || spans[1].Status.Description != "unavailable" {
		t.Errorf("%v %+v", got, spans[1].Status)
	}
}

func TestASpanSaysOfAnErrorItsKindAlone(t *testing.T) {
	t.Parallel()
	const secret = "shellfish"
	for _, err := range []error{
		errors.New(secret), tenet.Errorf(tenet.Internal, "op", secret), fmt.Errorf("x: %w", &tenet.Error{Kind: tenet.Denied, Reason: secret, Err: errors.New(secret)}),
	} {
		p, out := recording()
		_, s := trace.Begin(trace.With(t.Context(), p), "job")
		s.End(err)
		if all := fmt.Sprintf("%+v", out.GetSpans()); strings.Contains(all, secret) || !strings.Contains(all, tenet.KindOf(err).String()) {
			t.Errorf("%v: %s", err, all)
		}
	}
	// The SDK's own End puts a panic's text into the span when it is deferred.
	p, out := recording()
	func() {
		defer func() { recover() }()
		_, s := trace.Begin(trace.With(t.Context(), p), "job")
		defer func() { s.End(nil) }()
		defer s.End(nil)
		panic(secret)
	}()
	if all := fmt.Sprintf("%+v", out.GetSpans()); strings.Contains(all, secret) || len(out.GetSpans()) == 0 {
		t.Error(all)
	}
}

func TestAStatementIsItsVerbAndItsTable(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT a, b FROM records WHERE c = 'shellfish'":   "SELECT records",
		"\n\tinsert into facts (a) VALUES (1)":             "INSERT facts",
		"UPDATE sessions SET x = 'shellfish from the sea'": "UPDATE sessions",
		"DELETE FROM notes":                                "DELETE notes",
		"WITH x AS (SELECT a FROM b) SELECT 'shellfish'":   "WITH b",
		"COMMIT": "COMMIT",
		"SELECT set_config('role', 'shellfish', true)": "SELECT",
		"": "",
		"SELECT count(*) FROM \"held\" -- shellfish FROM notes":      "SELECT held",
		"SELECT record, numbers FROM tenet.vectors WHERE scope = $1": "SELECT vectors",
		"INSERT INTO tenet.receipts (scope) VALUES ($1)":             "INSERT receipts",
		"SELECT id FROM (SELECT r.id FROM tenet.records r) f":        "SELECT records",
	} {
		p, out := recording()
		ctx, root := trace.Begin(trace.With(t.Context(), p), "job")
		_, s := trace.Query(ctx, "sqlite", sql)
		s.End(nil)
		root.End(nil)
		if got := out.GetSpans()[0].Name; got != want {
			t.Errorf("%q is %q, want %q", sql, got, want)
		}
	}
}

// served is a request through Requests, with what it exported and logged.
func served(t *testing.T, header map[string]string, opts ...sdk.TracerProviderOption) (tracetest.SpanStubs, map[string]any, http.Header) {
	t.Helper()
	p, out := recording(opts...)
	var log bytes.Buffer
	l := slog.New(trace.Log(trace.Log(slog.NewJSONHandler(&log, nil)))).With("a", 1)
	h := trace.Requests(p, trace.Requests(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trace.Current(r.Context()).Name("operation")
		l.InfoContext(r.Context(), "request")
		w.WriteHeader(http.StatusServiceUnavailable)
	})))
	r := httptest.NewRequest("POST", "/v1/users/shellfish?shellfish=1", strings.NewReader("shellfish"))
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || strings.Count(log.String(), `"request":`) != 1 {
		t.Fatalf("%v: %s", err, log.String())
	}
	return out.GetSpans(), line, w.Header()
}

func TestARequestContinuesItsCallersTraceAndTakesNothingElse(t *testing.T) {
	t.Parallel()
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	spans, line, header := served(t, map[string]string{
		"Traceparent": "00-" + id + "-" + parent + "-01", "Tracestate": "shellfish=shellfish", "Baggage": "a=shellfish",
		"X-Request-Id": "good-id.1", "User-Agent": "shellfish",
	})
	if len(spans) != 1 || spans[0].Name != "operation" || spans[0].SpanContext.TraceID().String() != id || spans[0].Parent.SpanID().String() != parent {
		t.Fatalf("%+v", spans)
	}
	if all := fmt.Sprintf("%+v", spans); strings.Contains(all, "shellfish") || strings.Contains(all, "good-id") || !strings.Contains(all, "503") {
		t.Error(all)
	}
	if line["request"] != "good-id.1" || line["trace"] != id || header.Get("X-Request-Id") != "good-id.1" {
		t.Errorf("%v %v", line, header)
	}
	for _, bad := range []string{"", "00-shellfish-x-01", "00-" + strings.Repeat("0", 32) + "-" + parent + "-01", "ff-" + id + "-" + parent + "-01"} {
		spans, line, header := served(t, map[string]string{"Traceparent": bad, "X-Request-Id": "not usable: shellfish"})
		if len(spans) != 1 || spans[0].Parent.IsValid() || strings.Contains(fmt.Sprint(line, header), "shellfish") || line["request"] == "" {
			t.Errorf("%q: %+v %v", bad, spans, line)
		}
	}
}

func TestWhatIsNotSampledIsNotRecorded(t *testing.T) {
	t.Parallel()
	if spans, line, _ := served(t, nil, sdk.WithSampler(sdk.NeverSample())); len(spans) > 0 || line["request"] == "" {
		t.Errorf("%v %v", spans, line)
	}
}

func BenchmarkOff(b *testing.B) {
	ctx := context.Context(b.Context())
	for range 10 { // as deep as a request's is
		ctx = context.WithValue(ctx, new(int), 1)
	}
	for b.Loop() {
		_, s := trace.Query(ctx, "sqlite", "SELECT a FROM records")
		s.End(nil)
	}
}
