package httpapi

import (
	"log/slog"
	"net/http"
	"sort"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/trace"
)

// outer is what every request passes: an id, and a 500 instead of a panic.
func (a *API) outer(next http.Handler) http.Handler {
	return trace.Requests(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		rec := &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				a.cfg.Log.ErrorContext(r.Context(), "panic", "type", typeName(p))
				if rec.status == 0 {
					a.writeProblem(rec, r, tenet.Errorf(tenet.Internal, "http", "panic"))
				}
			}
		}()
		next.ServeHTTP(rec, r)
	}))
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

// route wraps one operation: its error becomes a problem, and its name - never
// the path, which names people - goes to the log and the metrics.
func (a *API) route(id trace.Word, serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		span := trace.Current(r.Context())
		span.Name(id)
		rec, _ := w.(*recorder)
		if rec == nil {
			rec = &recorder{ResponseWriter: w}
		}
		err := serve(rec, r)
		if err != nil {
			a.writeProblem(rec, r, err)
		}
		took := time.Since(start)
		a.metrics.request(string(id), rec.status, took)
		kind := kindOf(err)
		span.Failed(kind)
		if a.cfg.Log.Enabled(r.Context(), slog.LevelInfo) {
			word := ""
			if err != nil {
				word = kind.String()
			}
			a.cfg.Log.InfoContext(r.Context(), "request", "operation", string(id), "status", rec.status, "kind", word, "ms", took.Milliseconds())
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
