package gate_test

import (
	"slices"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// stands is a fact of the key as it is believed.
func stands(key, town string, l tenet.Label, multi bool) tenet.Record {
	from := noon.AddDate(-1, 0, 0)
	return tenet.Record{
		ID: tenet.RecordID("r-" + town), Scope: sarah, Tier: tenet.TierFact, Key: key, Value: []byte(`"` + town + `"`), Text: town, Label: l,
		Valid: tenet.Interval{From: from}, Known: tenet.Interval{From: from}, Seen: 1, Signature: `v "` + town + `"`, Multi: multi,
		Origins: []tenet.Origin{{Principal: "app:test", Message: "m0", Holds: tenet.Interval{From: from}}},
	}
}

// TestALowerLabelNeitherReplacesNorEndsNorRetractsAHigherOne: it is held beside
// it, and nothing of the higher record is touched.
func TestALowerLabelNeitherReplacesNorEndsNorRetractsAHigherOne(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]tenet.Op{"another value": tenet.OpAssert, "an end": tenet.OpEnd, "a retraction": tenet.OpRetract} {
		c := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Fact(sarah, "city", "Rome").Quoting("Rome")}
		c.Candidate.ID, c.Candidate.Op = "c", op
		c.State.Open = []tenet.Record{stands("city", "Berlin", tenet.LabelOperator, false)}
		d, err := gate.New(nil).Judge(c)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Plan()
		if p.Verdict.Outcome != tenet.Quarantined || !slices.Contains(p.Verdict.Codes, tenet.CodeLowerIntegrity) || p.Close != nil || p.Insert != nil {
			t.Errorf("%s: %v %v, closes %v", name, p.Verdict.Outcome, p.Verdict.Codes, p.Close)
		}
	}
}

// TestWhatStandsDecidesWithTheRules: each thing that a candidate can meet under
// its key has its outcome and code.
func TestWhatStandsDecidesWithTheRules(t *testing.T) {
	t.Parallel()
	op := func(o tenet.Op) func(*gate.Case) { return func(c *gate.Case) { c.Candidate.Op = o } }
	value := func(v string) func(*gate.Case) { return func(c *gate.Case) { c.Candidate.Value = []byte(v) } }
	for name, c := range map[string]struct {
		open    []tenet.Record
		change  []func(*gate.Case)
		outcome tenet.Outcome
		code    tenet.Code
	}{
		"known on better authority": {[]tenet.Record{stands("city", "Rome", tenet.LabelOperator, false)}, []func(*gate.Case){value(`"Rome"`)}, tenet.Corroborated, tenet.CodeDuplicate},
		"said of an earlier time": {[]tenet.Record{stands("city", "Berlin", tenet.LabelUserStated, false)}, []func(*gate.Case){
			func(c *gate.Case) { c.Candidate.Valid.From = noon.AddDate(-2, 0, 0) }}, tenet.Stored, tenet.CodeBackdated},
		"an end of nothing":     {nil, []func(*gate.Case){op(tenet.OpEnd)}, tenet.Rejected, tenet.CodeNothingToEnd},
		"an end of one of many": {[]tenet.Record{stands("city", "Berlin", tenet.LabelUserStated, true), stands("city", "Paris", tenet.LabelUserStated, true)}, []func(*gate.Case){op(tenet.OpEnd)}, tenet.Quarantined, tenet.CodeAmbiguousEnd},
	} {
		k := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Fact(sarah, "city", "Rome").Quoting("Rome")}
		k.Candidate.ID, k.State.Open = "c", c.open
		for _, f := range c.change {
			f(&k)
		}
		if c.code == tenet.CodeDuplicate { // stored by the same words
			first, err := gate.New(nil).Judge(gate.Case{By: k.By, At: k.At, Candidate: k.Candidate})
			if err != nil {
				t.Fatal(err)
			}
			k.State.Open[0].Signature = first.Plan().Insert[0].Signature
		}
		d, err := gate.New(nil).Judge(k)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v := d.Verdict(); v.Outcome != c.outcome || !slices.Contains(v.Codes, c.code) {
			t.Errorf("%s: %v %v, want %v with %s", name, v.Outcome, v.Codes, c.outcome, c.code)
		}
	}
	k := gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Fact(sarah, "city", "Rome").Quoting("Rome")}
	k.Candidate.ID, k.Candidate.IfVersion = "c", "another"
	k.State.Open = []tenet.Record{stands("city", "Berlin", tenet.LabelUserStated, false)}
	if _, err := gate.New(nil).Judge(k); tenet.KindOf(err) != tenet.Conflict {
		t.Errorf("against another version: %v", err)
	}
}
