package transcript

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/tenet-memory/tenet"
)

// node is one place in the tree of a ChatGPT conversation.
type node struct {
	Message *leaf   `json:"message"`
	Parent  *string `json:"parent"`
}

type leaf struct {
	ID     json.RawMessage `json:"id"`
	Author struct {
		Role string  `json:"role"`
		Name *string `json:"name"`
	} `json:"author"`
	Created   json.RawMessage `json:"create_time"`
	Recipient string          `json:"recipient"`
	Content   struct {
		Type  string            `json:"content_type"`
		Parts []json.RawMessage `json:"parts"`
		Text  *string           `json:"text"`
	} `json:"content"`
}

// readTree follows a conversation from its current node up to the root: that
// is what the user saw. Other branches, empty nodes and a model's thoughts are
// counted as left out.
func readTree(ch chat, o Options) (ms []tenet.Message, leftOut int, err error) {
	if _, ok := ch.Mapping[ch.Current]; !ok {
		return nil, 0, errors.New("current_node names no node")
	}
	var path []string
	seen := map[string]bool{}
	for id := ch.Current; ; {
		if seen[id] {
			return nil, 0, errors.New("the tree has a cycle")
		}
		seen[id] = true
		path = append(path, id)
		n, ok := ch.Mapping[id]
		if !ok {
			return nil, 0, errors.New("a parent names no node")
		}
		if n.Parent == nil || *n.Parent == "" {
			break
		}
		id = *n.Parent
	}
	slices.Reverse(path)
	leftOut = len(ch.Mapping) - len(path)
	last, err := moment(ch.Created)
	if err != nil {
		return nil, 0, err
	}
	call := "" // the call that the next tool message answers
	for _, id := range path {
		l := ch.Mapping[id].Message
		if l == nil || l.Content.Type == "thoughts" || l.Content.Type == "reasoning_recap" {
			leftOut++
			continue
		}
		m, err := l.message(o)
		if err != nil {
			return nil, 0, err
		}
		if m.Text == "" {
			leftOut++
			continue
		}
		if m.SaidAt.IsZero() { // some nodes carry no time: not before the last
			m.SaidAt = last
		}
		last = m.SaidAt
		switch {
		case m.Role == tenet.RoleAssistant && l.Recipient != "" && l.Recipient != "all":
			call = m.ClientID
			m.ToolCalls = []string{call}
		case m.Role == tenet.RoleTool:
			m.ToolCallID = call
		}
		if err := Check(m); err != nil {
			return nil, 0, err
		}
		ms = append(ms, m)
	}
	return ms, leftOut, nil
}

func (l *leaf) message(o Options) (tenet.Message, error) {
	m := tenet.Message{Role: stated(l.Author.Role)}
	if l.Author.Name != nil {
		m.Speaker = *l.Author.Name
	}
	if m.Role == 0 {
		if m.Speaker == "" {
			m.Speaker = l.Author.Role
		}
		if m.Role = o.Participants.role(m.Speaker); m.Role == 0 {
			return m, errors.New("a participant without a role; say who it is with a mapping")
		}
	}
	var err error
	if m.ClientID, err = identity(l.ID); err != nil {
		return m, err
	}
	if m.ClientID == "" {
		return m, errors.New("a node's message has no id")
	}
	if m.SaidAt, err = moment(l.Created); err != nil {
		return m, err
	}
	if l.Content.Text != nil {
		m.Text = *l.Content.Text
		return m, nil
	}
	raw, err := json.Marshal(l.Content.Parts)
	if err != nil {
		return m, errors.New("content does not fit")
	}
	m.Text, err = contentText(raw)
	if m.Text == "" && len(l.Content.Parts) == 0 && l.Content.Type != "text" && l.Content.Type != "" {
		m.Text = "[" + l.Content.Type + "]" // custom instructions, a web page, …
	}
	return m, err
}
