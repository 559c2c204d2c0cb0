package main

import (
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

func TestADayIsReadInTheZoneThatTheSubjectNamed(t *testing.T) {
	for zone, want := range map[string]string{"": "2026-03-10T00:00:00Z", "Pacific/Auckland": "2026-03-09T11:00:00Z", "No/Where": "2026-03-10T00:00:00Z"} {
		s := newShell(t)
		if zone != "" {
			s.ok("remember", "--user", "sarah", "--tier", "fact", "--quote", "My time zone is "+zone, "--valid-from", "2026-01-01", "timezone", zone)
		}
		s.ok("session", "append", "chat", "--user", "sarah", "--role", "user", "--said-at", "2026-03-11T09:00:00Z", "I moved to Oslo yesterday.")
		s.ok("consolidate", "chat", "--user", "sarah")
		var h struct {
			Records []struct {
				Valid struct{ From string } `json:"valid"`
			} `json:"history"`
		}
		s.into(&h, "history", "--user", "sarah", "home_city")
		if len(h.Records) == 0 || h.Records[0].Valid.From != want {
			t.Errorf("zone %q: moved %+v, want from %s", zone, h.Records, want)
		}
	}
}

func TestTheExtractorIsConfigured(t *testing.T) {
	for extractor, facts := range map[string]int{"rules": 1, "verbatim": 0} {
		s := newShell(t)
		s.env = map[string]string{"TENET_EXTRACTOR": extractor}
		s.ok("session", "append", "chat", "--user", "sarah", "--role", "user", "I'm allergic to shellfish.")
		s.ok("consolidate", "chat", "--user", "sarah")
		if got := strings.Count(s.ok("facts", "--user", "sarah"), "shellfish"); (got > 0) != (facts > 0) {
			t.Errorf("%s: %d facts", extractor, got)
		}
	}
	s := newShell(t)
	s.env = map[string]string{"TENET_EXTRACTOR": "guess"}
	if r := s.fails(tenet.Invalid, "config", "check"); !strings.Contains(r.err, "extractor") {
		t.Errorf("an unknown extractor: %s", r.err)
	}
}

// TestAModelThatIsAwayLosesNothing: the session stays due, and says why.
func TestAModelThatIsAwayLosesNothing(t *testing.T) {
	s := newShell(t)
	s.env = map[string]string{"TENET_EXTRACTOR": "openai"}
	s.fails(tenet.Invalid, "config", "check") // no model, no server
	s.env = map[string]string{"TENET_EXTRACTOR": "openai", "TENET_EXTRACTOR_MODEL": "m", "TENET_EXTRACTOR_URL": "http://127.0.0.1:1/v1"}
	s.ok("session", "append", "chat", "--user", "sarah", "--role", "user", "I'm allergic to shellfish.")
	s.fails(tenet.Unavailable, "consolidate", "chat", "--user", "sarah")
	if out := s.ok("jobs", "list", "--user", "sarah"); !strings.Contains(out, "failing") || !strings.Contains(out, "unavailable") {
		t.Error(out)
	}
	s.env = map[string]string{}
	s.ok("consolidate", "chat", "--user", "sarah")
	if out := s.ok("facts", "--user", "sarah"); !strings.Contains(out, "shellfish") {
		t.Error(out)
	}
}
