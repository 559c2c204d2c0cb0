package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type principalOut struct {
	Tenant string `json:"tenant"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
}

type keyIn struct {
	Body struct {
		Kind     string   `json:"kind" enum:"agent,app,user,connector,operator,admin"`
		Name     string   `json:"name" minLength:"1" maxLength:"256" doc:"who holds it; kept as provenance"`
		Subjects []string `json:"subjects,omitempty" maxItems:"64" doc:"user:ID, project:ID, tenant; empty: the whole tenant"`
		Owns     []string `json:"owns,omitempty" maxItems:"64" doc:"fact keys of a connector"`
		Seconds  float64  `json:"seconds,omitempty" minimum:"0" maximum:"3153600000" doc:"how long it is good; default: until revoked"`
	}
}

type keyOut struct {
	Key    tenet.Key `json:"key"`
	Secret string    `json:"secret" doc:"shown this once; only a keyed hash is kept"`
}

type keyExpiring struct {
	ID   string `path:"id" minLength:"1" maxLength:"256"`
	Body struct {
		Seconds float64 `json:"seconds" minimum:"0" maximum:"3153600000" doc:"from now; 0: until it is revoked"`
	}
}

type keyNamed struct {
	ID string `path:"id" minLength:"1" maxLength:"256"`
}

func (a *API) accountRoutes() {
	add(a, operation{id: "me", method: "GET", path: "/v1/me", who: anyone, summary: "Who this key speaks for"},
		func(_ context.Context, c call, _ *empty) (principalOut, error) {
			return principalOut{c.by.Tenant(), c.by.Kind().String(), c.by.ID()}, nil
		})
	if a.cfg.Keys == nil {
		return
	}
	keys := a.cfg.Keys
	add(a, operation{id: "createKey", method: "POST", path: "/v1/keys", who: admins, status: http.StatusCreated,
		summary: "Make an API key in the admin's tenant. Not covered by Idempotency-Key: a recorded answer would hold the secret"},
		func(ctx context.Context, c call, r *keyIn) (keyOut, error) {
			n, err := r.newKey()
			if err != nil {
				return keyOut{}, err
			}
			k, secret, err := keys.Create(ctx, c.by, n)
			return keyOut{k, secret}, err
		})
	add(a, operation{id: "keys", method: "GET", path: "/v1/keys", who: admins, summary: "The tenant's keys, without secrets"},
		func(ctx context.Context, c call, r *paged) (page[tenet.Key], error) {
			return list(a, "keys", c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Key, error) {
				return keys.List(ctx, c.by, after, limit)
			}, func(k tenet.Key) string { return k.ID })
		})
	add(a, operation{id: "rotateKey", method: "POST", path: "/v1/keys/{id}/rotate", who: admins, also: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Give a key a new secret; the old one stops working"},
		func(ctx context.Context, c call, r *keyNamed) (keyOut, error) {
			k, secret, err := keys.Rotate(ctx, c.by, r.ID)
			return keyOut{k, secret}, err
		})
	add(a, operation{id: "expireKey", method: "POST", path: "/v1/keys/{id}/expiry", who: admins, also: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Give a key another end, or none"},
		func(ctx context.Context, c call, r *keyExpiring) (tenet.Key, error) {
			return keys.Expire(ctx, c.by, r.ID, time.Duration(r.Body.Seconds*float64(time.Second)))
		})
	add(a, operation{id: "revokeKey", method: "DELETE", path: "/v1/keys/{id}", who: admins, also: []int{http.StatusNotFound}, summary: "End a key for good"},
		func(ctx context.Context, c call, r *keyNamed) (tenet.Key, error) {
			return keys.Revoke(ctx, c.by, r.ID)
		})
}

func (r *keyIn) newKey() (memory.NewKey, error) {
	b := r.Body
	n := memory.NewKey{Name: b.Name, Owns: b.Owns, For: time.Duration(b.Seconds * float64(time.Second))}
	for _, s := range b.Subjects {
		sub, err := tenet.ParseSubject(s)
		if err != nil {
			return n, err
		}
		n.Subjects = append(n.Subjects, sub)
	}
	return n, n.Kind.UnmarshalText([]byte(b.Kind))
}
