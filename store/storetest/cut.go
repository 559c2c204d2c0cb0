package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// cutClauses are the claims about audit retention.
var cutClauses = []clause{
	{"ACutRemovesWhatNothingNeedsAndTheChainVerifies", cutRemoves},
	{"WhatLivesKeepsItsEntries", cutKeepsWhatIsNeeded},
	{"DamageToACutChainIsFound", cutDamageIsFound},
	{"ADamagedChainIsNotCut", damagedIsNotCut},
	{"OnlyTheGateCuts", onlyTheGateCuts},
	{"ALegalHoldFreezesTheAudit", legalHoldFreezesAudit},
	{"NoCutFollowsFromCuts", noCutFollowsFromCuts},
	{"ACutGoesAlikeEverywhere", cutGoesAlike},
	{"WritersGoOnDuringACut", writersGoOnDuringACut},
	{"ACutPastComesBack", aCutPastComesBack},
}

const window = 60 * 24 * time.Hour

// cut removes what is older than the window.
func (r *rig) cut() (store.Cut, error) {
	r.Helper()
	r.now = r.now.Add(time.Second)
	d, err := r.g.CutAudit(r.scope, r.now.Add(-window), r.now)
	must(r.TB, err)
	return r.l.(store.Cutter).Cut(ctx, d)
}

func (r *rig) mustCut() store.Cut {
	r.Helper()
	c, err := r.cut()
	must(r.TB, err)
	if c.IsZero() {
		r.Fatal("nothing was cut")
	}
	return c
}

// refused has a statement refused whose text has run out since.
func (r *rig) refused(text string) tenet.CandidateID {
	r.Helper()
	id := r.remember(r.unproven(text)).Verdict.Candidate
	r.ageOut(gate.HoldFor + time.Second)
	return id
}

// ageOut lets time pass, and drops the texts of holds that ran out.
func (r *rig) ageOut(pass time.Duration) {
	r.Helper()
	r.now = r.now.Add(pass)
	due, err := governor(r.TB, r.l).AgedOut(ctx, r.now, 1000)
	must(r.TB, err)
	var aged []gate.Aged
	for _, d := range due {
		if d.Scope == r.scope {
			aged = append(aged, d.Aged)
		}
	}
	if len(aged) > 0 {
		d, err := r.g.AgeOut(r.scope, aged, r.now)
		must(r.TB, err)
		r.apply(d)
	}
}

// entries are the positions and actions of the chain.
func (r *rig) entries() (out []string) {
	r.Helper()
	es, err := r.l.Audit(ctx, r.scope, 1, 10000)
	must(r.TB, err)
	for _, e := range es {
		out = append(out, fmt.Sprint(e.Seq, " ", e.Action))
	}
	return out
}

// expired is an episode of which only the row is left.
func (r *rig) expired(text string) tenet.RecordID {
	r.Helper()
	k := r.episode(text)
	k.ExpiresAt = r.now.Add(time.Hour)
	id := r.keep(k).Verdict.Record
	r.now = r.now.Add(2 * time.Hour)
	d, err := r.g.ExpireText(r.scope, []tenet.Record{r.record(id)}, r.now)
	must(r.TB, err)
	r.apply(d)
	return id
}

func cutRemoves(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	c := r.fact("city", "Berlin") // the living old fact, entry 1
	r.keep(c)
	gone := r.refused("nobody said this") // 2, and 3 which dropped its text
	husk := r.expired("we talked about bread")
	was := r.head()
	if z, err := r.cut(); err != nil || !z.IsZero() {
		t.Errorf("a chain of the last days was cut: %+v, %v", z, err)
	}
	r.unchanged("after a cut of nothing", was)
	r.now = r.now.Add(window + time.Hour)
	fresh := r.keep(r.note("likes tea"))
	same(t, "before", r.entries(), []string{"1 admit", "2 refuse", "3 expire", "4 admit", "5 expire", "6 admit"})
	cut := r.mustCut()
	same(t, "after", r.entries(), []string{"1 admit", "6 admit", "7 cut"})
	same(t, "the sealed head", []uint64{cut.Upto, cut.Removed, cut.Seq}, []uint64{5, 4, 7})
	if c, is := r.l.(store.Checker); is {
		wrong, err := c.Recount(ctx, r.scope.Tenant())
		if err != nil || wrong != 0 {
			t.Errorf("%d heads count what was cut: %v", wrong, err)
		}
	}
	carried, err := cut.Carried()
	must(t, err)
	if len(carried) != 1 || carried[0].Seq != 1 {
		t.Errorf("carried: %+v", carried)
	}
	r.verified()
	gov := governor(t, r.l)
	name, err := gov.ChainName(ctx, r.scope)
	must(t, err)
	kept, err := gov.CutOf(ctx, name)
	must(t, err)
	same(t, "the head that is kept", kept, cut)
	es, err := r.l.Audit(ctx, r.scope, 7, 1)
	must(t, err)
	if len(es) != 1 || es[0].Actor != "retention" || es[0].Ref != "audit" || es[0].Why == "" {
		t.Errorf("the cut's entry: %+v", es)
	}

	// The old fact is explained as before; what went is not there.
	same(t, "facts", texts(r.facts(at(r.now))), []string{"Berlin"})
	v, err := r.l.Verdict(ctx, r.scope, c.Candidate.ID)
	must(t, err)
	same(t, "its verdict", v.Outcome, tenet.Stored)
	if ev, err := r.l.Evidence(ctx, r.scope, tenet.RecordID(c.Candidate.ID)); err != nil || len(ev) != 1 {
		t.Errorf("its evidence: %v, %v", ev, err)
	}
	_, err = r.l.Verdict(ctx, r.scope, gone)
	wantKind(t, "a verdict past its retention", err, tenet.NotFound)
	_, err = r.l.Record(ctx, r.scope, husk)
	wantKind(t, "what was left of an expired episode", err, tenet.NotFound)
	same(t, "holds", len(r.held()), 0)
	ch, err := r.l.Changes(ctx, r.scope, 0)
	must(t, err)
	if len(ch.Added) != 1 || ch.Added[0].ID != fresh.Verdict.Record {
		t.Errorf("recall finds %+v", ch.Added)
	}
	if a := r.remember(c); !a.Replayed {
		t.Error("the living fact's candidate is not known any more")
	}

	// Life goes on, and so does the chain; an older cut is no other's head.
	r.keep(r.fact("city", "Paris"))
	r.refused("nor this")
	r.keep(r.note("likes bread"))
	r.verified()
	r.now = r.now.Add(window + time.Hour)
	second := r.mustCut()
	same(t, "the second head", []uint64{second.Upto, second.Removed}, []uint64{11, 3})
	same(t, "after the second", r.entries(), []string{"1 admit", "6 admit", "8 admit", "11 admit", "12 cut"})
	r.verified()
}

func cutKeepsWhatIsNeeded(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	city := r.keep(r.fact("city", "Berlin")).Verdict.Record
	r.keep(r.fact("city", "Paris"))
	tea := r.keep(r.note("likes tea")).Verdict.Record
	r.keep(r.note("likes tea"))
	open := r.remember(r.propose(r.agent, tenet.Fact(r.scope, "role", "admin"))).Verdict.Candidate
	no := r.discarded(r.agent, nuts).Verdict.Candidate // leaves a tombstone
	stage := func(from, to int64) {
		d, err := r.g.StageBatch(r.scope, gate.Staged{Session: "s", From: from, To: to}, r.now)
		must(t, err)
		r.apply(d)
	}
	stage(0, 3) // gone: a later stretch stands for it
	stage(3, 7)
	pin := func(pinned bool) {
		r.rest(r.now, gate.Rest{Record: tea, Pinned: pinned})
	}
	pin(true) // gone: it was said again
	pin(true)
	r.credit(r.now, true, tea)
	r.freeze("case 4711")
	r.thaw("settled")
	whole := rigOn(t, r.l, mustScope(t, "acme", tenet.WholeTenant()), nil)
	admin := principal(t, tenet.Admin, "acme")
	key := func(id string, change gate.KeyChange) {
		k := tenet.Key{ID: id, Tenant: "acme", Kind: tenet.Agent, Name: "bot", Subjects: []string{"user:sarah"}, Hash: []byte(strings.Repeat(id, 16)), CreatedAt: r.now}
		if change == gate.KeyRevoked {
			k.RevokedAt = r.now
		}
		d, err := r.g.Access(admin, k, change, r.now)
		must(t, err)
		whole.apply(d)
	}
	key("k1", gate.KeyMade)
	key("k2", gate.KeyMade)
	key("k2", gate.KeyRevoked)
	before := len(r.entries())
	r.now = r.now.Add(window + time.Hour)
	cut := r.mustCut()
	same(t, "removed", []uint64{cut.Removed, uint64(before) - cut.Removed + 1}, []uint64{4, uint64(len(r.entries()))})
	for _, e := range r.entries() {
		if strings.HasSuffix(e, "thaw") || strings.HasSuffix(e, "freeze") {
			t.Errorf("%s was kept", e)
		}
	}
	r.verified()
	for _, id := range []tenet.CandidateID{tenet.CandidateID(city), open, no} {
		_, err := r.l.Verdict(ctx, r.scope, id)
		must(t, err)
	}
	if h := r.history(tenet.TierFact, "city"); len(h) != 3 {
		t.Errorf("the history: %+v", h)
	}
	if hs := r.held(); len(hs) != 2 {
		t.Errorf("holds: %+v", hs)
	}
	cursor, _, err := r.l.Staged(ctx, r.scope, "s")
	must(t, err)
	same(t, "the cursor", cursor, int64(7))
	if u := r.uses(r.now)[tea]; !u.Pinned || u.Success == 0 {
		t.Errorf("how the note stands: %+v", u)
	}
	r.wants("the discarded statement again", r.remember(r.propose(r.agent, tenet.Note(r.scope, nuts))), tenet.Rejected, tenet.CodeRejectedBefore)
	stage(7, 9)
	r.verified()

	whole.now = r.now
	whole.mustCut()
	same(t, "the tenant's keys", whole.entries(), []string{"1 access", "4 cut"})
	whole.verified()
}

func cutDamageIsFound(t testing.TB, b Backend) {
	if b.Tamper == nil {
		t.Fatal("the backend gives no way to tamper with it: set Backend.Tamper")
	}
	made := func() (*rig, tenet.RecordID) {
		r := newRig(t, b, nil)
		id := r.keep(r.fact("city", "Berlin")).Verdict.Record // 1
		r.refused("nobody said this")                         // 2, 3
		r.keep(r.note("likes tea"))                           // 4
		r.now = r.now.Add(window + time.Hour)
		r.keep(r.note("likes bread")) // 5
		r.keep(r.note("likes salt"))  // 6
		return r, id
	}
	found := func(r *rig, what string) {
		t.Helper()
		v, err := r.l.Verify(ctx, r.scope)
		if err != nil {
			t.Errorf("%s: verify fails instead of finding: %v", what, err)
		} else if v.OK() || v.Bad == 0 {
			t.Errorf("%s was not found: %+v", what, v)
		}
	}
	for what, ws := range map[string][]Tampering{
		"an altered text of a carried entry":   {{Damage: RecordText}},
		"a carried entry that was altered":     {{Damage: EntryAltered, Seq: 1}},
		"a carried entry that was removed":     {{Damage: EntryDropped, Seq: 1}},
		"the last carried entry removed":       {{Damage: EntryDropped, Seq: 4}},
		"the first entry behind the cut":       {{Damage: EntryDropped, Seq: 5}},
		"all up to behind the cut":             {{Damage: EntryDropped, Seq: 1}, {Damage: EntryDropped, Seq: 4}, {Damage: EntryDropped, Seq: 5}},
		"a sealed head that was moved":         {{Damage: HeadMoved}},
		"a head that was moved with the entry": {{Damage: HeadMoved}, {Damage: EntryDropped, Seq: 5}},
		"a sealed head that was removed":       {{Damage: HeadDropped}},
		"the head's entry removed":             {{Damage: EntryDropped, Seq: 7}},
		"head and entry removed":               {{Damage: HeadDropped}, {Damage: EntryDropped, Seq: 7}},
	} {
		r, id := made()
		r.mustCut()
		r.verified()
		for _, w := range ws {
			w.Scope, w.Record = r.scope, id
			b.Tamper(t, r.l, w)
		}
		found(r, what)
		if _, err := r.cut(); tenet.KindOf(err) != tenet.Internal {
			t.Errorf("%s is cut away: %v", what, err)
		}
	}
	for what, seqs := range map[string][]uint64{"the first entry": {1}, "the beginning of the chain": {1, 2, 3, 4}, "entries in the middle": {2, 3}} {
		r, id := made() // and no cut
		for _, seq := range seqs {
			b.Tamper(t, r.l, Tampering{Damage: EntryDropped, Scope: r.scope, Record: id, Seq: seq})
		}
		found(r, what+" removed without a cut")
	}
}

func damagedIsNotCut(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "Berlin"))
	r.refused("nobody said this")
	r.now = r.now.Add(window + time.Hour)
	b.Tamper(t, r.l, Tampering{Damage: EntryAltered, Scope: r.scope, Seq: 2})
	was := r.entries()
	_, err := r.cut()
	wantKind(t, "cutting what was altered", err, tenet.Internal)
	same(t, "the chain", r.entries(), was)
}

func onlyTheGateCuts(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "Berlin"))
	c := r.l.(store.Cutter)
	_, err := c.Cut(ctx, gate.Decision{})
	wantKind(t, "a zero decision", err, tenet.Refused)
	_, err = c.Cut(ctx, r.judge(r.fact("city", "Paris")))
	wantKind(t, "another kind", err, tenet.Invalid)
	for what, before := range map[string]time.Time{"no time": {}, "now": r.now, "yesterday": r.now.Add(-24 * time.Hour), "a month less a second": r.now.Add(-gate.AuditAtLeast + time.Second), "the future": r.now.Add(window)} {
		_, err := r.g.CutAudit(r.scope, before, r.now)
		wantKind(t, "an audit until "+what, err, tenet.Invalid)
	}
	_, err = r.g.CutAudit(tenet.Scope{}, r.now.Add(-window), r.now)
	wantKind(t, "no scope", err, tenet.Invalid)
	d, err := r.g.CutAudit(r.scope, r.now.Add(-window), r.now)
	must(t, err)
	_, err = r.l.Apply(ctx, []gate.Decision{d}, nil)
	wantKind(t, "applying a cut", err, tenet.Invalid)
	nobody := rigOn(t, r.l, mustScope(t, "acme", tenet.User("nobody")), nil)
	_, err = nobody.cut()
	wantKind(t, "a scope that was never written", err, tenet.NotFound)
	same(t, "the chain", r.entries(), []string{"1 admit"})
}

func legalHoldFreezesAudit(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.refused("nobody said this")
	r.freeze("case 4711")
	r.now = r.now.Add(window + time.Hour)
	uncut := func() int {
		ss, err := r.l.(store.Cutter).Uncut(ctx, r.now.Add(-window), r.now, 10)
		must(t, err)
		return len(ss)
	}
	was := r.entries()
	_, err := r.cut()
	wantHeldBack(t, "a cut", err)
	same(t, "the chain", r.entries(), was)
	same(t, "to cut", uncut(), 0)
	r.verified()
	r.thaw("settled")
	same(t, "to cut once it is lifted", uncut(), 1)
	r.mustCut()
	// A hold and its end go together: one without the other could not be brought back.
	same(t, "after it was lifted", r.entries(), []string{"3 freeze", "4 thaw", "5 cut"})
	r.verified()
	r.now = r.now.Add(window + time.Hour)
	r.mustCut()
	same(t, "a window later", r.entries(), []string{"6 cut"})
	r.verified()
	r.freeze("case 4712")
	r.verified()
	same(t, "the hold", r.frozen(10)[0].Seq, uint64(7))
}

func noCutFollowsFromCuts(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	c := r.l.(store.Cutter)
	r.refused("nobody said this")
	bob := rigOn(t, r.l, mustScope(t, "other", tenet.User("bob")), nil)
	bob.now = r.now
	bob.keep(bob.note("likes tea"))
	r.now = r.now.Add(window + time.Hour)
	bob.now = r.now
	todo := func(since time.Time) (out []string) {
		t.Helper()
		ss, err := c.Uncut(ctx, r.now.Add(-window), since, 10)
		must(t, err)
		for _, s := range ss {
			out = append(out, s.Subject().String())
		}
		slices.Sort(out)
		return out
	}
	same(t, "to cut", todo(r.now), []string{"user:bob", "user:sarah"})
	r.mustCut()
	if z, err := bob.cut(); err != nil || !z.IsZero() { // everything is needed
		t.Errorf("%+v, %v", z, err)
	}
	same(t, "bob's chain", bob.entries(), []string{"1 admit"})
	same(t, "to cut once more", len(todo(r.now.Add(-time.Hour))), 0)
	same(t, "to cut the next day", todo(r.now.Add(24*time.Hour)), []string{"user:bob"})
	for range 3 {
		r.now = r.now.Add(2 * window)
		if z, err := r.cut(); err != nil || !z.IsZero() {
			t.Errorf("an idle chain was cut again: %+v, %v", z, err)
		}
	}
	same(t, "the idle chain", r.entries(), []string{"3 cut"})
	r.keep(r.note("likes tea"))
	r.refused("nor this")
	r.now = r.now.Add(window)
	r.mustCut()
	same(t, "the chain that lives again", r.entries(), []string{"4 admit", "7 cut"})
	r.verified()
	_, err := c.Uncut(ctx, r.now, r.now, -1)
	wantKind(t, "a negative limit", err, tenet.Invalid)
	one, err := c.Uncut(ctx, r.now, r.now.Add(time.Hour), 1)
	must(t, err)
	same(t, "one at most", len(one), 1)
}

// cutGoesAlike does the same to an oracle.
func cutGoesAlike(t testing.TB, b Backend) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var chains [2][]string
	var heads [2]store.Head
	for i, l := range []store.Ledger{b.Ledger(t), NewOracle()} {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := rigOn(t, l, mustScope(t, "acme", tenet.User("sarah")), nil)
		var notes []tenet.RecordID
		to := int64(0)
		r.keep(r.note("the first"))
		for range 120 {
			switch rng.IntN(10) {
			case 0:
				r.keep(r.fact("city", fmt.Sprint("city ", rng.IntN(1000000))))
			case 1, 2:
				notes = append(notes, r.keep(r.note(fmt.Sprint("note ", rng.IntN(1000000)))).Verdict.Record)
			case 3:
				r.remember(r.unproven("nobody said this"))
			case 4:
				r.remember(r.propose(r.agent, tenet.Fact(r.scope, "role", fmt.Sprint("admin ", rng.IntN(1000000)))))
			case 5:
				id := r.expired(fmt.Sprint("bread ", rng.IntN(1000000)))
				notes = append(notes, id)
			case 6:
				if len(notes) > 0 {
					rests := []gate.Rest{{Record: notes[rng.IntN(len(notes))], Pinned: true}}
					if other := notes[rng.IntN(len(notes))]; other != rests[0].Record {
						rests = append(rests, gate.Rest{Record: other, Dormant: true})
					}
					r.now = r.now.Add(time.Second)
					r.rest(r.now, rests...)
				}
			case 7:
				d, err := r.g.StageBatch(r.scope, gate.Staged{Session: tenet.SessionID("s"), From: to, To: to + 2}, r.now)
				must(t, err)
				r.apply(d)
				to += 2
			case 8:
				if len(notes) > 0 && rng.IntN(3) == 0 {
					r.now = r.now.Add(time.Second)
					r.credit(r.now, true, notes[rng.IntN(len(notes))])
				}
			case 9:
				r.ageOut(time.Duration(rng.IntN(30*24)) * time.Hour)
				if _, err := r.cut(); err != nil {
					t.Fatal(err)
				}
				notes = slices.DeleteFunc(notes, func(id tenet.RecordID) bool {
					_, err := r.l.Record(ctx, r.scope, id)
					return tenet.KindOf(err) == tenet.NotFound
				})
				r.verified()
			}
		}
		r.verified()
		chains[i], heads[i] = r.entries(), r.head()
	}
	same(t, "the chain", chains[0], chains[1])
	same(t, "the head", heads[0], heads[1])
	if n := len(chains[0]); uint64(n) == heads[0].Audit {
		t.Log("nothing was cut in this run")
	}
}

func writersGoOnDuringACut(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keep(r.fact("city", "Berlin"))
	for i := range 5 {
		r.remember(r.unproven(fmt.Sprint("nobody said ", i)))
	}
	r.ageOut(gate.HoldFor + time.Hour)
	r.now = r.now.Add(window + time.Hour)
	var ds [][]gate.Decision
	for w := range 3 {
		var mine []gate.Decision
		for i := range 10 {
			mine = append(mine, r.judge(r.note(fmt.Sprint("note ", w, " ", i))))
		}
		ds = append(ds, mine)
	}
	cutting, err := r.g.CutAudit(r.scope, r.now.Add(-window), r.now)
	must(t, err)
	var work sync.WaitGroup
	errs := make(chan error, 100)
	for _, mine := range ds {
		work.Go(func() {
			for _, d := range mine {
				_, err := r.l.Apply(ctx, []gate.Decision{d}, nil)
				errs <- err
			}
		})
	}
	cuts := make(chan store.Cut, 3)
	for range 3 { // as many replicas sweep
		work.Go(func() {
			c, err := r.l.(store.Cutter).Cut(ctx, cutting)
			errs <- err
			cuts <- c
		})
	}
	work.Wait()
	close(errs)
	close(cuts)
	for err := range errs {
		must(t, err)
	}
	done := 0
	for c := range cuts {
		if !c.IsZero() {
			done++
		}
	}
	same(t, "cuts", done, 1)
	same(t, "entries", len(r.entries()), 1+30+1)
	r.verified()
}

// aCutPastComesBack exports a cut chain, and brings it into another ledger.
func aCutPastComesBack(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.busy()
	for _, to := range []int64{2, 4, 6} {
		d, err := r.g.StageBatch(r.scope, gate.Staged{Session: "later", From: to - 2, To: to}, r.now)
		must(t, err)
		r.apply(d)
	}
	r.refused("nobody said this")
	r.now = r.now.Add(window + time.Hour)
	r.mustCut()
	before := r.past(r.l, 3)
	other := rigOn(t, b.Ledger(t), r.scope, nil)
	_, err := other.l.Apply(ctx, other.readmit(before), nil)
	must(t, err)
	other.verified()
	same(t, "the past of what came back", other.past(other.l, 7), before)
}
