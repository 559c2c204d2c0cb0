package memory

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/recall"
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
	return m.handle(by, info)
}

// handle is the hot path of an existing session for a principal.
func (m *Memory) handle(by tenet.Principal, info tenet.Session) (*Session, error) {
	if err := reach("session", by, info.Reads...); err != nil {
		return nil, err
	}
	s := &Session{
		by: by, info: info, log: store.OnlySessions(m.sessions), gate: m.gate, indexes: m.indexes, tokens: m.tokens,
		fence: fence(m.secret, info.Scope, info.ID), debounce: m.cfg.Debounce, now: m.now, finish: m.finish,
		keep: m.cfg.KeepCheckpoints, counts: &m.counts,
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
	now := s.now()
	kept := make([]tenet.Message, len(ms))
	for i, m := range ms {
		if err := checkMessage(m); err != nil {
			return nil, err
		}
		m.SaidAt = tenet.Micros(m.SaidAt)
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
			old[i].Text = ms[i].Text // the same request: it need not be recorded twice
		}
		return old
	})
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
		c.ID = tenet.CandidateID(newID())
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

// Facts loads what the session may read by identity, as Memory.Facts does.
func (s *Session) Facts(ctx context.Context) ([]Fact, error) {
	if s.reader == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "facts", "the durable tier is off; sessions only")
	}
	return compose(ctx, s.reader, s.gate, tenet.AsOf{Valid: s.now()}, s.info.Reads)
}

// Recalled is a note, episode or document found by meaning.
type Recalled struct {
	ID         tenet.RecordID      `json:"id"`
	Scope      tenet.Scope         `json:"scope"`
	Tier       tenet.Tier          `json:"tier"`
	Label      tenet.Label         `json:"label"`
	Lane       string              `json:"lane"`
	Key        string              `json:"key,omitempty"`
	Text       string              `json:"text"`
	Speaker    string              `json:"speaker,omitempty"`
	Session    tenet.SessionID     `json:"session,omitempty"`
	Message    tenet.MessageID     `json:"message,omitempty"`
	Valid      tenet.Interval      `json:"valid"`
	RecordedAt time.Time           `json:"recorded_at"`
	Score      float64             `json:"score"`
	Similar    []string            `json:"similar,omitempty"` // near-duplicates folded into this one
	Why        *recall.Explanation `json:"why,omitempty"`
}

// RecallOptions narrow or explain a recall. The zero value is the default.
type RecallOptions struct {
	K         int // how many; default 10
	Explain   bool
	Within    *recall.Range // a hard filter on validity
	Diversity recall.Diversity
	Location  *time.Location // of the subject, for time expressions; default UTC
}

// Recall finds what the session may read by meaning, best first, each scope
// from its own index. It may miss; what must not be missed is a fact. It
// leaves a receipt with the ids.
func (s *Session) Recall(ctx context.Context, query string, o RecallOptions) ([]Recalled, error) {
	found, err := s.find(ctx, query, o)
	if err != nil {
		return nil, err
	}
	r := tenet.Receipt{ID: newID(), Session: s.info.ID, At: s.now()}
	for _, f := range found {
		r.Recalled = append(r.Recalled, f.ID)
		r.Lowest = lowest(r.Lowest, f.Label)
	}
	return found, s.log.Serve(ctx, s.info.Scope, r)
}

func (s *Session) find(ctx context.Context, query string, o RecallOptions) ([]Recalled, error) {
	if s.indexes == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "recall", "the durable tier is off; sessions only")
	}
	found, err := s.indexes.find(ctx, s.info.Reads, query, s.now(), o)
	if err == nil {
		s.counts.recall(len(found))
	}
	return found, err
}

// Recall finds records of the scopes by meaning without a session: for hosts,
// operators and evaluation. It leaves no receipt.
func (m *Memory) Recall(ctx context.Context, by tenet.Principal, query string, o RecallOptions, scopes ...tenet.Scope) ([]Recalled, error) {
	if err := m.durable("recall"); err != nil {
		return nil, err
	}
	if err := reach("recall", by, scopes...); err != nil {
		return nil, err
	}
	found, err := m.indexes.find(ctx, scopes, query, m.now(), o)
	if err == nil {
		m.counts.recall(len(found))
	}
	return found, err
}

// find asks each scope's own index and merges by quota: scores of different
// scopes do not compare, so the narrowest gets half of the places, the others
// share the rest, and what one leaves free flows back.
func (x *indexes) find(ctx context.Context, scopes []tenet.Scope, query string, now time.Time, o RecallOptions) ([]Recalled, error) {
	orElse(&o.K, 10)
	q := recall.Query{
		Text: query, K: o.K, Now: now, Location: o.Location, Within: o.Within, Diversity: o.Diversity, Explain: o.Explain,
	}
	lists := make([][]hit, len(scopes))
	for i, s := range scopes {
		hits, _, err := x.search(ctx, s, q)
		if err != nil {
			return nil, err
		}
		lists[i] = hits
	}
	var out []Recalled
	for _, h := range merge(lists, o.K) {
		out = append(out, h.recalled())
	}
	return out, nil
}

func merge(lists [][]hit, k int) []hit {
	if len(lists) == 1 {
		return lists[0]
	}
	quota := make([]int, len(lists))
	for i := range lists {
		quota[i] = (k/2 + len(lists) - 2) / max(1, len(lists)-1)
	}
	quota[0] = k - k/2
	var out []hit
	for i, l := range lists {
		n := min(quota[i], len(l), k-len(out))
		out, lists[i] = append(out, l[:n]...), l[n:]
	}
	for _, l := range lists { // free places flow back, narrow scopes first
		n := min(len(l), k-len(out))
		out = append(out, l[:n]...)
	}
	return out
}

func (h hit) recalled() Recalled {
	return Recalled{
		ID: h.id, Scope: h.scope, Tier: h.tier, Label: h.label, Lane: h.Lane.String(), Key: h.key, Text: h.text,
		Speaker: h.speaker, Session: h.session, Message: h.message, Valid: h.valid, RecordedAt: h.recorded,
		Score: h.Score, Similar: h.Similar, Why: h.Why,
	}
}

// lowest is the lower of two labels, where zero is none yet.
func lowest(a, b tenet.Label) tenet.Label {
	if a == 0 {
		return b
	}
	return min(a, b)
}
