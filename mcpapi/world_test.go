package mcpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/mcpapi"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// world is an engine over a real database file, served over streamable HTTP.
type world struct {
	testing.TB
	db   *sqlite.DB
	mem  *memory.Memory
	keys *memory.Keyring
	url  string
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func newGate(t testing.TB) *gate.Gate {
	p, err := policy.New(policy.Config{})
	ok(t, err)
	keys := p.Registry()
	return gate.New([]gate.Rule{p}, gate.WithKeys(p.Version(), func(key string) (gate.KeySpec, bool) {
		k, known := keys.Lookup(key)
		return gate.KeySpec{Multi: k.Many, Safety: k.Safety, Overridable: k.Overridable}, known
	}))
}

func newWorld(t testing.TB, opts ...func(*mcpapi.Config)) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	g := newGate(t)
	mem, err := memory.Open(t.Context(), memory.Config{Ledger: db, Sessions: db, Gate: g, Debounce: time.Millisecond})
	ok(t, err)
	keys, err := memory.NewKeyring(db, g, db.Secret("api keys"), nil)
	ok(t, err)
	c := mcpapi.Config{Memory: mem, Authenticate: keys.Principal}
	for _, o := range opts {
		o(&c)
	}
	srv, err := mcpapi.New(c)
	ok(t, err)
	web := httptest.NewServer(srv.Handler("/mcp"))
	t.Cleanup(web.Close)
	return &world{t, db, mem, keys, web.URL}
}

// key issues a key of a tenant, narrowed to the users when there are any.
func (w *world) key(tenant string, kind tenet.PrincipalKind, users ...string) string {
	w.Helper()
	n := memory.NewKey{Kind: kind, Name: "test"}
	for _, u := range users {
		n.Subjects = append(n.Subjects, tenet.User(u))
	}
	_, secret, err := w.keys.Issue(w.Context(), tenant, n)
	ok(w, err)
	return secret
}

// bearer sends a key with every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// connect is the SDK's own client.
func (w *world) connect(path, key string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(w.Context(), &mcp.StreamableClientTransport{Endpoint: w.url + path, HTTPClient: &http.Client{Transport: bearer{key}}, MaxRetries: -1}, nil)
}

// as connects or ends the test.
func (w *world) as(path, key string) *client {
	w.Helper()
	s, err := w.connect(path, key)
	ok(w, err)
	w.Cleanup(func() { s.Close() })
	return &client{w, s}
}

type client struct {
	*world
	*mcp.ClientSession
}

type obj = map[string]any

// call returns a tool's structured answer and what a model would read.
func (c *client) call(tool string, args any) (obj, string, bool) {
	c.world.Helper()
	r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	ok(c.world, err)
	text := ""
	for _, part := range r.Content {
		if t, is := part.(*mcp.TextContent); is {
			text += t.Text
		}
	}
	out, _ := r.StructuredContent.(map[string]any)
	return out, text, r.IsError
}

// must demands success.
func (c *client) must(tool string, args any) (obj, string) {
	c.world.Helper()
	out, text, failed := c.call(tool, args)
	if failed {
		c.world.Fatalf("%s: %s", tool, text)
	}
	return out, text
}
