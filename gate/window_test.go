package gate_test

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

func TestTheLastWindowThatMatchesSaysHowLongATextIsKept(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	app := who(tenet.App)
	g := gate.New(nil, gate.WithRetention([]gate.Window{
		{Tier: tenet.TierFact, For: 300 * day},
		{Tier: tenet.TierNote, For: 30 * day},
		{Tier: tenet.TierNote, Label: tenet.LabelUserStated},
		{Tier: tenet.TierEpisode, For: 10 * day},
		{Tier: tenet.TierEpisode, Label: tenet.LabelExternal, For: day},
	}), gate.WithKeys("1", func(key string) (gate.KeySpec, bool) {
		switch key {
		case "allergy":
			return gate.KeySpec{Multi: true, Safety: true}, true
		case "mood":
			return gate.KeySpec{Keep: 2 * day}, true
		}
		return gate.KeySpec{}, false
	}))
	said := now.Add(-time.Hour)
	for _, c := range []struct {
		what  string
		cand  tenet.Candidate
		asked time.Time
		want  time.Time
	}{
		{"a fact, after it was said", tenet.Fact(sarah, "city", "lives in Basel"), time.Time{}, said.Add(300 * day)},
		{"a key of its own", tenet.Fact(sarah, "mood", "is glad"), time.Time{}, said.Add(2 * day)},
		{"a safety fact", tenet.Fact(sarah, "allergy", "nuts"), time.Time{}, time.Time{}},
		{"what its label keeps for ever", tenet.Note(sarah, "likes bread"), now.Add(day), time.Time{}},
		{"a row of another label", tenet.Candidate{Scope: sarah, Tier: tenet.TierEpisode, Text: "we talked"}, time.Time{}, said.Add(10 * day)},
		{"no row, and the case's own time", tenet.Candidate{Scope: sarah, Tier: tenet.TierDocument, Key: "/a.md", Text: "x"}, now.Add(day), now.Add(day)},
	} {
		c.cand.ID = "c1"
		c.cand.Cites = []tenet.MessageID{"m"}
		d, err := g.Judge(gate.Case{By: app, Candidate: c.cand, At: now, ExpiresAt: c.asked, Evidence: []tenet.Message{{
			ID: "m", Role: tenet.RoleUser, Label: tenet.LabelUserStated, RecordedBy: "app:test", Text: c.cand.Text, RecordedAt: said,
		}}})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		p := d.Plan()
		if len(p.Insert) != 1 || !p.Insert[0].ExpiresAt.Equal(c.want) {
			t.Errorf("%s: %v %v %+v, want the end %v", c.what, p.Verdict.Outcome, p.Verdict.Codes, p.Insert, c.want)
		}
	}
}

func TestSayingItAgainRenewsItsWindow(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	start := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	app := who(tenet.App)
	g := gate.New(nil, gate.WithRetention([]gate.Window{{Tier: tenet.TierFact, For: 30 * day}, {Tier: tenet.TierNote, For: 30 * day}}))
	for _, cand := range []tenet.Candidate{tenet.Fact(sarah, "city", "lives in Basel"), tenet.Note(sarah, "lives in Basel")} {
		judge := func(id tenet.CandidateID, at time.Time, open ...tenet.Record) gate.Plan {
			t.Helper()
			c := cand
			c.ID, c.Quote = id, cand.Text
			d, err := g.Judge(gate.Case{By: app, Candidate: c, At: at, State: gate.State{Open: open}})
			if err != nil {
				t.Fatal(err)
			}
			return d.Plan()
		}
		first := judge("c1", start).Insert[0]
		if p := judge("c2", start.Add(day-time.Hour), first); p.Verdict.Outcome != tenet.Corroborated || p.Agree == nil {
			t.Errorf("%v: within a day: %v %v", cand.Tier, p.Verdict.Outcome, p.Verdict.Codes)
		}
		p := judge("c3", start.Add(20*day), first)
		if p.Verdict.Outcome != tenet.Superseded || len(p.Insert) != 1 || len(p.Close) != 1 || p.Close[0].Record != first.ID {
			t.Fatalf("%v: later: %v %+v %+v", cand.Tier, p.Verdict.Outcome, p.Insert, p.Close)
		}
		r := p.Insert[0]
		if !r.ExpiresAt.Equal(start.Add(50*day)) || r.Valid != first.Valid || len(r.Origins) != 2 || r.Supersedes != first.ID {
			t.Errorf("%v: the renewed record: %+v", cand.Tier, r)
		}
		if n := p.Needs.Grows; n != (gate.Usage{}) {
			t.Errorf("%v: it grows the tier by %+v", cand.Tier, n)
		}
	}
}

// TestANoteThatRenewsMayTakeAnothersPlace: saying again what is kept, instead of
// something else, closes both under the new record; a higher word stays, and then
// nothing is written at all.
func TestANoteThatRenewsMayTakeAnothersPlace(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	start := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	app := who(tenet.App)
	g := gate.New(nil, gate.WithRetention([]gate.Window{{Tier: tenet.TierNote, For: 30 * day}}))
	judge := func(text string, at time.Time, replaces *tenet.Record, open ...tenet.Record) gate.Plan {
		t.Helper()
		c := tenet.Note(sarah, text)
		c.ID, c.Quote = tenet.CandidateID(text+at.String()), text
		d, err := g.Judge(gate.Case{By: app, Candidate: c, At: at, Replaces: replaces, State: gate.State{Open: open}})
		if err != nil {
			t.Fatal(err)
		}
		return d.Plan()
	}
	same, other := judge("lives in Basel", start, nil).Insert[0], judge("lives in Bern", start, nil).Insert[0]
	p := judge("lives in Basel", start.Add(20*day), &other, same, other)
	closed := map[tenet.RecordID]tenet.RecordID{}
	for _, c := range p.Close {
		closed[c.Record] = c.By
	}
	if len(p.Insert) != 1 || len(closed) != 2 || closed[same.ID] != p.Insert[0].ID || closed[other.ID] != p.Insert[0].ID || p.Verdict.Outcome != tenet.Superseded {
		t.Errorf("%v: %+v %+v", p.Verdict, p.Insert, p.Close)
	}
	other.Label = tenet.LabelOperator
	if p := judge("lives in Basel", start.Add(20*day), &other, same, other); p.Verdict.Outcome != tenet.Quarantined || p.Insert != nil || p.Close != nil || p.Hold == nil {
		t.Errorf("over a higher word: %v: %+v %+v", p.Verdict, p.Insert, p.Close)
	}
}
