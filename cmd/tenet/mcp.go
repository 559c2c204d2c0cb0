package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/httpapi"
	"github.com/tenet-memory/tenet/mcpapi"
	"github.com/tenet-memory/tenet/trace"
)

// mcpCmd serves one user's memory to an agent over standard input and output.
type mcpCmd struct {
	CompatMemory bool `name:"compat-memory" help:"Speak the nine tools of the protocol's reference memory server."`
}

// Run serves until the client leaves, and meanwhile consolidates what is due:
// there may be no server that does. Standard output is the protocol's.
func (c mcpCmd) Run(a *app) error {
	if a.set.source["debounce"] == "default" {
		a.set.debounce = serverDebounce
	}
	scope, err := a.scope()
	if err != nil {
		return err
	}
	by, err := a.principal(tenet.Agent)
	if err != nil {
		return err
	}
	mem, err := a.memory(writes)
	if err != nil {
		return err
	}
	srv, err := mcpapi.New(mcpapi.Config{Memory: mem, CompatMemory: c.CompatMemory, Version: version})
	if err != nil {
		return err
	}
	spans, flush, err := a.tracing(slog.New(slog.NewJSONHandler(a.err, nil)))
	if err != nil {
		return err
	}
	defer flush()
	ctx := trace.With(a.ctx, spans)
	work, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- mem.Run(work, consolidateEvery) }()
	err = srv.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(a.in), Writer: unclosed{a.out}}, by, scope)
	stop()
	<-done
	if err != nil && a.ctx.Err() == nil && tenet.KindOf(err) == tenet.Internal {
		return tenet.Errorf(tenet.Unavailable, "mcp", "the client's connection broke")
	}
	if a.ctx.Err() != nil {
		return nil
	}
	return err
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// agentSide adds what agents' frameworks speak to the server's own API.
func (a *app) agentSide(api *httpapi.API, auth func(context.Context, string) (tenet.Principal, error), log *slog.Logger) (http.Handler, error) {
	mem := a.opened.Memory
	tools, err := mcpapi.New(mcpapi.Config{Memory: mem, Authenticate: auth, Version: version, Log: log, Observe: api.ObserveMCP})
	if err != nil {
		return nil, err
	}
	compat, err := mcpapi.New(mcpapi.Config{Memory: mem, Authenticate: auth, CompatMemory: true, Version: version, Log: log, Observe: api.ObserveMCP})
	if err != nil {
		return nil, err
	}
	sides := map[string]http.Handler{"mcp": tools.Handler("/mcp"), "mcp-memory": compat.Handler("/mcp-memory")}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if h := sides[first]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), nil
}
