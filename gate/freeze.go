package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// Freeze decides that a scope is under a legal hold: nothing of it is erased
// and nothing expires until Thaw. Recall, new statements and forgetting go on.
func (g *Gate) Freeze(by tenet.Principal, scope tenet.Scope, why string, at time.Time) (Decision, error) {
	return legalHold(Freeze, by, scope, why, at)
}

// Thaw decides that the legal hold is lifted.
func (g *Gate) Thaw(by tenet.Principal, scope tenet.Scope, why string, at time.Time) (Decision, error) {
	return legalHold(Thaw, by, scope, why, at)
}

// legalHold asks for an operator and a reason: both stand on the chain.
func legalHold(kind Kind, by tenet.Principal, scope tenet.Scope, why string, at time.Time) (Decision, error) {
	switch {
	case by.Kind() != tenet.Operator || !by.MayReach(scope):
		return Decision{}, tenet.Errorf(tenet.Denied, kind.String(), "only an operator of the tenant places or lifts a legal hold")
	case scope.IsZero() || why == "":
		return Decision{}, tenet.Errorf(tenet.Invalid, kind.String(), "a legal hold needs a scope and a reason")
	}
	return Decision{&Plan{Kind: kind, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: "legal hold", Why: why}}, nil
}
