package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// sample is what is read of a LoCoMo sample; its questions and summaries are
// left alone.
type sample struct {
	ID           json.RawMessage            `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
}

// turn is what is read of a LoCoMo turn.
type turn struct {
	Speaker string          `json:"speaker"`
	ID      json.RawMessage `json:"dia_id"`
	Text    string          `json:"text"`
	Caption string          `json:"blip_caption"`
}

// readLoCoMo reads samples as published. Each is a user of its own, named by
// sample_id; each of its sessions is a conversation.
func readLoCoMo(r io.ReadSeeker, lay layout, o Options, yield func(Conversation, error) bool) {
	for v, err := range values(r, lay) {
		if err != nil {
			yield(Conversation{}, err)
			return
		}
		if !readSample(v, o, yield) {
			return
		}
	}
}

func readSample(v value, o Options, yield func(Conversation, error) bool) bool {
	problem := func(user, session string, why string) bool {
		return yield(Conversation{}, &Problem{User: user, Session: tenet.SessionID(session), Offset: v.offset, Reason: why})
	}
	if v.reason != "" {
		return problem("", "", v.reason)
	}
	var s sample
	err := tenet.CheckJSON(v.raw)
	if err == nil && json.Unmarshal(v.raw, &s) != nil {
		err = errors.New("a sample does not fit the LoCoMo form")
	}
	var user string
	if err == nil {
		user, err = identity(s.ID)
	}
	if err == nil && user == "" {
		err = errors.New("a sample without sample_id")
	}
	if err != nil {
		return problem("", "", reason(err))
	}
	numbers := sessionNumbers(s.Conversation)
	if len(numbers) == 0 {
		return problem(user, "", "a sample without sessions")
	}
	for _, n := range numbers {
		name := "session_" + strconv.Itoa(n)
		c := Conversation{
			User: user, Session: tenet.SessionID(name), Offset: v.offset, Size: int64(len(v.raw) / len(numbers)),
		}
		c.Messages, err = readSession(s.Conversation[name], s.Conversation[name+"_date_time"], o)
		if err != nil {
			if !problem(user, name, reason(err)) {
				return false
			}
		} else if len(c.Messages) > 0 && !yield(c, nil) {
			return false
		}
	}
	return true
}

// sessionNumbers lists the sessions of a conversation in their order.
func sessionNumbers(c map[string]json.RawMessage) []int {
	var ns []int
	for key := range c {
		digits, ok := strings.CutPrefix(key, "session_")
		if n, err := strconv.Atoi(digits); ok && err == nil && n >= 0 && strconv.Itoa(n) == digits {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return ns
}

// locomoTime is how the data set writes when a session took place; it names no
// zone, so UTC is as good as any.
const locomoTime = "3:04 pm on 2 January, 2006"

func readSession(rawTurns, rawTime json.RawMessage, o Options) ([]tenet.Message, error) {
	var turns []turn
	if err := json.Unmarshal(rawTurns, &turns); err != nil {
		return nil, errors.New("a session does not fit the LoCoMo form")
	}
	var when string
	if err := json.Unmarshal(rawTime, &when); err != nil {
		return nil, errors.New("a session without its date_time")
	}
	at, err := time.Parse(locomoTime, when)
	if err != nil {
		return nil, errors.New("a session's date_time does not fit")
	}
	ms := make([]tenet.Message, 0, len(turns))
	for i, t := range turns {
		m := tenet.Message{Speaker: t.Speaker, Text: t.Text, SaidAt: at, Role: o.Participants.role(t.Speaker)}
		if t.Caption != "" {
			m.Text = strings.TrimSpace(m.Text + " [image: " + t.Caption + "]")
		}
		m.ClientID, err = identity(t.ID)
		switch {
		case err != nil:
		case m.ClientID == "":
			err = errors.New("no dia_id")
		case m.Role == 0:
			err = errors.New("a participant without a role; say who it is with a mapping")
		default:
			err = Check(m)
		}
		if err != nil {
			return nil, fmt.Errorf("turn %d: %s", i+1, reason(err))
		}
		ms = append(ms, m)
	}
	return ms, nil
}
