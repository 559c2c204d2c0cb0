package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

func (e *engine) believed(t *testing.T) []string {
	t.Helper()
	rs, total, err := e.Believed(t.Context(), e.app, e.sarah, 0, 1000)
	if err != nil || total != len(rs) {
		t.Fatalf("%d of %d, %v", len(rs), total, err)
	}
	var out []string
	for _, r := range rs {
		out = append(out, r.Text)
	}
	return out
}

// What is listed is what holds now, page by page the same as at once; ended
// facts, documents and other people's are not among it.
func TestWhatIsBelievedIsListedInPages(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		var want []string
		for i := range 7 {
			text := fmt.Sprintf("I own %d boats.", i+2)
			must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, text))))
			want = append(want, text)
		}
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "seat", "Aisle"))))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "pet", "A cat"))))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(scope(t, "bob"), "I am Bob."))))
		must[tenet.Document](t)(e.PutDocument(ctx, e.app, e.sarah, memory.DocumentPut{Path: "a.md", Text: "a file"}))
		e.advance(time.Hour)
		if err := e.End(ctx, e.app, memory.Change{Scope: e.sarah, Key: "pet"}); err != nil {
			t.Fatal(err)
		}
		e.advance(time.Hour)
		want = append(want, "Aisle")
		if got := e.believed(t); !slices.Equal(got, want) {
			t.Errorf("believed: %v, want %v", got, want)
		}
		var paged []string
		for skip := 0; ; skip += 3 {
			rs, total, err := e.Believed(ctx, e.app, e.sarah, skip, 3)
			if err != nil || total != len(want) {
				t.Fatalf("%d, %v", total, err)
			}
			if len(rs) == 0 {
				break
			}
			for _, r := range rs {
				paged = append(paged, r.Text)
			}
		}
		if !slices.Equal(paged, want) {
			t.Errorf("in pages: %v, want %v", paged, want)
		}
		for _, bad := range [][2]int{{0, 0}, {-1, 5}, {0, -1}} {
			_, _, err := e.Believed(ctx, e.app, e.sarah, bad[0], bad[1])
			wantKind(t, err, tenet.Invalid)
		}
		_, _, err := e.Believed(ctx, e.app, scope(t, "globex/sarah"), 0, 5)
		wantKind(t, err, tenet.Denied)
	})
}

// Other words take a record's place through the gate, in one transaction: what
// is refused changes nothing, and a lower label never takes a higher one's place.
func TestOtherWordsTakeARecordsPlaceThroughTheGate(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := governed(t, b, nil)
		note := must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "I like quiet hotels.")))).Record
		fact := must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Fact(e.sarah, "seat", "Aisle")))).Record
		e.advance(time.Hour)
		loud := must[tenet.Verdict](t)(e.Reword(ctx, e.app, e.sarah, note, "I like loud hotels."))
		if loud.Outcome != tenet.Superseded || loud.Replaced != note {
			t.Errorf("the note: %+v", loud)
		}
		window := must[tenet.Verdict](t)(e.Reword(ctx, e.app, e.sarah, fact, "Window"))
		if window.Outcome != tenet.Superseded || window.Replaced != fact {
			t.Errorf("the fact: %+v", window)
		}
		if got, want := e.believed(t), []string{"I like loud hotels.", "Window"}; !slices.Equal(got, want) {
			t.Errorf("believed: %v, want %v", got, want)
		}
		found := must[memory.Found](t)(e.Recall(ctx, e.app, "hotels", memory.RecallOptions{}, e.sarah))
		if len(found.Hits) != 1 || found.Hits[0].Text != "I like loud hotels." {
			t.Errorf("recalled: %+v", found.Hits)
		}
		for _, id := range []tenet.RecordID{note, loud.Record} { // either id leads to what stands
			if r := must[tenet.Record](t)(e.Standing(ctx, e.app, e.sarah, id)); r.ID != loud.Record {
				t.Errorf("%s stands for %s", r.ID, id)
			}
			line := must[[]tenet.Record](t)(e.Succession(ctx, e.app, e.sarah, id))
			if len(line) != 2 || line[0].ID != note || line[1].ID != loud.Record {
				t.Errorf("the succession from %s: %+v", id, line)
			}
		}

		_, err := e.Reword(ctx, e.app, e.sarah, note, "I like small hotels.")
		wantKind(t, err, tenet.Conflict)
		key := "My key is " + "AKIA" + "Z7QK2M5XRT4WNB6P" // a secret
		v, err := e.Reword(ctx, e.app, e.sarah, loud.Record, key)
		wantKind(t, err, tenet.Refused)
		if v.Outcome.Kept() || strings.Contains(err.Error(), "AKIA") {
			t.Errorf("a secret took a note's place: %+v, %v", v, err)
		}
		_, err = e.Reword(ctx, principal(t, tenet.Agent, "bot"), e.sarah, loud.Record, "I like cheap hotels.")
		wantKind(t, err, tenet.Denied)
		_, err = e.Reword(ctx, e.app, scope(t, "globex/sarah"), loud.Record, "I am another.")
		wantKind(t, err, tenet.Denied)
		_, err = e.Reword(ctx, e.app, e.sarah, "none", "I am nobody.")
		wantKind(t, err, tenet.NotFound)
		_, err = e.Reword(ctx, e.app, e.sarah, loud.Record, "")
		if err == nil {
			t.Error("no words took a note's place")
		}
		high := must[tenet.Verdict](t)(e.Remember(ctx, e.op, quoting(tenet.Note(e.sarah, "The account is under review.")))).Record
		v, err = e.Reword(ctx, e.app, e.sarah, high, "The account is fine.")
		wantKind(t, err, tenet.Refused)
		if v.Outcome != tenet.Quarantined || !slices.Contains(v.Codes, tenet.CodeLowerIntegrity) {
			t.Errorf("a lower label took a higher one's place: %+v", v)
		}
		if got, want := e.believed(t), []string{"I like loud hotels.", "Window", "The account is under review."}; !slices.Equal(got, want) {
			t.Errorf("after what was refused: %v, want %v", got, want)
		}

		if err := e.Retract(ctx, e.app, memory.Change{Scope: e.sarah, Record: loud.Record}); err != nil {
			t.Fatal(err)
		}
		_, err = e.Standing(ctx, e.app, e.sarah, note)
		wantKind(t, err, tenet.NotFound)
		e.verified(t)
	})
}

// A turn that was consolidated is replaced by a note; taking the note's source
// back puts back what it replaced.
func TestWhatATaintedNoteReplacedComesBack(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
		must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("The roof leaks.")))
		turn := must[memory.Report](t)(s.End(ctx)).Verdicts[0].Record
		e.advance(time.Hour)
		bad := principal(t, tenet.App, "intruder")
		v := must[tenet.Verdict](t)(e.Reword(ctx, bad, e.sarah, turn, "The roof is fine."))
		if r := must[tenet.Record](t)(e.Record(ctx, e.app, e.sarah, v.Record)); r.Tier != tenet.TierNote || r.Supersedes != turn {
			t.Errorf("what took the turn's place: %+v", r)
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		must[memory.Taint](t)(op.Revoke(ctx, memory.Source{Origin: bad.String()}, "stolen key"))
		if got := e.believed(t); !slices.Equal(got, []string{"The roof leaks."}) {
			t.Errorf("after the revocation: %v", got)
		}
		e.verified(t)
	})
}

// Everything of a person is retracted at once, over as many batches as it takes:
// what has a higher label stays and is counted, other people and documents are
// not touched, history keeps all.
func TestAllOfAPersonsMemoryIsRetracted(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		for i := range 230 {
			must[tenet.Verdict](t)(e.Remember(ctx, e.op, quoting(tenet.Note(e.sarah, fmt.Sprintf("Ticket %d was closed.", i)))))
		}
		for i := range 4 {
			e.advance(time.Hour)
			must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, fmt.Sprintf("I own %d boats.", i+2)))))
		}
		trip := quoting(tenet.Fact(e.sarah, "trip", "Lisbon"))
		trip.Valid.From = e.now().Add(24 * time.Hour) // not true yet, and to be taken back all the same
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, trip))
		must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(scope(t, "bob"), "I am Bob."))))
		must[tenet.Document](t)(e.PutDocument(ctx, e.app, e.sarah, memory.DocumentPut{Path: "a.md", Text: "a file"}))

		if got := must[memory.Retracted](t)(e.RetractAll(ctx, e.app, e.sarah, "asked")); got != (memory.Retracted{Retracted: 5, Refused: 230}) {
			t.Errorf("the app's: %+v", got)
		}
		if got := must[memory.Retracted](t)(e.RetractAll(ctx, e.op, e.sarah, "asked")); got != (memory.Retracted{Retracted: 230}) {
			t.Errorf("the operator's: %+v", got)
		}
		e.advance(48 * time.Hour)
		if got := e.believed(t); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
		if h := must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "trip")); len(h) != 1 || h[0].Closed != tenet.ClosedRetracted || h[0].Text != "Lisbon" {
			t.Errorf("history: %+v", h)
		}
		must[tenet.Document](t)(e.Document(ctx, e.app, e.sarah, "a.md"))
		if rs, _, err := e.Believed(ctx, e.app, scope(t, "bob"), 0, 5); err != nil || len(rs) != 1 {
			t.Errorf("Bob's: %v, %v", rs, err)
		}
		for _, who := range []tenet.Principal{principal(t, tenet.Agent, "bot"), principal(t, tenet.Connector, "crm")} {
			must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "I came back by "+who.String()+"."))))
			_, err := e.RetractAll(ctx, who, e.sarah, "")
			wantKind(t, err, tenet.Denied)
		}
		_, err := e.RetractAll(ctx, e.app, scope(t, "globex/sarah"), "")
		wantKind(t, err, tenet.Denied)
		e.verified(t)
	})
}

func TestAnOperatorListsThePeopleOfTheTenant(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		e := newEngine(t, b, nil)
		for _, who := range []string{"sarah", "bob", "project:atlas", "zoe"} {
			must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(scope(t, who), "I am here."))))
		}
		op := must[*memory.Operator](t)(e.Operator(e.op, scope(t, "tenant")))
		all, total, err := op.Users(ctx, 0, 10)
		if err != nil || total != 3 || !slices.Equal(slices.Sorted(slices.Values(all)), []string{"bob", "sarah", "zoe"}) {
			t.Errorf("all: %v of %d, %v", all, total, err)
		}
		second, total, err := op.Users(ctx, 1, 1)
		if err != nil || total != 3 || !slices.Equal(second, all[1:2]) {
			t.Errorf("the second: %v of %d, %v", second, total, err)
		}
	})
}
