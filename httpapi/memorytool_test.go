package httpapi_test

import "testing"

// TestTheMemoryToolOverHTTP: a command as a model writes it, its errors as
// answers, its precondition as a conflict; the key's tenant is the only one.
func TestTheMemoryToolOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path = "/v1/users/sarah/memory-tool"
	agent := w.as("agent")
	made := w.want(agent.do("POST", path, obj{"command": "create", "path": "/memories/a", "file_text": "one"}), 200)
	if made.at("content") != "File created successfully at: /memories/a" || made.at("is_error") != false {
		t.Errorf("%v", made)
	}
	again := w.want(agent.do("POST", path+"?dialect=py", obj{"command": "create", "path": "/memories/a", "file_text": "one"}), 200)
	if again.at("content") != "File /memories/a already exists" || again.at("is_error") != true {
		t.Errorf("%v", again)
	}
	edit := obj{"command": "str_replace", "path": "/memories/a", "old_str": "one", "new_str": "two", "content_sha256": made.at("content_sha256")}
	w.want(agent.do("POST", path, edit), 200)
	w.want(agent.do("POST", path, edit), 409)
	if d := w.want(agent.do("GET", "/v1/users/sarah/documents/memories%2Fa", nil), 200); d.at("text") != "two" || d.at("label") != "agent_inferred" {
		t.Errorf("as a document: %v", d)
	}
	w.want(agent.do("POST", path, obj{"command": "format"}), 400)
	w.want(agent.do("POST", path, obj{"command": "view", "path": "/memories", "tenant": "globex"}), 400)
	w.want(w.as("admin").do("POST", path, obj{"command": "view", "path": "/memories"}), 403)
	if r := w.want(w.as("globex/agent").do("POST", path, obj{"command": "view", "path": "/memories/a"}), 200); r.at("is_error") != true {
		t.Errorf("another tenant sees it: %v", r)
	}
}
