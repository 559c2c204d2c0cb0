package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// OverQuota is the limit of its tenant's quota that a call was refused for:
// records, bytes or subjects; empty for every other error. Nothing was written,
// and the same call may be made again when there is room.
func OverQuota(err error) string { return store.OverQuota(err) }

// TenantUse is how much a tenant keeps, and may.
type TenantUse struct {
	Tenant string      `json:"tenant"`
	Stored gate.Stored `json:"stored"`
	Quota  gate.Quota  `json:"quota"` // 0: no bound
}

// Shares are how much of each limit is used; none of what has no bound.
func (u TenantUse) Shares() map[string]float64 {
	out := map[string]float64{}
	for _, l := range gate.QuotaLimits {
		if most, kept := u.Quota.Of(l, u.Stored); most > 0 {
			out[l] = float64(kept) / float64(most)
		}
	}
	return out
}

// Full is the limit that is used most, and how much of it; empty without limits.
func (u TenantUse) Full() (limit string, share float64) {
	for l, s := range u.Shares() {
		if limit == "" || s > share || s == share && l < limit {
			limit, share = l, s
		}
	}
	return limit, share
}

// Use is how much a tenant keeps. It is Unavailable when the ledger does not count.
func (m *Memory) Use(ctx context.Context, tenant string) (TenantUse, error) {
	if m.cfg.Governor == nil || m.gate == nil {
		return TenantUse{}, tenet.Errorf(tenet.Unavailable, "use", "the ledger does not count what is stored")
	}
	s, err := m.cfg.Governor.Stored(ctx, tenant)
	return TenantUse{tenant, s, m.gate.Quotas().For(tenant)}, err
}

// namedMost is of how many tenants the use is told by name.
const namedMost = 50

// NamedUse is the use of the tenants whose quotas were set by name, the first 50
// of them: who names them wants them told apart.
func (m *Memory) NamedUse(ctx context.Context) (out []TenantUse, err error) {
	if m.gate == nil {
		return nil, nil
	}
	for n, tenant := range slices.Sorted(maps.Keys(m.gate.Quotas().Of)) {
		if n == namedMost {
			break
		}
		u, err := m.Use(ctx, tenant)
		if err != nil {
			return out, err
		}
		out = append(out, u)
	}
	return out, nil
}

// refused counts a write that a quota had no room for.
func (c *counts) refused(err error) {
	limit := OverQuota(err)
	if limit == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil {
		c.full = map[string]uint64{}
	}
	c.full[limit]++
}

func (o *Operator) countUse(ctx context.Context, s *Stats) error {
	if o.by.Narrowed() || o.m.cfg.Governor == nil {
		return nil // the tenant's is not theirs to see
	}
	u, err := o.m.Use(ctx, o.scope.Tenant())
	s.Stored, s.Quota = &u.Stored, &u.Quota
	return err
}
