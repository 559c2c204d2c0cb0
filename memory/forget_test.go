package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/forget"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

const day = 24 * time.Hour

// note remembers a note in the user's words and returns its record.
func (e *engine) note(t *testing.T, text string) tenet.RecordID {
	t.Helper()
	v, err := e.Remember(t.Context(), e.app, tenet.Note(e.sarah, text).Quoting(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.Record
}

// mundane are twenty notes that nobody will miss.
func (e *engine) mundane(t *testing.T) []tenet.RecordID {
	t.Helper()
	var ids []tenet.RecordID
	for i := range 20 {
		ids = append(ids, e.note(t, fmt.Sprintf("The report of project Aurora number %d had %d pages and a grey cover.", i, 40+i)))
	}
	return ids
}

func (e *engine) sweep(t *testing.T, dry bool) memory.ForgetReport {
	t.Helper()
	rep, err := e.Forget(t.Context(), e.op, e.sarah, dry)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func (e *engine) found(t *testing.T, query string, o memory.RecallOptions) []memory.Recalled {
	t.Helper()
	f, err := e.Recall(t.Context(), e.app, query, o, e.sarah)
	if err != nil {
		t.Fatal(err)
	}
	return f.Hits
}

func hitIDs(hs []memory.Recalled) []tenet.RecordID {
	var ids []tenet.RecordID
	for _, h := range hs {
		ids = append(ids, h.ID)
		for _, s := range h.Similar {
			ids = append(ids, tenet.RecordID(s))
		}
	}
	return ids
}

// TestTheMundaneLeaveAndTheImportantStays is the article's exercise through the
// engine: one important and twenty mundane entries under a small budget.
func TestTheMundaneLeaveAndTheImportantStays(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) { c.EntryBudget = 10 })
		important := e.note(t, "I promise to deliver the Aurora report to Lisbon.")
		mundane := e.mundane(t)
		before := e.found(t, "Aurora report", memory.RecallOptions{K: 10})
		if len(before) != 10 {
			t.Fatalf("%d hits before", len(before))
		}

		e.advance(120 * day)
		if rep := e.sweep(t, false); !rep.OverBudget || rep.Reasons[forget.Sleeps] != 0 {
			t.Fatalf("one sweep is not enough: %+v", rep.Reasons)
		}
		e.advance(25 * time.Hour)
		head := e.head(t)
		dry := e.sweep(t, true)
		if e.head(t) != head || !dry.DryRun {
			t.Error("a dry run wrote something")
		}
		rep := e.sweep(t, false)
		if len(rep.Changes) != 20 || len(dry.Changes) != 20 || rep.Reasons[forget.Sleeps] != 20 {
			t.Fatalf("changes %d, dry %d, reasons %v", len(rep.Changes), len(dry.Changes), rep.Reasons)
		}
		if is := e.head(t); is.Text != head.Text || is.Audit != head.Audit+1 || is.Sleep == head.Sleep {
			t.Errorf("the sweep moved %+v to %+v", head, is)
		}

		if got := hitIDs(e.found(t, "Aurora report", memory.RecallOptions{K: 10})); !slices.Equal(got, []tenet.RecordID{important}) {
			t.Errorf("served %v, want the important one alone", got)
		}
		all := e.found(t, "Aurora report", memory.RecallOptions{K: 50, Dormant: true})
		if got := hitIDs(all); len(got) != 21 {
			t.Errorf("asked for, %d are there, want all 21", len(got))
		}
		for what, q := range map[string]string{
			"a quote": `"project Aurora number 7 had 47 pages"`, "the id": string(mundane[7]),
		} {
			hs := e.found(t, q, memory.RecallOptions{K: 3})
			if len(hs) == 0 || hs[0].ID != mundane[7] || !hs[0].Dormant {
				t.Errorf("%s does not reach the dormant entry, marked: %+v", what, hs)
			}
		}
		op, err := e.Operator(e.op, e.sarah)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range mundane { // suppressed, not deleted
			if r, ev, err := op.Record(t.Context(), id); err != nil || r.Text == "" || !r.Known.Open() || len(ev) == 0 {
				t.Errorf("%s: %+v %v", id, r, err)
			}
		}
		if v, err := op.Verify(t.Context()); err != nil || !v.OK() {
			t.Errorf("%+v %v", v, err)
		}
	})
}

func (e *engine) head(t *testing.T) store.Head {
	t.Helper()
	h, err := e.ledger.Head(t.Context(), e.sarah)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// sweeps twice, a day apart, and returns what is dormant.
func (e *engine) twice(t *testing.T) []tenet.RecordID {
	t.Helper()
	e.sweep(t, false)
	e.advance(25 * time.Hour)
	e.sweep(t, false)
	ids, err := e.ledger.(store.Retention).Sleeping(t.Context(), e.sarah)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestUsersWhoReportNothingLoseNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		e.mundane(t)
		e.advance(400 * day)
		if ids := e.twice(t); len(ids) != 0 {
			t.Errorf("%d entries are dormant in a scope under its budget", len(ids))
		}
	})
}

func TestTwoSignalsAreNeeded(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, func(c *memory.Config) { c.EntryBudget = 10 })
		ids := e.mundane(t)
		failing, served, pinned := ids[0], ids[1], ids[2]
		e.advance(120 * day)
		for range 6 {
			if err := e.Outcomes(t.Context(), e.app, e.sarah, []tenet.RecordID{failing}, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Pin(t.Context(), e.app, e.sarah, pinned, true); err != nil {
			t.Fatal(err)
		}
		s, err := e.Session(t.Context(), e.app, e.sarah, "asks")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recall(t.Context(), string(served), memory.RecallOptions{K: 1}); err != nil {
			t.Fatal(err)
		}
		got := e.twice(t)
		if len(got) != 18 || slices.Contains(got, served) || slices.Contains(got, pinned) || !slices.Contains(got, failing) {
			t.Errorf("dormant %v; served %s and pinned %s must not be, failing %s must", got, served, pinned, failing)
		}

		// Success wakes; being recalled does not.
		woken, other := ids[5], ids[6]
		if err := e.Outcomes(t.Context(), e.app, e.sarah, []tenet.RecordID{woken}, true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recall(t.Context(), string(other), memory.RecallOptions{K: 1}); err != nil {
			t.Fatal(err)
		}
		e.advance(25 * time.Hour)
		rep := e.sweep(t, false)
		if rep.Reasons[forget.Wakes] != 1 || len(rep.Changes) != 1 || rep.Changes[0].ID != woken {
			t.Errorf("woken: %+v", rep.Changes)
		}
		if hs := e.found(t, `"project Aurora number 5 had 45 pages"`, memory.RecallOptions{K: 1}); len(hs) != 1 || hs[0].Dormant {
			t.Errorf("the woken entry: %+v", hs)
		}
		if err := e.Pin(t.Context(), e.app, e.sarah, other, true); err != nil {
			t.Fatal(err)
		}
		if hs := e.found(t, `"project Aurora number 6 had 46 pages"`, memory.RecallOptions{K: 1}); len(hs) != 1 || hs[0].Dormant {
			t.Errorf("the entry pinned while it slept: %+v", hs)
		}
	})
}

func TestFailuresCountUnderTheBudgetToo(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		ids := e.mundane(t)
		e.advance(120 * day)
		for range 6 {
			if err := e.Outcomes(t.Context(), e.app, e.sarah, ids[:1], false); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.twice(t); !slices.Equal(got, ids[:1]) {
			t.Errorf("dormant %v, want the failing one", got)
		}
	})
}

func TestWhoMayReportOutcomes(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		id := e.note(t, "I like tea.")
		var many []tenet.RecordID
		for i := range 1001 {
			many = append(many, tenet.RecordID(fmt.Sprint(i)))
		}
		for kind, want := range map[tenet.PrincipalKind]tenet.Kind{tenet.Agent: tenet.Denied, tenet.Connector: tenet.Denied, tenet.Admin: tenet.Denied} {
			if err := e.Outcomes(t.Context(), principal(t, kind, "x"), e.sarah, []tenet.RecordID{id}, true); tenet.KindOf(err) != want {
				t.Errorf("%v: %v", kind, err)
			}
		}
		for what, c := range map[string]struct {
			ids  []tenet.RecordID
			want tenet.Kind
		}{
			"none":          {nil, tenet.Invalid},
			"too many":      {many, tenet.Invalid},
			"one is not":    {[]tenet.RecordID{id, "nobody"}, tenet.NotFound},
			"another scope": {[]tenet.RecordID{"elsewhere"}, tenet.NotFound},
		} {
			was := e.head(t)
			if err := e.Outcomes(t.Context(), e.app, e.sarah, c.ids, true); err == nil || tenet.KindOf(err) != c.want {
				t.Errorf("%s: %v, want %v", what, err, c.want)
			}
			if e.head(t) != was {
				t.Errorf("%s: something was written", what)
			}
		}
		if _, err := e.Forget(t.Context(), e.app, e.sarah, false); tenet.KindOf(err) != tenet.Denied {
			t.Errorf("an app sweeps: %v", err)
		}
	})
}

func TestTheWorkerSweepsOnceADay(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		e := newEngine(t, b, nil)
		e.note(t, "I like tea.")
		for i, want := range []bool{true, false} {
			if _, did, err := e.ForgetOnce(t.Context()); err != nil || did != want {
				t.Errorf("sweep %d: %v %v", i, did, err)
			}
		}
		e.advance(25 * time.Hour)
		if _, did, err := e.ForgetOnce(t.Context()); err != nil || !did {
			t.Errorf("a day later: %v %v", did, err)
		}
	})
}
