package httpapi_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
)

// given makes a session whose consolidation was given up.
func (w *world) given(user, session string) {
	w.Helper()
	w.want(w.as("app").do("POST", "/v1/users/"+user+"/sessions/"+session+"/messages", say("user", "My zeppelin is blue."), w.key()), 201)
	scope, err := tenet.NewScope("acme", tenet.User(user))
	ok(w.TB, err)
	now := time.Now()
	l, err := w.db.Lease(w.Context(), store.LeaseRequest{Worker: "w", Now: now, Until: now.Add(time.Minute), Scope: scope, Only: tenet.SessionID(session)})
	ok(w.TB, err)
	ok(w.TB, w.db.Ack(w.Context(), *l, store.Ack{Code: "unavailable", Park: true, Now: now}))
}

// A dead session is listed, retried and dropped over HTTP, by an operator.
func TestDeadSessionsAreLookedAfterOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.as("operator")
	for i := range 3 {
		w.given("sarah", fmt.Sprint("dead", i))
	}
	seen := map[string]bool{}
	for next, n := "", 0; n < 10; n++ {
		p := w.want(op.do("GET", "/v1/jobs?limit=2&cursor="+next, nil), 200)
		for i := range p.at("items").([]any) {
			at := func(name string) any { return p.at(fmt.Sprintf("items.%d.%s", i, name)) }
			if at("state") != "dead" || at("code") != "unavailable" || at("scope.subject") != "user:sarah" {
				t.Errorf("%v", p)
			}
			seen[at("session").(string)] = true
		}
		var more bool
		if next, more = p.at("next").(string); !more {
			break
		}
	}
	if len(seen) != 3 {
		t.Errorf("listed %v", seen)
	}
	base := "/v1/users/sarah"
	w.want(op.do("POST", base+"/jobs/dead0/retry", nil), 204)
	w.want(w.as("app").do("POST", base+"/sessions/dead0/consolidate", nil), 200)
	if s := w.want(op.do("GET", base+"/sessions/dead0/status", nil), 200); s.at("state") != "done" || s.at("verdicts.0.outcome") != "stored" {
		t.Errorf("after the retry: %v", s)
	}
	w.want(op.do("POST", base+"/jobs/dead1/drop", obj{}), 400)
	w.want(op.do("POST", base+"/jobs/dead1/drop", obj{"why": ""}), 400)
	if d := w.want(op.do("POST", base+"/jobs/dead1/drop", obj{"why": "a test"}), 200); d.at("skipped") != 1.0 {
		t.Errorf("%v", d)
	}
	w.want(op.do("POST", base+"/jobs/nobody/retry", nil), 404)
	w.want(op.do("POST", base+"/jobs/nobody/drop", obj{"why": "x"}), 404)
	if a := w.want(w.as("globex/operator").do("GET", "/v1/jobs", nil), 200); len(a.at("items").([]any)) != 0 {
		t.Errorf("another tenant's jobs: %v", a)
	}
	s := w.want(op.do("GET", base+"/stats", nil), 200)
	if s.at("dead") != 1.0 || s.at("actions.stage") != 2.0 || s.at("outcomes.stored") != 1.0 {
		t.Errorf("%v", s)
	}
}

func TestConflictsAndReextractionOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op, base := w.as("operator"), "/v1/users/sarah"
	if a := w.want(op.do("GET", base+"/conflicts", nil), 200); len(a.at("clusters").([]any)) != 0 {
		t.Errorf("%v", a)
	}
	w.note("Takes 5 mg of warfarin daily")
	w.note("Takes 50 mg of warfarin daily")
	if a := w.want(op.do("GET", base+"/conflicts", nil), 200); a.at("clusters.0.conflicts.0.1") == nil {
		t.Errorf("%v", a)
	}
	for _, bad := range []any{obj{}, obj{"extractor": "mine"}, obj{"extractor": "rules", "since": "yesterday"}} {
		w.want(op.do("POST", base+"/reextract", bad), 400)
	}
	if a := w.want(op.do("POST", base+"/reextract", obj{"extractor": "verbatim", "commit": true}), 200); a.at("committed") != true {
		t.Errorf("%v", a)
	}
}

// unsure names no tier for what it proposes.
type unsure struct{}

func (unsure) Name() string { return "unsure/1" }

func (unsure) Extract(_ context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	var out []tenet.Candidate
	for _, m := range st.Messages {
		out = append(out, tenet.Candidate{Text: m.Text, Cites: []tenet.MessageID{m.ID}, Route: "unsure: a hobby or a trade"})
	}
	return out, nil
}

// A candidate that no extractor could route is admitted where the operator says.
func TestAnOperatorRoutesWhatIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op, base := w.as("operator"), "/v1/users/sarah"
	w.want(w.as("app").do("POST", base+"/sessions/chat/messages", say("user", "I keep bees."), w.key()), 201)
	other, err := memory.Open(t.Context(), memory.Config{Ledger: w.db, Sessions: w.db, Gate: newGate(t), Extractor: unsure{}})
	ok(t, err)
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	ok(t, err)
	app, err := tenet.NewPrincipal(tenet.App, "acme", "app")
	ok(t, err)
	r, err := other.Consolidate(t.Context(), app, scope, "chat")
	ok(t, err)
	path := base + "/quarantine/" + string(r.Verdicts[0].Candidate) + "/release-as"
	as := obj{"tier": "fact", "key": "occupation"}
	for _, kind := range kinds {
		if kind != tenet.Operator {
			w.want(w.as(kind.String()).do("POST", path, as), 403)
		}
	}
	for _, bad := range []any{obj{"tier": "episode"}, obj{"key": "occupation"}, obj{"tier": "fact", "key": "two words"}, obj{"tier": "fact"}} {
		if a := op.do("POST", path, bad); a.status != 400 && a.status != 422 {
			t.Errorf("%v: %v", bad, a)
		}
	}
	w.want(w.as("globex/operator").do("POST", path, as), 404)
	if v := w.want(op.do("POST", path, as), 200); v.at("verdict.key") != "occupation" || v.at("verdict.label") != "operator" {
		t.Errorf("%v", v)
	}
	w.want(op.do("POST", path, as), 409)
	if f := w.want(op.do("GET", base+"/facts/occupation", nil), 200); f.at("values.0.text") != "I keep bees." {
		t.Errorf("%v", f)
	}
}
