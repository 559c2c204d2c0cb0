package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenet-memory/tenet"
)

// line is one message of a JSON lines file, and all that it may hold.
type line struct {
	Session    json.RawMessage   `json:"session"`
	User       json.RawMessage   `json:"user"`
	Role       string            `json:"role"`
	Speaker    string            `json:"speaker"`
	Text       *string           `json:"text"`
	Content    *string           `json:"content"`
	Time       json.RawMessage   `json:"time"`
	ID         json.RawMessage   `json:"id"`
	Channel    tenet.Channel     `json:"channel"`
	ToolCalls  []json.RawMessage `json:"tool_calls"`
	ToolCallID json.RawMessage   `json:"tool_call_id"`
	RetainNone bool              `json:"retain_none"`
}

// owner names a conversation of a JSON lines file.
type owner struct{ user, session string }

// thread is where the lines of one conversation stand. Lines of several may
// alternate, so the first pass collects places and the second reads them.
type thread struct {
	owner
	at      []span
	size    int64
	problem string // why it is not imported
	badAt   int64
}

type span struct {
	offset int64
	size   int
}

func (t *thread) spoil(at int64, why string) {
	if t != nil && t.problem == "" {
		t.problem, t.badAt = why, at
	}
}

// readLines reads a JSON lines file in two passes: the first finds and checks
// every line, so that a conversation with a bad line is left out whole; the
// second yields the good ones, one at a time.
func readLines(r io.ReadSeeker, o Options, yield func(Conversation, error) bool) {
	threads := map[owner]*thread{}
	var order []*thread
	var last *thread // of the line before
	orphan := ""     // why the line before belongs to nobody
	var orphanAt int64
	for v, err := range values(r, layout{lines: true}) {
		if err != nil {
			yield(Conversation{}, err)
			return
		}
		who, err := checkLine(v, o)
		if who == (owner{}) {
			// Nobody knows whose line it is. Those it stands between may lack
			// it, and a conversation with a hole must not pass as whole.
			why := reason(err)
			last.spoil(v.offset, why)
			orphan, orphanAt = why, v.offset
			if last == nil && !yield(Conversation{}, &Problem{Offset: v.offset, Reason: why}) {
				return
			}
			continue
		}
		t := threads[who]
		if t == nil {
			t = &thread{owner: who}
			threads[who] = t
			order = append(order, t)
		}
		if err != nil {
			t.spoil(v.offset, reason(err))
		}
		if orphan != "" {
			t.spoil(orphanAt, orphan)
			orphan = ""
		}
		t.at = append(t.at, span{v.offset, len(v.raw)})
		if t.size += int64(len(v.raw)); t.size > MaxConversation {
			t.spoil(v.offset, tooLarge(MaxConversation))
		}
		last = t
	}
	for _, t := range order {
		if t.problem != "" {
			p := &Problem{User: t.user, Session: tenet.SessionID(t.session), Offset: t.badAt, Reason: t.problem}
			if !yield(Conversation{}, p) {
				return
			}
			continue
		}
		c, err := t.read(r, o)
		if !yield(c, err) {
			return
		}
	}
}

// checkLine reads a line and says whose it is; the zero owner when that can't
// be told. Who is to blame for a bad line is found leniently: it decides only
// which conversation is not imported.
func checkLine(v value, o Options) (owner, error) {
	if v.reason != "" {
		return owner{}, errors.New(v.reason)
	}
	var l line
	bad := tenet.DecodeJSON(v.raw, &l)
	if bad != nil {
		l = line{}
		if json.Unmarshal(v.raw, &struct {
			Session *json.RawMessage `json:"session"`
			User    *json.RawMessage `json:"user"`
		}{&l.Session, &l.User}) != nil {
			return owner{}, bad
		}
	}
	who, err := l.owner(o)
	if err != nil {
		return owner{}, err
	}
	if bad == nil {
		_, bad = l.message(0, o)
	}
	return who, bad
}

func (l line) owner(o Options) (owner, error) {
	session, err := identity(l.Session)
	if err != nil {
		return owner{}, err
	}
	if session == "" {
		session = o.Name
	}
	if err := tenet.CheckSessionID(tenet.SessionID(session)); err != nil {
		return owner{}, err
	}
	user, err := identity(l.User)
	return owner{user, session}, err
}

func (l line) message(i int, o Options) (tenet.Message, error) {
	m := tenet.Message{
		Speaker: l.Speaker, Channel: l.Channel, RetainNone: l.RetainNone, Role: stated(l.Role),
	}
	if m.Role == 0 { // no stated role: a participant's name
		if m.Speaker == "" {
			m.Speaker = l.Role
		}
		if m.Role = o.Participants.role(m.Speaker); m.Role == 0 {
			return m, errors.New("a participant without a role; say who it is with a mapping")
		}
	}
	switch {
	case l.Text != nil && l.Content != nil:
		return m, errors.New("both text and content")
	case l.Text != nil:
		m.Text = *l.Text
	case l.Content != nil:
		m.Text = *l.Content
	}
	switch l.Channel {
	case tenet.ChannelTyped, tenet.ChannelPrefilled, tenet.ChannelExternal:
	default:
		return m, errors.New("unknown channel")
	}
	var err error
	if m.SaidAt, err = moment(l.Time); err != nil {
		return m, err
	}
	if m.ClientID, err = identity(l.ID); err != nil {
		return m, err
	}
	if m.ClientID == "" {
		m.ClientID = position(i)
	}
	if m.ToolCallID, err = identity(l.ToolCallID); err != nil {
		return m, err
	}
	if m.ToolCalls, err = toolCalls(l.ToolCalls); err != nil {
		return m, err
	}
	return m, Check(m)
}

// toolCalls reads ids of calls, given bare or as OpenAI's call objects.
func toolCalls(raws []json.RawMessage) ([]string, error) {
	var ids []string
	for _, raw := range raws {
		if len(raw) > 0 && raw[0] == '{' {
			var call struct {
				ID json.RawMessage `json:"id"`
			}
			if err := json.Unmarshal(raw, &call); err != nil {
				return nil, errors.New("a tool call does not fit")
			}
			raw = call.ID
		}
		id, err := identity(raw)
		if err != nil {
			return nil, err
		}
		if id == "" {
			return nil, errors.New("a tool call without an id")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// read is the second pass over one conversation.
func (t *thread) read(r io.ReadSeeker, o Options) (Conversation, error) {
	c := Conversation{User: t.user, Session: tenet.SessionID(t.session), Offset: t.at[0].offset, Size: t.size}
	for i, at := range t.at {
		raw := make([]byte, at.size)
		if _, err := r.Seek(at.offset, io.SeekStart); err != nil {
			return c, err
		}
		if _, err := io.ReadFull(r, raw); err != nil {
			return c, err
		}
		var l line
		err := json.Unmarshal(raw, &l)
		var m tenet.Message
		if err == nil {
			m, err = l.message(i, o)
		}
		if err != nil { // the file changed between the passes
			return c, &Problem{User: t.user, Session: c.Session, Offset: at.offset, Reason: fmt.Sprintf("line %d: %s", i+1, reason(err))}
		}
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}
