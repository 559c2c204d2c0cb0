package httpapi_test

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// note remembers a note and returns its id.
func (w *world) note(text string) string {
	w.Helper()
	a := w.want(w.as("app").do("POST", "/v1/users/sarah/memories", obj{"tier": "note", "text": text, "quote": text}, w.key()), 201)
	return a.at("verdict.record").(string)
}

// Outcomes are counted once under a key, by those who may say how it went.
func TestOutcomesAreCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path = "/v1/users/sarah/outcomes"
	id := w.note("The zeppelin is blue.")
	good := obj{"records": []string{id}, "success": true}
	for _, who := range []string{"agent", "connector", "admin"} {
		w.want(w.as(who).do("POST", path, good, w.key()), 403)
	}
	w.want(w.as("app").do("POST", path, good), 400) // no Idempotency-Key
	for _, who := range []string{"app", "user", "operator"} {
		key := w.key()
		w.want(w.as(who).do("POST", path, good, key), 204)
		if a := w.want(w.as(who).do("POST", path, good, key), 204); a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("as %s, again: %v", who, a.header)
		}
		w.want(w.as(who).do("POST", path, obj{"records": []string{id}, "success": false}, key), 422)
	}
	w.want(w.as("app").do("POST", path, obj{"records": []string{id}, "success": false}, w.key()), 204)
	w.want(w.as("app").do("POST", path, obj{"records": []string{id, "nobody"}, "success": true}, w.key()), 404)
	w.want(w.as("globex/app").do("POST", path, good, w.key()), 404)
	w.want(w.as("app").do("POST", "/v1/projects/sarah/outcomes", good, w.key()), 404)
	for _, bad := range []obj{{"success": true}, {"records": []string{}, "success": true}, {"records": nil, "success": true}, {"records": []string{id}}, {"records": []string{id}, "success": "yes"}} {
		w.want(w.as("app").do("POST", path, bad, w.key()), 400)
	}
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	ok(t, err)
	now := time.Now()
	uses, err := w.db.Uses(t.Context(), scope, "", 0, 1e6*time.Hour, now)
	ok(t, err)
	if len(uses) != 1 || uses[0].Success < 2.9 || uses[0].Success > 3 || uses[0].Failure < .9 || uses[0].Failure > 1 {
		t.Errorf("%+v", uses)
	}
}

// What is dormant is found when it is asked for, with a session and without.
func TestDormantEntriesAreFoundWhenAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.note("The zeppelin is blue.")
	w.want(w.as("agent").do("POST", "/v1/users/sarah/sessions/chat/recall", obj{"query": "blue zeppelin"}), 200)
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	ok(t, err)
	d, err := newGate(t).Retain(scope, "test", []gate.Rest{{Record: tenet.RecordID(id), Dormant: true}}, "test", time.Now())
	ok(t, err)
	_, err = w.db.Apply(t.Context(), []gate.Decision{d}, nil)
	ok(t, err)
	for path, who := range map[string]string{"/v1/users/sarah/recall": "app", "/v1/users/sarah/sessions/chat/recall": "agent"} {
		if a := w.want(w.as(who).do("POST", path, obj{"query": "what floats"}), 200); a.at("hits.0.id") == id {
			t.Errorf("%s finds it unasked: %v", path, a)
		}
		if a := w.want(w.as(who).do("POST", path, obj{"query": "blue zeppelin", "include_dormant": true}), 200); a.at("hits.0.id") != id || a.at("hits.0.dormant") != true {
			t.Errorf("%s: %v", path, a)
		}
	}
}
