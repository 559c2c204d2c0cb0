package httpapi_test

import "testing"

// TestWhatWasAcceptedHasAStatus: each 202 can be followed to its verdict.
func TestWhatWasAcceptedHasAStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.as("agent")
	const chat = "/v1/users/sarah/sessions/chat"
	w.want(w.as("app").do("POST", chat+"/messages", say("user", "I like tea."), w.key()), 201)
	accepted := w.want(agent.do("POST", chat+"/proposals", obj{"tier": "note", "text": "likes tea", "quote": "likes tea"}, w.key()), 202)
	id := accepted.at("id").(string)
	w.want(agent.do("GET", chat+"/proposals/"+id, nil), 404)
	if s := w.want(agent.do("GET", chat+"/status", nil), 200); s.at("state") == "done" || s.at("messages") != 1.0 {
		t.Errorf("before: %v", s)
	}
	w.want(w.as("app").do("POST", chat+"/end?wait=true", nil), 200)
	s := w.want(agent.do("GET", chat+"/status?limit=1", nil), 200)
	if s.at("state") != "done" || s.at("staged") != 0.0 || s.at("next") == nil {
		t.Errorf("after: %v", s)
	}
	more := w.want(agent.do("GET", chat+"/status?after="+s.at("next").(string), nil), 200)
	if n := len(more.at("verdicts").([]any)); n != 1 {
		t.Errorf("%d verdicts on the second page: %v", n, more)
	}
	if v := w.want(agent.do("GET", chat+"/proposals/"+id, nil), 200); v.at("outcome") == nil || v.at("candidate") != id {
		t.Errorf("the verdict: %v", v)
	}
	w.want(agent.do("GET", "/v1/users/sarah/sessions/nope/status", nil), 404)
}
