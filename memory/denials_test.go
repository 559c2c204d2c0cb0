package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// TestDenialsAreCountedPerTenant: a tenant that keeps trying writes ten entries
// a second, silences no other tenant, and every attempt is in an entry's count.
func TestDenialsAreCountedPerTenant(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		ctx := t.Context()
		agent, other := principal(t, tenet.Agent, "bot"), must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Agent, "globex", "bot"))
		onRecord := func(tenant string) (entries, attempts int) {
			t.Helper()
			op := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, tenant, "olga"))
			whole := must[tenet.Scope](t)(tenet.NewScope(tenant, tenet.WholeTenant()))
			o := must[*memory.Operator](t)(e.Operator(op, whole))
			for _, a := range must[[]tenet.AuditEntry](t)(o.Audit(ctx, 1, 100)) {
				if a.Action == "deny" {
					more := 0
					fmt.Sscanf(a.Why, "and %d more", &more)
					entries, attempts = entries+1, attempts+1+more
				}
			}
			return entries, attempts
		}
		for range 25 {
			e.Denied(ctx, agent, "facts")
		}
		e.Denied(ctx, other, "facts")
		if n, _ := onRecord(agent.Tenant()); n != 10 {
			t.Errorf("%d entries in one second", n)
		}
		if n, _ := onRecord("globex"); n != 1 {
			t.Errorf("another tenant's denial has %d entries", n)
		}
		e.advance(time.Second)
		e.Denied(ctx, agent, "facts")
		if n, all := onRecord(agent.Tenant()); n != 11 || all != 26 {
			t.Errorf("%d entries count %d attempts, want 26", n, all)
		}
		if n := e.Counts().Denied; n != 27 {
			t.Errorf("the instruments count %d", n)
		}
	})
}
