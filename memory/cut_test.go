package memory_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// TestACutAuditAnswersForWhatLivesAndMovesWhole lets an audit's window pass over a
// full memory, more than once.
func TestACutAuditAnswersForWhatLivesAndMovesWhole(t *testing.T) {
	each(t, func(t *testing.T, from backend) {
		ctx := t.Context()
		const window = 300 * day
		old := func(b backend) *engine {
			e := moverWith(t, b, 1, func(c *memory.Config) { c.AuditRetention = window })
			e.clock.Store(time.Date(2020, 1, 2, 9, 0, 0, 0, time.UTC).UnixMicro()) // long past by every server's clock
			return e
		}
		e := old(from)
		e.live(t)
		op := must[*memory.Operator](t)(e.Operator(e.op, e.sarah))
		facts := must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah))
		cities := must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "home_city"))
		if s := must[memory.Swept](t)(e.Sweep(ctx)); s.Entries != 0 {
			t.Errorf("a young audit was cut: %+v", s)
		}
		removed := 0
		for range 3 {
			e.advance(window + day)
			must[memory.Swept](t)(e.Sweep(ctx)) // texts that ran out go
			e.advance(window + day)
			n := must[memory.Swept](t)(e.Sweep(ctx)).Entries
			if again := must[memory.Swept](t)(e.Sweep(ctx)); again.Entries != 0 {
				t.Errorf("cut again at once: %+v", again)
			}
			if v := must[store.Verification](t)(op.Verify(ctx)); !v.OK() {
				t.Fatalf("after a cut of %d: entry %d: %s", n, v.Bad, v.Why)
			}
			removed += n
			e.Remember(ctx, e.app, tenet.Candidate{Scope: e.sarah, Text: "of no tier"}) // refused
		}
		if removed == 0 {
			t.Fatal("nothing was cut")
		}
		head, err := e.ledger.Head(ctx, e.sarah)
		if err != nil {
			t.Fatal(err)
		}
		es := must[[]tenet.AuditEntry](t)(op.Audit(ctx, 1, 10_000))
		if len(es)+removed > int(head.Audit) || len(es) == int(head.Audit) {
			t.Errorf("%d entries of %d are left, %d were removed", len(es), head.Audit, removed)
		}
		stats := must[memory.Stats](t)(op.Stats(ctx))
		if int(stats.Entries) != len(es) {
			t.Errorf("%d entries are counted, there are %d", stats.Entries, len(es))
		}
		found, next, err := op.Search(ctx, memory.Reading{From: 1, Limit: 1000})
		if err != nil || next != 0 && len(found) < 1000 || len(found) != min(len(es), 1000) {
			t.Errorf("a search shows %d entries, goes on at %d: %v", len(found), next, err)
		}
		// What lives is explained: value, history, verdict and evidence.
		if now := must[[]memory.Fact](t)(e.Facts(ctx, e.app, tenet.AsOf{}, e.sarah)); len(now) != len(facts) {
			t.Errorf("%d facts, there were %d", len(now), len(facts))
		}
		if now := must[[]tenet.Record](t)(e.History(ctx, e.app, e.sarah, "home_city")); len(now) != len(cities) {
			t.Errorf("%d cities in the history, there were %d", len(now), len(cities))
		}
		for _, f := range facts {
			id, _, _ := strings.Cut(string(f.ID), "/")
			if v, err := e.ledger.Verdict(ctx, e.sarah, tenet.CandidateID(id)); err != nil {
				t.Errorf("the verdict on %s (%v): %v", f.Key, v.Outcome, err)
			}
		}
		file, want := e.export(t), e.view(t)
		for _, to := range backends() {
			n := old(to)
			n.clock.Store(e.clock.Load())
			if got := n.bring(t, file); !got.Own || len(got.Refused) != 0 {
				t.Errorf("to %s: %+v", to.name, got)
			}
			differ(t, from.name+" to "+to.name, n.view(t), want)
			differ(t, "export from "+to.name, string(n.export(t)), string(file))
		}
		if from.name == "oracle" {
			return // it does not erase
		}
		// A receipt from before a cut is good behind it, and after the subject is gone
		// its chain can still be followed.
		said := must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Key: "allergy"}, Why: "asked to"}))
		e.Remember(ctx, e.app, tenet.Candidate{Scope: e.sarah, Text: "of no tier"})
		for range 2 {
			e.advance(window + day)
			must[memory.Swept](t)(e.Sweep(ctx))
		}
		whole := must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Subject: true}, Why: "asked to"}))
		for what, r := range map[string]*memory.ErasureReceipt{"of a key": said.Receipt, "of all": whole.Receipt} {
			if c := must[memory.ErasureCheck](t)(e.VerifyErasure(ctx, e.op, *r, nil)); !c.OK {
				t.Errorf("the receipt %s: %+v", what, c)
			}
		}
		name := whole.Receipt.Chain
		if c := must[store.Cut](t)(e.ledger.(store.Governor).CutOf(ctx, name)); c.IsZero() || c.Chain != name {
			t.Errorf("the head of the chain: %+v", c)
		}
	})
}

// TestAnAuditThatCannotBeCutKeepsNoOtherFromIt damages one subject: the sweep ends,
// and the other's audit is cut.
func TestAnAuditThatCannotBeCutKeepsNoOtherFromIt(t *testing.T) {
	t.Parallel()
	for what, q := range map[string]string{
		"its key":    `UPDATE subjects SET data_key = zeroblob(length(data_key)) WHERE external_id = 'sarah'`,
		"its kind":   `UPDATE subjects SET kind = 77 WHERE external_id = 'sarah'`,
		"its tenant": `UPDATE subjects SET tenant = '' WHERE external_id = 'sarah'`,
		"its words":  `UPDATE chain SET codes = 'x' WHERE seq = 1 AND scope = (SELECT scope FROM subjects WHERE external_id = 'sarah')`,
	} {
		path := filepath.Join(t.TempDir(), "tenet.db")
		e := newEngine(t, backend{"sqlite", func(t *testing.T) stores {
			db := must[*sqlite.DB](t)(sqlite.Open(t.Context(), path, sqlite.Options{}))
			t.Cleanup(func() { db.Close() })
			return stores{db, db}
		}}, func(c *memory.Config) { c.AuditRetention = 30 * day })
		bob := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("bob")))
		for _, s := range []tenet.Scope{e.sarah, bob} {
			must[tenet.Verdict](t)(e.Remember(t.Context(), e.app, quoting(tenet.Fact(s, "city", "Berlin"))))
			e.Remember(t.Context(), e.app, tenet.Candidate{Scope: s, Text: "of no tier"}) // refused
		}
		e.advance(40 * day)
		must[memory.Swept](t)(e.Sweep(t.Context())) // the refused texts go
		e.advance(40 * day)
		raw := must[*sql.DB](t)(sql.Open("sqlite", path))
		if r, err := raw.Exec(q); err != nil || must[int64](t)(r.RowsAffected()) != 1 {
			t.Fatalf("%s: %v", what, err)
		}
		raw.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if swept, err := e.Sweep(ctx); err != nil || swept.Entries == 0 {
			t.Errorf("%s is damaged: %+v, %v", what, swept, err)
		}
	}
}

func TestAnAuditIsKeptAsLongAsWhatItAccountsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what                     string
		audit, episodes, session time.Duration
		ok                       bool
	}{
		{"for ever", 0, day, day, true}, {"30 days", 30 * day, 0, 0, true}, {"as long as the others", 90 * day, 90 * day, 90 * day, true},
		{"negative", -day, 0, 0, false}, {"a day", day, 0, 0, false}, {"30 days less a microsecond", 30*day - time.Microsecond, 0, 0, false},
		{"shorter than turns", 60 * day, 61 * day, 0, false}, {"shorter than sessions", 60 * day, 0, 61 * day, false},
	} {
		_, err := memory.Open(t.Context(), memory.Config{Ledger: backends()[0].open(t).ledger, Sessions: backends()[0].open(t).sessions, Gate: newGate(),
			AuditRetention: c.audit, EpisodeRetention: c.episodes, SessionTTL: c.session})
		if c.ok != (err == nil) || err != nil && tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
