package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// Selection names what an erasure begins with. One field is set; a ledger
// follows the derivations from there, under its lock.
type Selection struct {
	Record  tenet.RecordID  `json:"record,omitempty"`
	Message tenet.MessageID `json:"message,omitempty"`
	Session tenet.SessionID `json:"session,omitempty"`
	Key     string          `json:"key,omitempty"`    // of a fact or document: every version
	Origin  string          `json:"origin,omitempty"` // a principal, "connector:crm", or "channel:external"
	Subject bool            `json:"subject,omitempty"`
	Tenant  bool            `json:"tenant,omitempty"` // every subject of the tenant; the scope is the tenant's own
}

// Whole reports whether everything of a subject goes, its name included.
func (s Selection) Whole() bool { return s.Subject || s.Tenant }

// kinds are the names of what is set.
func (s Selection) kinds() (out []string) {
	for _, w := range []struct {
		set  bool
		name string
	}{{s.Record != "", "record"}, {s.Message != "", "message"}, {s.Session != "", "session"}, {s.Key != "", "key"},
		{s.Origin != "", "origin"}, {s.Subject, "subject"}, {s.Tenant, "tenant"}} {
		if w.set {
			out = append(out, w.name)
		}
	}
	return out
}

// What is the selection's kind, for receipts and logs: no id.
func (s Selection) What() string {
	if kinds := s.kinds(); len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

// Check returns an Invalid error unless the selection names one thing.
func (s Selection) Check() error {
	if len(s.kinds()) != 1 {
		return tenet.Errorf(tenet.Invalid, "erase", "name one of record, message, session, key, origin, subject and tenant")
	}
	return nil
}

// Erase decides that something is to be gone. An operator of the tenant may
// erase anything in it, and a person everything of their own; nobody else may.
// What hangs on it the ledger finds under its lock.
func (g *Gate) Erase(by tenet.Principal, scope tenet.Scope, of Selection, id, why string, at time.Time) (Decision, error) {
	const op = "erase"
	if err := of.Check(); err != nil {
		return Decision{}, err
	}
	if !MayErase(by, scope, of) {
		return Decision{}, tenet.Errorf(tenet.Denied, op, "only an operator of the tenant erases, or the person for themselves")
	}
	if of.Tenant && scope.Subject().Kind() != tenet.SubjectTenant {
		return Decision{}, tenet.Errorf(tenet.Invalid, op, "a tenant is erased in the tenant's own scope")
	}
	if id == "" {
		return Decision{}, tenet.Errorf(tenet.Invalid, op, "an erasure without an id")
	}
	return Decision{&Plan{Kind: Erase, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: id, Why: why, Erase: &of}}, nil
}

// Again decides that an erasure that was decided before, and is not in the
// database that a restore brought back, is carried out again. Nobody asks for
// it but the restore, so no principal is looked at: whoever calls has made sure
// that the line of the journal is this database's own. A journal names nobody,
// so neither does the decision: it has no scope, and its selection says only
// whether a whole subject or tenant goes. What goes is what the line says.
func (g *Gate) Again(id, what string, at time.Time) (Decision, error) {
	const op = "erase again"
	if id == "" || what == "" {
		return Decision{}, tenet.Errorf(tenet.Invalid, op, "an erasure without an id, or of no kind")
	}
	return Decision{&Plan{
		Kind: Erase, Actor: "restore", At: tenet.Micros(at), Ref: id, Why: "erased after the backup was made",
		Erase: &Selection{Subject: what == "subject", Tenant: what == "tenant"},
	}}, nil
}

// MayErase reports whether a principal may erase, or look at what an erasure
// would take.
func MayErase(by tenet.Principal, scope tenet.Scope, of Selection) bool {
	if !by.MayReach(scope) {
		return false
	}
	return by.Kind() == tenet.Operator ||
		by.Kind() == tenet.EndUser && scope.Subject().Kind() == tenet.SubjectUser && !of.Tenant
}

// Sources under which tombstones know what was erased beside statements. They
// begin with a byte that no statement's fingerprint begins with.
func MessageSource(id tenet.MessageID) string { return "\x00message\x00" + string(id) }
func SessionSource(id tenet.SessionID) string { return "\x00session\x00" + string(id) }

// sources are what a candidate rests on.
func sources(c tenet.Candidate) []string {
	var out []string
	for _, id := range c.Cites {
		out = append(out, MessageSource(id))
	}
	if c.Session != "" {
		out = append(out, SessionSource(c.Session))
	}
	return out
}

// erased is a refusal that keeps nothing of the text: what was erased must not
// come back into the refusal log.
func erased() Finding {
	f := refusal("tombstone", tenet.CodeErased, reject)
	f.Mask = true
	return f
}
