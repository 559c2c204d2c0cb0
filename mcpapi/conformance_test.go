//go:build conformance

package mcpapi_test

import (
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/mcpapi"
)

// TestServeForConformance serves Tenet's own stack - authentication, the
// handler, its middleware and its tools - with the fixtures that the protocol's
// conformance suite calls by name beside them, until it is killed. The fixtures
// are the SDK's, laid over this package by scripts/test-mcp.sh.
func TestServeForConformance(t *testing.T) {
	addr := os.Getenv("TENET_CONFORMANCE_ADDR")
	if addr == "" {
		t.Fatal("TENET_CONFORMANCE_ADDR: where to listen; run scripts/test-mcp.sh")
	}
	w := newWorld(t)
	fixtures := func(srv *mcp.Server) {
		registerTools(srv)
		registerResources(srv)
		registerPrompts(srv)
		go watchedResourceUpdater(t.Context(), srv)
	}
	c := mcpapi.Config{Memory: w.mem, Authenticate: w.keys.Principal, Stateful: os.Getenv("TENET_CONFORMANCE_STATEFUL") != ""}
	if os.Getenv("TENET_CONFORMANCE_PLAIN") == "" {
		c.Add = fixtures
		c.Options = mcp.ServerOptions{
			CompletionHandler: completionHandler, SubscribeHandler: subscribeHandler, UnsubscribeHandler: unsubscribeHandler,
			Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
		}
	}
	srv, err := mcpapi.New(c)
	ok(t, err)
	key, inner := w.key("acme", tenet.App, "sarah"), srv.Handler("/mcp")
	ln, err := net.Listen("tcp", addr)
	ok(t, err)
	t.Fatal(http.Serve(ln, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") { // the suite sends none
			r.Header.Set("Authorization", "Bearer "+key)
		}
		inner.ServeHTTP(rw, r)
	})))
}
