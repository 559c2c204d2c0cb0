package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// quotaClauses are the claims about how much a tenant keeps.
var quotaClauses = []clause{
	{"WhatATenantKeepsIsCounted", whatIsKeptIsCounted},
	{"AQuotaOfRecordsIsKept", aQuotaOfRecords},
	{"AQuotaOfBytesIsKept", aQuotaOfBytes},
	{"AQuotaOfSubjectsIsKept", aQuotaOfSubjects},
	{"AFullMemoryStillTakesAnAllergy", aFullMemoryTakesAnAllergy},
	{"ManyWritersDoNotPassAQuota", manyWritersAndAQuota},
}

func (r *rig) stored() gate.Stored {
	r.Helper()
	s, err := r.l.(store.Governor).Stored(ctx, r.scope.Tenant())
	must(r.TB, err)
	return s
}

// counted is what the scopes' records come to, read one by one.
func (r *rig) counted(scopes ...tenet.Scope) (s gate.Stored) {
	r.Helper()
	for _, scope := range scopes {
		all, err := r.l.(store.Governor).Records(ctx, scope, "", 10_000)
		must(r.TB, err)
		var one gate.Stored
		for _, rec := range all {
			one.Bytes += int64(rec.RenderedSize())
			if gate.Counts(rec) {
				one.Records++
			}
		}
		one.Subjects = min(one.Records, 1)
		s = s.Plus(one)
	}
	return s
}

// full demands the error of a quota, and that nothing was written.
func (r *rig) full(what, limit string, k gate.Case) {
	r.Helper()
	head, kept := r.head(), r.stored()
	_, err := r.l.Apply(ctx, []gate.Decision{r.judge(k)}, r.again(k))
	if store.OverQuota(err) != limit || tenet.KindOf(err) != tenet.Unavailable {
		r.Errorf("%s: %v, want the quota of %s", what, err, limit)
	}
	if r.head() != head || r.stored() != kept {
		r.Errorf("%s: it was refused and wrote", what)
	}
	if err != nil && strings.Contains(err.Error(), k.Candidate.Text) {
		r.Errorf("%s: the error tells the text", what)
	}
}

func bounded(q gate.Quota) gate.Option { return gate.WithQuotas(gate.Quotas{Default: q}) }

func whatIsKeptIsCounted(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	two := rigOn(t, r.l, mustScope(t, "acme", tenet.User("tom")), nil)
	other := rigOn(t, r.l, mustScope(t, "other", tenet.User("sarah")), nil)
	same(t, "of nothing", r.stored(), gate.Stored{})
	is := func(what string, records, subjects int64) {
		t.Helper()
		got := r.stored()
		same(t, what, got, r.counted(r.scope, two.scope))
		same(t, what+": records and subjects", []int64{got.Records, got.Subjects}, []int64{records, subjects})
	}
	r.keep(r.fact("city", "lives in Basel"))
	is("a fact", 1, 1)
	bern := r.keep(r.fact("city", "lives in Bern")).Verdict.Record
	is("one that took its place", 1, 1)
	if s := r.stored(); s.Bytes <= int64(len("city")+len("lives in Bern")) {
		t.Errorf("%d bytes: what was replaced is kept, and is not counted", s.Bytes)
	}
	r.keep(r.fact("city", "lives in Bern"))
	is("the same again", 1, 1)
	note := r.keep(r.note("likes bread")).Verdict.Record
	r.keep(r.document("/a", "a document"))
	is("a note and a document", 3, 1)
	r.keep(r.document("/a", "another"))
	r.remember(r.propose(r.agent, tenet.Fact(r.scope, "role", "admin")))
	is("a held one", 3, 1)
	k := r.episode("we talked about nuts")
	k.ExpiresAt = r.now.Add(time.Hour)
	turn := r.keep(k).Verdict.Record
	two.keep(two.note("likes cheese"))
	is("another subject", 5, 2)
	other.keep(other.note("not theirs"))
	is("another tenant", 5, 2)

	rec := func(id tenet.RecordID) tenet.Record {
		out, err := r.l.Record(ctx, r.scope, id)
		must(t, err)
		return out
	}
	r.now = r.now.Add(2 * time.Hour)
	expire, err := r.g.ExpireText(r.scope, []tenet.Record{rec(turn)}, r.now)
	must(t, err)
	r.apply(expire)
	is("a text that ran out", 4, 2)
	retract, err := r.g.Retract(gate.Change{By: r.app, Scope: r.scope, Target: rec(bern), ID: "retract", At: r.now})
	must(t, err)
	r.apply(retract)
	is("a retraction", 3, 2)
	r.now = r.now.Add(time.Second)
	revoke, err := r.g.Revoke(gate.Revocation{By: r.operator, Scope: r.scope, ID: "r1", Why: "tainted", At: r.now, Close: []tenet.Record{rec(note)}, Reopen: []gate.Piece{{Of: rec(bern), Valid: rec(bern).Valid}}})
	must(t, err)
	r.apply(revoke)
	is("a revocation that puts one back", 3, 2)
	r.verified()
}

func aQuotaOfRecords(t testing.TB, b Backend) {
	r := newRig(t, b, nil, bounded(gate.Quota{Records: 3}))
	two := rigOn(t, r.l, mustScope(t, "acme", tenet.User("tom")), nil, bounded(gate.Quota{Records: 3}))
	other := rigOn(t, r.l, mustScope(t, "other", tenet.User("sarah")), nil, gate.WithQuotas(gate.Quotas{Default: gate.Quota{Records: 1}, Of: map[string]gate.Quota{"other": {}}}))
	r.keep(r.fact("city", "lives in Basel"))
	note := r.keep(r.note("likes bread")).Verdict.Record
	two.keep(two.note("likes cheese"))
	r.full("the fourth", "records", r.note("likes milk"))
	two.full("the fourth, of another subject", "records", two.note("likes milk"))
	again := r.note("likes milk")
	again.Candidate.ID = "again"
	r.full("a candidate", "records", again)

	r.keep(r.fact("city", "lives in Bern")) // takes the place of one
	r.keep(r.note("likes bread"))           // agrees with one
	if a := r.remember(r.propose(r.agent, tenet.Fact(r.scope, "role", "admin"))); a.Verdict.Outcome != tenet.Quarantined {
		t.Errorf("what is held is %v", a.Verdict.Outcome)
	}
	for n := range 4 {
		other.keep(other.note(fmt.Sprint("note of others, number ", n)))
	}
	// A batch goes whole or not at all.
	batch := []gate.Case{r.fact("pet", "has a cat"), r.note("likes milk")}
	head := r.head()
	if _, err := r.l.Apply(ctx, []gate.Decision{r.judge(batch[0]), r.judge(batch[1])}, nil); store.OverQuota(err) != "records" {
		t.Errorf("a batch over the quota: %v", err)
	}
	same(t, "the head after a refused batch", r.head(), head)

	rec, err := r.l.Record(ctx, r.scope, note)
	must(t, err)
	retract, err := r.g.Retract(gate.Change{By: r.app, Scope: r.scope, Target: rec, ID: "retract", At: r.now})
	must(t, err)
	r.apply(retract)
	r.keep(again) // the same id, once there is room
	r.full("the fourth again", "records", r.note("likes tea"))
	same(t, "kept", r.stored(), r.counted(r.scope, two.scope))
	r.verified()
}

func aQuotaOfBytes(t testing.TB, b Backend) {
	r := newRig(t, b, nil, bounded(gate.Quota{Bytes: 1000}))
	for n := range 9 {
		r.keep(r.note(strings.Repeat("a", 80) + fmt.Sprint(" number ", n)))
	}
	r.full("a long one", "bytes", r.note(strings.Repeat("b", 400)))
	r.keep(r.note("a short one"))
	for n := range 20 { // what is replaced is history, and counts
		k := r.fact("city", fmt.Sprint("lives in town number ", n))
		if _, err := r.l.Apply(ctx, []gate.Decision{r.judge(k)}, r.again(k)); err != nil {
			if store.OverQuota(err) != "bytes" {
				t.Errorf("replacing: %v", err)
			}
			break
		} else if n == 19 {
			t.Error("history does not count")
		}
	}
	if s := r.stored(); s.Bytes > 1000 {
		t.Errorf("%d bytes of 1000", s.Bytes)
	}
	same(t, "kept", r.stored(), r.counted(r.scope))
}

func aQuotaOfSubjects(t testing.TB, b Backend) {
	first := newRig(t, b, nil, bounded(gate.Quota{Subjects: 2}))
	on := func(name string) *rig {
		return rigOn(t, first.l, mustScope(t, "acme", tenet.User(name)), nil, bounded(gate.Quota{Subjects: 2}))
	}
	two, three := on("tom"), on("uma")
	first.keep(first.note("likes bread"))
	only := two.keep(two.note("likes cheese")).Verdict.Record
	three.full("a third subject", "subjects", three.note("likes milk"))
	first.keep(first.note("likes tea"))
	rec, err := two.l.Record(ctx, two.scope, only)
	must(t, err)
	retract, err := two.g.Retract(gate.Change{By: two.app, Scope: two.scope, Target: rec, ID: "retract", At: two.now})
	must(t, err)
	two.apply(retract)
	three.keep(three.note("likes milk"))
	two.full("who has nothing any more", "subjects", two.note("likes cheese again"))
}

func aFullMemoryTakesAnAllergy(t testing.TB, b Backend) {
	r := newRig(t, b, nil, bounded(gate.Quota{Records: 20}))
	for n := range 20 {
		r.keep(r.note(fmt.Sprint("note number ", n)))
	}
	r.full("a note", "records", r.note("one more"))
	allergy := func(text string) gate.Case {
		k := r.fact("allergy", text)
		k.Candidate.Safety, k.Candidate.Multi = true, true
		return k
	}
	r.keep(allergy("nuts"))
	r.keep(allergy("shellfish"))
	r.full("beyond the tenth", "records", allergy("eggs"))
}

func manyWritersAndAQuota(t testing.TB, b Backend) {
	const most = 20
	r := newRig(t, b, nil)
	var kept, refused atomic.Int64
	rigs := make([]*rig, racers)
	for i := range rigs {
		rigs[i] = rigOn(t, r.l, mustScope(t, "acme", tenet.User(fmt.Sprint("user-", i%10))), nil, bounded(gate.Quota{Records: most}))
	}
	race(racers, func(i int) {
		for n := range 3 {
			c := tenet.Note(rigs[i].scope, fmt.Sprintf("note %d of writer %d", n, i))
			c.ID, c.Quote = tenet.CandidateID(fmt.Sprintf("c-%d-%d", i, n)), c.Text
			k := gate.Case{By: rigs[i].app, Candidate: c, At: rigs[i].now}
			judge := func(s gate.State) (gate.Decision, error) {
				k := k
				k.State = s
				return rigs[i].g.Judge(k)
			}
			d, err := judge(gate.State{})
			if err == nil {
				_, err = r.l.Apply(ctx, []gate.Decision{d}, func(_ int, s gate.State) (gate.Decision, error) { return judge(s) })
			}
			switch {
			case err == nil:
				kept.Add(1)
			case store.OverQuota(err) == "records":
				refused.Add(1)
			default:
				t.Errorf("a racing write: %v", err)
			}
		}
	})
	if s := r.stored(); s.Records != kept.Load() || kept.Load() > most {
		t.Errorf("%d records and %d kept, of %d", s.Records, kept.Load(), most)
	}
	// What looked full while others were under way has room after them.
	rigs[0].n = 1000
	for r.stored().Records < most {
		rigs[0].keep(rigs[0].note(fmt.Sprint("late note ", rigs[0].n)))
	}
	rigs[0].full("the next", "records", rigs[0].note("one more"))
}

// headsCount demands that what the heads count is what there is.
func (r *eraseRig) headsCount() {
	r.Helper()
	for _, tenant := range []string{"acme", "other"} {
		all, err := r.db.Scopes(ctx, tenant, tenet.Scope{}, 1000)
		must(r.TB, err)
		got, err := r.db.Stored(ctx, tenant)
		must(r.TB, err)
		same(r.TB, "what the heads of "+tenant+" count", got, r.counted(all...))
	}
}

// anErasureMakesRoom: the quota of a tenant is for what is there.
func anErasureMakesRoom(t testing.TB, r *eraseRig) {
	q := bounded(gate.Quota{Records: 2})
	one, two := rigOn(t, r.l, r.scope, nil, q), rigOn(t, r.l, mustScope(t, "acme", tenet.User("tom")), nil, q)
	bread := one.keep(one.note("likes bread")).Verdict.Record
	one.keep(one.note("likes tea"))
	two.full("a third", "records", two.note("likes milk"))
	r.gone(gate.Selection{Record: bread})
	two.keep(two.note("likes milk"))
	two.full("another third", "records", two.note("likes cheese"))
	r.gone(gate.Selection{Subject: true})
	two.keep(two.note("likes cheese"))
	two.full("a last third", "records", two.note("likes wine"))
	same(t, "kept", two.stored(), gate.Stored{Records: 2, Bytes: int64(len("likes milk") + len("likes cheese")), Subjects: 1})
}
