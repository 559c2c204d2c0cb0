package httpapi_test

import (
	"context"
	"net/url"
	"testing"
	"time"
)

// TestWhatWasAcceptedHasAStatus: each 202 can be followed to its verdict.
func TestWhatWasAcceptedHasAStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.as("agent")
	const chat = "/v1/users/sarah/sessions/chat"
	w.want(w.as("app").do("POST", chat+"/messages", say("user", "I like tea."), w.key()), 201)
	accepted := w.want(agent.do("POST", chat+"/proposals", obj{"tier": "note", "text": "likes tea", "quote": "likes tea"}, w.key()), 202)
	id := accepted.at("id").(string)
	if a := w.want(agent.do("GET", chat+"/proposals/"+id, nil), 202); a.at("state") != "waiting" && a.at("state") != "due" || a.at("id") != id {
		t.Errorf("while it waits: %v", a)
	}
	w.want(agent.do("GET", "/v1/users/sarah/sessions/nope/proposals/"+id, nil), 404)
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
	w.want(agent.do("GET", chat+"/proposals/nobody", nil), 404)
	w.want(agent.do("GET", "/v1/users/sarah/sessions/nope/status", nil), 404)
}

// TestALocationLeadsToTheEnd: what an end that does not wait came to is found
// from its answer, a verdict for each item.
func TestALocationLeadsToTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.as("app")
	const chat = "/v1/users/sarah/sessions/chat"
	w.want(app.do("POST", chat+"/messages", say("user", "I like tea."), w.key()), 201)
	follow := func(from string, a answer) string {
		t.Helper()
		base, err := url.Parse(w.url + from)
		ok(t, err)
		at, err := base.Parse(a.header.Get("Location"))
		ok(t, err)
		return at.EscapedPath()
	}
	proposal := follow(chat+"/proposals", w.want(app.do("POST", chat+"/proposals", obj{"tier": "note", "text": "likes tea", "quote": "likes tea", "id": "my own %/id"[:8]}, w.key()), 202))
	end := w.want(app.do("POST", chat+"/end", nil), 202)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.mem.Run(ctx, 10*time.Millisecond) }()
	defer func() { stop(); <-done }()
	var s answer
	for range 200 {
		if s = w.want(app.do("GET", follow(chat+"/end", end), nil), 200); s.at("state") == "done" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if s.at("state") != "done" || s.at("staged") != 0.0 || len(s.at("verdicts").([]any)) != 1 {
		t.Errorf("the end: %v", s)
	}
	if v := w.want(app.do("GET", proposal, nil), 200); v.at("outcome") == nil {
		t.Errorf("the proposal: %v", v)
	}
}
