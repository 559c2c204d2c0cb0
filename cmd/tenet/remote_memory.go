package main

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

var _ backend = (*remote)(nil)

// wireScope is a scope as it is written. A scope's own type decodes nothing,
// so that none can come from a payload; a client makes it by NewScope.
type wireScope struct {
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

func (w wireScope) scope() tenet.Scope {
	sub, err := tenet.ParseSubject(w.Subject)
	if err != nil {
		return tenet.Scope{}
	}
	s, _ := tenet.NewScope(w.Tenant, sub)
	return s
}

type (
	wireRecord struct {
		tenet.Record
		Scope wireScope `json:"scope"`
	}
	wireFact struct {
		memory.Fact
		Scope wireScope `json:"scope"`
	}
	wireHit struct {
		memory.Recalled
		Scope wireScope `json:"scope"`
	}
	wireFound struct {
		memory.Found
		Hits []wireHit `json:"hits"`
	}
)

func recordsOf(ws []wireRecord) []tenet.Record {
	var out []tenet.Record
	for _, w := range ws {
		w.Record.Scope = w.Scope.scope()
		out = append(out, w.Record)
	}
	return out
}

func factsOf(ws []wireFact) []memory.Fact {
	var out []memory.Fact
	for _, w := range ws {
		w.Fact.Scope = w.Scope.scope()
		out = append(out, w.Fact)
	}
	return out
}

func hitsOf(ws []wireHit) []memory.Recalled {
	var out []memory.Recalled
	for _, w := range ws {
		w.Recalled.Scope = w.Scope.scope()
		out = append(out, w.Recalled)
	}
	return out
}

// candidateBody is a candidate as the server takes it.
func candidateBody(c tenet.Candidate) map[string]any {
	b := map[string]any{"text": c.Text}
	add := func(name string, v any, given bool) {
		if given {
			b[name] = v
		}
	}
	add("tier", c.Tier.String(), c.Tier != 0)
	add("key", c.Key, c.Key != "")
	add("value", c.Value, len(c.Value) > 0)
	add("cites", c.Cites, len(c.Cites) > 0)
	add("quote", c.Quote, c.Quote != "")
	add("safety", true, c.Safety)
	add("valid_from", c.Valid.From, !c.Valid.From.IsZero())
	add("valid_to", c.Valid.To, !c.Valid.To.IsZero())
	add("id", c.ID, c.ID != "")
	return b
}

func (r *remote) Remember(ctx context.Context, _ tenet.Principal, c tenet.Candidate) (tenet.Verdict, error) {
	var out verdictOut
	b := candidateBody(c)
	if c.IfVersion == "" || c.Tier != tenet.TierFact {
		_, err := r.call(ctx, request{method: "POST", path: scoped(c.Scope, "memories"), body: b, once: newKey}, &out)
		return out.Verdict, err
	}
	for _, n := range []string{"tier", "key", "id"} {
		delete(b, n)
	}
	h := map[string]string{"If-Match": `"` + string(c.IfVersion) + `"`}
	if c.IfVersion == tenet.NoVersion {
		h = map[string]string{"If-None-Match": "*"}
	}
	_, err := r.call(ctx, request{method: "PUT", path: scoped(c.Scope, "facts", c.Key), body: b, header: h, once: newKey}, &out)
	return out.Verdict, err
}

// wider says in a query which scopes a read composes with.
func wider(scopes []tenet.Scope) (url.Values, error) {
	q := url.Values{}
	for _, s := range scopes[1:] {
		switch sub := s.Subject(); {
		case sub.Kind() == tenet.SubjectProject && !q.Has("project"):
			q.Set("project", sub.ID())
		case sub.Kind() == tenet.SubjectTenant:
			q.Set("tenant", "true")
		default:
			return nil, tenet.Errorf(tenet.Invalid, "usage", "--also: a server composes with one project and the tenant")
		}
	}
	return q, nil
}

func (r *remote) Facts(ctx context.Context, _ tenet.Principal, at tenet.AsOf, scopes ...tenet.Scope) ([]memory.Fact, error) {
	q, err := wider(scopes)
	if err != nil {
		return nil, err
	}
	for name, t := range map[string]time.Time{"valid_at": at.Valid, "known_at": at.Known} {
		if !t.IsZero() {
			q.Set(name, t.Format(time.RFC3339Nano))
		}
	}
	var out struct {
		Facts []wireFact `json:"facts"`
	}
	_, err = r.call(ctx, request{method: "GET", path: scoped(scopes[0], "facts"), query: q}, &out)
	return factsOf(out.Facts), err
}

func (r *remote) History(ctx context.Context, _ tenet.Principal, scope tenet.Scope, key string) ([]tenet.Record, error) {
	return r.records(ctx, scoped(scope, "facts", key, "history"))
}

func (r *remote) records(ctx context.Context, path string) ([]tenet.Record, error) {
	var out struct {
		Records []wireRecord `json:"records"`
	}
	_, err := r.call(ctx, request{method: "GET", path: path}, &out)
	return recordsOf(out.Records), err
}

// changeKey is the key in the path: when only a record was named, the one that
// stands for any.
func changeKey(c memory.Change) string {
	if c.Key == "" {
		return "-"
	}
	return c.Key
}

func (r *remote) End(ctx context.Context, _ tenet.Principal, c memory.Change) error {
	b := map[string]any{"why": c.Why, "record": string(c.Record)}
	if !c.To.IsZero() {
		b["to"] = c.To
	}
	_, err := r.call(ctx, request{method: "POST", path: scoped(c.Scope, "facts", changeKey(c), "end"), body: b, once: idOrNew(c.ID)}, nil)
	return err
}

func (r *remote) Retract(ctx context.Context, _ tenet.Principal, c memory.Change) error {
	q := url.Values{}
	if c.Record != "" {
		q.Set("record", string(c.Record))
	}
	if c.Why != "" {
		q.Set("why", c.Why)
	}
	_, err := r.call(ctx, request{method: "DELETE", path: scoped(c.Scope, "facts", changeKey(c)), query: q, once: idOrNew(c.ID)}, nil)
	return err
}

func idOrNew(id string) string {
	if id == "" {
		return newKey
	}
	return id
}

func recallBody(query string, o memory.RecallOptions) map[string]any {
	b := map[string]any{"query": query, "explain": o.Explain}
	if o.K > 0 {
		b["k"] = o.K
	}
	if o.Dormant {
		b["include_dormant"] = true
	}
	return b
}

func (r *remote) Recall(ctx context.Context, _ tenet.Principal, query string, o memory.RecallOptions, scopes ...tenet.Scope) (memory.Found, error) {
	q, err := wider(scopes)
	if err != nil {
		return memory.Found{}, err
	}
	return r.found(ctx, request{method: "POST", path: scoped(scopes[0], "recall"), query: q, body: recallBody(query, o)})
}

func (r *remote) Outcomes(ctx context.Context, _ tenet.Principal, scope tenet.Scope, ids []tenet.RecordID, success bool) error {
	_, err := r.call(ctx, request{method: "POST", path: scoped(scope, "outcomes"), body: map[string]any{"records": ids, "success": success}, once: newKey}, nil)
	return err
}

func (r *remote) found(ctx context.Context, q request) (memory.Found, error) {
	var out wireFound
	_, err := r.call(ctx, q, &out)
	out.Found.Hits = hitsOf(out.Hits)
	return out.Found, err
}

func (r *remote) Consolidate(ctx context.Context, _ tenet.Principal, scope tenet.Scope, id tenet.SessionID) (memory.Report, error) {
	return r.reported(ctx, scope, scoped(scope, "sessions", string(id), "consolidate"), nil)
}

// reported decodes a report; its scope is the one that was asked for.
func (r *remote) reported(ctx context.Context, scope tenet.Scope, path string, q url.Values) (memory.Report, error) {
	var out struct {
		memory.Report
		Scope wireScope `json:"scope"`
	}
	_, err := r.call(ctx, request{method: "POST", path: path, query: q}, &out)
	out.Report.Scope = scope
	return out.Report, err
}

func (r *remote) PutDocument(ctx context.Context, _ tenet.Principal, scope tenet.Scope, p memory.DocumentPut) (tenet.Document, error) {
	h := map[string]string{}
	switch p.IfSHA256 {
	case "":
	case memory.NoContent:
		h["If-None-Match"] = "*"
	default:
		h["If-Match"] = `"` + p.IfSHA256 + `"`
	}
	b := map[string]any{"text": p.Text}
	if len(p.Cites) > 0 {
		b["cites"] = p.Cites
	}
	var out tenet.Document
	_, err := r.call(ctx, request{method: "PUT", path: scoped(scope, "documents", p.Path), body: b, header: h, once: newKey}, &out)
	return out, err
}

func (r *remote) Document(ctx context.Context, _ tenet.Principal, scope tenet.Scope, path string) (tenet.Document, error) {
	var out tenet.Document
	_, err := r.call(ctx, request{method: "GET", path: scoped(scope, "documents", path)}, &out)
	return out, err
}

func (r *remote) Documents(ctx context.Context, _ tenet.Principal, scope tenet.Scope, prefix, after string, limit int) ([]tenet.Document, error) {
	all, err := pages[tenet.Document](ctx, r, scoped(scope, "documents"), url.Values{"prefix": {prefix}}, func(d tenet.Document) bool { return d.Path > after }, limit)
	return all, err
}

func (r *remote) DocumentHistory(ctx context.Context, _ tenet.Principal, scope tenet.Scope, path string) ([]tenet.Record, error) {
	return r.records(ctx, scoped(scope, "document-history", path))
}

func (r *remote) DeleteDocument(ctx context.Context, _ tenet.Principal, scope tenet.Scope, path, ifSHA256 string) error {
	h := map[string]string{}
	if ifSHA256 != "" {
		h["If-Match"] = `"` + ifSHA256 + `"`
	}
	_, err := r.call(ctx, request{method: "DELETE", path: scoped(scope, "documents", path), header: h, once: newKey}, nil)
	return err
}

// pages reads a list to its end, or until there are enough that keep says yes to.
func pages[T any](ctx context.Context, r *remote, path string, q url.Values, keep func(T) bool, limit int) ([]T, error) {
	var out []T
	for {
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next"`
		}
		q.Set("limit", strconv.Itoa(100))
		if _, err := r.call(ctx, request{method: "GET", path: path, query: q}, &page); err != nil {
			return nil, err
		}
		for _, raw := range page.Items {
			var item T
			if err := json.Unmarshal(raw, &item); err != nil {
				return nil, tenet.Errorf(tenet.Unavailable, "server", "the answer is not one of this version of Tenet")
			}
			if keep(item) {
				out = append(out, item)
			}
			if len(out) == limit {
				return out, nil
			}
		}
		if page.Next == "" {
			return out, nil
		}
		q.Set("cursor", page.Next)
	}
}
