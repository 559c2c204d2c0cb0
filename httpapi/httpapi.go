// Package httpapi serves the engine over HTTP: /v1 with an OpenAPI 3.1
// document made from the same Go types that are decoded and encoded.
//
// One generic path (operation.go) authenticates, decides what the principal's
// kind may reach, makes the scope from the principal's tenant and the subject
// in the path, decodes and checks the whole request before any store is
// touched, calls one method of the engine, and encodes. A handler names that
// method and holds no rule of its own.
//
// The package imports tenet and memory, chi for routing, huma for schemas and
// the Prometheus client. It cannot name a database, and answers and logs never
// hold memory text that was not asked for: problems name fields, not values.
//
// huma's own handlers are not used: their errors echo the offending value, and
// the override is a package variable that would also change the API of a
// program that embeds this one.
package httpapi

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

// Config is what the API is made of. Memory and Authenticate are required.
type Config struct {
	Memory *memory.Memory
	// Authenticate says who a credential speaks for; Denied for nobody.
	Authenticate memory.Authenticator
	// Keys serves /v1/keys. Default: no such routes.
	Keys *memory.Keyring
	// Reextract runs the named extractor (rules, verbatim, anthropic, openai) over
	// the turns of a scope. Default: no such route.
	Reextract func(ctx context.Context, o *memory.Operator, extractor string, since time.Time, commit bool) (memory.Reextraction, error)
	// Secret signs cursors. Give the same one to all replicas. Default: random.
	Secret []byte
	// MaxBody bounds a request's body. Default: 2 MiB.
	MaxBody int64
	// Timeout bounds the work on one request, beside End with wait. Default: 30 s.
	Timeout time.Duration
	// OnceFor is how long an Idempotency-Key is remembered. Default: 24 h.
	OnceFor time.Duration
	// Version goes into the document.
	Version string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log receives a line for each request: operation, status and the request's
	// id, never the path. Default: none.
	Log *slog.Logger
}

// API is the HTTP face of one engine. It is an http.Handler.
type API struct {
	cfg      Config
	mem      *memory.Memory
	router   chi.Router
	registry huma.Registry
	document *huma.OpenAPI
	metrics  *metrics
	inFlight inFlight
	handler  http.Handler
	raw      []byte // the document as it is served
}

// New makes the API. It returns an Invalid error when a required part is
// missing.
func New(c Config) (*API, error) {
	if c.Memory == nil || c.Authenticate == nil {
		return nil, tenet.Errorf(tenet.Invalid, "http", "no engine or no authenticator")
	}
	orElse(&c.MaxBody, 2<<20)
	orElse(&c.Timeout, 30*time.Second)
	orElse(&c.OnceFor, 24*time.Hour)
	orElse(&c.Version, "dev")
	if len(c.Secret) == 0 {
		c.Secret = make([]byte, 32)
		rand.Read(c.Secret)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = slog.New(trace.Log(c.Log.Handler()))
	a := &API{cfg: c, mem: c.Memory, router: chi.NewRouter(), metrics: newMetrics(c.Memory)}
	a.inFlight.keys = map[string]bool{}
	a.registry, a.document = newDocument(c.Version)
	a.router.NotFound(a.bare(func(w http.ResponseWriter, r *http.Request) error {
		return tenet.Errorf(tenet.NotFound, "route", "no such path")
	}))
	a.router.MethodNotAllowed(a.methodNotAllowed)
	a.sessionRoutes()
	a.statusRoutes()
	a.runRoutes()
	a.factRoutes()
	a.documentRoutes()
	a.memoryToolRoutes()
	a.mem0Routes()
	a.threadRoutes()
	a.reviewRoutes()
	a.pipelineRoutes()
	a.boundaryRoutes()
	a.erasureRoutes()
	a.portableRoutes()
	a.legalHoldRoutes()
	a.accountRoutes()
	if err := a.serveDocument(); err != nil {
		return nil, err
	}
	a.healthRoutes()
	a.handler = a.outer(a.router)
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Server is an http.Server for the API with time-outs that a slow or half-open
// client can't outlast. The caller sets Addr or gives a listener; Shutdown
// drains.
func (a *API) Server() *http.Server {
	return &http.Server{
		Handler:           a,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      a.cfg.Timeout + 45*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(a.cfg.Log.Handler(), slog.LevelDebug),
	}
}

func orElse[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
