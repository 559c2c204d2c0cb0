package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// messageIn is one message to append. Whose word it is follows from the key.
type messageIn struct {
	Role       string    `json:"role" enum:"user,assistant,tool,system"`
	Text       string    `json:"text" maxLength:"1048576"`
	Channel    string    `json:"channel,omitempty" maxLength:"256" doc:"how it arrived when not typed: prefilled, external"`
	Speaker    string    `json:"speaker,omitempty" maxLength:"256"`
	SaidAt     time.Time `json:"said_at,omitzero"`
	ClientID   string    `json:"client_id,omitempty" maxLength:"256" doc:"the caller's id: appending it again is a harmless retry"`
	ToolCalls  []string  `json:"tool_calls,omitempty" maxItems:"64"`
	ToolCallID string    `json:"tool_call_id,omitempty" maxLength:"256"`
	RetainNone bool      `json:"retain_none,omitempty" doc:"keep it out of durable memory"`
}

func (m messageIn) message() (tenet.Message, error) {
	role, err := tenet.ParseRole(m.Role)
	return tenet.Message{
		Role: role, Channel: tenet.Channel(m.Channel), Speaker: m.Speaker, Text: m.Text, SaidAt: m.SaidAt, ClientID: m.ClientID,
		ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, RetainNone: m.RetainNone,
	}, err
}

type messages struct {
	Messages []tenet.Message `json:"messages"`
}

type opened struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    struct {
		Reads []string `json:"reads,omitempty" maxItems:"8" doc:"further subjects it may read, from narrow to wide: project:ID, tenant"`
	}
}

type sessionOnly struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
}

type appended struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    struct {
		Messages []messageIn `json:"messages" minItems:"1" maxItems:"500" nullable:"false"`
	}
}

type messagesAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	After   int64  `query:"after" minimum:"-10000" maximum:"9007199254740991" doc:"messages above this position; negative counts from the end"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" doc:"default 100"`
}

type contextAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    struct {
		Query       string  `json:"query,omitempty" maxLength:"65536" doc:"default: the last user message"`
		Tokens      int     `json:"tokens,omitempty" minimum:"0" maximum:"10000000" doc:"for everything together; default 4000"`
		Recall      int     `json:"recall,omitempty" minimum:"-1" maximum:"100" doc:"most records recalled by meaning; default 10, -1 for none"`
		RecallShare float64 `json:"recall_share,omitempty" minimum:"0" maximum:"1" doc:"of what the facts leave; default 0.4"`
	}
}

type recallAsked struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    recallBody
}

type recallBody struct {
	Query   string `json:"query" minLength:"1" maxLength:"65536"`
	K       int    `json:"k,omitempty" minimum:"0" maximum:"200" doc:"default 10"`
	Explain bool   `json:"explain,omitempty"`
	Dormant bool   `json:"include_dormant,omitempty" doc:"find what forgetting has taken out of the default results, too"`
}

func (b recallBody) options() memory.RecallOptions {
	return memory.RecallOptions{K: b.K, Explain: b.Explain, Dormant: b.Dormant}
}

type proposed struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Body    candidateIn
}

type proposalOut struct {
	ID tenet.CandidateID `json:"id" doc:"its verdict is under this id once the session has been consolidated"`
}

// header says where the verdict will be, relative to the request.
func (p proposalOut) header(h http.Header) {
	h.Set("Location", "proposals/"+url.PathEscape(string(p.ID)))
}

// ending is what End did, or that it was accepted: then the status says what
// became of it.
type ending struct {
	memory.Report
	later bool
}

func (e ending) header(h http.Header) {
	if e.later {
		h.Set("Location", "status")
	}
}

func (e ending) accepted() bool { return e.later }

type ended struct {
	Session string `path:"session" minLength:"1" maxLength:"256"`
	Wait    bool   `query:"wait" doc:"consolidate before answering"`
}

func (a *API) sessionRoutes() {
	const base = "/sessions/{session}"
	notFound := []int{http.StatusNotFound}
	add(a, operation{id: "openSession", method: "PUT", path: base, who: hotPath, also: []int{http.StatusConflict},
		summary: "Open a conversation; what it may read is fixed when it is created"},
		func(ctx context.Context, c call, r *opened) (tenet.Session, error) {
			also, err := subjects(c, r.Body.Reads)
			if err != nil {
				return tenet.Session{}, err
			}
			s, err := a.mem.Session(ctx, c.by, c.scope, tenet.SessionID(r.Session), also...)
			if err != nil {
				return tenet.Session{}, err
			}
			return s.Info(), nil
		})
	add(a, operation{id: "session", method: "GET", path: base, who: hotPath, also: notFound, summary: "A conversation's state"},
		func(ctx context.Context, c call, r *sessionOnly) (tenet.Session, error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return tenet.Session{}, err
			}
			return s.Info(), nil
		})
	add(a, operation{id: "appendMessages", method: "POST", path: base + "/messages", who: hotPath, once: onceRequired, status: http.StatusCreated,
		summary: "Append to the conversation, making it when it is new"},
		func(ctx context.Context, c call, r *appended) (messages, error) {
			ms := make([]tenet.Message, len(r.Body.Messages))
			for i, m := range r.Body.Messages {
				var err error
				if ms[i], err = m.message(); err != nil {
					return messages{}, err
				}
			}
			kept, err := a.mem.Append(ctx, c.by, c.scope, tenet.SessionID(r.Session), ms...)
			return messages{kept}, err
		})
	add(a, operation{id: "messages", method: "GET", path: base + "/messages", who: hotPath, also: notFound, summary: "Messages in order of position"},
		func(ctx context.Context, c call, r *messagesAsked) (messages, error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return messages{}, err
			}
			orElse(&r.Limit, 100)
			ms, err := s.Messages(ctx, r.After, r.Limit)
			return messages{ms}, err
		})
	add(a, operation{id: "sessionFacts", method: "GET", path: base + "/facts", who: hotPath, also: notFound,
		summary: "All facts the conversation may read, by identity"},
		func(ctx context.Context, c call, r *sessionOnly) (facts, error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return facts{}, err
			}
			fs, err := s.Facts(ctx)
			return facts{fs}, err
		})
	add(a, operation{id: "context", method: "POST", path: base + "/context", who: hotPath, also: []int{http.StatusConflict},
		summary: "Working memory for the next model call: all facts, then what was recalled, then the newest messages"},
		func(ctx context.Context, c call, r *contextAsked) (memory.Window, error) {
			s, err := a.mem.Session(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return memory.Window{}, err
			}
			return s.Context(ctx, r.Body.Query, memory.Budget{Tokens: r.Body.Tokens, Recall: r.Body.Recall, RecallShare: r.Body.RecallShare})
		})
	add(a, operation{id: "recall", method: "POST", path: base + "/recall", who: hotPath, also: []int{http.StatusConflict},
		summary: "Find by meaning what the conversation may read"},
		func(ctx context.Context, c call, r *recallAsked) (memory.Found, error) {
			s, err := a.mem.Session(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return memory.Found{}, err
			}
			found, err := s.Recall(ctx, r.Body.Query, r.Body.options())
			return found, err
		})
	add(a, operation{id: "propose", method: "POST", path: base + "/proposals", who: hotPath, once: onceRequired, status: http.StatusAccepted,
		summary: "Propose a durable record; it is judged when the conversation is consolidated"},
		func(ctx context.Context, c call, r *proposed) (proposalOut, error) {
			cand, err := r.Body.candidate(c.scope)
			if err != nil {
				return proposalOut{}, err
			}
			id, err := a.mem.Propose(ctx, c.by, tenet.SessionID(r.Session), cand)
			return proposalOut{id}, err
		})
	add(a, operation{id: "endSession", method: "POST", path: base + "/end", who: hotPath, also: notFound, wait: true, later: true,
		summary: "Close the conversation; with wait, what it taught is in memory when the answer comes, else 202 and the status says"},
		func(ctx context.Context, c call, r *ended) (ending, error) {
			s, err := a.mem.OpenSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
			if err != nil {
				return ending{}, err
			}
			if !r.Wait {
				return ending{memory.Report{Scope: c.scope, Session: s.Info().ID}, true}, s.EndLater(ctx)
			}
			rep, err := s.End(ctx)
			return ending{Report: rep}, err
		})
	add(a, operation{id: "consolidate", method: "POST", path: base + "/consolidate", who: writeSide, also: notFound, wait: true,
		summary: "Take the conversation through extraction and the gate now; it stays open"},
		func(ctx context.Context, c call, r *sessionOnly) (memory.Report, error) {
			return a.mem.Consolidate(ctx, c.by, c.scope, tenet.SessionID(r.Session))
		})
	add(a, operation{id: "deleteSession", method: "DELETE", path: base, who: writeSide, once: onceAccepted, status: http.StatusNoContent, also: notFound,
		summary: "Delete the conversation's log and running work; a late write does not bring it back, and what was consolidated stays"},
		func(ctx context.Context, c call, r *sessionOnly) (empty, error) {
			return empty{}, a.mem.DeleteSession(ctx, c.by, c.scope, tenet.SessionID(r.Session))
		})
}

// subjects makes scopes of the principal's tenant.
func subjects(c call, names []string) ([]tenet.Scope, error) {
	out := make([]tenet.Scope, 0, len(names))
	for _, n := range names {
		sub, err := tenet.ParseSubject(n)
		if err != nil {
			return nil, err
		}
		s, err := tenet.NewScope(c.by.Tenant(), sub)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// number reads a cursor's position.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
