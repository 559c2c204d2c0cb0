package memory

import (
	"context"
	"slices"

	"github.com/tenet-memory/tenet"
)

// ActionRule says what has to be so before an action with consequences is
// taken on what a session's context held. Labels are lower bounds; zero asks
// for nothing.
type ActionRule struct {
	Action string `json:"action"`
	// DenyBelow and ConfirmBelow bound the labels of everything that stood in
	// the context: an item below is a reason to deny, or to ask the user.
	DenyBelow    tenet.Label `json:"deny_below,omitzero"`
	ConfirmBelow tenet.Label `json:"confirm_below,omitzero"`
	// Support is what each record named as the ground of the action must at
	// least have. Without a record that is named, the user has to be asked.
	Support tenet.Label `json:"support,omitzero"`
}

// OtherAction is the rule for actions that have none of their own.
const OtherAction = "other"

// DefaultActions is the table that ships. Money needs the user's confirmation
// behind it; what leaves the house needs a context without outside text.
func DefaultActions() []ActionRule {
	return []ActionRule{
		{Action: "payment", ConfirmBelow: tenet.LabelAgentInferred, Support: tenet.LabelUserConfirmed},
		{Action: "account_change", ConfirmBelow: tenet.LabelAgentInferred, Support: tenet.LabelUserConfirmed},
		{Action: "outbound_message", ConfirmBelow: tenet.LabelAgentInferred},
		{Action: "data_sharing", ConfirmBelow: tenet.LabelAgentInferred, Support: tenet.LabelUserStated},
		{Action: "code_execution", ConfirmBelow: tenet.LabelAgentInferred},
		{Action: "deletion", ConfirmBelow: tenet.LabelAgentInferred, Support: tenet.LabelUserStated},
		{Action: OtherAction, ConfirmBelow: tenet.LabelAgentInferred},
	}
}

// tighten joins rules so that each bound is the strictest named.
func tighten(rules []ActionRule) map[string]ActionRule {
	out := map[string]ActionRule{}
	for _, r := range append(DefaultActions(), rules...) {
		have, known := out[r.Action]
		if !known {
			have = ActionRule{Action: r.Action}
			if o, ok := out[OtherAction]; ok && r.Action != OtherAction {
				have.DenyBelow, have.ConfirmBelow = o.DenyBelow, o.ConfirmBelow
			}
		}
		have.DenyBelow = max(have.DenyBelow, r.DenyBelow)
		have.ConfirmBelow = max(have.ConfirmBelow, r.ConfirmBelow)
		have.Support = max(have.Support, r.Support)
		out[r.Action] = have
	}
	return out
}

// SetActions replaces what Config.Actions said, for sessions opened from now on.
func (m *Memory) SetActions(rules []ActionRule) {
	t := tighten(rules)
	m.actions.Store(&t)
}

// Answer is whether an action may be taken. The set is closed.
type Answer string

const (
	AnswerAllow   Answer = "allow"
	AnswerDeny    Answer = "deny"
	AnswerConfirm Answer = "needs_confirm" // ask the user, outside of the model's reach
)

// Codes of an authorisation.
const (
	CodeLowContext   tenet.Code = "LOW_LABEL_IN_CONTEXT" // an item in the context is below what the action asks for
	CodeLowSupport   tenet.Code = "LOW_LABEL_OF_GROUND"  // a named record is below what the action asks for
	CodeNoSupport    tenet.Code = "NO_GROUND"            // the action needs a record behind it and none was named
	CodeNotServed    tenet.Code = "GROUND_NOT_SERVED"    // a named record never stood in this session's context
	CodeNoContext    tenet.Code = "CONTEXT_UNKNOWN"      // the session's log or receipts are gone
	CodeNotCurrent   tenet.Code = "GROUND_NOT_CURRENT"   // a named record is not believed or not true any more
	CodeStale        tenet.Code = "GROUND_STALE"         // a named record is due for revalidation
	CodeItemNotFound tenet.Code = "ITEM_GONE"            // something that was served cannot be read any more
)

// Authorization is the memory half of a capability check: what the labels of
// the session's context say about an action. It never widens what the host
// allows.
type Authorization struct {
	Action  string      `json:"action"`
	Answer  Answer      `json:"answer"`
	Lowest  tenet.Label `json:"lowest,omitzero"` // of everything that stood in the context
	Items   int         `json:"items"`           // records and messages looked at
	Reasons []Ground    `json:"reasons"`
}

// Ground is one reason, with up to five of the items behind it.
type Ground struct {
	Code     tenet.Code        `json:"code"`
	Answer   Answer            `json:"answer"`
	Label    tenet.Label       `json:"label,omitzero"`
	N        int               `json:"n"`
	Records  []tenet.RecordID  `json:"records,omitempty"`
	Messages []tenet.MessageID `json:"messages,omitempty"`
}

// Authorize answers whether an action may be taken, given what stood in the
// session's context: the records its receipts name and the messages of its
// log, and, for what the action rests on, the records named by the caller. It
// is computed from labels alone and reads no text. What cannot be read any
// more counts as external.
func (s *Session) Authorize(ctx context.Context, action string, rests ...tenet.RecordID) (Authorization, error) {
	if s.reader == nil {
		return Authorization{}, tenet.Errorf(tenet.Unavailable, "authorize", "the durable tier is off; sessions only")
	}
	if action == "" || len(action) > tenet.MaxKey || len(rests) > tenet.MaxCites {
		return Authorization{}, tenet.Errorf(tenet.Invalid, "authorize", "no action, or a name over %d bytes, or more than %d records", tenet.MaxKey, tenet.MaxCites)
	}
	rule, known := s.actions[action]
	if !known {
		rule = s.actions[OtherAction]
	}
	a := Authorization{Action: action, Answer: AnswerAllow, Reasons: []Ground{}}
	served, err := s.served(ctx)
	if err != nil {
		return Authorization{}, err
	}
	ground := grounds{rule: rule}
	for _, id := range served {
		label, why, err := s.labelOf(ctx, id)
		if err != nil {
			return Authorization{}, err
		}
		a.see(label)
		if why == CodeItemNotFound {
			ground.add(CodeItemNotFound, AnswerConfirm, label, id, "")
		}
		ground.item(label, id, "")
	}
	for after := int64(0); ; {
		ms, err := s.log.Messages(ctx, s.info.Scope, s.info.ID, after, 500)
		if err != nil {
			return Authorization{}, err
		}
		if after == 0 && (len(ms) == 0 && s.info.Length > 0 || len(ms) > 0 && ms[0].Seq > 1) {
			ground.add(CodeNoContext, AnswerConfirm, tenet.LabelExternal, "", "")
			a.see(tenet.LabelExternal)
		}
		for _, m := range ms {
			after = m.Seq
			a.see(m.Label)
			ground.item(m.Label, "", m.ID)
		}
		if len(ms) < 500 {
			break
		}
	}
	if rule.Support != 0 && len(rests) == 0 {
		ground.add(CodeNoSupport, AnswerConfirm, rule.Support, "", "")
	}
	for _, id := range rests {
		label, why, err := s.labelOf(ctx, id)
		if err != nil {
			return Authorization{}, err
		}
		switch {
		case why != "":
			ground.add(why, AnswerConfirm, label, id, "")
		case !slices.Contains(served, id):
			ground.add(CodeNotServed, AnswerConfirm, label, id, "")
		case label < rule.Support:
			ground.add(CodeLowSupport, AnswerConfirm, label, id, "")
		}
	}
	for _, g := range ground.all {
		a.Reasons = append(a.Reasons, g)
		if g.Answer == AnswerDeny || a.Answer == AnswerAllow {
			a.Answer = g.Answer
		}
	}
	return a, nil
}

// Authorize is Session.Authorize for a conversation by its id.
func (m *Memory) Authorize(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, action string, rests ...tenet.RecordID) (Authorization, error) {
	s, err := m.OpenSession(ctx, by, scope, id)
	if err != nil {
		return Authorization{}, err
	}
	return s.Authorize(ctx, action, rests...)
}

func (a *Authorization) see(l tenet.Label) {
	a.Items++
	a.Lowest = lowest(a.Lowest, l)
}

// grounds gathers reasons, those of one code and label as one.
type grounds struct {
	rule ActionRule
	all  []Ground
}

func (g *grounds) item(l tenet.Label, r tenet.RecordID, m tenet.MessageID) {
	switch {
	case l < g.rule.DenyBelow:
		g.add(CodeLowContext, AnswerDeny, l, r, m)
	case l < g.rule.ConfirmBelow:
		g.add(CodeLowContext, AnswerConfirm, l, r, m)
	}
}

func (g *grounds) add(code tenet.Code, a Answer, l tenet.Label, r tenet.RecordID, m tenet.MessageID) {
	i := slices.IndexFunc(g.all, func(x Ground) bool { return x.Code == code && x.Label == l && x.Answer == a })
	if i < 0 {
		g.all = append(g.all, Ground{Code: code, Answer: a, Label: l})
		i = len(g.all) - 1
	}
	x := &g.all[i]
	x.N++
	if r != "" && len(x.Records) < 5 {
		x.Records = append(x.Records, r)
	}
	if m != "" && len(x.Messages) < 5 {
		x.Messages = append(x.Messages, m)
	}
}

// served are the records that the session's receipts name, each once.
func (s *Session) served(ctx context.Context) ([]tenet.RecordID, error) {
	rs, err := s.log.Receipts(ctx, s.info.Scope, s.info.ID)
	if err != nil {
		return nil, err
	}
	seen := map[tenet.RecordID]bool{}
	var out []tenet.RecordID
	for _, r := range rs {
		for _, id := range append(slices.Clone(r.Facts), r.Recalled...) {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// labelOf finds a record in the scopes the session reads. One that two of them
// hold counts as the lower; one that none holds, as external. The code says why
// an action cannot rest on it, empty when one can.
func (s *Session) labelOf(ctx context.Context, id tenet.RecordID) (tenet.Label, tenet.Code, error) {
	var label tenet.Label
	var why tenet.Code
	now := s.now()
	for _, scope := range s.info.Reads {
		r, err := s.reader.Record(ctx, scope, id)
		if tenet.KindOf(err) == tenet.NotFound {
			continue
		}
		if err != nil {
			return 0, "", err
		}
		label = lowest(label, r.Label)
		switch {
		case !r.Current(now):
			why = CodeNotCurrent
		case why == "" && stale(s.gate, r, now):
			why = CodeStale
		}
	}
	if label == 0 {
		return tenet.LabelExternal, CodeItemNotFound, nil
	}
	return label, why, nil
}
