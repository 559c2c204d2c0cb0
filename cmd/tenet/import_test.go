package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// imported is what --json prints.
type imported struct {
	counts
	Failures []failed
}

// talk writes n sessions of 20 messages of a user.
func talk(n int) string {
	var b strings.Builder
	for s := range n {
		for m := range 20 {
			role := []string{"user", "assistant"}[m%2]
			fmt.Fprintf(&b, `{"session":"chat-%d","user":"sarah","role":%q,"text":"Remark %d about the topic number %d.","time":"2026-01-%02dT09:00:%02dZ"}`+"\n",
				s, role, m, s, 1+s%28, m)
		}
	}
	return b.String()
}

func TestImportingTwiceIsTheSameAsOnce(t *testing.T) {
	s := newShell(t)
	file := s.write("talk.jsonl", talk(5))
	var first, second imported
	s.into(&first, "import", file)
	if first.Conversations != 5 || first.Added != 100 || first.Kept != 100 || first.Failed != 0 {
		t.Errorf("%+v", first)
	}
	before := s.state()
	s.into(&second, "import", file)
	if second.Conversations != 5 || second.Unchanged != 5 || second.Added != 0 || second.Kept != 0 {
		t.Errorf("%+v", second)
	}
	if after := s.state(); after != before {
		t.Errorf("the second import wrote:\n%s\n%s", before, after)
	}
	if out := s.ok("verify", "--all"); strings.Contains(out, "DAMAGED") {
		t.Error(out)
	}
}

func TestAFileThatGrewAddsWhatIsNew(t *testing.T) {
	s := newShell(t)
	text := talk(2)
	half := strings.LastIndex(text[:len(text)*3/4], "\n") + 1
	s.ok("import", s.write("talk.jsonl", text[:half]))
	var r imported
	s.into(&r, "import", s.write("talk.jsonl", text))
	if r.Unchanged != 1 || r.Added == 0 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	for _, session := range []string{"chat-0", "chat-1"} {
		var shown struct{ Messages []tenet.Message }
		s.into(&shown, "session", "show", session, "--user", "sarah")
		if len(shown.Messages) != 20 || shown.Messages[19].Text[:9] != "Remark 19" {
			t.Errorf("%s: %d messages", session, len(shown.Messages))
		}
	}
}

func TestAnEndedSessionThatHasEverythingIsNoErrorAndOneThatLacksSomethingIs(t *testing.T) {
	s := newShell(t)
	file := s.write("talk.jsonl", talk(1))
	s.ok("import", file, "--end")
	var r imported
	s.into(&r, "import", file, "--end")
	if r.Unchanged != 1 {
		t.Errorf("%+v", r)
	}
	more := talk(1) + `{"session":"chat-0","user":"sarah","role":"user","text":"late"}` + "\n"
	s.fails(tenet.Conflict, "import", s.write("more.jsonl", more))
	changed := strings.Replace(talk(1), "Remark 3 ", "Remark 3b ", 1)
	s.fails(tenet.Conflict, "import", s.write("changed.jsonl", changed))
}

func TestOneBadConversationIsReportedAndTheRestKept(t *testing.T) {
	s := newShell(t)
	const secret = "a remark that no report may quote"
	text := talk(2) + `{"session":"bad","user":"sarah","role":"user","text":"fine"}
{"session":"bad","user":"sarah","role":"wizard","text":"` + secret + `"}
` + `{"session":"surrogate","user":"sarah","role":"user","text":"` + secret + `\ud800"}
{"session":"utf8","user":"sarah","role":"user","text":"` + secret + "\xff" + `"}
`
	file := s.write("talk.jsonl", text)
	r := s.fails(tenet.Invalid, "import", file)
	if strings.Contains(r.out+r.err, secret) || !strings.Contains(r.out, "session bad, offset ") {
		t.Error(r.out, r.err)
	}
	j := s.run("import", file, "--json")
	var got imported
	if err := json.Unmarshal([]byte(j.out), &got); err != nil || j.code != 2 {
		t.Fatal(err, j)
	}
	if got.Conversations != 2 || got.Failed != 3 || len(got.Failures) != 3 {
		t.Errorf("%+v", got)
	}
	if f := got.Failures[0]; f.Session != "bad" || f.Offset != int64(strings.Index(text, `{"session":"bad","user":"sarah","role":"wizard"`)) {
		t.Errorf("%+v", f)
	}
	s.fails(tenet.NotFound, "session", "show", "bad", "--user", "sarah")
}

func TestRolesAndLabelsOfAnImport(t *testing.T) {
	s := newShell(t)
	s.ok("import", s.write("talk.jsonl", `{"session":"c","user":"sarah","role":"user","text":"I am called Sarah."}
{"session":"c","user":"sarah","role":"assistant","text":"","tool_calls":["t"]}
{"session":"c","user":"sarah","role":"tool","tool_call_id":"t","text":"The tool knows Sarah too."}
{"session":"c","user":"sarah","role":"assistant","text":"Hello Sarah.","time":"2026-01-12T09:00:00Z"}
{"session":"c","user":"sarah","role":"system","text":"Sarah is a customer."}
`))
	var found struct {
		Hits []struct {
			Text, Tier, Label, Lane string
			Valid                   struct{ From time.Time }
		}
	}
	s.into(&found, "recall", "Sarah", "--user", "sarah")
	got := map[string]string{}
	for _, r := range found.Hits {
		got[r.Text] = r.Tier + " " + r.Label + " " + r.Lane
		if r.Text == "Hello Sarah." && !r.Valid.From.Equal(time.Date(2026, 1, 12, 9, 0, 0, 0, time.UTC)) {
			t.Errorf("published time is not valid time: %v", r.Valid)
		}
	}
	if len(got) != 2 || got["I am called Sarah."] != "episode user_stated trusted" || got["Hello Sarah."] != "episode agent_inferred inferred" {
		t.Error(got)
	}
}

func TestAnImportIsHeldToTheMemoryThatTheCommandNames(t *testing.T) {
	s := newShell(t)
	file := s.write("talk.jsonl", talk(1)+`{"session":"c","role":"user","text":"whose?"}`+"\n")
	s.fails(tenet.Invalid, "import", file) // nobody's conversation
	s.fails(tenet.Denied, "import", file, "--user", "tom")
	var shown struct{ Messages []tenet.Message }
	s.into(&shown, "session", "show", "c", "--user", "tom")
	if len(shown.Messages) != 1 {
		t.Error(shown)
	}
	s.fails(tenet.NotFound, "session", "show", "chat-0", "--user", "tom")
	s.fails(tenet.NotFound, "import", "no-such-file.jsonl")
	s.fails(tenet.Invalid, "import", file, "--participants", "assistant=user")
	s.fails(tenet.Invalid, "import", file, "--format", "xml")
	s.fails(tenet.Invalid, "import", s.write("empty.jsonl", ""))
	s.fails(tenet.Invalid, "import", t.TempDir())
}

func TestStandardInputIsImportedToo(t *testing.T) {
	s := newShell(t)
	s.stdin = `[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"}]`
	s.ok("import", "-", "--user", "sarah")
	if out := s.ok("session", "show", "stdin", "--user", "sarah"); !strings.Contains(out, "hello") {
		t.Error(out)
	}
}

// everything is all that a user's memory holds, in a form that two databases
// can be compared by.
func everything(t *testing.T, path, user string, sessions int) string {
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	scope, err := tenet.NewScope("default", tenet.User(user))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for s := range sessions {
		ms, err := db.Messages(ctx, scope, tenet.SessionID(fmt.Sprintf("chat-%d", s)), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			fmt.Fprintln(&b, m.Session, m.Seq, m.ClientID, m.Role, m.Label, m.Text, m.SaidAt)
		}
	}
	ch, err := db.Changes(ctx, scope, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, r := range ch.Added {
		lines[fmt.Sprintln(r.Session, r.Position, r.Label, r.Text, r.Valid.From)]++
	}
	for line, n := range lines {
		if n != 1 {
			t.Errorf("%d times: %s", n, line)
		}
	}
	fmt.Fprintln(&b, len(ch.Added), len(lines))
	if v, err := db.Verify(ctx, scope); err != nil || !v.OK() {
		t.Errorf("verify: %v %+v", err, v)
	}
	return b.String()
}

func TestAnImportThatIsKilledInTheMiddleEndsLikeOneThatIsNot(t *testing.T) {
	if testing.Short() {
		t.Skip("a long one")
	}
	const sessions = 40
	whole, killed := newShell(t), newShell(t)
	// A killed worker's lease has to run out before another may go on.
	killed.env["TENET_LEASE"] = "1s"
	t.Setenv("TENET_LEASE", "1s")
	whole.ok("import", whole.write("talk.jsonl", talk(sessions)))
	want := everything(t, whole.store, "sarah", sessions)

	file := killed.write("talk.jsonl", talk(sessions))
	kills := 0
	for wait := 20 * time.Millisecond; kills < 8; wait += 25 * time.Millisecond {
		cmd := exec.Command(os.Args[0], "import", file, "--store", killed.store)
		cmd.Env = append(os.Environ(), "TENET_TEST_MAIN=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(wait, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			break // it was faster
		}
		kills++
	}
	t.Logf("killed %d times", kills)
	killed.ok("import", file)
	if got := everything(t, killed.store, "sarah", sessions); got != want {
		t.Errorf("the end differs: %d and %d bytes", len(got), len(want))
	}
}
