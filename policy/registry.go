package policy

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// ValueType is the shape that a key's typed value must have.
type ValueType string

// The value types. Text accepts a string; Any accepts every JSON value.
const (
	AnyValue ValueType = ""
	Text     ValueType = "text"
	Number   ValueType = "number"
	Boolean  ValueType = "boolean"
	Date     ValueType = "date" // YYYY-MM-DD
	List     ValueType = "list"
	Object   ValueType = "object"
)

// KeySpec describes one key of the persistent tier, or with a trailing dot
// every key under it.
type KeySpec struct {
	Key    string    `json:"key"` // "home_city", or "allergy." for all below
	Type   ValueType `json:"type,omitempty"`
	Many   bool      `json:"many,omitempty"`   // holds several values at once: allergies are many, a home city is one
	Safety bool      `json:"safety,omitempty"` // must never be crowded out
	// Writers are the kinds of principal that may write it; empty: any that
	// the label allows.
	Writers []tenet.PrincipalKind `json:"writers,omitempty"`
	// Overridable lets a narrower scope's value win over a wider one's of the
	// same label without being listed as a conflict.
	Overridable bool `json:"overridable,omitempty"`
	// Revalidate is how long after it was last stated a value should be asked
	// about again; zero: as its label says.
	Revalidate time.Duration `json:"revalidate,omitempty"`
	// Keep is how long after it was said the text of a fact is kept; zero: as
	// its tier's window says.
	Keep time.Duration `json:"keep,omitempty"`
}

// Registry answers what is known about a key. It is immutable.
type Registry struct {
	exact  map[string]KeySpec
	prefix map[string]KeySpec // without the trailing dot
}

// Lookup returns the most specific entry for a key.
func (r Registry) Lookup(key string) (KeySpec, bool) {
	return r.lookup(normalKey(key))
}

func (r Registry) lookup(k string) (KeySpec, bool) {
	if s, ok := r.exact[k]; ok {
		return s, true
	}
	for {
		i := strings.LastIndexByte(k, '.')
		if i < 0 {
			return KeySpec{}, false
		}
		k = k[:i]
		if s, ok := r.prefix[k]; ok {
			return s, true
		}
	}
}

// normalKey is the form in which keys are compared: folded, with "/" and ":"
// as dots, so that no spelling slips past a prefix.
func normalKey(key string) string {
	k := canonicalise(key).text
	return strings.Map(func(r rune) rune {
		switch r {
		case '/', ':', '\\', ' ', '\n':
			return '.'
		}
		return r
	}, k)
}

// severalOf are relations of which somebody may have several.
var severalOf = [...]string{
	"son", "daughter", "brother", "sister", "uncle", "aunt", "cousin", "niece", "nephew", "grandmother", "grandma", "grandfather",
	"grandpa", "granddaughter", "grandson", "stepson", "stepdaughter", "stepbrother", "stepsister", "sister-in-law", "brother-in-law",
	"mother-in-law", "father-in-law", "twin_sister", "twin_brother",
}

// protectedPrefixes name who somebody is, what they may do and what the agent
// is told: an operator's business only.
var protectedPrefixes = [...]string{"identity", "auth", "role", "system", "agent", "policy", "tool", "payment", "security"}

// defaultKeys are what the registry knows without configuration.
func defaultKeys() []KeySpec {
	keys := []KeySpec{
		{Key: "allergy", Many: true, Safety: true}, {Key: "allergy.", Many: true, Safety: true},
		{Key: "allergies", Many: true, Safety: true}, {Key: "medication", Many: true, Safety: true}, {Key: "medication.", Many: true, Safety: true},
		{Key: "medical_condition", Many: true, Safety: true}, {Key: "health.", Many: true, Safety: true},
		{Key: "emergency_contact", Safety: true}, {Key: "accessibility_need", Many: true, Safety: true},
		{Key: "dietary_restriction", Many: true, Safety: true}, {Key: "diet", Safety: true},
		{Key: "name"}, {Key: "preferred_name", Overridable: true}, {Key: "pronouns"}, {Key: "language", Overridable: true}, {Key: "timezone", Overridable: true},
		{Key: "home_city"}, {Key: "country"}, {Key: "address"}, {Key: "email"}, {Key: "phone"}, {Key: "birthday"}, {Key: "employer"}, {Key: "occupation"},
		{Key: "contact_preference", Overridable: true}, {Key: "seat_preference"}, {Key: "response_style", Overridable: true},
		{Key: "preference.", Overridable: true}, {Key: "hobby", Many: true}, {Key: "interest", Many: true}, {Key: "family_member", Many: true}, {Key: "pet", Many: true},
		{Key: "spoken_language", Many: true},
		{Key: "native_language"}, {Key: "nationality"}, {Key: "hometown"}, {Key: "birthplace"}, {Key: "age", Type: Number}, {Key: "anniversary"},
		{Key: "marital_status"}, {Key: "work_email"}, {Key: "work_phone"}, {Key: "preference", Many: true, Overridable: true}, {Key: "favorite.", Overridable: true},
		{Key: "pet.", Many: true}, {Key: "family."}, {Key: "intolerance", Many: true, Safety: true}, {Key: "safety_note", Many: true, Safety: true},
	}
	for _, relation := range severalOf {
		keys = append(keys, KeySpec{Key: "family." + relation, Many: true})
	}
	for _, p := range protectedPrefixes {
		keys = append(keys, KeySpec{Key: p + ".", Writers: []tenet.PrincipalKind{tenet.Operator}})
	}
	return keys
}

func newRegistry(keys []KeySpec) (Registry, error) {
	r := Registry{map[string]KeySpec{}, map[string]KeySpec{}}
	for _, k := range keys {
		if k.Key == "" || len(k.Key) > tenet.MaxKey {
			return r, tenet.Errorf(tenet.Invalid, "policy", "a key spec has no usable key")
		}
		switch k.Type {
		case AnyValue, Text, Number, Boolean, Date, List, Object:
		default:
			return r, tenet.Errorf(tenet.Invalid, "policy", "key %s: unknown value type %q", k.Key, k.Type)
		}
		if p, ok := strings.CutSuffix(k.Key, "."); ok {
			r.prefix[normalKey(p)] = k
		} else {
			r.exact[normalKey(k.Key)] = k
		}
	}
	return r, nil
}

// protected reports whether a key is under an operator-only prefix. Case,
// look-alike letters and separators make no difference.
func protected(key string) bool {
	return protectedForm(normalKey(key))
}

func protectedForm(k string) bool {
	if k == "system_prompt" || k == "systemprompt" {
		return true
	}
	first, _, under := strings.Cut(k, ".")
	for _, p := range protectedPrefixes {
		if under && first == p {
			return true
		}
	}
	return false
}

// checkKey holds a fact's key against the registry.
func (p *Policy) checkKey(pr gate.Proposal, s *scan, fs []gate.Finding) []gate.Finding {
	c := pr.Candidate
	if c.Tier != tenet.TierFact && c.Tier != tenet.TierDocument || c.Key == "" {
		return fs
	}
	finding := func(code tenet.Code, a Action) {
		g := gate.Finding{Finding: tenet.Finding{Check: "key", Code: code}, Hold: a == Hold, Reject: a == Reject}
		fs = append(fs, g)
	}
	// A key is shown to models too: it must not give orders.
	words := strings.Map(func(r rune) rune {
		if strings.ContainsRune("._-/", r) {
			return ' '
		}
		return r
	}, c.Key)
	if strings.Count(words, " ") >= 2 || !isASCII(words) { // fewer words are a name, "refund policy", "email address"
		for _, g := range p.checkForm(s, canonicalise(words), false, nil) {
			if g.Effect >= gate.E2 {
				g.Check, g.Detail = "key", "in the key"
				fs = append(fs, g)
			}
		}
	}
	if len(c.Key) >= 10 {
		for _, g := range p.checkSecrets(legible(c.Key), false, nil) {
			g.Check, g.Detail = "key", "in the key"
			fs = append(fs, g)
		}
	}
	if c.Tier != tenet.TierFact {
		return fs
	}
	form := normalKey(c.Key)
	if protectedForm(form) && pr.By.Kind() != tenet.Operator {
		finding(CodeProtectedKey, Reject)
	}
	spec, ok := p.registry.lookup(form)
	switch {
	case !ok:
		if p.config.UnknownKeys != Allow {
			finding(CodeUnknownKey, p.config.UnknownKeys)
		}
		return fs
	case len(spec.Writers) > 0 && !protectedForm(form):
		may := false
		for _, w := range spec.Writers {
			may = may || w == pr.By.Kind()
		}
		if !may {
			finding(CodeProtectedKey, Reject)
		}
	}
	if len(c.Value) > 0 && !spec.Type.holds(c.Value) {
		finding(CodeValueType, Reject)
	}
	return fs
}

// holds reports whether a JSON value has the type.
func (t ValueType) holds(v json.RawMessage) bool {
	var x any
	if json.Unmarshal(v, &x) != nil {
		return false
	}
	ok := true
	switch t {
	case Text:
		_, ok = x.(string)
	case Number:
		_, ok = x.(float64)
	case Boolean:
		_, ok = x.(bool)
	case List:
		_, ok = x.([]any)
	case Object:
		_, ok = x.(map[string]any)
	case Date:
		var s string
		if s, ok = x.(string); ok {
			_, err := time.Parse(time.DateOnly, s)
			ok = err == nil
		}
	}
	return ok
}
