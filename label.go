package tenet

import "strconv"

// names maps a small enumeration to its words; index 0 is the unusable zero.
type names[T ~uint8] []string

func (n names[T]) of(v T) string {
	if int(v) < len(n) && n[v] != "" {
		return n[v]
	}
	return "invalid(" + strconv.Itoa(int(v)) + ")"
}

// parse returns the value of a word, or zero when there is none.
func (n names[T]) parse(s string) T {
	for i, w := range n {
		if w == s && w != "" {
			return T(i)
		}
	}
	return 0
}

// text and parseText are what the enumerations' JSON forms share.
func (n names[T]) text(v T) ([]byte, error) {
	if int(v) < len(n) && n[v] != "" {
		return []byte(n[v]), nil
	}
	return nil, Errorf(Invalid, "encode", "value %d has no name", v)
}

func (n names[T]) parseText(what string, b []byte, v *T) error {
	p := n.parse(string(b))
	if p == 0 {
		return Errorf(Invalid, "decode", "unknown %s", what)
	}
	*v = p
	return nil
}

// Tier is how a durable record is read. There is no default: the zero Tier is
// refused with the code TIER_MISSING.
type Tier uint8

const (
	TierFact     Tier = 1 // persistent: loaded by identity, complete and exact
	TierNote     Tier = 2 // semantic: an extracted statement, recalled by meaning
	TierEpisode  Tier = 3 // semantic: a verbatim turn, recalled by meaning
	TierDocument Tier = 4 // addressed by path, exact read-back, never an authority
)

var tierNames = names[Tier]{"", "fact", "note", "episode", "document"}

func (t Tier) String() string                { return tierNames.of(t) }
func (t Tier) MarshalText() ([]byte, error)  { return tierNames.text(t) }
func (t *Tier) UnmarshalText(b []byte) error { return tierNames.parseText("tier", b, t) }

// Semantic reports whether records of the tier are recalled by meaning.
func (t Tier) Semantic() bool { return t == TierNote || t == TierEpisode }

// Label is the integrity of a statement: who, in the end, vouches for it. It
// is derived by the gate from the credential and the cited messages, never
// taken from a field that a caller fills, and never rises in place. Labels are
// ordered; a higher label may supersede a lower one, never the reverse. The
// zero Label is unknown and admits nothing.
type Label uint8

const (
	LabelExternal      Label = 1 // text from outside: web pages, mails, documents
	LabelAgentInferred Label = 2 // what a model said or concluded
	LabelAttestedTool  Label = 3 // what a connector with its own key reports
	LabelUserStated    Label = 4 // what the user said, proven against a message
	LabelUserConfirmed Label = 5 // what the user confirmed after being shown it
	LabelOperator      Label = 6 // what an operator decided
)

var labelNames = names[Label]{"", "external", "agent_inferred", "attested_tool", "user_stated", "user_confirmed", "operator"}

func (l Label) String() string                { return labelNames.of(l) }
func (l Label) MarshalText() ([]byte, error)  { return labelNames.text(l) }
func (l *Label) UnmarshalText(b []byte) error { return labelNames.parseText("label", b, l) }

// Known reports whether the label is one of the six.
func (l Label) Known() bool { return l >= LabelExternal && l <= LabelOperator }

// Role is who a message speaks as. It does not decide the label by itself:
// only app and user principals may record a message of RoleUser that counts as
// the user's own words.
type Role uint8

const (
	RoleUser      Role = 1
	RoleAssistant Role = 2
	RoleTool      Role = 3 // the result of a tool call
	RoleSystem    Role = 4 // the harness's own instructions; never memory
)

var roleNames = names[Role]{"", "user", "assistant", "tool", "system"}

func (r Role) String() string                { return roleNames.of(r) }
func (r Role) MarshalText() ([]byte, error)  { return roleNames.text(r) }
func (r *Role) UnmarshalText(b []byte) error { return roleNames.parseText("role", b, r) }

// ParseRole reads a role's word, with an Invalid error for any other.
func ParseRole(s string) (Role, error) {
	var r Role
	return r, r.UnmarshalText([]byte(s))
}
