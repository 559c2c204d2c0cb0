package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

func parkedStaysParked(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", time.Hour)
	d.say("chat", "one")
	l := d.take("w", "chat")
	must(t, d.s.Ack(ctx, l, store.Ack{Code: "unavailable", Park: true, NextDue: d.now, Now: d.now}))
	d.now = d.now.Add(24 * time.Hour)
	if l := d.lease("w"); l != nil {
		t.Errorf("a parked session is handed out: %+v", l)
	}
	if n := must2(d.s.Sweep(ctx, d.now))(t); n != 0 {
		t.Errorf("its messages are swept away: %d", n)
	}
	if l := d.lease("w"); l != nil {
		t.Error("a sweep wakes what is parked")
	}
	if s := d.session("chat"); s.Attempts != 1 || s.LastCode != "unavailable" || !s.DueAt.IsZero() || s.Consolidated != 0 {
		t.Errorf("parked: %+v", s)
	}
	named, err := d.s.Lease(ctx, store.LeaseRequest{Worker: "w", Now: d.now, Until: d.now.Add(time.Minute), Scope: d.scope, Only: "chat"})
	must(t, err)
	if named == nil {
		t.Fatal("it cannot be had by name")
	}
	must(t, d.s.Ack(ctx, *named, store.Ack{NextDue: d.now, Now: d.now}))
	if l := d.lease("w"); l == nil || l.Session.Attempts != 0 {
		t.Errorf("after it was given another try: %+v", l)
	}
}

func waitingListsFailuresFirst(t testing.TB, b Backend) {
	d := newDesk(t, b)
	for i := range 4 {
		id := tenet.SessionID(fmt.Sprint("chat", i))
		d.open(id, 0)
		_, err := d.s.Append(ctx, d.scope, id, []tenet.Message{d.message("x")}, d.now.Add(time.Duration(4-i)*time.Minute))
		must(t, err)
	}
	d.open("idle", 0)
	other := deskOn(t, d.s, mustScope(t, "other", tenet.User("sarah")))
	other.open("theirs", 0)
	other.say("theirs", "x")
	fail := func(id tenet.SessionID, a store.Ack) {
		l, err := d.s.Lease(ctx, store.LeaseRequest{Worker: "w", Now: d.now, Until: d.now.Add(time.Minute), Scope: d.scope, Only: id})
		must(t, err)
		must(t, d.s.Ack(ctx, *l, a))
	}
	fail("chat0", store.Ack{Code: "internal", Park: true, Now: d.now})
	fail("chat1", store.Ack{Code: "internal", NextDue: d.now.Add(time.Hour), Now: d.now})
	ids := func(skip, limit int) (out []tenet.SessionID) {
		for _, s := range must2(d.s.Waiting(ctx, "acme", skip, limit))(t) {
			out = append(out, s.ID)
		}
		return out
	}
	same(t, "what waits", ids(0, 10), []tenet.SessionID{"chat1", "chat0", "chat3", "chat2"})
	same(t, "a page of it", ids(1, 2), []tenet.SessionID{"chat0", "chat3"})
	same(t, "past the end", len(ids(9, 2)), 0)
	fail("chat1", store.Ack{Cursor: 1, Now: d.now})
	same(t, "when one is done", ids(0, 10), []tenet.SessionID{"chat0", "chat3", "chat2"})
	must(t, d.s.Propose(ctx, d.scope, "idle", tenet.Candidate{ID: "p", Scope: d.scope, Tier: tenet.TierNote, Text: "x"}, d.now))
	same(t, "a proposal waits too", ids(0, 10), []tenet.SessionID{"chat0", "idle", "chat3", "chat2"})
}

func verdictsOfAPrefix(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	say := func(id tenet.CandidateID) {
		c := r.note("about " + string(id))
		c.Candidate.ID = id
		r.keep(c)
	}
	for _, id := range []tenet.CandidateID{"ab-2", "ab-1", "aa-1", "ac-1", "ab-3", "a", "AB-1", "ab_1"} {
		say(id)
	}
	ret, err := r.g.Retract(r.change("ab-0", "ab-1")) // has no verdict
	must(t, err)
	r.apply(ret)
	held := r.propose(r.agent, tenet.Fact(r.scope, "role", "admin"))
	held.Candidate.ID = "ab-9"
	r.apply(r.judge(held))
	ids := func(prefix string, after tenet.CandidateID, limit int) (out []tenet.CandidateID) {
		for _, v := range must2(r.l.Verdicts(ctx, r.scope, prefix, after, limit))(t) {
			out = append(out, v.Candidate)
			same(t, "the verdict of "+string(v.Candidate), v, must2(r.l.Verdict(ctx, r.scope, v.Candidate))(t))
		}
		return out
	}
	same(t, "a prefix", ids("ab-", "", 10), []tenet.CandidateID{"ab-1", "ab-2", "ab-3", "ab-9"})
	same(t, "a page of it", ids("ab-", "ab-1", 2), []tenet.CandidateID{"ab-2", "ab-3"})
	same(t, "nothing", len(ids("zz", "", 10))+len(ids("ab-", "", 0)), 0)
}
