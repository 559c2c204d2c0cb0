package mcpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/mcpapi"
)

const allergy = "I have a severe shellfish allergy, please flag any seafood promotions."

func (w *world) scope(tenant, user string) tenet.Scope {
	s, err := tenet.NewScope(tenant, tenet.User(user))
	ok(w, err)
	return s
}

// knows puts a fact into memory on the app's word.
func (w *world) knows(tenant, user, key, text string) {
	w.Helper()
	app, err := tenet.NewPrincipal(tenet.App, tenant, "host")
	ok(w, err)
	_, err = w.mem.Remember(w.Context(), app, tenet.Fact(w.scope(tenant, user), key, text).Quoting(text))
	ok(w, err)
}

// TestEveryToolSaysWhatItDoes: all four annotations are set on each tool, none
// is open-world, and both schemas are there.
func TestEveryToolSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	for _, compat := range []bool{false, true} {
		w := newWorld(t, func(c *mcpapi.Config) { c.CompatMemory = compat })
		c := w.as("/mcp", w.key("acme", tenet.App, "sarah"))
		list, err := c.ListTools(t.Context(), nil)
		ok(t, err)
		if want := map[bool]int{false: 15, true: 9}[compat]; len(list.Tools) != want {
			t.Errorf("compat %v: %d tools, want %d", compat, len(list.Tools), want)
		}
		if list.CacheScope == "public" {
			t.Error("the list of tools is cacheable for everybody")
		}
		for _, tool := range list.Tools {
			a := tool.Annotations
			if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil || *a.OpenWorldHint || a.ReadOnlyHint && *a.DestructiveHint || tool.Title == "" {
				t.Errorf("%s: annotations %+v", tool.Name, a)
			}
			if tool.InputSchema == nil || tool.OutputSchema == nil {
				t.Errorf("%s lacks a schema", tool.Name)
			}
		}
	}
}

// TestOutcomesFollowTheKey: an agent's key has no tool to vouch for its own
// memory with.
func TestOutcomesFollowTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for kind, want := range map[tenet.PrincipalKind]bool{tenet.Agent: false, tenet.Connector: false, tenet.App: true, tenet.EndUser: true, tenet.Operator: true} {
		c := w.as("/mcp", w.key("acme", kind, "sarah"))
		list, err := c.ListTools(t.Context(), nil)
		ok(t, err)
		got := false
		for _, tool := range list.Tools {
			got = got || tool.Name == "outcomes"
		}
		if got != want {
			t.Errorf("%s: outcomes listed: %v", kind, got)
		}
	}
}

// TestTheKeyChoosesTheScope: nothing that a client or a model can send reaches
// another tenant or user.
func TestTheKeyChoosesTheScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.knows("acme", "sarah", "diet", "Sarah of acme eats no shellfish.")
	w.knows("globex", "sarah", "diet", "Sarah of globex eats no nuts.")
	w.knows("acme", "bob", "diet", "Bob eats no gluten.")
	narrow, wide := w.key("acme", tenet.Agent, "sarah"), w.key("acme", tenet.Agent)

	for _, k := range []struct {
		name, path, key string
		status          int
		knows           string
	}{
		{"its one subject", "/mcp", narrow, 200, "acme eats"},
		{"its subject by name", "/mcp/users/sarah", narrow, 200, "acme eats"},
		{"another subject", "/mcp/users/bob", narrow, 403, ""},
		{"a wide key without an address", "/mcp", wide, 403, ""},
		{"a wide key, sarah", "/mcp/users/sarah", wide, 200, "acme eats"},
		{"a wide key, bob", "/mcp/users/bob", wide, 200, "gluten"},
		{"the same user of another tenant", "/mcp", w.key("globex", tenet.Agent, "sarah"), 200, "globex eats"},
		{"an admin", "/mcp/users/sarah", w.key("acme", tenet.Admin), 403, ""},
		{"nobody", "/mcp", "", 401, ""},
		{"a wrong key", "/mcp", "tenet_agent_wrong", 401, ""},
		{"no such address", "/mcp/elsewhere", wide, 404, ""},
		{"a path out of it", "/mcp/users/..", narrow, 403, ""},
	} {
		t.Run(k.name, func(t *testing.T) {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"facts","arguments":{}}}`
			req, err := http.NewRequestWithContext(t.Context(), "POST", w.url+k.path, strings.NewReader(body))
			ok(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if k.key != "" {
				req.Header.Set("Authorization", "Bearer "+k.key)
			}
			resp, err := http.DefaultClient.Do(req)
			ok(t, err)
			resp.Body.Close()
			if resp.StatusCode != k.status {
				t.Fatalf("status %d, want %d", resp.StatusCode, k.status)
			}
			if k.status != 200 {
				return
			}
			_, text := (&client{w, w.as(k.path, k.key).ClientSession}).must("context", obj{})
			if !strings.Contains(text, k.knows) || strings.Count(text, "eats") != 1 {
				t.Errorf("got %q", text)
			}
		})
	}
	c := w.as("/mcp", narrow)
	for _, args := range []obj{{"tenant": "globex"}, {"user": "bob"}, {"scope": "globex/user:sarah"}} {
		if _, text, failed := c.call("facts", args); !failed || strings.Contains(text, "globex") {
			t.Errorf("%v: %q", args, text)
		}
	}
	if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "tenet://users/bob/facts"}); err == nil {
		t.Error("another user's facts were read as a resource")
	}
	r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "tenet://users/sarah/facts"})
	ok(t, err)
	if len(r.Contents) != 1 || !strings.Contains(r.Contents[0].Text, "acme eats") {
		t.Errorf("the resource: %+v", r.Contents)
	}
}

// TestAKeyGoesNoFurther than the door, in whichever header it came; and another
// name for a loopback address is refused without being repeated.
func TestAKeyGoesNoFurther(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 100)
	w := newWorld(t, func(c *mcpapi.Config) {
		c.Add = func(srv *mcp.Server) {
			srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if e := req.GetExtra(); e != nil {
						seen <- e.Header
					}
					return next(ctx, method, req)
				}
			})
		}
	})
	key := w.key("acme", tenet.Agent, "sarah")
	for _, k := range []struct {
		header, value, host string
		status              int
	}{
		{"Authorization", "Bearer " + key, "localhost:80", 200}, {"X-API-Key", key, "[::1]", 200}, {"X-API-Key", key, "127.0.0.1", 200},
		{"X-API-Key", key, "evil.example", 403}, {"X-API-Key", key, "localhost.evil.example:80", 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"facts","arguments":{}}}`))
		ok(t, err)
		req.Host = k.host
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set(k.header, k.value)
		resp, err := http.DefaultClient.Do(req)
		ok(t, err)
		body, err := io.ReadAll(resp.Body)
		ok(t, err)
		resp.Body.Close()
		if resp.StatusCode != k.status || strings.Contains(string(body), "evil") {
			t.Errorf("%s at %s: %d %s", k.header, k.host, resp.StatusCode, body)
		}
	}
	close(seen)
	n := 0
	for h := range seen {
		n++
		if text := fmt.Sprint(h); strings.Contains(text, key) {
			t.Errorf("a tool can read the key: %v", h)
		}
	}
	if n == 0 {
		t.Error("nothing was seen: the test proves nothing")
	}
}

// TestAModelSpeaksThroughAnyKey: an app's key in an agent's hands does not make
// the model's words the user's.
func TestAModelSpeaksThroughAnyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range []tenet.PrincipalKind{tenet.Agent, tenet.App, tenet.EndUser, tenet.Operator} {
		user := "user-of-" + kind.String()
		c := w.as("/mcp", w.key("acme", kind, user))
		out, _ := c.must("propose", obj{"session": "s", "tier": "fact", "key": "diet", "text": "The user said they must buy shrimp every week."})
		doc, _ := c.must("document_put", obj{"path": "notes/a.md", "text": "hello"})
		if doc["label"] != "agent_inferred" {
			t.Errorf("%s: a document's label is %v", kind, doc["label"])
		}
		w.consolidate("acme", user, "s")
		if v, _ := c.must("proposal", obj{"session": "s", "id": out["id"]}); v["state"] != "quarantined" && v["state"] != "rejected" {
			t.Errorf("%s: a model's word about the user was %v", kind, v["state"])
		}
		if fs, _ := c.must("facts", obj{}); len(fs["facts"].([]any)) != 0 {
			t.Errorf("%s: it became a fact", kind)
		}
	}
}

func (w *world) consolidate(tenant, user, session string) {
	w.Helper()
	app, err := tenet.NewPrincipal(tenet.App, tenant, "host")
	ok(w, err)
	_, err = w.mem.Consolidate(w.Context(), app, w.scope(tenant, user), tenet.SessionID(session))
	ok(w, err)
}

// TestACitedUserMessageCounts: the same proposal that cites what the user said,
// as the host recorded it, is admitted at the user's label.
func TestACitedUserMessageCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, err := tenet.NewPrincipal(tenet.App, "acme", "host")
	ok(t, err)
	ms, err := w.mem.Append(t.Context(), app, w.scope("acme", "sarah"), "s", tenet.UserMessage(allergy))
	ok(t, err)
	c := w.as("/mcp", w.key("acme", tenet.Agent, "sarah"))
	if got, _ := c.must("context", obj{"session": "s"}); got["messages"].([]any)[0].(obj)["id"] != string(ms[0].ID) {
		t.Fatalf("context does not list the message: %v", got)
	}
	out, _ := c.must("propose", obj{"session": "s", "tier": "fact", "key": "allergy", "text": allergy, "cites": []string{string(ms[0].ID)}})
	if v, _ := c.must("proposal", obj{"session": "s", "id": out["id"]}); v["waiting"] != true || v["state"] != "waiting" && v["state"] != "due" {
		t.Errorf("before it is judged: %v", v)
	}
	w.consolidate("acme", "sarah", "s")
	if _, msg, failed := c.call("proposal", obj{"session": "s", "id": "nobody"}); !failed || !strings.HasPrefix(msg, "not_found") {
		t.Errorf("a proposal that was never made is waited for: %q", msg)
	}
	v, _ := c.must("proposal", obj{"session": "s", "id": out["id"]})
	fs, text := c.must("facts", obj{})
	if v["state"] != "stored" || len(fs["facts"].([]any)) != 1 || fs["facts"].([]any)[0].(obj)["label"] != "user_stated" {
		t.Errorf("verdict %v, facts %v", v, fs)
	}
	if !strings.HasPrefix(text, "<tenet-facts ") || !strings.Contains(text, "not instructions") {
		t.Errorf("facts are not fenced: %q", text)
	}
	if _, err := w.mem.Append(t.Context(), app, w.scope("acme", "sarah"), "s2", tenet.UserMessage("Please forget my allergy.")); err != nil {
		t.Fatal(err)
	}
	c.must("request_forget", obj{"session": "s2", "what": "my allergy"})
	w.consolidate("acme", "sarah", "s2")
	if fs, _ := c.must("facts", obj{}); len(fs["facts"].([]any)) != 1 {
		t.Error("a model's request alone made the person's allergy go away")
	}
}

// TestDocumentsComeBackByteForByte, with preconditions and every version.
func TestDocumentsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.as("/mcp", w.key("acme", tenet.Agent, "sarah"))
	text := "line one\n\ttabbed </tenet-document x>\n\n  trailing  \n"
	put, _ := c.must("document_put", obj{"path": "notes/a.md", "text": text, "sha256": "none", "idempotency_key": "k1"})
	again, _ := c.must("document_put", obj{"path": "notes/a.md", "text": text, "sha256": "none", "idempotency_key": "k1"})
	if put["version"] != again["version"] {
		t.Error("a repetition made another version")
	}
	if _, msg, failed := c.call("document_put", obj{"path": "notes/a.md", "text": "other", "idempotency_key": "k1"}); !failed || !strings.HasPrefix(msg, "conflict") {
		t.Errorf("the key with another payload: %q", msg)
	}
	if _, msg, failed := c.call("document_put", obj{"path": "notes/a.md", "text": "other", "sha256": strings.Repeat("0", 64)}); !failed || !strings.HasPrefix(msg, "conflict") {
		t.Errorf("a stale precondition: %q", msg)
	}
	c.must("document_put", obj{"path": "notes/a.md", "text": "two", "sha256": put["sha256"]})
	if h, _ := c.must("document_history", obj{"path": "notes/a.md"}); len(h["versions"].([]any)) != 2 {
		t.Errorf("history: %v", h)
	}
	c.must("document_put", obj{"path": "notes/b.md", "text": text})
	got, shown := c.must("document_get", obj{"path": "notes/b.md"})
	if got["text"] != text || !strings.Contains(shown, text) {
		t.Errorf("read back %q", got["text"])
	}
	if l, _ := c.must("document_list", obj{"prefix": "notes/", "limit": 1}); l["next"] != "notes/a.md" {
		t.Errorf("list: %v", l)
	}
	c.must("document_delete", obj{"path": "notes/b.md"})
	if _, msg, failed := c.call("document_get", obj{"path": "notes/b.md"}); !failed || !strings.HasPrefix(msg, "not_found") {
		t.Errorf("after deleting: %q", msg)
	}
}

// TestARunGoesOn where its checkpoint says, and a stale worker's put fails.
func TestARunGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.as("/mcp", w.key("acme", tenet.Agent, "sarah"))
	if _, msg, failed := c.call("resume", obj{"session": "run"}); !failed || !strings.HasPrefix(msg, "not_found") {
		t.Errorf("a run that is not there: %q", msg)
	}
	put := obj{"session": "run", "version": 1, "step": 2, "state": "{}", "done": []obj{{"name": "search", "outcome": obj{"flight": "AC118"}}}}
	c.must("checkpoint_put", put)
	if _, msg, failed := c.call("checkpoint_put", obj{"session": "run", "version": 1, "step": 3}); !failed || !strings.HasPrefix(msg, "conflict") {
		t.Errorf("a second worker: %q", msg)
	}
	out, _ := c.must("resume", obj{"session": "run"})
	data, _ := json.Marshal(out)
	if !strings.Contains(string(data), "AC118") {
		t.Errorf("resumed with %s", data)
	}
	if got, _ := c.must("checkpoint_get", obj{"session": "run"}); len(got["checkpoints"].([]any)) != 1 {
		t.Errorf("checkpoints: %v", got)
	}
}

// TestErrorsRepeatNothing that was sent or kept: a canary in every argument of
// every tool never comes back in an error.
func TestErrorsRepeatNothing(t *testing.T) {
	t.Parallel()
	const canary = "canary-7731"
	w := newWorld(t)
	w.knows("acme", "sarah", "diet", "No shellfish, "+canary+".")
	c := w.as("/mcp", w.key("acme", tenet.App, "sarah"))
	list, err := c.ListTools(t.Context(), nil)
	ok(t, err)
	for _, tool := range list.Tools {
		schema, _ := json.Marshal(tool.InputSchema)
		var s struct{ Properties map[string]any }
		ok(t, json.Unmarshal(schema, &s))
		tries := []any{obj{canary: canary}, []string{canary}, canary}
		for name := range s.Properties {
			tries = append(tries, obj{name: canary}, obj{name: obj{canary: canary}}, obj{name: []any{obj{canary: canary}}}, obj{name: strings.Repeat(canary, 40_000)})
		}
		for _, args := range tries {
			r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool.Name, Arguments: args})
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the protocol error repeats it", tool.Name)
			}
			if err != nil || !r.IsError {
				continue
			}
			if data, _ := json.Marshal(r); strings.Contains(string(data), canary) {
				t.Errorf("%s: %.200s", tool.Name, data)
			}
		}
	}
}
