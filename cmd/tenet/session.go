package main

import (
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/transcript"
)

type sessionCmd struct {
	Append sessionAppendCmd `cmd:"" help:"Add a message to a conversation, which is created when it is new."`
	Show   sessionShowCmd   `cmd:"" help:"Show a conversation's messages."`
	End    sessionEndCmd    `cmd:"" help:"Close a conversation and consolidate it."`
	Delete sessionDeleteCmd `cmd:"" help:"Delete a conversation's log and running work; what was consolidated stays, its id is spent."`
}

// openSession opens a conversation as whoever acts; with old, it has to exist.
func (a *app) openSession(id string, also []string, may access, old bool) (conversation, error) {
	scope, more, err := a.scopes(also)
	if err != nil {
		return nil, err
	}
	by, err := a.principal(tenet.App)
	if err != nil {
		return nil, err
	}
	m, err := a.engine(may)
	if err != nil {
		return nil, err
	}
	if old {
		return m.OpenSession(a.ctx, by, scope, tenet.SessionID(id))
	}
	return m.Session(a.ctx, by, scope, tenet.SessionID(id), more...)
}

type sessionAppendCmd struct {
	Session    string   `arg:"" help:"The session's id."`
	Text       string   `arg:"" help:"What was said; - reads standard input."`
	Role       string   `required:"" enum:"user,assistant,tool,system" help:"user, assistant, tool or system."`
	Speaker    string   `help:"The participant's name."`
	SaidAt     moment   `help:"When it was said (default now)." placeholder:"TIME"`
	ID         string   `name:"id" help:"Your id of the message: repeating it is harmless." placeholder:"ID"`
	Channel    string   `help:"prefilled or external, when nobody typed it." enum:",prefilled,external" default:""`
	ToolCall   []string `sep:"none" help:"Ids of the calls that an assistant message makes." placeholder:"ID"`
	ToolCallID string   `name:"tool-call-id" help:"The call that a tool message answers." placeholder:"ID"`
	RetainNone bool     `help:"Off the record: never an episode, a candidate or a log text."`
	Also       []string `sep:"none" help:"What a new session may read too: project:ID, tenant." placeholder:"SUBJECT"`
}

func (c sessionAppendCmd) Run(a *app) error {
	role, err := tenet.ParseRole(c.Role)
	if err != nil {
		return err
	}
	text, err := a.text(c.Text)
	if err != nil {
		return err
	}
	msg := tenet.Message{
		Role: role, Text: text, Speaker: c.Speaker, SaidAt: c.SaidAt.Time, ClientID: c.ID, Channel: tenet.Channel(c.Channel),
		ToolCalls: c.ToolCall, ToolCallID: c.ToolCallID, RetainNone: c.RetainNone,
	}
	// Before the session is opened: a bad message must not leave an empty one.
	if err := transcript.Check(msg); err != nil {
		return tenet.Errorf(tenet.Invalid, "append", "%v", err)
	}
	s, err := a.openSession(c.Session, c.Also, writes, false)
	if err != nil {
		return err
	}
	kept, err := s.Append(a.ctx, msg)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"messages": kept}, func() {
		a.printf("appended as %s [%s]\n  message %s\n", position(kept[0]), kept[0].Label, kept[0].ID)
	})
}

func position(m tenet.Message) string {
	return printable(string(m.Session)) + "#" + strconv.FormatInt(m.Seq, 10)
}

type sessionShowCmd struct {
	Session string `arg:"" help:"The session's id."`
	After   int64  `help:"Only messages after this position; negative counts from the end."`
	Limit   int    `help:"At most this many." default:"1000"`
}

func (c sessionShowCmd) Run(a *app) error {
	s, err := a.openSession(c.Session, nil, reads, true)
	if err != nil {
		return err
	}
	ms, err := s.Messages(a.ctx, c.After, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"session": s.Info(), "messages": orEmpty(ms)}, func() {
		i := s.Info()
		state := "open"
		if !i.EndedAt.IsZero() {
			state = "ended " + stamp(i.EndedAt)
		}
		a.printf("%s of %s: %s, %d messages, %d consolidated\n", printable(string(i.ID)), printable(i.Scope.Subject().String()), state, i.Length, i.Consolidated)
		var rows [][]string
		for _, m := range ms {
			who := m.Role.String()
			if m.Speaker != "" {
				who += " " + m.Speaker
			}
			rows = append(rows, []string{strconv.FormatInt(m.Seq, 10), stamp(m.Said()), who, m.Label.String(), string(m.ID), m.Text})
		}
		a.table("#|SAID|WHO|LABEL|MESSAGE|TEXT", rows)
	})
}

type sessionEndCmd struct {
	Session string `arg:"" help:"The session's id."`
}

func (c sessionEndCmd) Run(a *app) error {
	s, err := a.openSession(c.Session, nil, reads, true)
	if err != nil {
		return err
	}
	r, err := s.End(a.ctx)
	if err != nil {
		return err
	}
	return a.print(r, func() { a.report(r) })
}

type sessionDeleteCmd struct {
	Session string `arg:"" help:"The session's id."`
}

func (c sessionDeleteCmd) Run(a *app) error {
	scope, by, err := a.acting(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.engine(reads)
	if err != nil {
		return err
	}
	if err := m.DeleteSession(a.ctx, by, scope, tenet.SessionID(c.Session)); err != nil {
		return err
	}
	return a.print(map[string]string{"deleted": c.Session}, func() { a.printf("deleted %s\n", printable(c.Session)) })
}

// report prints what a consolidation did: a line for each verdict that kept
// nothing, and counts for the rest.
func (a *app) report(r memory.Report) {
	kept := 0
	for _, v := range r.Verdicts {
		if v.Outcome.Kept() {
			kept++
		}
	}
	a.printf("%s of %s: %d messages consolidated, %d records kept, %d held or refused\n",
		printable(string(r.Session)), printable(r.Scope.Subject().String()), r.Messages, kept, len(r.Verdicts)-kept)
	for _, v := range r.Verdicts {
		if !v.Outcome.Kept() {
			a.printf("  ")
			a.verdict(v)
		}
	}
}

type contextCmd struct {
	Query   string   `arg:"" optional:"" help:"What the turn is about (default: the session's last user message)."`
	Session string   `help:"The session's id." default:"cli"`
	Tokens  int      `help:"Budget for everything together." default:"4000"`
	K       int      `short:"k" help:"Most records recalled by meaning; 0 for none." default:"10"`
	Also    []string `sep:"none" help:"What a new session may read too: project:ID, tenant." placeholder:"SUBJECT"`
}

func (c contextCmd) Run(a *app) error {
	if c.Tokens < 1 {
		return tenet.Errorf(tenet.Invalid, "usage", "--tokens must be positive")
	}
	s, err := a.openSession(c.Session, c.Also, reads, false)
	if err != nil {
		return err
	}
	if c.K == 0 {
		c.K = -1 // the engine's zero is its default
	}
	w, err := s.Context(a.ctx, c.Query, memory.Budget{Tokens: c.Tokens, Recall: c.K})
	if err != nil {
		return err
	}
	return a.print(w, func() { a.window(w) })
}

// window prints working memory as a model would get it, then what it took.
func (a *app) window(w memory.Window) {
	a.printf("%s", w.System) // rendered for one line each already, see memory's render.go
	for _, m := range w.Messages {
		a.printf("%s: %s\n", m.Role, printable(m.Text))
	}
	t := w.Tokens
	a.printf("\n%d of %d tokens: facts %d, recalled %d, pending %d, messages %d\n", t.Total, t.Budget, t.Facts, t.Recalled, t.Pending, t.Messages)
	if o := w.Omitted; o.Recalled+o.Pending+o.Messages > 0 {
		a.printf("left out for the budget: %d recalled, %d pending, %d messages\n", o.Recalled, o.Pending, o.Messages)
	}
	a.missed(w.Degraded, w.Approximate)
}

type recallCmd struct {
	Query   string   `arg:"" help:"What to look for."`
	K       int      `short:"k" help:"How many." default:"10"`
	Explain bool     `help:"Say for each hit why it is there."`
	Session string   `help:"Recall in this session, which leaves a receipt there."`
	Also    []string `sep:"none" help:"Search these too: project:ID, tenant." placeholder:"SUBJECT"`
	Dormant bool     `name:"include-dormant" help:"Find what forgetting has taken out of the default results, too."`
}

func (c recallCmd) Run(a *app) error {
	if c.K < 1 {
		return tenet.Errorf(tenet.Invalid, "usage", "-k must be positive")
	}
	opts := memory.RecallOptions{K: c.K, Explain: c.Explain, Dormant: c.Dormant}
	var found memory.Found
	if c.Session != "" {
		s, err := a.openSession(c.Session, nil, reads, true)
		if err != nil {
			return err
		}
		if found, err = s.Recall(a.ctx, c.Query, opts); err != nil {
			return err
		}
	} else {
		scope, more, err := a.scopes(c.Also)
		if err != nil {
			return err
		}
		by, err := a.principal(tenet.App)
		if err != nil {
			return err
		}
		m, err := a.engine(reads)
		if err != nil {
			return err
		}
		if found, err = m.Recall(a.ctx, by, c.Query, opts, append([]tenet.Scope{scope}, more...)...); err != nil {
			return err
		}
	}
	found.Hits = orEmpty(found.Hits)
	return a.print(found, func() {
		a.recalled(found.Hits)
		a.missed(found.Degraded, found.Approximate)
	})
}

// missed says why a recall may have missed something.
func (a *app) missed(degraded tenet.Code, near *memory.Approximate) {
	if degraded != "" {
		a.printf("by words only: %s\n", degraded)
	}
	if near != nil {
		a.printf("approximate: the index in the database finds %.1f%% of the ten nearest (%d questions)\n", 100*near.Recall, near.Questions)
	}
}

func (a *app) recalled(found []memory.Recalled) {
	if len(found) == 0 {
		a.printf("nothing found\n")
		return
	}
	var rows [][]string
	for i, r := range found {
		text := r.Text
		if r.Speaker != "" {
			text = r.Speaker + ": " + text
		}
		if r.Dormant {
			text = "(dormant) " + text
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), strconv.FormatFloat(r.Score, 'f', 3, 64), r.Tier.String(), r.Label.String(), stamp(r.Valid.From), text})
		if r.Why != nil {
			rows = append(rows, []string{"", "", "", "", "", why(r)})
		}
	}
	a.table("#|SCORE|TIER|LABEL|SAID|TEXT", rows)
}

// why takes a score apart on one line.
func why(r memory.Recalled) string {
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	s := "  own words " + f(r.Why.Turn) + ", window " + f(r.Why.Window) + ", session " + f(r.Why.Session)
	for _, p := range []struct {
		name  string
		value float64
	}{{"time", r.Why.Time}, {"dense", r.Why.Dense}, {"exact", r.Why.Exact}} {
		if p.value != 0 {
			s += ", " + p.name + " " + f(p.value)
		}
	}
	if len(r.Why.Terms) > 0 {
		s += ";"
		for _, t := range r.Why.Terms {
			s += " " + t.Term + " " + f(t.Turn+t.Window+t.Session)
		}
	}
	return s
}
