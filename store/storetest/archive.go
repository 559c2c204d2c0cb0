package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var archiveClauses = []clause{
	{"ThePastComesBackAsItWas", pastComesBack},
	{"ThePastIsReadInPages", pastInPages},
	{"ReadmissionOnlyGoesOnWhereThePastEnds", readmissionGoesOn},
	{"WhatWasErasedSinceIsNotReadmitted", erasedIsNotReadmitted},
}

var sessionArchiveClauses = []clause{
	{"AWholeSessionComesBackAsItWas", wholeSessionComesBack},
	{"SessionsAreListedByTheirIds", sessionsByIDs},
	{"ALongSessionComesBackWhole", longSessionComesBack},
	{"ASessionIsTakenOutAtOneMoment", sessionAtOneMoment},
	{"PuttingBackTakesNothingThatIsThere", puttingBackTakesNothing},
}

// past is everything that Past tells of the rig's scope.
func (r *rig) past(l store.Ledger, page int) []gate.Plan {
	r.Helper()
	var out []gate.Plan
	for after := uint64(0); ; {
		ps, last, err := l.(store.Archive).Past(ctx, r.scope, after, page)
		must(r.TB, err)
		out = append(out, ps...)
		if last == after {
			return out
		}
		after = last
	}
}

// busy gives the rig's scope a past of most kinds.
func (r *rig) busy() {
	r.keep(r.fact("home_city", "Berlin"))
	second := r.keep(r.fact("home_city", "Paris"))
	r.keep(from(r.fact("home_city", "Rome"), day(2024, 1, 1), time.Time{}))
	noted := r.keep(r.note("Sarah likes tea."))
	r.remember(r.note("Sarah likes tea."))
	r.keep(r.document("a.md", "one"))
	r.keep(r.document("a.md", "two"))
	brief := r.episode("I like tea.")
	brief.ExpiresAt = r.now.Add(time.Hour)
	spoken := r.keep(brief)
	for _, city := range []string{"Oslo", "Lima"} {
		r.remember(r.propose(r.agent, tenet.Fact(r.scope, "home_city", city)))
	}
	discard, err := r.g.Discard(r.operator, r.scope, r.held()[0], "no", r.now)
	must(r.TB, err)
	r.apply(discard)
	end, err := r.g.End(gate.Change{By: r.app, Scope: r.scope, Target: r.record(second.Verdict.Record), ID: "end-1", To: r.now.Add(time.Minute), At: r.now})
	must(r.TB, err)
	r.apply(end)
	credit, err := r.g.Credit(r.app, r.scope, gate.Tally{Records: []tenet.RecordID{noted.Verdict.Record}, Success: true}, r.now)
	must(r.TB, err)
	rest, err := r.g.Retain(r.scope, "sweep", []gate.Rest{{Record: noted.Verdict.Record, Pinned: true}}, "pin", r.now)
	must(r.TB, err)
	r.apply(credit, rest)
	c := tenet.Note(r.scope, "Sarah waits.").Citing("m1")
	c.ID, c.Session = "waits", "chat"
	m := tenet.UserMessage("Sarah waits.")
	m.ID, m.Session, m.Seq, m.Label, m.RecordedBy, m.RecordedAt = "m1", "chat", 3, tenet.LabelUserStated, "app:test", r.now
	staged, err := r.g.StageBatch(r.scope, gate.Staged{Session: "chat", To: 3, Since: r.now, Candidates: []tenet.Candidate{c}, Cited: []tenet.Message{m}}, r.now)
	must(r.TB, err)
	r.apply(staged)
	r.now = r.now.Add(2 * time.Hour)
	expire, err := r.g.ExpireText(r.scope, []tenet.Record{r.record(spoken.Verdict.Record)}, r.now)
	must(r.TB, err)
	r.apply(expire)
}

func (r *rig) readmit(ps []gate.Plan) []gate.Decision {
	r.Helper()
	var ds []gate.Decision
	for _, p := range ps {
		d, err := r.g.Readmit(r.operator, p)
		must(r.TB, err)
		ds = append(ds, d)
	}
	return ds
}

func pastComesBack(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.busy()
	was := r.past(r.l, 1000)
	there := rigOn(t, b.Ledger(t), r.scope, nil)
	there.now, there.n = r.now, r.n
	there.apply(there.readmit(was)...)
	same(t, "the past", there.past(there.l, 1000), was)
	same(t, "facts", there.facts(at(r.now)), r.facts(at(r.now)))
	same(t, "history", there.history(tenet.TierFact, "home_city"), r.history(tenet.TierFact, "home_city"))
	same(t, "documents", there.history(tenet.TierDocument, "a.md"), r.history(tenet.TierDocument, "a.md"))
	same(t, "held", there.held(), r.held())
	same(t, "head", there.head(), r.head())
	cursor, waiting, err := there.l.Staged(ctx, r.scope, "chat")
	must(t, err)
	if cursor != 3 || len(waiting) != 1 || waiting[0].ID != "waits" {
		t.Errorf("what was staged stands at %d: %+v", cursor, waiting)
	}
	there.verified()
	// And lives on: the verdict of what waited, and what was rejected before.
	there.keep(there.fact("employer", "Acme"))
	if v := there.remember(there.propose(there.agent, tenet.Fact(there.scope, "home_city", "Lima"))); v.Verdict.Outcome != tenet.Rejected {
		t.Errorf("what was discarded is %v in its new place", v.Verdict.Outcome)
	}
	there.verified()
}

func pastInPages(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.busy()
	whole := r.past(r.l, 1000)
	if forgot, err := r.l.(store.Archive).Forgot(ctx, r.scope); err != nil || forgot {
		t.Errorf("something was erased: %v, %v", forgot, err)
	}
	if len(whole) < 12 {
		t.Fatalf("a past of %d entries", len(whole))
	}
	for _, page := range []int{1, 2, 7} {
		same(t, "the past in pages", r.past(r.l, page), whole)
	}
	for _, other := range []tenet.Scope{mustScope(t, "acme", tenet.User("bob")), mustScope(t, "globex", tenet.User("sarah")), mustScope(t, "acme", tenet.Project("sarah"))} {
		if ps, last, err := r.l.(store.Archive).Past(ctx, other, 0, 10); err != nil || len(ps) != 0 || last != 0 {
			t.Errorf("the past of %s: %d entries, %v", other, len(ps), err)
		}
	}
	_, _, err := r.l.(store.Archive).Past(ctx, tenet.Scope{}, 0, 10)
	wantKind(t, "no scope", err, tenet.Invalid)
	_, _, err = r.l.(store.Archive).Past(ctx, r.scope, 0, 0)
	wantKind(t, "no limit", err, tenet.Invalid)
}

func readmissionGoesOn(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.busy()
	ds := r.readmit(r.past(r.l, 1000))
	there := rigOn(t, b.Ledger(t), r.scope, nil)
	there.apply(ds[:4]...)
	there.apply(ds[4:]...) // in parts
	was := there.head()
	for _, d := range ds {
		as, err := there.l.Apply(ctx, []gate.Decision{d}, nil)
		if err != nil {
			wantKind(t, "again", err, tenet.Conflict)
		} else if !as[0].Replayed {
			t.Errorf("a %s was carried out twice", d.Plan().Kind)
		}
		there.unchanged("readmitted twice", was)
	}
	there.verified()
}

func erasedIsNotReadmitted(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.note("Sarah likes tea."))
	r.now = r.now.Add(time.Hour)
	r.keep(r.note("Sarah likes trains."))
	ps := r.past(r.l, 1000)
	there := rigOn(t, b.Ledger(t), r.scope, nil)
	there.apply(there.readmit(ps[:1])...)
	bar, err := there.g.Bar(there.operator, there.scope, []gate.Tombstone{{Kind: gate.TombErased, Statement: gate.Fingerprint(tenet.Note(r.scope, "Sarah likes trains."))}}, "", ps[1].At.Add(-time.Minute))
	must(t, err)
	there.apply(bar)
	there.apply(there.readmit(ps[1:])...) // it was said after the erasure
	late := ps[1]
	late.Ref, late.Insert = "late", nil
	for _, rec := range ps[1].Insert {
		rec.ID = "late"
		late.Insert = append(late.Insert, rec)
	}
	bar, err = there.g.Bar(there.operator, there.scope, []gate.Tombstone{{Kind: gate.TombErased, Statement: gate.Fingerprint(tenet.Note(r.scope, "Sarah likes trains."))}}, "", ps[1].At.Add(time.Hour))
	must(t, err)
	there.apply(bar)
	late.At = ps[1].At.Add(30 * time.Minute)
	was := there.head()
	_, err = there.l.Apply(ctx, there.readmit([]gate.Plan{late}), nil)
	wantKind(t, "what was erased since", err, tenet.Conflict)
	there.unchanged("what was erased since", was)
}

func wholeSessionComesBack(t testing.TB, b Backend) {
	s, there := b.Sessions(t), b.Sessions(t)
	scope := mustScope(t, "acme", tenet.User("sarah"))
	now := day(2025, 3, 1)
	_, err := s.Ensure(ctx, scope, tenet.Session{ID: "chat/1", Scope: scope, Reads: []tenet.Scope{scope, mustScope(t, "acme", tenet.WholeTenant())}, TTL: time.Hour, CreatedAt: now})
	must(t, err)
	m := tenet.Message{
		ID: "m1", Role: tenet.RoleUser, Channel: tenet.ChannelPrefilled, Speaker: "Sarah", Text: "そば \u2028 <b>", SaidAt: now.Add(-time.Hour), ClientID: "c1",
		ToolCalls: []string{"a"}, ToolCallID: "b", RetainNone: true, Label: tenet.LabelExternal, RecordedBy: "app:test", RecordedAt: now,
	}
	n := tenet.Message{ID: "m2", Role: tenet.RoleTool, Text: "x", Label: tenet.LabelExternal, RecordedBy: "app:test", RecordedAt: now.Add(time.Second)}
	_, err = s.Append(ctx, scope, "chat/1", []tenet.Message{m, n}, now.Add(time.Minute))
	must(t, err)
	c := tenet.Note(scope, "a proposal")
	c.ID, c.ProposedBy, c.ProposedAt = "p1", "agent:test", now
	must(t, s.Propose(ctx, scope, "chat/1", c, now.Add(time.Minute)))
	must(t, s.Serve(ctx, scope, tenet.Receipt{ID: "r1", Session: "chat/1", At: now, Recalled: []tenet.RecordID{"a", "b"}, Lowest: tenet.LabelExternal, Tokens: 3}))
	was, err := s.(store.SessionArchive).Whole(ctx, scope, "chat/1")
	must(t, err)
	if len(was.Messages) != 2 || len(was.Receipts) != 1 || len(was.Proposals) != 1 || was.Length != 2 || len(was.Reads) != 2 {
		t.Fatalf("the whole is %+v", was)
	}
	must(t, there.(store.SessionArchive).PutBack(ctx, scope, was))
	is, err := there.(store.SessionArchive).Whole(ctx, scope, "chat/1")
	must(t, err)
	same(t, "the session", is, was)
	l, err := there.Lease(ctx, store.LeaseRequest{Worker: "w", Now: now.Add(2 * time.Minute), Until: now.Add(time.Hour), Scope: scope, Only: "chat/1"})
	must(t, err)
	if l == nil || len(l.Proposals) != 1 {
		t.Errorf("what was due is not: %+v", l)
	}
	more, err := there.Append(ctx, scope, "chat/1", []tenet.Message{{ID: "m3", Role: tenet.RoleUser, Text: "more", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: now.Add(time.Minute)}}, time.Time{})
	must(t, err)
	if more[0].Seq != 3 {
		t.Errorf("what comes next is message %d", more[0].Seq)
	}
}

func sessionsByIDs(t testing.TB, b Backend) {
	s := b.Sessions(t)
	scope, bob := mustScope(t, "acme", tenet.User("sarah")), mustScope(t, "acme", tenet.User("bob"))
	a := s.(store.SessionArchive)
	list, err := a.SessionsOf(ctx, scope, "", 10)
	if err != nil || len(list) != 0 {
		t.Errorf("the sessions of nobody: %+v, %v", list, err)
	}
	ids := []tenet.SessionID{"ä", "Z", "a", "a/1", "a0", "zz", "そば", "10", "9"}
	for i := range 290 { // more than are asked for at a time
		ids = append(ids, tenet.SessionID(fmt.Sprint("n", i)))
	}
	for i, id := range ids {
		_, err := s.Ensure(ctx, scope, tenet.Session{ID: id, Scope: scope, TTL: time.Duration(i) * time.Hour, CreatedAt: day(2025, 3, 1)})
		must(t, err)
	}
	_, err = s.Ensure(ctx, bob, tenet.Session{ID: "b", Scope: bob, CreatedAt: day(2025, 3, 1)})
	must(t, err)
	ttl := map[tenet.SessionID]time.Duration{}
	for i, id := range ids {
		ttl[id] = time.Duration(i) * time.Hour
	}
	slices.Sort(ids)
	for _, size := range []int{7, 64, len(ids)} {
		var got []tenet.SessionID
		for after := tenet.SessionID(""); ; after = got[len(got)-1] {
			page, err := a.SessionsOf(ctx, scope, after, size)
			must(t, err)
			if len(page) == 0 {
				break
			}
			for _, x := range page {
				if x.Scope != scope || x.TTL != ttl[x.ID] {
					t.Errorf("%q is listed as another: %+v", x.ID, x)
				}
				got = append(got, x.ID)
			}
		}
		same(t, fmt.Sprint("pages of ", size), got, ids)
	}
	if list, err := a.SessionsOf(ctx, scope, "", 0); err != nil || len(list) != 0 {
		t.Errorf("a page of none: %+v, %v", list, err)
	}
	_, err = a.SessionsOf(ctx, scope, "", -1)
	wantKind(t, "a negative limit", err, tenet.Invalid)
	_, err = a.SessionsOf(ctx, tenet.Scope{}, "", 1)
	wantKind(t, "no scope", err, tenet.Invalid)
}

// talk is a session that was consolidated, grew, and waits again.
func talk(t testing.TB, s store.Sessions, scope tenet.Scope, messages int) (last time.Time) {
	t.Helper()
	now := day(2025, 3, 1)
	_, err := s.Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, Reads: []tenet.Scope{scope}, CreatedAt: now, TTL: time.Hour})
	must(t, err)
	for i := range messages {
		now = now.Add(time.Second)
		m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", i)), Role: tenet.RoleUser, Text: fmt.Sprint("text ", i), ClientID: fmt.Sprint("c", i), Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: now}
		_, err := s.Append(ctx, scope, "chat", []tenet.Message{m}, now)
		must(t, err)
		if i == messages/2 {
			l, err := s.Lease(ctx, store.LeaseRequest{Worker: "w", Now: now, Until: now.Add(time.Minute), Scope: scope, Only: "chat"})
			must(t, err)
			must(t, s.Ack(ctx, *l, store.Ack{Cursor: int64(i), Code: "MODEL_AWAY", Now: now, NextDue: now.Add(time.Minute)}))
		}
	}
	for i := range 12 { // ten comes after two
		c := tenet.Note(scope, fmt.Sprint("proposal ", i))
		c.ID, c.ProposedBy, c.ProposedAt = tenet.CandidateID(fmt.Sprint("p", (7*i)%12)), "agent:test", now
		must(t, s.Propose(ctx, scope, "chat", c, now.Add(time.Minute)))
		must(t, s.Serve(ctx, scope, tenet.Receipt{ID: fmt.Sprint("r", (7*i)%12), Session: "chat", At: now, Recalled: []tenet.RecordID{"a"}}))
	}
	return now
}

func longSessionComesBack(t testing.TB, b Backend) {
	const messages = 600 // more than are read at a time
	s, there := b.Sessions(t), b.Sessions(t)
	scope := mustScope(t, "acme", tenet.User("sarah"))
	now := talk(t, s, scope, messages)
	was, err := s.(store.SessionArchive).Whole(ctx, scope, "chat")
	must(t, err)
	if len(was.Messages) != messages || was.Messages[messages-1].Text != fmt.Sprint("text ", messages-1) || was.Attempts != 1 || was.LastCode != "MODEL_AWAY" || len(was.Proposals) != 12 || was.Proposals[1].ID != "p7" {
		t.Fatalf("the whole is %d messages, %+v", len(was.Messages), was.Session)
	}
	must(t, there.(store.SessionArchive).PutBack(ctx, scope, was))
	for name, at := range map[string]store.Sessions{"there": there, "here": s} {
		is, err := at.(store.SessionArchive).Whole(ctx, scope, "chat")
		must(t, err)
		same(t, name, is, was)
		rs, err := at.Receipts(ctx, scope, "chat")
		must(t, err)
		same(t, name+": receipts", rs, was.Receipts)
		page, err := at.Messages(ctx, scope, "chat", -3, 10)
		must(t, err)
		same(t, name+": the end of the log", page, was.Messages[messages-3:])
		cited, err := at.Cited(ctx, scope, []tenet.MessageID{"m7"})
		must(t, err)
		same(t, name+": what is cited", cited, was.Messages[7:8])
		// What its client sends again is known, and what comes next has its place.
		again := was.Messages[5]
		again.ID = "another"
		kept, err := at.Append(ctx, scope, "chat", []tenet.Message{again}, time.Time{})
		must(t, err)
		same(t, name+": what was sent again", kept, was.Messages[5:6])
		again.Text = "something else"
		_, err = at.Append(ctx, scope, "chat", []tenet.Message{again}, time.Time{})
		wantKind(t, name+": another message of that client id", err, tenet.Conflict)
		c := was.Proposals[0]
		must(t, at.Propose(ctx, scope, "chat", c, time.Time{}))
		c.Text = "another"
		wantKind(t, name+": another proposal of that id", at.Propose(ctx, scope, "chat", c, time.Time{}), tenet.Conflict)
		c.ID = "p99"
		must(t, at.Propose(ctx, scope, "chat", c, time.Time{}))
		l, err := at.Lease(ctx, store.LeaseRequest{Worker: "w", Now: now.Add(2 * time.Minute), Until: now.Add(time.Hour), Scope: scope, Only: "chat"})
		must(t, err)
		if l == nil || len(l.Proposals) != 13 || l.Proposals[12].ID != "p99" || l.Session.Consolidated != was.Consolidated {
			t.Fatalf("%s: leased %+v", name, l)
		}
		must(t, at.Ack(ctx, *l, store.Ack{Cursor: messages, Done: proposed(l.Proposals), Now: now.Add(2 * time.Minute)}))
		_, err = at.Sweep(ctx, now.Add(3*time.Hour))
		must(t, err)
		swept, err := at.(store.SessionArchive).Whole(ctx, scope, "chat")
		must(t, err)
		if len(swept.Messages)+len(swept.Receipts)+len(swept.Proposals) != 0 || swept.Length != messages || swept.EndedAt.IsZero() {
			t.Errorf("%s: what is left of it after its time: %+v", name, swept)
		}
		third := b.Sessions(t)
		must(t, third.(store.SessionArchive).PutBack(ctx, scope, swept))
		is, err = third.(store.SessionArchive).Whole(ctx, scope, "chat")
		must(t, err)
		same(t, name+": what is left", is, swept)
	}
}

func proposed(cs []tenet.Candidate) (ids []tenet.CandidateID) {
	for _, c := range cs {
		ids = append(ids, c.ID)
	}
	return ids
}

// sessionAtOneMoment takes a session out while it grows and goes.
func sessionAtOneMoment(t testing.TB, b Backend) {
	s := b.Sessions(t)
	scope := mustScope(t, "acme", tenet.User("sarah"))
	now := day(2025, 3, 1)
	_, err := s.Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, CreatedAt: now})
	must(t, err)
	d, ends := s.(store.Deleter)
	done := make(chan error, 1)
	go func() {
		for i := range 60 {
			var ms []tenet.Message
			for j := range 10 {
				ms = append(ms, tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", i, ".", j)), Role: tenet.RoleUser, Text: "x", RecordedBy: "app:test", RecordedAt: now})
			}
			if _, err := s.Append(ctx, scope, "chat", ms, time.Time{}); err != nil {
				done <- err
				return
			}
		}
		if ends {
			done <- d.DeleteSession(ctx, scope, "chat", now)
			return
		}
		done <- nil
	}()
	looks, growing := 0, true
	for growing {
		select {
		case err := <-done:
			must(t, err)
			growing = false
		default:
		}
		w, err := s.(store.SessionArchive).Whole(ctx, scope, "chat")
		must(t, err)
		looks++
		if err := store.CheckWhole(scope, w); err != nil || len(w.Messages)%10 != 0 {
			t.Fatalf("look %d: %d messages of %d, %v", looks, len(w.Messages), w.Length, err)
		}
	}
	if looks < 3 {
		t.Errorf("%d looks: nothing was tried", looks)
	}
}

func puttingBackTakesNothing(t testing.TB, b Backend) {
	s := b.Sessions(t)
	scope := mustScope(t, "acme", tenet.User("sarah"))
	now := day(2025, 3, 1)
	put := func(id tenet.SessionID, message tenet.MessageID, seq int64) store.WholeSession {
		return store.WholeSession{
			Session:  tenet.Session{ID: id, Scope: scope, CreatedAt: now, LastAt: now, Length: 1},
			Messages: []tenet.Message{{ID: message, Session: id, Seq: seq, Role: tenet.RoleUser, Text: "x", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: now}},
		}
	}
	a := s.(store.SessionArchive)
	must(t, a.PutBack(ctx, scope, put("one", "m1", 1)))
	wantKind(t, "a session that is there", a.PutBack(ctx, scope, put("one", "m9", 1)), tenet.Conflict)
	wantKind(t, "a message id that is taken", a.PutBack(ctx, scope, put("two", "m1", 1)), tenet.Conflict)
	late := put("two", "m2", 1)
	late.Messages = append(late.Messages, late.Messages[0])
	late.Length, late.Messages[1].ID, late.Messages[1].Seq = 2, "m1", 2
	late.Proposals = []tenet.Candidate{{ID: "p1", Scope: scope, Tier: tenet.TierNote, Text: "x"}}
	late.Receipts = []tenet.Receipt{{ID: "r1", Session: "two", At: now}}
	wantKind(t, "a last message whose id is taken", a.PutBack(ctx, scope, late), tenet.Conflict)
	late.Messages[1].ID = "m2"
	wantKind(t, "an id twice", a.PutBack(ctx, scope, late), tenet.Invalid)
	wantKind(t, "a message past the end", a.PutBack(ctx, scope, put("two", "m2", 2)), tenet.Invalid)
	gap := put("two", "m2", 1)
	gap.Length = 2
	wantKind(t, "a log with gaps", a.PutBack(ctx, scope, gap), tenet.Invalid)
	gap.Messages = nil
	wantKind(t, "a log that nothing took", a.PutBack(ctx, scope, gap), tenet.Invalid)
	wantKind(t, "a message without an id", a.PutBack(ctx, scope, put("two", "", 1)), tenet.Invalid)
	if ms, err := s.Cited(ctx, scope, []tenet.MessageID{"m2"}); err != nil || len(ms) != 0 {
		t.Errorf("what was refused left %+v, %v", ms, err)
	}
	_, err := a.Whole(ctx, scope, "two")
	wantKind(t, "what was refused", err, tenet.NotFound)
	wantKind(t, "another scope", a.PutBack(ctx, mustScope(t, "acme", tenet.User("bob")), put("two", "m2", 1)), tenet.Invalid)
	list, err := a.SessionsOf(ctx, scope, "", 10)
	must(t, err)
	if len(list) != 1 || list[0].ID != "one" {
		t.Errorf("the sessions are %+v", list)
	}
	must(t, a.PutBack(ctx, scope, put("two", "m2", 1))) // nothing of it was kept before
	_, err = s.Append(ctx, scope, "one", []tenet.Message{{ID: "m2", Role: tenet.RoleUser, Text: "x"}}, time.Time{})
	wantKind(t, "the id of what was put back", err, tenet.Conflict)
	for _, other := range []tenet.Scope{mustScope(t, "acme", tenet.User("bob")), mustScope(t, "globex", tenet.User("sarah"))} {
		if list, err := a.SessionsOf(ctx, other, "", 10); err != nil || len(list) != 0 {
			t.Errorf("the sessions of %s: %+v %v", other, list, err)
		}
		_, err := a.Whole(ctx, other, "one")
		wantKind(t, "the session of another", err, tenet.NotFound)
	}
}
