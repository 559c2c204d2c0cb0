// Package signon is the authorization code flow with an OIDC issuer, as the
// console's sign-in asks for it: with PKCE, a state and a nonce that the caller
// keeps with the browser. It holds no state and knows no principal.
package signon

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tenet-memory/tenet"
)

// Issuer is an OIDC issuer. Its discovery document is read when it is first
// needed, so that one that is away keeps nobody else out.
type Issuer struct {
	url      string
	mu       sync.Mutex
	provider *oidc.Provider
	next     time.Time // when it may be asked again
}

// At is the issuer of that URL. Nothing is asked yet.
func At(url string) *Issuer { return &Issuer{url: url} }

// again is how long an issuer that did not answer is left alone.
const again = 2 * time.Second

// Provider is what the discovery document says. The error is Unavailable while
// it cannot be had. An issuer that hangs is one that is away.
func (i *Issuer) Provider(ctx context.Context) (*oidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider != nil {
		return i.provider, nil
	}
	if wait := time.Until(i.next); wait > 0 {
		return nil, away(wait)
	}
	// Who waits for it is not alone: one that gives up must not fail the others.
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), &http.Client{Timeout: patience})
	p, err := oidc.NewProvider(ctx, i.url)
	if err != nil {
		i.next = time.Now().Add(again)
		return nil, away(again)
	}
	i.provider = p
	return p, nil
}

func away(wait time.Duration) error {
	return &tenet.Error{Kind: tenet.Unavailable, Op: "sign in", Reason: "the issuer's discovery document cannot be had", After: wait}
}

// Verify looks at a token: the issuer's, meant for the audience, not run out.
// Errors: Denied; Unavailable when the issuer's document or keys cannot be had,
// which says nothing of the token.
func (i *Issuer) Verify(ctx context.Context, audience, raw string) (*oidc.IDToken, error) {
	p, err := i.Provider(ctx)
	if err != nil {
		return nil, err
	}
	token, err := p.Verifier(&oidc.Config{ClientID: audience}).Verify(ctx, raw)
	switch {
	case err == nil:
		return token, nil
	case strings.HasPrefix(err.Error(), "failed to verify signature: fetching keys"): // there is no type for it
		return nil, tenet.Errorf(tenet.Unavailable, "sign in", "the issuer's keys cannot be had")
	}
	return nil, denied("the token is not the issuer's, or not any more")
}

// Flow is one client of one issuer.
type Flow struct {
	issuer                   *Issuer
	client, secret, redirect string
}

// New makes the flow of a client; secret is empty for a public one. The issuer
// sends browsers back to redirect and nowhere else.
func New(i *Issuer, client, secret, redirect string) *Flow { return &Flow{i, client, secret, redirect} }

func (f *Flow) oauth(ctx context.Context) (*oauth2.Config, error) {
	p, err := f.issuer.Provider(ctx)
	if err != nil {
		return nil, err
	}
	return &oauth2.Config{ClientID: f.client, ClientSecret: f.secret, Endpoint: p.Endpoint(), RedirectURL: f.redirect, Scopes: []string{oidc.ScopeOpenID}}, nil
}

// Leave is where a browser goes to sign in. The issuer gets the verifier's
// digest alone. It is Unavailable while the issuer is away.
func (f *Flow) Leave(ctx context.Context, state, nonce, verifier string) (string, error) {
	o, err := f.oauth(ctx)
	if err != nil {
		return "", err
	}
	return o.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
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
	o, err := f.oauth(ctx)
	if err != nil {
		return "", err
	}
	got, err := o.Exchange(ctx, code, oauth2.VerifierOption(verifier))
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
// are those of Issuer.Verify.
func (f *Flow) Verify(ctx context.Context, raw string) (*oidc.IDToken, error) {
	return f.issuer.Verify(ctx, f.client, raw)
}

func denied(why string) error { return tenet.Errorf(tenet.Denied, "sign in", "%s", why) }
