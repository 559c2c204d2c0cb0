package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

const racers = 50

// race runs f in many goroutines that start together.
func race(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

func oneOpenRowPerKey(t testing.TB, b Backend) {
	for _, spread := range []time.Duration{0, time.Second} { // one instant, then each its own
		r := newRig(t, b, nil)
		cases := make([]gate.Case, racers)
		for i := range cases {
			cases[i] = r.fact("city", fmt.Sprint("city number ", i))
			cases[i].At = day(2025, 4, 1).Add(time.Duration(i) * spread)
		}
		race(racers, func(i int) {
			st, err := r.l.State(ctx, r.scope, r.g.Query(cases[i]), cases[i].At)
			if err != nil {
				t.Errorf("state: %v", err)
				return
			}
			c := cases[i]
			c.State = st
			d, err := r.g.Judge(c)
			if err != nil {
				t.Errorf("judge: %v", err)
				return
			}
			as, err := r.l.Apply(ctx, []gate.Decision{d}, func(_ int, s gate.State) (gate.Decision, error) {
				c.State = s
				return r.g.Judge(c)
			})
			if err != nil {
				t.Errorf("a racing write failed: %v", err)
			} else if !as[0].Verdict.Outcome.Kept() {
				t.Errorf("a racing write was not kept: %+v", as[0].Verdict)
			}
		})
		var open int
		var believed []tenet.Record
		seen := map[string]bool{}
		for _, h := range r.history(tenet.TierFact, "city") {
			seen[h.Text] = true
			if h.Known.Open() {
				believed = append(believed, h)
				if h.Valid.Open() {
					open++
				}
			}
		}
		if open != 1 {
			t.Errorf("%d open rows under one key", open)
		}
		if len(seen) != racers {
			t.Errorf("%d of %d values in the history", len(seen), racers)
		}
		for i, x := range believed {
			for _, y := range believed[:i] {
				if x.Valid.Overlaps(y.Valid) {
					t.Errorf("two believed rows overlap: %v and %v", x.Valid, y.Valid)
				}
			}
		}
		if h := r.head(); h.Audit != racers {
			t.Errorf("%d entries for %d writes", h.Audit, racers)
		}
		r.verified()
	}
}

func limitHoldsUnderRace(t testing.TB, b Backend) {
	limits := gate.Limits{Rows: 12, Bytes: 4 << 10, Value: 1 << 10}
	r := newRig(t, b, nil, gate.WithLimits(limits))
	cases := make([]gate.Case, racers)
	for i := range cases {
		cases[i] = r.fact(fmt.Sprint("key", i), "value")
	}
	outcomes := make([]tenet.Verdict, racers)
	race(racers, func(i int) {
		d, err := r.g.Judge(cases[i]) // against an empty state: all of them fit
		if err != nil {
			t.Errorf("judge: %v", err)
			return
		}
		as, err := r.l.Apply(ctx, []gate.Decision{d}, func(_ int, s gate.State) (gate.Decision, error) {
			c := cases[i]
			c.State = s
			return r.g.Judge(c)
		})
		if err != nil {
			t.Errorf("a racing write failed: %v", err)
			return
		}
		outcomes[i] = as[0].Verdict
	})
	kept := 0
	for _, v := range outcomes {
		if v.Outcome.Kept() {
			kept++
		} else if !slices.Contains(v.Codes, tenet.CodePersistentFull) {
			t.Errorf("refused for another reason: %+v", v)
		}
	}
	if want := limits.Rows - limits.Rows/4; kept != want || len(r.facts(at(r.now))) != want {
		t.Errorf("%d kept and %d read, the limit for ordinary facts is %d", kept, len(r.facts(at(r.now))), want)
	}
	same(t, "refusals are logged", len(r.held()), racers-kept)
	r.verified()
}

// view follows a scope's recallable records by increments.
type view struct {
	at   uint64
	have map[tenet.RecordID]tenet.Record
}

func (v *view) follow(t testing.TB, l store.Ledger, scope tenet.Scope) store.Changes {
	t.Helper()
	ch, err := l.Changes(ctx, scope, v.at)
	must(t, err)
	if ch.Reset {
		v.have = map[tenet.RecordID]tenet.Record{}
	}
	for _, id := range ch.Removed {
		delete(v.have, id)
	}
	for _, r := range ch.Added {
		v.have[r.ID] = r
	}
	v.at = ch.Head.Text
	return ch
}

func (v *view) ids() []tenet.RecordID {
	var out []tenet.RecordID
	for id := range v.have {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func changesAreIncremental(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	views := []*view{{}}
	check := func(what string, moves bool) {
		t.Helper()
		was := views[0].at
		full := &view{}
		full.follow(t, r.l, r.scope)
		for i, v := range views { // from every position there ever was
			v := &view{v.at, cloneMap(v.have)}
			v.follow(t, r.l, r.scope)
			same(t, fmt.Sprintf("%s: followed from position %d (view %d)", what, v.at, i), v.ids(), full.ids())
		}
		views[0].follow(t, r.l, r.scope)
		if (views[0].at > was) != moves || views[0].at < was {
			t.Errorf("%s: the text position went from %d to %d", what, was, views[0].at)
		}
		h := r.head()
		same(t, what+": the head", views[0].at, h.Text)
		views = append(views, &view{h.Text, cloneMap(full.have)})
	}
	n1 := r.keep(r.note("likes tea")).Verdict.Record
	check("a note", true)
	r.keep(r.note("likes tea"))
	check("a corroboration", false)
	e := r.episode("hello")
	e.ExpiresAt = r.now.Add(time.Second)
	ep := r.keep(e).Verdict.Record
	check("an episode", true)
	r.keep(r.document("a", "one"))
	check("a document", true)
	d2 := r.keep(r.document("a", "two")).Verdict.Record
	check("a document's new version", true)
	r.keep(r.fact("city", "Berlin"))
	for _, a := range views[0].have {
		if a.Tier == tenet.TierFact {
			t.Error("a fact is among what recall has to know")
		}
	}
	views[0].at = r.head().Text // a fact may move the position or not
	ret, err := r.g.Retract(r.change("ret", n1))
	must(t, err)
	r.apply(ret)
	check("a retraction", true)
	exp, err := r.g.ExpireText(r.scope, []tenet.Record{r.record(ep)}, r.now.Add(time.Hour))
	must(t, err)
	r.apply(exp)
	check("an expiry", true)
	got := views[0].ids()
	if !slices.Contains(got, d2) || slices.Contains(got, ep) || slices.Contains(got, n1) {
		t.Errorf("what is left: %v", got)
	}

	var order []tenet.RecordID
	since := r.head().Text
	var ds []gate.Decision
	for i := range 20 {
		c := r.episode(fmt.Sprint("turn ", i))
		c.Candidate.ID = tenet.CandidateID(fmt.Sprintf("z%02d", (i*7)%20)) // ids not in order
		ds = append(ds, r.judge(c))
		order = append(order, tenet.RecordID(c.Candidate.ID))
	}
	r.apply(ds[:10]...)
	r.apply(ds[10:]...)
	ch, err := r.l.Changes(ctx, r.scope, since)
	must(t, err)
	var added []tenet.RecordID
	for _, a := range ch.Added {
		added = append(added, a.ID)
	}
	same(t, "what was added, in the order it was added", added, order)
	if ch.Reset {
		t.Error("a known position was reset")
	}
	ch, err = r.l.Changes(ctx, r.scope, r.head().Text)
	must(t, err)
	if len(ch.Added)+len(ch.Removed) != 0 || ch.Reset {
		t.Errorf("nothing happened since, yet: %+v", ch)
	}
	ch, err = r.l.Changes(ctx, r.scope, r.head().Text+1000) // of a copy that is ahead, after a restore
	must(t, err)
	if !ch.Reset || len(ch.Added) == 0 {
		t.Errorf("a position that never was is not reset: %+v", ch.Head)
	}
}

func cloneMap(m map[tenet.RecordID]tenet.Record) map[tenet.RecordID]tenet.Record {
	out := map[tenet.RecordID]tenet.Record{}
	for k, v := range m {
		out[k] = v
	}
	return out
}
