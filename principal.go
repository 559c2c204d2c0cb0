package tenet

import (
	"slices"
	"strings"
)

// PrincipalKind is what kind of credential acts. The zero kind is unusable.
type PrincipalKind uint8

const (
	// Agent is a model's own key: it reads, appends and proposes. Whatever
	// role it names, its words are agent_inferred.
	Agent PrincipalKind = 1
	// App is the host application: it may record what the user said.
	App PrincipalKind = 2
	// EndUser is the person themselves: they may also confirm.
	EndUser PrincipalKind = 3
	// Connector is a system of record that owns the keys it was given.
	Connector PrincipalKind = 4
	// Operator answers for one tenant: reviews, releases, corrects, erases.
	Operator PrincipalKind = 5
	// Admin manages tenants and keys and never sees memory text.
	Admin PrincipalKind = 6
)

var principalNames = names[PrincipalKind]{"", "agent", "app", "user", "connector", "operator", "admin"}

func (k PrincipalKind) String() string                { return principalNames.of(k) }
func (k PrincipalKind) MarshalText() ([]byte, error)  { return principalNames.text(k) }
func (k *PrincipalKind) UnmarshalText(b []byte) error { return principalNames.parseText("kind", b, k) }

// Principal is who holds the key. It is bound to one tenant and, when
// narrowed, to some subjects of it.
type Principal struct {
	kind     PrincipalKind
	tenant   string
	id       string
	subjects []Subject
	keys     []string
}

// NewPrincipal makes a principal for the whole tenant. It returns an Invalid
// error when an id is unusable or the kind unknown.
func NewPrincipal(kind PrincipalKind, tenant, id string) (Principal, error) {
	if kind < Agent || kind > Admin {
		return Principal{}, Errorf(Invalid, "principal", "unknown kind")
	}
	if err := checkID("tenant", tenant); err != nil {
		return Principal{}, Errorf(Invalid, "principal", "%v", err)
	}
	if err := checkID("principal id", id); err != nil {
		return Principal{}, Errorf(Invalid, "principal", "%v", err)
	}
	return Principal{kind: kind, tenant: tenant, id: id}, nil
}

// For returns p narrowed to the subjects. Narrowing twice keeps only what
// both allow: a principal never widens.
func (p Principal) For(subjects ...Subject) Principal {
	keep := make([]Subject, 0, len(subjects))
	for _, s := range subjects {
		if p.subjects == nil || slices.Contains(p.subjects, s) {
			keep = append(keep, s)
		}
	}
	p.subjects = keep
	return p
}

// Owning returns p, a connector, as the owner of fact keys: what it reports
// under them may enter the persistent tier.
func (p Principal) Owning(keys ...string) Principal {
	p.keys = slices.Clone(keys)
	return p
}

// Kind, Tenant and ID read the principal.
func (p Principal) Kind() PrincipalKind { return p.kind }
func (p Principal) Tenant() string      { return p.tenant }
func (p Principal) ID() string          { return p.id }

// Owns reports whether p is a connector that owns the fact key.
func (p Principal) Owns(key string) bool {
	return p.kind == Connector && slices.Contains(p.keys, key)
}

// MayReach reports whether p is allowed to act in the scope at all.
func (p Principal) MayReach(s Scope) bool {
	return p.kind != 0 && p.kind != Admin && !s.IsZero() && p.tenant == s.tenant &&
		(p.subjects == nil || slices.Contains(p.subjects, s.subject))
}

// String is "app:support-bot": the form kept as provenance.
func (p Principal) String() string { return p.kind.String() + ":" + p.id }

// ParsePrincipal reads the form that Principal.String writes, for a tenant. The
// result is not narrowed and owns no keys.
func ParsePrincipal(tenant, s string) (Principal, error) {
	kind, id, _ := strings.Cut(s, ":")
	return NewPrincipal(principalNames.parse(kind), tenant, id)
}

// IsZero reports whether p is the unusable zero principal.
func (p Principal) IsZero() bool { return p.kind == 0 }

// AsAgent is the principal as a model speaks through it: whatever kind of key a
// host put into an agent's hands, what comes back is the agent's word.
func (p Principal) AsAgent() Principal {
	if p.kind != 0 && p.kind != Admin {
		p.kind, p.keys = Agent, nil
	}
	return p
}

// Narrowed reports whether p reaches some subjects of its tenant only.
func (p Principal) Narrowed() bool { return p.subjects != nil }

// Only is the one subject that p was narrowed to, if it was to exactly one.
func (p Principal) Only() (Subject, bool) {
	if len(p.subjects) != 1 {
		return Subject{}, false
	}
	return p.subjects[0], true
}
