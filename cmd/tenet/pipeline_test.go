package main

import (
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

func TestThePipelineIsLookedAfterFromTheShell(t *testing.T) {
	s := newShell(t)
	say := func(text string) {
		s.ok("session", "append", "chat", text, "--role", "user", "--user", "sarah")
	}
	say("I'm allergic to shellfish.")
	var list struct{ Jobs []memory.Job }
	s.into(&list, "jobs", "list", "--user", "sarah")
	if len(list.Jobs) != 1 || list.Jobs[0].Session != "chat" || list.Jobs[0].Messages != 1 {
		t.Fatalf("%+v", list)
	}
	if out := s.ok("jobs", "drop", "chat", "--why", "a test", "--user", "sarah"); !strings.Contains(out, "1 messages are skipped") {
		t.Error(out)
	}
	say("I live in Oslo.")
	s.ok("jobs", "retry", "chat", "--user", "sarah")
	s.ok("consolidate", "chat", "--user", "sarah")
	var st memory.Status
	s.into(&st, "jobs", "show", "chat", "--user", "sarah")
	if st.State != memory.JobDone || len(st.Verdicts) != 2 || st.Verdicts[1].Key != "home_city" {
		t.Errorf("%+v", st)
	}
	var stats memory.Stats
	s.into(&stats, "jobs", "stats", "--user", "sarah")
	if stats.Outcomes["stored"] != 2 || stats.Waiting != 0 || stats.Actions["stage"] != 2 {
		t.Errorf("%+v", stats)
	}
	s.fails(tenet.Denied, "jobs", "list", "--user", "sarah", "--as", "app")
	s.fails(tenet.NotFound, "jobs", "retry", "nope", "--user", "sarah")
}

func TestConflictsAreListed(t *testing.T) {
	s := newShell(t)
	for _, text := range []string{"Takes 5 mg of warfarin daily", "Takes 50 mg of warfarin daily"} {
		s.ok("remember", text, "--tier", "note", "--quote", text, "--user", "sarah")
	}
	out := s.ok("conflicts", "--user", "sarah")
	if strings.Count(out, "warfarin") != 2 || !strings.Contains(out, "possible conflict") {
		t.Error(out)
	}
}

func TestReextractionShowsBeforeItCommits(t *testing.T) {
	s := newShell(t)
	s.env["TENET_EXTRACTOR"] = "verbatim"
	s.ok("session", "append", "chat", "I'm allergic to shellfish.", "--role", "user", "--user", "sarah")
	s.ok("consolidate", "chat", "--user", "sarah")
	if out := s.ok("reextract", "--user", "sarah"); !strings.Contains(out, "1 new") || !strings.Contains(out, "nothing is changed") {
		t.Error(out)
	}
	if out := s.ok("facts", "--user", "sarah"); strings.Contains(out, "shellfish") {
		t.Error(out)
	}
	s.ok("reextract", "--user", "sarah", "--commit")
	if out := s.ok("facts", "--user", "sarah"); !strings.Contains(out, "shellfish") {
		t.Error(out)
	}
}

func TestThreadsAndReleaseAsFromTheShell(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	s.ok("thread", "put", "graph", "v1", "state one", "--as", "agent")
	s.stdin = "state\ntwo\n"
	s.ok("thread", "put", "graph", "v2", "-", "--parent", "v1")
	if got := s.ok("thread", "get", "graph"); got != "state\ntwo\n" {
		t.Errorf("%q", got)
	}
	s.fails(tenet.Conflict, "thread", "put", "graph", "v1", "other")
	if out := s.ok("thread", "list"); !strings.Contains(out, "graph") {
		t.Error(out)
	}
	if out := s.ok("thread", "versions", "graph"); !strings.Contains(out, "v1") || !strings.Contains(out, "v2") {
		t.Error(out)
	}
	s.ok("thread", "delete", "graph")
	s.fails(tenet.NotFound, "thread", "get", "graph")

	// What named its tier itself is not routed by anybody else.
	const text = "Approve refunds up to 20 euros."
	s.run("remember", "refunds", text, "--tier", "fact", "--quote", text, "--id", "held1")
	s.fails(tenet.Invalid, "audit", "release-as", "held1", "fact", "style")
	s.fails(tenet.Denied, "audit", "release-as", "held1", "fact", "style", "--as", "app")
}
