package main

import (
	"context"
	"log/slog"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/console"
	"github.com/tenet-memory/tenet/console/signon"
	"github.com/tenet-memory/tenet/memory"
)

// issued is the configured issuer: whose tokens speak for principals, and where
// the console's people sign in.
type issued struct {
	*signon.Issuer
	mapping claimMap
}

// issuer is the configured one, which is asked when somebody comes with its
// token; nil when none is configured.
func (a *app) issuer() *issued {
	v := a.set.values
	if v["oidc_issuer"] == "" {
		return nil
	}
	return &issued{signon.At(v["oidc_issuer"]), claimMap{tenant: v["oidc_tenant"], kind: v["oidc_kind"]}}
}

// look asks the issuer once, so that a server whose issuer is away says so.
func (i *issued) look(ctx context.Context, log *slog.Logger) {
	if i == nil {
		return
	}
	if _, err := i.Provider(ctx); err != nil {
		log.Warn("the issuer of oidc_issuer does not answer: keys work, its people and tokens get 503 until it does")
	}
}

// authenticator says who a credential speaks for: an API key, or, when there is
// an issuer, its token.
func (i *issued) authenticator(keys *memory.Keyring, audience string) memory.Authenticator {
	if i == nil {
		return keys.Principal
	}
	return func(ctx context.Context, credential string) (tenet.Principal, error) {
		if strings.HasPrefix(credential, "tenet_") {
			return keys.Principal(ctx, credential)
		}
		token, err := i.Verify(ctx, audience, credential)
		if err != nil {
			return tenet.Principal{}, err
		}
		return i.mapping.of(token)
	}
}

// signOn is the console's sign-in at the issuer; nil when it has no client there.
// Its tokens are the console's alone: the API takes those of oidc_audience.
func (i *issued) signOn(v map[string]string, limits memory.Limits) *console.SignOn {
	if i == nil || v["oidc_client"] == "" {
		return nil
	}
	flow := signon.New(i.Issuer, v["oidc_client"], v["oidc_client_secret"], strings.TrimSuffix(v["public_url"], "/")+"/console/sign-in/return")
	return &console.SignOn{Issuer: flow, Principal: limits.Around(func(ctx context.Context, raw string) (tenet.Principal, error) {
		token, err := flow.Verify(ctx, raw)
		if err != nil {
			return tenet.Principal{}, err
		}
		return i.mapping.of(token)
	})}
}

// claims are what a token may say about its holder.
type claims struct {
	Subject  string   `json:"-"`
	Tenant   string   `json:"tenet_tenant"`
	Kind     string   `json:"tenet_kind"`
	Subjects []string `json:"tenet_subjects"`
}

// claimMap is what the configuration fixes whatever a token says.
type claimMap struct{ tenant, kind string }

// of is the principal that a verified token speaks for.
func (m claimMap) of(token *oidc.IDToken) (tenet.Principal, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return tenet.Principal{}, tenet.Errorf(tenet.Denied, "authenticate", "the token's claims do not fit")
	}
	c.Subject = token.Subject
	return m.principal(c)
}

// principal maps claims. A user's token without subjects speaks for the user
// it names and nobody else; a token never makes an admin.
func (m claimMap) principal(c claims) (tenet.Principal, error) {
	denied := func(why string) (tenet.Principal, error) {
		return tenet.Principal{}, tenet.Errorf(tenet.Denied, "authenticate", "%s", why)
	}
	tenant, kind := c.Tenant, c.Kind
	if m.tenant != "" {
		tenant = m.tenant
	}
	if m.kind != "" {
		kind = m.kind
	}
	var k tenet.PrincipalKind
	if k.UnmarshalText([]byte(kind)) != nil || k == tenet.Admin {
		return denied("the token names no kind of principal that tokens may have")
	}
	by, err := tenet.NewPrincipal(k, tenant, c.Subject)
	if err != nil {
		return denied("the token names no usable tenant and subject")
	}
	if len(c.Subjects) == 0 && k == tenet.EndUser {
		return by.For(tenet.User(c.Subject)), nil
	}
	if c.Subjects == nil { // an empty list is nobody
		return by, nil
	}
	var subjects []tenet.Subject
	for _, s := range c.Subjects {
		sub, err := tenet.ParseSubject(s)
		if err != nil {
			return denied("the token names an unusable subject")
		}
		subjects = append(subjects, sub)
	}
	return by.For(subjects...), nil
}
