// Package issuertest is an OIDC issuer for tests: it speaks the authorization
// code flow with PKCE over HTTP and signs real tokens. Whoever comes is the
// account that the test says; there is no password.
package issuertest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Client is the one client that the issuer knows.
type Client struct{ ID, Secret, Redirect string }

// Issuer is a running issuer with one signing key.
type Issuer struct {
	URL string // on another site than 127.0.0.1
	Key *rsa.PrivateKey

	srv     *httptest.Server
	t       testing.TB
	mu      sync.Mutex
	client  Client
	account map[string]any
	codes   map[string]grant
	change  func(url.Values)
}

// grant is what a code is good for, once.
type grant struct {
	challenge, nonce string
	account          map[string]any
}

// New starts an issuer.
func New(t testing.TB) *Issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{Key: key, t: t, codes: map[string]grant{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/jwks", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "response_types_supported": []string{"code"},
			"subject_types_supported": []string{"public"}, "code_challenge_methods_supported": []string{"S256"},
		})
	})
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "one", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.exchange)
	i.srv = httptest.NewServer(mux)
	t.Cleanup(i.srv.Close)
	i.URL = strings.Replace(i.srv.URL, "127.0.0.1", "localhost", 1)
	return i
}

// Stop ends the issuer.
func (i *Issuer) Stop() { i.srv.Close() }

// Register says who the client is.
func (i *Issuer) Register(c Client) { i.mu.Lock(); defer i.mu.Unlock(); i.client = c }

// Account says who comes next: a subject and further claims.
func (i *Issuer) Account(subject string, claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.account = map[string]any{"sub": subject}
	for k, v := range claims {
		i.account[k] = v
	}
}

// Change alters what the issuer sends back with the browser.
func (i *Issuer) Change(f func(url.Values)) { i.mu.Lock(); defer i.mu.Unlock(); i.change = f }

// Token signs claims with a key.
func (i *Issuer) Token(key *rsa.PrivateKey, c jwt.Claims, more map[string]any) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "one"}}, nil)
	if err != nil {
		i.t.Error(err)
		return ""
	}
	text, err := jwt.Signed(s).Claims(c).Claims(more).Serialize()
	if err != nil {
		i.t.Error(err)
	}
	return text
}

// Claims are those of a token for a subject, good for an hour.
func (i *Issuer) Claims(subject, audience string) jwt.Claims {
	now := time.Now()
	return jwt.Claims{Issuer: i.URL, Subject: subject, Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(now.Add(time.Hour)), IssuedAt: jwt.NewNumericDate(now)}
}

func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := r.URL.Query()
	switch {
	case q.Get("client_id") != i.client.ID || q.Get("redirect_uri") != i.client.Redirect:
		http.Error(w, "an unknown client or redirect", 400) // and never sent there
		return
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || !strings.Contains(q.Get("scope"), "openid"):
		http.Error(w, "want a code, with PKCE", 400)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if i.account == nil {
		back.Set("error", "access_denied")
	} else {
		code := rand.Text()
		i.codes[code] = grant{q.Get("code_challenge"), q.Get("nonce"), i.account}
		back.Set("code", code)
	}
	if i.change != nil {
		i.change(back)
	}
	http.Redirect(w, r, i.client.Redirect+"?"+back.Encode(), http.StatusFound)
}

func (i *Issuer) exchange(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != i.client.ID || secret != i.client.Secret {
		answer(w, 401, map[string]any{"error": "invalid_client"})
		return
	}
	code := r.PostFormValue("code")
	g, known := i.codes[code]
	delete(i.codes, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || r.PostFormValue("redirect_uri") != i.client.Redirect {
		answer(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	c, more := i.Claims("", i.client.ID), map[string]any{"nonce": g.nonce}
	for k, v := range g.account {
		more[k] = v
	}
	answer(w, 200, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 3600, "id_token": i.Token(i.Key, c, more)})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
