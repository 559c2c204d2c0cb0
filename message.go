package tenet

import "time"

// Channel says by which way a text arrived. It can only lower a label.
type Channel string

const (
	ChannelTyped     Channel = ""          // typed or spoken in the conversation
	ChannelPrefilled Channel = "prefilled" // a link or button filled the prompt in
	ChannelExternal  Channel = "external"  // quoted from a page, mail or document
)

// Message is one entry of a session's log. Role, Channel, Text and the
// client's fields are the caller's; everything under "set on append" is the
// engine's and is ignored when a caller fills it.
type Message struct {
	Role     Role      `json:"role"`
	Channel  Channel   `json:"channel,omitempty"`
	Speaker  string    `json:"speaker,omitempty"` // a participant's name, for search
	Text     string    `json:"text"`
	SaidAt   time.Time `json:"said_at,omitzero"`    // when it was said; zero: when it was recorded
	ClientID string    `json:"client_id,omitempty"` // the caller's id: appending it again is a harmless retry
	// ToolCalls are the ids of the calls an assistant message makes;
	// ToolCallID is the call that a tool message answers.
	ToolCalls  []string `json:"tool_calls,omitempty"`
	ToolCallID string   `json:"tool_call_id,omitempty"`
	// RetainNone keeps the message out of durable memory, candidates and logs.
	RetainNone bool `json:"retain_none,omitempty"`

	// Set on append.
	ID         MessageID `json:"id"`
	Session    SessionID `json:"session,omitempty"`
	Seq        int64     `json:"seq"` // position in the session's log, from 1, without gaps
	Label      Label     `json:"label"`
	RecordedBy string    `json:"recorded_by"` // Principal.String of who appended it
	RecordedAt time.Time `json:"recorded_at"`
}

// UserMessage, AssistantMessage and ToolMessage are the common messages.
func UserMessage(text string) Message      { return Message{Role: RoleUser, Text: text} }
func AssistantMessage(text string) Message { return Message{Role: RoleAssistant, Text: text} }
func ToolMessage(callID, text string) Message {
	return Message{Role: RoleTool, ToolCallID: callID, Text: text}
}

// Said is when the message was said: SaidAt, or else when it was recorded.
func (m Message) Said() time.Time {
	if m.SaidAt.IsZero() {
		return m.RecordedAt
	}
	return m.SaidAt
}

// Origin is one place that a record comes from. Origins of a derived record
// are the union of its parents'.
type Origin struct {
	Principal string    `json:"principal"` // who recorded it
	Channel   Channel   `json:"channel,omitempty"`
	Subject   string    `json:"subject,omitempty"` // Scope.Key of the author's scope
	Session   SessionID `json:"session,omitempty"`
	Message   MessageID `json:"message,omitempty"`
	ToolCall  string    `json:"tool_call,omitempty"`
	// Holds is when the statement was said to be true: its claim. A record can
	// hold for less, when later statements took part of that time, or more.
	Holds Interval `json:"holds,omitzero"`
}

// Evidence is the cited excerpt of a message, kept beside the record so that
// a fact outlives the messages it came from. It is erasable.
type Evidence struct {
	Message MessageID `json:"message"`
	Session SessionID `json:"session,omitempty"`
	Role    Role      `json:"role"`
	Label   Label     `json:"label"`
	Excerpt string    `json:"excerpt"`
	SaidAt  time.Time `json:"said_at"`
}
