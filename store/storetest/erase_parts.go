package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// aStateThatHoldsItGoes: whatever its length, for long ones are packed.
func aStateThatHoldsItGoes(t testing.TB, r *eraseRig) {
	const text = "I have a severe shellfish allergy"
	r.say("chat", "m1", text, "app:test")
	other := strings.Repeat("You have a severe cold, and shellfish, allergy or not. I have been told. ", 40) // text's words, so that a packed text has it in parts
	for i, state := range []string{text, other, other + text, strings.Repeat(text+". ", 40), other + other} {
		must(t, r.db.PutCheckpoint(ctx, r.scope, tenet.Checkpoint{Session: "chat", Version: int64(i) + 1, State: []byte(state), At: r.now}, 0, 10))
	}
	r.gone(gate.Selection{Message: "m1"})
	ks, err := r.db.Checkpoints(ctx, r.scope, "chat", 0, 10)
	must(t, err)
	if len(ks) != 2 || string(ks[0].State) != other+other || string(ks[1].State) != other {
		t.Errorf("%d states are left, want the two that do not hold it", len(ks))
	}
}

func partsGo(t testing.TB, r *eraseRig) {
	for _, c := range []struct {
		name string
		of   gate.Selection
	}{
		{"record", gate.Selection{}},
		{"key", gate.Selection{Key: "city_" + mark}},
		{"message", gate.Selection{Message: "m-" + mark}},
		{"session", gate.Selection{Session: "chat-" + mark}},
		{"origin", gate.Selection{Origin: "app:test"}},
	} {
		r := r.on(tenet.User("part-" + c.name))
		r.fill("basil")
		r.fill(mark)
		r.verified()
		of := c.of
		if c.name == "record" {
			of.Record = r.history(tenet.TierFact, "allergy_"+mark)[0].ID
		}
		e := r.gone(of)
		if len(e.Counts) == 0 {
			t.Errorf("%s: nothing was counted", c.name)
		}
		v, err := r.l.Verify(ctx, r.scope)
		must(t, err)
		if !v.OK() {
			t.Errorf("after erasing a %s the chain does not verify: entry %d: %s", c.name, v.Bad, v.Why)
		}
		left, err := r.db.Residue(ctx, e.Journal)
		must(t, err)
		for place, n := range left {
			if n > 0 {
				t.Errorf("%s: residue in %s", c.name, place)
			}
		}
		ch, err := r.l.Changes(ctx, r.scope, 1)
		must(t, err)
		if !ch.Reset {
			t.Errorf("%s: an index that knew the texts is not told to forget them", c.name)
		}
		for _, rec := range ch.Added {
			if slices.Contains(e.Records, rec.ID) {
				t.Errorf("%s: recall still finds %s", c.name, rec.ID)
			}
		}
		if c.name != "origin" {
			same(t, c.name+": the other allergy", texts(r.history(tenet.TierFact, "allergy_basil")), []string{"allergic to basil"})
		}
		switch c.name {
		case "record", "message":
			same(t, c.name+": the erased one", len(r.history(tenet.TierFact, "allergy_"+mark)), 0)
			ms, err := r.db.Messages(ctx, r.scope, tenet.SessionID("chat-"+mark), 0, 10)
			must(t, err)
			if len(ms) == 0 || ms[0].Text != "" || !ms[0].RetainNone {
				t.Errorf("%s: the message that said it stands: %+v", c.name, ms)
			}
		case "key":
			same(t, "every version", len(r.history(tenet.TierFact, "city_"+mark)), 0)
		case "session":
			_, err := r.db.Messages(ctx, r.scope, tenet.SessionID("chat-"+mark), 0, 10)
			wantKind(t, "the session", err, tenet.NotFound)
			_, err = r.db.Ensure(ctx, r.scope, tenet.Session{ID: tenet.SessionID("chat-" + mark), Scope: r.scope, CreatedAt: r.now})
			wantKind(t, "a late Ensure", err, tenet.Conflict)
		case "origin":
			same(t, "what an agent filed", len(r.history(tenet.TierDocument, "/notes/basil.md")), 1)
		}
		r.keep(r.fact("color", "likes green")) // the ledger goes on
		r.verified()
		_, err = r.erase(of, store.EraseOptions{})
		if c.name == "record" || c.name == "key" {
			wantKind(t, c.name+" again", err, tenet.NotFound)
		}
		r.verified()
	}
}

func saidByOthersStays(t testing.TB, r *eraseRig) {
	one := r.say("one", "m1", "I am allergic to nuts.", "app:test")
	two := r.say("two", "m2", "I am allergic to nuts.", "app:test")
	first := tenet.Note(r.scope, "allergic to nuts")
	first.Speaker, first.Position = "Sarah "+mark, 7
	id := r.keep(r.citing(first, one)).Verdict.Record
	same(t, "whose words it keeps", r.record(id).Speaker, first.Speaker)
	r.keep(r.citing(tenet.Note(r.scope, "allergic to nuts"), two))
	r.keep(r.citing(tenet.Note(r.scope, "from session one only: allergic to nuts I am"), one))
	e := r.gone(gate.Selection{Session: "one"})
	same(t, "kept on the other's word", e.Kept, []tenet.RecordID{id})
	r.verified()
	rec := r.record(id)
	if len(rec.Origins) != 1 || rec.Origins[0].Message != "m2" || rec.Session != "two" || rec.Seen != 1 {
		t.Errorf("it rests on %+v, seen %d", rec.Origins, rec.Seen)
	}
	if rec.Speaker != "" || rec.Position != 0 {
		t.Errorf("it still names who said it first: %q at %d", rec.Speaker, rec.Position)
	}
	e = r.gone(gate.Selection{Session: "two"})
	same(t, "then nobody says it", e.Records, []tenet.RecordID{id})
	r.verified()
}

func lateWritersWriteNothing(t testing.TB, r *eraseRig) {
	m := r.say("chat", "m1", "I live in "+mark+".", "app:test")
	r.keep(r.fact("color", "green"))
	stage := func(session tenet.SessionID, m tenet.Message, id string, at time.Time) gate.Decision {
		c := tenet.Note(r.scope, "The user's town is "+mark).Citing(m.ID)
		c.ID = tenet.CandidateID(id)
		d, err := r.g.StageBatch(r.scope, gate.Staged{Session: session, To: 1, Since: m.RecordedAt, Cited: []tenet.Message{m}, Candidates: []tenet.Candidate{c}}, at)
		must(t, err)
		return d
	}
	late := func(id string) (gate.Case, gate.Decision) {
		c := r.citing(tenet.Note(r.scope, "A town called "+mark+" is where the user lives"), m)
		c.Candidate.ID = tenet.CandidateID(id)
		return c, r.blind(c)
	}
	// A message goes while a worker holds what it read.
	staged := stage("chat", m, "s1", r.now)
	k, d := late("late-1")
	r.gone(gate.Selection{Message: "m1"})
	r.apply(staged)
	_, cs, err := r.l.Staged(ctx, r.scope, "chat")
	must(t, err)
	same(t, "candidates staged of an erased message", len(cs), 0)
	as, err := r.l.Apply(ctx, []gate.Decision{d}, r.again(k))
	must(t, err)
	if as[0].Verdict.Outcome != tenet.Rejected || !slices.Contains(as[0].Verdict.Codes, tenet.CodeErased) {
		t.Errorf("a late candidate: %v %v", as[0].Verdict.Outcome, as[0].Verdict.Codes)
	}
	r.verified()

	// The same for the session, and for the whole subject.
	m = r.say("chat-2", "m2", "I live in "+mark+".", "app:test")
	staged = stage("chat-2", m, "s2", r.now)
	r.gone(gate.Selection{Session: "chat-2"})
	_, err = r.l.Apply(ctx, []gate.Decision{staged}, nil)
	wantKind(t, "staging of an erased session", err, tenet.Conflict)
	m = r.say("chat-3", "m3", "I live in "+mark+".", "app:test")
	lease, err := r.db.Lease(ctx, store.LeaseRequest{Worker: "w", Now: r.now, Until: r.now.Add(time.Hour), Scope: r.scope, Only: "chat-3"})
	must(t, err)
	staged = stage("chat-3", m, "s3", r.now.Add(time.Hour))
	k, d = late("late-3")
	fact := r.history(tenet.TierFact, "color")[0]
	end, err := r.g.Retract(gate.Change{By: r.app, Scope: r.scope, Target: fact, ID: "end", At: r.now})
	must(t, err)
	r.gone(gate.Selection{Subject: true})
	was := r.dump(t)
	_, err = r.l.Apply(ctx, []gate.Decision{staged}, nil)
	wantKind(t, "staging for an erased subject", err, tenet.Conflict)
	_, err = r.l.Apply(ctx, []gate.Decision{d}, r.again(k))
	wantKind(t, "a late candidate for an erased subject", err, tenet.Conflict)
	if _, err = r.l.Apply(ctx, []gate.Decision{end}, nil); err == nil {
		t.Error("a late retraction was written")
	}
	if err := r.db.Ack(ctx, *lease, store.Ack{Cursor: 1, Now: r.now}); err == nil {
		t.Error("a late acknowledgement was taken")
	}
	must(t, r.db.Place(ctx, r.scope, "space", []store.Vector{{Record: fact.ID, Values: []int8{1}}}))
	_, err = r.db.Append(ctx, r.scope, "chat-3", []tenet.Message{{ID: "m4", Role: tenet.RoleUser, Text: mark}}, time.Time{})
	wantKind(t, "a late append", err, tenet.NotFound)
	now := r.dump(t)
	delete(was, "spaces") // a model's name
	delete(now, "spaces")
	same(t, "rows after late writers", now, was)
}

// sessionElsewhereGoes is a session whose log another database keeps: this one
// has no name of it, and what came of it here goes all the same.
func sessionElsewhereGoes(t testing.TB, r *eraseRig) {
	m := tenet.Message{ID: "m1", Session: "far", Role: tenet.RoleUser, Text: "I am allergic to nuts.", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: r.now}
	near := r.say("near", "m2", "I sleep at nine.", "app:test")
	stays := r.citing(tenet.Note(r.scope, "sleeps at nine"), near)
	aside := m // quoted beside it, and no origin of it
	aside.ID, aside.Text = "m3", "And about "+mark
	stays.Evidence = append(stays.Evidence, aside)
	stays.Candidate.Cites = append(stays.Candidate.Cites, aside.ID)
	r.keep(stays)
	r.keep(r.citing(tenet.Note(r.scope, "allergic to nuts"), m))
	c := r.propose(r.agent, tenet.Fact(r.scope, "forged", "never "+mark))
	c.Candidate.Session = "far"
	if a := r.remember(c); a.Verdict.Outcome.Kept() {
		t.Fatal("nothing was held")
	}
	same(t, "what waits for a reviewer", len(r.held()), 1)
	r.gone(gate.Selection{Session: "far"})
	r.verified()
	same(t, "what is held of an erased session", len(r.held()), 0)
	if in := r.dump(t)["evidence"]; (Rows{"evidence": in}).holding(aside.Text) != nil {
		t.Error("the evidence still quotes an erased session")
	}
}

func onlyTheUserSaysItAgain(t testing.TB, r *eraseRig) {
	say := func(p tenet.Principal, text string) tenet.Verdict {
		return r.remember(r.propose(p, tenet.Note(r.scope, text))).Verdict
	}
	connector := principal(t, tenet.Connector, "acme")
	for _, of := range []string{"record", "subject"} {
		text := "allergic to " + mark + " and more " + of
		id := r.keep(r.note(text)).Verdict.Record
		head := r.head()
		if of == "record" {
			r.gone(gate.Selection{Record: id})
		} else {
			r.gone(gate.Selection{Subject: true})
		}
		old := r.citing(tenet.Note(r.scope, "Other words of "+mark+" before"), tenet.Message{ID: "old-" + tenet.MessageID(of), Role: tenet.RoleUser, Text: "Other words of " + mark + " before", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: r.now.Add(-time.Hour)})
		if of == "subject" { // evidence from before, as an import brings it
			_, err := r.l.Apply(ctx, []gate.Decision{r.blind(old)}, r.again(old))
			wantKind(t, "old evidence of an erased subject", err, tenet.Conflict)
		}
		if v := say(r.app, text); v.Outcome != tenet.Stored || !slices.Contains(v.Codes, tenet.CodeRestated) {
			t.Errorf("%s: the user says it again: %v %v", of, v.Outcome, v.Codes)
		}
		if h := r.head(); h.Text <= head.Text {
			t.Errorf("%s: Text stands at %d after %d: an old index would think itself current", of, h.Text, head.Text)
		}
		v := say(connector, text)
		if v.Outcome != tenet.Rejected || !slices.Contains(v.Codes, tenet.CodeErased) {
			t.Errorf("%s: a connector says it again: %v %v", of, v.Outcome, v.Codes)
		}
		for _, h := range r.held() {
			if strings.Contains(h.Candidate.Text, mark) {
				t.Errorf("%s: the refusal log holds what was erased", of)
			}
		}
		if v := say(r.app, "Something new about "+of); v.Outcome != tenet.Stored {
			t.Errorf("%s: what is new: %v %v", of, v.Outcome, v.Codes)
		}
		r.verified()
	}
}

// Only what was decided before the erasure, or says again what it took, may be
// turned away.
func whoComesBackIsServed(t testing.TB, r *eraseRig) {
	r.keep(r.fact("color", "green"))
	r.gone(gate.Selection{Subject: true})
	r.now = r.now.Add(time.Hour)
	m := r.say("chat", "m1", "I live in Bern.", "app:test")
	c := tenet.Note(r.scope, "The user lives in Bern.").Citing(m.ID)
	c.ID = "staged"
	stage, err := r.g.StageBatch(r.scope, gate.Staged{Session: "chat", To: 1, Since: r.now, Cited: []tenet.Message{m}, Candidates: []tenet.Candidate{c}}, r.now)
	must(t, err)
	r.apply(stage)
	_, cs, err := r.l.Staged(ctx, r.scope, "chat")
	must(t, err)
	same(t, "staged", len(cs), 1)

	id := r.keep(r.fact("color", "blue")).Verdict.Record
	color, err := r.l.Record(ctx, r.scope, id)
	must(t, err)
	end, err := r.g.End(gate.Change{By: r.app, Scope: r.scope, Target: color, ID: "end", At: r.now.Add(time.Minute)})
	must(t, err)
	r.apply(end)
	same(t, "facts", texts(r.facts(tenet.AsOf{Valid: r.now.Add(time.Hour)})), []string(nil))
	town, err := r.l.Record(ctx, r.scope, r.keep(r.fact("town", "Bern")).Verdict.Record)
	must(t, err)
	retract, err := r.g.Retract(gate.Change{By: r.app, Scope: r.scope, Target: town, ID: "retract", At: r.now})
	must(t, err)
	r.apply(retract)
	r.freeze("case 4711")
	r.thaw("settled")
	r.verified()
}
