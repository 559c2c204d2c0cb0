package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var sessionClauses = []clause{
	{"EnsureKeepsTheFirst", ensureKeepsTheFirst},
	{"AppendKeepsOrder", appendKeepsOrder},
	{"ClientIDMakesRetryHarmless", clientIDMakesRetryHarmless},
	{"EqualMessagesStayTwo", equalMessagesStayTwo},
	{"ConflictingClientIDConflicts", conflictingClientIDConflicts},
	{"AppendIsAllOrNone", appendIsAllOrNone},
	{"EndedSessionRefusesAppend", endedSessionRefusesAppend},
	{"MessagesPage", messagesPage},
	{"MessagesComeBackWhole", messagesComeBackWhole},
	{"CitedFindsAcrossSessionsOfTheScopeOnly", citedFindsAcrossSessionsOfTheScopeOnly},
	{"ReceiptsRoundTrip", receiptsRoundTrip},
	{"ServedWithFindsWhoeverReadsTheScope", servedWithFindsWhoever},
	{"SessionScopesAreDisjoint", sessionScopesAreDisjoint},
	{"UnusableArgumentsAreErrors", unusableSessionArguments},
	{"LeaseTakesTheOldestDue", leaseTakesTheOldestDue},
	{"LeaseOfOneSession", leaseOfOneSession},
	{"LeaseOfOneScope", leaseOfOneScope},
	{"LeaseExpires", leaseExpires},
	{"LeaseIsExclusive", leaseIsExclusive},
	{"FenceIncreases", fenceIncreases},
	{"StaleAckConflicts", staleAckConflicts},
	{"AckedOnce", ackedOnce},
	{"FailedAckCounts", failedAckCounts},
	{"GrownSessionStaysDue", grownSessionStaysDue},
	{"ProposalsSurviveUntilAcked", proposalsSurviveUntilAcked},
	{"SweepEndsAndRemoves", sweepEndsAndRemoves},
	{"TTLNeverRemovesUnconsolidated", ttlNeverRemovesUnconsolidated},
	{"ParkedStaysParked", parkedStaysParked},
	{"WaitingListsFailuresFirst", waitingListsFailuresFirst},
	{"TheBacklogIsCounted", theBacklogIsCounted},
}

// desk is a fresh session store, with a clock that only moves when told.
type desk struct {
	testing.TB
	s     store.Sessions
	scope tenet.Scope
	now   time.Time
	n     int
}

func newDesk(t testing.TB, b Backend) *desk {
	t.Helper()
	return deskOn(t, b.Sessions(t), mustScope(t, "acme", tenet.User("sarah")))
}

func deskOn(t testing.TB, s store.Sessions, scope tenet.Scope) *desk {
	return &desk{TB: t, s: s, scope: scope, now: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (d *desk) open(id tenet.SessionID, ttl time.Duration) tenet.Session {
	d.Helper()
	s, err := d.s.Ensure(ctx, d.scope, tenet.Session{ID: id, Scope: d.scope, Reads: []tenet.Scope{d.scope}, TTL: ttl, CreatedAt: d.now, LastAt: d.now})
	must(d.TB, err)
	return s
}

// session reads a session that exists.
func (d *desk) session(id tenet.SessionID) tenet.Session { d.Helper(); return d.open(id, 0) }

// message is one as the engine hands it over.
func (d *desk) message(text string) tenet.Message {
	d.n++
	return tenet.Message{
		ID: tenet.MessageID(fmt.Sprintf("m%04d", d.n)), Role: tenet.RoleUser, Text: text,
		Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: d.now,
	}
}

// say appends the texts and makes the session due now.
func (d *desk) say(id tenet.SessionID, texts ...string) []tenet.Message {
	d.Helper()
	var ms []tenet.Message
	for _, t := range texts {
		ms = append(ms, d.message(t))
	}
	out, err := d.s.Append(ctx, d.scope, id, ms, d.now)
	must(d.TB, err)
	return out
}

func (d *desk) messages(id tenet.SessionID, after int64, limit int) []tenet.Message {
	d.Helper()
	out, err := d.s.Messages(ctx, d.scope, id, after, limit)
	must(d.TB, err)
	return out
}

func (d *desk) lease(worker string) *store.Lease {
	d.Helper()
	l, err := d.s.Lease(ctx, store.LeaseRequest{Worker: worker, Now: d.now, Until: d.now.Add(time.Minute)})
	must(d.TB, err)
	return l
}

// take leases and demands a given session.
func (d *desk) take(worker string, id tenet.SessionID) store.Lease {
	d.Helper()
	l := d.lease(worker)
	if l == nil || l.Session.ID != id || l.Session.Scope != d.scope {
		d.Fatalf("want a lease of %s, got %+v", id, l)
	}
	return *l
}

func (d *desk) ack(l store.Lease, a store.Ack) {
	d.Helper()
	a.Now = d.now
	must(d.TB, d.s.Ack(ctx, l, a))
}

func said(ms []tenet.Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return out
}

// inOrder demands positions first, first+1, ... without gaps.
func inOrder(t testing.TB, ms []tenet.Message, first int64) {
	t.Helper()
	for i, m := range ms {
		if m.Seq != first+int64(i) {
			t.Errorf("message %d stands at position %d, want %d", i, m.Seq, first+int64(i))
		}
	}
}

func ensureKeepsTheFirst(t testing.TB, b Backend) {
	d := newDesk(t, b)
	project := mustScope(t, "acme", tenet.Project("atlas"))
	want := tenet.Session{ID: "chat", Scope: d.scope, Reads: []tenet.Scope{d.scope, project, mustScope(t, "acme", tenet.WholeTenant())},
		TTL: 36 * time.Hour, RetainNone: true, CreatedAt: d.now, LastAt: d.now}
	for _, given := range []tenet.Session{want, {ID: "chat", Scope: d.scope, Reads: []tenet.Scope{project}, TTL: time.Hour, CreatedAt: d.now.Add(time.Hour)}} {
		got, err := d.s.Ensure(ctx, d.scope, given)
		must(t, err)
		same(t, "the session", got, want)
	}
	race(8, func(int) {
		if _, err := d.s.Ensure(ctx, d.scope, tenet.Session{ID: "raced", Scope: d.scope, CreatedAt: d.now}); err != nil {
			t.Errorf("racing Ensure: %v", err)
		}
	})
}

func appendKeepsOrder(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.now = d.now.Add(time.Minute)
	got := d.say("chat", "one", "two")
	got = append(got, d.say("chat", "three")...)
	same(t, "what Append returned", said(got), []string{"one", "two", "three"})
	inOrder(t, got, 1)
	same(t, "what is kept", d.messages("chat", 0, 10), got)
	s := d.session("chat")
	if s.Length != 3 || !s.LastAt.Equal(d.now) || !s.DueAt.Equal(d.now) || s.Consolidated != 0 {
		t.Errorf("the session: %+v", s)
	}
	if got[0].Session != "chat" || got[0].ID != "m0001" {
		t.Errorf("a message as kept: %+v", got[0])
	}
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{d.message("four")}, time.Time{})
	must(t, err)
	same(t, "a zero due leaves it", d.session("chat").DueAt, s.DueAt)
	_, err = d.s.Append(ctx, d.scope, "nope", []tenet.Message{d.message("x")}, d.now)
	wantKind(t, "appending to an unknown session", err, tenet.NotFound)

	d.open("busy", 0)
	race(racers, func(i int) {
		var ms []tenet.Message
		for j := range 3 {
			m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("r", i, ".", j)), Role: tenet.RoleUser, Text: fmt.Sprint(i), RecordedAt: d.now, Label: tenet.LabelUserStated, RecordedBy: "app:test"}
			ms = append(ms, m)
		}
		out, err := d.s.Append(ctx, d.scope, "busy", ms, d.now)
		if err != nil {
			t.Errorf("a racing append failed: %v", err)
			return
		}
		if out[1].Seq != out[0].Seq+1 || out[2].Seq != out[0].Seq+2 {
			t.Errorf("one append was torn apart: %d %d %d", out[0].Seq, out[1].Seq, out[2].Seq)
		}
	})
	all := d.messages("busy", 0, 1000)
	inOrder(t, all, 1)
	same(t, "how many are kept", len(all), 3*racers)
}

func clientIDMakesRetryHarmless(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	m := d.message("hello")
	m.ClientID, m.ToolCalls = "client-1", []string{"call-1"}
	first, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{m}, d.now)
	must(t, err)
	d.now = d.now.Add(time.Minute)
	retry := m
	retry.ID, retry.RecordedAt = "another-id", d.now
	next := d.message("next")
	got, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{retry, next}, d.now)
	must(t, err)
	same(t, "the retried message", got[:1], first)
	same(t, "the log", said(d.messages("chat", 0, 10)), []string{"hello", "next"})
	inOrder(t, d.messages("chat", 0, 10), 1)
	same(t, "the session's length", d.session("chat").Length, int64(2))
	same(t, "the id that was not used", len(must2(d.s.Cited(ctx, d.scope, []tenet.MessageID{"another-id"}))(t)), 0)

	d.open("other", 0)
	retry.ID = "m-other"
	_, err = d.s.Append(ctx, d.scope, "other", []tenet.Message{retry}, d.now)
	must(t, err)
	same(t, "another session has its own client ids", len(d.messages("other", 0, 10)), 1)

	race(8, func(i int) {
		m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("raced", i)), Role: tenet.RoleUser, Text: "raced", ClientID: "raced", RecordedAt: d.now, Label: tenet.LabelUserStated, RecordedBy: "app:test"}
		if _, err := d.s.Append(ctx, d.scope, "other", []tenet.Message{m}, d.now); err != nil {
			t.Errorf("a racing retry failed: %v", err)
		}
	})
	same(t, "racing retries keep one", len(d.messages("other", 0, 10)), 2)
}

func equalMessagesStayTwo(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "yes", "yes")
	d.say("chat", "yes")
	a, c := d.message("yes"), d.message("yes")
	a.ClientID, c.ClientID = "c1", "C1" // case distinguishes
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{a, c}, d.now)
	must(t, err)
	same(t, "the log", said(d.messages("chat", 0, 10)), []string{"yes", "yes", "yes", "yes", "yes"})
}

func conflictingClientIDConflicts(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	m := d.message("hello")
	m.ClientID = "client-1"
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{m}, d.now)
	must(t, err)
	for what, change := range map[string]func(*tenet.Message){
		"text": func(m *tenet.Message) { m.Text = "Hello" }, "role": func(m *tenet.Message) { m.Role = tenet.RoleAssistant },
		"tool call": func(m *tenet.Message) { m.ToolCallID = "call-1" }, "tool calls": func(m *tenet.Message) { m.ToolCalls = []string{"call-1"} },
	} {
		other := m
		other.ID = "m-" + tenet.MessageID(what)
		change(&other)
		_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{d.message("before"), other}, d.now)
		wantKind(t, "the same client id with another "+what, err, tenet.Conflict)
	}
	taken := d.message("taken")
	taken.ID = m.ID
	_, err = d.s.Append(ctx, d.scope, "chat", []tenet.Message{taken}, d.now)
	wantKind(t, "a message id that is taken", err, tenet.Conflict)
	same(t, "the log", said(d.messages("chat", 0, 10)), []string{"hello"})
}

func appendIsAllOrNone(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	m := d.message("first")
	m.ClientID = "client-1"
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{m}, d.now)
	must(t, err)
	was := d.session("chat")
	bad := d.message("other words")
	bad.ClientID = "client-1"
	two := d.message("two")
	two.ClientID = "client-2"
	d.now = d.now.Add(time.Hour)
	_, err = d.s.Append(ctx, d.scope, "chat", []tenet.Message{two, d.message("three"), bad}, d.now)
	wantKind(t, "an append whose last message conflicts", err, tenet.Conflict)
	same(t, "the session", d.session("chat"), was)
	same(t, "the log", said(d.messages("chat", 0, 10)), []string{"first"})
	got, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{two}, d.now)
	must(t, err)
	inOrder(t, got, 2) // no position was used up
}

func endedSessionRefusesAppend(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.say("chat", "one")
	end := d.now.Add(time.Minute)
	must(t, d.s.End(ctx, d.scope, "chat", end))
	_, err := d.s.Append(ctx, d.scope, "chat", []tenet.Message{d.message("two")}, d.now)
	wantKind(t, "appending to an ended session", err, tenet.Conflict)
	s := d.session("chat")
	if !s.EndedAt.Equal(end) || !s.DueAt.Equal(end) || s.Length != 1 {
		t.Errorf("the ended session: %+v", s)
	}
	must(t, d.s.End(ctx, d.scope, "chat", end.Add(time.Hour)))
	same(t, "ending it again", d.session("chat"), s)
	same(t, "its log", said(d.messages("chat", 0, 10)), []string{"one"})
	wantKind(t, "ending an unknown session", d.s.End(ctx, d.scope, "nope", end), tenet.NotFound)
	d.now = end
	d.take("w", "chat")
}

func messagesPage(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	same(t, "an empty log", len(d.messages("chat", 0, 10)), 0)
	for i := range 10 {
		d.say("chat", fmt.Sprint(i+1))
	}
	for _, c := range []struct {
		after int64
		limit int
		want  string
	}{
		{0, 3, "1 2 3"}, {3, 3, "4 5 6"}, {9, 3, "10"}, {10, 3, ""}, {99, 3, ""}, {0, 100, "1 2 3 4 5 6 7 8 9 10"},
		{-1, 5, "10"}, {-3, 5, "8 9 10"}, {-4, 2, "7 8"}, {-10, 100, "1 2 3 4 5 6 7 8 9 10"}, {-99, 3, "1 2 3"},
	} {
		same(t, fmt.Sprintf("after %d, %d", c.after, c.limit), said(d.messages("chat", c.after, c.limit)), strings.Fields(c.want))
	}
	_, err := d.s.Messages(ctx, d.scope, "nope", 0, 10)
	wantKind(t, "the log of an unknown session", err, tenet.NotFound)
}

func messagesComeBackWhole(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	zone := time.FixedZone("NPT", 5*3600+45*60)
	var ms []tenet.Message
	for i, text := range append(oddTexts, strings.Repeat("\U0001f600", tenet.MaxMessage/4)) {
		m := d.message(text)
		m.Role, m.Channel, m.Label = tenet.Role(1+i%4), []tenet.Channel{tenet.ChannelTyped, tenet.ChannelPrefilled, tenet.ChannelExternal}[i%3], tenet.Label(1+i%6)
		m.Speaker, m.ClientID, m.ToolCallID = "Sarah "+fmt.Sprint(i), fmt.Sprint("client\u00e9", i), fmt.Sprint("call", i)
		m.ToolCalls, m.RetainNone = []string{"b", "a", `"c,"`}[:i%4], i%2 == 0
		m.SaidAt = time.Date(1+i*500, 2, 3, 4, 5, 6, 123456789, zone)
		m.RecordedAt = d.now.Add(time.Duration(i) * time.Second).In(zone)
		ms = append(ms, m)
	}
	got, err := d.s.Append(ctx, d.scope, "chat", ms, d.now)
	must(t, err)
	for i := range ms {
		ms[i].Session, ms[i].Seq = "chat", int64(i+1)
		ms[i].SaidAt, ms[i].RecordedAt = tenet.Micros(ms[i].SaidAt), tenet.Micros(ms[i].RecordedAt)
	}
	same(t, "what Append returns", got, ms)
	got = d.messages("chat", 0, 100)
	same(t, "what is kept", got, ms)
	for _, m := range got {
		if m.SaidAt.Location() != time.UTC || m.RecordedAt.Location() != time.UTC {
			t.Errorf("message %d: times are not in UTC", m.Seq)
		}
	}
}

func citedFindsAcrossSessionsOfTheScopeOnly(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("one", 0)
	d.open("two", 0)
	a, c := d.say("one", "first")[0], d.say("two", "second")[0]
	other := deskOn(t, d.s, mustScope(t, "acme", tenet.User("tom")))
	other.open("one", 0)
	other.n = 100
	foreign := other.say("one", "not hers")[0]
	got, err := d.s.Cited(ctx, d.scope, []tenet.MessageID{c.ID, foreign.ID, "nope", a.ID})
	must(t, err)
	same(t, "cited, in the order named", got, []tenet.Message{c, a})
	got, err = d.s.Cited(ctx, d.scope, nil)
	must(t, err)
	same(t, "nothing named", len(got), 0)
}

func receiptsRoundTrip(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	d.open("other", 0)
	var want []tenet.Receipt
	for i := range 3 {
		r := tenet.Receipt{
			ID: fmt.Sprint("r", 9-i), Session: "chat", At: d.now.Add(time.Duration(i) * time.Second), Facts: []tenet.RecordID{"b", "a"},
			Recalled: []tenet.RecordID{tenet.RecordID(fmt.Sprint("n", i))},
			Scores:   []tenet.Score{{Turn: 1, Window: -2, Session: 3, Near: 4, Speaker: 5, Preference: 6, Time: 7, Standing: 8, Dense: math.MaxInt32, Exact: int32(i)}},
			Pending:  []int64{1, 1 << 60}, Lowest: tenet.LabelExternal, Tokens: 1000 + i,
		}
		want = append(want, r)
		must(t, d.s.Serve(ctx, d.scope, r))
	}
	must(t, d.s.Serve(ctx, d.scope, tenet.Receipt{ID: "empty", Session: "other", At: d.now}))
	got, err := d.s.Receipts(ctx, d.scope, "chat")
	must(t, err)
	same(t, "receipts, oldest first", got, want)
	wantKind(t, "serving an unknown session", d.s.Serve(ctx, d.scope, tenet.Receipt{ID: "x", Session: "nope", At: d.now}), tenet.NotFound)
	_, err = d.s.Receipts(ctx, d.scope, "nope")
	wantKind(t, "receipts of an unknown session", err, tenet.NotFound)
}

// servedWithFindsWhoever: who was shown a record is asked of the sessions that
// may have been, those of other scopes too, and of nobody else.
func servedWithFindsWhoever(t testing.TB, b Backend) {
	d := newDesk(t, b)
	sv, ok := d.s.(store.Served)
	if !ok {
		t.Fatal("the session store does not say who was served what")
	}
	shared, bob := mustScope(t, "acme", tenet.WholeTenant()), mustScope(t, "acme", tenet.User("bob"))
	serve := func(scope tenet.Scope, id tenet.SessionID, reads tenet.Scope, served ...tenet.RecordID) {
		t.Helper()
		_, err := d.s.Ensure(ctx, scope, tenet.Session{ID: id, Scope: scope, Reads: []tenet.Scope{scope, reads}, CreatedAt: d.now})
		must(t, err)
		for i, rec := range served {
			r := tenet.Receipt{ID: fmt.Sprint(id, i), Session: id, At: d.now, Facts: []tenet.RecordID{rec, "c"}, Recalled: []tenet.RecordID{"d"}}
			if i%2 > 0 {
				r.Facts, r.Recalled = r.Recalled, r.Facts
			}
			must(t, d.s.Serve(ctx, scope, r))
		}
	}
	serve(shared, "own", shared, "z", "a")
	serve(bob, "chat", shared, "b", "z", "a")
	serve(bob, "aside", bob, "z")
	serve(d.scope, "chat", bob, "a") // reads another: the id is another's, too
	globex := mustScope(t, "globex", tenet.User("bob"))
	serve(globex, "chat", mustScope(t, "globex", tenet.WholeTenant()), "a")
	found := func(scope tenet.Scope, ids ...tenet.RecordID) []string {
		t.Helper()
		rs, err := sv.ServedWith(ctx, scope, ids)
		must(t, err)
		out := []string{}
		for _, r := range rs {
			if own := must2(d.s.Receipts(ctx, r.Scope, r.Session))(t); !slices.ContainsFunc(own, func(x tenet.Receipt) bool { return reflect.DeepEqual(x, r.Receipt) }) {
				t.Errorf("a receipt that the session does not have: %+v", r)
			}
			out = append(out, r.Scope.Subject().String()+" "+r.ID)
		}
		return out
	}
	own, bobs := shared.Subject().String()+" own", "user:bob chat"
	same(t, "served", found(shared, "a", "b"), []string{own + "1", bobs + "0", bobs + "2"})
	same(t, "served of nothing", found(shared), []string{})
	same(t, "served of what nobody saw", found(shared, "q"), []string{})
	same(t, "served to a scope alone", found(globex, "a"), []string{"user:bob chat0"})
	same(t, "served of a scope that nobody knows", found(mustScope(t, "acme", tenet.User("nobody")), "a"), []string{})
	_, err := sv.ServedWith(ctx, tenet.Scope{}, []tenet.RecordID{"a"})
	wantKind(t, "served of no scope", err, tenet.Invalid)
}

func sessionScopesAreDisjoint(t testing.TB, b Backend) {
	s := b.Sessions(t)
	scopes := hostileScopes(t)
	word := func(i int) string { return fmt.Sprint("words of scope ", i) }
	for i, scope := range scopes {
		d := deskOn(t, s, scope)
		if n := d.open("chat", time.Hour).Length; n != 0 {
			t.Errorf("%q: a fresh session holds %d messages", scope, n)
		}
		d.now = d.now.Add(time.Duration(i) * time.Second)
		m := d.message(word(i))
		m.ClientID = "client-1"
		_, err := s.Append(ctx, scope, "chat", []tenet.Message{m}, d.now)
		must(t, err)
		must(t, s.Propose(ctx, scope, "chat", tenet.Candidate{ID: "p", Scope: scope, Tier: tenet.TierNote, Text: word(i)}, d.now))
		must(t, s.Serve(ctx, scope, tenet.Receipt{ID: word(i), Session: "chat", At: d.now}))
	}
	leased := map[tenet.Scope]string{}
	late := deskOn(t, s, scopes[0])
	late.now = late.now.Add(time.Hour)
	for range scopes {
		l := late.lease("w")
		if l == nil || len(l.Proposals) != 1 {
			t.Fatalf("leased %d of %d: %+v", len(leased), len(scopes), l)
		}
		leased[l.Session.Scope] = l.Proposals[0].Text
	}
	for i, scope := range scopes {
		d := deskOn(t, s, scope)
		name := fmt.Sprintf("%q", scope)
		own := []string{word(i)}
		same(t, name+" log", said(d.messages("chat", 0, 10)), own)
		same(t, name+" cited", said(must2(s.Cited(ctx, scope, []tenet.MessageID{"m0001"}))(t)), own)
		same(t, name+" lease", leased[scope], word(i))
		rs := must2(s.Receipts(ctx, scope, "chat"))(t)
		if len(rs) != 1 || rs[0].ID != word(i) {
			t.Errorf("%s: receipts %+v", name, rs)
		}
		if got := d.session("chat"); got.Scope != scope || got.Length != 1 {
			t.Errorf("%s: session %+v", name, got)
		}
	}
	// Session ids distinguish by byte as well.
	d := deskOn(t, s, scopes[0])
	ids := []tenet.SessionID{"Chat", "chat ", "cha%", "ch_t", "caf\u00e9", "cafe\u0301", "1", "01", "{chat}", "chat:1", "chat/1"}
	for _, id := range ids {
		d.n += 1000
		d.open(id, 0)
		d.say(id, "in "+string(id))
	}
	for _, id := range ids {
		same(t, fmt.Sprintf("session %q", id), said(d.messages(id, 0, 10)), []string{"in " + string(id)})
	}
}

func unusableSessionArguments(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	dead, cancel := context.WithCancel(ctx)
	cancel()
	calls := func(c context.Context, scope tenet.Scope, id tenet.SessionID) map[string]error {
		_, ensure := d.s.Ensure(c, scope, tenet.Session{ID: id, Scope: scope, CreatedAt: d.now})
		_, app := d.s.Append(c, scope, id, []tenet.Message{d.message("x")}, d.now)
		_, messages := d.s.Messages(c, scope, id, 0, 10)
		_, receipts := d.s.Receipts(c, scope, id)
		return map[string]error{
			"Ensure": ensure, "Append": app, "Messages": messages, "Receipts": receipts, "End": d.s.End(c, scope, id, d.now),
			"Propose": d.s.Propose(c, scope, id, tenet.Candidate{ID: "p", Scope: scope, Tier: tenet.TierNote, Text: "x"}, d.now),
			"Serve":   d.s.Serve(c, scope, tenet.Receipt{ID: "r", Session: id, At: d.now}),
		}
	}
	for name, err := range calls(ctx, tenet.Scope{}, "chat") {
		wantKind(t, name+" without a scope", err, tenet.Invalid)
	}
	_, err := d.s.Cited(ctx, tenet.Scope{}, []tenet.MessageID{"m"})
	wantKind(t, "Cited without a scope", err, tenet.Invalid)
	_, err = d.s.Ensure(ctx, d.scope, tenet.Session{Scope: d.scope, CreatedAt: d.now})
	wantKind(t, "Ensure without an id", err, tenet.Invalid)
	for name, err := range calls(dead, d.scope, "chat") {
		wantKind(t, name+" with a context that ended", err, tenet.Unavailable)
	}
	_, err = d.s.Cited(dead, d.scope, []tenet.MessageID{"m"})
	wantKind(t, "Cited with a context that ended", err, tenet.Unavailable)
	_, err = d.s.Lease(dead, store.LeaseRequest{Worker: "w", Now: d.now, Until: d.now.Add(time.Minute)})
	wantKind(t, "Lease with a context that ended", err, tenet.Unavailable)
	_, err = d.s.Sweep(dead, d.now)
	wantKind(t, "Sweep with a context that ended", err, tenet.Unavailable)
	s := d.session("chat")
	if s.Length != 0 || !s.EndedAt.IsZero() || !s.DueAt.IsZero() {
		t.Errorf("something was written: %+v", s)
	}
}

func proposalsSurviveUntilAcked(t testing.TB, b Backend) {
	d := newDesk(t, b)
	d.open("chat", 0)
	c := tenet.Candidate{
		ID: "p1", Scope: d.scope, Tier: tenet.TierFact, Key: "k\u00e9", Value: json.RawMessage(`{"a":"<&>","n":9007199254740993}`), Text: "words",
		Cites: []tenet.MessageID{"m2", "m1"}, Quote: "quoted", Session: "chat", Recalled: []tenet.RecordID{"r1"}, Speaker: "Sarah", Position: 1 << 60,
		Valid: tenet.Interval{From: day(2024, 1, 1), To: day(2025, 1, 1)}, Multi: true, Safety: true, IfVersion: "v", ProposedBy: "agent:test", ProposedAt: d.now,
	}
	must(t, d.s.Propose(ctx, d.scope, "chat", c, d.now))
	must(t, d.s.Propose(ctx, d.scope, "chat", c, d.now)) // a retry
	other := c
	other.Text = "other words"
	wantKind(t, "the same id with other content", d.s.Propose(ctx, d.scope, "chat", other, d.now), tenet.Conflict)
	wantKind(t, "proposing to an unknown session", d.s.Propose(ctx, d.scope, "nope", c, d.now), tenet.NotFound)
	c2, c3 := tenet.Candidate{ID: "a2", Scope: d.scope, Tier: tenet.TierNote, Text: "two"}, tenet.Candidate{ID: "p3", Scope: d.scope, Tier: tenet.TierNote, Text: "three"}
	must(t, d.s.Propose(ctx, d.scope, "chat", c2, d.now))

	l := d.take("w", "chat")
	same(t, "the proposals, in order", l.Proposals, []tenet.Candidate{c, c2})
	if len(l.Proposals) > 0 && string(l.Proposals[0].Value) != string(c.Value) {
		t.Errorf("the value is not kept byte for byte: %s", l.Proposals[0].Value)
	}
	must(t, d.s.Propose(ctx, d.scope, "chat", c3, time.Time{})) // while it is leased
	d.ack(l, store.Ack{Done: []tenet.CandidateID{"p1"}})
	d.now = d.now.Add(time.Minute)
	l = d.take("w", "chat") // what is left keeps the session due
	same(t, "what is left", l.Proposals, []tenet.Candidate{c2, c3})
	d.now = d.now.Add(time.Hour) // a crash: nothing is acknowledged
	l = d.take("w", "chat")
	same(t, "after a crash", l.Proposals, []tenet.Candidate{c2, c3})
	d.ack(l, store.Ack{Done: []tenet.CandidateID{"a2", "p3"}})
	d.now = d.now.Add(time.Hour)
	if l := d.lease("w"); l != nil {
		t.Errorf("due with nothing left: %+v", l)
	}
	same(t, "the session", slices.Equal(d.session("chat").Reads, []tenet.Scope{d.scope}), true)
}
