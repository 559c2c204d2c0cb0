package tenet

import (
	"encoding/json"
	"time"
)

// Candidate is a proposed durable record. It declares what it is and what it
// cites; whose word it is, the gate derives.
type Candidate struct {
	// ID makes the proposal idempotent: the same id with the same content has
	// one effect, with other content it is a Conflict. Empty: the engine makes
	// one, and a retry is then a new proposal.
	ID    CandidateID `json:"id"`
	Scope Scope       `json:"-"` // from a principal or NewScope, never from a payload
	Tier  Tier        `json:"tier,omitempty"`
	// Key addresses a fact in its scope, or a document by its path.
	Key string `json:"key,omitempty"`
	// Value is the typed value as JSON; for a plain text fact it is the text
	// as a JSON string. Text is what a person and a model read.
	Value json.RawMessage `json:"value,omitempty"`
	Text  string          `json:"text"`
	// Cites are messages of the scope that support it.
	Cites []MessageID `json:"cites,omitempty"`
	// Quote is evidence given inline: words that the caller attests were said.
	// It is kept as a message of the record and then counts as cited.
	Quote string `json:"quote,omitempty"`
	// Session and Recalled are set by the engine: the session it was proposed
	// in, and the records recalled there, which count as parents.
	Session  SessionID  `json:"session,omitempty"`
	Recalled []RecordID `json:"recalled,omitempty"`
	Speaker  string     `json:"speaker,omitempty"`
	Position int64      `json:"position,omitempty"` // the message's position, for episodes
	// Valid is when it is true in the world. A zero From is: from the time it
	// was said.
	Valid Interval `json:"valid,omitzero"`
	// Multi marks a key that holds several values at once (allergies are many,
	// a home city is one).
	Multi bool `json:"multi,omitempty"`
	// Safety marks a fact that must never be crowded out. The gate honours it
	// only from user_stated up.
	Safety bool `json:"safety,omitempty"`
	// Op is what is proposed about the key: a value (the zero Op), that a value
	// no longer holds, or that it never did. Ends and retractions pass the gate
	// like any candidate: whose words they are decides what they may touch.
	Op Op `json:"op,omitempty"`
	// Route says why the candidate goes to its tier, as its extractor decided:
	// "fact: safety key". It is kept with the audit entry; never memory text.
	Route string `json:"route,omitempty"`
	// IfVersion, when set, is the record that must be the open one under the
	// key, or "none": otherwise the write is a Conflict.
	IfVersion RecordID `json:"if_version,omitempty"`
	// ProposedBy (Principal.String) and ProposedAt are set by the engine.
	ProposedBy string    `json:"proposed_by,omitempty"`
	ProposedAt time.Time `json:"proposed_at,omitzero"`
}

// Op is what a candidate says about its key.
type Op uint8

const (
	OpAssert Op = 0 // the key has this value
	// OpEnd: from Valid.To (zero: when it was said) the key no longer has this
	// value; without a value, it no longer has any.
	OpEnd Op = 1
	// OpRetract: it never had this value; without a value, forget the key.
	OpRetract Op = 2
)

var opNames = names[Op]{"assert", "end", "retract"}

func (o Op) String() string               { return opNames.of(o) }
func (o Op) MarshalText() ([]byte, error) { return opNames.text(o) }
func (o *Op) UnmarshalText(b []byte) error {
	if string(b) == opNames[OpAssert] {
		*o = OpAssert
		return nil
	}
	return opNames.parseText("op", b, o)
}

// KeyForget is the key of a retraction that names no key of its own: what the
// user asked to forget is then for an operator to find. It is never kept.
const KeyForget = "forget"

// NoVersion as IfVersion demands that the key has no open record.
const NoVersion RecordID = "none"

// Fact proposes a keyed fact with a plain text value.
func Fact(scope Scope, key, text string) Candidate {
	return Candidate{Scope: scope, Tier: TierFact, Key: key, Text: text}
}

// FactValue proposes a keyed fact with a typed JSON value and the words for it.
func FactValue(scope Scope, key string, value json.RawMessage, text string) Candidate {
	return Candidate{Scope: scope, Tier: TierFact, Key: key, Value: value, Text: text}
}

// Note proposes a statement for the semantic tier.
func Note(scope Scope, text string) Candidate {
	return Candidate{Scope: scope, Tier: TierNote, Text: text}
}

// Quoting returns c with inline evidence; Citing returns c citing messages.
func (c Candidate) Quoting(quote string) Candidate { c.Quote = quote; return c }
func (c Candidate) Citing(ids ...MessageID) Candidate {
	c.Cites = append(append([]MessageID(nil), c.Cites...), ids...)
	return c
}

// Check returns an Invalid error when the candidate cannot be judged at all:
// ids, UTF-8, JSON or size. What policy refuses is not Check's business.
func (c Candidate) Check() error {
	if c.Scope.IsZero() {
		return Errorf(Invalid, "candidate", "no scope")
	}
	if err := checkID("candidate id", string(c.ID)); err != nil {
		return Errorf(Invalid, "candidate", "%v", err)
	}
	for _, f := range []struct{ what, s string }{{"text", c.Text}, {"key", c.Key}, {"quote", c.Quote}, {"speaker", c.Speaker}} {
		if err := CheckText(f.what, f.s); err != nil {
			return err
		}
	}
	if c.Op > OpRetract || c.Op != OpAssert && c.Tier != TierFact {
		return Errorf(Invalid, "candidate", "only facts can be ended or retracted")
	}
	if c.Route != "" {
		if err := checkID("route", c.Route); err != nil {
			return Errorf(Invalid, "candidate", "%v", err)
		}
	}
	if n := len(c.Text) + len(c.Value); n > MaxCandidate {
		return Errorf(Invalid, "candidate", "text and value are %d bytes, the limit is %d", n, MaxCandidate)
	}
	if len(c.Quote) > MaxMessage {
		return Errorf(Invalid, "candidate", "quote is %d bytes, the limit is %d", len(c.Quote), MaxMessage)
	}
	if len(c.Cites) > MaxCites {
		return Errorf(Invalid, "candidate", "cites %d messages, the limit is %d", len(c.Cites), MaxCites)
	}
	if len(c.Value) > 0 {
		if err := CheckJSON(c.Value); err != nil {
			return err
		}
	}
	if v := c.Valid; !v.From.IsZero() && !v.To.IsZero() && !v.From.Before(v.To) {
		return Errorf(Invalid, "candidate", "valid time ends before it starts")
	}
	return nil
}
