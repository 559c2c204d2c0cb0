package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/tenet-memory/tenet/trace"
)

// healthRoutes serve whoever runs the server; they need no key and say nothing
// about anybody.
func (a *API) healthRoutes() {
	scraped := a.metrics.handler()
	// Alive: this process answers. It asks no store, so that a database that
	// is away does not get every replica restarted.
	a.router.Method(http.MethodGet, "/healthz", a.route("healthz", func(w http.ResponseWriter, _ *http.Request) error {
		return plain(w, "ok\n")
	}))
	// Ready: the stores answer and take a write.
	a.router.Method(http.MethodGet, "/readyz", a.route("readyz", func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if err := a.mem.Ready(ctx); err != nil {
			return err
		}
		return plain(w, "ready\n")
	}))
	a.router.Method(http.MethodGet, "/metrics", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trace.Current(r.Context()).Name("metrics") // not a.route: a scrape would count itself
		scraped.ServeHTTP(w, r)
	}))
}

func plain(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte(text))
	return nil
}
