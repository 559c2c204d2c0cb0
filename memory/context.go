package memory

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/trace"
)

// Budget bounds a context. Tokens is for everything together.
type Budget struct {
	Tokens int // default 4000
	Recall int // most records recalled by meaning; default 10, negative for none
	// RecallShare is how much of what the facts leave recalled records may
	// take, from 0 to 1; messages get the rest. Default 0.4.
	RecallShare float64
}

// Window is working memory for one model call: what to put in front of the
// model, and the same as data.
type Window struct {
	// System is the rendered block: the facts, all of them, then what was
	// recalled, each item fenced as data with its label.
	System string `json:"system"`
	// Messages are the newest of the session, in order, never a tool result
	// without its call.
	Messages []tenet.Message `json:"messages"`

	Facts    []Fact          `json:"facts"`
	Recalled []Recalled      `json:"recalled"`
	Pending  []tenet.Message `json:"pending"` // user statements not consolidated yet and not among Messages

	Tokens   Tokens     `json:"tokens"`
	Omitted  Omitted    `json:"omitted"`
	Degraded tenet.Code `json:"degraded,omitempty"` // recall had to do without the embedder
	// Approximate is as in Found.
	Approximate *Approximate  `json:"approximate,omitempty"`
	Receipt     tenet.Receipt `json:"receipt"`
}

// Tokens counts what each part of a window takes.
type Tokens struct {
	Facts    int `json:"facts"`
	Recalled int `json:"recalled"`
	Pending  int `json:"pending"`
	Messages int `json:"messages"`
	Total    int `json:"total"`
	Budget   int `json:"budget"`
}

// Omitted says what did not fit: nothing is left out in silence.
type Omitted struct {
	Recalled int `json:"recalled"` // found, but over the budget
	Pending  int `json:"pending"`
	Messages int `json:"messages"` // older messages of the session
}

// contextMessages is how far back a context looks for messages.
const contextMessages = 200

// Context assembles working memory for the next model call. The facts are
// always all there, whatever the query; an empty query means the last user
// message. It returns an Invalid error, with the size needed, when the budget
// is below the facts: they are never cut.
func (s *Session) Context(ctx context.Context, query string, b Budget) (w Window, err error) {
	ctx, span := trace.Start(ctx, "assemble context")
	defer func() {
		span.Count("tenet.tokens.facts", w.Tokens.Facts)
		span.Count("tenet.tokens.recalled", w.Tokens.Recalled)
		span.Count("tenet.tokens.pending", w.Tokens.Pending)
		span.Count("tenet.tokens.messages", w.Tokens.Messages)
		span.End(err)
	}()
	s.counts.spoken.Store(time.Now().UnixNano())
	orElse(&b.Tokens, 4000)
	orElse(&b.Recall, 10)
	orElse(&b.RecallShare, 0.4)
	if b.Tokens < 0 || b.RecallShare < 0 || b.RecallShare > 1 {
		return Window{}, tenet.Errorf(tenet.Invalid, "context", "a budget is negative or a share is outside 0 to 1")
	}
	// Read again: consolidation moves the cursor while the session is open.
	info, err := s.log.Ensure(ctx, s.info.Scope, s.info)
	if err != nil {
		return Window{}, err
	}
	tail, err := s.log.Messages(ctx, s.info.Scope, s.info.ID, -contextMessages, contextMessages)
	if err != nil {
		return Window{}, err
	}
	w = Window{Tokens: Tokens{Budget: b.Tokens}}
	if s.reader != nil {
		if w.Facts, err = s.Facts(ctx); err != nil {
			return Window{}, err
		}
	}
	facts := renderFacts(s.fence, w.Facts)
	w.Tokens.Facts = s.tokens(facts)
	if w.Tokens.Facts > b.Tokens {
		return Window{}, tenet.Errorf(tenet.Invalid, "context",
			"the facts need %d tokens, the budget is %d; facts are never cut", w.Tokens.Facts, b.Tokens)
	}
	left := b.Tokens - w.Tokens.Facts

	if query == "" {
		query = lastUserText(tail)
	}
	var found Found
	if s.reader != nil && query != "" && b.Recall > 0 {
		if found, err = s.find(ctx, clipQuery(query), RecallOptions{K: b.Recall}); err != nil {
			return Window{}, err
		}
	}
	w.Degraded, w.Approximate = found.Degraded, found.Approximate
	s.fill(&w, tail, found.Hits, info.Consolidated, left, b.RecallShare)
	w.System = facts + renderRecalled(s.fence, w.Recalled, w.Pending)
	w.Tokens.Recalled = s.tokens(renderRecalled(s.fence, w.Recalled, nil))
	w.Tokens.Pending = s.tokens(renderRecalled(s.fence, nil, w.Pending))
	w.Tokens.Total = s.tokens(w.System) + w.Tokens.Messages
	w.Receipt = s.receipt(w)
	s.counts.window(s.info.Scope.Tenant(), w.Tokens)
	return w, s.log.Serve(ctx, s.info.Scope, w.Receipt)
}

// queryCap bounds the text that is searched for; the words of a longer message
// beyond it do not change what is about it.
const queryCap = 8 << 10

func clipQuery(q string) string {
	if len(q) <= queryCap {
		return q
	}
	for i := queryCap; i > 0; i-- {
		if q[i]&0xC0 != 0x80 {
			return q[:i]
		}
	}
	return ""
}

func lastUserText(ms []tenet.Message) string {
	for _, m := range slices.Backward(ms) {
		if m.Role == tenet.RoleUser && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// fill shares what the facts leave: recalled records up to their share, then
// messages from the newest back, then what the user said that is in neither.
func (s *Session) fill(w *Window, tail []tenet.Message, found []Recalled, consolidated int64, left int, share float64) {
	reserve := 0
	if len(found) > 0 {
		reserve = int(float64(left) * share)
	}
	frame := s.tokens(block("recalled", s.fence, "", " "))
	shown := idsOf(s.newest(tail, left-reserve))
	used := frame
	for _, r := range found {
		if shown[r.Message] {
			continue // it is there already, in its place
		}
		if n := s.tokens(recalledLine(r)); used+n <= reserve {
			used += n
			w.Recalled = append(w.Recalled, r)
		} else {
			w.Omitted.Recalled++
		}
	}
	if len(w.Recalled) == 0 {
		used = 0
	}
	w.Messages = s.newest(tail, left-used) // what recall left free goes back
	shown = idsOf(w.Messages)
	w.Recalled = slices.DeleteFunc(w.Recalled, func(r Recalled) bool { return shown[r.Message] })
	w.Tokens.Messages = s.cost(w.Messages)

	left -= used + w.Tokens.Messages
	if used == 0 {
		left -= frame
	}
	for _, m := range tail {
		if m.Seq <= consolidated || m.Label < tenet.LabelUserStated || shown[m.ID] || m.RetainNone {
			continue
		}
		if n := s.tokens(pendingLine(m)); n <= left {
			left -= n
			w.Pending = append(w.Pending, m)
		} else {
			w.Omitted.Pending++
		}
	}
	if len(tail) > 0 {
		w.Omitted.Messages = int(tail[len(tail)-1].Seq) - len(w.Messages)
	}
}

func idsOf(ms []tenet.Message) map[tenet.MessageID]bool {
	ids := make(map[tenet.MessageID]bool, len(ms))
	for _, m := range ms {
		ids[m.ID] = true
	}
	return ids
}

// newest is the longest run of messages at the end that fits, less the tool
// results whose call is not in it: a model rejects those.
func (s *Session) newest(tail []tenet.Message, budget int) []tenet.Message {
	start := len(tail)
	for start > 0 {
		n := s.cost(tail[start-1 : start])
		if n > budget {
			break
		}
		budget -= n
		start--
	}
	called := map[string]bool{}
	var out []tenet.Message
	for _, m := range tail[start:] {
		for _, id := range m.ToolCalls {
			called[id] = true
		}
		if m.Role == tenet.RoleTool && !called[m.ToolCallID] {
			continue
		}
		out = append(out, m)
	}
	return out
}

// messageOverhead is what role and separators of one message take.
const messageOverhead = 4

func (s *Session) cost(ms []tenet.Message) int {
	n := 0
	for _, m := range ms {
		n += s.tokens(m.Text) + messageOverhead
	}
	return n
}

// receipt records what a window served: ids only.
func (s *Session) receipt(w Window) tenet.Receipt {
	r := tenet.Receipt{ID: newID(), Session: s.info.ID, At: s.now(), Tokens: w.Tokens.Total}
	for _, f := range w.Facts {
		r.Facts = append(r.Facts, f.ID)
		r.Lowest = lowest(r.Lowest, f.Label)
	}
	note(&r, w.Recalled)
	for _, m := range w.Pending {
		r.Pending = append(r.Pending, m.Seq)
	}
	for _, m := range w.Messages {
		r.Lowest = lowest(r.Lowest, m.Label)
	}
	return r
}
