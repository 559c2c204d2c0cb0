package memory

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// How often a scope's audit is looked at for what can go, and how often the
// sweep asks which scopes that are.
const (
	cutEvery  = 24 * time.Hour
	cutsEvery = time.Hour
)

// CheckAuditRetention returns an Invalid error unless an audit may be kept for so
// long: for ever (0), or for 30 days and as long as what it accounts for.
func CheckAuditRetention(audit time.Duration, others ...time.Duration) error {
	if audit == 0 {
		return nil
	}
	if audit < gate.AuditAtLeast {
		return tenet.Errorf(tenet.Invalid, "config", "audit_retention: want 0s (for ever) or %d days (%dh) at least", gate.AuditAtLeast/(24*time.Hour), gate.AuditAtLeast/time.Hour)
	}
	for _, other := range others {
		if other > audit {
			return tenet.Errorf(tenet.Invalid, "config", "audit_retention: shorter than session_ttl or episode_retention, for which it accounts")
		}
	}
	return nil
}

// cutAudits removes what is past the audit's retention, of one scope after the
// other. Replicas do it side by side: a second cut finds nothing to remove. One
// scope that cannot be cut keeps no other from it.
func (m *Memory) cutAudits(ctx context.Context, now time.Time) (n int, err error) {
	c, ok := m.ledger.(store.Cutter)
	if m.cfg.AuditRetention == 0 || !ok {
		return 0, nil
	}
	last := m.cutAt.Load()
	if since := now.Sub(time.UnixMicro(last)); last != 0 && since >= 0 && since < cutsEvery || !m.cutAt.CompareAndSwap(last, now.UnixMicro()) {
		return 0, nil
	}
	before := now.Add(-m.cfg.AuditRetention)
	stuck := map[tenet.Scope]bool{} // nothing notes that these were tried
	for {
		scopes, err := c.Uncut(ctx, before, now.Add(-cutEvery), stretchSize+len(stuck))
		if err != nil {
			return n, err
		}
		scopes = slices.DeleteFunc(scopes, func(s tenet.Scope) bool { return stuck[s] })
		if len(scopes) == 0 {
			return n, nil
		}
		for _, s := range scopes {
			d, err := m.gate.CutAudit(s, before, now)
			if err != nil {
				return n, err
			}
			switch cut, err := c.Cut(ctx, d); {
			case err == nil:
				n += int(cut.Removed)
			case tenet.KindOf(err) == tenet.Unavailable:
				return n, err
			case tenet.KindOf(err) == tenet.NotFound || heldBack(err): // erased, or frozen, since
				stuck[s] = true
			default:
				stuck[s] = true
				m.log.WarnContext(ctx, "an audit cannot be cut: run verify", "kind", tenet.KindOf(err).String())
			}
		}
	}
}
