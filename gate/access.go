package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// KeyChange is what became of an API key.
type KeyChange string

const (
	KeyMade    KeyChange = "create"
	KeyRotated KeyChange = "rotate"
	KeyRevoked KeyChange = "revoke"
	KeyExpiry  KeyChange = "expiry"
)

// Access decides that a key of the admin's tenant changes. The key and the
// entry, on the chain of the tenant as a whole, are one write: nobody gets in
// by a key that the chain does not know. The entry names the key's id and
// kind, never its subjects. A change writes what it is about and no more, and
// never to a revoked key: of two that race neither undoes the other.
func (g *Gate) Access(by tenet.Principal, k tenet.Key, what KeyChange, at time.Time) (Decision, error) {
	const op = "key"
	if by.Kind() != tenet.Admin || by.Tenant() != k.Tenant {
		return Decision{}, tenet.Errorf(tenet.Denied, op, "only an admin of the tenant manages keys")
	}
	if k.ID == "" || len(k.Hash) < 16 {
		return Decision{}, tenet.Errorf(tenet.Invalid, op, "a key without an id or a hash")
	}
	scope, err := tenet.NewScope(k.Tenant, tenet.WholeTenant())
	if err != nil {
		return Decision{}, err
	}
	why := string(what) + " " + k.Kind.String()
	switch {
	case what == KeyRevoked:
	case !k.ExpiresAt.IsZero():
		why += " until " + k.ExpiresAt.UTC().Format(time.RFC3339)
	case what == KeyExpiry:
		why += " until it is revoked"
	}
	return Decision{&Plan{Kind: Access, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: k.ID, Why: why, Key: &k, Change: what}}, nil
}
