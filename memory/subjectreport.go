package memory

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Report writes everything that is held about a subject as Markdown for a
// person to read: facts with their history and where they come from, notes,
// verbatim turns, documents, what was refused, conversations, decisions, and how
// much was erased. It is what a subject-access request asks for; an export is
// what a machine reads. Who may is as for Export.
//
// Every text that somebody said stands in a fence that it cannot close, links
// in it do not work, and what cannot be seen is written out.
//
// Errors as for Export; after one the text lacks its last line, "End of report".
func (m *Memory) Report(ctx context.Context, by tenet.Principal, scope tenet.Scope, w io.Writer) error {
	if err := m.portable("report", by, scope); err != nil {
		return err
	}
	head, err := m.ledger.Head(ctx, scope)
	if err != nil {
		return err
	}
	r := &reporter{m: m, scope: scope, w: bufio.NewWriterSize(w, 64<<10), now: m.now()}
	if head.Audit == 0 {
		if any, err := r.conversations(ctx, true); err != nil {
			return err
		} else if !any {
			return tenet.Errorf(tenet.NotFound, "report", "nothing is kept about the subject")
		}
	}
	r.line("# What is kept about %s", quoted(scope.Subject().String()))
	r.line("")
	r.line("Tenant %s. Made %s for %s.", quoted(scope.Tenant()), stampOf(r.now), quoted(by.String()))
	told := func(ctx context.Context) error {
		_, err := r.conversations(ctx, false)
		return err
	}
	steps := []func(context.Context) error{r.facts, r.records, r.held, told, r.threads, r.decisions}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if r.failed {
			return tenet.Errorf(tenet.Unavailable, "report", "the report cannot be written")
		}
	}
	r.line("\nEnd of report.")
	if r.w.Flush() != nil {
		return tenet.Errorf(tenet.Unavailable, "report", "the report cannot be written")
	}
	return nil
}

// reporter is one report on its way out.
type reporter struct {
	m      *Memory
	scope  tenet.Scope
	w      *bufio.Writer
	now    time.Time
	failed bool
}

func (r *reporter) line(format string, args ...any) {
	if _, err := fmt.Fprintf(r.w, format+"\n", args...); err != nil {
		r.failed = true
	}
}

// quoted is a short text within a line: in a code span that it cannot leave.
func quoted(s string) string {
	s = visible(strings.ReplaceAll(s, "\n", " "))
	return "`" + strings.ReplaceAll(s, "`", "'") + "`"
}

// visible writes out what cannot be seen, marks that turn the direction of a
// text among it, and takes the life out of links.
func visible(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '\n' || c == '\t' || unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "\\u{%X}", c)
		}
	}
	out := strings.ReplaceAll(b.String(), "://", "[:]//")
	for _, scheme := range []string{"javascript:", "data:", "vbscript:", "mailto:"} {
		out = replaceFold(out, scheme, strings.TrimSuffix(scheme, ":")+"[:]")
	}
	return out
}

// replaceFold replaces whatever the case of its letters.
func replaceFold(s, old, to string) string {
	var b strings.Builder
	for {
		i := strings.Index(asciiLower(s), old)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i] + to)
		s = s[i+len(old):]
	}
}

// asciiLower keeps every byte's place, which strings.ToLower does not.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// text is what somebody said, in a fence longer than any run of its own.
func (r *reporter) text(indent, s string) {
	s = visible(s)
	longest, run := 2, 0
	for _, c := range s {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	r.line("%s%stext", indent, fence)
	for l := range strings.SplitSeq(s, "\n") {
		r.line("%s%s", indent, l)
	}
	r.line("%s%s", indent, fence)
}

func stampOf(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func spanOf(i tenet.Interval) string {
	from, to := "from "+stampOf(i.From), ""
	if i.From.IsZero() {
		from = "from an unknown time"
	}
	if !i.To.IsZero() {
		to = " to " + stampOf(i.To)
	}
	return from + to
}

// sources are the ways by which a record came, in a line each.
func (r *reporter) sources(rec tenet.Record) {
	for _, o := range rec.Origins {
		s := "  - source: " + quoted(o.Principal)
		if o.Session != "" {
			s += ", conversation " + quoted(string(o.Session))
		}
		if o.Message != "" {
			s += ", message " + quoted(string(o.Message))
		}
		if o.Channel != "" {
			s += ", channel " + quoted(string(o.Channel))
		}
		if o.Subject != "" && o.Subject != r.scope.Key() {
			s += ", about another subject too"
		}
		r.line("%s", s)
	}
}

func (r *reporter) facts(ctx context.Context) error {
	facts, err := r.m.ledger.Facts(ctx, r.scope, tenet.AsOf{Valid: r.now})
	if err != nil {
		return err
	}
	r.line("\n## Facts that hold now (%d)\n", len(facts))
	for _, f := range facts {
		r.line("- %s, %s, true %s, known since %s", quoted(f.Key), f.Label, spanOf(f.Valid), stampOf(f.Known.From))
		r.text("  ", f.Text)
		r.sources(f)
	}
	return nil
}

// records are all that were ever believed, kind by kind, with what became of
// each.
func (r *reporter) records(ctx context.Context) error {
	g, ok := r.m.ledger.(store.Governor)
	if !ok {
		return tenet.Errorf(tenet.Unavailable, "report", "the ledger cannot list its records")
	}
	for _, kind := range []struct {
		tier tenet.Tier
		name string
	}{
		{tenet.TierFact, "Every value of a fact that was ever believed"}, {tenet.TierNote, "Notes"},
		{tenet.TierEpisode, "Verbatim turns"}, {tenet.TierDocument, "Documents and their versions"},
	} {
		r.line("\n## %s\n", kind.name)
		n := 0
		for after := tenet.RecordID(""); ; {
			page, err := g.Records(ctx, r.scope, after, pastPage)
			if err != nil {
				return err
			}
			for _, rec := range page {
				if rec.Tier == kind.tier {
					n++
					if err := r.record(ctx, rec); err != nil {
						return err
					}
				}
			}
			if len(page) < pastPage {
				break
			}
			after = page[len(page)-1].ID
		}
		if n == 0 {
			r.line("None.")
		}
	}
	return nil
}

func (r *reporter) record(ctx context.Context, rec tenet.Record) error {
	what := rec.Label.String()
	if rec.Key != "" {
		what = quoted(rec.Key) + ", " + what
	}
	s := fmt.Sprintf("- %s, %s, known since %s", what, spanOf(rec.Valid), stampOf(rec.Known.From))
	if !rec.Known.To.IsZero() {
		s += fmt.Sprintf(", not believed since %s (%s)", stampOf(rec.Known.To), rec.Closed)
	}
	if rec.Seen > 1 {
		s += ", said by " + strconv.Itoa(rec.Seen) + " sources"
	}
	r.line("%s", s)
	switch {
	case rec.Expired:
		r.line("  - its text is gone: its retention is over")
	case len(rec.Value) > 0 && string(rec.Value) != rec.Text && string(rec.Value) != strconv.Quote(rec.Text):
		r.text("  ", rec.Text+"\nas a value: "+string(rec.Value))
	default:
		r.text("  ", rec.Text)
	}
	r.sources(rec)
	ev, err := r.m.ledger.Evidence(ctx, r.scope, rec.ID)
	if err != nil && tenet.KindOf(err) != tenet.NotFound { // erased meanwhile
		return err
	}
	for _, e := range ev {
		if e.Excerpt != "" && e.Excerpt != rec.Text {
			r.line("  - kept as its evidence (%s, %s):", e.Role, stampOf(e.SaidAt))
			r.text("    ", e.Excerpt)
		}
	}
	return nil
}

func (r *reporter) held(ctx context.Context) error {
	r.line("\n## What was held or refused\n")
	n := 0
	for after := tenet.CandidateID(""); ; {
		page, err := r.m.ledger.Held(ctx, r.scope, r.now, after, 200)
		if err != nil {
			return err
		}
		for _, h := range page {
			n++
			r.line("- %s, %s, decided %s, codes %s, proposed by %s", h.Verdict.Outcome, h.State, stampOf(h.Verdict.At), quoted(codesOf(h.Verdict)), quoted(h.By))
			if h.Candidate.Text != "" {
				r.text("  ", h.Candidate.Text)
			} else {
				r.line("  - its text is gone")
			}
		}
		if len(page) < 200 {
			break
		}
		after = page[len(page)-1].Verdict.Candidate
	}
	if n == 0 {
		r.line("Nothing.")
	}
	return nil
}

// conversations writes the sessions, or only reports whether there are any.
func (r *reporter) conversations(ctx context.Context, only bool) (bool, error) {
	archive := r.m.sessions.(store.SessionArchive)
	if !only {
		r.line("\n## Conversations\n")
	}
	n := 0
	for after := tenet.SessionID(""); ; {
		page, err := archive.SessionsOf(ctx, r.scope, after, 200)
		if err != nil || only {
			return len(page) > 0, err
		}
		for _, s := range page {
			n++
			r.line("### Conversation %s\n", quoted(string(s.ID)))
			r.line("Begun %s, last %s, %d messages, consolidated up to %d.\n", stampOf(s.CreatedAt), stampOf(s.LastAt), s.Length, s.Consolidated)
			if err := r.messages(ctx, s); err != nil {
				return false, err
			}
		}
		if len(page) < 200 {
			break
		}
		after = page[len(page)-1].ID
	}
	if n == 0 {
		r.line("None.")
	}
	return n > 0, nil
}

func (r *reporter) messages(ctx context.Context, s tenet.Session) error {
	for after := int64(0); after < s.Length; {
		ms, err := r.m.sessions.Messages(ctx, r.scope, s.ID, after, pastPage)
		if err != nil && tenet.KindOf(err) != tenet.NotFound { // erased meanwhile
			return err
		}
		if len(ms) == 0 {
			return nil
		}
		for _, m := range ms {
			after = m.Seq
			by := ""
			if m.RecordedBy != "" {
				by = ", recorded by " + quoted(m.RecordedBy)
			}
			r.line("- %s, %s%s, %s", m.Role, stampOf(m.Said()), by, m.Label)
			if m.Text == "" {
				r.line("  - empty, or erased")
			} else {
				r.text("  ", m.Text)
			}
		}
	}
	return nil
}

// threads are frameworks' own states: opaque, so their names are all there is to
// read.
func (r *reporter) threads(ctx context.Context) error {
	r.line("\n## States that frameworks keep\n")
	shelf, ok := r.m.threads.(store.Shelf)
	if !ok {
		r.line("Their store does not list them.")
		return nil
	}
	n := 0
	for after := ""; ; {
		page, err := shelf.Threads(ctx, r.scope, r.now, "", after, 200)
		if err != nil {
			return err
		}
		for _, t := range page {
			n++
			r.line("- %s, kept last at %s", quoted(t.Name), stampOf(t.NewestAt))
		}
		if len(page) < 200 {
			break
		}
		after = page[len(page)-1].Name
	}
	if n == 0 {
		r.line("None.")
	}
	return nil
}

// decisions are the entries of the audit chain, and what was erased.
func (r *reporter) decisions(ctx context.Context) error {
	r.line("\n## Decisions\n")
	erased, blank := 0, 0
	var last time.Time
	for from := uint64(1); ; {
		page, err := r.m.ledger.Audit(ctx, r.scope, from, pastPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Ref == "" && e.Actor == "" {
				blank++
				continue
			}
			if gate.KindNamed(e.Action) == gate.Erase {
				erased++
				last = e.At
			}
			s := fmt.Sprintf("%d. %s, %s", e.Seq, stampOf(e.At), e.Action)
			if e.Outcome != 0 {
				s += ", " + e.Outcome.String()
			}
			if len(e.Codes) > 0 {
				s += ", " + quoted(codesOf(tenet.Verdict{Codes: e.Codes}))
			}
			s += ", by " + quoted(e.Actor)
			if e.Why != "" {
				s += ", " + quoted(e.Why)
			}
			r.line("%s", s)
		}
		if len(page) < pastPage {
			break
		}
		from = page[len(page)-1].Seq + 1
	}
	r.line("\n## Erased\n")
	if erased == 0 && blank == 0 {
		r.line("Nothing was erased from this memory.")
		return nil
	}
	r.line("%d erasures, the last at %s. Of %d decisions nothing is left but that they were made.", erased, stampOf(last), blank)
	return nil
}
