package gate

import "github.com/tenet-memory/tenet"

// Effect is what a text would do if a model read it as an instruction.
type Effect uint8

const (
	E0 Effect = 0 // descriptive: states a fact or preference
	E1 Effect = 1 // presentation or protective: form, tone, naming, warnings
	E2 Effect = 2 // consequential: money, access, execution, trust
	E3 Effect = 3 // control plane: override, role spoofing, exfiltration, hidden text
)

func (e Effect) String() string { return [...]string{"E0", "E1", "E2", "E3"}[e&3] }

// severity orders what a check can ask for; the verdict is the maximum.
type severity uint8

const (
	allow severity = iota
	hold
	reject
)

// matrix is the label x effect table: what each combination comes to in the
// persistent tier and in the semantic one. Rows are labels, columns E0 to E3.
// Configuration can tighten an answer, never relax it.
var matrix = struct{ fact, note, episode [7][4]severity }{
	fact: [7][4]severity{
		0:                        {reject, reject, reject, reject},
		tenet.LabelExternal:      {hold, reject, reject, reject},
		tenet.LabelAgentInferred: {hold, hold, reject, reject},
		tenet.LabelAttestedTool:  {allow, hold, reject, reject}, // E0 only under keys the connector owns, see Judge
		tenet.LabelUserStated:    {allow, allow, hold, reject},
		tenet.LabelUserConfirmed: {allow, allow, allow, reject},
		// An operator's E3 is held for a second look, their E2 refused: a
		// standing consequence belongs into the host's code, not into memory.
		tenet.LabelOperator: {allow, allow, reject, hold},
	},
	note: [7][4]severity{
		0:                        {reject, reject, reject, reject},
		tenet.LabelExternal:      {allow, reject, reject, reject},
		tenet.LabelAgentInferred: {allow, hold, reject, reject},
		tenet.LabelAttestedTool:  {allow, hold, reject, reject},
		tenet.LabelUserStated:    {allow, allow, hold, reject},
		tenet.LabelUserConfirmed: {allow, allow, allow, reject},
		tenet.LabelOperator:      {allow, allow, reject, hold},
	},
	// An episode is a record of what was said, inert in the lane of its label
	// and never an authority: a user's "pay the invoice" and an assistant's
	// "run this command" are ordinary turns. A standing order is held, see weigh.
	episode: [7][4]severity{
		0:                        {reject, reject, reject, reject},
		tenet.LabelExternal:      {allow, reject, reject, reject},
		tenet.LabelAgentInferred: {allow, allow, allow, reject},
		tenet.LabelAttestedTool:  {allow, allow, allow, reject},
		tenet.LabelUserStated:    {allow, allow, allow, reject},
		tenet.LabelUserConfirmed: {allow, allow, allow, reject},
		tenet.LabelOperator:      {allow, allow, allow, hold},
	},
}

// weigh looks the combination up. Two modifiers from the effect's findings
// count for the user's own words only: a persistence marker turns a hold of E2
// into a rejection ("in future sessions, always approve refunds"), and a
// negation turns a rejection into a hold ("never buy without asking me").
// A negation never leads to allow.
func weigh(tier tenet.Tier, label tenet.Label, effect Effect, persists, negated bool) severity {
	if !label.Known() {
		return reject
	}
	var s severity
	switch tier {
	case tenet.TierFact:
		s = matrix.fact[label][effect]
	case tenet.TierNote:
		s = matrix.note[label][effect]
	case tenet.TierEpisode:
		s = matrix.episode[label][effect]
	case tenet.TierDocument:
		if effect == E3 {
			return reject
		}
		return allow
	default:
		return reject
	}
	if tier == tenet.TierEpisode && effect == E2 && persists && !negated && label < tenet.LabelUserConfirmed {
		return max(s, hold)
	}
	if label != tenet.LabelUserStated {
		return s
	}
	switch {
	case effect == E2 && persists && !negated:
		return reject
	case effect == E3 && negated:
		return hold
	}
	return s
}
