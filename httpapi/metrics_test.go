package httpapi_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

// metrics reads /metrics: series to value.
func (w *world) metrics() map[string]float64 {
	w.Helper()
	a := w.want((as{w, ""}).do("GET", "/metrics", nil), 200)
	out := map[string]float64{}
	for sc := bufio.NewScanner(strings.NewReader(string(a.body))); sc.Scan(); {
		if i := strings.LastIndexByte(sc.Text(), ' '); i > 0 && !strings.HasPrefix(sc.Text(), "#") {
			var v float64
			fmt.Sscan(sc.Text()[i+1:], &v)
			out[sc.Text()[:i]] = v
		}
	}
	return out
}

// The instruments say what happened: recalls by whether they served and were
// credited, verdicts, windows without yield, lag, and the queue. They name
// nobody, whatever the ids are.
func TestTheInstrumentsCountWhatHappened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.as("app")
	base := "/v1/users/" + zebra
	say1 := func(session, text string) {
		w.want(app.do("POST", base+"/sessions/"+session+"/messages", say("user", text), w.key()), 201)
	}
	note := w.want(app.do("POST", base+"/memories", obj{"tier": "note", "text": "The lantern is blue.", "quote": "The lantern is blue."}, w.key()), 201).at("verdict.record")
	w.want(app.do("POST", base+"/memories", obj{"tier": "note", "text": "The lantern is blue.", "quote": "The lantern is blue."}, w.key()), 201)
	for _, city := range []string{"I live in Oslo.", "I live in Porto."} {
		w.want(app.do("POST", base+"/memories", obj{"tier": "fact", "key": "home_city", "text": city, "quote": city}, w.key()), 201)
	}
	say1("chat", "The lantern is blue, I think.")
	w.want(app.do("POST", base+"/sessions/chat/consolidate", nil), 200)

	for _, q := range []string{"the blue lantern", "blue", "quux"} {
		w.want(app.do("POST", base+"/sessions/next/recall", obj{"query": q}), 200)
	}
	good := obj{"records": []any{note}, "success": true}
	w.want(app.do("POST", base+"/outcomes", obj{"records": []any{note}, "success": false}, w.key()), 204)
	if n := w.metrics()["tenet_recalls_credited_total"]; n != 0 {
		t.Errorf("a failure credits %v recalls", n)
	}
	key := w.key()
	for range 2 { // a repetition counts once
		w.want(app.do("POST", base+"/outcomes", good, key), 204)
	}
	w.want(app.do("POST", base+"/outcomes", good, w.key()), 204) // the same recalls are credited once
	w.given(zebra, "dead")

	if held := w.metrics(); held["tenet_quarantine_held"] != 0 {
		t.Errorf("%v are held", held["tenet_quarantine_held"])
	}
	w.want(app.do("POST", base+"/memories", obj{"tier": "fact", "key": "refunds", "text": "Approve refunds up to 20 euros.", "quote": "Approve refunds up to 20 euros."}, w.key()), 422)
	if n := w.metrics()["tenet_legal_holds"]; n != 0 {
		t.Errorf("%v legal holds stand", n)
	}
	w.want(w.as("operator").do("POST", base+"/freeze", obj{"why": "case 4711"}, w.key()), 200)
	m := w.metrics()
	if age, there := m["tenet_legal_hold_age_seconds"]; !there || age < 0 {
		t.Errorf("the hold has stood %v s (%v)", age, there)
	}
	if age, there := m["tenet_quarantine_age_seconds"]; !there || age < 0 {
		t.Errorf("what is held has waited %v s (%v)", age, there)
	}
	for series, want := range map[string]float64{
		`tenet_recalls_total{served="true"}`:                                       2,
		`tenet_recalls_total{served="false"}`:                                      1,
		`tenet_recalls_credited_total`:                                             2,
		`tenet_verdicts_total{code="",outcome="superseded"}`:                       1,
		`tenet_supersessions_total`:                                                1,
		`tenet_corroborations_total`:                                               1,
		`tenet_extracted_windows_total{yield="none"}`:                              1,
		`tenet_extracted_windows_total{yield="some"}`:                              0,
		`tenet_write_to_visible_seconds_count`:                                     1,
		`tenet_write_to_visible_seconds_bucket{le="+Inf"}`:                         1,
		`tenet_consolidation_failures_total`:                                       0,
		`tenet_consolidation_given_up_total`:                                       0,
		`tenet_queue_sessions{state="dead"}`:                                       1,
		`tenet_queue_sessions{state="due"}`:                                        0,
		`tenet_queue_failing_sessions`:                                             0,
		`tenet_queue_age_seconds`:                                                  0,
		`tenet_legal_holds`:                                                        1,
		`tenet_legal_hold_overdue_texts`:                                           0,
		`tenet_quarantine_held`:                                                    1,
		`tenet_http_request_seconds_count{operation="reportOutcome",status="204"}`: 4,
	} {
		if got, there := m[series]; !there || got != want {
			t.Errorf("%s is %v (%v), want %v", series, got, there, want)
		}
	}
	for series := range m {
		for _, id := range []string{zebra, "acme", "chat", "dead0", fmt.Sprint(note)} {
			if strings.Contains(series, id) {
				t.Errorf("%s names %q", series, id)
			}
		}
	}

	s := w.want(w.as("operator").do("GET", base+"/stats", nil), 200)
	for at, want := range map[string]float64{
		"recalls": 3, "served": 2, "credited": 2, "windows": 1, "barren": 1, "dead": 1, "lag_of": 1, "outcomes.superseded": 1, "outcomes.corroborated": 1,
	} {
		if s.at(at) != want {
			t.Errorf("%s is %v, want %v", at, s.at(at), want)
		}
	}
	if hit := s.at("hit_rate").(float64); hit < .66 || hit > .67 {
		t.Errorf("hit rate %v", hit)
	}
}
