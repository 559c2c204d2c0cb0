package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
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
	credential := r.Header.Get("X-API-Key")
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		credential = strings.TrimSpace(token)
	}
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

// limiter bounds how many entries denials may write: a client that keeps
// trying must not fill the chain. What it holds back is counted in the next.
type limiter struct {
	mu   sync.Mutex
	seen map[string]*burst
}

type burst struct {
	since time.Time
	n     int // in this second
	held  int // not written yet
}

const denialsPerSecond = 10

// take reports whether an entry may be written now, and how many were held
// back before it.
func (l *limiter) take(tenant string, now time.Time) (held int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]*burst{}
	}
	b := l.seen[tenant]
	if b == nil {
		b = &burst{since: now}
		l.seen[tenant] = b
	}
	if now.Sub(b.since) >= time.Second {
		b.since, b.n = now, 0
	}
	if b.n++; b.n > denialsPerSecond {
		b.held++
		return 0, false
	}
	held, b.held = b.held, 0
	return held, true
}

// recordDenial audits a denied attempt in the caller's tenant.
func (a *API) recordDenial(ctx context.Context, by tenet.Principal, operation string) {
	held, ok := a.denials.take(by.Tenant(), a.cfg.Now())
	if !ok {
		return
	}
	why := ""
	if held > 0 {
		why = fmt.Sprintf("and %d more before it", held)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := a.mem.Denied(ctx, by, operation, why); err != nil {
		a.cfg.Log.WarnContext(ctx, "a denial could not be recorded", "operation", operation, "kind", tenet.KindOf(err).String())
	}
}
