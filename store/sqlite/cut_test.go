package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// TestACutThatBreaksOffLeavesNothing breaks a cut off at each statement that it
// has, as a crash between two of them would: it is one transaction.
func TestACutThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	scope := lived(t, db)
	g := gate.New(nil)
	at := begin.Add(time.Hour)
	for _, id := range []tenet.CandidateID{"", "late"} { // the second has an entry of its own that drops its text
		if id != "" {
			c := tenet.Candidate{ID: id, Scope: scope, Text: "no tier again"}
			apply(t, db, judge(t, db, g, gate.Case{By: principal(t, tenet.App), Candidate: c.Quoting(c.Text), At: at}))
		}
		at = at.Add(gate.HoldFor + 24*time.Hour)
		due, err := db.AgedOut(ctx, at, 100)
		if err != nil || len(due) == 0 {
			t.Fatal(err, len(due))
		}
		var aged []gate.Aged
		for _, a := range due {
			aged = append(aged, a.Aged)
		}
		d, err := g.AgeOut(scope, aged, at)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, db, d)
	}
	cut, err := g.CutAudit(scope, at.Add(time.Hour), at.Add(gate.AuditAtLeast+time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	standing := func() []tenet.AuditEntry {
		t.Helper()
		if v, err := db.Verify(ctx, scope); err != nil || !v.OK() {
			t.Fatalf("%+v, %v", v, err)
		}
		es, err := db.Audit(ctx, scope, 1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return es
	}
	was := standing()
	for _, on := range []string{"INSERT ON chain", "INSERT ON trail", "DELETE ON held", "DELETE ON trail", "DELETE ON records", "DELETE ON evidence", "INSERT ON cuts", "UPDATE OF cut ON heads", "UPDATE OF audit ON heads", "DELETE ON chain"} {
		if _, err := db.w.pool.ExecContext(context.Background(), `CREATE TRIGGER broken BEFORE `+on+` BEGIN SELECT RAISE(ABORT, 'broken off'); END`); err != nil {
			t.Fatal(err)
		}
		if c, err := db.Cut(ctx, cut); err == nil {
			t.Errorf("%s: the cut went through: %+v", on, c)
		}
		if _, err := db.w.pool.ExecContext(context.Background(), `DROP TRIGGER broken`); err != nil {
			t.Fatal(err)
		}
		if now := standing(); len(now) != len(was) {
			t.Errorf("%s: %d entries stand, want %d", on, len(now), len(was))
		}
		if c, err := db.CutOf(ctx, name(t, db, scope)); err != nil || !c.IsZero() {
			t.Errorf("%s: a head is there: %+v, %v", on, c, err)
		}
	}
	c, err := db.Cut(ctx, cut)
	if err != nil || c.IsZero() {
		t.Fatal(err, c)
	}
	if now := standing(); len(now) != len(was)-int(c.Removed)+1 {
		t.Errorf("%d entries stand after %d of %d were removed", len(now), c.Removed, len(was))
	}
	// Who holds neither key can't follow a chain on which the head was forged.
	faults, err := db.Check(ctx, scope.Tenant())
	if err != nil || len(faults) != 0 {
		t.Errorf("fsck finds %v, %v", faults, err)
	}
	if why, err := db.Chain(ctx, name(t, db, scope), 0, nil); err != nil || why != "" {
		t.Errorf("the links: %s, %v", why, err)
	}
	if _, err := db.w.pool.Exec(`UPDATE cuts SET sig = zeroblob(64)`); err != nil {
		t.Fatal(err)
	}
	if why, err := db.Chain(ctx, name(t, db, scope), 0, nil); err != nil || why == "" {
		t.Errorf("a head without a signature holds: %v", err)
	}
	if faults, err = db.Check(ctx, scope.Tenant()); err != nil || len(faults) == 0 {
		t.Errorf("fsck finds no forged head: %v", err)
	}
	if _, err := db.CutOf(ctx, name(t, db, scope)); tenet.KindOf(err) != tenet.Internal {
		t.Errorf("a head without a signature is read: %v", err)
	}
	if _, err := db.w.pool.Exec(`DELETE FROM cuts`); err != nil {
		t.Fatal(err)
	}
	if why, err := db.Chain(ctx, name(t, db, scope), 0, nil); err != nil || why == "" {
		t.Errorf("a chain without its head holds: %v", err)
	}
}

// TestAChainThatEndsAtItsCutIsNotWhole removes what came after a cut, and says so
// in the head as well: the sealed head names the entry that has to follow.
func TestAChainThatEndsAtItsCutIsNotWhole(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	scope := lived(t, db)
	cutTwice(t, db, scope)
	chain := name(t, db, scope)
	cut, err := db.CutOf(ctx, chain)
	if err != nil || cut.IsZero() {
		t.Fatalf("%+v, %v", cut, err)
	}
	id, err := store.ChainOf(chain)
	if err != nil {
		t.Fatal(err)
	}
	if why, err := db.Chain(ctx, chain, 0, nil); err != nil || why != "" {
		t.Fatalf("before: %q, %v", why, err)
	}
	for _, q := range []string{`DELETE FROM chain WHERE scope = ?1 AND seq > ?2`, `UPDATE heads SET audit = ?2, hash = ?3 WHERE scope = ?1`} {
		if _, err := db.w.pool.ExecContext(ctx, q, id, int64(cut.Upto), cut.Hash); err != nil {
			t.Fatal(err)
		}
	}
	if why, err := db.Chain(ctx, chain, 0, nil); err != nil || why == "" {
		t.Errorf("the end is gone, and nothing is said: %v", err)
	}
	if v, err := db.Verify(ctx, scope); err != nil || v.OK() {
		t.Errorf("verify: %+v, %v", v, err)
	}
	if faults, err := db.Check(ctx, "acme"); err != nil || len(faults) == 0 {
		t.Errorf("fsck: %+v, %v", faults, err)
	}
}

func name(t testing.TB, db store.Governor, scope tenet.Scope) string {
	t.Helper()
	n, err := db.ChainName(ctx, scope)
	if err != nil || n == "" {
		t.Fatal(err, n)
	}
	return n
}
