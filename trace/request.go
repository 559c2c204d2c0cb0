package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	otel "go.opentelemetry.io/otel/trace"
)

// RequestHeader carries a request's id, in and out.
const RequestHeader = "X-Request-Id"

type requestKey struct{}

// Request is the id of the context's request or job; empty outside of one.
func Request(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// Fresh returns a context with an id of its own: a job's, or a message's that
// did not come over HTTP.
func Fresh(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, newID())
}

// Requests gives each request an id - its own, where that is safe in a header
// and a log - and, with a provider, a span that continues the caller's. Of what
// the caller sends only the ids of traceparent are taken: tracestate and baggage
// are somebody's text. What serves the request names the span.
func Requests(p otel.TracerProvider, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if Request(ctx) != "" { // one stands before this one
			next.ServeHTTP(w, r)
			return
		}
		id := r.Header.Get(RequestHeader)
		if !usable(id) {
			id = newID()
		}
		w.Header().Set(RequestHeader, id)
		ctx = context.WithValue(ctx, requestKey{}, id)
		if p == nil {
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		caller := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": r.Header.Get("Traceparent")})
		ctx = otel.ContextWithSpan(ctx, origin{provider: p, parent: otel.SpanContextFromContext(caller)})
		ctx, s := begin(ctx, p, "request", otel.SpanKindServer, attribute.String("http.request.method", method(r.Method)))
		rec := &statusWriter{ResponseWriter: w}
		defer func() {
			if rec.status > 0 {
				s.Count("http.response.status_code", rec.status)
			}
			if rec.status >= http.StatusInternalServerError {
				s.s.SetStatus(codes.Error, "")
			}
			s.End(nil)
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// method is the request's method, if HTTP knows it.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "_OTHER"
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Flush is for streams; Unwrap lets http.ResponseController reach the rest.
func (w *statusWriter) Flush()                      { http.NewResponseController(w.ResponseWriter).Flush() }
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func usable(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func newID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Log adds to each line of h whose context has them the request's id and the
// trace's.
func Log(h slog.Handler) slog.Handler {
	if _, done := h.(handler); done {
		return h
	}
	return handler{h}
}

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := Request(ctx); id != "" {
		r.AddAttrs(slog.String("request", id))
	}
	if sc := otel.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String("trace", sc.TraceID().String()), slog.String("span", sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(as []slog.Attr) slog.Handler { return handler{h.Handler.WithAttrs(as)} }
func (h handler) WithGroup(name string) slog.Handler    { return handler{h.Handler.WithGroup(name)} }
