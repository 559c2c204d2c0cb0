package console

import (
	"strings"

	"github.com/tenet-memory/tenet"
)

// words says what each reason code means. A code that is not here is of a rule of
// the tenant's own.
var words = map[tenet.Code]string{
	"OVERRIDE":         "tells the assistant to disregard its instructions",
	"ROLE_TAG":         "pretends to be a system or assistant message",
	"JAILBREAK":        "tries to take the assistant out of its role",
	"EXFIL":            "asks to send data elsewhere",
	"SUPPRESSION":      "asks to hide or withhold something from the user",
	"LINK_SINK":        "sends data to an address",
	"MARKDOWN_IMAGE":   "an image link, which can carry data out when it is shown",
	"STANDING_ACTION":  "an instruction for every time",
	"ACTION_DIRECTIVE": "tells the assistant to do something with consequences",
	"TRUST_SHIFT":      "asks to trust somebody or something",
	"PRIVILEGE_CLAIM":  "claims a right or a role",
	"TOOL_CHOICE":      "tells the assistant which tool to use",
	"IDENTITY_REDIRECT": "says that somebody is somebody else, or changes where things " +
		"are sent",
	"STYLE":            "an instruction about how to answer",
	"INVISIBLE_TEXT":   "characters that cannot be seen",
	"BIDI":             "characters that turn the direction of the text",
	"MIXED_SCRIPT":     "letters of several alphabets that look alike",
	"ENCODED_PAYLOAD":  "an encoded text with instructions in it",
	"ONE_TIME_CODE":    "a one-time code",
	"PROTECTED_KEY":    "a key that only its owners may write",
	"UNKNOWN_KEY":      "a key that the registry does not know",
	"VALUE_TYPE":       "a value of another type than the key has",
	"TRANSIENT":        "true for the moment only",
	"REFETCHABLE":      "can be looked up again at any time",
	"SPECULATIVE":      "a guess",
	"SESSION_METADATA": "about the conversation, not the person",

	tenet.CodeNoScope:        "says nowhere whose memory it is for",
	tenet.CodeTierMissing:    "names no tier",
	tenet.CodeKeyMissing:     "a fact without a key",
	tenet.CodeKeyForm:        "the key has a form that keys do not have",
	tenet.CodeDropped:        "never judged: an operator gave its session up",
	tenet.CodeUnrouted:       "its extractor could not say what it is",
	tenet.CodeEmpty:          "says nothing",
	tenet.CodeSize:           "too long",
	tenet.CodeClock:          "its time is too far in the future",
	tenet.CodeNoProvenance:   "nobody stands behind it",
	tenet.CodeUnknownMessage: "cites a message that is not there",
	tenet.CodeSpanUnproven:   "what it cites does not say it",
	tenet.CodeUntrusted:      "nobody whose word is enough for a fact said it",
	tenet.CodeLowerIntegrity: "differs from something that somebody of more standing said",
	tenet.CodeSameInstant:    "two statements about the same moment",
	tenet.CodeBackdated:      "about a time before what is known",
	tenet.CodeDuplicate:      "known already",
	tenet.CodePersistentFull: "the facts have no room",
	tenet.CodeRetainNone:     "the speaker asked not to keep it",
	tenet.CodeReleased:       "an operator released it",
	tenet.CodeConfirmed:      "the user confirmed it",
	tenet.CodeExpired:        "its text has run out",
	tenet.CodeEnded:          "no longer true",
	tenet.CodeRetracted:      "taken back",
	tenet.CodeUnknownStart:   "the end of something that was not known",
	tenet.CodeNothingToEnd:   "there was nothing to end",

	tenet.CodePossibleConflict:  "differs in a number, name, negation or address from something similar",
	tenet.CodeAmbiguousEnd:      "does not say which of several values ends",
	tenet.CodeRejectedBefore:    "the same was rejected before",
	tenet.CodeErased:            "the same was erased; only the user may say it again",
	tenet.CodeRestated:          "the user said again what had been erased",
	tenet.CodeForgetRequest:     "the user asks to forget something that no one key holds",
	tenet.CodePromptLimit:       "the user was asked often enough today",
	tenet.CodeRateLimit:         "too much was proposed lately",
	tenet.CodeKeyChurn:          "the key changed too often lately",
	tenet.CodeSelfReinforcement: "only agents stand behind it",
	tenet.CodeRescanned:         "taken out of belief by later rules",
	tenet.CodeRedacted:          "personal data was replaced by a placeholder",
}

func inWords(c tenet.Code) string {
	if w, known := words[c]; known {
		return w
	}
	kind, _, _ := strings.Cut(string(c), ":")
	switch kind {
	case "SECRET":
		return "looks like a password, key or token"
	case "PII":
		return "personal data of this kind is not kept"
	case "CLASSIFIER":
		return "a model asked for a review"
	}
	return "a rule of this tenant's policy"
}
