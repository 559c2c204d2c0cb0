package memory_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// TestWhatAQuotaHasNoRoomForWaits: a message that was acknowledged is consolidated
// once there is room, however often it was tried in vain, and an allergy does not
// wait with the others.
func TestWhatAQuotaHasNoRoomForWaits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := must[*sqlite.DB](t)(sqlite.Open(ctx, filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{}))
	t.Cleanup(func() { db.Close() })
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := must[*memory.Memory](t)(memory.Open(ctx, memory.Config{
		Ledger: db, Sessions: db, Gate: gate.New(policy.Default(), policy.Keys(), gate.WithQuotas(gate.Quotas{Default: gate.Quota{Records: 10}})),
		Now: func() time.Time { return now }, MaxAttempts: 2,
	}))
	scope := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("sarah")))
	app := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.App, "acme", "shop"))
	op := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, "acme", "olga"))
	note := func(n int) tenet.Candidate {
		text := fmt.Sprint("The lantern of room ", n, " is blue.")
		return tenet.Note(scope, text).Quoting(text)
	}
	var first tenet.RecordID
	for n := range 10 {
		v, err := m.Remember(ctx, app, note(n))
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = v.Record
		}
	}
	if _, err := m.Remember(ctx, app, note(10)); memory.OverQuota(err) != "records" || tenet.KindOf(err) != tenet.Unavailable {
		t.Fatalf("the eleventh: %v", err)
	}
	s := must[*memory.Session](t)(m.Session(ctx, app, scope, "chat"))
	must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I moved the red chair to the kitchen.")))
	for range 5 { // more often than MaxAttempts
		now = now.Add(time.Hour)
		if _, _, err := m.ConsolidateOnce(ctx); memory.OverQuota(err) != "records" {
			t.Fatalf("consolidation without room: %v", err)
		}
	}
	if n := m.Counts().Full["records"]; n < 2 {
		t.Errorf("%d refusals are counted", n)
	}
	// A safety fact has a tenth more.
	allergy := tenet.Fact(scope, "allergy", "Severe shellfish allergy.").Quoting("Severe shellfish allergy.")
	if _, err := m.Remember(ctx, app, allergy); err != nil {
		t.Errorf("an allergy in a full memory: %v", err)
	}
	o := must[*memory.Operator](t)(m.Operator(op, scope))
	st, err := o.Stats(ctx)
	if err != nil || st.Stored == nil || st.Stored.Records != 11 || st.Quota.Records != 10 || st.Dead != 0 || st.Failing != 1 {
		t.Errorf("stats: %+v of %+v, %d given up, %d failing, %v", st.Stored, st.Quota, st.Dead, st.Failing, err)
	}
	// Room is made: three go, and what waited comes in.
	for _, of := range []gate.Selection{{Record: first}} {
		must[memory.Erasure](t)(m.Erase(ctx, op, scope, memory.Erasing{Of: of, Why: "asked"}))
	}
	for n := 1; n < 4; n++ {
		recs, err := db.Records(ctx, scope, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		must[memory.Erasure](t)(m.Erase(ctx, op, scope, memory.Erasing{Of: gate.Selection{Record: recs[0].ID}, Why: "asked"}))
	}
	now = now.Add(time.Hour)
	r, more, err := m.ConsolidateOnce(ctx)
	if err != nil || !more || r.Messages != 1 {
		t.Fatalf("consolidation with room: %+v %v %v", r, more, err)
	}
}

// TestAQuotaStaysWhenTheRulesAreReplaced: it is the deployment's, not the policy's.
func TestAQuotaStaysWhenTheRulesAreReplaced(t *testing.T) {
	t.Parallel()
	g := gate.New(nil, gate.WithQuotas(gate.Quotas{Default: gate.Quota{Records: 3}, Of: map[string]gate.Quota{"acme": {Bytes: 9}}}))
	n := gate.New(policy.Default(), policy.Keys())
	was := n.RuleSet()
	g.Adopt(n)
	if q := g.Quotas(); q.For("other").Records != 3 || q.For("acme") != (gate.Quota{Bytes: 9}) || g.RuleSet() != was {
		t.Errorf("quotas %+v, rule set %s, want %s", q, g.RuleSet(), was)
	}
	g.Shut("the file cannot be read")
	if g.Quotas().For("other").Records != 3 {
		t.Error("a gate that is shut forgot the quotas")
	}
}
