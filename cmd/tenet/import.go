package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/transcript"
)

type importCmd struct {
	Files        []string `arg:"" name:"file" help:"Files to import; - reads standard input."`
	Format       string   `help:"jsonl, locomo, openai, export, mem0 or langgraph (default: detected)."`
	Participants string   `help:"Roles of participants whom the file gives none: all=user, or Caroline=user,Melanie=user." placeholder:"NAME=ROLE,..."`
	End          bool     `help:"Close each imported session too: nothing can be added to it later."`
	Why          string   `help:"Why an export is brought back, for the audit entry. Not memory text."`
}

// maxInput bounds standard input, which can't be read twice.
const maxInput = 256 << 20

// counts say what an import did.
type counts struct {
	Conversations int            `json:"conversations"` // read and imported, or there already
	Unchanged     int            `json:"unchanged"`     // of these: all there before
	Messages      int            `json:"messages"`      // read
	Added         int            `json:"added"`         // of these: new
	Kept          int            `json:"kept"`          // records that the gate let in now
	Refused       map[string]int `json:"refused"`       // what it held or refused now, by its codes
	LeftOut       int            `json:"left_out"`      // entries that are no part of a conversation
	Failed        int            `json:"failed"`        // conversations, or stretches of a file
}

// failed is one conversation that was not imported, or a stretch of a file
// that could not be read. It never quotes a message.
type failed struct {
	File    string          `json:"file"`
	Subject string          `json:"subject,omitempty"`
	Session tenet.SessionID `json:"session,omitempty"`
	Offset  int64           `json:"offset"`
	Kind    string          `json:"kind"`
	Reason  string          `json:"reason"`
}

type importReport struct {
	counts
	Failures []failed `json:"failures"`
	Seconds  float64  `json:"seconds"`
}

// importer is one run of import.
type importer struct {
	*app
	mem    backend
	by     tenet.Principal
	end    bool
	report importReport
	kinds  []tenet.Kind // of the failures
	bar    *progressbar.ProgressBar
	done   int64 // bytes of the files that the bar has seen
}

func (c importCmd) Run(a *app) error {
	participants, err := transcript.ParseParticipants(c.Participants)
	if err != nil {
		return err
	}
	by, err := a.principal(tenet.App)
	if err != nil {
		return err
	}
	if a.set.subject != nil { // the importer may write this memory and no other
		by = by.For(*a.set.subject)
	}
	files, size, err := c.open(a)
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	if c.Format == "" {
		if c.Format, err = formsOf(files); err != nil {
			return err
		}
	}
	switch c.Format {
	case formExport, string(memory.DumpMem0), string(memory.DumpLangGraph):
		return c.portable(a, files)
	}
	m, err := a.engine(writes)
	if err != nil {
		return err
	}
	imp := &importer{app: a, mem: m, by: by, end: c.End, report: importReport{counts: counts{Refused: map[string]int{}}, Failures: []failed{}}}
	if terminal(a.err) && !a.json {
		imp.bar = progressbar.NewOptions64(size, progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription("importing"),
			progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	began := time.Now()
	for _, f := range files {
		o := transcript.Options{Format: transcript.Format(c.Format), Name: f.session, Participants: participants}
		if err = imp.file(f, o); err != nil {
			break
		}
	}
	imp.report.Seconds = time.Since(began).Seconds()
	if imp.bar != nil {
		imp.bar.Finish()
	}
	if perr := a.print(imp.report, imp.summary); perr != nil {
		return perr
	}
	switch {
	case err != nil:
		return err
	case imp.report.Failed > 0:
		return tenet.Errorf(imp.worst(), "import", "%d of %d conversations were not imported", imp.report.Failed, imp.report.Failed+imp.report.Conversations)
	}
	return nil
}

// input is one file to import.
type input struct {
	name    string
	session string // of a chat without an id: the file's name
	io.ReadSeeker
	close func() error
}

// open opens every file before anything is imported: a misspelt name is found
// at once.
func (c importCmd) open(a *app) (files []input, size int64, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				f.close()
			}
		}
	}()
	for _, name := range c.Files {
		if name == "-" {
			b, err := io.ReadAll(io.LimitReader(a.in, maxInput+1))
			switch {
			case err != nil:
				return files, 0, tenet.Errorf(tenet.Unavailable, "import", "standard input cannot be read")
			case len(b) > maxInput:
				return files, 0, tenet.Errorf(tenet.Invalid, "import", "standard input is over %d MiB; give a file", maxInput>>20)
			}
			files = append(files, input{"-", "stdin", bytes.NewReader(b), func() error { return nil }})
			size += int64(len(b))
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			kind := tenet.Unavailable
			if errors.Is(err, os.ErrNotExist) {
				kind = tenet.NotFound
			}
			return files, 0, tenet.Errorf(kind, "import", "%s: %s", name, osReason(err))
		}
		base := filepath.Base(name)
		files = append(files, input{name, strings.TrimSuffix(base, filepath.Ext(base)), f, f.Close})
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return files, 0, tenet.Errorf(tenet.Invalid, "import", "%s: not a file", name)
		}
		size += info.Size()
	}
	return files, size, nil
}

// file imports one file. Its error is one that would meet every further
// conversation too.
func (i *importer) file(f input, o transcript.Options) error {
	for c, err := range transcript.Read(f, o) {
		if i.ctx.Err() != nil {
			return tenet.Errorf(tenet.Unavailable, "import", "interrupted; what is imported stays, run it again to go on")
		}
		var p *transcript.Problem
		switch {
		case errors.As(err, &p):
			i.fail(f.name, p.User, p.Session, p.Offset, tenet.Errorf(tenet.Invalid, "import", "%s", p.Reason))
			continue
		case err != nil && tenet.KindOf(err) == tenet.Invalid: // the file as a whole
			i.fail(f.name, "", "", 0, err)
			return nil
		case err != nil:
			return tenet.Errorf(tenet.Unavailable, "import", "%s cannot be read: %s", f.name, osReason(err))
		}
		if err := i.conversation(c); err != nil {
			switch tenet.KindOf(err) {
			case tenet.Internal, tenet.Unavailable:
				return err
			}
			i.fail(f.name, c.User, c.Session, c.Offset, err)
		}
		if i.done += c.Size; i.bar != nil {
			i.bar.Set64(i.done)
		}
	}
	return nil
}

func (i *importer) fail(file, user string, session tenet.SessionID, offset int64, err error) {
	e := &tenet.Error{Kind: tenet.KindOf(err), Reason: err.Error()}
	errors.As(err, &e)
	i.report.Failed++
	i.report.Failures = append(i.report.Failures, failed{file, user, session, offset, e.Kind.String(), e.Reason})
	i.kinds = append(i.kinds, e.Kind)
}

// worst is the kind of the import's own error: that of its failures when they
// are all of one kind, and Invalid for a mixture.
func (i *importer) worst() tenet.Kind {
	for _, k := range i.kinds {
		if k != i.kinds[0] {
			return tenet.Invalid
		}
	}
	return i.kinds[0]
}

// batch is how many messages are appended in one transaction.
const batch = 1000

// conversation imports one conversation: what the session lacks is appended,
// then it is consolidated. Doing it again, or after a kill at any point, leads
// to the same end.
func (i *importer) conversation(c transcript.Conversation) error {
	scope, err := i.owner(c)
	if err != nil {
		return err
	}
	s, err := i.mem.Session(i.ctx, i.by, scope, c.Session)
	if err != nil {
		return err
	}
	missing, err := lacks(i.ctx, s, c.Messages)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(missing, batch) {
		if _, err := s.Append(i.ctx, part...); err != nil {
			return err
		}
	}
	i.report.Conversations++
	i.report.Messages += len(c.Messages)
	i.report.Added += len(missing)
	i.report.LeftOut += c.LeftOut
	info := s.Info()
	closed := !i.end || !info.EndedAt.IsZero()
	if len(missing) == 0 && closed && (info.Consolidated >= info.Length || !i.set.durable) {
		i.report.Unchanged++
		return nil
	}
	var r memory.Report
	switch {
	case i.end:
		r, err = s.End(i.ctx)
	case i.set.durable:
		r, err = i.mem.Consolidate(i.ctx, i.by, scope, c.Session)
	}
	for _, v := range r.Verdicts {
		switch {
		case v.Outcome.Kept():
			i.report.Kept++
		case len(v.Codes) > 0:
			i.report.Refused[codes(v.Codes)]++
		default:
			i.report.Refused[v.Outcome.String()]++
		}
	}
	return err
}

// owner is the scope of a conversation: the file's user, or else the one that
// the command names. A command that names one is held to it by its principal.
func (i *importer) owner(c transcript.Conversation) (tenet.Scope, error) {
	if c.User != "" {
		return tenet.NewScope(i.set.tenant, tenet.User(c.User))
	}
	if i.set.subject == nil {
		return tenet.Scope{}, tenet.Errorf(tenet.Invalid, "import", "the file does not say whose conversation it is: use --user")
	}
	return i.scope()
}

// lacks returns those messages that the session does not have yet. They must
// come after those that it has: a log keeps its order.
func lacks(ctx context.Context, s conversation, ms []tenet.Message) ([]tenet.Message, error) {
	info := s.Info()
	have := map[string]tenet.Message{}
	for after := int64(0); after < info.Length; {
		page, err := s.Messages(ctx, after, batch)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 { // swept: the session's log is past its time
			break
		}
		for _, m := range page {
			if m.ClientID != "" {
				have[m.ClientID] = m
			}
		}
		after = page[len(page)-1].Seq
	}
	conflict := func(format string, args ...any) error {
		return tenet.Errorf(tenet.Conflict, "import", format, args...)
	}
	var missing []tenet.Message
	fresh := map[string]tenet.Message{}
	for n, m := range ms {
		old, there := have[m.ClientID]
		if !there {
			old, there = fresh[m.ClientID]
			fresh[m.ClientID] = m
			if there && same(old, m) {
				continue // the file holds it twice under one id
			}
			missing = append(missing, m)
		}
		switch {
		case there && !same(old, m):
			return nil, conflict("message %d is in the session with other content", n+1)
		case there && len(missing) > 0:
			return nil, conflict("message %d is in the session, but one before it is not", n+1)
		}
	}
	if len(missing) > 0 && !info.EndedAt.IsZero() {
		return nil, conflict("the session has ended and lacks %d of %d messages", len(missing), len(ms))
	}
	return missing, nil
}

// same is the session store's rule for a retry: role, text and tool ids.
func same(a, b tenet.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.ToolCallID == b.ToolCallID && slices.Equal(a.ToolCalls, b.ToolCalls)
}

// summary prints the counts, and a line for each failure.
func (i *importer) summary() {
	r := i.report
	for _, f := range r.Failures {
		where := f.File
		if f.Subject != "" {
			where += ", " + f.Subject
		}
		if f.Session != "" {
			where += ", session " + string(f.Session)
		}
		i.printf("not imported: %s, offset %d: %s: %s\n", printable(where), f.Offset, f.Kind, printable(f.Reason))
	}
	i.printf("%d conversations (%d unchanged), %d messages (%d added), %d records kept, in %.1f s\n",
		r.Conversations, r.Unchanged, r.Messages, r.Added, r.Kept, r.Seconds)
	i.refused(r.Refused)
	if r.LeftOut > 0 {
		i.printf("left out: %d entries that are no part of a conversation (other branches, empty nodes, thoughts)\n", r.LeftOut)
	}
}

// refused prints what was held or refused, by its codes.
func (a *app) refused(counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	var parts []string
	for code, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", code, n))
	}
	slices.Sort(parts)
	a.printf("held or refused: %s; see tenet audit held\n", strings.Join(parts, ", "))
}
