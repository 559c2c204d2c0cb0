package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tenet-memory/tenet"
)

// issuer is an OIDC issuer with one signing key.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/jwks", "authorization_endpoint": i.URL, "token_endpoint": i.URL,
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("/jwks", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "one", Algorithm: "RS256", Use: "sig"}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(t *testing.T, key *rsa.PrivateKey, c jwt.Claims, more map[string]any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "one"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(c).Claims(more).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A token is good when the issuer signed it, for this audience, and until it
// runs out.
func TestATokenOfTheIssuerIsAPrincipal(t *testing.T) {
	i := newIssuer(t)
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
	auth, err := a.authenticator(keys)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := jwt.Claims{Issuer: i.URL, Subject: "sarah", Audience: jwt.Audience{"tenet"}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)), IssuedAt: jwt.NewNumericDate(time.Now())}
	with := func(change func(*jwt.Claims)) jwt.Claims {
		c := good
		change(&c)
		return c
	}
	user := map[string]any{"tenet_kind": "user"}
	for _, c := range []struct {
		name, token, want string
	}{
		{"good", i.token(t, i.key, good, user), "user:sarah"},
		{"another key", i.token(t, other, good, user), ""},
		{"another audience", i.token(t, i.key, with(func(c *jwt.Claims) { c.Audience = jwt.Audience{"shop"} }), user), ""},
		{"another issuer", i.token(t, i.key, with(func(c *jwt.Claims) { c.Issuer = "https://evil.example" }), user), ""},
		{"run out", i.token(t, i.key, with(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Hour)) }), user), ""},
		{"an admin", i.token(t, i.key, good, map[string]any{"tenet_kind": "admin"}), ""},
		{"no kind", i.token(t, i.key, good, nil), ""},
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
