package storetest

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// theBacklogIsCounted asks only of a store that counts at all.
func theBacklogIsCounted(t testing.TB, b Backend) {
	d := newDesk(t, b)
	counts, ok := d.s.(store.Instruments)
	if !ok {
		return // an optional port: its numbers are left out
	}
	count := func(what string, want store.Backlog) {
		t.Helper()
		same(t, what, must2(counts.Backlog(ctx, d.now))(t), want)
	}
	count("of nothing", store.Backlog{})
	for i, id := range []tenet.SessionID{"one", "two", "three", "four"} {
		d.open(id, 0)
		_, err := d.s.Append(ctx, d.scope, id, []tenet.Message{d.message("x")}, d.now.Add(time.Duration(i)*time.Minute))
		must(t, err)
	}
	d.open("idle", 0)
	other := deskOn(t, d.s, mustScope(t, "other", tenet.User("bob")))
	other.open("theirs", 0)
	_, err := d.s.Append(ctx, other.scope, "theirs", []tenet.Message{other.message("x")}, d.now.Add(time.Hour))
	must(t, err)
	first := d.now
	count("one is due", store.Backlog{Due: 1, Waiting: 4, Oldest: first})
	d.now = d.now.Add(2 * time.Minute)
	count("three are", store.Backlog{Due: 3, Waiting: 2, Oldest: first})
	end := func(id tenet.SessionID, a store.Ack) {
		l, err := d.s.Lease(ctx, store.LeaseRequest{Worker: "w", Now: d.now, Until: d.now.Add(time.Minute), Scope: d.scope, Only: id})
		must(t, err)
		a.Now = d.now
		must(t, d.s.Ack(ctx, *l, a))
	}
	end("one", store.Ack{Code: "internal", Park: true})
	end("two", store.Ack{Code: "internal", NextDue: d.now.Add(time.Minute)})
	count("one is given up, one failed", store.Backlog{Due: 1, Waiting: 3, Failing: 1, Dead: 1, Oldest: d.now})
	end("one", store.Ack{Cursor: 1})
	end("two", store.Ack{Cursor: 1})
	count("both are done", store.Backlog{Due: 1, Waiting: 2, Oldest: d.now})
	if deletes, ok := d.s.(store.Deleter); ok {
		_, err := d.s.Append(ctx, d.scope, "one", []tenet.Message{d.message("y")}, d.now)
		must(t, err)
		end("one", store.Ack{Cursor: 1, Code: "internal", Park: true})
		must(t, deletes.DeleteSession(ctx, d.scope, "one", d.now))
		count("what is deleted is given up by nobody", store.Backlog{Due: 1, Waiting: 2, Oldest: d.now})
	}

	for i, ids := range [][]tenet.RecordID{{"a", "b"}, nil, {"c"}} {
		must(t, d.s.Serve(ctx, d.scope, tenet.Receipt{ID: string(rune('p' + i)), Session: "three", At: d.now.Add(time.Duration(-i) * time.Hour), Recalled: ids}))
	}
	ids := func(since time.Time) (out []string) {
		for _, r := range must2(counts.Receipted(ctx, d.scope, since))(t) {
			out = append(out, r.ID)
		}
		return out
	}
	same(t, "receipts, oldest first", ids(time.Time{}), []string{"r", "q", "p"})
	same(t, "receipts since", ids(d.now.Add(-time.Hour)), []string{"q", "p"})
	rs := must2(counts.Receipted(ctx, d.scope, d.now))(t)
	if len(rs) != 1 || !rs[0].At.Equal(d.now) || len(rs[0].Recalled) != 2 {
		t.Errorf("a receipt: %+v", rs)
	}
	same(t, "another scope's", len(must2(counts.Receipted(ctx, other.scope, time.Time{}))(t)), 0)
}
