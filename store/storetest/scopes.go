package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// hostileScopes are scopes that a careless key, collation or pattern would
// take for one another.
func hostileScopes(t testing.TB) []tenet.Scope {
	long := strings.Repeat("x", tenet.MaxID-1)
	var out []tenet.Scope
	add := func(tenant string, subjects ...tenet.Subject) {
		for _, s := range subjects {
			out = append(out, mustScope(t, tenant, s))
		}
	}
	users := func(ids ...string) (out []tenet.Subject) {
		for _, id := range ids {
			out = append(out, tenet.User(id))
		}
		return out
	}
	add("acme", users(
		"sarah", "Sarah", "SARAH", "sarah ", " sarah", "sara", "sarah2", "sarah%", "s%", "%", "_arah", "s_rah", "*", "[s]arah", "sarah.*",
		"sarah;--", "sarah'", `sarah"`, `sarah\`, "sarah/", "sarah/x", "a:b|c", "b|c", "1:a", "5:sarah", "tenant", "user", "project:atlas", "user:sarah",
		"\u00e9", "e\u0301", "\u212a", "k", "K", "\uff4b", "ss", "\u00df", "i", "\u0131", "\u0130", "\u2764", "\u2764\ufe0f", "\U0001f469\u200d\U0001f680", "\U0001f469\U0001f680",
		"1", "01", "1.0", "1e0", "0x1", "null", "NULL", "true", "{sarah}", "{", "}", long+"a", long+"b", long[:len(long)-1], "\u202esarah", "sar\u00adah")...)
	add("acme", tenet.Project("sarah"), tenet.Project("atlas"), tenet.Project("tenant"), tenet.WholeTenant())
	add("Acme", users("sarah")...)
	add("acme ", users("sarah")...)
	add("acme/user:sarah", tenet.WholeTenant())
	add("acm", users("e/sarah", "sarah")...)
	add("a", append(users("b|c", "b:c", "b", "1:a", "|b"), tenet.WholeTenant())...)
	add("a|b", append(users("c"), tenet.WholeTenant())...)
	add("a:b", users("c")...)
	add("a|b:c", tenet.WholeTenant())
	add("1:a", users("b", "1:b")...)
	add("1:a/user/1:b", tenet.WholeTenant())
	add("a/user/1", users("b")...)
	add("%", users("sarah")...)
	add("{acme}", users("sarah")...)
	add("\u00e9", users("sarah")...)
	add("e\u0301", users("sarah")...)
	return out
}

func scopesAreDisjoint(t testing.TB, b Backend) {
	l := b.Ledger(t)
	scopes := hostileScopes(t)
	start := day(2025, 5, 1)
	// Every scope gets the same ids and keys with its own words.
	word := func(i int) string { return fmt.Sprint("words of scope ", i) }
	for i, scope := range scopes {
		r := rigOn(t, l, scope, nil)
		r.now = start
		r.empty(fmt.Sprintf("%q before it is written", scope))
		stage, err := r.g.StageBatch(scope, gate.Staged{Session: "s", From: 0, To: int64(i + 1), Candidates: []tenet.Candidate{{ID: "st", Scope: scope, Tier: tenet.TierNote, Text: word(i)}}}, r.now)
		must(t, err)
		cs := []gate.Case{r.fact("key", word(i)), r.note(word(i)), r.document("path", word(i)), r.propose(r.agent, tenet.Fact(scope, "held", word(i)))}
		var ds []gate.Decision
		for _, c := range cs {
			ds = append(ds, r.judge(c))
		}
		r.apply(append(ds, stage)...)
	}
	for i, scope := range scopes {
		r := rigOn(t, l, scope, nil)
		name := fmt.Sprintf("%q", scope)
		own := []string{word(i)}
		same(t, name+" head", r.head().Audit, uint64(5))
		fs := r.facts(at(start.Add(time.Hour)))
		same(t, name+" facts", texts(fs), own)
		if len(fs) == 1 && fs[0].Scope != scope {
			t.Errorf("%s: a record of scope %q", name, fs[0].Scope)
		}
		same(t, name+" history", texts(r.history(tenet.TierFact, "key")), own)
		same(t, name+" record", r.record("c0002").Text, word(i))
		ch := must2(l.Changes(ctx, scope, 0))(t)
		same(t, name+" changes", texts(ch.Added), []string{word(i), word(i)})
		st := must2(l.State(ctx, scope, gate.Query{Tier: tenet.TierFact, Key: "key"}, start))(t)
		same(t, name+" state", texts(st.Open), own)
		same(t, name+" usage", st.Usage.Rows, 1)
		ev := must2(l.Evidence(ctx, scope, "c0001"))(t)
		if len(ev) != 1 || ev[0].Excerpt != word(i) {
			t.Errorf("%s: evidence %+v", name, ev)
		}
		hs := r.held()
		if len(hs) != 1 || hs[0].Candidate.Text != word(i) || hs[0].Candidate.Scope != scope {
			t.Errorf("%s: held %+v", name, hs)
		}
		same(t, name+" audit", len(must2(l.Audit(ctx, scope, 1, 100))(t)), 5)
		cursor, cs, err := l.Staged(ctx, scope, "s")
		must(t, err)
		if cursor != int64(i+1) || len(cs) != 1 || cs[0].Text != word(i) || cs[0].Scope != scope {
			t.Errorf("%s: staged up to %d: %+v", name, cursor, cs)
		}
		r.verified()
	}
}

// empty demands that nothing of the scope is there.
func (r *rig) empty(what string) {
	r.Helper()
	same(r.TB, what+": head", r.head(), store.Head{})
	same(r.TB, what+": facts", len(r.facts(at(r.now))), 0)
	same(r.TB, what+": history", len(r.history(tenet.TierFact, "key")), 0)
	same(r.TB, what+": held", len(r.held()), 0)
	same(r.TB, what+": audit", len(must2(r.l.Audit(ctx, r.scope, 1, 10))(r.TB)), 0)
	_, err := r.l.Record(ctx, r.scope, "c0001")
	wantKind(r.TB, what+": record", err, tenet.NotFound)
	_, err = r.l.Verdict(ctx, r.scope, "c0001")
	wantKind(r.TB, what+": verdict", err, tenet.NotFound)
	ch := must2(r.l.Changes(ctx, r.scope, 0))(r.TB)
	same(r.TB, what+": changes", len(ch.Added)+len(ch.Removed), 0)
	cursor, cs, err := r.l.Staged(ctx, r.scope, "s")
	must(r.TB, err)
	if cursor != 0 || len(cs) != 0 {
		r.Errorf("%s: staged up to %d: %+v", what, cursor, cs)
	}
}

func scopesAreListedInPages(t testing.TB, b Backend) {
	l := b.Ledger(t)
	var want []string
	for i := range 7 {
		scope := mustScope(t, "acme", tenet.User(fmt.Sprint("u", i)))
		if i == 6 {
			scope = mustScope(t, "acme", tenet.WholeTenant())
		}
		want = append(want, scope.Key())
		r := rigOn(t, l, scope, nil)
		r.keep(r.fact("k", "x"))
	}
	for _, other := range []string{"Acme", "acme2", "acm", "%"} {
		r := rigOn(t, l, mustScope(t, other, tenet.User("u0")), nil)
		r.keep(r.fact("k", "x"))
	}
	var got []string
	var after tenet.Scope
	for range 10 {
		page := must2(l.Scopes(ctx, "acme", after, 3))(t)
		if len(page) > 3 {
			t.Fatalf("a page of %d", len(page))
		}
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			got = append(got, s.Key())
		}
		after = page[len(page)-1]
	}
	slices.Sort(got)
	slices.Sort(want)
	same(t, "the tenant's scopes", got, want)
}

func stageAdvancesCursorOnce(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	stage := func(from, to int64, cs ...tenet.Candidate) gate.Decision {
		t.Helper()
		d, err := r.g.StageBatch(r.scope, gate.Staged{Session: "chat", From: from, To: to, Candidates: cs}, r.now)
		must(t, err)
		return d
	}
	expect := func(what string, cursor int64, ids ...tenet.CandidateID) []tenet.Candidate {
		t.Helper()
		at, cs, err := r.l.Staged(ctx, r.scope, "chat")
		must(t, err)
		var got []tenet.CandidateID
		for _, c := range cs {
			got = append(got, c.ID)
		}
		if at != cursor || !slices.Equal(got, ids) {
			t.Errorf("%s: staged up to %d: %v, want %d: %v", what, at, got, cursor, ids)
		}
		return cs
	}
	expect("before", 0)
	c1, c2, c3 := r.note("one"), r.propose(r.agent, tenet.FactValue(r.scope, "two", json.RawMessage(`{"a":"<&>","n":9007199254740993}`), "two")), r.note("three")
	c2.Candidate.Valid, c2.Candidate.Cites, c2.Candidate.ProposedAt = tenet.Interval{From: day(2024, 1, 1)}, []tenet.MessageID{"m1", "m2"}, r.now
	c2.Candidate.Session, c2.Candidate.Multi, c2.Candidate.Safety, c2.Candidate.ProposedBy = "chat", true, true, "agent:test"
	d := stage(0, 4, c3.Candidate, c1.Candidate, c2.Candidate)
	a := r.apply(d)[0]
	same(t, "the entry", []string{a.Entry.Action, a.Entry.Ref}, []string{"stage", "chat"})
	cs := expect("staged", 4, c3.Candidate.ID, c1.Candidate.ID, c2.Candidate.ID)
	if len(cs) == 3 {
		same(t, "a staged candidate", cs[2], c2.Candidate)
		same(t, "its value, byte for byte", string(cs[2].Value), string(c2.Candidate.Value))
	}
	was := r.head()
	for what, d := range map[string]gate.Decision{"the same stretch again": d, "a stretch that overlaps": stage(2, 8), "a stretch with a gap": stage(6, 8)} {
		_, err := r.l.Apply(ctx, []gate.Decision{d}, nil)
		wantKind(t, what, err, tenet.Conflict)
	}
	r.unchanged("after conflicts", was)
	same(t, "a staged candidate admits nothing", len(must2(r.l.Changes(ctx, r.scope, 0))(t).Added), 0)

	r.keep(c1)
	expect("one judged", 4, c3.Candidate.ID, c2.Candidate.ID)
	r.remember(c2) // held: a verdict all the same
	expect("two judged", 4, c3.Candidate.ID)
	r.apply(stage(4, 9, r.note("four").Candidate))
	r.keep(c3)
	expect("the next stretch", 9, "c0004")
	waiting := r.note("four").Candidate
	waiting.ID = "c0004"
	r.apply(stage(9, 10, waiting))
	expect("what waits already", 10, "c0004")
	waiting.Text = "other words"
	_, err := r.l.Apply(ctx, []gate.Decision{stage(10, 11, r.note("five").Candidate, waiting)}, nil)
	wantKind(t, "what waits already, with other content", err, tenet.Conflict)
	expect("after a conflict", 10, "c0004")
	if at, cs, err := r.l.Staged(ctx, r.scope, "other"); at != 0 || len(cs) != 0 || err != nil {
		t.Errorf("another session: %d %v %v", at, cs, err)
	}
	race(8, func(i int) {
		c := tenet.Note(r.scope, "racing")
		c.ID = tenet.CandidateID(fmt.Sprint("race", i))
		d, err := r.g.StageBatch(r.scope, gate.Staged{Session: "race", From: 0, To: 5, Candidates: []tenet.Candidate{c}}, r.now)
		if err == nil {
			_, err = r.l.Apply(ctx, []gate.Decision{d}, nil)
		}
		if err != nil && tenet.KindOf(err) != tenet.Conflict {
			t.Errorf("racing: %v", err)
		}
	})
	if at, cs, err := r.l.Staged(ctx, r.scope, "race"); at != 5 || len(cs) != 1 || err != nil {
		t.Errorf("eight workers staged one stretch: %d %v %v", at, cs, err)
	}
	r.verified()
}

func expiryDropsTextOnly(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	expiring := func(c gate.Case, in time.Duration) tenet.RecordID {
		t.Helper()
		c.ExpiresAt = r.now.Add(in)
		return r.keep(c).Verdict.Record
	}
	ep := expiring(r.episode("I am allergic to shellfish"), time.Hour)
	note := expiring(r.note("Allergic to shellfish"), time.Hour)
	later := expiring(r.episode("something else"), 48*time.Hour)
	fact := r.keep(r.fact("allergy", "Shellfish")).Verdict.Record
	doc := expiring(r.document("f", "one"), time.Hour)
	// A new version closes the first; the first and what is left of it are due all the same.
	left := r.keep(r.document("f", "two")).Verdict.Record + "/1"

	due := func(now time.Time, limit int) (out []tenet.RecordID) {
		t.Helper()
		for _, d := range must2(r.l.Due(ctx, now, limit))(t) {
			if d.Scope != r.scope {
				t.Errorf("a due record lost its scope")
			}
			out = append(out, d.ID)
		}
		slices.Sort(out)
		return out
	}
	want := []tenet.RecordID{ep, note, doc, left}
	slices.Sort(want)
	same(t, "due before", len(due(r.now, 10)), 0)
	same(t, "due after an hour", due(r.now.Add(2*time.Hour), 10), want)
	same(t, "due, limited", len(due(r.now.Add(2*time.Hour), 2)), 2)

	was, now := r.record(ep), r.now.Add(2*time.Hour)
	d, err := r.g.ExpireText(r.scope, []tenet.Record{was, r.record(note), r.record(doc), r.record(left)}, now)
	must(t, err)
	r.apply(d)
	same(t, "due once expired", len(due(now, 10)), 0)
	got := r.record(ep)
	if got.Text != "" || len(got.Value) != 0 || got.Signature != "" || !got.Expired {
		t.Errorf("an expired record: %+v", got)
	}
	was.Text, was.Value, was.Signature, was.Expired = "", nil, "", true
	same(t, "all but the text stays", got, was)
	for _, id := range []tenet.RecordID{later, fact} {
		if rec := r.record(id); rec.Expired || rec.Text == "" {
			t.Errorf("%s went too: %+v", id, rec)
		}
	}
	same(t, "what is derived stays", texts(r.facts(at(now))), []string{"Shellfish"})
	// What a later version leaves of an expired one is expired as well.
	if parts := r.history(tenet.TierDocument, "f"); len(parts) < 3 || !parts[0].Expired {
		t.Errorf("the expired document: %+v", parts)
	}
	kept := r.document("g", "one")
	kept.ExpiresAt = r.now.Add(time.Hour)
	r.keep(kept)
	d, err = r.g.ExpireText(r.scope, []tenet.Record{r.record(tenet.RecordID(kept.Candidate.ID))}, now)
	must(t, err)
	r.apply(d)
	next := r.document("g", "two")
	next.At = now
	r.keep(next)
	if parts := r.history(tenet.TierDocument, "g"); len(parts) != 2 || parts[0].Closed != tenet.ClosedExpired || parts[0].Text != "" || parts[1].Text != "two" {
		t.Errorf("a document that was filed again after it expired: %+v", parts)
	}
	same(t, "due after that", len(due(now, 10)), 0)
	// A new statement of what expired is a new record, not an origin of an empty one.
	again := r.note("Allergic to shellfish")
	again.At = now
	if a := r.keep(again); a.Verdict.Record == note {
		t.Error("a statement was added to a record whose text is gone")
	}
	r.verified()
}

func largeAndOddTextIsKept(t testing.TB, b Backend) {
	r := newRig(t, b, nil, gate.WithLimits(gate.Limits{}))
	for i, text := range oddTexts {
		key := fmt.Sprint("k", i)
		d := r.keep(r.document(key, text))
		if got := r.record(d.Verdict.Record); got.Text != text {
			t.Errorf("document %d came back as %d bytes, not %d", i, len(got.Text), len(text))
		}
		v, _ := json.Marshal(text)
		c := r.propose(r.app, tenet.FactValue(r.scope, key, v, "the value "+text))
		if c.Candidate.Quote = text + " the value " + text; len(c.Candidate.Quote) > 60<<10 {
			continue
		}
		judged := r.judge(c)
		if rec := judged.Plan().Insert; rec != nil {
			r.apply(judged)
			same(t, fmt.Sprintf("fact %d", i), r.record(rec[0].ID).Text, rec[0].Text)
			same(t, fmt.Sprintf("value %d", i), string(r.record(rec[0].ID).Value), string(rec[0].Value))
		}
	}
	big := r.document("big", strings.Repeat("\u6f22", 33<<10))
	r.keep(big)
	if got := r.record(tenet.RecordID(big.Candidate.ID)); got.Text != big.Candidate.Text {
		t.Error("a large document was changed")
	}
	for _, key := range []string{"a/b", "A/b", "a/b ", "a%", "\u00e9", "e\u0301"} {
		r.keep(r.document(key, "at "+key))
	}
	for _, key := range []string{"a/b", "A/b", "a/b ", "a%", "\u00e9", "e\u0301"} {
		same(t, "document "+key, texts(r.history(tenet.TierDocument, key)), []string{"at " + key})
	}
	r.verified()
}

// oddTexts are what a column type, an escape or a collation could change.
var oddTexts = []string{
	"", " ", "  two spaces  ", "\n", "line\r\nline\ttab", "'; DROP TABLE records; --", `back\slash "quotes" \u0041`, "<b>&amp;</b>",
	"caf\u00e9 and cafe\u0301", "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd", "\U0001f469\u200d\U0001f680\u2764\ufe0f", "\u2028\u2029\ufeff\ufffd", "\u0001\u001f\u007f",
	"0123", "1e5", "NULL", "%s %d ${x} {{y}}", "\uffff\U0010ffff", strings.Repeat("long ", 5000),
}

func unusableLedgerArguments(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	good := r.judge(r.fact("city", "Berlin"))
	other := rigOn(t, r.l, mustScope(t, "acme", tenet.User("tom")), nil)
	foreign := other.judge(other.fact("city", "Paris"))
	_, err := r.l.Apply(ctx, []gate.Decision{good, foreign}, nil)
	wantKind(t, "a batch of two scopes", err, tenet.Invalid)
	r.unchanged("after a batch of two scopes", store.Head{})

	dead, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		scope tenet.Scope
		kind  tenet.Kind
	}{{ctx, tenet.Scope{}, tenet.Invalid}, {dead, r.scope, tenet.Unavailable}} {
		for name, call := range map[string]func() error{
			"Head":     func() error { _, err := r.l.Head(c.ctx, c.scope); return err },
			"Facts":    func() error { _, err := r.l.Facts(c.ctx, c.scope, at(r.now)); return err },
			"Record":   func() error { _, err := r.l.Record(c.ctx, c.scope, "c"); return err },
			"History":  func() error { _, err := r.l.History(c.ctx, c.scope, tenet.TierFact, "k"); return err },
			"Changes":  func() error { _, err := r.l.Changes(c.ctx, c.scope, 0); return err },
			"State":    func() error { _, err := r.l.State(c.ctx, c.scope, gate.Query{}, r.now); return err },
			"Evidence": func() error { _, err := r.l.Evidence(c.ctx, c.scope, "c"); return err },
			"Verdict":  func() error { _, err := r.l.Verdict(c.ctx, c.scope, "c"); return err },
			"Held":     func() error { _, err := r.l.Held(c.ctx, c.scope, r.now, "", 10); return err },
			"Audit":    func() error { _, err := r.l.Audit(c.ctx, c.scope, 1, 10); return err },
			"Verify":   func() error { _, err := r.l.Verify(c.ctx, c.scope); return err },
			"Staged":   func() error { _, _, err := r.l.Staged(c.ctx, c.scope, "s"); return err },
		} {
			wantKind(t, fmt.Sprintf("%s with scope %v", name, c.scope), call(), c.kind)
		}
	}
	_, err = r.l.Apply(dead, []gate.Decision{good}, nil)
	wantKind(t, "Apply with a context that ended", err, tenet.Unavailable)
	_, err = r.l.Scopes(dead, "acme", tenet.Scope{}, 10)
	wantKind(t, "Scopes with a context that ended", err, tenet.Unavailable)
	_, err = r.l.Due(dead, r.now, 10)
	wantKind(t, "Due with a context that ended", err, tenet.Unavailable)
	r.unchanged("after all this", store.Head{})
	r.apply(good)
}
