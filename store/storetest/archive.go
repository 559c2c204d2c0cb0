package storetest

import (
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

func puttingBackTakesNothing(t testing.TB, b Backend) {
	s := b.Sessions(t)
	scope := mustScope(t, "acme", tenet.User("sarah"))
	now := day(2025, 3, 1)
	put := func(id tenet.SessionID, message tenet.MessageID, seq int64) store.WholeSession {
		return store.WholeSession{
			Session:  tenet.Session{ID: id, Scope: scope, CreatedAt: now, LastAt: now, Length: 2},
			Messages: []tenet.Message{{ID: message, Session: id, Seq: seq, Role: tenet.RoleUser, Text: "x", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: now}},
		}
	}
	a := s.(store.SessionArchive)
	must(t, a.PutBack(ctx, scope, put("one", "m1", 2))) // the first was swept
	wantKind(t, "a session that is there", a.PutBack(ctx, scope, put("one", "m9", 1)), tenet.Conflict)
	wantKind(t, "a message id that is taken", a.PutBack(ctx, scope, put("two", "m1", 1)), tenet.Conflict)
	wantKind(t, "a message past the end", a.PutBack(ctx, scope, put("two", "m2", 3)), tenet.Invalid)
	wantKind(t, "a message without an id", a.PutBack(ctx, scope, put("two", "", 1)), tenet.Invalid)
	wantKind(t, "another scope", a.PutBack(ctx, mustScope(t, "acme", tenet.User("bob")), put("two", "m2", 1)), tenet.Invalid)
	list, err := a.SessionsOf(ctx, scope, "", 10)
	must(t, err)
	if len(list) != 1 || list[0].ID != "one" {
		t.Errorf("the sessions are %+v", list)
	}
	for _, other := range []tenet.Scope{mustScope(t, "acme", tenet.User("bob")), mustScope(t, "globex", tenet.User("sarah"))} {
		if list, err := a.SessionsOf(ctx, other, "", 10); err != nil || len(list) != 0 {
			t.Errorf("the sessions of %s: %+v %v", other, list, err)
		}
		_, err := a.Whole(ctx, other, "one")
		wantKind(t, "the session of another", err, tenet.NotFound)
	}
}
