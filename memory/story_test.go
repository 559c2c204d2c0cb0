package memory_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

var update = flag.Bool("update", false, "rewrite the stories' expected output; review the diff")

// TestStories runs each file under testdata on each backend. A story is lines
// of commands ("> remember ...") followed by what they print; the output is the
// same on every backend, ranking included.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		for _, b := range combinations() {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				got := newStory(t, b).run(string(want))
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("the story went otherwise (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// story is one run of a file: an engine over fresh stores and a clock that
// moves a second per command.
type story struct {
	t     *testing.T
	b     backend
	st    stores
	mem   *memory.Memory
	by    tenet.Principal
	now   time.Time
	held  []tenet.Held
	last  tenet.MessageID
	out   bytes.Buffer
	ids   map[string]string
	setup func(*memory.Config)
}

func newStory(t *testing.T, b backend) *story {
	s := &story{t: t, b: b, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), ids: map[string]string{}}
	s.st = b.open(t)
	s.open()
	s.by = principal(t, tenet.App, "shop")
	return s
}

func (s *story) open() {
	cfg := memory.Config{
		Ledger: s.st.ledger, Sessions: s.st.sessions, Gate: newGate(), Secret: []byte("a secret of the tests"),
		Now: func() time.Time { return s.now },
	}
	if s.setup != nil {
		s.setup(&cfg)
	}
	mem, err := memory.Open(context.Background(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mem = mem
}

func (s *story) run(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			fmt.Fprintln(&s.out, line)
			s.now = s.now.Add(time.Second)
			s.command(splitWords(line[2:]))
		case strings.HasPrefix(line, "#") || line == "":
			fmt.Fprintln(&s.out, line)
		}
	}
	return s.mask(s.out.String())
}

// command runs one command and prints its outcome, an error's kind included.
func (s *story) command(words []string) {
	args, opt := options(words[1:])
	if err := s.do(words[0], args, opt); err != nil {
		var e *tenet.Error
		if !errors.As(err, &e) {
			s.t.Errorf("%v: not a tenet.Error: %v", words, err)
			return
		}
		s.printf("! %s: %s", e.Kind, e.Reason)
	}
}

func (s *story) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func (s *story) do(cmd string, a []string, opt map[string]string) error {
	ctx := context.Background()
	switch cmd {
	case "as":
		kinds := map[string]tenet.PrincipalKind{"agent": tenet.Agent, "app": tenet.App, "user": tenet.EndUser, "connector": tenet.Connector, "operator": tenet.Operator}
		s.by = principal(s.t, kinds[a[0]], a[1])
		if keys := opt["owns"]; keys != "" {
			s.by = s.by.Owning(strings.Split(keys, ",")...)
		}
		return nil
	case "clock":
		if d, err := time.ParseDuration(a[0]); err == nil {
			s.now = s.now.Add(d)
			return nil
		}
		s.now = when(s.t, a[0])
		return nil
	case "restart":
		s.open()
		return nil
	case "say":
		sess, err := s.session(a[0], a[1])
		if err != nil {
			return err
		}
		role, err := tenet.ParseRole(a[2])
		if err != nil {
			return err
		}
		m := tenet.Message{Role: role, Text: a[3], Channel: tenet.Channel(opt["channel"]), ToolCallID: opt["call"], ClientID: opt["client"], RetainNone: opt["retain"] == "none"}
		if c := opt["calls"]; c != "" {
			m.ToolCalls = strings.Split(c, ",")
		}
		if at := opt["at"]; at != "" {
			m.SaidAt = when(s.t, at)
		}
		kept, err := sess.Append(ctx, m)
		if err == nil {
			s.last = kept[0].ID
			s.printf("%d %s", kept[0].Seq, kept[0].Label)
		}
		return err
	case "remember", "propose":
		c := tenet.Candidate{Scope: scope(s.t, a[0])}
		rest := a[1:]
		if cmd == "propose" {
			rest = a[2:]
		}
		if rest[0] != "none" {
			if err := c.Tier.UnmarshalText([]byte(rest[0])); err != nil {
				return err
			}
		}
		c.Key, c.Text = rest[1], rest[2]
		c.Quote, c.ID = opt["quote"], tenet.CandidateID(opt["id"])
		c.Multi, c.Safety = opt["multi"] != "", opt["safety"] != ""
		c.IfVersion = tenet.RecordID(opt["if"])
		if v := opt["value"]; v != "" {
			c.Value = []byte(v)
		}
		if opt["cite"] == "last" {
			c.Cites = []tenet.MessageID{s.last}
		} else if id := opt["cite"]; id != "" {
			c.Cites = []tenet.MessageID{tenet.MessageID(id)}
		}
		if f := opt["from"]; f != "" {
			c.Valid.From = when(s.t, f)
		}
		if to := opt["to"]; to != "" {
			c.Valid.To = when(s.t, to)
		}
		if cmd == "propose" {
			sess, err := s.session(a[0], a[1])
			if err != nil {
				return err
			}
			_, err = sess.Propose(ctx, c)
			return err
		}
		v, err := s.mem.Remember(ctx, s.by, c)
		if v.Outcome != 0 {
			s.verdict(v)
		}
		return err
	case "facts":
		at := tenet.AsOf{}
		if v := opt["valid"]; v != "" {
			at.Valid = when(s.t, v)
		}
		if k := opt["known"]; k != "" {
			at.Known = when(s.t, k)
		}
		var scopes []tenet.Scope
		for _, x := range a {
			scopes = append(scopes, scope(s.t, x))
		}
		facts, err := s.mem.Facts(ctx, s.by, at, scopes...)
		for _, f := range facts {
			shadow := ""
			if f.ShadowedBy != "" {
				shadow = " shadowed"
			}
			s.printf("%s = %s [%s %s %s]%s", f.Key, f.Text, f.Label, f.Confirmation, span(f.Valid), shadow)
		}
		return err
	case "history":
		rs, err := s.mem.History(ctx, s.by, scope(s.t, a[0]), a[1])
		for _, r := range rs {
			s.printf("%s valid %s known %s %s", r.Text, span(r.Valid), span(r.Known), r.Closed)
		}
		return err
	case "end", "retract":
		c := memory.Change{Scope: scope(s.t, a[0]), Key: a[1], Why: opt["why"]}
		if to := opt["to"]; to != "" {
			c.To = when(s.t, to)
		}
		if cmd == "end" {
			return s.mem.End(ctx, s.by, c)
		}
		return s.mem.Retract(ctx, s.by, c)
	case "finish":
		sess, err := s.session(a[0], a[1])
		if err != nil {
			return err
		}
		r, err := sess.End(ctx)
		for _, v := range r.Verdicts {
			s.verdict(v)
		}
		return err
	case "consolidate":
		for {
			r, more, err := s.mem.ConsolidateOnce(ctx)
			if err != nil || !more {
				return err
			}
			s.printf("%s %s: %d messages", r.Scope.Subject(), r.Session, r.Messages)
			for _, v := range r.Verdicts {
				s.verdict(v)
			}
		}
	case "context":
		sess, err := s.session(a[0], a[1])
		if err != nil {
			return err
		}
		b := memory.Budget{}
		if n := opt["tokens"]; n != "" {
			b.Tokens, _ = strconv.Atoi(n)
		}
		w, err := sess.Context(ctx, opt["query"], b)
		if err != nil {
			return err
		}
		for line := range strings.Lines(w.System) {
			s.printf("| %s", strings.TrimRight(line, "\n"))
		}
		for _, m := range w.Messages {
			s.printf("%s: %s", m.Role, m.Text)
		}
		s.printf("omitted %+v", w.Omitted)
		return nil
	case "recall":
		found, err := s.mem.Recall(ctx, s.by, a[1], memory.RecallOptions{K: 5}, scope(s.t, a[0]))
		for _, h := range found.Hits {
			s.printf("%s [%s %s %s]", h.Text, h.Tier, h.Label, h.Lane)
		}
		return err
	case "sweep":
		sw, err := s.mem.Sweep(ctx)
		s.printf("messages %d texts %d", sw.Messages, sw.Texts)
		return err
	}
	return s.review(cmd, a, opt)
}

// review are the operator's commands.
func (s *story) review(cmd string, a []string, opt map[string]string) error {
	ctx := context.Background()
	op, err := s.mem.Operator(s.by, scope(s.t, a[0]))
	if err != nil {
		return err
	}
	switch cmd {
	case "held":
		s.held, err = op.Held(ctx, "", 50)
		for i, h := range s.held {
			s.printf("%d %s %s by %s: %s %v", i, h.State, h.Verdict.Outcome, h.By, h.Candidate.Text, h.Verdict.Codes)
		}
		return err
	case "release", "discard":
		n, err := strconv.Atoi(a[1])
		if err != nil || n >= len(s.held) {
			s.t.Fatalf("no held %s", a[1])
		}
		id := s.held[n].Verdict.Candidate
		if cmd == "discard" {
			return op.Discard(ctx, id, opt["why"])
		}
		v, err := op.Release(ctx, id)
		if err == nil {
			s.verdict(v)
		}
		return err
	case "audit":
		es, err := op.Audit(ctx, 1, 100)
		for _, e := range es {
			outcome := ""
			if e.Outcome != 0 {
				outcome = " " + e.Outcome.String()
			}
			s.printf("%d %s%s %v by %s", e.Seq, e.Action, outcome, e.Codes, e.Actor)
		}
		return err
	case "verify":
		v, err := op.Verify(ctx)
		s.printf("%d entries, %d records, ok %v %s", v.Entries, v.Records, v.OK(), v.Why)
		return err
	}
	s.t.Fatalf("unknown command %q", cmd)
	return nil
}

func (s *story) verdict(v tenet.Verdict) {
	s.printf("%s %s %s %s %v", v.Outcome, v.Tier, v.Key, v.Label, v.Codes)
}

func (s *story) session(subject, id string) (*memory.Session, error) {
	return s.mem.Session(context.Background(), s.by, scope(s.t, subject), tenet.SessionID(id))
}

var idShape = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{24,32}(-\d{4})?`)

// mask numbers random ids in order of appearance.
func (s *story) mask(text string) string {
	return idShape.ReplaceAllStringFunc(text, func(id string) string {
		if s.ids[id] == "" {
			s.ids[id] = fmt.Sprintf("<%d>", len(s.ids)+1)
		}
		return s.ids[id]
	})
}

func span(i tenet.Interval) string {
	f := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return strings.TrimSuffix(t.Format("2006-01-02T15:04:05"), "T00:00:00")
	}
	return "[" + f(i.From) + ", " + f(i.To) + ")"
}

func when(t *testing.T, s string) time.Time {
	t.Helper()
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, s); err == nil {
			return at
		}
	}
	t.Fatalf("not a time: %q", s)
	return time.Time{}
}

func scope(t *testing.T, s string) tenet.Scope {
	t.Helper()
	tenant, subject, ok := strings.Cut(s, "/")
	if !ok {
		tenant, subject = "acme", s
	}
	if subject != "tenant" && !strings.Contains(subject, ":") {
		subject = "user:" + subject
	}
	sub, err := tenet.ParseSubject(subject)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := tenet.NewScope(tenant, sub)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func principal(t *testing.T, kind tenet.PrincipalKind, id string) tenet.Principal {
	t.Helper()
	p, err := tenet.NewPrincipal(kind, "acme", id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// splitWords splits at spaces, keeping "quoted text" together, after name= too.
func splitWords(line string) []string {
	var out []string
	var cur strings.Builder
	quoted, has := false, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted, has = !quoted, true
		case r == ' ' && !quoted:
			if has {
				out = append(out, cur.String())
			}
			cur.Reset()
			has = false
		default:
			cur.WriteRune(r)
			has = true
		}
	}
	if has {
		out = append(out, cur.String())
	}
	return out
}

var optionNames = []string{"quote", "cite", "from", "to", "channel", "call", "calls", "client", "retain", "at", "id", "multi", "safety", "if", "value", "valid", "known", "why", "query", "tokens", "owns"}

// options parts name=value words from the rest.
func options(words []string) (args []string, opt map[string]string) {
	opt = map[string]string{}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok && slices.Contains(optionNames, name) {
			opt[name] = value
			continue
		}
		args = append(args, w)
	}
	return args, opt
}
