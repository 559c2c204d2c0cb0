package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// freezeClauses are the claims about legal holds.
var freezeClauses = []clause{
	{"ALegalHoldIsDecidedAndListed", legalHoldIsListed},
	{"WhatIsUnderALegalHoldDoesNotExpire", frozenDoesNotExpire},
	{"AnExpiredFactIsNotBelieved", expiredFactIsNotBelieved},
	{"ALegalHoldThatIsLiftedBehindTheChainIsFound", liftedBehindTheChain},
}

func (r *rig) freeze(why string) store.Applied {
	r.Helper()
	r.now = r.now.Add(time.Second)
	d, err := r.g.Freeze(r.operator, r.scope, why, r.now)
	must(r.TB, err)
	return r.apply(d)[0]
}

func (r *rig) thaw(why string) store.Applied {
	r.Helper()
	r.now = r.now.Add(time.Second)
	d, err := r.g.Thaw(r.operator, r.scope, why, r.now)
	must(r.TB, err)
	return r.apply(d)[0]
}

func (r *rig) frozen(limit int) []store.Frozen {
	r.Helper()
	out, err := r.l.(store.Freezer).Frozen(ctx, r.scope.Tenant(), r.now, tenet.Scope{}, limit)
	must(r.TB, err)
	return out
}

// wantHeldBack demands the error of a legal hold.
func wantHeldBack(t testing.TB, what string, err error) {
	t.Helper()
	var e *tenet.Error
	if !errors.As(err, &e) || e.Kind != tenet.Conflict || e.Code != store.CodeLegalHold {
		t.Errorf("%s under a legal hold: %v", what, err)
	}
}

func legalHoldIsListed(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "lives in Basel"))
	for _, by := range []tenet.Principal{r.app, r.agent, principal(t, tenet.Operator, "other")} {
		_, err := r.g.Freeze(by, r.scope, "because", r.now)
		wantKind(t, "a hold by "+by.String(), err, tenet.Denied)
	}
	_, err := r.g.Freeze(r.operator, r.scope, "", r.now)
	wantKind(t, "a hold without a reason", err, tenet.Invalid)
	thaw, err := r.g.Thaw(r.operator, r.scope, "over", r.now)
	must(t, err)
	_, err = r.l.Apply(ctx, []gate.Decision{thaw}, nil)
	wantKind(t, "lifting what was not placed", err, tenet.Conflict)
	if hs := r.frozen(10); len(hs) != 0 {
		t.Errorf("holds before one was placed: %+v", hs)
	}

	a := r.freeze("case 4711")
	same(t, "the entry", []string{a.Entry.Action, a.Entry.Actor, a.Entry.Why}, []string{"freeze", "operator:test", "case 4711"})
	same(t, "the hold", r.frozen(10), []store.Frozen{{Scope: r.scope, By: "operator:test", Why: "case 4711", Since: a.Entry.At, Seq: a.Entry.Seq}})
	r.verified()
	again, err := r.g.Freeze(r.operator, r.scope, "another", r.now)
	must(t, err)
	_, err = r.l.Apply(ctx, []gate.Decision{again}, nil)
	wantKind(t, "a second hold", err, tenet.Conflict)
	r.keep(r.fact("city", "lives in Bern")) // memory goes on
	r.keep(r.note("likes bread"))

	two := rigOn(t, r.l, mustScope(t, "acme", tenet.User("tom")), nil)
	two.now = r.now
	two.freeze("case 4712")
	other := rigOn(t, r.l, mustScope(t, "other", tenet.User("sarah")), nil)
	other.freeze("not theirs")
	if hs := r.frozen(10); len(hs) != 2 || hs[0].Scope != r.scope || hs[1].Scope != two.scope {
		t.Errorf("the tenant's holds: %+v", hs)
	}
	if hs := r.frozen(1); len(hs) != 1 || hs[0].Scope != r.scope {
		t.Errorf("the first hold: %+v", hs)
	}
	rest, err := r.l.(store.Freezer).Frozen(ctx, "acme", r.now, r.scope, 10)
	must(t, err)
	if len(rest) != 1 || rest[0].Scope != two.scope {
		t.Errorf("holds after the first: %+v", rest)
	}
	if l := r.thaw("settled"); l.Entry.Action != "thaw" {
		t.Errorf("the entry: %+v", l.Entry)
	}
	if hs := r.frozen(10); len(hs) != 1 || hs[0].Scope != two.scope {
		t.Errorf("after one was lifted: %+v", hs)
	}
	r.verified()
	if a := r.freeze("case 4713"); a.Entry.Seq == 0 {
		t.Error("a hold cannot be placed again")
	}
	r.verified()
}

func frozenDoesNotExpire(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	k := r.episode("we talked about nuts")
	k.ExpiresAt = r.now.Add(time.Hour)
	id := r.keep(k).Verdict.Record
	r.remember(r.propose(r.agent, tenet.Fact(r.scope, "forged", "never nuts")))
	other := rigOn(t, r.l, mustScope(t, "acme", tenet.User("tom")), nil)
	k = other.episode("we talked about bread")
	k.ExpiresAt = r.now.Add(time.Hour)
	other.keep(k)
	r.freeze("case 4711")
	r.now = r.now.AddDate(1, 0, 0)

	due, err := r.l.Due(ctx, r.now, 10)
	must(t, err)
	if len(due) != 1 || due[0].Scope != other.scope {
		t.Errorf("due beside a hold: %v", texts(due))
	}
	aged := func() int {
		as, err := r.l.(store.Governor).AgedOut(ctx, r.now, 10)
		must(t, err)
		return len(as)
	}
	if n := aged(); n != 0 {
		t.Errorf("%d refused texts are due under a hold", n)
	}
	hs := r.frozen(10)
	if len(hs) != 1 || hs[0].Overdue != 2 {
		t.Fatalf("the hold: %+v", hs)
	}
	f, err := r.l.(store.Freezer).FrozenCounts(ctx, r.now)
	must(t, err)
	same(t, "counts under a hold", f, store.FrozenCounts{Holds: 1, Oldest: hs[0].Since, Overdue: 2})
	// A sweep that looked before the hold was placed writes nothing.
	d, err := r.g.ExpireText(r.scope, []tenet.Record{r.record(id)}, r.now)
	must(t, err)
	_, err = r.l.Apply(ctx, []gate.Decision{d}, nil)
	wantHeldBack(t, "an expiry", err)
	if got := r.record(id); got.Text == "" || got.Expired {
		t.Errorf("it expired: %+v", got)
	}
	r.thaw("settled")
	due, err = r.l.Due(ctx, r.now, 10)
	must(t, err)
	if len(due) != 2 || aged() != 1 {
		t.Errorf("after the hold: %v due, %d aged out", texts(due), aged())
	}
	r.apply(d)
	if got := r.record(id); got.Text != "" || !got.Expired {
		t.Errorf("it did not expire: %+v", got)
	}
	r.verified()
}

func expiredFactIsNotBelieved(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	k := r.fact("city", "lives in Basel")
	k.ExpiresAt = r.now.Add(time.Hour)
	r.keep(k)
	k = r.document("/notes/city.md", "Basel")
	k.ExpiresAt = r.now.Add(time.Hour)
	r.keep(k)
	r.keep(r.fact("name", "Sarah"))
	r.now = r.now.Add(2 * time.Hour)
	due, err := r.l.Due(ctx, r.now, 10)
	must(t, err)
	d, err := r.g.ExpireText(r.scope, due, r.now)
	must(t, err)
	a := r.apply(d)[0]
	for _, h := range [][]tenet.Record{r.history(tenet.TierFact, "city"), r.history(tenet.TierDocument, "/notes/city.md")} {
		if len(h) != 1 || !h[0].Expired || h[0].Text != "" || h[0].Value != nil || h[0].Closed != tenet.ClosedExpired || !h[0].Known.To.Equal(a.Entry.At) {
			t.Errorf("what expired: %+v", h)
		}
	}
	same(t, "facts", texts(r.facts(at(r.now))), []string{"Sarah"})
	r.verified()
	if a := r.keep(r.fact("city", "lives in Basel")); a.Verdict.Outcome != tenet.Stored || len(a.Verdict.Codes) != 0 {
		t.Errorf("said again: %v %v", a.Verdict.Outcome, a.Verdict.Codes)
	}
	r.verified()
}

func liftedBehindTheChain(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "lives in Basel"))
	r.freeze("case 4711")
	r.verified()
	b.Tamper(t, r.l, Tampering{Damage: HoldLifted, Scope: r.scope})
	v, err := r.l.Verify(ctx, r.scope)
	must(t, err)
	if v.OK() {
		t.Error("nobody finds that the hold was lifted by no entry")
	}
}

func aLegalHoldKeepsEverything(t testing.TB, r *eraseRig) {
	r.fill("basil")
	k := r.episode("we talked at length")
	k.ExpiresAt = r.now.Add(time.Hour)
	record := r.keep(k).Verdict.Record
	_, err := r.db.Ensure(ctx, r.scope, tenet.Session{ID: "over", Scope: r.scope, Reads: []tenet.Scope{r.scope}, CreatedAt: r.now, TTL: time.Minute})
	must(t, err)
	_, err = r.db.Append(ctx, r.scope, "over", []tenet.Message{{ID: "m-over", Role: tenet.RoleUser, Text: "hello", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: r.now}}, time.Time{})
	must(t, err)
	must(t, r.db.Put(ctx, r.scope, tenet.Blob{Thread: "short", ID: "v1", Data: []byte("x"), CreatedAt: r.now, ExpiresAt: r.now.Add(time.Minute)}, false))
	r.freeze("case 4711")
	was := r.dump(t)
	for _, of := range []gate.Selection{{Record: record}, {Key: "city_basil"}, {Message: "m-basil"}, {Session: "chat-basil"}, {Origin: "app:test"}, {Subject: true}} {
		for _, dry := range []bool{true, false} {
			_, err := r.erase(of, store.EraseOptions{DryRun: dry, Journal: func(store.Journaled) error {
				t.Errorf("%s: the journal was written", of.What())
				return nil
			}})
			wantHeldBack(t, "erasing a "+of.What(), err)
		}
	}
	whole := r.on(tenet.WholeTenant())
	whole.now = r.now
	_, err = whole.erase(gate.Selection{Tenant: true}, store.EraseOptions{})
	wantHeldBack(t, "erasing the tenant", err)
	wantHeldBack(t, "deleting a session", r.db.DeleteSession(ctx, r.scope, "chat-basil", r.now))
	_, err = r.db.Drop(ctx, r.scope, "thread-basil")
	wantHeldBack(t, "dropping a thread", err)
	_, err = r.db.Remove(ctx, r.scope, "thread-basil", []string{"v1-basil"})
	wantHeldBack(t, "removing a version", err)
	r.now = r.now.AddDate(1, 0, 0)
	n, err := r.db.Sweep(ctx, r.now)
	if err != nil || n != 0 {
		t.Errorf("a sweep under a hold: %d messages, %v", n, err)
	}
	same(t, "rows", r.dump(t), was)
	r.verified()
	r.thaw("settled")
	_, err = r.db.Sweep(ctx, r.now)
	must(t, err)
	bs, err := r.db.List(ctx, r.scope, time.Time{}, "short", "", 10)
	must(t, err)
	if len(bs) != 0 {
		t.Error("a thread's version outlived the hold and its time")
	}
	r.gone(gate.Selection{Subject: true})
}

// What the subject left in a scope that is frozen stays, so the subject does.
func aLegalHoldElsewhere(t testing.TB, r *eraseRig) {
	r.fill(mark)
	p := r.on(tenet.Project("bridge"))
	p.now = r.now
	user, err := tenet.NewPrincipal(tenet.EndUser, p.scope.Tenant(), r.scope.Subject().ID())
	must(t, err)
	k := p.propose(user, tenet.Note(p.scope, "the bridge has four spans"))
	if a := p.remember(k); a.Verdict.Outcome == 0 {
		t.Fatal("nothing was decided")
	}
	p.freeze("case 4711")
	was := r.dump(t)
	_, err = r.erase(gate.Selection{Subject: true}, store.EraseOptions{})
	wantHeldBack(t, "erasing who spoke in a frozen scope", err)
	same(t, "rows", r.dump(t), was)
	p.thaw("settled")
	r.now = p.now
	r.gone(gate.Selection{Subject: true})
}

// A hold that is older than the erasure was lifted before it; a younger one
// was placed because nothing had been carried out yet.
func anErasureAgainPastAnOlderHold(t testing.TB, r *eraseRig) {
	undo := tenet.Errorf(tenet.Unavailable, "test", "undone")
	journaled := func(r *eraseRig) (j store.Journaled) {
		_, err := r.erase(gate.Selection{Key: "city"}, store.EraseOptions{Journal: func(line store.Journaled) error { j = line; return undo }})
		wantKind(t, "undone", err, tenet.Unavailable)
		return j
	}
	again := func(r *eraseRig, j store.Journaled) error {
		d, err := r.g.Again(j.ID, j.What, r.now)
		must(t, err)
		_, err = r.db.Again(ctx, d, j)
		return err
	}
	one := r.on(tenet.User("one"))
	one.keep(one.fact("city", "lives in Basel"))
	j := journaled(one)
	one.freeze("case 4711")
	wantHeldBack(t, "an erasure that was cut off before the hold", again(one, j))
	if ids, err := one.db.Unknown(ctx, []string{j.ID}); err != nil || len(ids) != 1 {
		t.Errorf("it is not pending: %v, %v", ids, err)
	}
	one.thaw("settled")
	must(t, again(one, j))
	same(t, "left", texts(one.history(tenet.TierFact, "city")), []string(nil))

	two := r.on(tenet.User("two"))
	two.keep(two.fact("city", "lives in Basel"))
	j = journaled(two)
	two.now = j.At.Add(-time.Hour)
	two.freeze("case 4711")
	j.At = two.frozen(10)[0].Since.Add(time.Microsecond)
	must(t, again(two, j))
	same(t, "left", texts(two.history(tenet.TierFact, "city")), []string(nil))
	two.verified()
}

func nothingToHold(t testing.TB, r *eraseRig) {
	r.keep(r.fact("city", "lives in Basel"))
	r.gone(gate.Selection{Subject: true})
	for what, decide := range map[string]func(tenet.Principal, tenet.Scope, string, time.Time) (gate.Decision, error){"placed": r.g.Freeze, "lifted": r.g.Thaw} {
		d, err := decide(r.operator, r.scope, "case 4711", r.now)
		must(t, err)
		var e *tenet.Error
		if _, err = r.l.Apply(ctx, []gate.Decision{d}, nil); !errors.As(err, &e) || e.Kind != tenet.Conflict || e.Code != tenet.CodeErased {
			t.Errorf("a hold that is %s on who was erased: %v", what, err)
		}
	}
	if hs := r.frozen(10); len(hs) != 0 {
		t.Errorf("holds: %+v", hs)
	}
	r.now = r.now.Add(time.Hour)
	r.keep(r.fact("city", "lives in Bern")) // what came since can be held
	r.freeze("case 4711")
	if hs := r.frozen(10); len(hs) != 1 {
		t.Errorf("holds on who came back: %+v", hs)
	}
	r.verified()
}
