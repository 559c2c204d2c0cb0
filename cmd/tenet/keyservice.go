package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// keyService wraps and unwraps master keys outside of Tenet: a KMS. Destroying
// its key makes what they open unreadable, wherever a copy lies. Tenet asks it
// once at each start.
type keyService interface {
	Wrap(ctx context.Context, key []byte) (string, error)
	Unwrap(ctx context.Context, wrapped string) ([]byte, error)
}

// keyService is the one of the settings; nil: master keys are as they are.
func (s settings) keyService() keyService {
	if s.values["key_service"] == "" {
		return nil
	}
	name := s.values["key_service_key"]
	if name == "" {
		name = "tenet"
	}
	return transit{
		base: strings.TrimSuffix(s.values["key_service"], "/"), key: name, token: s.values["key_service_token"],
		http: &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// unwrapKeys has the key service unwrap the master keys, once.
func (a *app) unwrapKeys() error {
	svc := a.set.keyService()
	for len(a.set.wrapped) > 0 {
		key, err := svc.Unwrap(a.ctx, strings.TrimSpace(a.set.wrapped[0]))
		if err != nil {
			return err
		}
		if len(key) != keySize {
			return tenet.Errorf(tenet.Invalid, "key service", "what it unwrapped is no master key")
		}
		a.set.masterKey, a.set.wrapped = append(a.set.masterKey, key...), a.set.wrapped[1:]
	}
	return nil
}

// transit speaks to the transit engine of Vault or OpenBao.
type transit struct {
	base, key, token string
	http             *http.Client
}

func (t transit) Wrap(ctx context.Context, key []byte) (string, error) {
	out, err := t.call(ctx, "encrypt", map[string]string{"plaintext": base64.StdEncoding.EncodeToString(key)})
	if err == nil && (out.Ciphertext == "" || strings.ContainsAny(out.Ciphertext, ", \n")) {
		err = tenet.Errorf(tenet.Unavailable, "key service", "it answered with no wrapped key")
	}
	return out.Ciphertext, err
}

func (t transit) Unwrap(ctx context.Context, wrapped string) ([]byte, error) {
	out, err := t.call(ctx, "decrypt", map[string]string{"ciphertext": wrapped})
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(out.Plaintext)
	if err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "key service", "it answered with no key")
	}
	return key, nil
}

type transitOut struct {
	Ciphertext string `json:"ciphertext"`
	Plaintext  string `json:"plaintext"`
}

// call asks for one thing. What the service says of an error stays behind.
func (t transit) call(ctx context.Context, what string, body map[string]string) (transitOut, error) {
	const op = "key service"
	b, err := json.Marshal(body)
	if err != nil {
		return transitOut{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/"+what+"/"+url.PathEscape(t.key), bytes.NewReader(b))
	if err != nil {
		return transitOut{}, tenet.Errorf(tenet.Invalid, op, "key_service is not a usable URL")
	}
	req.Header.Set("X-Vault-Token", t.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.http.Do(req)
	if err != nil {
		return transitOut{}, tenet.Errorf(tenet.Unavailable, op, "it cannot be reached")
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusUnauthorized:
		return transitOut{}, tenet.Errorf(tenet.Denied, op, "it refused key_service_token")
	case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusNotFound:
		return transitOut{}, tenet.Errorf(tenet.Invalid, op, "it does not know the key, or did not wrap this master key")
	case resp.StatusCode != http.StatusOK:
		return transitOut{}, tenet.Errorf(tenet.Unavailable, op, "it answered with status %d", resp.StatusCode)
	}
	var out struct {
		Data transitOut `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&out) != nil {
		return transitOut{}, tenet.Errorf(tenet.Unavailable, op, "it answered with something else")
	}
	return out.Data, nil
}

type masterKeyMakeCmd struct{}

// Run draws a master key, for the configuration. It stores nothing.
func (masterKeyMakeCmd) Run(a *app) error {
	key := newMasterKey()
	text := hex.EncodeToString(key)
	if svc := a.set.keyService(); svc != nil {
		var err error
		if text, err = svc.Wrap(a.ctx, key); err != nil {
			return err
		}
	}
	return a.print(map[string]string{"master_key": text}, func() { a.printf("%s\n", text) })
}
