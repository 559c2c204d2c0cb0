package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tenet-memory/tenet"
)

// chat is what is read of one chat: a list of messages, or a tree of them as
// in a ChatGPT export.
type chat struct {
	ID             json.RawMessage `json:"id"`
	ConversationID json.RawMessage `json:"conversation_id"`
	SessionID      json.RawMessage `json:"session_id"`
	Created        json.RawMessage `json:"create_time"`

	Messages []json.RawMessage `json:"messages"`

	Mapping map[string]node `json:"mapping"`
	Current string          `json:"current_node"`
}

// said is one message of a chat, in the Chat Completions form.
type said struct {
	ID           json.RawMessage   `json:"id"`
	Role         string            `json:"role"`
	Name         string            `json:"name"`
	Content      json.RawMessage   `json:"content"`
	Refusal      *string           `json:"refusal"`
	ToolCalls    []json.RawMessage `json:"tool_calls"`
	ToolCallID   json.RawMessage   `json:"tool_call_id"`
	FunctionCall *struct {
		Name string `json:"name"`
	} `json:"function_call"`
	CreatedAt json.RawMessage `json:"created_at"`
	Created   json.RawMessage `json:"created"`
	Time      json.RawMessage `json:"time"`
	Timestamp json.RawMessage `json:"timestamp"`
}

// readOpenAI reads chats: an array of messages, an object with messages, an
// array or lines of those, or the conversations.json of a ChatGPT export.
// Fields that are not known are passed over: the form is not ours and grows.
func readOpenAI(r io.ReadSeeker, lay layout, o Options, yield func(Conversation, error) bool) {
	if lay.chat {
		readOneChat(r, lay, o, yield)
		return
	}
	n := 0
	for v, err := range values(r, lay) {
		if err != nil {
			yield(Conversation{}, err)
			return
		}
		n++
		name := o.Name
		if lay.array || lay.lines {
			name = fmt.Sprintf("%s/%d", o.Name, n)
		}
		c := Conversation{Offset: v.offset, Size: int64(len(v.raw))}
		err := readChat(v, name, o, &c)
		if err != nil {
			err = &Problem{Session: c.Session, Offset: v.offset, Reason: reason(err)}
		} else if len(c.Messages) == 0 {
			err = &Problem{Session: c.Session, Offset: v.offset, Reason: "a chat without messages"}
		}
		if !yield(c, err) {
			return
		}
	}
}

// readOneChat reads a file that is one array of messages.
func readOneChat(r io.ReadSeeker, lay layout, o Options, yield func(Conversation, error) bool) {
	c := Conversation{Session: tenet.SessionID(o.Name)}
	var raws []json.RawMessage
	fail := func(at int64, why string) {
		yield(Conversation{}, &Problem{Session: c.Session, Offset: at, Reason: why})
	}
	for v, err := range values(r, lay) {
		switch {
		case err != nil:
			yield(Conversation{}, err)
			return
		case v.reason != "":
			fail(v.offset, v.reason)
			return
		}
		if err := tenet.CheckJSON(v.raw); err != nil {
			fail(v.offset, reason(err))
			return
		}
		if c.Size += int64(len(v.raw)); c.Size > MaxConversation {
			fail(v.offset, tooLarge(MaxConversation))
			return
		}
		raws = append(raws, v.raw)
	}
	var err error
	if c.Messages, err = readMessages(raws, o); err == nil {
		err = tenet.CheckSessionID(c.Session)
	}
	if err != nil {
		fail(0, reason(err))
		return
	}
	yield(c, nil)
}

func readChat(v value, name string, o Options, c *Conversation) error {
	if v.reason != "" {
		return errors.New(v.reason)
	}
	if err := tenet.CheckJSON(v.raw); err != nil {
		return err
	}
	var ch chat
	var target any = &ch
	if len(v.raw) > 0 && v.raw[0] == '[' {
		target = &ch.Messages
	}
	if err := json.Unmarshal(v.raw, target); err != nil {
		return errors.New("a chat does not fit the OpenAI form")
	}
	for _, raw := range []json.RawMessage{ch.ConversationID, ch.SessionID, ch.ID} {
		id, err := identity(raw)
		if err != nil {
			return err
		}
		if c.Session == "" {
			c.Session = tenet.SessionID(id)
		}
	}
	if c.Session == "" {
		c.Session = tenet.SessionID(name)
	}
	if err := tenet.CheckSessionID(c.Session); err != nil {
		return err
	}
	var err error
	if ch.Mapping != nil {
		c.Messages, c.LeftOut, err = readTree(ch, o)
	} else {
		c.Messages, err = readMessages(ch.Messages, o)
	}
	return err
}

func readMessages(raws []json.RawMessage, o Options) ([]tenet.Message, error) {
	ms := make([]tenet.Message, 0, len(raws))
	for i, raw := range raws {
		var s said
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("message %d does not fit the OpenAI form", i+1)
		}
		m, err := s.message(i, o)
		if err == nil {
			err = Check(m)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %s", i+1, reason(err))
		}
		ms = append(ms, m)
	}
	return ms, nil
}

func (s said) message(i int, o Options) (tenet.Message, error) {
	m := tenet.Message{Role: stated(s.Role), Speaker: s.Name}
	if m.Role == 0 {
		if m.Speaker == "" {
			m.Speaker = s.Role
		}
		if m.Role = o.Participants.role(m.Speaker); m.Role == 0 {
			return m, errors.New("a participant without a role; say who it is with a mapping")
		}
	}
	var err error
	if m.Text, err = contentText(s.Content); err != nil {
		return m, err
	}
	if m.Text == "" && s.Refusal != nil {
		m.Text = *s.Refusal
	}
	if m.ClientID, err = identity(s.ID); err != nil {
		return m, err
	}
	if m.ClientID == "" {
		m.ClientID = position(i)
	}
	if m.ToolCallID, err = identity(s.ToolCallID); err != nil {
		return m, err
	}
	if m.ToolCalls, err = toolCalls(s.ToolCalls); err != nil {
		return m, err
	}
	// The older function calls have no ids; the function's name joins the two.
	if s.FunctionCall != nil {
		m.ToolCalls = append(m.ToolCalls, s.FunctionCall.Name)
	}
	if s.Role == "function" && m.ToolCallID == "" {
		m.ToolCallID = s.Name
	}
	for _, raw := range []json.RawMessage{s.Time, s.Timestamp, s.CreatedAt, s.Created} {
		if len(raw) > 0 && m.SaidAt.IsZero() {
			if m.SaidAt, err = moment(raw); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// contentText joins the parts of a message's content. A part that is not text
// leaves a mark of its type: nothing is dropped in silence.
func contentText(raw json.RawMessage) (string, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", nil
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case raw[0] != '[':
		return "", errors.New("content is neither a string nor parts")
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", errors.New("content does not fit")
	}
	texts := make([]string, 0, len(parts))
	for _, raw := range parts {
		t, err := partText(raw)
		if err != nil {
			return "", err
		}
		if t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n"), nil
}

func partText(raw json.RawMessage) (string, error) {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var p struct {
		Type        string  `json:"type"`
		ContentType string  `json:"content_type"`
		Text        *string `json:"text"`
		Refusal     *string `json:"refusal"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", errors.New("a part of the content does not fit")
	}
	switch {
	case p.Text != nil:
		return *p.Text, nil
	case p.Refusal != nil:
		return *p.Refusal, nil
	case p.Type != "":
		return "[" + p.Type + "]", nil
	case p.ContentType != "":
		return "[" + p.ContentType + "]", nil
	}
	return "[part]", nil
}
