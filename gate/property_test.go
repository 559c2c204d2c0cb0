package gate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/storetest"
)

// The properties run on the real gate and the in-memory oracle; rapid prints
// the seed of a failure and how to repeat it.

var (
	ctx   = context.Background()
	sarah = mustScope("acme", tenet.User("sarah"))
	noon  = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
)

func mustScope(tenant string, s tenet.Subject) tenet.Scope {
	scope, err := tenet.NewScope(tenant, s)
	if err != nil {
		panic(err)
	}
	return scope
}

func who(k tenet.PrincipalKind) tenet.Principal {
	p, err := tenet.NewPrincipal(k, "acme", "test")
	if err != nil {
		panic(err)
	}
	return p
}

func day(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

var speakers = []tenet.PrincipalKind{tenet.Agent, tenet.App, tenet.EndUser, tenet.Connector, tenet.Operator}

// spoken is the most that a principal's own quote can be.
var spoken = map[tenet.PrincipalKind]tenet.Label{
	tenet.Agent: tenet.LabelAgentInferred, tenet.App: tenet.LabelUserStated, tenet.EndUser: tenet.LabelUserStated,
	tenet.Connector: tenet.LabelAttestedTool, tenet.Operator: tenet.LabelOperator,
}

var someText = rapid.SampledFrom([]string{"lives in Berlin", "lives in Paris", "likes tea", "likes tea!", "not Berlin", "takes 5 mg", "yes"})

// someCase draws a candidate with evidence of any label, and the highest label
// that it may come to.
func someCase(t *rapid.T, n int) (gate.Case, tenet.Label) {
	by := who(rapid.SampledFrom(speakers).Draw(t, "by"))
	c := gate.Case{By: by, At: noon.Add(time.Duration(n) * time.Second), Candidate: tenet.Candidate{
		ID: tenet.CandidateID(fmt.Sprintf("c%03d", n)), Scope: sarah, Text: someText.Draw(t, "text"),
		Tier: rapid.SampledFrom([]tenet.Tier{0, tenet.TierFact, tenet.TierFact, tenet.TierNote, tenet.TierEpisode, tenet.TierDocument}).Draw(t, "tier"),
		Key:  rapid.SampledFrom([]string{"city", "habit"}).Draw(t, "key"), Multi: rapid.IntRange(0, 4).Draw(t, "multi") == 0,
	}}
	best := tenet.Label(0)
	lower := func(l tenet.Label) {
		if best == 0 || l < best {
			best = l
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "messages") {
		m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", i)), Role: tenet.RoleUser, RecordedBy: "app:test", Session: "s",
			Label: tenet.Label(rapid.IntRange(1, 6).Draw(t, "label")), Text: someText.Draw(t, "said"), RecordedAt: c.At}
		c.Evidence, c.Candidate.Cites = append(c.Evidence, m), append(c.Candidate.Cites, m.ID)
		lower(m.Label)
	}
	if rapid.Bool().Draw(t, "quoted") {
		c.Candidate.Quote = someText.Draw(t, "quote")
		lower(spoken[by.Kind()])
	}
	if rapid.Bool().Draw(t, "dated") {
		c.Candidate.Valid.From = day(2015+rapid.IntRange(0, 9).Draw(t, "from"), 1, 1)
		if rapid.IntRange(0, 2).Draw(t, "ends") == 0 {
			c.Candidate.Valid.To = c.Candidate.Valid.From.AddDate(rapid.IntRange(1, 4).Draw(t, "years"), 0, 0)
		}
	}
	return c, best
}

func judgeOn(t *rapid.T, l store.Ledger, g *gate.Gate, c gate.Case) (gate.Case, gate.Decision) {
	st, err := l.State(ctx, sarah, g.Query(c), c.At)
	if err != nil {
		t.Fatal(err)
	}
	c.State = st
	d, err := g.Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, d
}

func TestLabelsNeverRiseAndNeverTouchHigherOnes(t *testing.T) {
	g := gate.New(nil)
	rapid.Check(t, func(t *rapid.T) {
		l := storetest.NewOracle()
		for n := range rapid.IntRange(1, 12).Draw(t, "n") {
			c, best := someCase(t, n)
			c, d := judgeOn(t, l, g, c)
			p := d.Plan()
			if p.Verdict.Label > best {
				t.Fatalf("label %v from evidence of at most %v", p.Verdict.Label, best)
			}
			if p.Kind == gate.Admit && c.Candidate.Tier == tenet.TierFact && p.Verdict.Label < tenet.LabelUserStated {
				t.Fatalf("a fact of label %v was admitted", p.Verdict.Label)
			}
			state := map[tenet.RecordID]tenet.Record{}
			for _, r := range c.State.Open {
				state[r.ID] = r
			}
			for _, cl := range p.Close {
				if r := state[cl.Record]; r.Label == 0 || r.Label > p.Verdict.Label {
					t.Fatalf("a %v candidate closes a %v record", p.Verdict.Label, r.Label)
				}
			}
			if p.Agree != nil && state[p.Agree.Record].Label != p.Verdict.Label {
				t.Fatalf("a %v candidate is added to a %v record", p.Verdict.Label, state[p.Agree.Record].Label)
			}
			for _, r := range p.Insert {
				want := p.Verdict.Label
				if r.FragmentOf != "" && r.FragmentOf != p.Verdict.Record {
					want = state[r.FragmentOf].Label
				}
				if r.Label != want {
					t.Fatalf("a record of label %v, want %v", r.Label, want)
				}
			}
			if _, err := l.Apply(ctx, []gate.Decision{d}, nil); err != nil {
				t.Fatalf("what was just judged does not apply: %v", err)
			}
		}
	})
}

func TestLowerAuthorityNeverEndsOrRetracts(t *testing.T) {
	t.Parallel()
	g := gate.New(nil)
	reach := map[tenet.PrincipalKind]tenet.Label{tenet.App: tenet.LabelUserStated, tenet.EndUser: tenet.LabelUserConfirmed, tenet.Operator: tenet.LabelOperator}
	for _, k := range append(speakers, tenet.Admin) {
		for l := tenet.LabelExternal; l <= tenet.LabelOperator; l++ {
			target := tenet.Record{ID: "r", Scope: sarah, Tier: tenet.TierFact, Key: "city", Label: l, Valid: tenet.Interval{From: day(2020, 1, 1)}, Known: tenet.Interval{From: noon}}
			for name, f := range map[string]func(gate.Change) (gate.Decision, error){"end": g.End, "retract": g.Retract} {
				d, err := f(gate.Change{By: who(k), Scope: sarah, Target: target, ID: "x", At: noon.Add(time.Hour)})
				if may := l <= reach[k]; may != (err == nil) || may == d.IsZero() {
					t.Errorf("%v, %s of a %v record: %v", k, name, l, err)
				}
			}
		}
	}
	owner := who(tenet.Connector).Owning("city")
	target := tenet.Record{ID: "r", Scope: sarah, Tier: tenet.TierFact, Key: "city", Label: tenet.LabelAttestedTool, Known: tenet.Interval{From: noon}}
	if _, err := g.Retract(gate.Change{By: owner, Scope: sarah, Target: target, ID: "x", At: noon}); err != nil {
		t.Errorf("a connector may not retract its own key: %v", err)
	}
	target.Scope = mustScope("acme", tenet.User("tom"))
	if _, err := g.Retract(gate.Change{By: who(tenet.Operator), Scope: sarah, Target: target, ID: "x", At: noon}); tenet.KindOf(err) != tenet.Denied {
		t.Errorf("a record of another scope: %v", err)
	}
}

// remember asserts facts by the user under one key, through the oracle.
func remember(t *rapid.T, l store.Ledger, g *gate.Gate, n int, text string, valid tenet.Interval) store.Applied {
	c := gate.Case{By: who(tenet.App), At: noon.Add(time.Duration(n) * time.Second), Candidate: tenet.Fact(sarah, "city", text).Quoting(text)}
	c.Candidate.ID, c.Candidate.Valid = tenet.CandidateID(fmt.Sprintf("c%03d", n)), valid
	_, d := judgeOn(t, l, g, c)
	as, err := l.Apply(ctx, []gate.Decision{d}, nil)
	if err != nil || !as[0].Verdict.Outcome.Kept() {
		t.Fatalf("not kept: %+v %v", as, err)
	}
	return as[0]
}

// timeline is what is believed of the key: adjoining pieces of one value
// joined, in order.
func timeline(t *rapid.T, l store.Ledger) []string {
	h, err := l.History(ctx, sarah, tenet.TierFact, "city")
	if err != nil {
		t.Fatal(err)
	}
	h = slices.DeleteFunc(h, func(r tenet.Record) bool { return !r.Known.Open() })
	slices.SortFunc(h, func(a, b tenet.Record) int { return a.Valid.From.Compare(b.Valid.From) })
	var out []string
	for i, r := range h {
		if i > 0 && h[i-1].Text == r.Text && h[i-1].Valid.To.Equal(r.Valid.From) {
			out = out[:len(out)-1]
			r.Valid.From = h[i-1].Valid.From
			h[i] = r
		}
		out = append(out, fmt.Sprintf("%s [%s, %s)", r.Text, r.Valid.From.Format(time.DateOnly), r.Valid.To.Format(time.DateOnly)))
	}
	return out
}

// TestOrderOfArrivalDoesNotMatter asserts the same statements in several orders:
// values that come back, with and without an end, each from its own instant.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	g := gate.New(nil)
	rapid.Check(t, func(t *rapid.T) {
		years := rapid.SliceOfNDistinct(rapid.IntRange(2000, 2024), 2, 7, rapid.ID[int]).Draw(t, "years")
		towns, lasts := map[int]string{}, map[int]int{}
		for _, y := range years {
			towns[y] = rapid.SampledFrom([]string{"Rome", "Oslo", "Bonn"}).Draw(t, "town")
			lasts[y] = rapid.SampledFrom([]int{0, 0, 1, 3, 9}).Draw(t, "years it lasts, 0 for open")
		}
		var want []string
		for i, order := range [][]int{slices.Sorted(slices.Values(years)), years, rapid.Permutation(years).Draw(t, "order")} {
			l := storetest.NewOracle()
			for n, y := range order {
				v := tenet.Interval{From: day(y, 1, 1)}
				if n := lasts[y]; n > 0 {
					v.To = day(y+n, 1, 1)
				}
				remember(t, l, g, n, towns[y], v)
			}
			got := timeline(t, l)
			if i == 0 {
				want = got
			} else if !slices.Equal(got, want) {
				t.Fatalf("in order %v: %q, want %q", order, got, want)
			}
		}
	})
}

func TestBelievedRowsNeverOverlapAndThePastStays(t *testing.T) {
	g := gate.New(nil)
	type snapshot struct {
		known time.Time
		facts [12]string
	}
	rapid.Check(t, func(t *rapid.T) {
		l := storetest.NewOracle()
		read := func(known time.Time) (out [12]string) {
			for i := range out {
				fs, err := l.Facts(ctx, sarah, tenet.AsOf{Valid: day(2014+i, 6, 1), Known: known})
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range fs {
					out[i] += f.Text + ";"
				}
			}
			return out
		}
		var past []snapshot
		for n := range rapid.IntRange(2, 10).Draw(t, "n") {
			v := tenet.Interval{From: day(2014+rapid.IntRange(0, 10).Draw(t, "from"), 1, 1)}
			if rapid.Bool().Draw(t, "ends") {
				v.To = v.From.AddDate(rapid.IntRange(1, 5).Draw(t, "years"), 0, 0)
			}
			a := remember(t, l, g, n, rapid.SampledFrom([]string{"Rome", "Oslo", "Bonn"}).Draw(t, "town"), v)
			past = append(past, snapshot{a.Entry.At, read(time.Time{})})
		}
		for i, s := range past {
			if got := read(s.known); got != s.facts {
				t.Fatalf("after write %d this was believed: %q; as of then it is now %q", i, s.facts, got)
			}
		}
		h, err := l.History(ctx, sarah, tenet.TierFact, "city")
		if err != nil {
			t.Fatal(err)
		}
		byID := map[tenet.RecordID]tenet.Record{}
		for i, x := range h {
			byID[x.ID] = x
			for _, y := range h[:i] {
				if x.Known.Open() && y.Known.Open() && x.Valid.Overlaps(y.Valid) {
					t.Fatalf("%s %v and %s %v overlap", x.ID, x.Valid, y.ID, y.Valid)
				}
			}
		}
		// What is left of a closed record and what took its place join to it.
		for _, r := range h {
			by, ok := byID[r.SupersededBy]
			if r.Known.Open() || !ok {
				continue
			}
			covered := max(0, minTo(r.Valid, by.Valid).Sub(maxFrom(r.Valid, by.Valid)))
			for _, f := range h {
				if f.FragmentOf == by.ID && f.Known.From.Equal(r.Known.To) { // a further piece of what took its place
					covered += max(0, minTo(r.Valid, f.Valid).Sub(maxFrom(r.Valid, f.Valid)))
				}
				if f.FragmentOf == r.ID && f.Known.From.Equal(r.Known.To) {
					if f.Text != r.Text || f.Label != r.Label || f.Valid.Overlaps(by.Valid) {
						t.Fatalf("a fragment differs from its whole: %+v of %+v", f, r)
					}
					covered += end(f.Valid).Sub(f.Valid.From)
				}
			}
			if whole := end(r.Valid).Sub(r.Valid.From); covered != whole {
				t.Fatalf("the parts of %s cover %v of %v", r.ID, covered, whole)
			}
		}
	})
}

// end is the end of an interval, the year 2200 when it is open.
func end(i tenet.Interval) time.Time {
	if i.To.IsZero() {
		return day(2200, 1, 1)
	}
	return i.To
}

func minTo(a, b tenet.Interval) time.Time {
	if end(a).Before(end(b)) {
		return end(a)
	}
	return end(b)
}

func maxFrom(a, b tenet.Interval) time.Time {
	if a.From.After(b.From) {
		return a.From
	}
	return b.From
}

func TestDecisionIsAPureFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, g := storetest.NewOracle(), gate.New(nil)
		for n := range rapid.IntRange(1, 6).Draw(t, "n") {
			c, _ := someCase(t, n)
			c, d := judgeOn(t, l, g, c)
			before := fmt.Sprintf("%+v", c)
			again, err := gate.New(nil).Judge(c) // another gate with the same rules
			if err != nil {
				t.Fatal(err)
			}
			zone := c // the same instants, written in another zone
			zone.At = zone.At.In(time.FixedZone("NPT", 20700))
			elsewhere, err := g.Judge(zone)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []gate.Decision{again, elsewhere} {
				if a, b := plan(d), plan(x); a != b {
					t.Fatalf("one case, two decisions:\n%s\n%s", a, b)
				}
			}
			if fmt.Sprintf("%+v", c) != before {
				t.Fatal("judging changed the case")
			}
			if _, err := l.Apply(ctx, []gate.Decision{d}, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// plan writes a decision out, pointers followed.
func plan(d gate.Decision) string {
	p := d.Plan()
	out := fmt.Sprintf("%+v", []any{p.Kind, p.Scope, p.Actor, p.At, p.Ref, p.Why, p.Verdict, p.Candidate, p.Needs, p.Insert, p.Close, p.Evidence, p.Expire})
	if p.Agree != nil {
		out += fmt.Sprintf(" agree %+v", *p.Agree)
	}
	if p.Hold != nil {
		out += fmt.Sprintf(" hold %+v", *p.Hold)
	}
	return out
}

// TestOneStatementOverSeveralValues: a single value takes the place of several
// that stood under the key at once, and each keeps the time before it.
func TestOneStatementOverSeveralValues(t *testing.T) {
	t.Parallel()
	g, l := gate.New(nil), storetest.NewOracle()
	for i, multi := range []bool{true, true, false} {
		c := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Fact(sarah, "k", fmt.Sprint("value ", i)).Quoting(fmt.Sprint("value ", i))}
		c.Candidate.ID, c.Candidate.Multi, c.Candidate.Valid.From = tenet.CandidateID(fmt.Sprint("c", i)), multi, day(2020+i, 1, 1)
		st, err := l.State(ctx, sarah, g.Query(c), c.At)
		if err != nil {
			t.Fatal(err)
		}
		c.State = st
		d, err := g.Judge(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Apply(ctx, []gate.Decision{d}, nil); err != nil {
			t.Fatalf("statement %d does not apply: %v", i, err)
		}
	}
	fs, err := l.Facts(ctx, sarah, tenet.AsOf{Valid: day(2021, 6, 1)})
	if err != nil || len(fs) != 2 {
		t.Errorf("before it, both values stood: %+v, %v", fs, err)
	}
	fs, err = l.Facts(ctx, sarah, tenet.AsOf{Valid: noon})
	if err != nil || len(fs) != 1 || !strings.HasSuffix(fs[0].Text, "2") {
		t.Errorf("after it, one: %+v, %v", fs, err)
	}
}
