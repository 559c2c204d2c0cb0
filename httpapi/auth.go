package httpapi

import (
	"net/http"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// access is which side of the engine an operation is on.
type access uint8

const (
	anyone       access = iota // whoever has a key
	hotPath                    // sessions, reading, documents and threads: agents too
	writeSide                  // remember, end, retract, recall without a session: never agents
	review                     // operators, one scope
	reviewTenant               // operators, the tenant's scopes
	admins                     // tenants' keys, no memory text
	askers                     // those who answer for the conversation: ask the user, report outcomes; never agents
	theUser                    // the person themselves
	erasers                    // operators, and the person for what is their own
)

// reaches says which kinds of principal are on which side. It is the only
// place that does.
var reaches = map[access][]tenet.PrincipalKind{
	anyone:    {tenet.Agent, tenet.App, tenet.EndUser, tenet.Connector, tenet.Operator, tenet.Admin},
	hotPath:   {tenet.Agent, tenet.App, tenet.EndUser, tenet.Connector, tenet.Operator},
	writeSide: {tenet.App, tenet.EndUser, tenet.Connector, tenet.Operator},
	review:    {tenet.Operator},

	reviewTenant: {tenet.Operator},
	admins:       {tenet.Admin},
	askers:       {tenet.App, tenet.EndUser, tenet.Operator},
	theUser:      {tenet.EndUser},
	erasers:      {tenet.EndUser, tenet.Operator},
}

func (a access) allows(k tenet.PrincipalKind) bool {
	for _, ok := range reaches[a] {
		if ok == k {
			return true
		}
	}
	return false
}

// scoped reports whether operations of the access are about one subject.
func (a access) scoped() bool {
	return a == hotPath || a == writeSide || a == review || a == askers || a == theUser || a == erasers
}

func (a access) String() string {
	var kinds []string
	for _, k := range reaches[a] {
		kinds = append(kinds, k.String())
	}
	return strings.Join(kinds, ", ")
}

// authenticate finds the credential: a bearer token or X-API-Key.
func (a *API) authenticate(r *http.Request) (tenet.Principal, error) {
	credential := memory.Credential(r.Header.Get("Authorization"), r.Header.Get("X-API-Key"))
	if credential == "" {
		return tenet.Principal{}, unauthorized("give an API key: Authorization: Bearer tenet_..., or X-API-Key")
	}
	by, err := a.cfg.Authenticate(r.Context(), credential)
	if err != nil && tenet.KindOf(err) == tenet.Denied {
		a.metrics.strangers.Inc()
		return by, unauthorized("the key is not known, or not any more")
	}
	return by, err
}

func unauthorized(detail string) error {
	return &problemError{status: http.StatusUnauthorized, detail: detail, header: http.Header{"Www-Authenticate": {`Bearer realm="tenet"`}}}
}
