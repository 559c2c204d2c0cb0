// Package signon is the authorization code flow with an OIDC issuer, as the
// console's sign-in asks for it: with PKCE, a state and a nonce that the caller
// keeps with the browser. It holds no state and knows no principal.
package signon

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tenet-memory/tenet"
)

// Flow is one client of one issuer.
type Flow struct {
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// New makes the flow of a client; secret is empty for a public one. The issuer
// sends browsers back to redirect and nowhere else.
func New(p *oidc.Provider, client, secret, redirect string) *Flow {
	return &Flow{
		oauth:    oauth2.Config{ClientID: client, ClientSecret: secret, Endpoint: p.Endpoint(), RedirectURL: redirect, Scopes: []string{oidc.ScopeOpenID}},
		verifier: p.Verifier(&oidc.Config{ClientID: client}),
	}
}

// Leave is where a browser goes to sign in. The issuer gets the verifier's
// digest alone.
func (f *Flow) Leave(state, nonce, verifier string) string {
	return f.oauth.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
}

// patience bounds what one sign-in waits for the issuer.
const patience = 10 * time.Second

// Return exchanges the code that a browser brought back for the issuer's token
// about who it is. Errors: Denied for a code that is spent, not this client's or
// asked for with another verifier, and for a token of another sign-in;
// Unavailable when the issuer is away.
func (f *Flow) Return(ctx context.Context, code, nonce, verifier string) (string, error) {
	ctx, stop := context.WithTimeout(oidc.ClientContext(ctx, &http.Client{Timeout: patience}), patience)
	defer stop()
	got, err := f.oauth.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500:
		return "", denied("the issuer does not take the code")
	case err != nil:
		return "", tenet.Errorf(tenet.Unavailable, "sign in", "the issuer does not answer")
	}
	raw, _ := got.Extra("id_token").(string)
	token, err := f.Verify(ctx, raw)
	if err == nil && (token.Nonce == "" || token.Nonce != nonce) {
		err = denied("the token is of another sign-in")
	}
	if err != nil {
		return "", err
	}
	return raw, nil
}

// Verify looks at a token again: the issuer's, of this client, not run out. Errors
// are those of Refusal.
func (f *Flow) Verify(ctx context.Context, raw string) (*oidc.IDToken, error) {
	token, err := f.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, Refusal(err)
	}
	return token, nil
}

// Discover reads an issuer's discovery document; its keys are fetched when they
// are needed. An issuer that hangs is one that is away.
func Discover(ctx context.Context, issuer string) (*oidc.Provider, error) {
	return oidc.NewProvider(oidc.ClientContext(ctx, &http.Client{Timeout: patience}), issuer)
}

// Refusal is what the verifier's error means: Denied; Unavailable when the
// issuer's keys cannot be had, which says nothing of the token.
func Refusal(err error) error {
	if strings.HasPrefix(err.Error(), "failed to verify signature: fetching keys") { // there is no type for it
		return tenet.Errorf(tenet.Unavailable, "sign in", "the issuer's keys cannot be had")
	}
	return denied("the token is not the issuer's, or not any more")
}

func denied(why string) error { return tenet.Errorf(tenet.Denied, "sign in", "%s", why) }
