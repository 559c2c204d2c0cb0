package console

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/console/signon"
	"github.com/tenet-memory/tenet/console/signon/issuertest"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/policy/cel"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// world is a console over a real database file, with keys in two tenants.
type world struct {
	testing.TB
	db   *sqlite.DB
	gate *gate.Gate
	mem  *memory.Memory
	con  *Console
	url  string
	keyd map[string]string
	cfg  Config
	now  time.Time

	mu       sync.Mutex
	statuses map[string]int // of the last answer, by method and path
}

// ServeHTTP is the console, and remembers how each route answered last.
func (w *world) ServeHTTP(rw http.ResponseWriter, q *http.Request) {
	s := &statusOf{rw, 200}
	w.con.ServeHTTP(s, q)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statuses[q.Method+" "+q.URL.Path] = s.status
}

func (w *world) status(route string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.statuses[route]
}

type statusOf struct {
	http.ResponseWriter
	status int
}

func (s *statusOf) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWorld(t testing.TB) *world {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	g := gate.New(policy.Default(), policy.Keys())
	w := &world{TB: t, db: db, gate: g, keyd: map[string]string{}, now: time.Now(), statuses: map[string]int{}}
	w.mem, err = memory.Open(t.Context(), memory.Config{Ledger: db, Sessions: db, Gate: g, Now: func() time.Time { return w.now }})
	ok(t, err)
	keys, err := memory.NewKeyring(db, g, db.Secret("api keys"), nil)
	ok(t, err)
	for _, tenant := range []string{"acme", "globex"} {
		for _, k := range []tenet.PrincipalKind{tenet.Agent, tenet.App, tenet.Operator, tenet.Admin} {
			_, w.keyd[tenant+"/"+k.String()], err = keys.Issue(t.Context(), tenant, memory.NewKey{Kind: k, Name: "k"})
			ok(t, err)
		}
	}
	_, w.keyd["acme, of one/operator"], err = keys.Issue(t.Context(), "acme", memory.NewKey{Kind: tenet.Operator, Name: "one", Subjects: []tenet.Subject{tenet.User("u001")}})
	ok(t, err)
	w.cfg = Config{Memory: w.mem, Authenticate: keys.Principal, Now: func() time.Time { return w.now }, Policy: func() string { return "version: 1\n" },
		Trial: func(ctx context.Context, o *memory.Operator, when string, n int) (memory.Trial, error) {
			rule, err := cel.New([]cel.Rule{{Name: "trial", When: when}})
			if err != nil {
				return memory.Trial{}, err
			}
			return o.Trial(ctx, gate.New(append(policy.Default(), rule), policy.Keys()), n)
		}}
	w.con, err = New(w.cfg)
	ok(t, err)
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

// withIssuer makes the console anew, with an issuer beside its keys.
func (w *world) withIssuer() *issuertest.Issuer {
	i := issuertest.New(w)
	c := issuertest.Client{ID: "tenet-console", Secret: "not to be told", Redirect: w.url + "/console/sign-in/return"}
	i.Register(c)
	f := signon.New(signon.At(i.URL), c.ID, c.Secret, c.Redirect)
	w.cfg.SignOn = &SignOn{Issuer: f, Principal: func(ctx context.Context, raw string) (tenet.Principal, error) {
		token, err := f.Verify(ctx, raw)
		if err != nil {
			return tenet.Principal{}, err
		}
		var says struct{ Kind tenet.PrincipalKind }
		if token.Claims(&says) != nil || says.Kind == 0 {
			return tenet.Principal{}, tenet.Errorf(tenet.Denied, "test", "no kind")
		}
		return tenet.NewPrincipal(says.Kind, "acme", token.Subject)
	}}
	var err error
	w.con, err = New(w.cfg)
	ok(w, err)
	return i
}

func (w *world) scope(tenant, user string) tenet.Scope {
	s, err := tenet.NewScope(tenant, tenet.User(user))
	ok(w, err)
	return s
}

func (w *world) principal(kind tenet.PrincipalKind, tenant, id string) tenet.Principal {
	p, err := tenet.NewPrincipal(kind, tenant, id)
	ok(w, err)
	return p
}

func (w *world) remember(tenant, key, text string) tenet.Verdict {
	scope, app := w.scope(tenant, "sarah"), w.principal(tenet.App, tenant, "app")
	v, err := w.mem.Remember(w.Context(), app, tenet.Fact(scope, key, text).Quoting(text))
	if tenet.KindOf(err) != tenet.Refused { // which keeps the text for review
		ok(w, err)
	}
	return v
}

type browser struct {
	*world
	*http.Client
}

func (w *world) browser() browser {
	jar, _ := cookiejar.New(nil)
	return browser{w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

var tokenIn = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func token(body string) string {
	if m := tokenIn.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return ""
}

func (b browser) do(method, path string, form url.Values) (*http.Response, string) {
	b.Helper()
	q, err := http.NewRequest(method, b.url+path, strings.NewReader(form.Encode()))
	ok(b, err)
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r, err := b.Do(q)
	ok(b, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	ok(b, err)
	return r, string(body)
}

func (b browser) signIn(who string) (*http.Response, string) {
	_, body := b.do("GET", "/console/sign-in", nil)
	return b.do("POST", "/console/sign-in", url.Values{"csrf": {token(body)}, "key": {b.keyd[who]}})
}

func (b browser) session() string {
	u, _ := url.Parse(b.url + "/console/")
	for _, c := range b.Jar.Cookies(u) {
		if c.Name == cookieName {
			return c.Value
		}
	}
	return ""
}

func at(r route) string { return strings.TrimSuffix(r.path, "{$}") }
