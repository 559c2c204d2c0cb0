package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"sort"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/tenet-memory/tenet"
)

const requestIDHeader = "X-Request-Id"

// outer is what every request passes: an id, and a 500 instead of a panic.
func (a *API) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !usableRequestID(id) {
			id = newRequestID()
		}
		h := w.Header()
		h.Set(requestIDHeader, id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		rec := &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				a.cfg.Log.Error("panic", "request", id, "type", typeName(p))
				if rec.status == 0 {
					a.writeProblem(rec, r, tenet.Errorf(tenet.Internal, "http", "panic"))
				}
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// typeName says what panicked without its text, which may hold content.
func typeName(p any) string {
	if _, ok := p.(error); ok {
		return "error"
	}
	return "value"
}

// recorder remembers the status for logs and metrics.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController and MaxBytesReader reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// usableRequestID accepts a caller's id that is safe in a header and a log.
func usableRequestID(id string) bool {
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

func newRequestID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// route wraps one operation: its error becomes a problem, and its name - never
// the path, which names people - goes to the log and the metrics.
func (a *API) route(id string, serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec, _ := w.(*recorder)
		if rec == nil {
			rec = &recorder{ResponseWriter: w}
		}
		err := serve(rec, r)
		if err != nil {
			a.writeProblem(rec, r, err)
		}
		took := time.Since(start)
		a.metrics.request(id, rec.status, took)
		level := a.cfg.Log.Enabled(context.Background(), 0)
		if level {
			kind := ""
			if err != nil {
				kind = tenet.KindOf(err).String()
			}
			a.cfg.Log.Info("request", "operation", id, "status", rec.status, "kind", kind, "ms", took.Milliseconds(),
				"request", w.Header().Get(requestIDHeader))
		}
	})
}

// bare is route for what is no operation.
func (a *API) bare(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return a.route("none", serve).ServeHTTP
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}

func (a *API) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if r.URL.RawPath == "" {
		path = r.URL.Path
	}
	var allow []string
	for _, m := range methods {
		if a.router.Match(chi.NewRouteContext(), m, path) {
			allow = append(allow, m)
		}
	}
	sort.Strings(allow)
	a.bare(func(http.ResponseWriter, *http.Request) error {
		return &problemError{status: http.StatusMethodNotAllowed, detail: "the path does not take this method",
			header: http.Header{"Allow": {strings.Join(allow, ", ")}}}
	})(w, r)
}
