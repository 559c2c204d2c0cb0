package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var ledgerClauses = []clause{
	{"ZeroDecisionIsRefused", zeroDecisionIsRefused},
	{"UnusableArgumentsAreErrors", unusableLedgerArguments},
	{"ScopesAreDisjoint", scopesAreDisjoint},
	{"ScopesAreListedInPages", scopesAreListedInPages},
	{"FactsAreComplete", factsAreComplete},
	{"RecordsComeBackWhole", recordsComeBackWhole},
	{"StateIsWhatTheQueryNames", stateIsWhatTheQueryNames},
	{"SupersedeKeepsHistory", supersedeKeepsHistory},
	{"ANoteTakesAnothersPlace", noteTakesAnothersPlace},
	{"AsOfOnBothAxes", asOfOnBothAxes},
	{"BackdatedFillsThePast", backdatedFillsThePast},
	{"EndShortens", endShortens},
	{"RetractStopsBelieving", retractStopsBelieving},
	{"CorroborationAddsAnOrigin", corroborationAddsAnOrigin},
	{"ApplyIsAllOrNothing", applyIsAllOrNothing},
	{"StaleStateConflicts", staleStateConflicts},
	{"RejudgeRunsUnderTheLock", rejudgeRunsUnderTheLock},
	{"ApplyIsIdempotent", applyIsIdempotent},
	{"RefusalIsLogged", refusalIsLogged},
	{"HeldIsReleasedOrDiscardedOnce", heldIsReleasedOrDiscardedOnce},
	{"SecretsAreMasked", secretsAreMasked},
	{"ChainVerifies", chainVerifies},
	{"TamperedRowIsFound", tamperedRowIsFound},
	{"OneOpenRowPerKey", oneOpenRowPerKey},
	{"LimitHoldsUnderRace", limitHoldsUnderRace},
	{"TimesRoundTrip", timesRoundTrip},
	{"KnownTimeIsStrictlyIncreasing", knownTimeIsStrictlyIncreasing},
	{"ChangesAreIncremental", changesAreIncremental},
	{"StageAdvancesCursorOnce", stageAdvancesCursorOnce},
	{"StagedKeepTheirMessages", stagedKeepTheirMessages},
	{"VerdictsOfAPrefix", verdictsOfAPrefix},
	{"ExpiryDropsTextOnly", expiryDropsTextOnly},
	{"LargeAndOddTextIsKept", largeAndOddTextIsKept},
	{"DeniedIsAnEntryOnly", deniedIsAnEntryOnly},
	{"AccessIsAnEntryOfTheTenant", accessIsAnEntryOfTheTenant},
}

func zeroDecisionIsRefused(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	_, err := r.l.Apply(ctx, []gate.Decision{{}}, nil)
	wantKind(t, "a zero decision", err, tenet.Refused)
	good := r.judge(r.fact("city", "Berlin"))
	_, err = r.l.Apply(ctx, []gate.Decision{good, {}}, nil)
	wantKind(t, "a zero decision behind a good one", err, tenet.Refused)
	r.unchanged("after refused decisions", store.Head{})

	r.keep(r.fact("city", "Berlin"))
	was := r.head()
	stale := r.blind(r.fact("city", "Paris"))
	_, err = r.l.Apply(ctx, []gate.Decision{stale}, func(int, gate.State) (gate.Decision, error) { return gate.Decision{}, nil })
	wantKind(t, "a zero decision on judging again", err, tenet.Refused)
	r.unchanged("after a refused rejudgement", was)
}

func factsAreComplete(t testing.TB, b Backend) {
	r := newRig(t, b, nil, gate.WithLimits(gate.Limits{}))
	keys := []string{"Z", "a", "B", "_", "10", "9", "é", "e\u0301", "z", "ß", "中", "~", "a.b", "a-b", "ab", "😀", "%", "A"}
	for i := range 200 - len(keys) {
		keys = append(keys, fmt.Sprintf("key.%d", i))
	}
	var ds []gate.Decision
	for _, k := range keys {
		ds = append(ds, r.judge(r.fact(k, fmt.Sprintf("value of %x", k))))
	}
	// Two open values under one key: ordered by start, then id.
	for i, from := range []time.Time{day(2024, 2, 1), day(2024, 1, 1), day(2024, 1, 1)} {
		c := r.fact("many", fmt.Sprintf("number %d", i))
		c.Candidate.Multi, c.Candidate.Valid.From = true, from
		ds = append(ds, r.blind(c))
	}
	// The zone of what is not a fact, not yet true and no longer true.
	ds = append(ds, r.judge(r.note("a note")), r.judge(r.document("many", "a file")),
		r.judge(from(r.fact("later", "later"), day(2026, 1, 1), time.Time{})),
		r.judge(from(r.fact("gone", "gone"), day(2020, 1, 1), day(2021, 1, 1))))
	r.apply(ds...)

	got := r.facts(at(r.now))
	var have []string
	for _, f := range got {
		have = append(have, f.Key+"\x00"+f.Valid.From.Format(time.RFC3339)+"\x00"+string(f.ID))
	}
	if len(got) != 203 {
		t.Errorf("want all 203 facts, got %d", len(got))
	}
	if !slices.IsSorted(have) {
		t.Errorf("facts are not ordered by key, start of validity and id, byte by byte: %q", have)
	}
	for _, f := range got {
		if f.Key != "many" && f.Text != fmt.Sprintf("value of %x", f.Key) {
			t.Errorf("key %q holds %q", f.Key, f.Text)
		}
	}
	_, err := r.l.Facts(ctx, r.scope, tenet.AsOf{})
	wantKind(t, "facts at no valid time", err, tenet.Invalid)
}

func recordsComeBackWhole(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	msg := tenet.Message{
		ID: "m1", Session: "chat-1", Seq: 7, Role: tenet.RoleUser, Label: tenet.LabelUserStated, RecordedBy: "app:test",
		ToolCallID: "call-9", Text: "My dose of warfarin is 5 mg, <b>daily</b> & with food.", SaidAt: r.now.Add(-time.Hour), RecordedAt: r.now,
	}
	c := tenet.FactValue(r.scope, "dose", json.RawMessage(`{"mg":5,"id":9007199254740993,"html":"<b>daily</b> & with food"}`), "My dose of warfarin is 5 mg")
	c.ID, c.Cites, c.Session, c.Safety, c.Speaker, c.Position, c.Multi = "c1", []tenet.MessageID{"m1"}, "chat-1", true, "Sarah", 7, true
	cs := r.propose(r.operator, c)
	cs.Candidate.Quote, cs.Evidence, cs.ExpiresAt = "dose html mg id 5 9007199254740993", []tenet.Message{msg}, r.now.AddDate(3, 0, 0)
	d := r.judge(cs)
	a := r.apply(d)[0]
	if d.Verdict().Outcome != tenet.Stored {
		t.Fatalf("not stored: %+v", d.Verdict())
	}
	same(t, "the verdict on applying", a.Verdict, d.Verdict())
	want := d.Plan().Insert[0]
	want.Known = tenet.Interval{From: a.Entry.At}
	got := r.record("c1")
	same(t, "the record", got, want)
	if string(got.Value) != string(want.Value) {
		t.Errorf("the value is not kept byte for byte: %s, want %s", got.Value, want.Value)
	}
	same(t, "the record among the facts", r.facts(at(r.now)), []tenet.Record{want})
	same(t, "the record in the history", r.history(tenet.TierFact, "dose"), []tenet.Record{want})
	ev, err := r.l.Evidence(ctx, r.scope, "c1")
	must(t, err)
	same(t, "the evidence", ev, d.Plan().Evidence)
	v, err := r.l.Verdict(ctx, r.scope, "c1")
	must(t, err)
	same(t, "the verdict", v, d.Verdict())
	_, err = r.l.Record(ctx, r.scope, "nope")
	wantKind(t, "an unknown record", err, tenet.NotFound)
	_, err = r.l.Verdict(ctx, r.scope, "nope")
	wantKind(t, "an unknown verdict", err, tenet.NotFound)
	if h := r.history(tenet.TierDocument, "dose"); len(h) != 0 {
		t.Errorf("a fact stands in the history of a document: %v", texts(h))
	}
}

func stateIsWhatTheQueryNames(t testing.TB, b Backend) {
	r := newRig(t, b, nil, gate.WithLimits(gate.Limits{}))
	r.keep(from(r.fact("city", "Rome"), day(2022, 1, 1), time.Time{}))
	r.keep(from(r.fact("city", "Berlin"), day(2020, 1, 1), time.Time{}))
	r.keep(r.document("city", "a file"))
	r.keep(r.note("Rome"))
	safe := r.fact("allergy", "shellfish")
	safe.Candidate.Safety, safe.Candidate.Multi = true, true
	r.keep(safe)
	nuts := r.fact("allergy", "nuts")
	nuts.Candidate.Multi = true
	r.keep(nuts)

	state := func(q gate.Query) gate.State {
		t.Helper()
		s, err := r.l.State(ctx, r.scope, q, r.now)
		must(t, err)
		return s
	}
	same(t, "one key", texts(state(gate.Query{Tier: tenet.TierFact, Key: "city"}).Open), []string{"Berlin", "Rome"})
	same(t, "one key, since it changed", texts(state(gate.Query{Tier: tenet.TierFact, Key: "city", Since: day(2022, 1, 1)}).Open), []string{"Rome"})
	same(t, "one key, just before", len(state(gate.Query{Tier: tenet.TierFact, Key: "city", Since: day(2021, 12, 31)}).Open), 2)
	same(t, "a document", texts(state(gate.Query{Tier: tenet.TierDocument, Key: "city"}).Open), []string{"a file"})
	same(t, "a key that differs in case", len(state(gate.Query{Tier: tenet.TierFact, Key: "City"}).Open), 0)
	sig := gate.Signature("rome", false)
	same(t, "a note by signature", texts(state(gate.Query{Tier: tenet.TierNote, Signature: "s " + sig}).Open), []string{"Rome"})
	same(t, "a multi-valued key by signature", texts(state(gate.Query{Tier: tenet.TierFact, Key: "allergy", Signature: "s " + gate.Signature("nuts", false)}).Open), []string{"nuts"})
	if now := state(gate.Query{}).Now; now.Before(r.now) {
		t.Errorf("the state is of %v, asked for %v", now, r.now)
	}
	last := must2(r.l.Audit(ctx, r.scope, r.head().Audit, 1))(t)
	early := must2(r.l.State(ctx, r.scope, gate.Query{}, day(2020, 1, 1)))(t)
	same(t, "a state asked for too early is of the last write", early.Now, last[0].At)
	blank := must2(r.l.State(ctx, mustScope(t, "acme", tenet.User("nobody")), gate.Query{}, r.now))(t)
	same(t, "the state of an unwritten scope", blank, gate.State{Now: r.now})
	same(t, "the zero query", len(state(gate.Query{}).Open), 0)

	var u gate.Usage
	for _, f := range r.facts(at(r.now)) {
		u.Rows, u.Bytes = u.Rows+1, u.Bytes+f.RenderedSize()
		if f.Safety {
			u.SafetyRows, u.SafetyBytes = u.SafetyRows+1, u.SafetyBytes+f.RenderedSize()
		}
	}
	same(t, "usage", state(gate.Query{}).Usage, u)
	same(t, "safety rows", u.SafetyRows, 1)
	was := u
	// What is not yet true counts, what has ended doesn't.
	next := from(r.fact("trip", "Lisbon"), r.now.AddDate(0, 1, 0), r.now.AddDate(0, 2, 0))
	rec := r.record(r.keep(next).Verdict.Record)
	u.Rows, u.Bytes = u.Rows+1, u.Bytes+rec.RenderedSize()
	same(t, "usage with a future fact", state(gate.Query{}).Usage, u)
	s, err := r.l.State(ctx, r.scope, gate.Query{}, r.now.AddDate(0, 2, 0))
	must(t, err)
	same(t, "usage once it is over", s.Usage, was)
}

func supersedeKeepsHistory(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	first := r.keep(r.fact("city", "Berlin"))
	second := r.keep(r.fact("city", "Paris"))
	if second.Verdict.Outcome != tenet.Superseded || second.Verdict.Replaced != first.Verdict.Record {
		t.Errorf("the verdict is %+v", second.Verdict)
	}
	same(t, "facts", texts(r.facts(at(r.now))), []string{"Paris"})
	h := r.history(tenet.TierFact, "city")
	same(t, "history", texts(h), []string{"Berlin", "Paris", "Berlin"}) // the first belief, the new value, what is left of the old
	if len(h) != 3 {
		t.Fatal("no history")
	}
	old := h[0]
	if old.Known.Open() || !old.Known.To.Equal(second.Entry.At) || old.Closed != tenet.ClosedSuperseded || old.SupersededBy != second.Verdict.Record {
		t.Errorf("the old version was not closed by the new one: %+v", old)
	}
	if !old.Valid.Open() || !old.Known.From.Equal(first.Entry.At) {
		t.Errorf("the old version was changed: %+v", old)
	}
	part := r.record(second.Verdict.Record + "/1")
	if part.FragmentOf != first.Verdict.Record || !part.Known.Open() || part.Valid.Open() || part.Text != "Berlin" {
		t.Errorf("the old value's own time was not kept: %+v", part)
	}
	if now := r.record(second.Verdict.Record); now.Supersedes != first.Verdict.Record || !now.Known.Open() {
		t.Errorf("the new version: %+v", now)
	}
	doc := r.keep(r.document("notes/a.md", "one"))
	r.keep(r.document("notes/a.md", "two"))
	if d := r.record(doc.Verdict.Record); d.Known.Open() || d.Text != "one" {
		t.Errorf("the old document: %+v", d)
	}
	r.verified()
}

func noteTakesAnothersPlace(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	old := r.keep(r.note("The customer likes quiet hotels.")).Verdict.Record
	other := r.keep(r.note("The customer flies at noon.")).Verdict.Record
	since := r.head().Text
	c := r.note("The customer likes loud hotels.")
	was := r.record(old)
	c.Replaces = &was
	late := r.note("The customer likes small hotels.")
	late.Replaces = &was
	stale := r.judge(late)
	a := r.keep(c)
	if a.Verdict.Outcome != tenet.Superseded || a.Verdict.Replaced != old {
		t.Errorf("the verdict is %+v", a.Verdict)
	}
	if o := r.record(old); o.Known.Open() || o.Closed != tenet.ClosedSuperseded || o.SupersededBy != a.Verdict.Record || !o.Known.To.Equal(a.Entry.At) {
		t.Errorf("the old note: %+v", o)
	}
	if n := r.record(a.Verdict.Record); n.Supersedes != old || !n.Known.Open() {
		t.Errorf("the new note: %+v", n)
	}
	ch, err := r.l.Changes(ctx, r.scope, since)
	must(t, err)
	if len(ch.Added) != 1 || ch.Added[0].ID != a.Verdict.Record || !slices.Equal(ch.Removed, []tenet.RecordID{old}) {
		t.Errorf("recall is told of %v and %v", ch.Added, ch.Removed)
	}
	_, err = r.l.Apply(ctx, []gate.Decision{stale}, nil)
	wantKind(t, "the place of a note that another took", err, tenet.Conflict)

	// Words that another note has already: that one gains an origin and the place.
	was = r.record(a.Verdict.Record)
	c = r.note("The customer flies at noon.")
	c.Replaces = &was
	v := r.remember(c).Verdict
	if v.Outcome != tenet.Corroborated || v.Record != other || v.Replaced != was.ID || r.record(was.ID).SupersededBy != other {
		t.Errorf("the same words: %+v", v)
	}
	was = r.record(other) // nothing takes its own place
	c = r.note("The customer flies at noon.")
	c.Replaces = &was
	if v := r.remember(c).Verdict; v.Outcome != tenet.Corroborated || v.Replaced != "" || !r.record(other).Known.Open() {
		t.Errorf("its own words: %+v", v)
	}
	r.verified()
}

func asOfOnBothAxes(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	k1 := r.keep(from(r.fact("city", "Berlin"), day(2020, 1, 1), time.Time{})).Entry.At
	k2 := r.keep(from(r.fact("city", "Paris"), day(2024, 6, 1), time.Time{})).Entry.At
	k3 := r.keep(from(r.fact("city", "Rome"), day(2024, 6, 1), time.Time{})).Entry.At // a correction
	µs := time.Microsecond
	for _, c := range []struct {
		valid, known time.Time
		want         string
	}{
		{day(2021, 1, 1), time.Time{}, "Berlin"}, {day(2025, 1, 1), time.Time{}, "Rome"},
		{day(2024, 6, 1), time.Time{}, "Rome"}, {day(2024, 6, 1).Add(-µs), time.Time{}, "Berlin"},
		{day(2020, 1, 1), time.Time{}, "Berlin"}, {day(2020, 1, 1).Add(-µs), time.Time{}, ""},
		{day(2025, 1, 1), k1.Add(-µs), ""}, {day(2025, 1, 1), k1, "Berlin"},
		{day(2025, 1, 1), k2.Add(-µs), "Berlin"}, {day(2025, 1, 1), k2, "Paris"},
		{day(2025, 1, 1), k3.Add(-µs), "Paris"}, {day(2025, 1, 1), k3, "Rome"},
		{day(2021, 1, 1), k3, "Berlin"}, {day(2021, 1, 1), k2, "Berlin"}, {day(2021, 1, 1), k1, "Berlin"},
	} {
		got := texts(r.facts(tenet.AsOf{Valid: c.valid, Known: c.known}))
		if c.want == "" && len(got) != 0 || c.want != "" && !slices.Equal(got, []string{c.want}) {
			t.Errorf("true at %v as known at %v: got %q, want %q", c.valid, c.known, got, c.want)
		}
	}
}

func backdatedFillsThePast(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(from(r.fact("city", "Paris"), day(2024, 1, 1), time.Time{}))
	a := r.keep(from(r.fact("city", "Berlin"), day(2020, 1, 1), time.Time{}))
	if !slices.Contains(a.Verdict.Codes, tenet.CodeBackdated) {
		t.Errorf("codes are %v", a.Verdict.Codes)
	}
	same(t, "the filled time", r.record(a.Verdict.Record).Valid, tenet.Interval{From: day(2020, 1, 1), To: day(2024, 1, 1)})
	rome := r.keep(from(r.fact("city", "Rome"), day(2021, 1, 1), day(2022, 1, 1)))
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{day(2020, 6, 1), "Berlin"}, {day(2021, 1, 1), "Rome"}, {day(2021, 6, 1), "Rome"},
		{day(2022, 1, 1), "Berlin"}, {day(2023, 6, 1), "Berlin"}, {day(2024, 1, 1), "Paris"}, {r.now, "Paris"},
	} {
		same(t, c.at.Format(time.DateOnly), texts(r.facts(at(c.at))), []string{c.want})
	}
	whole := r.record(a.Verdict.Record)
	if whole.Known.Open() || whole.Closed != tenet.ClosedSplit {
		t.Errorf("the split record: %+v", whole)
	}
	var parts []tenet.Record
	for _, h := range r.history(tenet.TierFact, "city") {
		if h.FragmentOf == a.Verdict.Record && h.Known.Open() {
			parts = append(parts, h)
		}
	}
	if len(parts) != 2 || !parts[0].Known.From.Equal(rome.Entry.At) {
		t.Errorf("want two fragments, got %+v", parts)
	}
	r.verified()
}

func (r *rig) change(id string, target tenet.RecordID) gate.Change {
	r.Helper()
	r.now = r.now.Add(time.Second)
	return gate.Change{By: r.operator, Scope: r.scope, Target: r.record(target), ID: id, Why: "asked to", At: r.now}
}

func endShortens(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	rec := r.keep(from(r.fact("job", "Baker"), day(2020, 1, 1), time.Time{})).Verdict.Record
	ch := r.change("end-1", rec)
	ch.To = day(2023, 1, 1)
	d, err := r.g.End(ch)
	must(t, err)
	late := ch
	late.ID, late.To = "end-2", day(2024, 1, 1)
	d2, err := r.g.End(late)
	must(t, err)
	a := r.apply(d)[0]
	same(t, "the entry", []string{a.Entry.Ref, a.Entry.Actor, a.Entry.Why}, []string{"end-1", "operator:test", "asked to"})
	same(t, "before the end", texts(r.facts(at(day(2022, 12, 31)))), []string{"Baker"})
	same(t, "at the end", texts(r.facts(at(day(2023, 1, 1)))), []string(nil))
	same(t, "as known before", texts(r.facts(tenet.AsOf{Valid: day(2024, 1, 1), Known: a.Entry.At.Add(-time.Microsecond)})), []string{"Baker"})
	old := r.record(rec)
	if old.Closed != tenet.ClosedEnded || !old.Known.To.Equal(a.Entry.At) || !old.Valid.Open() {
		t.Errorf("the ended record: %+v", old)
	}
	h := r.history(tenet.TierFact, "job")
	if len(h) != 2 || h[1].FragmentOf != rec || old.SupersededBy != h[1].ID {
		t.Errorf("the history: %+v", h)
	}
	_, err = r.l.Apply(ctx, []gate.Decision{d2}, nil)
	wantKind(t, "ending a record that was closed meanwhile", err, tenet.Conflict)
	was := r.head()
	if re := r.apply(d)[0]; !re.Replayed || re.Entry.Seq != a.Entry.Seq {
		t.Errorf("the same end again: %+v", re)
	}
	r.unchanged("the same end again", was)
	r.verified()
}

func retractStopsBelieving(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	rec := r.keep(from(r.fact("pet", "A cat"), day(2020, 1, 1), time.Time{})).Verdict.Record
	other := r.keep(r.fact("car", "A van")).Verdict.Record
	ch := r.change("retract-1", rec)
	d, err := r.g.Retract(ch)
	must(t, err)
	ch.ID = "retract-2"
	d2, err := r.g.Retract(ch)
	must(t, err)
	a := r.apply(d)[0]
	for _, v := range []time.Time{day(2021, 1, 1), r.now, r.now.AddDate(1, 0, 0)} {
		same(t, "facts at "+v.String(), len(slices.DeleteFunc(r.facts(at(v)), func(f tenet.Record) bool { return f.Key != "pet" })), 0)
	}
	same(t, "as known before", len(r.facts(tenet.AsOf{Valid: r.now, Known: a.Entry.At.Add(-time.Microsecond)})), 2)
	h := r.history(tenet.TierFact, "pet")
	if len(h) != 1 || h[0].Closed != tenet.ClosedRetracted || h[0].SupersededBy != "" || !h[0].Known.To.Equal(a.Entry.At) || h[0].Text != "A cat" {
		t.Errorf("the history: %+v", h)
	}
	_, err = r.l.Apply(ctx, []gate.Decision{d2}, nil)
	wantKind(t, "retracting what was retracted meanwhile", err, tenet.Conflict)
	if re := r.apply(d)[0]; !re.Replayed {
		t.Error("the same retraction again is not a replay")
	}
	ch = r.change("retract-1", other)
	d, err = r.g.Retract(ch)
	must(t, err)
	_, err = r.l.Apply(ctx, []gate.Decision{d}, nil)
	wantKind(t, "the same id for another record", err, tenet.Conflict)
	same(t, "the other record", r.record(other).Known.Open(), true)
	r.keep(r.fact("pet", "A dog")) // the key is free again
	r.verified()
}

func corroborationAddsAnOrigin(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	first := r.keep(r.note("Prefers email contact")).Verdict.Record
	was, before := r.record(first), r.head()
	again := r.keep(r.note("prefers email contact."))
	if again.Verdict.Outcome != tenet.Corroborated || again.Verdict.Record != first {
		t.Fatalf("the verdict is %+v", again.Verdict)
	}
	got := r.record(first)
	if got.Seen != 2 || len(got.Origins) != 2 || got.Text != was.Text || !got.Known.From.Equal(was.Known.From) {
		t.Errorf("the corroborated record: %+v", got)
	}
	now := r.head()
	if now.Stats == before.Stats || now.Text != before.Text || now.Audit != before.Audit+1 {
		t.Errorf("a corroboration moves statistics and not text: %+v to %+v", before, now)
	}
	// One message consolidated twice is one origin.
	msg := tenet.Message{ID: "m9", Session: "s", Role: tenet.RoleUser, Label: tenet.LabelUserStated, RecordedBy: "app:test", Text: "Prefers email contact", RecordedAt: r.now}
	for range 2 {
		c := r.note("Prefers email contact")
		c.Candidate.Quote, c.Candidate.Cites, c.Evidence = "", []tenet.MessageID{"m9"}, []tenet.Message{msg}
		r.keep(c)
	}
	if got := r.record(first); got.Seen != 3 || len(got.Origins) != 3 {
		t.Errorf("one message counted twice: seen %d, %d origins", got.Seen, len(got.Origins))
	}
	r.verified()
}

func applyIsAllOrNothing(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	kept := r.keep(r.fact("city", "Berlin"))
	car := r.keep(r.fact("car", "A van")).Verdict.Record
	was := r.head()
	batch := func() []gate.Decision {
		stage, err := r.g.StageBatch(r.scope, gate.Staged{Session: "s", From: 0, To: 4, Candidates: []tenet.Candidate{r.note("staged").Candidate}}, r.now)
		must(t, err)
		ret, err := r.g.Retract(r.change("ret", car))
		must(t, err)
		return []gate.Decision{
			r.judge(r.fact("pet", "A cat")), r.judge(r.note("likes tea")), r.judge(r.document("f", "x")),
			r.judge(r.propose(r.agent, tenet.Fact(r.scope, "role", "admin"))), stage, ret,
		}
	}
	stale := r.blind(r.fact("city", "Paris"))
	reused := r.fact("other", "x")
	reused.Candidate.ID = kept.Verdict.Candidate
	boom := errors.New("boom")
	for _, c := range []struct {
		name  string
		last  gate.Decision
		again store.Rejudge
		check func(error) bool
	}{
		{"a stale decision", stale, nil, func(err error) bool { return tenet.KindOf(err) == tenet.Conflict }},
		{"a used id", r.blind(reused), nil, func(err error) bool { return tenet.KindOf(err) == tenet.Conflict }},
		{"an error on judging again", stale, func(int, gate.State) (gate.Decision, error) { return gate.Decision{}, boom }, func(err error) bool { return errors.Is(err, boom) }},
	} {
		ds := batch()
		_, err := r.l.Apply(ctx, append(ds[:len(ds):len(ds)], c.last), c.again)
		if err == nil || !c.check(err) {
			t.Errorf("%s at the end of a batch: got %v", c.name, err)
		}
		r.unchanged(c.name, was)
		same(t, c.name+": facts", texts(r.facts(at(r.now))), []string{"A van", "Berlin"})
		same(t, c.name+": held", len(r.held()), 0)
		for _, d := range ds[:4] {
			_, err := r.l.Verdict(ctx, r.scope, d.Verdict().Candidate)
			wantKind(t, c.name+": a verdict", err, tenet.NotFound)
		}
		cursor, cs, err := r.l.Staged(ctx, r.scope, "s")
		must(t, err)
		if cursor != 0 || len(cs) != 0 {
			t.Errorf("%s: staged up to %d: %v", c.name, cursor, cs)
		}
		ch, err := r.l.Changes(ctx, r.scope, 0)
		must(t, err)
		same(t, c.name+": changes", len(ch.Added), 0)
	}
	r.verified()
	r.apply(batch()...) // nothing of it is in the way now
}

func staleStateConflicts(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	one, two := r.judge(r.fact("city", "Berlin")), r.judge(r.fact("city", "Paris"))
	elsewhere := r.judge(r.fact("pet", "A cat"))
	note1, note2 := r.judge(r.note("likes tea")), r.judge(r.note("likes tea"))
	r.apply(one, note1)
	was := r.head()
	for name, d := range map[string]gate.Decision{"a fact": two, "a note": note2} {
		_, err := r.l.Apply(ctx, []gate.Decision{d}, nil)
		wantKind(t, name+" judged against another state", err, tenet.Conflict)
	}
	r.unchanged("after conflicts", was)
	r.apply(elsewhere) // another key is not disturbed
	rec := r.facts(at(r.now))[0].ID
	ret, err := r.g.Retract(r.change("ret", rec))
	must(t, err)
	next := r.judge(r.fact("city", "Rome"))
	r.apply(ret)
	_, err = r.l.Apply(ctx, []gate.Decision{next}, nil)
	wantKind(t, "superseding what was retracted meanwhile", err, tenet.Conflict)

	// The limit is part of the state.
	full := rigOn(t, r.l, mustScope(t, "acme", tenet.User("full")), nil, gate.WithLimits(gate.Limits{Rows: 4, Bytes: 4096, Value: 1024}))
	var ds []gate.Decision
	for i := range 4 {
		ds = append(ds, full.judge(full.fact(fmt.Sprint("k", i), "x")))
	}
	full.apply(ds[:3]...)
	_, err = full.l.Apply(ctx, ds[3:], nil)
	wantKind(t, "a write that no longer fits", err, tenet.Conflict)
}

func rejudgeRunsUnderTheLock(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	c1, c2, c3 := r.fact("city", "Berlin"), r.fact("city", "Paris"), r.fact("pet", "A cat")
	ds := []gate.Decision{r.judge(c1), r.judge(c3), r.judge(c2)}
	var calls []int
	var open []string
	as, err := r.l.Apply(ctx, ds, func(i int, s gate.State) (gate.Decision, error) {
		calls, open = append(calls, i), texts(s.Open)
		return r.again(c1, c3, c2)(i, s)
	})
	must(t, err)
	same(t, "what was judged again", calls, []int{2}) // only what an earlier decision of the batch made stale
	same(t, "the state it was judged on", open, []string{"Berlin"})
	if len(as) != 3 || as[2].Verdict.Outcome != tenet.Superseded || as[2].Verdict.Replaced != as[0].Verdict.Record {
		t.Errorf("applied: %+v", as)
	}
	same(t, "facts", texts(r.facts(at(r.now))), []string{"Paris", "A cat"})

	// What the second judgement says counts, a refusal too.
	high := r.propose(r.operator, tenet.Fact(r.scope, "tier", "gold"))
	low := r.fact("tier", "silver")
	stale := r.blind(low)
	r.keep(high)
	got, err := r.l.Apply(ctx, []gate.Decision{stale}, r.again(low))
	must(t, err)
	if got[0].Verdict.Outcome != tenet.Quarantined || got[0].Entry.Outcome != tenet.Quarantined {
		t.Errorf("a lower label judged again: %+v", got[0].Verdict)
	}
	v, err := r.l.Verdict(ctx, r.scope, low.Candidate.ID)
	must(t, err)
	same(t, "the verdict kept", v, got[0].Verdict)
	// A decision about something else is no answer.
	was := r.head()
	stale = r.blind(r.fact("city", "Rome"))
	foreign := r.judge(r.fact("elsewhere", "x")) // before: judging again must not call the store
	_, err = r.l.Apply(ctx, []gate.Decision{stale}, func(int, gate.State) (gate.Decision, error) { return foreign, nil })
	if err == nil {
		t.Error("another case's decision was taken for the answer")
	}
	r.unchanged("after a foreign answer", was)
	r.verified()
}
