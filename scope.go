package tenet

import (
	"encoding/json"
	"strconv"
	"strings"
)

// SubjectKind says what a scope is about. The zero kind is unusable.
type SubjectKind uint8

const (
	SubjectUser    SubjectKind = 1 // one person
	SubjectProject SubjectKind = 2 // something several people share
	SubjectTenant  SubjectKind = 3 // the tenant itself
)

var subjectNames = names[SubjectKind]{"", "user", "project", "tenant"}

func (k SubjectKind) String() string { return subjectNames.of(k) }

// Subject names whom or what a scope is about. Make one with User, Project or
// WholeTenant; NewScope checks it.
type Subject struct {
	kind SubjectKind
	id   string
}

// User is the subject for one person, named as the caller names them.
func User(id string) Subject { return Subject{SubjectUser, id} }

// Project is the subject for something several people share.
func Project(id string) Subject { return Subject{SubjectProject, id} }

// WholeTenant is the subject for facts of the tenant itself.
func WholeTenant() Subject { return Subject{kind: SubjectTenant} }

// Kind and ID read the subject; the tenant's own subject has no id.
func (s Subject) Kind() SubjectKind { return s.kind }
func (s Subject) ID() string        { return s.id }

// String is "user:sarah", "project:atlas" or "tenant".
func (s Subject) String() string {
	if s.kind == SubjectTenant {
		return "tenant"
	}
	return s.kind.String() + ":" + s.id
}

// ParseSubject reads the form that Subject.String writes. It returns an
// Invalid error for any other text.
func ParseSubject(s string) (Subject, error) {
	if s == "tenant" {
		return WholeTenant(), nil
	}
	kind, id, ok := strings.Cut(s, ":")
	k := subjectNames.parse(kind)
	if !ok || (k != SubjectUser && k != SubjectProject) {
		return Subject{}, Errorf(Invalid, "subject", "want user:ID, project:ID or tenant")
	}
	if err := checkID("subject id", id); err != nil {
		return Subject{}, Errorf(Invalid, "subject", "%v", err)
	}
	return Subject{k, id}, nil
}

// Scope is a tenant and a subject in it: the structural prefix of everything
// Tenet keeps, never a filter. Its fields are private so that a scope can come
// only from NewScope or from an authenticated Principal. The zero Scope is
// unusable and every port refuses it.
type Scope struct {
	tenant  string
	subject Subject
}

// NewScope makes a scope. Ids are 1 to MaxID bytes of UTF-8 without control
// characters and are kept byte for byte: case, Unicode form and separators
// distinguish. It returns an Invalid error otherwise.
func NewScope(tenant string, subject Subject) (Scope, error) {
	if err := checkID("tenant", tenant); err != nil {
		return Scope{}, Errorf(Invalid, "scope", "%v", err)
	}
	switch subject.kind {
	case SubjectUser, SubjectProject:
		if err := checkID("subject id", subject.id); err != nil {
			return Scope{}, Errorf(Invalid, "scope", "%v", err)
		}
	case SubjectTenant:
		if subject.id != "" {
			return Scope{}, Errorf(Invalid, "scope", "the tenant's own subject takes no id")
		}
	default:
		return Scope{}, Errorf(Invalid, "scope", "subject has no kind")
	}
	return Scope{tenant, subject}, nil
}

// Tenant and Subject read the scope.
func (s Scope) Tenant() string   { return s.tenant }
func (s Scope) Subject() Subject { return s.subject }

// IsZero reports whether s is the unusable zero scope.
func (s Scope) IsZero() bool { return s == Scope{} }

// Key is an injective text form for flat key spaces: two scopes have the same
// key only if they are the same scope. Parts are length-prefixed, so no
// choice of ids can imitate a separator.
func (s Scope) Key() string {
	return strconv.Itoa(len(s.tenant)) + ":" + s.tenant + "/" +
		s.subject.kind.String() + "/" + strconv.Itoa(len(s.subject.id)) + ":" + s.subject.id
}

// String is for people: "acme/user:sarah". It is not injective; use Key.
func (s Scope) String() string {
	if s.IsZero() {
		return "(no scope)"
	}
	return s.tenant + "/" + s.subject.String()
}

type scopeJSON struct {
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

// MarshalJSON writes {"tenant": ..., "subject": "user:..."}.
func (s Scope) MarshalJSON() ([]byte, error) {
	return json.Marshal(scopeJSON{s.tenant, s.subject.String()})
}
