package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/console"
	"github.com/tenet-memory/tenet/httpapi"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

// serveCmd runs the HTTP server. It drains on an interrupt: what has begun is
// answered, nothing new is taken.
type serveCmd struct {
	Drain   time.Duration `help:"How long to wait for requests under way." default:"20s"`
	Quiet   bool          `help:"No log line for each request."`
	MaxBody int64         `help:"Largest request body in bytes." default:"2097152"`
}

// serverDebounce is how soon after a message its session is consolidated when
// the configuration does not say: a server has a worker, a command has not.
const serverDebounce = 300 * time.Millisecond

// consolidateEvery is how often the server looks for due sessions.
const consolidateEvery = 200 * time.Millisecond

func (c serveCmd) Run(a *app) error {
	if a.set.source["debounce"] == "default" {
		a.set.debounce = serverDebounce
	}
	level := slog.LevelInfo
	if c.Quiet {
		level = slog.LevelWarn
	}
	log := slog.New(trace.Log(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: level})))
	spans, flush, err := a.tracing(log)
	if err != nil {
		return err
	}
	defer flush()
	a.log = log
	mem, err := a.memory(writes)
	if err != nil {
		return err
	}
	keys, secret, err := a.keyring()
	if err != nil {
		return err
	}
	issuer := a.issuer()
	go issuer.look(a.ctx, log)
	auth := a.set.limits.Around(issuer.authenticator(keys, a.set.values["oidc_audience"]))
	stop, err := a.watch(mem, log)
	if err != nil {
		return err
	}
	defer stop()
	api, err := httpapi.New(httpapi.Config{
		Memory: mem, Keys: keys, Authenticate: auth, Secret: secret("cursors"), MaxBody: c.MaxBody, Version: version, Log: log,
		Reextract: func(ctx context.Context, o *memory.Operator, name string, since time.Time, commit bool) (memory.Reextraction, error) {
			x, err := a.extractor(name)
			if err != nil {
				return memory.Reextraction{}, err
			}
			return o.Reextract(ctx, x, since, commit)
		},
	})
	if err != nil {
		return err
	}
	srv := api.Server()
	if srv.Handler, err = a.agentSide(api, auth, log); err != nil {
		return err
	}
	con, err := console.New(console.Config{
		Memory: mem, Authenticate: auth, SignOn: issuer.signOn(a.set.values, a.set.limits),
		Secure: strings.HasPrefix(a.set.values["public_url"], "https:"),
		Policy: func() string { return policyText(a.set.policy) },
		Trial: func(ctx context.Context, o *memory.Operator, policy string, n int) (memory.Trial, error) {
			book, err := compilePolicy([]byte(policy))
			if err != nil {
				return memory.Trial{}, err
			}
			return o.Trial(ctx, book.gate, n)
		},
	})
	if err != nil {
		return err
	}
	srv.Handler = trace.Requests(spans, besideConsole(con, srv.Handler))
	ln, err := net.Listen("tcp", a.set.values["listen"])
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "serve", "cannot listen on %s: %s", a.set.values["listen"], listenReason(err))
	}
	if err := a.firstKeys(keys); err != nil {
		ln.Close()
		return err
	}
	a.printf("tenet serves http://%s (OpenAPI: /openapi.json); stop with an interrupt\n", ln.Addr())
	go con.Watch(a.ctx, sampleEvery)
	return c.serve(trace.With(a.ctx, spans), srv, mem, ln, log)
}

// sampleEvery is how often the console reads the counters for its charts.
const sampleEvery = 10 * time.Second

// besideConsole sends what is under /console to the console.
func besideConsole(con, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/console":
			http.Redirect(w, r, "/console/", http.StatusSeeOther)
		case strings.HasPrefix(r.URL.Path, "/console/"):
			trace.Current(r.Context()).Name("console")
			con.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// serve answers until the context ends, then drains.
func (c serveCmd) serve(ctx context.Context, srv *http.Server, mem *memory.Memory, ln net.Listener, log *slog.Logger) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() {
		if err := mem.Run(work, consolidateEvery); err != nil && tenet.KindOf(err) != tenet.Unavailable {
			done <- err
			return
		}
		done <- nil
	}()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Drain)
		err = srv.Shutdown(drain)
		cancel()
		log.Info("drained", "complete", err == nil)
	}
	stop()
	<-done
	if errors.Is(err, http.ErrServerClosed) || err == nil {
		return nil
	}
	srv.Close()
	return tenet.Errorf(tenet.Unavailable, "serve", "the server stopped with requests under way")
}

func listenReason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return "the address is not usable"
}

// secretStore is a database that keeps keys and derives the server's secrets.
type secretStore interface {
	memory.KeyStore
	Secret(purpose string) []byte
}

// keyring opens the API keys beside the engine.
func (a *app) keyring() (*memory.Keyring, func(string) []byte, error) {
	if _, err := a.memory(writes); err != nil {
		return nil, nil, err
	}
	db, ok := a.opened.db.(secretStore)
	if !ok {
		return nil, nil, tenet.Errorf(tenet.Unavailable, "keys", "this store keeps no API keys")
	}
	k, err := memory.NewKeyring(db, a.opened.gate, db.Secret("api keys"), nil)
	return k, db.Secret, err
}

// firstKeys makes an admin and an app key for the configured tenant when it
// has none, and leaves each in a file that only its owner may read.
func (a *app) firstKeys(keys *memory.Keyring) error {
	for _, kind := range []tenet.PrincipalKind{tenet.Admin, tenet.App} {
		none, err := keys.None(a.ctx, a.set.tenant, kind)
		if err != nil {
			return err
		}
		if !none {
			continue
		}
		beside := "tenet" // in the working folder, when the database is no file
		if a.set.store.scheme == "sqlite" {
			beside = a.set.store.path
		}
		name := fmt.Sprintf("%s.%s-key", beside, kind)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			err = f.Chmod(0o600)
		}
		if err != nil {
			return tenet.Errorf(tenet.Unavailable, "serve", "the first %s key cannot be written beside the database: %s", kind, osReason(err))
		}
		_, secret, err := keys.Issue(a.ctx, a.set.tenant, memory.NewKey{Kind: kind, Name: "first-" + kind.String()})
		if err != nil {
			f.Close()
			return err
		}
		if _, err := fmt.Fprintln(f, secret); err != nil || f.Close() != nil {
			return tenet.Errorf(tenet.Unavailable, "serve", "the first %s key cannot be written", kind)
		}
		a.printf("first %s key of tenant %s: in %s\n", kind, printable(a.set.tenant), filepath.Clean(name))
	}
	return nil
}
