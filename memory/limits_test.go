package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// TestOnePrincipalsHasteCostsNobodyElse: what is over a principal's limit is
// turned away with the time to wait, and the tenant's others still get in; a
// tenant that is over its own stands in no other's way; strangers count nowhere.
func TestOnePrincipalsHasteCostsNobodyElse(t *testing.T) {
	t.Parallel()
	known := func(_ context.Context, credential string) (tenet.Principal, error) {
		var tenant, name string
		if _, err := fmt.Sscanf(credential, "%s %s", &tenant, &name); err != nil {
			return tenet.Principal{}, tenet.Errorf(tenet.Denied, "authenticate", "nobody")
		}
		return tenet.NewPrincipal(tenet.App, tenant, name)
	}
	ask := func(auth memory.Authenticator, credential string, n int) (in int, last error) {
		for range n {
			if _, err := auth(context.Background(), credential); err != nil {
				last = err
			} else {
				in++
			}
		}
		return in, last
	}
	auth := memory.Limits{Principal: 0.001, Tenant: 0.01}.Around(known)
	if in, err := ask(auth, "acme hasty", 50); in != 10 || tenet.KindOf(err) != tenet.Unavailable {
		t.Errorf("%d of 50 got in, at most 10 at once: %v", in, err)
	} else if e := err.(*tenet.Error); e.Code != memory.CodeTooMany || e.After < 900*time.Second || e.After > 1000*time.Second {
		t.Errorf("turned away with %s, to wait %v", e.Code, e.After)
	}
	auth = memory.Limits{Principal: 0.001, Tenant: 10}.Around(known)
	ask(auth, "acme hasty", 50)
	if in, err := ask(auth, "acme calm", 5); in != 5 {
		t.Errorf("another of the tenant: %d of 5: %v", in, err)
	}
	auth = memory.Limits{Tenant: 0.001}.Around(known)
	for n := range 20 {
		ask(auth, fmt.Sprintf("acme p%d", n), 1)
	}
	if in, _ := ask(auth, "acme fresh", 3); in != 0 {
		t.Errorf("%d got in over the tenant's limit", in)
	}
	if in, err := ask(auth, "other host", 10); in != 10 {
		t.Errorf("another tenant: %d of 10: %v", in, err)
	}
	if _, err := ask(auth, "stranger", 20); tenet.KindOf(err) != tenet.Denied {
		t.Errorf("a stranger is %v", err)
	}
	if in, err := ask(memory.Limits{}.Around(known), "acme hasty", 10000); in != 10000 {
		t.Errorf("without limits: %d of 10000: %v", in, err)
	}
}
