package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenet-memory/tenet"
)

// transitServer answers as the transit engine does, under a key of its own.
func transitServer(t *testing.T) (url string, down *atomic.Bool) {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	down = new(atomic.Bool)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in, data = map[string]string{}, map[string]string{}
		switch {
		case down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case r.Header.Get("X-Vault-Token") != "letmein":
			w.WriteHeader(http.StatusForbidden)
			return
		case r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&in) != nil:
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch r.URL.Path {
		case "/v1/transit/encrypt/ours":
			plain, err := base64.StdEncoding.DecodeString(in["plaintext"])
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			nonce := make([]byte, aead.NonceSize())
			rand.Read(nonce)
			data["ciphertext"] = "vault:v1:" + base64.StdEncoding.EncodeToString(aead.Seal(nonce, nonce, plain, nil))
		case "/v1/transit/decrypt/ours":
			text, ok := strings.CutPrefix(in["ciphertext"], "vault:v1:")
			sealed, err := base64.StdEncoding.DecodeString(text)
			if !ok || err != nil || len(sealed) < aead.NonceSize() {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], nil)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			data["plaintext"] = base64.StdEncoding.EncodeToString(plain)
		default:
			w.WriteHeader(http.StatusNotFound)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1/transit", down
}

func TestAKeyServiceHoldsWhatOpensTheMasterKey(t *testing.T) {
	s := newShell(t)
	url, down := transitServer(t)
	s.env["TENET_KEY_SERVICE"], s.env["TENET_KEY_SERVICE_KEY"], s.env["TENET_KEY_SERVICE_TOKEN"] = url, "ours", "letmein"
	first := strings.TrimSpace(s.ok("master-key", "make"))
	if !strings.HasPrefix(first, "vault:v1:") {
		t.Fatalf("the key is not wrapped: %q", first)
	}
	s.env["TENET_MASTER_KEY"] = first
	s.ok("remember", "--tier", "fact", "drink", "likes tea", "--quote", "likes tea", "--user", "sarah")
	check := func(what string) {
		t.Helper()
		if out := s.ok("facts", "--user", "sarah"); !strings.Contains(out, "likes tea") {
			t.Errorf("%s: the facts are %q", what, out)
		}
		s.ok("verify", "--user", "sarah")
	}
	check("wrapped")

	second := strings.TrimSpace(s.ok("master-key", "make"))
	s.env["TENET_MASTER_KEY"] = second + "," + first
	s.ok("master-key", "rotate")
	s.env["TENET_MASTER_KEY"] = second
	check("after a rotation")
	s.env["TENET_MASTER_KEY"] = first
	s.fails(tenet.Invalid, "facts", "--user", "sarah")

	s.env["TENET_MASTER_KEY"] = "vault:v1:AAAA"
	s.fails(tenet.Invalid, "facts", "--user", "sarah")
	s.env["TENET_MASTER_KEY"] = second
	s.env["TENET_KEY_SERVICE_KEY"] = "theirs"
	s.fails(tenet.Invalid, "facts", "--user", "sarah")
	s.env["TENET_KEY_SERVICE_KEY"], s.env["TENET_KEY_SERVICE_TOKEN"] = "ours", "guess"
	s.fails(tenet.Denied, "facts", "--user", "sarah")
	s.env["TENET_KEY_SERVICE_TOKEN"] = "letmein"
	down.Store(true)
	s.fails(tenet.Unavailable, "facts", "--user", "sarah")
	s.env["TENET_KEY_SERVICE"] = "vault"
	s.fails(tenet.Invalid, "facts", "--user", "sarah")
}
