package memory

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Session is the hot path: one conversation as a principal sees it. It reads
// durable memory and writes session state, and holds nothing that could write
// durable memory; the one way on is finish, which has this session
// consolidated by rules.
type Session struct {
	by     tenet.Principal
	info   tenet.Session
	log    store.Sessions
	reader store.Reader // read-only; nil without a durable tier
	runs   store.Runs   // nil without a store for running work
	keep   int          // checkpoints

	gate     *gate.Gate // for composition and labels; a gate writes nothing
	indexes  *indexes
	tokens   func(string) int
	fence    string
	debounce time.Duration
	now      func() time.Time
	finish   func(context.Context, tenet.Scope, tenet.SessionID) (Report, error)
	counts   *counts
	screen   func(string) (string, bool)
	actions  map[string]ActionRule
}

// Session opens a conversation that writes the scope, creating it when it is
// new. More scopes may be read, from narrow to wide (project, tenant); they
// are fixed when the session is created. It returns a Denied error when the
// principal may not act in one of them.
func (m *Memory) Session(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, alsoReads ...tenet.Scope) (*Session, error) {
	reads := append([]tenet.Scope{scope}, alsoReads...)
	if err := reach("session", by, reads...); err != nil {
		return nil, err
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return nil, err
	}
	info, err := m.sessions.Ensure(ctx, scope, tenet.Session{
		ID: id, Scope: scope, Reads: reads, TTL: m.cfg.SessionTTL, CreatedAt: m.now(),
	})
	if err != nil {
		return nil, err
	}
	if err := m.intact(ctx, info); err != nil {
		return nil, err
	}
	return m.handle(by, info)
}

// intact refuses an empty session whose log the ledger has consolidated before:
// a session store of its own has lost it, and what would be said at the same
// positions again would count as consolidated.
func (m *Memory) intact(ctx context.Context, info tenet.Session) error {
	if info.Length > 0 || m.ledger == nil || any(m.cfg.Ledger) == any(m.cfg.Sessions) {
		return nil
	}
	cursor, _, err := m.ledger.Staged(ctx, info.Scope, info.ID)
	if err == nil && cursor > 0 {
		err = tenet.Errorf(tenet.Conflict, "session", "the session store has lost this session's log: go on under a new id")
	}
	return err
}

// handle is the hot path of an existing session for a principal.
func (m *Memory) handle(by tenet.Principal, info tenet.Session) (*Session, error) {
	if err := reach("session", by, info.Reads...); err != nil {
		return nil, err
	}
	s := &Session{
		by: by, info: info, log: store.OnlySessions(m.sessions), gate: m.gate, indexes: m.indexes, tokens: m.tokens,
		fence: fence(m.secret, info.Scope, info.ID), debounce: m.cfg.Debounce, now: m.now, finish: m.finish,
		keep: m.cfg.KeepCheckpoints, counts: &m.counts, screen: m.cfg.Screen, actions: *m.actions.Load(),
	}
	if m.runs != nil {
		s.runs = store.OnlyRuns(m.runs)
	}
	if m.ledger != nil {
		s.reader = store.ReadOnly(m.ledger)
	}
	return s, nil
}

// OpenSession opens a conversation that exists, and returns a NotFound error
// for one that does not: a misspelt id must not become a new conversation.
func (m *Memory) OpenSession(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID) (*Session, error) {
	if err := reach("session", by, scope); err != nil {
		return nil, err
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return nil, err
	}
	if _, err := m.sessions.Messages(ctx, scope, id, 0, 1); err != nil {
		return nil, err
	}
	return m.Session(ctx, by, scope, id)
}

// Info is the session as it was when it was opened.
func (s *Session) Info() tenet.Session { return s.info }

// Append adds messages to the log and returns them as kept, with position and
// label. The label comes from the principal: only an app or the user records
// the user's own words. A message with a ClientID the log has already is
// returned as first kept, so a retry is harmless.
//
// Errors: Invalid for a role, text or size that cannot be kept; Conflict for an
// ended session or a ClientID reused with other content.
func (s *Session) Append(ctx context.Context, ms ...tenet.Message) ([]tenet.Message, error) {
	s.counts.spoken.Store(time.Now().UnixNano())
	now := s.now()
	kept := make([]tenet.Message, len(ms))
	for i, m := range ms {
		if err := checkMessage(m); err != nil {
			return nil, err
		}
		m.SaidAt = tenet.Micros(m.SaidAt)
		if s.screen != nil {
			var off bool
			m.Text, off = s.screen(m.Text)
			m.RetainNone = m.RetainNone || off
		}
		m.ID = tenet.MessageID(newID())
		m.Label = gate.MessageLabel(s.by, m.Role, m.Channel)
		m.RecordedBy, m.RecordedAt = s.by.String(), now
		m.RetainNone = m.RetainNone || s.info.RetainNone
		kept[i] = m
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return once(ctx, s.by, now, func(ctx context.Context) ([]tenet.Message, error) {
		return s.log.Append(ctx, s.info.Scope, s.info.ID, kept, now.Add(s.debounce))
	}, withoutText, func(old []tenet.Message) []tenet.Message {
		for i := range old {
			old[i].Text = kept[i].Text // the same request: it need not be recorded twice
		}
		return old
	})
}

// Append appends to a conversation by its id, making it when it is new. Unlike
// Session and then Append, a message that cannot be kept leaves nothing behind.
func (m *Memory) Append(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, ms ...tenet.Message) ([]tenet.Message, error) {
	for _, msg := range ms {
		if err := checkMessage(msg); err != nil {
			return nil, err
		}
	}
	s, err := m.Session(ctx, by, scope, id)
	if err != nil {
		return nil, err
	}
	return s.Append(ctx, ms...)
}

// Propose is Append for a candidate.
func (m *Memory) Propose(ctx context.Context, by tenet.Principal, id tenet.SessionID, c tenet.Candidate) (tenet.CandidateID, error) {
	if err := reach("propose", by, c.Scope); err != nil {
		return "", err
	}
	orElse(&c.ID, tenet.CandidateID(itemPrefix(c.Scope, id)+newID()))
	if err := c.Check(); err != nil {
		return "", err
	}
	s, err := m.Session(ctx, by, c.Scope, id)
	if err != nil {
		return "", err
	}
	return s.Propose(ctx, c)
}

func withoutText(ms []tenet.Message) []tenet.Message {
	ms = slices.Clone(ms)
	for i := range ms {
		ms[i].Text = ""
	}
	return ms
}

func checkMessage(m tenet.Message) error {
	switch m.Role {
	case tenet.RoleUser, tenet.RoleAssistant, tenet.RoleTool, tenet.RoleSystem:
	default:
		return tenet.Errorf(tenet.Invalid, "append", "unknown role")
	}
	if len(m.Text) > tenet.MaxMessage {
		return tenet.Errorf(tenet.Invalid, "append", "text is %d bytes, the limit is %d", len(m.Text), tenet.MaxMessage)
	}
	if m.Text == "" && m.Role != tenet.RoleTool && len(m.ToolCalls) == 0 {
		return tenet.Errorf(tenet.Invalid, "append", "empty text")
	}
	if len(m.ToolCalls) > tenet.MaxCites {
		return tenet.Errorf(tenet.Invalid, "append", "%d tool calls, the limit is %d", len(m.ToolCalls), tenet.MaxCites)
	}
	short := []string{m.ClientID, m.Speaker, m.ToolCallID, string(m.Channel)}
	for _, f := range append(short, m.ToolCalls...) {
		if len(f) > tenet.MaxID {
			return tenet.Errorf(tenet.Invalid, "append", "an id or name is over %d bytes", tenet.MaxID)
		}
		if err := tenet.CheckText("id or name", f); err != nil {
			return err
		}
	}
	return tenet.CheckText("text", m.Text)
}

// Messages returns up to limit messages at positions above after, in order; a
// negative after counts from the end.
func (s *Session) Messages(ctx context.Context, after int64, limit int) ([]tenet.Message, error) {
	if limit <= 0 {
		return nil, tenet.Errorf(tenet.Invalid, "messages", "limit must be positive")
	}
	return s.log.Messages(ctx, s.info.Scope, s.info.ID, after, limit)
}

// Propose keeps a candidate with the session until consolidation and returns
// at once with its id. Nothing is judged yet and nothing durable is written.
func (s *Session) Propose(ctx context.Context, c tenet.Candidate) (tenet.CandidateID, error) {
	if c.Scope.IsZero() {
		c.Scope = s.info.Scope
	}
	if c.Scope != s.info.Scope {
		return "", tenet.Errorf(tenet.Denied, "propose", "a session proposes for the scope it writes")
	}
	if c.ID == "" {
		c.ID = tenet.CandidateID(itemPrefix(s.info.Scope, s.info.ID) + newID())
	}
	if err := nameCandidate("propose", &c); err != nil {
		return "", err
	}
	c.Session, c.ProposedBy, c.ProposedAt = s.info.ID, s.by.String(), s.now()
	if err := c.Check(); err != nil {
		return "", err
	}
	return once(ctx, s.by, c.ProposedAt, func(ctx context.Context) (tenet.CandidateID, error) {
		return c.ID, s.log.Propose(ctx, s.info.Scope, s.info.ID, c, c.ProposedAt.Add(s.debounce))
	}, func(tenet.CandidateID) tenet.CandidateID { return c.ID }, same)
}

// End closes the conversation and consolidates it before it returns. When
// consolidation fails the session stays due, a worker will try again, and the
// error says so; the conversation is closed in any case.
func (s *Session) End(ctx context.Context) (Report, error) {
	if err := s.log.End(ctx, s.info.Scope, s.info.ID, s.now()); err != nil {
		return Report{}, err
	}
	if s.reader == nil {
		return Report{}, nil
	}
	return s.finish(ctx, s.info.Scope, s.info.ID)
}

// EndLater closes the conversation and leaves it to a worker to consolidate.
func (s *Session) EndLater(ctx context.Context) error {
	return s.log.End(ctx, s.info.Scope, s.info.ID, s.now())
}

// Facts loads what the session may read by identity, as Memory.Facts does.
func (s *Session) Facts(ctx context.Context) ([]Fact, error) {
	if s.reader == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "facts", "the durable tier is off; sessions only")
	}
	return compose(ctx, s.reader, s.gate, tenet.AsOf{Valid: s.now()}, s.info.Reads)
}
