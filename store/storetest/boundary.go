package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// boundaryClauses are the claims about what the write boundary keeps beside
// records: tombstones, holds that run out, revocations, questions.
var boundaryClauses = []clause{
	{"ARejectionBlocksAtAndBelowItsLabel", rejectionBlocks},
	{"AnErasureBlocksAllButTheUsersOwnNewWords", erasureBlocks},
	{"TombstonesAreAPrecondition", tombstonesAreAPrecondition},
	{"WritesAreCountedUnderTheLock", writesAreCounted},
	{"HoldsRunOutWithAnEntry", holdsRunOut},
	{"WhatWaitsForAReviewIsCounted", openHoldsAreCounted},
	{"RevokeClosesAndPutsBack", revokeClosesAndPutsBack},
	{"WhatWasRetractedComesBackWithItsStageOrNotAtAll", retractedComesBack},
	{"AQuestionTakesOnePlace", aQuestionTakesOnePlace},
	{"GovernorSeesEveryRecordAndHead", governorSees},
	{"OriginsAreThoseOfTheTime", originsAreThoseOfTheTime},
}

const nuts = "She is allergic to nuts."

// discarded has an operator reject a hold of the words by p.
func (r *rig) discarded(p tenet.Principal, text string) tenet.Held {
	r.Helper()
	a := r.remember(r.propose(p, tenet.Fact(r.scope, "note", text)))
	if a.Verdict.Outcome != tenet.Quarantined {
		r.Fatalf("not held: %v %v", a.Verdict.Outcome, a.Verdict.Codes)
	}
	for _, h := range r.held() {
		if h.Verdict.Candidate == a.Verdict.Candidate {
			r.now = r.now.Add(time.Second)
			d, err := r.g.Discard(r.operator, r.scope, h, "not true", r.now)
			must(r.TB, err)
			r.apply(d)
			return h
		}
	}
	r.Fatal("the hold is not listed")
	return tenet.Held{}
}

func (r *rig) wants(what string, a store.Applied, o tenet.Outcome, code tenet.Code) {
	r.Helper()
	if a.Verdict.Outcome != o || code != "" && !slices.Contains(a.Verdict.Codes, code) {
		r.Errorf("%s: %v %v, want %v with %s", what, a.Verdict.Outcome, a.Verdict.Codes, o, code)
	}
}

func rejectionBlocks(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.discarded(r.agent, nuts)
	for what, c := range map[string]tenet.Candidate{
		"the same again": tenet.Fact(r.scope, "note", nuts), "under another key": tenet.Fact(r.scope, "allergy", nuts),
		"as a note": tenet.Note(r.scope, nuts), "in other letters": tenet.Note(r.scope, "she is  allergic to NUTS"),
		"as a turn": {Scope: r.scope, Tier: tenet.TierEpisode, Text: nuts},
	} {
		r.wants(what, r.remember(r.propose(r.agent, c)), tenet.Rejected, tenet.CodeRejectedBefore)
	}
	other := rigOn(t, r.l, mustScope(t, "acme", tenet.User("bob")), nil)
	other.wants("of another subject", other.remember(other.propose(other.agent, tenet.Note(other.scope, nuts))), tenet.Stored, "")
	r.wants("the user's own word", r.remember(r.fact("allergy", nuts)), tenet.Stored, "")
	r.verified()
	v, err := r.l.Verify(ctx, other.scope)
	must(t, err)
	if !v.OK() {
		t.Error(v.Why)
	}
}

func erasureBlocks(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	said := func(id tenet.MessageID, at time.Time) gate.Case {
		c := r.propose(r.app, tenet.Fact(r.scope, "allergy", nuts).Citing(id))
		c.Candidate.Quote = ""
		c.Evidence = []tenet.Message{{ID: id, Session: "s", Role: tenet.RoleUser, Text: nuts, Label: tenet.LabelUserStated, RecordedBy: r.app.String(), RecordedAt: at, SaidAt: at}}
		return c
	}
	before := r.now
	r.now = r.now.Add(time.Hour)
	d, err := r.g.Bar(r.operator, r.scope, []gate.Tombstone{{Kind: gate.TombErased, Statement: gate.Fingerprint(tenet.Fact(r.scope, "x", nuts))}}, "erased", r.now)
	must(t, err)
	r.apply(d)
	r.wants("old evidence of the user", r.remember(said("m1", before)), tenet.Rejected, tenet.CodeErased)
	r.wants("an agent", r.remember(r.propose(r.agent, tenet.Note(r.scope, nuts))), tenet.Rejected, tenet.CodeErased)
	r.wants("an operator", r.remember(r.propose(r.operator, tenet.Fact(r.scope, "allergy", nuts))), tenet.Rejected, tenet.CodeErased)
	r.now = r.now.Add(time.Hour)
	r.wants("the user says it again", r.remember(said("m2", r.now)), tenet.Stored, tenet.CodeRestated)
	r.verified()
	for _, bad := range [][]gate.Tombstone{nil, {{}}, {{Kind: gate.TombRejected, Statement: "x"}}, {{Kind: 9, Statement: "x"}}} {
		_, err := r.g.Bar(r.operator, r.scope, bad, "", r.now)
		wantKind(t, "an unusable tombstone", err, tenet.Invalid)
	}
	_, err = r.g.Bar(r.app, r.scope, []gate.Tombstone{{Kind: gate.TombErased, Statement: "x"}}, "", r.now)
	wantKind(t, "an app", err, tenet.Denied)
}

func tombstonesAreAPrecondition(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	c := r.propose(r.agent, tenet.Note(r.scope, nuts))
	blind := r.judge(c) // before the rejection
	r.discarded(r.agent, nuts)
	_, err := r.l.Apply(ctx, []gate.Decision{blind}, nil)
	wantKind(t, "judged before the rejection", err, tenet.Conflict)
	as, err := r.l.Apply(ctx, []gate.Decision{blind}, r.again(c))
	must(t, err)
	r.wants("judged again under the lock", as[0], tenet.Rejected, tenet.CodeRejectedBefore)
	st, err := r.l.State(ctx, r.scope, r.g.Query(c), r.now)
	must(t, err)
	same(t, "the state says so", st.Blocked.Rejected, tenet.LabelAgentInferred)
	r.verified()
	if b.Tamper != nil {
		b.Tamper(t, r.l, Tampering{Damage: TombDropped, Scope: r.scope})
		v, err := r.l.Verify(ctx, r.scope)
		must(t, err)
		if v.OK() {
			t.Error("a tombstone was dropped and verify did not find it")
		}
	}
}

// writesAreCounted is check 2: what was judged in the last minute counts, by
// principal and key, in the state as under the lock.
func writesAreCounted(t testing.TB, b Backend) {
	r := newRig(t, b, nil, gate.WithRates(gate.Rates{Agent: 6, Key: 5, Self: 3}))
	outcome := func(what string, c gate.Case, code tenet.Code) store.Applied {
		t.Helper()
		a := r.remember(c)
		if limited := slices.ContainsFunc(a.Verdict.Codes, func(c tenet.Code) bool {
			return c == tenet.CodeRateLimit || c == tenet.CodeKeyChurn || c == tenet.CodeSelfReinforcement
		}); limited != (code != "") || code != "" && !slices.Contains(a.Verdict.Codes, code) {
			t.Errorf("%s: %v %v, want %q", what, a.Verdict.Outcome, a.Verdict.Codes, code)
		}
		return a
	}
	tool := func(i int) gate.Case {
		return r.propose(r.agent, tenet.Fact(r.scope, "role", "admin "+string(rune('a'+i))))
	}
	for i := range 3 {
		outcome("an agent on one key", tool(i), "")
	}
	blind, err := r.g.Judge(tool(3)) // as another process would, which has not seen the others
	must(t, err)
	_, err = r.l.Apply(ctx, []gate.Decision{blind}, nil)
	wantKind(t, "judged without the others", err, tenet.Conflict)
	c := tool(4)
	blind, err = r.g.Judge(c)
	must(t, err)
	as, err := r.l.Apply(ctx, []gate.Decision{blind}, r.again(c))
	must(t, err)
	r.wants("judged again under the lock", as[0], tenet.Rejected, tenet.CodeSelfReinforcement)
	q := r.g.Query(tool(5))
	st, err := r.l.State(ctx, r.scope, q, r.now)
	must(t, err)
	same(t, "the state's counts; what a limit refused takes no place", st.Pace, gate.Pace{Actor: 3, Key: 3, Self: 3})
	outcome("another key", r.propose(r.agent, tenet.Fact(r.scope, "seat", "aisle")), "")
	outcome("the user's own word on the key", r.fact("role", "teacher"), "")
	outcome("an agent again, after an independent write", tool(6), "")
	outcome("its sixth", tool(7), "")
	outcome("its seventh", r.propose(r.agent, tenet.Note(r.scope, "Something else.")), tenet.CodeRateLimit)
	second, err := tenet.NewPrincipal(tenet.Agent, "acme", "second")
	must(t, err)
	other := r.propose(second, tenet.Fact(r.scope, "role", "admin z"))
	outcome("another agent on the key", other, tenet.CodeKeyChurn)
	outcome("a document", r.propose(r.agent, tenet.Candidate{Scope: r.scope, Tier: tenet.TierDocument, Key: "/notes/a.md", Text: "A plan."}), "")
	outcome("the user, as often as they like", r.fact("role", "nurse"), "")
	neighbour := rigOn(t, r.l, mustScope(t, "acme", tenet.User("bob")), nil, gate.WithRates(gate.Rates{Agent: 6, Key: 5, Self: 3}))
	neighbour.now = r.now
	neighbour.wants("the same agent for another subject", neighbour.remember(neighbour.propose(neighbour.agent, tenet.Note(neighbour.scope, "Likes tea."))), tenet.Stored, "")
	r.now = r.now.Add(gate.PaceWindow + time.Second)
	outcome("a minute later", tool(8), "")
	r.verified()
}

func governor(t testing.TB, l store.Ledger) store.Governor {
	t.Helper()
	g, ok := l.(store.Governor)
	if !ok {
		t.Fatal("the ledger is no Governor")
	}
	return g
}

func holdsRunOut(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	gov := governor(t, r.l)
	r.remember(r.propose(r.agent, tenet.Fact(r.scope, "role", "admin")))
	r.remember(r.unproven("nobody said this"))
	due, err := gov.AgedOut(ctx, r.now, 10)
	must(t, err)
	same(t, "due at once", len(due), 0)
	r.now = r.now.Add(gate.HoldFor + time.Second)
	due, err = gov.AgedOut(ctx, r.now, 10)
	must(t, err)
	if len(due) != 2 {
		t.Fatalf("%d holds have run out, want 2", len(due))
	}
	var aged []gate.Aged
	for _, d := range due {
		same(t, "scope", d.Scope, r.scope)
		aged = append(aged, d.Aged)
	}
	d, err := r.g.AgeOut(r.scope, aged, r.now)
	must(t, err)
	r.apply(d)
	r.verified()
	for _, h := range r.held() {
		if h.State != tenet.HoldExpired || h.Candidate.Text != "" {
			t.Errorf("%s is %s and reads %q", h.Verdict.Candidate, h.State, h.Candidate.Text)
		}
		_, err := r.g.Discard(r.operator, r.scope, h, "", r.now)
		wantKind(t, "discarding what ran out", err, tenet.Conflict)
	}
	_, err = r.l.Apply(ctx, []gate.Decision{d}, nil)
	wantKind(t, "again", err, tenet.Conflict)
	due, err = gov.AgedOut(ctx, r.now, 10)
	must(t, err)
	same(t, "due after", len(due), 0)
	_, err = r.g.AgeOut(r.scope, []gate.Aged{{Candidate: "x", ExpiresAt: r.now.Add(time.Hour)}}, r.now)
	wantKind(t, "a hold that is not due", err, tenet.Invalid)
	r.verified()
}

func openHoldsAreCounted(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	gov := governor(t, r.l)
	want := func(what string, n int, oldest time.Time) {
		t.Helper()
		h, err := gov.OpenHolds(ctx, r.now)
		must(t, err)
		same(t, what, h, store.OpenHolds{Held: n, Oldest: oldest})
	}
	want("of nothing", 0, time.Time{})
	first := r.remember(r.propose(r.agent, tenet.Fact(r.scope, "role", "admin")))
	r.remember(r.unproven("nobody said this")) // rejected: it waits for nobody
	r.keep(r.fact("city", "Bern"))
	other := rigOn(t, r.l, mustScope(t, "other", tenet.User("bob")), nil)
	other.now = r.now.Add(time.Minute)
	second := other.remember(other.propose(other.agent, tenet.Fact(other.scope, "role", "admin")))
	r.now = other.now
	want("of two tenants", 2, first.Entry.At)
	d, err := r.g.Discard(r.operator, r.scope, r.held()[slices.IndexFunc(r.held(), func(h tenet.Held) bool { return h.State == tenet.HoldOpen })], "no", r.now)
	must(t, err)
	r.apply(d)
	want("once one is decided", 1, second.Entry.At)
	r.now = r.now.Add(gate.HoldFor + time.Second)
	want("once the other has run out", 0, time.Time{})
}

func revokeClosesAndPutsBack(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	first := r.keep(from(r.fact("city", "Berlin"), day(2024, 1, 1), time.Time{}))
	bad := r.keep(from(r.fact("city", "Paris"), day(2025, 1, 1), time.Time{}))
	r.now = r.now.Add(time.Second)
	d, err := r.g.Revoke(gate.Revocation{
		By: r.operator, Scope: r.scope, ID: "revoke-1", Why: "tainted", At: r.now, Close: []tenet.Record{r.record(bad.Verdict.Record)},
		Reopen: []gate.Piece{{Of: r.record(first.Verdict.Record), Valid: tenet.Interval{From: day(2025, 1, 1)}}},
	})
	must(t, err)
	r.apply(d)
	if got := r.record(bad.Verdict.Record); got.Closed != tenet.ClosedRevoked || got.Known.Open() {
		t.Errorf("the revoked record is %+v", got)
	}
	same(t, "what holds now", texts(r.facts(at(day(2026, 1, 1)))), []string{"Berlin"})
	same(t, "and then", texts(r.facts(at(day(2024, 6, 1)))), []string{"Berlin"})
	back := r.facts(at(day(2026, 1, 1)))[0]
	same(t, "whose word it is", back.Label, tenet.LabelUserStated)
	same(t, "of what", back.FragmentOf, first.Verdict.Record)
	if as := r.apply(d); !as[0].Replayed {
		t.Error("a revocation again is not a replay")
	}
	_, err = r.g.Revoke(gate.Revocation{By: r.app, Scope: r.scope, ID: "x", Close: []tenet.Record{back}, At: r.now})
	wantKind(t, "an app", err, tenet.Denied)
	r.verified()
}

// retractedComesBack: the words that retracted a fact are kept with it, and a
// revocation that closes nothing puts it back, in one transaction with what is to
// be judged again.
func retractedComesBack(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	city := r.keep(from(r.fact("city", "Berlin"), day(2024, 1, 1), time.Time{})).Verdict.Record
	k := r.fact("city", "I never lived there")
	k.Candidate.Op, k.Candidate.Value = tenet.OpRetract, nil
	r.now = r.now.Add(time.Second)
	a := r.remember(k)
	r.wants("the retraction", a, tenet.Superseded, tenet.CodeRetracted)
	was := r.record(city)
	if was.Closed != tenet.ClosedRetracted || !was.Known.To.Equal(a.Entry.At) {
		t.Errorf("the retracted record is %+v", was)
	}
	var said []string
	for _, e := range must2(r.l.Evidence(ctx, r.scope, city))(t) {
		said = append(said, e.Excerpt)
	}
	same(t, "the words kept", said, []string{"Berlin", "I never lived there"})

	revoke, err := r.g.Revoke(gate.Revocation{
		By: r.operator, Scope: r.scope, ID: "revoke-1", At: r.now, Reopen: []gate.Piece{{Of: was, Valid: was.Valid}},
	})
	must(t, err)
	stage := func(cursor int64) gate.Decision {
		d, err := r.g.StageBatch(r.scope, gate.Staged{Session: "chat", From: cursor, To: cursor, Candidates: []tenet.Candidate{r.note("again").Candidate}}, r.now)
		must(t, err)
		return d
	}
	_, err = r.l.Apply(ctx, []gate.Decision{revoke, stage(7)}, nil)
	wantKind(t, "a cursor that moved", err, tenet.Conflict)
	same(t, "nothing came back", len(r.facts(at(day(2026, 1, 1)))), 0)
	r.apply(revoke, stage(0))
	same(t, "it holds again", texts(r.facts(at(day(2026, 1, 1)))), []string{"Berlin"})
	cursor, waits, err := r.l.Staged(ctx, r.scope, "chat")
	must(t, err)
	if cursor != 0 || len(waits) != 1 {
		t.Errorf("%d wait, the cursor is %d", len(waits), cursor)
	}
	if as := r.apply(revoke); !as[0].Replayed {
		t.Error("a revocation again is not a replay")
	}
	r.verified()
}

func aQuestionTakesOnePlace(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	ask := func(held tenet.CandidateID, slot string) (bool, error) {
		d, err := r.g.AskFirst(r.app, r.scope, held, slot, r.now)
		must(t, err)
		as, err := r.l.Apply(ctx, []gate.Decision{d}, nil)
		return err == nil && as[0].Replayed, err
	}
	if again, err := ask("a", "ask/1"); again || err != nil {
		t.Errorf("a first question: %v %v", again, err)
	}
	if again, err := ask("a", "ask/1"); !again || err != nil {
		t.Errorf("the same question: replayed %v, %v", again, err)
	}
	_, err := ask("b", "ask/1")
	wantKind(t, "another in its place", err, tenet.Conflict)
	_, err = r.g.AskFirst(r.agent, r.scope, "a", "ask/1", r.now)
	wantKind(t, "an agent", err, tenet.Denied)
	r.verified()
}

// originsAreThoseOfTheTime: who agreed later had not said it then.
func originsAreThoseOfTheTime(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	began := r.now
	say := func(text, session string) gate.Case {
		c := r.note(text)
		m := tenet.Message{ID: tenet.MessageID("m-" + session), Session: tenet.SessionID(session), Role: tenet.RoleUser, Label: tenet.LabelUserStated, RecordedBy: "app:test", Text: text, SaidAt: began, RecordedAt: began}
		c.Candidate.Quote, c.Candidate.Cites, c.Evidence = "", []tenet.MessageID{m.ID}, []tenet.Message{m}
		return c
	}
	first := r.keep(say("Prefers email contact", "one"))
	id := first.Verdict.Record
	written := r.record(id).Origins
	r.now = r.now.Add(time.Hour)
	second := r.keep(say("Prefers email contact", "two"))
	both := r.record(id).Origins
	r.now = r.now.Add(time.Hour)
	r.keep(say("Prefers email contact", "two")) // who has said it says it again
	r.now = r.now.Add(time.Hour)
	r.keep(say("Prefers email contact", "three"))
	if all := r.record(id).Origins; second.Verdict.Outcome != tenet.Corroborated || len(written) != 1 || len(both) != 2 || len(all) != 3 {
		t.Fatalf("nobody agreed: %d, %d, %d origins", len(written), len(both), len(all))
	}
	other := r.keep(r.note("Owns a kayak")).Verdict.Record
	at := func(when time.Time) map[tenet.RecordID][]tenet.Origin {
		t.Helper()
		got, err := governor(t, r.l).OriginsAt(ctx, r.scope, []tenet.RecordID{id, "nothing", other}, when)
		must(t, err)
		return got
	}
	alone := r.record(other).Origins
	same(t, "before it was known", at(first.Entry.At.Add(-time.Hour))[id], written)
	same(t, "at first", at(first.Entry.At), map[tenet.RecordID][]tenet.Origin{id: written, other: alone})
	same(t, "as the second agreed", at(second.Entry.At)[id], both)
	same(t, "just before", at(second.Entry.At.Add(-time.Microsecond))[id], written)
	same(t, "now", at(r.now.Add(time.Hour)), map[tenet.RecordID][]tenet.Origin{id: r.record(id).Origins, other: alone})
	none, err := governor(t, r.l).OriginsAt(ctx, mustScope(t, "acme", tenet.User("nobody")), []tenet.RecordID{id}, r.now)
	must(t, err)
	same(t, "of another scope", len(none), 0)
}

func governorSees(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	gov := governor(t, r.l)
	if name, err := gov.ChainName(ctx, r.scope); name != "" || err != nil {
		t.Errorf("a scope without a chain is %q, %v", name, err)
	}
	var want []string
	for _, city := range []string{"Berlin", "Paris", "Rome"} {
		r.keep(r.fact("city", city))
		want = append(want, city)
	}
	var got []string
	for after := tenet.RecordID(""); ; {
		page, err := gov.Records(ctx, r.scope, after, 2)
		must(t, err)
		if len(page) == 0 {
			break
		}
		for _, rec := range page {
			if rec.FragmentOf == "" {
				got = append(got, rec.Text)
			}
		}
		after = page[len(page)-1].ID
	}
	same(t, "every record in order of writing", got, want)
	name, err := gov.ChainName(ctx, r.scope)
	must(t, err)
	heads, err := gov.Heads(ctx, "", 10)
	must(t, err)
	es, err := r.l.Audit(ctx, r.scope, 1, 100)
	must(t, err)
	same(t, "heads", heads, []store.ChainHead{{Chain: name, Seq: uint64(len(es)), Hash: es[len(es)-1].Hash}})
	for _, e := range es {
		hash, err := gov.EntryAt(ctx, name, e.Seq)
		must(t, err)
		same(t, "entry", hash, e.Hash)
	}
	if hash, err := gov.EntryAt(ctx, name, 99); hash != nil || err != nil {
		t.Errorf("an entry that is not there: %v %v", hash, err)
	}
	if more, err := gov.Heads(ctx, name, 10); len(more) != 0 || err != nil {
		t.Errorf("after the last: %v %v", more, err)
	}
}
