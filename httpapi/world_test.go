package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/httpapi"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// world is a server over a real database file, with a key of every kind in two
// tenants.
type world struct {
	testing.TB
	db   *sqlite.DB
	mem  *memory.Memory
	keys *memory.Keyring
	api  *httpapi.API
	url  string
	n    atomic.Int64
	keyd map[string]string // "acme/app" -> secret
}

var kinds = []tenet.PrincipalKind{tenet.Agent, tenet.App, tenet.EndUser, tenet.Connector, tenet.Operator, tenet.Admin}

func newGate(t testing.TB) *gate.Gate {
	p, err := policy.New(policy.Config{})
	ok(t, err)
	keys := p.Registry()
	return gate.New([]gate.Rule{p}, gate.WithKeys(p.Version(), func(key string) (gate.KeySpec, bool) {
		k, known := keys.Lookup(key)
		return gate.KeySpec{Multi: k.Many, Safety: k.Safety, Overridable: k.Overridable}, known
	}))
}

func newWorld(t testing.TB, opts ...func(*httpapi.Config)) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	g := newGate(t)
	mem, err := memory.Open(t.Context(), memory.Config{Ledger: db, Sessions: db, Gate: g, Debounce: 50 * time.Millisecond})
	ok(t, err)
	keys, err := memory.NewKeyring(db, g, db.Secret("api keys"), nil)
	ok(t, err)
	c := httpapi.Config{Memory: mem, Keys: keys, Authenticate: keys.Principal, Secret: db.Secret("cursors"),
		Reextract: func(ctx context.Context, o *memory.Operator, _ string, since time.Time, commit bool) (memory.Reextraction, error) {
			return o.Reextract(ctx, model.Verbatim{}, since, commit)
		}}
	for _, o := range opts {
		o(&c)
	}
	api, err := httpapi.New(c)
	ok(t, err)
	srv := httptest.NewUnstartedServer(api)
	srv.Config = api.Server()
	srv.Start()
	t.Cleanup(srv.Close)
	w := &world{TB: t, db: db, mem: mem, keys: keys, api: api, url: srv.URL, keyd: map[string]string{}}
	for _, tenant := range []string{"acme", "globex"} {
		for _, k := range kinds {
			n := memory.NewKey{Kind: k, Name: "test-" + k.String()}
			switch k {
			case tenet.EndUser:
				n.Subjects = []tenet.Subject{tenet.User("sarah")}
			case tenet.Connector:
				n.Owns = []string{"plan"}
			}
			_, secret, err := keys.Issue(t.Context(), tenant, n)
			ok(t, err)
			w.keyd[tenant+"/"+k.String()] = secret
		}
	}
	return w
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// answer is a response, read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// at reads a member of the JSON body by a dotted path.
func (a answer) at(path string) any {
	var v any
	json.Unmarshal(a.body, &v)
	for p := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[p]
		case []any:
			var i int
			fmt.Sscan(p, &i)
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// with is a header of a request; once is the common one.
type with [2]string

func once(key string) with { return with{"Idempotency-Key", key} }

// as is a caller: "acme/app".
type as struct {
	*world
	secret string
}

func (w *world) as(who string) as {
	if !strings.Contains(who, "/") {
		who = "acme/" + who
	}
	return as{w, w.keyd[who]}
}

func (c as) do(method, path string, body any, headers ...with) answer {
	c.Helper()
	a, err := c.try(c.Context(), http.DefaultClient, method, path, body, headers...)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (c as) try(ctx context.Context, client *http.Client, method, path string, body any, headers ...with) (answer, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, r)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.secret != "" {
		req.Header.Set("Authorization", "Bearer "+c.secret)
	}
	for _, h := range headers {
		req.Header.Set(h[0], h[1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, data}, err
}

// want demands a status.
func (w *world) want(a answer, status int) answer {
	w.Helper()
	if a.status != status {
		w.Errorf("got %v, want %d", a, status)
	}
	return a
}

func (w *world) key() with { return once(fmt.Sprintf("key-%d", w.n.Add(1))) }

type obj = map[string]any

func say(role, text string) obj {
	return obj{"messages": []obj{{"role": role, "text": text}}}
}

const allergy = "I have a severe shellfish allergy, please flag any seafood promotions."

// remember puts a fact with its quote and demands that it is kept.
func (w *world) remember(user, key, text string) answer {
	w.Helper()
	return w.want(w.as("app").do("POST", "/v1/users/"+user+"/memories", obj{"tier": "fact", "key": key, "text": text, "quote": text}, w.key()), 201)
}
