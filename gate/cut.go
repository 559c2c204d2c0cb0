package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// AuditAtLeast is how long an audit is kept whatever the configuration says: as
// long as the text of what was refused, so that no open hold loses its entry.
const AuditAtLeast = HoldFor

// CutAudit decides that a scope's audit from before a time goes, as far as
// nothing needs it any more; what that is the ledger finds under its lock.
func (g *Gate) CutAudit(scope tenet.Scope, before, at time.Time) (Decision, error) {
	switch {
	case scope.IsZero() || before.IsZero():
		return Decision{}, tenet.Errorf(tenet.Invalid, "cut", "a cut needs a scope and a time")
	case before.After(at.Add(-AuditAtLeast)):
		return Decision{}, tenet.Errorf(tenet.Invalid, "cut", "an audit is kept for %d days at least", AuditAtLeast/(24*time.Hour))
	}
	before, at = tenet.Micros(before), tenet.Micros(at)
	return Decision{&Plan{Kind: Cut, Scope: scope, Actor: "retention", At: at, Ref: "audit", Why: "from before " + before.Format(time.RFC3339), Before: before}}, nil
}
