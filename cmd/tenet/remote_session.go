package main

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// remoteSession is a session at a server.
type remoteSession struct {
	r    *remote
	info tenet.Session
}

type wireSession struct {
	tenet.Session
	Scope wireScope   `json:"scope"`
	Reads []wireScope `json:"reads"`
}

func (r *remote) session(ctx context.Context, q request) (conversation, error) {
	var w wireSession
	if _, err := r.call(ctx, q, &w); err != nil {
		return nil, err
	}
	w.Session.Scope = w.Scope.scope()
	w.Session.Reads = nil
	for _, s := range w.Reads {
		w.Session.Reads = append(w.Session.Reads, s.scope())
	}
	return &remoteSession{r, w.Session}, nil
}

func (r *remote) OpenSession(ctx context.Context, _ tenet.Principal, scope tenet.Scope, id tenet.SessionID) (conversation, error) {
	return r.session(ctx, request{method: "GET", path: scoped(scope, "sessions", string(id))})
}

func (r *remote) Session(ctx context.Context, _ tenet.Principal, scope tenet.Scope, id tenet.SessionID, also ...tenet.Scope) (conversation, error) {
	reads := []string{}
	for _, s := range also {
		reads = append(reads, s.Subject().String())
	}
	return r.session(ctx, request{method: "PUT", path: scoped(scope, "sessions", string(id)), body: map[string]any{"reads": reads}})
}

func (r *remote) DeleteSession(ctx context.Context, _ tenet.Principal, scope tenet.Scope, id tenet.SessionID) error {
	_, err := r.call(ctx, request{method: "DELETE", path: scoped(scope, "sessions", string(id)), once: newKey}, nil)
	return err
}

func (s *remoteSession) Info() tenet.Session { return s.info }

func (s *remoteSession) path(parts ...string) string {
	return scoped(s.info.Scope, append([]string{"sessions", string(s.info.ID)}, parts...)...)
}

func (s *remoteSession) post(ctx context.Context, body any, once string, out any, parts ...string) error {
	_, err := s.r.call(ctx, request{method: "POST", path: s.path(parts...), body: body, once: once}, out)
	return err
}

// messageBody is a message without what the server sets.
func messageBody(m tenet.Message) map[string]any {
	b := map[string]any{"role": m.Role.String(), "text": m.Text}
	add := func(name string, v any, given bool) {
		if given {
			b[name] = v
		}
	}
	add("channel", m.Channel, m.Channel != "")
	add("speaker", m.Speaker, m.Speaker != "")
	add("said_at", m.SaidAt, !m.SaidAt.IsZero())
	add("client_id", m.ClientID, m.ClientID != "")
	add("tool_calls", m.ToolCalls, len(m.ToolCalls) > 0)
	add("tool_call_id", m.ToolCallID, m.ToolCallID != "")
	add("retain_none", true, m.RetainNone)
	return b
}

func (s *remoteSession) Append(ctx context.Context, ms ...tenet.Message) ([]tenet.Message, error) {
	body := []map[string]any{}
	for _, m := range ms {
		body = append(body, messageBody(m))
	}
	var out struct {
		Messages []tenet.Message `json:"messages"`
	}
	err := s.post(ctx, map[string]any{"messages": body}, newKey, &out, "messages")
	return out.Messages, err
}

func (s *remoteSession) Messages(ctx context.Context, after int64, limit int) ([]tenet.Message, error) {
	var out struct {
		Messages []tenet.Message `json:"messages"`
	}
	q := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(min(limit, 1000))}}
	_, err := s.r.call(ctx, request{method: "GET", path: s.path("messages"), query: q}, &out)
	return out.Messages, err
}

func (s *remoteSession) Context(ctx context.Context, query string, b memory.Budget) (memory.Window, error) {
	var out struct {
		memory.Window
		Facts    []wireFact `json:"facts"`
		Recalled []wireHit  `json:"recalled"`
	}
	err := s.post(ctx, map[string]any{"query": query, "tokens": b.Tokens, "recall": max(b.Recall, -1), "recall_share": b.RecallShare}, "", &out, "context")
	out.Window.Facts, out.Window.Recalled = factsOf(out.Facts), hitsOf(out.Recalled)
	return out.Window, err
}

func (s *remoteSession) Recall(ctx context.Context, query string, o memory.RecallOptions) (memory.Found, error) {
	return s.r.found(ctx, request{method: "POST", path: s.path("recall"), body: recallBody(query, o)})
}

func (s *remoteSession) End(ctx context.Context) (memory.Report, error) {
	return s.r.reported(ctx, s.info.Scope, s.path("end"), url.Values{"wait": {"true"}})
}

func (s *remoteSession) Hold(ctx context.Context, holder string, d time.Duration) (memory.Hold, error) {
	var out memory.Hold
	err := s.post(ctx, map[string]any{"holder": holder, "seconds": d.Seconds()}, newKey, &out, "hold")
	return out, err
}

func (s *remoteSession) Checkpoint(ctx context.Context, c tenet.Checkpoint, fence uint64) (tenet.Checkpoint, error) {
	b := map[string]any{"version": c.Version, "step": c.Step, "position": c.Position, "fence": fence}
	if len(c.Done) > 0 {
		b["done"] = c.Done
	}
	if len(c.State) > 0 {
		b["state"] = c.State
	}
	if len(c.Effects) > 0 {
		b["effects"] = c.Effects
	}
	var out tenet.Checkpoint
	err := s.post(ctx, b, newKey, &out, "checkpoints")
	return out, err
}

func (s *remoteSession) Checkpoints(ctx context.Context, below int64, limit int) ([]tenet.Checkpoint, error) {
	return pages(ctx, s.r, s.path("checkpoints"), url.Values{}, func(c tenet.Checkpoint) bool { return below == 0 || c.Version < below }, limit)
}

func (s *remoteSession) Resume(ctx context.Context) (memory.Resumption, error) {
	var out memory.Resumption
	_, err := s.r.call(ctx, request{method: "GET", path: s.path("run")}, &out)
	return out, err
}

func (s *remoteSession) Effects(ctx context.Context) ([]tenet.Effect, error) {
	var out struct {
		Effects []tenet.Effect `json:"effects"`
	}
	_, err := s.r.call(ctx, request{method: "GET", path: s.path("effects")}, &out)
	return out.Effects, err
}

func (s *remoteSession) Claim(ctx context.Context, c memory.Claiming) (memory.Claimed, error) {
	b := map[string]any{"step": c.Step, "seconds": c.For.Seconds(), "retry": c.Retry, "fence": c.Fence}
	if len(c.Payload) > 0 {
		b["payload"] = json.RawMessage(c.Payload)
	}
	var out memory.Claimed
	err := s.post(ctx, b, "", &out, "effects", c.Key, "claim")
	return out, err
}

func (s *remoteSession) settle(ctx context.Context, how, key string, b map[string]any, outcome json.RawMessage) (tenet.Effect, error) {
	if len(outcome) > 0 {
		b["outcome"] = outcome
	}
	var out tenet.Effect
	err := s.post(ctx, b, newKey, &out, "effects", key, how)
	return out, err
}

func (s *remoteSession) Complete(ctx context.Context, key string, attempt int, outcome json.RawMessage) (tenet.Effect, error) {
	return s.settle(ctx, "complete", key, map[string]any{"attempt": attempt}, outcome)
}

func (s *remoteSession) Fail(ctx context.Context, key string, attempt int, outcome json.RawMessage) (tenet.Effect, error) {
	return s.settle(ctx, "fail", key, map[string]any{"attempt": attempt}, outcome)
}

func (s *remoteSession) Resolve(ctx context.Context, key string, attempt int, state tenet.EffectState, outcome json.RawMessage) (tenet.Effect, error) {
	return s.settle(ctx, "resolve", key, map[string]any{"attempt": attempt, "state": state}, outcome)
}

// remoteReview is an operator's side of a scope at a server.
type remoteReview struct {
	r     *remote
	scope tenet.Scope
}

func (r *remote) Operator(_ tenet.Principal, scope tenet.Scope) (reviewer, error) {
	return remoteReview{r, scope}, nil
}

func (o remoteReview) Audit(ctx context.Context, from uint64, limit int) ([]tenet.AuditEntry, error) {
	return pages(ctx, o.r, scoped(o.scope, "audit"), url.Values{}, func(e tenet.AuditEntry) bool { return e.Seq >= from }, limit)
}

func (o remoteReview) Record(ctx context.Context, id tenet.RecordID) (tenet.Record, []tenet.Evidence, error) {
	var out struct {
		Record   wireRecord       `json:"record"`
		Evidence []tenet.Evidence `json:"evidence"`
	}
	_, err := o.r.call(ctx, request{method: "GET", path: scoped(o.scope, "records", string(id))}, &out)
	out.Record.Record.Scope = out.Record.Scope.scope()
	return out.Record.Record, out.Evidence, err
}

func (o remoteReview) Held(ctx context.Context, after tenet.CandidateID, limit int) ([]tenet.Held, error) {
	seen := after == ""
	return pages(ctx, o.r, scoped(o.scope, "quarantine"), url.Values{}, func(h tenet.Held) bool {
		was := seen
		seen = seen || h.Verdict.Candidate == after
		return was
	}, limit)
}

func (o remoteReview) Release(ctx context.Context, id tenet.CandidateID) (tenet.Verdict, error) {
	var out verdictOut
	_, err := o.r.call(ctx, request{method: "POST", path: scoped(o.scope, "quarantine", string(id), "release"), once: newKey}, &out)
	return out.Verdict, err
}

func (o remoteReview) Discard(ctx context.Context, id tenet.CandidateID, why string) error {
	_, err := o.r.call(ctx, request{method: "POST", path: scoped(o.scope, "quarantine", string(id), "discard"), body: map[string]any{"why": why}}, nil)
	return err
}

func (o remoteReview) Verify(ctx context.Context) (store.Verification, error) {
	var out store.Verification
	_, err := o.r.call(ctx, request{method: "GET", path: scoped(o.scope, "verify")}, &out)
	return out, err
}

func (o remoteReview) Scopes(ctx context.Context, after tenet.Scope, limit int) ([]tenet.Scope, error) {
	seen := after.IsZero()
	ws, err := pages(ctx, o.r, "/v1/scopes", url.Values{}, func(w wireScope) bool {
		was := seen
		seen = seen || w.scope() == after
		return was
	}, limit)
	var out []tenet.Scope
	for _, w := range ws {
		out = append(out, w.scope())
	}
	return out, err
}

// remoteKeys manages keys at a server.
func (r *remote) Create(ctx context.Context, _ tenet.Principal, n memory.NewKey) (tenet.Key, string, error) {
	b := map[string]any{"kind": n.Kind.String(), "name": n.Name, "seconds": n.For.Seconds()}
	var subjects []string
	for _, s := range n.Subjects {
		subjects = append(subjects, s.String())
	}
	if subjects != nil {
		b["subjects"] = subjects
	}
	if len(n.Owns) > 0 {
		b["owns"] = n.Owns
	}
	return r.keyed(ctx, request{method: "POST", path: "/v1/keys", body: b})
}

func (r *remote) keyed(ctx context.Context, q request) (tenet.Key, string, error) {
	var out struct {
		Key    tenet.Key `json:"key"`
		Secret string    `json:"secret"`
	}
	_, err := r.call(ctx, q, &out)
	return out.Key, out.Secret, err
}

func (r *remote) List(ctx context.Context, _ tenet.Principal, after string, limit int) ([]tenet.Key, error) {
	return pages(ctx, r, "/v1/keys", url.Values{}, func(k tenet.Key) bool { return k.ID > after }, limit)
}

func (r *remote) Rotate(ctx context.Context, _ tenet.Principal, id string) (tenet.Key, string, error) {
	return r.keyed(ctx, request{method: "POST", path: "/v1/keys/" + url.PathEscape(id) + "/rotate"})
}

func (r *remote) Expire(ctx context.Context, _ tenet.Principal, id string, d time.Duration) (tenet.Key, error) {
	var out tenet.Key
	_, err := r.call(ctx, request{method: "POST", path: "/v1/keys/" + url.PathEscape(id) + "/expiry", body: map[string]any{"seconds": d.Seconds()}}, &out)
	return out, err
}

func (r *remote) Revoke(ctx context.Context, _ tenet.Principal, id string) (tenet.Key, error) {
	var out tenet.Key
	_, err := r.call(ctx, request{method: "DELETE", path: "/v1/keys/" + url.PathEscape(id)}, &out)
	return out, err
}
