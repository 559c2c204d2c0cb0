package policy

import "github.com/tenet-memory/tenet"

// Reason codes of the policy. They are stable: clients and logs keep them.
const (
	CodeOverride         tenet.Code = "OVERRIDE"
	CodeRoleTag          tenet.Code = "ROLE_TAG"
	CodeJailbreak        tenet.Code = "JAILBREAK"
	CodeExfil            tenet.Code = "EXFIL"
	CodeSuppression      tenet.Code = "SUPPRESSION"
	CodeLinkSink         tenet.Code = "LINK_SINK"
	CodeMarkdownImage    tenet.Code = "MARKDOWN_IMAGE"
	CodeStandingAction   tenet.Code = "STANDING_ACTION"
	CodeActionDirective  tenet.Code = "ACTION_DIRECTIVE"
	CodeTrustShift       tenet.Code = "TRUST_SHIFT"
	CodePrivilegeClaim   tenet.Code = "PRIVILEGE_CLAIM"
	CodeToolChoice       tenet.Code = "TOOL_CHOICE"
	CodeIdentityRedirect tenet.Code = "IDENTITY_REDIRECT"
	CodeStyle            tenet.Code = "STYLE"
	CodeInvisibleText    tenet.Code = "INVISIBLE_TEXT"
	CodeBidi             tenet.Code = "BIDI"
	CodeMixedScript      tenet.Code = "MIXED_SCRIPT"
	CodeEncodedPayload   tenet.Code = "ENCODED_PAYLOAD"
	CodeOneTimeCode      tenet.Code = "ONE_TIME_CODE"
	CodeProtectedKey     tenet.Code = "PROTECTED_KEY"
	CodeUnknownKey       tenet.Code = "UNKNOWN_KEY"
	CodeValueType        tenet.Code = "VALUE_TYPE"
	CodeTransient        tenet.Code = "TRANSIENT"
	CodeRefetchable      tenet.Code = "REFETCHABLE"
	CodeSpeculative      tenet.Code = "SPECULATIVE"
	CodeSessionMetadata  tenet.Code = "SESSION_METADATA"
)
