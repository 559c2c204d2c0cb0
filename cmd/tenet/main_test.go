package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

// TestMain lets the test binary be the program: the demo and the kill tests
// start a second process of themselves.
func TestMain(m *testing.M) {
	switch os.Getenv("TENET_TEST_MAIN") {
	case "":
	case "read":
		os.Exit(readOnly(os.Args[1:]))
	case "go":
		os.Exit(goOnly(os.Args[1:]))
	default:
		os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// shell runs the program's real entry on a store of the test's own.
type shell struct {
	t     *testing.T
	store string
	env   map[string]string
	stdin string
}

func newShell(t *testing.T) *shell {
	return &shell{t: t, store: filepath.Join(t.TempDir(), "tenet.db"), env: map[string]string{}}
}

type result struct {
	code     int
	out, err string
}

func (s *shell) run(args ...string) result {
	s.t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if s.store != "" {
		args = append(args, "--store", s.store)
	}
	code := run(ctx, args, func(k string) string { return s.env[k] }, strings.NewReader(s.stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// ok runs a command that has to succeed.
func (s *shell) ok(args ...string) string {
	s.t.Helper()
	r := s.run(args...)
	if r.code != 0 {
		s.t.Fatalf("tenet %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// into runs a command with --json and decodes its answer.
func (s *shell) into(v any, args ...string) {
	s.t.Helper()
	out := s.ok(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		s.t.Fatalf("tenet %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// fails runs a command that has to fail with a kind, in both forms of output.
func (s *shell) fails(kind tenet.Kind, args ...string) result {
	s.t.Helper()
	var want int
	for _, e := range exits {
		if e.kind == kind {
			want = e.code
		}
	}
	r := s.run(args...)
	if r.code != want || !strings.HasPrefix(r.err, "tenet: ") || !strings.Contains(r.err, ": "+kind.String()) {
		s.t.Errorf("tenet %.200s: exit %d, want %d (%s)\n%s%s", strings.Join(args, " "), r.code, want, kind, r.out, r.err)
	}
	j := s.run(append(args, "--json")...)
	var e struct {
		Error struct {
			Kind, Op, Reason string
			Code             *tenet.Code
		}
	}
	if err := json.Unmarshal([]byte(j.err), &e); err != nil || e.Error.Kind != kind.String() || e.Error.Op == "" || e.Error.Reason == "" || e.Error.Code == nil {
		s.t.Errorf("tenet %.200s --json: %v\n%s", strings.Join(args, " "), err, j.err)
	}
	return r
}

// write puts a file beside the store.
func (s *shell) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(filepath.Dir(s.store), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func TestEveryKindHasItsExitCode(t *testing.T) {
	seen := map[int]tenet.Kind{0: 255}
	for kind := tenet.Kind(0); !strings.HasPrefix(kind.String(), "kind("); kind++ {
		code := exitCode(tenet.Errorf(kind, "test", "x"))
		if other, taken := seen[code]; taken {
			t.Errorf("%s has the exit code %d of %s", kind, code, other)
		}
		seen[code] = kind
		if !strings.Contains(exitHelp(), "  "+kind.String()+": ") {
			t.Errorf("the help does not explain %s", kind)
		}
	}
	if len(seen) != len(exits)+1 {
		t.Errorf("%d kinds, %d lines", len(seen)-1, len(exits))
	}
	if exitCode(nil) != 0 || exitCode(context.Canceled) != 7 || exitCode(os.ErrClosed) != 1 {
		t.Error("nil, a cancelled context or a foreign error")
	}
}

func TestSarahsAllergyIsInTheContextWhateverIsAsked(t *testing.T) {
	s := newShell(t)
	s.ok("session", "append", "chat-1", "I have a severe shellfish allergy, please flag any seafood promotions.", "--role", "user", "--user", "sarah")
	var shown struct{ Messages []tenet.Message }
	s.into(&shown, "session", "show", "chat-1", "--user", "sarah")
	var v tenet.Verdict
	s.into(&v, "remember", "allergy", "Severe shellfish allergy.", "--tier", "fact", "--cite", string(shown.Messages[0].ID), "--user", "sarah")
	if v.Outcome != tenet.Stored || v.Label != tenet.LabelUserStated {
		t.Fatalf("%+v", v)
	}
	s.ok("session", "end", "chat-1", "--user", "sarah")
	for _, ask := range []string{"Show me this week's promotions.", "¿Qué tiempo hace?", "42"} {
		s.ok("session", "append", "chat-2", ask, "--role", "user", "--user", "sarah")
		if out := s.ok("context", "--session", "chat-2", "--user", "sarah"); !strings.Contains(out, "allergy: Severe shellfish allergy.") {
			t.Errorf("%q: %s", ask, out)
		}
	}
	first := s.ok("context", "--session", "chat-2", "--user", "sarah")
	if second := s.ok("context", "--session", "chat-2", "--user", "sarah"); second != first {
		t.Error("the fence of a session differs between two runs of the command")
	}
}

func TestHistoryKeepsWhatWasSupersededEndedAndRetracted(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	fact := func(text, from string) tenet.Verdict {
		var v tenet.Verdict
		s.into(&v, "remember", "home_city", text, "--tier", "fact", "--quote", "I live in Boston. I live in Denver.", "--valid-from", from)
		return v
	}
	fact("I live in Boston.", "2026-01-12")
	if v := fact("I live in Denver.", "2026-03-01"); v.Outcome != tenet.Superseded {
		t.Errorf("%+v", v)
	}
	var facts struct{ Facts []tenet.Record }
	count := func(want int, text string, args ...string) {
		t.Helper()
		s.into(&facts, append([]string{"facts"}, args...)...)
		if len(facts.Facts) != want || want > 0 && facts.Facts[0].Text != text {
			t.Errorf("%v: %+v", args, facts.Facts)
		}
	}
	// A JSON scope cannot be decoded into a Scope, by design: read the rest.
	count(1, "I live in Denver.")
	count(1, "I live in Boston.", "--valid-at", "2026-02-01")
	count(0, "", "--known-at", "2020-01-01")
	s.ok("end", "home_city", "--at", "2026-04-01", "--why", "she moved")
	count(0, "")
	count(1, "I live in Denver.", "--valid-at", "2026-03-15")
	s.fails(tenet.NotFound, "end", "home_city")
	s.fails(tenet.NotFound, "history", "never_heard_of")
	fact("I live in Boston.", "2026-05-01")
	s.ok("retract", "home_city")
	count(0, "", "--valid-at", "2026-05-02")
	if out := s.ok("history", "home_city"); !strings.Contains(out, "retracted") || !strings.Contains(out, "superseded") || !strings.Contains(out, "ended") {
		t.Error(out)
	}
	if out := s.ok("audit", "list"); !strings.Contains(out, "she moved") {
		t.Error(out)
	}
	if out := s.ok("verify", "--all"); !strings.Contains(out, "ok") {
		t.Error(out)
	}
}

func TestAnOperatorReviewsWhatIsHeld(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	s.fails(tenet.Refused, "remember", "city", "Lives in Oslo.", "--tier", "fact", "--quote", "I think they live in Oslo.", "--as", "agent")
	var held struct{ Held []tenet.Held }
	s.into(&held, "audit", "held")
	if len(held.Held) != 2 { // both forms of output were tried
		t.Fatalf("%+v", held)
	}
	one, two := string(held.Held[0].Verdict.Candidate), string(held.Held[1].Verdict.Candidate)
	s.fails(tenet.Denied, "audit", "held", "--as", "app")
	s.ok("audit", "release", one)
	s.fails(tenet.Conflict, "audit", "release", one)
	s.ok("audit", "discard", two, "--why", "a duplicate")
	s.fails(tenet.NotFound, "audit", "discard", "no-such-candidate")
	if out := s.ok("facts"); !strings.Contains(out, "operator") {
		t.Error(out)
	}
	var facts struct{ Facts []struct{ ID string } }
	s.into(&facts, "facts")
	if out := s.ok("audit", "show", facts.Facts[0].ID); !strings.Contains(out, "because") {
		t.Error(out)
	}
}

func TestDurableOffLeavesSessionsOnly(t *testing.T) {
	s := newShell(t)
	s.env["TENET_DURABLE"] = "off"
	s.env["TENET_USER"] = "sarah"
	s.ok("session", "append", "chat", "hello", "--role", "user")
	if out := s.ok("context", "--session", "chat"); !strings.Contains(out, "user: hello") {
		t.Error(out)
	}
	for _, args := range [][]string{
		{"facts"}, {"remember", "k", "t", "--tier", "fact", "--quote", "t"}, {"history", "k"}, {"retract", "k"}, {"end", "k"},
		{"recall", "hello"}, {"consolidate", "chat"}, {"consolidate", "--all"}, {"audit", "list"}, {"verify"}, {"verify", "--all"},
	} {
		s.fails(tenet.Unavailable, args...)
	}
	s.ok("session", "end", "chat")
}

func TestConsolidateTakesADueSessionOrTheOneNamed(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	s.env["TENET_DEBOUNCE"] = "1h"
	s.ok("session", "append", "chat", "The hotel in Lisbon was loud.", "--role", "user")
	if out := s.ok("consolidate", "--all"); !strings.Contains(out, "nothing is due") {
		t.Error(out)
	}
	if out := s.ok("consolidate", "chat"); !strings.Contains(out, "1 records kept") {
		t.Error(out)
	}
	if out := s.ok("recall", "Lisbon", "--explain"); !strings.Contains(out, "own words") {
		t.Error(out)
	}
	s.fails(tenet.Invalid, "consolidate")
	s.fails(tenet.NotFound, "consolidate", "no-such-session")
}

func TestAWordOfMemoryCannotDriveTheTerminal(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	s.stdin = "red \x1b[31m alert\r\nsecond line \u202e"
	s.ok("session", "append", "chat", "-", "--role", "user")
	for _, out := range []string{s.ok("session", "show", "chat"), s.ok("context", "--session", "chat"), s.ok("session", "show", "chat", "--json")} {
		if strings.ContainsAny(out, "\x1b\r\u202e") && !strings.Contains(out, `\u001b`) {
			t.Errorf("%q", out)
		}
	}
}
