package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var vectorClauses = []clause{
	{"PlacesComeBack", placesComeBack},
	{"SpacesAreNeverMixed", spacesAreNeverMixed},
	{"ALatePlaceIsDropped", latePlaceIsDropped},
	{"UnplacedAreBelievedRecordsOfAnyScope", unplacedAreBelieved},
	{"DenseMovesWithPlacesOnly", denseMovesWithPlacesOnly},
}

var retentionClauses = []clause{
	{"OutcomesAreCounted", outcomesAreCounted},
	{"DormancyIsAStateNotADeletion", dormancyIsAState},
	{"UsesComeInPages", usesComeInPages},
	{"SweepsAreScheduledByScope", sweepsAreScheduled},
	{"ServedTimesComeFromReceipts", servedTimesComeFromReceipts},
}

func (r *rig) vectors() store.Vectors { return r.l.(store.Vectors) }

func (r *rig) place(space string, vs ...store.Vector) {
	r.Helper()
	must(r.TB, r.vectors().Place(ctx, r.scope, space, vs))
}

func (r *rig) places(space string, since uint64) map[tenet.RecordID][]int8 {
	r.Helper()
	vs, at, err := r.vectors().Places(ctx, r.scope, space, since)
	must(r.TB, err)
	if h := r.head(); at != h.Dense {
		r.Errorf("places stand at %d, the head at %d", at, h.Dense)
	}
	out := map[tenet.RecordID][]int8{}
	for _, v := range vs {
		if _, twice := out[v.Record]; twice {
			r.Errorf("%s is placed twice in one space", v.Record)
		}
		out[v.Record] = v.Values
	}
	return out
}

func (r *rig) unplaced(space string) []tenet.RecordID {
	r.Helper()
	rs, err := r.vectors().Unplaced(ctx, space, 1000)
	must(r.TB, err)
	var ids []tenet.RecordID
	for _, rec := range rs {
		ids = append(ids, rec.ID)
	}
	slices.Sort(ids)
	return ids
}

func placesComeBack(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	one, two := r.keep(r.note("likes tea")).Verdict.Record, r.keep(r.episode("hello")).Verdict.Record
	all := make([]int8, 0, 256)
	for n := -128; n < 128; n++ {
		all = append(all, int8(n))
	}
	r.place("m/256", store.Vector{Record: one, Values: all}, store.Vector{Record: two})
	want := map[tenet.RecordID][]int8{one: all, two: nil}
	same(t, "places", r.places("m/256", 0), want)
	at := r.head().Dense
	same(t, "places after the last", r.places("m/256", at), map[tenet.RecordID][]int8{})
	r.place("m/256", store.Vector{Record: two, Values: all[:2]})
	same(t, "a second place", r.places("m/256", at), map[tenet.RecordID][]int8{two: all[:2]})
	same(t, "the first is gone", r.places("m/256", 0), map[tenet.RecordID][]int8{one: all, two: all[:2]})
	wantKind(t, "no scope", r.vectors().Place(ctx, tenet.Scope{}, "m/256", nil), tenet.Invalid)
	wantKind(t, "no space", r.vectors().Place(ctx, r.scope, "", []store.Vector{{Record: one}}), tenet.Invalid)
	_, err := r.vectors().Unplaced(ctx, "", 1)
	wantKind(t, "no space", err, tenet.Invalid)
	r.verified()
}

func spacesAreNeverMixed(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	id := r.keep(r.note("likes tea")).Verdict.Record
	r.place("old/2", store.Vector{Record: id, Values: []int8{1, 2}})
	same(t, "in another space", r.places("new/3", 0), map[tenet.RecordID][]int8{})
	same(t, "unplaced there", r.unplaced("new/3"), []tenet.RecordID{id})
	r.place("new/3", store.Vector{Record: id, Values: []int8{3, 4, 5}})
	same(t, "the old place", r.places("old/2", 0), map[tenet.RecordID][]int8{id: {1, 2}})
	same(t, "the new place", r.places("new/3", 0), map[tenet.RecordID][]int8{id: {3, 4, 5}})
	same(t, "unplaced in the old", len(r.unplaced("old/2")), 0)
	same(t, "unplaced in the new", len(r.unplaced("new/3")), 0)

	other := rigOn(t, r.l, mustScope(t, "acme", tenet.User("tom")), nil)
	same(t, "in another scope", other.places("old/2", 0), map[tenet.RecordID][]int8{})
	other.place("old/2", store.Vector{Record: id, Values: []int8{9, 9}})
	same(t, "placed by another scope", r.places("old/2", 0), map[tenet.RecordID][]int8{id: {1, 2}})
	same(t, "and not there either", other.places("old/2", 0), map[tenet.RecordID][]int8{})
}

func latePlaceIsDropped(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	doc := r.keep(r.document("f", "one")).Verdict.Record
	r.place("m/1", store.Vector{Record: doc, Values: []int8{1}})
	r.keep(r.document("f", "two"))
	same(t, "places of a closed record", r.places("m/1", 0), map[tenet.RecordID][]int8{})
	was := r.head()
	r.place("m/1", store.Vector{Record: doc, Values: []int8{1}}, store.Vector{Record: "nobody", Values: []int8{1}})
	r.unchanged("a late place", was)
	same(t, "a late place", r.places("m/1", 0), map[tenet.RecordID][]int8{})

	c := r.episode("for a while")
	c.ExpiresAt = c.At.Add(time.Hour)
	ep := r.keep(c).Verdict.Record
	r.place("m/1", store.Vector{Record: ep, Values: []int8{7}})
	d, err := r.g.ExpireText(r.scope, []tenet.Record{r.record(ep)}, c.At.Add(2*time.Hour))
	must(t, err)
	r.apply(d)
	same(t, "places of an expired record", r.places("m/1", 0), map[tenet.RecordID][]int8{})
	r.place("m/1", store.Vector{Record: ep, Values: []int8{7}})
	same(t, "an expired record placed again", r.places("m/1", 0), map[tenet.RecordID][]int8{})
	if slices.Contains(r.unplaced("m/1"), ep) || slices.Contains(r.unplaced("m/1"), doc) {
		t.Error("a record that is gone waits for a place")
	}
	r.verified()
}

func unplacedAreBelieved(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "Berlin")) // loaded by identity, never placed
	r.remember(r.unproven("nobody said this"))
	note := r.keep(r.note("likes tea")).Verdict.Record
	doc := r.keep(r.document("f", "one")).Verdict.Record
	other := rigOn(t, r.l, mustScope(t, "other", tenet.User("sarah")), nil)
	other.n = 500
	ep := other.keep(other.episode("hello")).Verdict.Record
	want := []tenet.RecordID{note, doc, ep}
	slices.Sort(want)
	same(t, "unplaced", r.unplaced("m/1"), want)

	rs, err := r.vectors().Unplaced(ctx, "m/1", 1000)
	must(t, err)
	seen := map[tenet.Scope]bool{}
	for i, rec := range rs {
		if i > 0 && rec.Scope != rs[i-1].Scope && seen[rec.Scope] {
			t.Error("the records of one scope are not together")
		}
		seen[rec.Scope] = true
		if got, err := r.l.Record(ctx, rec.Scope, rec.ID); err != nil || !cmp.Equal(got, rec, alike) {
			t.Errorf("%s is not as Record returns it: %v", rec.ID, err)
		}
	}
	few, err := r.vectors().Unplaced(ctx, "m/1", 2)
	must(t, err)
	same(t, "at most two", len(few), 2)
	r.place("m/1", store.Vector{Record: note}, store.Vector{Record: doc})
	same(t, "what is left", r.unplaced("m/1"), []tenet.RecordID{ep})
}

func denseMovesWithPlacesOnly(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	id := r.keep(r.note("likes tea")).Verdict.Record
	was := r.head()
	r.place("m/1", store.Vector{Record: id, Values: []int8{1}})
	is := r.head()
	if is.Dense <= was.Dense || is.Text != was.Text || is.Audit != was.Audit || is.Stats != was.Stats {
		t.Errorf("placing moved %+v to %+v", was, is)
	}
	r.keep(r.note("likes coffee"))
	if now := r.head(); now.Dense != is.Dense || now.Text <= is.Text {
		t.Errorf("a note moved %+v to %+v", is, now)
	}
	same(t, "still placed", len(r.places("m/1", 0)), 1)
}

func (r *rig) retention() store.Retention { return r.l.(store.Retention) }

func (r *rig) credit(at time.Time, success bool, ids ...tenet.RecordID) store.Applied {
	r.Helper()
	d, err := r.g.Credit(r.app, r.scope, gate.Tally{Records: ids, Success: success}, at)
	must(r.TB, err)
	return r.apply(d)[0]
}

func (r *rig) rest(at time.Time, rests ...gate.Rest) store.Applied {
	r.Helper()
	d, err := r.g.Retain(r.scope, "operator:test", rests, "sweep", at)
	must(r.TB, err)
	return r.apply(d)[0]
}

func (r *rig) uses(now time.Time) map[tenet.RecordID]store.Use {
	r.Helper()
	us, err := r.retention().Uses(ctx, r.scope, "", 0, 90*24*time.Hour, now)
	must(r.TB, err)
	out := map[tenet.RecordID]store.Use{}
	for _, u := range us {
		out[u.Record.ID] = u
	}
	return out
}

func outcomesAreCounted(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "Berlin"))
	one, two := r.keep(r.note("likes tea")).Verdict.Record, r.keep(r.note("likes coffee")).Verdict.Record
	was := r.head()
	a := r.credit(r.now, true, two, one, two)
	r.credit(r.now.Add(time.Second), false, one)
	is := r.head()
	if is.Text != was.Text || is.Stats != was.Stats+2 || is.Audit != was.Audit+2 || a.Entry.Action != "stats" {
		t.Errorf("two reports moved %+v to %+v, as %q", was, is, a.Entry.Action)
	}
	us := r.uses(r.now.Add(90*24*time.Hour + time.Second))
	same(t, "recallable records", len(us), 2)
	near := func(what string, got, want float64) {
		if d := got - want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("successes after a half-life", us[one].Success, 0.5)
	near("failures", us[one].Failure, 0.5)
	near("the other's failures", us[two].Failure, 0)
	if got := us[one].CreditedAt; !got.Equal(a.Entry.At) {
		t.Errorf("credited at %v, want the success at %v", got, a.Entry.At)
	}
	d, err := r.g.Credit(r.app, r.scope, gate.Tally{Records: []tenet.RecordID{one, "nobody"}}, r.now)
	must(t, err)
	was = r.head()
	_, err = r.l.Apply(ctx, []gate.Decision{d}, nil)
	wantKind(t, "an outcome of nothing", err, tenet.NotFound)
	r.unchanged("after it", was)
	r.verified()
}

func dormancyIsAState(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	one, two := r.keep(r.note("likes tea")).Verdict.Record, r.keep(r.note("likes coffee")).Verdict.Record
	low, served := day(2025, 5, 1), day(2025, 4, 1)
	was := r.head()
	a := r.rest(r.now, gate.Rest{Record: two, Dormant: true, LowSince: low, ServedAt: served}, gate.Rest{Record: one, Pinned: true})
	is := r.head()
	if is.Text != was.Text || is.Sleep <= was.Sleep || a.Entry.Action != "dormancy" || !strings.Contains(a.Entry.Why, "sweep") {
		t.Errorf("a sweep moved %+v to %+v, as %q because %q", was, is, a.Entry.Action, a.Entry.Why)
	}
	ids, err := r.retention().Sleeping(ctx, r.scope)
	must(t, err)
	same(t, "dormant", ids, []tenet.RecordID{two})
	us := r.uses(r.now)
	if u := us[two]; !u.Dormant || u.Pinned || !u.LowSince.Equal(low) || !u.ServedAt.Equal(served) {
		t.Errorf("the dormant record: %+v", u)
	}
	if u := us[one]; u.Dormant || !u.Pinned || !u.LowSince.IsZero() {
		t.Errorf("the pinned record: %+v", u)
	}
	ch, err := r.l.Changes(ctx, r.scope, 0)
	must(t, err)
	same(t, "nothing is gone", len(ch.Added), 2)

	r.rest(r.now.Add(time.Hour), gate.Rest{Record: two})
	ids, err = r.retention().Sleeping(ctx, r.scope)
	must(t, err)
	same(t, "awake again", len(ids), 0)
	r.verified()
}

func usesComeInPages(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "Berlin"))
	var ids []tenet.RecordID
	for _, s := range []string{"tea", "coffee", "milk", "water", "wine"} {
		ids = append(ids, r.keep(r.note("likes "+s)).Verdict.Record)
	}
	r.credit(r.now, true, ids[1], ids[3])
	r.rest(r.now, gate.Rest{Record: ids[3], Dormant: true})
	pages := func() (got []store.Use) {
		after := tenet.RecordID("")
		for {
			us, err := r.retention().Uses(ctx, r.scope, after, 2, 90*24*time.Hour, r.now)
			must(t, err)
			if len(us) > 2 {
				t.Errorf("a page of %d", len(us))
			}
			if got = append(got, us...); len(us) < 2 {
				return got
			}
			after = us[1].Record.ID
		}
	}
	all := func() []store.Use {
		us, err := r.retention().Uses(ctx, r.scope, "", 0, 90*24*time.Hour, r.now)
		must(t, err)
		return us
	}
	same(t, "all", len(all()), 5)
	same(t, "the pages", pages(), all())
	d, err := r.g.Retract(gate.Change{By: r.app, Scope: r.scope, Target: r.record(ids[1]), ID: "away", At: r.now})
	must(t, err)
	r.apply(d)
	same(t, "the pages without one", pages(), all())
	us, err := r.retention().Uses(ctx, r.scope, ids[1], 2, time.Hour, r.now)
	must(t, err)
	if len(us) != 2 || us[0].Record.ID != ids[2] {
		t.Errorf("after one that is not believed any more: %+v", us)
	}
	_, err = r.retention().Uses(ctx, r.scope, "nobody", 2, time.Hour, r.now)
	wantKind(t, "after one that is not there", err, tenet.NotFound)
	_, err = r.retention().Uses(ctx, r.scope, "", -1, time.Hour, r.now)
	wantKind(t, "a negative limit", err, tenet.Invalid)
}

func sweepsAreScheduled(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	other := rigOn(t, r.l, mustScope(t, "other", tenet.User("sarah")), nil)
	other.n = 500
	facts := rigOn(t, r.l, mustScope(t, "acme", tenet.User("facts only")), nil)
	facts.n = 700
	r.keep(r.note("likes tea"))
	other.keep(other.note("likes tea"))
	facts.keep(facts.fact("city", "Berlin"))
	unswept := func(since time.Time, limit int) []tenet.Scope {
		out, err := r.retention().Unswept(ctx, since, limit)
		must(t, err)
		return out
	}
	same(t, "never swept", len(unswept(r.now, 10)), 2)
	must(t, r.retention().Swept(ctx, r.scope, r.now))
	same(t, "one was", unswept(r.now, 10), []tenet.Scope{other.scope})
	must(t, r.retention().Swept(ctx, other.scope, r.now.Add(-time.Hour)))
	same(t, "longest ago first", unswept(r.now.Add(time.Hour), 1), []tenet.Scope{other.scope})
}

func servedTimesComeFromReceipts(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	ss, ok := r.l.(store.Sessions)
	sv, ok2 := r.l.(store.Servings)
	if !ok || !ok2 {
		t.Skip("the ledger is no session store")
	}
	_, err := ss.Ensure(ctx, r.scope, tenet.Session{ID: "s", Scope: r.scope, Reads: []tenet.Scope{r.scope}, CreatedAt: r.now})
	must(t, err)
	for i, ids := range [][]tenet.RecordID{{"a", "b"}, {"b"}, nil} {
		must(t, ss.Serve(ctx, r.scope, tenet.Receipt{ID: string(rune('p' + i)), Session: "s", At: r.now.Add(time.Duration(i) * time.Hour), Recalled: ids}))
	}
	got, err := sv.Served(ctx, r.scope, r.now)
	must(t, err)
	same(t, "served", got, map[tenet.RecordID]time.Time{"a": r.now, "b": r.now.Add(time.Hour)})
	got, err = sv.Served(ctx, r.scope, r.now.Add(time.Minute))
	must(t, err)
	same(t, "served lately", got, map[tenet.RecordID]time.Time{"b": r.now.Add(time.Hour)})
}
