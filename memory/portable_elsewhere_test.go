package memory_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// sqliteOnly is the backend of claims that do not depend on one.
func sqliteOnly() backend { return backends()[1] }

func TestWhatAnotherDeploymentSignedIsJudgedAnewAndNoLabelRises(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := mover(t, b, 1)
		e.live(t)
		file := e.export(t)
		labels := map[string]tenet.Label{} // by text, the highest that the file holds
		for _, r := range must[[]tenet.Record](t)(e.ledger.(store.Governor).Records(t.Context(), e.sarah, "", 10_000)) {
			labels[r.Text] = max(labels[r.Text], r.Label)
		}
		for _, c := range []struct {
			kind tenet.PrincipalKind
			most tenet.Label
		}{{tenet.Operator, tenet.LabelUserStated}, {tenet.App, tenet.LabelUserStated}, {tenet.EndUser, tenet.LabelUserStated}, {tenet.Connector, tenet.LabelAttestedTool}, {tenet.Agent, tenet.LabelAgentInferred}} {
			n := mover(t, b, 2)
			n.clock.Store(e.clock.Load())
			by := principal(t, c.kind, "sarah").For(tenet.User("sarah"))
			got := must[memory.Imported](t)(n.Import(t.Context(), by, bytes.NewReader(file), ""))
			if got.Own || got.Restored != 0 || got.Kept == 0 || got.Sessions != 2 {
				t.Errorf("by %s: %+v", c.kind, got)
			}
			for _, r := range must[[]tenet.Record](t)(n.ledger.(store.Governor).Records(t.Context(), n.sarah, "", 10_000)) {
				if r.Label > c.most || r.Label > labels[r.Text] || r.Tier == tenet.TierFact && r.Label < tenet.LabelUserStated {
					t.Errorf("by %s: %q is %s, was %s", c.kind, r.Text, r.Label, labels[r.Text])
				}
				for _, o := range r.Origins {
					if o.Principal != by.String() {
						t.Errorf("by %s: an origin says %s", c.kind, o.Principal)
					}
				}
			}
			for _, s := range must[[]tenet.Session](t)(n.sessions.(store.SessionArchive).SessionsOf(t.Context(), n.sarah, "", 10)) {
				for _, m := range must[store.WholeSession](t)(n.sessions.(store.SessionArchive).Whole(t.Context(), n.sarah, s.ID)).Messages {
					if m.Label > c.most || m.RecordedBy != by.String() {
						t.Errorf("by %s: message %d is %s by %s", c.kind, m.Seq, m.Label, m.RecordedBy)
					}
				}
				if s.Consolidated != s.Length {
					t.Errorf("session %s waits for extraction", s.ID)
				}
			}
			before := n.head(t)
			again := must[memory.Imported](t)(n.Import(t.Context(), by, bytes.NewReader(file), ""))
			if again.Sessions != 0 || n.head(t) != before {
				t.Errorf("by %s, twice: %+v, %+v is now %+v", c.kind, again, before, n.head(t))
			}
			n.verified(t)
		}
		// Nobody writes another's memory, and not another tenant's.
		n := mover(t, b, 1)
		bob := principal(t, tenet.App, "shop").For(tenet.User("bob"))
		_, err := n.Import(t.Context(), bob, bytes.NewReader(file), "")
		wantKind(t, err, tenet.Denied)
		globex, err := tenet.NewPrincipal(tenet.Operator, "globex", "olga")
		if err != nil {
			t.Fatal(err)
		}
		if got := must[memory.Imported](t)(n.Import(t.Context(), globex, bytes.NewReader(file), "")); got.Own {
			t.Error("another tenant's export was restored as it was")
		}
		if n.head(t) != (store.Head{}) {
			t.Error("an import wrote in the tenant that the file names")
		}
	})
}

func TestAnImportBringsNothingErasedBack(t *testing.T) {
	t.Parallel()
	for _, b := range backends()[1:] {
		for _, own := range []byte{1, 2} {
			t.Run(fmt.Sprintf("%s key %d", b.name, own), func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				e := mover(t, b, 1)
				v := must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "The locker has the code zebra."))))
				s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
				said := must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I keep a quagga in the garden."), tenet.UserMessage("I like trains.")))
				must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Fact(e.sarah, "pet", "quagga").Citing(said[0].ID)))
				must[memory.Report](t)(e.Consolidate(ctx, e.app, e.sarah, "chat"))
				mine := e.export(t)
				file := mine
				if own == 2 { // the same from elsewhere
					there := mover(t, b, 2)
					there.clock.Store(e.clock.Load())
					must[memory.Imported](t)(there.Import(ctx, there.op, bytes.NewReader(mine), ""))
					file = there.export(t)
				}
				e.advance(time.Hour)
				must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Record: v.Record}}))
				must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Message: said[0].ID}}))
				e.advance(time.Hour)
				got := must[memory.Imported](t)(e.Import(ctx, e.op, bytes.NewReader(file), ""))
				clean := func(when string) {
					t.Helper()
					for _, r := range must[[]tenet.Record](t)(e.ledger.(store.Governor).Records(ctx, e.sarah, "", 1000)) {
						if strings.Contains(r.Text, "zebra") || strings.Contains(r.Text, "quagga") {
							t.Errorf("%s: %q is back", when, r.Text)
						}
					}
					sessions := e.sessions.(store.SessionArchive)
					for _, s := range must[[]tenet.Session](t)(sessions.SessionsOf(ctx, e.sarah, "", 10)) {
						for _, m := range must[store.WholeSession](t)(sessions.Whole(ctx, e.sarah, s.ID)).Messages {
							if strings.Contains(m.Text, "quagga") {
								t.Errorf("%s: message %q is back", when, m.Text)
							}
						}
					}
					e.verified(t)
				}
				clean("after an erasure of parts")
				if got.Restored != 0 || got.Refused[string(tenet.CodeErased)] == 0 {
					t.Errorf("of parts: %+v", got)
				}
				e.advance(time.Hour)
				must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Subject: true}}))
				e.advance(time.Hour)
				got = must[memory.Imported](t)(e.Import(ctx, e.op, bytes.NewReader(file), ""))
				if got.Restored != 0 || got.Kept != 0 || got.Sessions != 0 || got.Refused[string(tenet.CodeErased)] == 0 {
					t.Errorf("of the subject: %+v", got)
				}
				if h := e.head(t); h.Audit != 0 {
					t.Errorf("the erased subject has a chain: %+v", h)
				}
			})
		}
	}
}

func TestASubjectWithAnotherPastKeepsItAndGainsTheRest(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := mover(t, b, 1)
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "home_city", "Berlin"))))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "Sarah likes trains."))))
		file := e.export(t)
		n := mover(t, b, 1)
		n.advance(time.Hour)
		must[tenet.Verdict](t)(n.Remember(ctx, n.app, quoting(tenet.Fact(n.sarah, "home_city", "Paris"))))
		n.advance(time.Hour)
		got := n.bring(t, file)
		if got.Merged != 1 || got.Restored != 0 || got.Kept != 2 {
			t.Errorf("%+v", got)
		}
		fs := must[[]memory.Fact](t)(n.Facts(ctx, n.app, tenet.AsOf{}, n.sarah))
		if len(fs) != 1 || fs[0].Text != "Paris" {
			t.Errorf("the later statement does not hold: %v", texts(fs))
		}
		if h := must[[]tenet.Record](t)(n.History(ctx, n.app, n.sarah, "home_city")); len(h) < 2 {
			t.Errorf("the earlier one is not in its history: %d", len(h))
		}
		if len(n.found(t, "trains", memory.RecallOptions{})) != 1 {
			t.Error("the note is not found")
		}
		before := n.head(t)
		if again := n.bring(t, file); again.Merged != 1 || n.head(t) != before {
			t.Errorf("twice: %+v, %+v is now %+v", again, before, n.head(t))
		}
		n.verified(t)
	})
}

// cutLedger goes away after so many calls.
type cutLedger struct {
	store.Ledger
	left *int
}

func (c cutLedger) Past(ctx context.Context, scope tenet.Scope, after uint64, limit int) ([]gate.Plan, uint64, error) {
	return c.Ledger.(store.Archive).Past(ctx, scope, after, limit)
}

func (c cutLedger) Forgot(ctx context.Context, scope tenet.Scope) (bool, error) {
	return c.Ledger.(store.Archive).Forgot(ctx, scope)
}

func (c cutLedger) Apply(ctx context.Context, ds []gate.Decision, again store.Rejudge) ([]store.Applied, error) {
	if *c.left--; *c.left < 0 {
		return nil, tenet.Errorf(tenet.Unavailable, "apply", "the power is off")
	}
	return c.Ledger.Apply(ctx, ds, again)
}

func TestAnImportThatWasCutOffIsFinishedByImportingAgain(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := mover(t, b, 1)
		for i := range 450 {
			e.advance(time.Minute)
			must[tenet.Verdict](t)(e.Remember(t.Context(), e.app, quoting(tenet.Note(e.sarah, fmt.Sprintf("Sarah walked past house number %d, which was painted in shade %d.", i, i*7)))))
		}
		must[*memory.Session](t)(e.Session(t.Context(), e.app, e.sarah, "chat"))
		file := e.export(t)
		left := 1
		n := governed(t, b, func(c *memory.Config) {
			c.ErasureKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
			c.Ledger = cutLedger{c.Ledger, &left}
		})
		n.clock.Store(e.clock.Load())
		_, err := n.Import(t.Context(), n.op, bytes.NewReader(file), "")
		wantKind(t, err, tenet.Unavailable)
		if h := n.head(t); h.Audit != 200 {
			t.Errorf("%d entries came before the cut", h.Audit)
		}
		left = 100
		got := n.bring(t, file)
		if got.Restored != 250 || got.There != 200 || got.Sessions != 1 || got.Merged != 0 {
			t.Errorf("going on: %+v", got)
		}
		differ(t, "the export", string(n.export(t)), string(file))
	})
}

func TestExportsAndReportsAreForOperatorsAndThePersonAlone(t *testing.T) {
	t.Parallel()
	e := mover(t, sqliteOnly(), 1)
	e.live(t)
	ctx := t.Context()
	for name, c := range map[string]struct {
		by tenet.Principal
		ok bool
	}{
		"operator": {e.op, true}, "the person": {principal(t, tenet.EndUser, "sarah").For(tenet.User("sarah")), true},
		"another person": {principal(t, tenet.EndUser, "bob").For(tenet.User("bob")), false}, "app": {e.app, false},
		"agent": {principal(t, tenet.Agent, "bot"), false}, "connector": {principal(t, tenet.Connector, "crm"), false}, "admin": {principal(t, tenet.Admin, "root"), false},
		"operator of another": {principal(t, tenet.Operator, "olga").For(tenet.User("bob")), false},
	} {
		var out bytes.Buffer
		_, err := e.Export(ctx, c.by, e.sarah, false, &out)
		rerr := e.Report(ctx, c.by, e.sarah, &out)
		switch {
		case c.ok && (err != nil || rerr != nil):
			t.Errorf("%s: %v, %v", name, err, rerr)
		case !c.ok:
			wantKind(t, err, tenet.Denied)
			wantKind(t, rerr, tenet.Denied)
			if out.Len() > 0 {
				t.Errorf("%s was given %d bytes", name, out.Len())
			}
		}
	}
	_, err := e.Export(ctx, principal(t, tenet.EndUser, "sarah").For(tenet.User("sarah")), e.sarah, true, &bytes.Buffer{})
	wantKind(t, err, tenet.Denied)
	_, err = e.Export(ctx, e.op, scope(t, "nobody"), false, &bytes.Buffer{})
	wantKind(t, err, tenet.NotFound)
	wantKind(t, e.Report(ctx, e.op, scope(t, "nobody"), &bytes.Buffer{}), tenet.NotFound)
	_, err = e.Export(ctx, e.op, e.sarah, false, full{})
	wantKind(t, err, tenet.Unavailable)
	wantKind(t, e.Report(ctx, e.op, e.sarah, full{}), tenet.Unavailable)
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestATenantMovesWhole(t *testing.T) {
	onEach(t, movers()[1:], tenantMovesWhole)
}

func tenantMovesWhole(t *testing.T, b backend) {
	e := mover(t, b, 1)
	e.live(t)
	bob := scope(t, "bob")
	must[tenet.Verdict](t)(e.Remember(t.Context(), e.app, quoting(tenet.Fact(bob, "home_city", "Oslo"))))
	s := must[*memory.Session](t)(e.Session(t.Context(), e.app, scope(t, "carl"), "only-a-session"))
	must[[]tenet.Message](t)(s.Append(t.Context(), tenet.UserMessage("I am here.")))
	whole := scope(t, "tenant")
	var file bytes.Buffer
	out := must[memory.Exported](t)(e.Export(t.Context(), e.op, whole, true, &file))
	if out.Parts != 3 {
		t.Errorf("%+v", out)
	}
	n := mover(t, b, 1)
	n.clock.Store(e.clock.Load())
	if got := n.bring(t, file.Bytes()); got.Parts != 3 || got.Sessions != 3 || len(got.Refused) != 0 {
		t.Errorf("%+v", got)
	}
	var back bytes.Buffer
	must[memory.Exported](t)(n.Export(t.Context(), n.op, whole, true, &back))
	differ(t, "the tenant", back.String(), file.String())
	// A part cannot be taken out, and a narrowed operator brings nobody else back.
	lines := bytes.SplitAfter(file.Bytes(), []byte("\n"))
	for i, l := range lines {
		if i > 0 && bytes.HasPrefix(l, []byte(`{"line":"header"`)) {
			_, err := mover(t, b, 1).Import(t.Context(), e.op, bytes.NewReader(bytes.Join(append(append([][]byte{}, lines[:i]...), lines[len(lines)-2]), nil)), "")
			wantKind(t, err, tenet.Invalid)
		}
	}
	_, err := mover(t, b, 1).Import(t.Context(), e.op.For(tenet.User("bob")), bytes.NewReader(file.Bytes()), "")
	wantKind(t, err, tenet.Denied)
}

func TestAReportQuotesAndNeverCarriesOut(t *testing.T) {
	t.Parallel()
	e := mover(t, sqliteOnly(), 1)
	e.live(t)
	ctx := t.Context()
	for i, text := range []string{
		"```\n# Heading\n[click](https://evil.example/x) ````` <script>alert(1)</script>", "hidden \u202e\u2066 turned\u200b", "JavaScript:alert(1) DATA:text/html,x",
		"line\n\n## Erased\n\nNothing was erased from this memory.",
	} {
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, tenet.SessionID(fmt.Sprintf("evil `%d", i))))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage(text)))
	}
	var b bytes.Buffer
	if err := e.Report(ctx, e.op, e.sarah, &b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"## Facts that hold now", "そば", "severe shellfish allergy", "operator:olga", "## Conversations", "1 erasures", "End of report.\n", "\\u{202E}", "[:]//evil.example", "javascript[:]alert", "data[:]text"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, never := range []string{"\u202e", "\u2066", "https://", "zebra", "JavaScript:", "DATA:"} {
		if strings.Contains(text, never) {
			t.Errorf("the report holds %q", never)
		}
	}
	// Outside of fences nothing is a heading, a link or HTML that somebody said.
	fence, headings := "", 0
	for l := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimLeft(l, " ")
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && bare == ticks+"text":
			fence = ticks
		case fence != "" && bare == fence:
			fence = ""
		case fence == "":
			if strings.HasPrefix(l, "## ") {
				headings++
			}
			if strings.Contains(l, "<script>") || strings.Contains(l, "](") || strings.HasPrefix(bare, "# Heading") {
				t.Errorf("outside of a fence: %q", l)
			}
		}
	}
	if fence != "" || headings != 10 {
		t.Errorf("a fence was left open, or there are %d sections", headings)
	}
}
