package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

func leaseTakesTheOldestDue(t testing.TB, b Backend) {
	d := newDesk(t, b)
	if l := d.lease("w"); l != nil {
		t.Errorf("an empty store has work: %+v", l)
	}
	for i, due := range []time.Duration{3, 1, 2, 9} {
		id := tenet.SessionID(fmt.Sprint("chat", i))
		d.open(id, 0)
		_, err := d.s.Append(ctx, d.scope, id, []tenet.Message{d.message("x")}, d.now.Add(due*time.Minute))
		must(t, err)
	}
	d.open("idle", 0)
	if l := d.lease("w"); l != nil {
		t.Errorf("nothing is due yet: %+v", l)
	}
	d.now = d.now.Add(3 * time.Minute) // due at now is due
	for _, id := range []tenet.SessionID{"chat1", "chat2", "chat0"} {
		l := d.take("w", id)
		if l.Worker != "w" || !l.Until.Equal(d.now.Add(time.Minute)) || l.Session.Length != 1 || l.Fence == 0 {
			t.Errorf("the lease: %+v", l)
		}
	}
	if l := d.lease("w2"); l != nil {
		t.Errorf("what is not due or is leased was leased: %+v", l)
	}
}

func leaseOfOneSession(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{d.message("x")}, d.now.Add(time.Hour))
	must(t, err)
	only := func(worker string, scope tenet.Scope, id tenet.SessionID) (*store.Lease, error) {
		return d.s.Lease(ctx, store.LeaseRequest{Worker: worker, Now: d.now, Until: d.now.Add(time.Minute), Scope: scope, Only: id})
	}
	l, err := only("w1", d.scope, "chat")
	must(t, err)
	if l == nil || l.Session.ID != "chat" {
		t.Fatalf("one session, not due: %+v", l)
	}
	held, err := only("w2", d.scope, "chat")
	must(t, err)
	if held != nil {
		t.Errorf("held by another worker, yet leased: %+v", held)
	}
	_, err = only("w1", d.scope, "nope")
	wantKind(t, "an unknown session", err, tenet.NotFound)
	_, err = only("w1", mustScope(t, "acme", tenet.User("tom")), "chat")
	wantKind(t, "a session of another scope", err, tenet.NotFound)
	d.ack(*l, store.Ack{Cursor: 1})
	if l, err = only("w2", d.scope, "chat"); err != nil || l == nil || l.Session.Consolidated != 1 {
		t.Errorf("after the ack: %+v, %v", l, err)
	}
}

func leaseOfOneScope(t testing.TB, b Backend) {
	d := newDesk(t, b)
	for i, due := range []time.Duration{3, 1, 2, 9, 1} {
		id := tenet.SessionID(fmt.Sprint("chat", i))
		d.open(id, 0)
		_, err := d.s.Append(ctx, d.scope, id, []tenet.Message{d.message("x")}, d.now.Add(due*time.Minute))
		must(t, err)
	}
	tom := *d
	tom.scope = mustScope(t, "acme", tenet.User("tom"))
	tom.open("older", 0)
	tom.say("older", "x")
	next := func(scope tenet.Scope) *store.Lease {
		l, err := d.s.Lease(ctx, store.LeaseRequest{Worker: "w", Now: d.now, Until: d.now.Add(time.Minute), Scope: scope})
		must(t, err)
		return l
	}
	if l := next(d.scope); l != nil {
		t.Errorf("nothing of the scope is due yet: %s", l.Session.ID)
	}
	d.now = d.now.Add(time.Minute)
	failed := d.lease("w")
	for failed != nil && failed.Session.ID == "older" { // due longest, and another's
		failed = d.lease("w")
	}
	if failed == nil {
		t.Fatal("nothing was due")
	}
	d.ack(*failed, store.Ack{Code: "EXTRACTOR", NextDue: d.now})
	d.now = d.now.Add(2 * time.Minute) // the lease of another's has run out
	first := tenet.SessionID("chat1")
	if failed.Session.ID == first {
		first = "chat4"
	}
	var got []tenet.SessionID
	for l := next(d.scope); l != nil && len(got) < 9; l = next(d.scope) {
		got = append(got, l.Session.ID)
	}
	same(t, "the scope's sessions, without the failed", got, []tenet.SessionID{first, "chat2", "chat0"})
	if l := next(mustScope(t, "acme", tenet.User("nobody"))); l != nil {
		t.Errorf("a scope without sessions: %s", l.Session.ID)
	}
	if l := next(tom.scope); l == nil || l.Session.ID != "older" {
		t.Errorf("the other scope's: %+v", l)
	}
	d.now = d.now.Add(time.Minute) // they run out and are to be had again
	if l := next(d.scope); l == nil || l.Session.ID != first {
		t.Errorf("after the lease ran out: %+v", l)
	}
}

func leaseExpires(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "one")
	first := d.take("w1", "chat")
	d.now = first.Until.Add(-time.Microsecond)
	if l := d.lease("w2"); l != nil {
		t.Errorf("leased before it ran out: %+v", l)
	}
	d.now = first.Until
	second := d.take("w2", "chat")
	if second.Session.Consolidated != 0 || second.Fence <= first.Fence {
		t.Errorf("the second lease: %+v", second)
	}
	// A lease that ran out but was taken by nobody still acknowledges.
	d.now = d.now.Add(time.Hour)
	d.ack(second, store.Ack{Cursor: 1})
	same(t, "the cursor", d.session("chat").Consolidated, int64(1))
}

func leaseIsExclusive(t testing.TB, b Backend) {
	d := newDesk(t, b)
	const sessions = 10
	for i := range sessions {
		id := tenet.SessionID(fmt.Sprint("chat", i))
		d.open(id, 0)
		d.say(id, "x")
	}
	var got [sessions]atomic.Int32
	var total atomic.Int32
	race(racers, func(i int) {
		l, err := d.s.Lease(ctx, store.LeaseRequest{Worker: fmt.Sprint("w", i), Now: d.now, Until: d.now.Add(time.Minute)})
		if err != nil {
			t.Errorf("a racing lease failed: %v", err)
			return
		}
		if l != nil {
			var n int
			fmt.Sscanf(string(l.Session.ID), "chat%d", &n)
			got[n].Add(1)
			total.Add(1)
		}
	})
	for i := range got {
		if n := got[i].Load(); n > 1 {
			t.Errorf("session %d was leased %d times", i, n)
		}
	}
	// A racing worker may come away empty; nothing may stay behind for good.
	for range sessions - int(total.Load()) {
		if l := d.lease("late"); l == nil {
			t.Error("a due session could not be leased")
		}
	}
	if l := d.lease("late"); l != nil {
		t.Errorf("leased once too often: %+v", l)
	}
}

func fenceIncreases(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "one")
	var last uint64
	for i := range 6 {
		l := d.take("w", "chat")
		if l.Fence <= last {
			t.Errorf("lease %d has fence %d after %d", i, l.Fence, last)
		}
		last = l.Fence
		if i%2 == 0 {
			d.ack(l, store.Ack{Cursor: l.Session.Consolidated, Code: "FAILED", NextDue: d.now})
		} else {
			d.now = d.now.Add(time.Hour) // it runs out
		}
	}
}

func staleAckConflicts(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "one", "two")
	must(t, d.s.Propose(ctx, d.scope, "chat", tenet.Candidate{ID: "p", Scope: d.scope, Tier: tenet.TierNote, Text: "x"}, d.now))
	first := d.take("w", "chat")
	d.now = d.now.Add(time.Hour)
	second := d.take("w", "chat") // the same worker, restarted, is another lease
	wantKind(t, "the ack of a lease that another took", d.s.Ack(ctx, first, store.Ack{Cursor: 2, Done: []tenet.CandidateID{"p"}, Now: d.now}), tenet.Conflict)
	if s := d.session("chat"); s.Consolidated != 0 {
		t.Errorf("a stale ack moved the cursor: %+v", s)
	}
	forged := second
	forged.Fence++
	wantKind(t, "the ack of a lease that never was", d.s.Ack(ctx, forged, store.Ack{Cursor: 2, Now: d.now}), tenet.Conflict)
	d.ack(second, store.Ack{Cursor: 1, NextDue: d.now})
	l := d.take("w", "chat")
	if len(l.Proposals) != 1 || l.Session.Consolidated != 1 {
		t.Errorf("after the acks: %+v", l)
	}
}

func ackedOnce(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "one", "two")
	l := d.take("w", "chat")
	d.ack(l, store.Ack{Cursor: 2})
	s := d.session("chat")
	if s.Consolidated != 2 || !s.DueAt.IsZero() {
		t.Errorf("the acknowledged session: %+v", s)
	}
	d.now = d.now.Add(time.Hour)
	if l := d.lease("w"); l != nil {
		t.Errorf("acknowledged, yet due again: %+v", l)
	}
	wantKind(t, "the same ack again", d.s.Ack(ctx, l, store.Ack{Cursor: 2, NextDue: d.now, Now: d.now}), tenet.Conflict)
	same(t, "the session", d.session("chat"), s)
	d.say("chat", "three") // growing makes it due
	if l := d.take("w", "chat"); l.Session.Consolidated != 2 || l.Session.Length != 3 {
		t.Errorf("the next lease: %+v", l)
	}
}

func failedAckCounts(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "one")
	for i := range 3 {
		l := d.take("w", "chat")
		next := d.now.Add(time.Minute)
		d.ack(l, store.Ack{Code: "EXTRACTOR", NextDue: next})
		s := d.session("chat")
		if s.Attempts != i+1 || s.LastCode != "EXTRACTOR" || !s.DueAt.Equal(next) || s.Consolidated != 0 {
			t.Errorf("after %d failures: %+v", i+1, s)
		}
		if l := d.lease("w"); l != nil {
			t.Errorf("leased before its time: %+v", l)
		}
		d.now = next
	}
	d.ack(d.take("w", "chat"), store.Ack{Cursor: 1})
	if s := d.session("chat"); s.Attempts != 0 || s.LastCode != "" {
		t.Errorf("after success: %+v", s)
	}
}

func grownSessionStaysDue(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "one")
	l := d.take("w", "chat")
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{d.message("two")}, time.Time{}) // meanwhile
	must(t, err)
	d.ack(l, store.Ack{Cursor: 1})
	l = d.take("w", "chat")
	if l.Session.Consolidated != 1 || l.Session.Length != 2 {
		t.Errorf("the grown session: %+v", l.Session)
	}
	must(t, d.s.End(ctx, d.scope, "chat", d.now)) // ended meanwhile: nothing is left to do
	d.ack(l, store.Ack{Cursor: 2})
	d.now = d.now.Add(time.Hour)
	if l := d.lease("w"); l != nil {
		t.Errorf("due with nothing left: %+v", l)
	}
}

func sweepEndsAndRemoves(t testing.TB, b Backend) {
	d := newDesk(t, b)
	start := d.now
	for id, ttl := range map[tenet.SessionID]time.Duration{"short": time.Hour, "long": 48 * time.Hour, "forever": 0, "young": time.Hour} {
		d.open(id, ttl)
		d.say(id, "one", "two", "three")
		must(t, d.s.Serve(ctx, d.scope, tenet.Receipt{ID: "r-" + string(id), Session: id, At: d.now}))
	}
	for range 4 {
		l := d.lease("w")
		if l == nil {
			t.Fatal("not due")
		}
		d.ack(*l, store.Ack{Cursor: 3})
	}
	d.now = start.Add(90 * time.Minute)
	last := d.say("young", "four") // an append renews the time to live
	d.ack(d.take("w", "young"), store.Ack{Cursor: 4})
	cited := d.messages("short", 0, 1)[0].ID
	d.now = start.Add(2 * time.Hour)
	n, err := d.s.Sweep(ctx, d.now)
	must(t, err)
	same(t, "how many messages went", n, 3)
	s := d.session("short")
	if s.EndedAt.IsZero() || s.Consolidated != 3 {
		t.Errorf("the swept session: %+v", s)
	}
	same(t, "its log", len(d.messages("short", 0, 10)), 0)
	same(t, "its receipts", len(must2(d.s.Receipts(ctx, d.scope, "short"))(t)), 0)
	same(t, "its cited message", len(must2(d.s.Cited(ctx, d.scope, []tenet.MessageID{cited}))(t)), 0)
	_, err = d.s.Append(ctx, d.scope, "short", []tenet.Message{d.message("late")}, d.now)
	wantKind(t, "appending to a session past its time", err, tenet.Conflict)
	for id, n := range map[tenet.SessionID]int{"long": 3, "forever": 3, "young": 4} {
		if s := d.session(id); !s.EndedAt.IsZero() || len(d.messages(id, 0, 10)) != n || len(must2(d.s.Receipts(ctx, d.scope, id))(t)) != 1 {
			t.Errorf("%s was swept: %+v", id, s)
		}
	}
	same(t, "the newest message", len(must2(d.s.Cited(ctx, d.scope, []tenet.MessageID{last[0].ID}))(t)), 1)
	n, err = d.s.Sweep(ctx, d.now)
	must(t, err)
	same(t, "a second sweep", n, 0)
	if l := d.lease("w"); l != nil {
		t.Errorf("a swept session is due: %+v", l)
	}
	// What is served late does not outlive the next sweep.
	if err := d.s.Serve(ctx, d.scope, tenet.Receipt{ID: "late", Session: "short", At: d.now}); err == nil {
		must2(d.s.Sweep(ctx, d.now.Add(time.Minute)))(t)
	}
	same(t, "receipts served late", len(must2(d.s.Receipts(ctx, d.scope, "short"))(t)), 0)
}

func ttlNeverRemovesUnconsolidated(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", time.Hour)
	d.open("proposed", time.Hour)
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{d.message("one"), d.message("two")}, d.now.AddDate(1, 0, 0))
	must(t, err)
	must(t, d.s.Propose(ctx, d.scope, "proposed", tenet.Candidate{ID: "p", Scope: d.scope, Tier: tenet.TierNote, Text: "x"}, d.now.AddDate(1, 0, 0)))
	for range 3 {
		d.now = d.now.Add(24 * time.Hour)
		n, err := d.s.Sweep(ctx, d.now)
		must(t, err)
		same(t, "messages swept", n, 0)
		same(t, "the log", said(d.messages("chat", 0, 10)), []string{"one", "two"})
		if s := d.session("chat"); s.EndedAt.IsZero() || s.DueAt.IsZero() || s.DueAt.After(d.now) {
			t.Errorf("past its time, it is not ended and due: %+v", s)
		}
	}
	done := map[tenet.SessionID]bool{}
	for range 2 {
		l := d.lease("w")
		if l == nil {
			t.Fatalf("not due past their time; only %v were", done)
		}
		done[l.Session.ID] = true
		a := store.Ack{Cursor: l.Session.Length}
		for _, p := range l.Proposals {
			a.Done = append(a.Done, p.ID)
		}
		if l.Session.ID == "chat" {
			a.Cursor = 1 // half of it
			d.ack(*l, a)
			if n, err := d.s.Sweep(ctx, d.now); n != 0 || err != nil || len(d.messages("chat", 1, 10)) != 1 {
				t.Errorf("with one message to go, %d went: %v", n, err)
			}
			only, err := d.s.Lease(ctx, store.LeaseRequest{Worker: "w", Now: d.now, Until: d.now.Add(time.Minute), Scope: d.scope, Only: "chat"})
			must(t, err)
			l, a.Cursor = only, 2
		}
		d.ack(*l, a)
	}
	if n, err := d.s.Sweep(ctx, d.now); n != 2 || err != nil {
		t.Errorf("consolidated, %d messages went: %v", n, err)
	}
}
