package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
)

// objecting is a rule of later days: it rejects or holds texts that hold a word.
type objecting struct{ reject, hold string }

func (o objecting) Version() string { return "later " + o.reject + o.hold }
func (o objecting) Check(p gate.Proposal) []gate.Finding {
	f := gate.Finding{Finding: tenet.Finding{Check: "later", Code: "LATER"}}
	f.Reject = o.reject != "" && containsFold(p.Candidate.Text, o.reject)
	f.Hold = o.hold != "" && containsFold(p.Candidate.Text, o.hold)
	f.Mask = f.Reject
	if f.Hold || f.Reject {
		return []gate.Finding{f}
	}
	return nil
}

// Later rules are held against what is stored: shown first, then taken out of
// belief, one audited decision a record, and released again on an operator's word.
func TestRescanTakesOutWhatLaterRulesWouldNotLetIn(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		g := gate.New(nil)
		e := newEngine(t, b, func(c *memory.Config) { c.Gate = g })
		bird := must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "project", "Bluebird ships in May"))))
		door := must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "The gate opens with 4711."))))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "seat", "aisle"))))
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		if x := must[memory.Rescan](t)(op.Rescan(ctx, "", true)); len(x.Flips) != 0 || x.Judged != 3 || x.Withdrew != 0 {
			t.Errorf("the same rules: %+v", x)
		}
		g.Adopt(gate.New([]gate.Rule{objecting{hold: "bluebird", reject: "4711"}}))
		e.advance(time.Minute)
		before := must[[]tenet.AuditEntry](t)(op.Audit(ctx, 1, 100))
		dry := must[memory.Rescan](t)(op.Rescan(ctx, "", false))
		if len(dry.Flips) != 2 || dry.Withdrew != 0 || dry.RuleSet != g.RuleSet() {
			t.Errorf("a dry run: %+v", dry)
		}
		if es := must[[]tenet.AuditEntry](t)(op.Audit(ctx, 1, 100)); len(es) != len(before) {
			t.Error("a dry run wrote")
		}
		done := must[memory.Rescan](t)(op.Rescan(ctx, "new rules", true))
		if done.Withdrew != 2 {
			t.Errorf("%+v", done)
		}
		es := must[[]tenet.AuditEntry](t)(op.Audit(ctx, 1, 100))
		if n := len(es) - len(before); n != 2 || es[len(es)-1].Why != "new rules" || !slices.Contains(es[len(es)-1].Codes, tenet.CodeRescanned) {
			t.Errorf("%d entries for two records: %+v", n, es[len(before):])
		}
		for id, want := range map[tenet.RecordID]tenet.Outcome{bird.Record: tenet.Quarantined, door.Record: tenet.Rejected} {
			r, _, err := op.Record(ctx, id)
			if err != nil || r.Closed != tenet.ClosedRevoked {
				t.Errorf("%s: %v %v", id, r.Closed, err)
			}
			i := slices.IndexFunc(done.Flips, func(x memory.Rescanned) bool { return x.Record.ID == id })
			if i < 0 || done.Flips[i].Now.Outcome != want {
				t.Errorf("%s: %+v", id, done.Flips)
			}
		}
		if got := texts(must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah))); !slices.Equal(got, []string{"seat=aisle"}) {
			t.Errorf("believed after: %v", got)
		}
		for _, h := range must[[]tenet.Held](t)(op.Held(ctx, "", 10)) {
			switch {
			case h.State == tenet.HoldRefused && h.Candidate.Text != "[LATER]":
				t.Errorf("the log keeps %q", h.Candidate.Text)
			case h.State == tenet.HoldOpen:
				v := must[tenet.Verdict](t)(op.Release(ctx, h.Verdict.Candidate))
				if v.Label != tenet.LabelOperator {
					t.Errorf("released: %+v", v)
				}
			}
		}
		if got := texts(must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah))); !slices.Equal(got, []string{"project=Bluebird ships in May", "seat=aisle"}) {
			t.Errorf("after the release: %v", got)
		}
		if x := must[memory.Rescan](t)(op.Rescan(ctx, "", true)); len(x.Flips) != 0 {
			t.Errorf("what an operator released is held again: %+v", x.Flips)
		}
		e.verified(t)
		_, err := e.Operator(e.app, e.sarah)
		wantKind(t, err, tenet.Denied)
		_, _, err = g.Rescan(e.app, tenet.Record{Scope: e.sarah}, "x", "", e.now())
		wantKind(t, err, tenet.Denied)
	})
}

// A connector's word grows old: it is shown as due, kept, and supports no
// action until it is said again. The user's word does not, unless its key says so.
func TestOldWordsAreDueForRevalidation(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, func(c *memory.Config) {
			c.Gate = gate.New(nil, gate.WithKeys("1", func(key string) (gate.KeySpec, bool) {
				if key == "job" {
					return gate.KeySpec{Revalidate: 24 * time.Hour}, true
				}
				return gate.KeySpec{}, false
			}))
			c.SessionTTL = 365 * 24 * time.Hour
		})
		crm := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Connector, "acme", "crm"))
		crm = crm.Owning("plan")
		tool := func() tenet.Verdict {
			return must[tenet.Verdict](t)(e.Remember(ctx, crm, quoting(tenet.Fact(e.sarah, "plan", "gold"))))
		}
		plan := tool()
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "job", "nurse"))))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "seat", "aisle"))))
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		state := func() (due []string, block string, answer memory.Authorization) {
			for _, f := range must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah)) {
				if f.Stale {
					due = append(due, f.Key)
				}
				if f.Stale != (!f.RevalidateAfter.IsZero() && !e.now().Before(f.RevalidateAfter)) {
					t.Errorf("%s: stale %v, after %v", f.Key, f.Stale, f.RevalidateAfter)
				}
			}
			w := must[memory.Window](t)(s.Context(ctx, "", memory.Budget{}))
			return due, w.System, must[memory.Authorization](t)(s.Authorize(ctx, "outbound_message", plan.Record))
		}
		if due, block, a := state(); len(due) != 0 || containsFold(block, "due to be confirmed") || a.Answer != memory.AnswerAllow {
			t.Errorf("fresh: %v %+v\n%s", due, a, block)
		}
		e.advance(25 * time.Hour)
		if due, _, _ := state(); !slices.Equal(due, []string{"job"}) {
			t.Errorf("a day later: %v", due)
		}
		e.advance(90 * 24 * time.Hour)
		due, block, a := state()
		if !slices.Equal(due, []string{"job", "plan"}) || !containsFold(block, "plan: gold [attested_tool, since") || !containsFold(block, "due to be confirmed again]") ||
			a.Answer != memory.AnswerConfirm || a.Reasons[0].Code != memory.CodeStale {
			t.Errorf("after three months: %v %+v\n%s", due, a, block)
		}
		if v := tool(); v.Outcome != tenet.Corroborated {
			t.Errorf("said again: %v", v.Outcome)
		}
		if due, _, a := state(); !slices.Equal(due, []string{"job"}) || a.Answer != memory.AnswerAllow {
			t.Errorf("after it was said again: %v %+v", due, a)
		}
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "plan", "silver"))))
		if _, _, a := state(); a.Answer != memory.AnswerConfirm || a.Reasons[0].Code != memory.CodeNotCurrent {
			t.Errorf("what was superseded supports an action: %+v", a)
		}
		e.verified(t)
	})
}

func containsFold(s, word string) bool { return strings.Contains(strings.ToLower(s), word) }
