package main

import (
	"context"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// authenticator says who a credential speaks for: an API key, or, when an
// issuer is configured, its token.
func (a *app) authenticator(keys *memory.Keyring) (memory.Authenticator, error) {
	issuer := a.set.values["oidc_issuer"]
	if issuer == "" {
		return keys.Principal, nil
	}
	provider, err := oidc.NewProvider(a.ctx, issuer)
	if err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "serve", "oidc_issuer: its discovery document cannot be had")
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: a.set.values["oidc_audience"]})
	mapping := claimMap{tenant: a.set.values["oidc_tenant"], kind: a.set.values["oidc_kind"]}
	return func(ctx context.Context, credential string) (tenet.Principal, error) {
		if strings.HasPrefix(credential, "tenet_") {
			return keys.Principal(ctx, credential)
		}
		token, err := verifier.Verify(ctx, credential)
		if err != nil {
			return tenet.Principal{}, tenet.Errorf(tenet.Denied, "authenticate", "the token is not the issuer's, or not any more")
		}
		var c claims
		if err := token.Claims(&c); err != nil {
			return tenet.Principal{}, tenet.Errorf(tenet.Denied, "authenticate", "the token's claims do not fit")
		}
		c.Subject = token.Subject
		return mapping.principal(c)
	}, nil
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
	if len(c.Subjects) == 0 {
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
