// Package transcript reads conversations out of files: JSON lines of messages,
// the LoCoMo data set as published, and OpenAI-style chats with the ChatGPT
// export. It turns them into tenet.Message values, ready to be appended, and
// decides nothing about them: roles come from the file or from a mapping that
// the importer gives, labels from whoever appends.
//
// It imports tenet and the standard library. It must never guess: what cannot
// be read is a Problem with its place and reason, and the rest of the file is
// still read. No Problem quotes the text of a message.
package transcript

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/tenet-memory/tenet"
)

// Limits, in bytes. A file of any size is read; one conversation has to fit in
// memory.
const (
	MaxLine         = 8 << 20   // one line of a JSON lines file
	MaxConversation = 256 << 20 // one conversation, or one LoCoMo sample
)

// Format is how a file holds conversations. Empty: detect it.
type Format string

const (
	JSONL  Format = "jsonl"  // a message a line: {"session", "role", "text", ...}
	LoCoMo Format = "locomo" // locomo10.json as published
	OpenAI Format = "openai" // chats of {"role", "content"}, or a ChatGPT export
)

// Conversation is one session as a file holds it.
type Conversation struct {
	// User is whose conversation it is, when the file says so.
	User    string
	Session tenet.SessionID
	// Messages are in order and checked; each has a ClientID, so that appending
	// them again is harmless.
	Messages []tenet.Message
	Offset   int64 // byte of the file where it starts
	Size     int64 // how many bytes of the file it stands for
	// LeftOut counts entries that are no part of what was said: abandoned
	// branches of a ChatGPT tree, its empty root, a model's thoughts.
	LeftOut int
}

// Problem says what could not be read, and where. The rest of the file is
// still read.
type Problem struct {
	User    string
	Session tenet.SessionID // empty when the place is not known to belong to one
	Offset  int64
	Reason  string // never quotes a message
}

func (p *Problem) Error() string {
	if p.Session == "" {
		return fmt.Sprintf("offset %d: %s", p.Offset, p.Reason)
	}
	return fmt.Sprintf("session %q, offset %d: %s", p.Session, p.Offset, p.Reason)
}

// Options say how to read a file.
type Options struct {
	Format Format
	// Name is the session of a chat that carries no id of its own, usually
	// the file's name.
	Name string
	// Participants gives those a role whom the file gives none.
	Participants Participants
}

// Participants maps a participant's name, byte for byte, to a role. The name
// "all" stands for everyone who is not named. A role that the file itself
// states is never replaced: the map cannot turn an assistant into a user.
type Participants map[string]tenet.Role

// ParseParticipants reads "all=user" or "Caroline=user,Melanie=assistant". It
// returns an Invalid error for anything else.
func ParseParticipants(s string) (Participants, error) {
	p := Participants{}
	if s == "" {
		return p, nil
	}
	for pair := range strings.SplitSeq(s, ",") {
		name, word, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		role, err := tenet.ParseRole(strings.TrimSpace(word))
		switch {
		case !ok || name == "":
			return nil, tenet.Errorf(tenet.Invalid, "participants", "want NAME=ROLE, separated by commas")
		case err != nil:
			return nil, tenet.Errorf(tenet.Invalid, "participants", "a role is user, assistant, tool or system")
		case stated(name) != 0:
			return nil, tenet.Errorf(tenet.Invalid, "participants", "a stated role can't be mapped to another")
		case p[name] != 0:
			return nil, tenet.Errorf(tenet.Invalid, "participants", "a name is mapped twice")
		}
		p[name] = role
	}
	return p, nil
}

// role is the mapped role of a participant, or zero.
func (p Participants) role(name string) tenet.Role {
	if r := p[name]; r != 0 {
		return r
	}
	return p["all"]
}

// stated is the role that a word in a file's role field means, or zero.
func stated(word string) tenet.Role {
	word = strings.ToLower(word) // "TOOL" is no participant's name
	switch word {
	case "developer":
		return tenet.RoleSystem
	case "function":
		return tenet.RoleTool
	}
	r, _ := tenet.ParseRole(word)
	return r
}

// Read yields the conversations of a file, one at a time. An error is a
// *Problem, after which it goes on, or a failure to read r at all, after which
// it stops.
func Read(r io.ReadSeeker, o Options) iter.Seq2[Conversation, error] {
	return func(yield func(Conversation, error) bool) {
		lay, err := inspect(r, o.Format)
		if err != nil {
			yield(Conversation{}, err)
			return
		}
		switch lay.format {
		case JSONL:
			readLines(r, o, yield)
		case LoCoMo:
			readLoCoMo(r, lay, o, yield)
		case OpenAI:
			readOpenAI(r, lay, o, yield)
		}
	}
}

// Detect says which format a file has, or returns an Invalid error. It leaves r
// at its start.
func Detect(r io.ReadSeeker) (Format, error) {
	lay, err := inspect(r, "")
	if err != nil {
		return "", err
	}
	_, err = r.Seek(0, io.SeekStart)
	return lay.format, err
}

// Check applies the engine's limits to a message, before any of its
// conversation is appended: a conversation is kept whole or not at all. The
// error is a plain reason.
func Check(m tenet.Message) error {
	switch {
	case len(m.Text) > tenet.MaxMessage:
		return fmt.Errorf("text is %d bytes, the limit is %d", len(m.Text), tenet.MaxMessage)
	case m.Text == "" && m.Role != tenet.RoleTool && len(m.ToolCalls) == 0:
		return errors.New("empty text")
	case len(m.ToolCalls) > tenet.MaxCites:
		return fmt.Errorf("%d tool calls, the limit is %d", len(m.ToolCalls), tenet.MaxCites)
	}
	short := append([]string{m.ClientID, m.Speaker, m.ToolCallID, string(m.Channel)}, m.ToolCalls...)
	for _, s := range short {
		if len(s) > tenet.MaxID {
			return fmt.Errorf("an id or name is over %d bytes", tenet.MaxID)
		}
	}
	for _, s := range append(short, m.Text) {
		if err := tenet.CheckText("text or id", s); err != nil {
			return errors.New(reason(err))
		}
	}
	return nil
}

// reason is the text of an error without the operation and kind before it.
func reason(err error) string {
	var e *tenet.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return err.Error()
}
