package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/console/signon/issuertest"
)

// A token is good when the issuer signed it, for this audience, and until it
// runs out.
func TestATokenOfTheIssuerIsAPrincipal(t *testing.T) {
	i := issuertest.New(t)
	s := newShell(t)
	s.ok("remember", "--user", "sarah", "--tier", "note", "I like tea.", "--quote", "I like tea.")
	a := &app{ctx: context.Background(), getenv: func(string) string { return "" }}
	var err error
	if a.set, err = load(globals{Store: &s.store}, func(k string) string {
		return map[string]string{"TENET_OIDC_ISSUER": i.URL, "TENET_OIDC_AUDIENCE": "tenet", "TENET_OIDC_TENANT": "acme"}[k]
	}); err != nil {
		t.Fatal(err)
	}
	keys, _, err := a.keyring()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.opened.close() })
	issuer := a.issuer()
	auth := issuer.authenticator(keys, a.set.values["oidc_audience"])
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := i.Claims("sarah", "tenet")
	with := func(change func(*jwt.Claims)) jwt.Claims {
		c := good
		change(&c)
		return c
	}
	user := map[string]any{"tenet_kind": "user"}
	for _, c := range []struct {
		name, token, want string
	}{
		{"good", i.Token(i.Key, good, user), "user:sarah"},
		{"another key", i.Token(other, good, user), ""},
		{"another audience", i.Token(i.Key, with(func(c *jwt.Claims) { c.Audience = jwt.Audience{"shop"} }), user), ""},
		{"another issuer", i.Token(i.Key, with(func(c *jwt.Claims) { c.Issuer = "https://evil.example" }), user), ""},
		{"run out", i.Token(i.Key, with(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Hour)) }), user), ""},
		{"an admin", i.Token(i.Key, good, map[string]any{"tenet_kind": "admin"}), ""},
		{"no kind", i.Token(i.Key, good, nil), ""},
		{"garbage", "a.b.c", ""},
		{"an unknown API key", "tenet_app_unknown", ""},
	} {
		by, err := auth(t.Context(), c.token)
		if c.want == "" {
			if tenet.KindOf(err) != tenet.Denied {
				t.Errorf("%s: %v %v", c.name, by, err)
			}
			continue
		}
		if err != nil || by.String() != c.want || by.Tenant() != "acme" {
			t.Errorf("%s: %v of %s, %v", c.name, by, by.Tenant(), err)
		}
	}
}

// TestTheConsoleSignsInAtTheConfiguredIssuer: tenet serve with its settings alone.
// The claims are mapped as those of the API's tokens, and the console's token is
// none of them.
func TestTheConsoleSignsInAtTheConfiguredIssuer(t *testing.T) {
	i := issuertest.New(t)
	const public = "https://memory.example.com"
	i.Register(issuertest.Client{ID: "console", Secret: "not to be told", Redirect: public + "/console/sign-in/return"})
	env := map[string]string{
		"TENET_OIDC_ISSUER": i.URL, "TENET_OIDC_AUDIENCE": "tenet", "TENET_OIDC_CLIENT": "console", "TENET_OIDC_CLIENT_SECRET": "not to be told",
		"TENET_PUBLIC_URL": public + "/", "TENET_OIDC_TENANT": "acme",
	}
	_, url := servingAs(t, func(k string) string { return env[k] })
	// The proxy that the public URL names.
	to := http.RoundTripper(proxied(func(q *http.Request) (*http.Response, error) {
		if q.URL.Host == "memory.example.com" {
			q = q.Clone(q.Context())
			q.URL.Scheme, q.URL.Host = "http", strings.TrimPrefix(url, "http://")
		}
		return http.DefaultTransport.RoundTrip(q)
	}))
	come := func(kind string) (int, string) {
		i.Account("olga", map[string]any{"tenet_kind": kind, "tenet_tenant": "globex"})
		jar, _ := cookiejar.New(nil)
		c := &http.Client{Jar: jar, Transport: to}
		in, err := c.Get(public + "/console/sign-in/leave") // and the redirects, there and back
		if err != nil {
			t.Fatal(err)
		}
		in.Body.Close()
		for _, k := range in.Cookies() {
			if !k.Secure || !k.HttpOnly {
				t.Errorf("cookie %v", k)
			}
		}
		page, err := c.Get(public + "/console/subjects")
		if err != nil {
			t.Fatal(err)
		}
		defer page.Body.Close()
		body, _ := io.ReadAll(page.Body)
		return in.StatusCode, string(body)
	}
	if status, page := come("operator"); status != 200 || !strings.Contains(page, "operator:olga") || !strings.Contains(page, ">acme<") {
		t.Errorf("an operator: %d %s", status, page)
	}
	for _, kind := range []string{"admin", "agent", "user", "app", ""} {
		if status, page := come(kind); status != 403 || strings.Contains(page, "olga") {
			t.Errorf("%q: %d %s", kind, status, page)
		}
	}
	q, _ := http.NewRequest("GET", url+"/v1/me", nil)
	q.Header.Set("Authorization", "Bearer "+i.Token(i.Key, i.Claims("olga", "console"), map[string]any{"tenet_kind": "operator"}))
	if resp, err := http.DefaultClient.Do(q); err != nil || resp.StatusCode != 401 {
		t.Errorf("the API takes the console's token: %v %v", resp, err)
	}
}

// TestWithoutTheIssuersKeysNobodyIsRefused: a token that cannot be looked at is
// not a bad one. Keys that were fetched go on being good.
func TestWithoutTheIssuersKeysNobodyIsRefused(t *testing.T) {
	for name, fetched := range map[string]bool{"before the first token": false, "after it": true} {
		i := issuertest.New(t)
		a := &app{ctx: t.Context()}
		a.set.values = map[string]string{"oidc_issuer": i.URL, "oidc_tenant": "acme", "oidc_kind": "operator", "oidc_client": "console", "public_url": "http://localhost"}
		issuer := a.issuer()
		auth, on := issuer.authenticator(nil, "tenet"), issuer.signOn(a.set.values, a.set.limits)
		api, console := i.Token(i.Key, i.Claims("olga", "tenet"), nil), i.Token(i.Key, i.Claims("olga", "console"), nil)
		if fetched {
			if _, err := auth(t.Context(), api); err != nil {
				t.Fatal(err)
			}
			if _, err := on.Principal(t.Context(), console); err != nil {
				t.Fatal(err)
			}
		}
		i.Stop()
		_, err1 := auth(t.Context(), api)
		_, err2 := on.Principal(t.Context(), console)
		want := tenet.Unavailable
		if fetched {
			want = tenet.NoError
		}
		if tenet.KindOf(err1) != want || tenet.KindOf(err2) != want {
			t.Errorf("%s: %v, %v", name, err1, err2)
		}
	}
}

// TestAnIssuerThatIsAwayKeepsNobodyElseOut: the server starts without it, keys
// work, its own people are told to come again, and they get in once it answers.
func TestAnIssuerThatIsAwayKeepsNobodyElseOut(t *testing.T) {
	i := issuertest.New(t)
	const public = "http://localhost"
	i.Register(issuertest.Client{ID: "console", Redirect: public + "/console/sign-in/return"})
	var up atomic.Bool
	to, err := url.Parse(i.URL)
	if err != nil {
		t.Fatal(err)
	}
	way := httputil.NewSingleHostReverseProxy(to)
	way.ModifyResponse = func(r *http.Response) error { // the document must name where it was asked for
		b, err := io.ReadAll(r.Body)
		b = bytes.ReplaceAll(b, []byte(i.URL), []byte("http://"+r.Request.Header.Get("X-Asked")))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		r.Header.Set("Content-Length", strconv.Itoa(len(b)))
		return err
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !up.Load() {
			http.Error(w, "", http.StatusBadGateway)
			return
		}
		q.Header.Set("X-Asked", q.Host)
		way.ServeHTTP(w, q)
	}))
	t.Cleanup(front.Close)
	env := map[string]string{"TENET_OIDC_ISSUER": front.URL, "TENET_OIDC_AUDIENCE": "tenet", "TENET_OIDC_TENANT": "acme", "TENET_OIDC_KIND": "operator", "TENET_OIDC_CLIENT": "console", "TENET_PUBLIC_URL": public}
	at, base := servingAs(t, func(k string) string { return env[k] })
	at("app").ok("facts", "--user", "sarah")
	claims := i.Claims("olga", "tenet")
	claims.Issuer = front.URL
	ask := func(path string) (*http.Response, string) {
		q, _ := http.NewRequest("GET", base+path, nil)
		q.Header.Set("Authorization", "Bearer "+i.Token(i.Key, claims, nil))
		resp, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp, string(body)
	}
	if resp, body := ask("/v1/me"); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "issuer") {
		t.Errorf("a token of an issuer that is away: %d %s", resp.StatusCode, body)
	}
	if resp, body := ask("/console/sign-in/leave"); resp.StatusCode != 503 || !strings.Contains(body, "The issuer cannot be asked now.") || resp.Header.Get("Location") != "" {
		t.Errorf("to an issuer that is away: %d %s", resp.StatusCode, body)
	}
	up.Store(true)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		resp, body := ask("/v1/me")
		if resp.StatusCode == 200 && strings.Contains(body, "olga") {
			break
		}
		if resp.StatusCode != 503 || time.Now().After(end) {
			t.Fatalf("once the issuer answers: %d %s", resp.StatusCode, body)
		}
	}
	if resp, _ := ask("/console/sign-in/leave"); resp.StatusCode != 303 || !strings.HasPrefix(resp.Header.Get("Location"), front.URL+"/authorize?") {
		t.Errorf("the way to the issuer: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
}

// TestATokenForNobodyIsNotForEverybody: an issuer that lists whom somebody answers
// for, and has nobody on the list.
func TestATokenForNobodyIsNotForEverybody(t *testing.T) {
	sarah, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"operator", "app"} {
		for _, subjects := range [][]string{nil, {}, {"user:bob"}, {"user:sarah"}} {
			by, err := claimMap{tenant: "acme"}.principal(claims{Subject: "olga", Kind: kind, Subjects: subjects})
			if want := subjects == nil || len(subjects) > 0 && subjects[0] == "user:sarah"; err != nil || by.MayReach(sarah) != want {
				t.Errorf("%s for %v reaches Sarah: %v, %v", kind, subjects, !want, err)
			}
		}
	}
}

type proxied func(*http.Request) (*http.Response, error)

func (f proxied) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

func TestTheIssuersSettingsAreChecked(t *testing.T) {
	for value, ok := range map[string]bool{
		"https://memory.example.com": true, "https://memory.example.com/": true, "http://localhost:7766": true, "http://127.0.0.1:7766": true, "http://[::1]:7766": true,
		"http://memory.example.com": false, "https://memory.example.com/x": false, "memory.example.com": false, "https://u:p@h": false, "https://": false,
		"javascript:alert(1)": false, "https://h?x=1": false, "http://127.0.0.1.evil.example": false,
	} {
		env := map[string]string{"TENET_OIDC_ISSUER": "https://issuer.example", "TENET_OIDC_AUDIENCE": "tenet", "TENET_OIDC_CLIENT": "console", "TENET_PUBLIC_URL": value}
		if _, err := load(globals{}, func(k string) string { return env[k] }); (err == nil) != ok {
			t.Errorf("public_url %q: %v", value, err)
		}
	}
	for _, env := range []map[string]string{
		{"TENET_OIDC_CLIENT": "console", "TENET_PUBLIC_URL": "https://h"},
		{"TENET_OIDC_CLIENT": "console", "TENET_OIDC_ISSUER": "https://i", "TENET_OIDC_AUDIENCE": "a"},
	} {
		if _, err := load(globals{}, func(k string) string { return env[k] }); err == nil || !strings.Contains(err.Error(), "oidc_client") {
			t.Errorf("%v: %v", env, err)
		}
	}
	if s, err := load(globals{}, func(k string) string { return map[string]string{"TENET_OIDC_CLIENT_SECRET": "xyz"}[k] }); err != nil || s.masked("oidc_client_secret") != "********" {
		t.Errorf("the secret shows: %v", err)
	}
}
