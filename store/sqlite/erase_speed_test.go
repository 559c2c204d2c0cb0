package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
)

// TestErasingOneOfAThousand measures an erasure beside the same rows deleted by
// hand in a twin of the file, and what readers of other subjects see meanwhile:
//
//	TENET_MEASURE=1 go test -run TestErasingOneOfAThousand -v ./store/sqlite
func TestErasingOneOfAThousand(t *testing.T) {
	if os.Getenv("TENET_MEASURE") == "" {
		t.Skip("a measurement: TENET_MEASURE=1 asks for it")
	}
	const subjects, entries, rounds = 1000, 50, 40
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenet.db")
	db := open(t, path)
	g := gate.New(nil)
	app, err := tenet.NewPrincipal(tenet.App, "acme", "host")
	if err != nil {
		t.Fatal(err)
	}
	op, err := tenet.NewPrincipal(tenet.Operator, "acme", "op")
	if err != nil {
		t.Fatal(err)
	}
	scopeOf := func(i int) tenet.Scope {
		s, err := tenet.NewScope("acme", tenet.User(fmt.Sprintf("user-%04d", i)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := time.Now()
	for i := range subjects {
		var ds []gate.Decision
		for n := range entries {
			c := tenet.Note(scopeOf(i), fmt.Sprintf("Note %d of person %d says that item %d is at place %d", n, i, n*7, i*13))
			if n < 5 {
				c = tenet.Fact(scopeOf(i), fmt.Sprintf("key_%d", n), fmt.Sprintf("Value %d of person %d", n, i))
			}
			c.ID, c.Quote = tenet.CandidateID(fmt.Sprintf("c-%d-%d", i, n)), c.Text
			now = now.Add(time.Millisecond)
			d, err := g.Judge(gate.Case{By: app, Candidate: c, At: now})
			if err != nil {
				t.Fatal(err)
			}
			ds = append(ds, d)
		}
		if _, err := db.Apply(ctx, ds, nil); err != nil {
			t.Fatal(err)
		}
	}
	fold := func(db *DB) {
		if busy, err := db.fold(ctx); busy || err != nil {
			t.Fatalf("the log is not folded: busy %v, %v", busy, err)
		}
	}
	fold(db)
	twinPath := filepath.Join(dir, "twin.db")
	for _, ext := range []string{"", ".key"} {
		text, err := os.ReadFile(path + ext)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(twinPath+ext, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	twin := open(t, twinPath)

	read := func(db *DB, i int) time.Duration {
		began := time.Now()
		if _, err := db.History(ctx, scopeOf(i), tenet.TierFact, "key_1"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Changes(ctx, scopeOf(i), 1); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	p99 := func(ds []time.Duration) time.Duration {
		slices.Sort(ds)
		return ds[len(ds)*99/100]
	}
	// reading reads other subjects until stopped.
	reading := func(work func()) []time.Duration {
		var out []time.Duration
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 500; ; i = 500 + (i+1)%400 {
				select {
				case <-stop:
					return
				default:
				}
				out = append(out, read(db, i))
			}
		})
		work()
		close(stop)
		wg.Wait()
		return out
	}
	byHand := func(db *DB, scope tenet.Scope) time.Duration {
		s, err := db.find(ctx, db.r, "test", scope)
		if err != nil || s.id == 0 {
			t.Fatal("no such subject", err)
		}
		began := time.Now()
		if err := db.write(ctx, "test", func(c conn) error { return erasing.Whole(sharedTx{c, bg}, s.id, map[string]int{}) }); err != nil {
			t.Fatal(err)
		}
		fold(db)
		return time.Since(began)
	}
	erase := func(db *DB, scope tenet.Scope, i int) time.Duration {
		d, err := g.Erase(op, scope, gate.Selection{Subject: true}, fmt.Sprintf("erasure-%d", i), "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := db.Erase(ctx, d, store.EraseOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Purge(ctx); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	var ours, hand []time.Duration
	for i := range rounds {
		hand = append(hand, byHand(twin, scopeOf(i)))
		ours = append(ours, erase(db, scopeOf(i), i))
	}
	slices.Sort(ours)
	slices.Sort(hand)
	ratio := float64(ours[rounds/2]) / float64(hand[rounds/2])
	t.Logf("erase: median %v, by hand %v, ratio %.2f", ours[rounds/2], hand[rounds/2], ratio)
	if ratio > 2 {
		t.Errorf("erasing takes %.2f times as long as deleting by hand, want at most 2", ratio)
	}
	// In turns, so that what else the machine does slows both.
	var idle, busy []time.Duration
	next := rounds
	for range 20 {
		idle = append(idle, reading(func() { time.Sleep(500 * time.Millisecond) })...)
		busy = append(busy, reading(func() {
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); next++ {
				erase(db, scopeOf(next), next)
				time.Sleep(100 * time.Millisecond)
			}
		})...)
	}
	a, b := p99(idle), p99(busy)
	t.Logf("readers of others: p99 %v at rest over %d reads, %v during %d erasures over %d reads, ratio %.2f", a, len(idle), b, next-rounds, len(busy), float64(b)/float64(a))
	if float64(b) > 1.5*float64(a) {
		t.Errorf("readers see a p99 of %v, want at most 1.5 times %v", b, a)
	}
}
