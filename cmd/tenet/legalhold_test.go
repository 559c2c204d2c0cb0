package main

import (
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

func TestALegalHoldIsPlacedSeenAndLifted(t *testing.T) {
	s := newShell(t)
	s.ok("remember", "--tier", "fact", "drink", "likes tea", "--quote", "likes tea", "--user", "sarah")
	s.fails(tenet.Denied, "legal-hold", "place", "--why", "case 4711", "--user", "sarah", "--as", "app")
	s.fails(tenet.Conflict, "legal-hold", "lift", "--why", "none", "--user", "sarah")
	if out := s.ok("legal-hold", "place", "--why", "case 4711", "--user", "sarah"); !strings.Contains(out, "under a legal hold since entry 2") {
		t.Errorf("place says %q", out)
	}
	for _, args := range [][]string{{"erase", "subject", "--user", "sarah", "--dry-run"}, {"erase", "subject", "--user", "sarah"}, {"erase", "key", "drink", "--user", "sarah"}, {"erase", "tenant"}} {
		if r := s.fails(tenet.Conflict, args...); !strings.Contains(r.out+r.err, "legal hold") {
			t.Errorf("%v says %q %q", args, r.out, r.err)
		}
	}
	if out := s.ok("legal-hold", "list"); !strings.Contains(out, "user/sarah") && !strings.Contains(out, "user:sarah") || !strings.Contains(out, "case 4711") {
		t.Errorf("the list says %q", out)
	}
	if out := s.ok("facts", "--user", "sarah"); !strings.Contains(out, "tea") {
		t.Errorf("under a hold the facts are %q", out)
	}
	if out := s.ok("doctor"); !strings.Contains(out, "1, the oldest for 0 days; 0 texts past their time stay") {
		t.Errorf("doctor says %q", out)
	}
	s.ok("verify", "--user", "sarah")
	s.ok("legal-hold", "lift", "--why", "settled", "--user", "sarah")
	if out := s.ok("audit", "list", "--user", "sarah"); !strings.Contains(out, "freeze") || !strings.Contains(out, "thaw") {
		t.Errorf("the chain says %q", out)
	}
	s.ok("erase", "subject", "--user", "sarah")
	if out := s.ok("legal-hold", "list"); strings.Contains(out, "sarah") {
		t.Errorf("after it was lifted the list says %q", out)
	}
}
