package tenet

import "time"

// Outcome is what became of a candidate. The set is closed; the zero Outcome
// is unusable.
type Outcome uint8

const (
	Stored       Outcome = 1 // a new record
	Corroborated Outcome = 2 // an equal record gained an origin
	Superseded   Outcome = 3 // a new record took the place of an older one
	Quarantined  Outcome = 4 // held for review, in no index
	Rejected     Outcome = 5 // refused, its text in the refusal log
)

var outcomeNames = names[Outcome]{"", "stored", "corroborated", "superseded", "quarantined", "rejected"}

func (o Outcome) String() string                { return outcomeNames.of(o) }
func (o Outcome) MarshalText() ([]byte, error)  { return outcomeNames.text(o) }
func (o *Outcome) UnmarshalText(b []byte) error { return outcomeNames.parseText("outcome", b, o) }

// Kept reports whether the candidate's content is now in durable memory.
func (o Outcome) Kept() bool { return o >= Stored && o <= Superseded }

// Code is a stable reason code, such as NO_PROVENANCE or SECRET:aws-access-token.
type Code string

// Codes of the gate's compiled-in floor. Policy adds its own.
const (
	CodeNoScope        Code = "NO_SCOPE"
	CodeTierMissing    Code = "TIER_MISSING"
	CodeKeyMissing     Code = "KEY_MISSING"
	CodeKeyForm        Code = "KEY_FORM"
	CodeDropped        Code = "DROPPED"  // never judged: an operator gave its session up
	CodeUnrouted       Code = "UNROUTED" // an extractor could not say which tier: held for who can
	CodeEmpty          Code = "EMPTY"
	CodeSize           Code = "SIZE"
	CodeClock          Code = "CLOCK"
	CodeNoProvenance   Code = "NO_PROVENANCE"
	CodeUnknownMessage Code = "UNKNOWN_MESSAGE"
	CodeSpanUnproven   Code = "SPAN_UNPROVEN"
	CodeUntrusted      Code = "UNTRUSTED_ORIGIN"
	CodeLowerIntegrity Code = "CONFLICT_LOWER_INTEGRITY"
	CodeSameInstant    Code = "CONFLICT_SAME_INSTANT"
	CodeBackdated      Code = "BACKDATED"
	CodeDuplicate      Code = "DUPLICATE"
	CodePersistentFull Code = "PERSISTENT_FULL"
	CodeRetainNone     Code = "RETAIN_NONE"
	CodeReleased       Code = "RELEASED"
	CodeExpired        Code = "EXPIRED"
	CodeEnded          Code = "ENDED"         // the verdict of an end: the replaced record no longer holds
	CodeRetracted      Code = "RETRACTED"     // of a retraction: the replaced record is no longer believed
	CodeUnknownStart   Code = "UNKNOWN_START" // an end of what was not known: kept as history without a start
	CodeNothingToEnd   Code = "NOTHING_TO_END"
	// CodePossibleConflict: a similar record differs in a number, name, negation
	// or address. Both are kept.
	CodePossibleConflict Code = "POSSIBLE_CONFLICT"
	CodeAmbiguousEnd     Code = "AMBIGUOUS_END" // the key holds several values and none was named
	CodeConfirmed        Code = "CONFIRMED"
	CodeRejectedBefore   Code = "REJECTED_BEFORE"        // the same statement was rejected at this label or a higher one
	CodeErased           Code = "ERASED"                 // the statement was erased; only the user may say it again
	CodeRestated         Code = "RESTATED_AFTER_ERASURE" // the user said again what had been erased
	CodeForgetRequest    Code = "FORGET_REQUEST"         // the user asked to forget what no one key holds
	CodePromptLimit      Code = "PROMPT_LIMIT"           // the user was asked often enough today
	CodeRateLimit        Code = "RATE_LIMIT"             // the principal proposed too much for this subject lately
	CodeKeyChurn         Code = "KEY_CHURN"              // the key was written too often lately by others than the user
	// CodeSelfReinforcement: agents alone stand behind the last writes of the key.
	CodeSelfReinforcement Code = "SELF_REINFORCEMENT"
	CodeRescanned         Code = "RESCANNED" // stored before, and taken out of belief by later rules
	CodeRedacted          Code = "REDACTED"  // stored with a typed placeholder where personal data stood
)

// Finding is one reason behind a verdict: the check that spoke, its code, and
// where in the text, as byte offsets [Start, End) of the candidate's text.
type Finding struct {
	Check  string `json:"check"`
	Code   Code   `json:"code"`
	Start  int    `json:"start,omitempty"`
	End    int    `json:"end,omitempty"`
	Detail string `json:"detail,omitempty"` // sizes, rule ids; never memory text
}

// Verdict is what was decided about one candidate, and why.
type Verdict struct {
	Candidate CandidateID `json:"candidate"`
	Outcome   Outcome     `json:"outcome"`
	Record    RecordID    `json:"record,omitempty"`   // the record stored, corroborated or superseding
	Replaced  RecordID    `json:"replaced,omitempty"` // what it superseded
	Tier      Tier        `json:"tier,omitempty"`
	Key       string      `json:"key,omitempty"`
	Label     Label       `json:"label,omitempty"`
	Effect    string      `json:"effect,omitempty"` // E0 to E3
	Codes     []Code      `json:"codes,omitempty"`
	Findings  []Finding   `json:"findings,omitempty"`
	RuleSet   string      `json:"ruleset"` // digest of the rules that decided
	At        time.Time   `json:"at"`
}

// Held is a quarantined or rejected candidate as an operator sees it. Its
// text is kept sealed and for a limited time.
type Held struct {
	Verdict   Verdict   `json:"verdict"`
	Candidate Candidate `json:"proposal"`
	By        string    `json:"by"`
	ExpiresAt time.Time `json:"expires_at"`
	State     HoldState `json:"state"`
}

// HoldState is what became of a held candidate.
type HoldState string

const (
	HoldOpen      HoldState = "open"
	HoldReleased  HoldState = "released"
	HoldDiscarded HoldState = "discarded"
	HoldExpired   HoldState = "expired"
	HoldRefused   HoldState = "refused" // a rejection: logged, not open for release
)

// AuditEntry is one link of a scope's hash chain. The chain holds keyed
// digests and no id or text, so that erasure does not break it; Ref, Actor and
// Why are kept beside it, are covered by Digest, and are gone after an erasure.
type AuditEntry struct {
	Seq     uint64    `json:"seq"` // from 1, without gaps
	Action  string    `json:"action"`
	Outcome Outcome   `json:"outcome,omitempty"`
	Codes   []Code    `json:"codes,omitempty"`
	RuleSet string    `json:"ruleset,omitempty"`
	At      time.Time `json:"at"`
	Digest  []byte    `json:"digest"` // HMAC of all that was written, under the subject's key
	Prev    []byte    `json:"prev"`
	Hash    []byte    `json:"hash"`

	Ref   string `json:"ref,omitempty"`   // candidate, record or session acted on
	Actor string `json:"actor,omitempty"` // Principal.String of who asked
	Why   string `json:"why,omitempty"`   // the reason given
}
