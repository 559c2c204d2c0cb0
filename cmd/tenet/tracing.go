package main

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/tenet-memory/tenet"
)

// tracing says where spans go: nowhere, unless OpenTelemetry's own variables
// name a collector. The endpoint is read here; what else there is of OTEL_... -
// headers, certificates, time-outs, the sampler, the queue - is read by the SDK.
// The returned function sends what waits, for a few seconds at most.
//
// There is no global provider: the vendors' clients would find it, and put their
// own spans beside these.
func (a *app) tracing(log *slog.Logger) (otel.TracerProvider, func(), error) {
	none := func() {}
	endpoint, err := collector(a.getenv)
	if endpoint == "" || err != nil {
		return nil, none, err
	}
	out, err := otlptracehttp.New(a.ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil { // its text may hold a header
		return nil, none, tenet.Errorf(tenet.Invalid, "config", "the exporter of traces does not take its OTEL_EXPORTER_OTLP_... settings")
	}
	about := []attribute.KeyValue{attribute.String("service.name", "tenet"), attribute.String("service.version", version)}
	res, err := resource.New(a.ctx, resource.WithAttributes(about...), resource.WithFromEnv()) // the environment wins
	if err != nil {
		return nil, none, tenet.Errorf(tenet.Invalid, "config", "OTEL_RESOURCE_ATTRIBUTES is not key=value,...")
	}
	p := sdk.NewTracerProvider(sdk.WithResource(res), sdk.WithBatcher(&exporter{SpanExporter: out, log: log}))
	return p, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), flushFor)
		defer cancel()
		p.Shutdown(ctx) // what failed was logged
	}, nil
}

// flushFor is how long an end waits for the collector.
const flushFor = 3 * time.Second

// collector is the URL that spans are posted to, as OpenTelemetry's
// specification makes it of the environment; empty: tracing is off.
func collector(getenv func(string) string) (string, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return "", nil
	}
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	name, endpoint := traces, getenv(traces)
	if endpoint == "" {
		if name, endpoint = general, getenv(general); endpoint == "" {
			return "", nil
		}
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", tenet.Errorf(tenet.Invalid, "config", "%s: want a URL such as http://127.0.0.1:4318", name)
	}
	if name == general {
		u = u.JoinPath("v1", "traces")
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if p := getenv(name); p != "" && p != "http/protobuf" {
			return "", tenet.Errorf(tenet.Invalid, "config", "%s: only http/protobuf is spoken here", name)
		}
	}
	return u.String(), nil
}

// exporter says of a collector that is away what the log may say, once in a
// while. The SDK would write the collector's answer to standard error.
type exporter struct {
	sdk.SpanExporter
	log *slog.Logger

	mu   sync.Mutex
	said time.Time
}

// sayEvery is how often a failing collector is spoken of.
const sayEvery = time.Minute

func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if now := time.Now(); now.Sub(e.said) >= sayEvery {
			e.said = now
			e.log.Warn("spans are lost: the collector does not take them", "spans", len(spans))
		}
	}
	return nil
}
