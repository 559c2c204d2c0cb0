package store

import (
	"testing"
	"time"
)

// TestCircuit: only calls that reached nobody open it, only an answer closes
// it, and what says nothing - a caller who gave up, a panic - does neither, and
// keeps nobody out.
func TestCircuit(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	fresh := func() *Circuit { return &Circuit{now: func() time.Time { return now }} }
	call := func(c *Circuit, r Reached) error {
		if err := c.Enter("test"); err != nil {
			return err
		}
		defer c.Leave(r)
		return nil
	}
	repeat := func(c *Circuit, n int, r Reached) {
		t.Helper()
		for range n {
			if err := call(c, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := fresh()
	repeat(c, 10*circuitAfter, Unsure)
	repeat(c, circuitAfter-1, Away)
	repeat(c, 10, Unsure) // no answer: what failed before still counts
	repeat(c, 1, Away)
	if call(c, Answered) == nil {
		t.Fatal("it did not open: callers who gave up counted as answers")
	}
	now = now.Add(circuitFor)
	repeat(c, 1, Unsure) // the probe's caller gave up
	repeat(c, 1, Away)   // so the next one probes
	if call(c, Answered) == nil {
		t.Fatal("it closed without an answer")
	}
	now = now.Add(circuitFor)
	func() {
		defer func() { recover() }()
		if err := c.Enter("test"); err != nil {
			t.Fatal(err)
		}
		var r Reached
		defer func() { c.Leave(r) }()
		panic("in the middle of a probe")
	}()
	repeat(c, 1, Answered)
	repeat(c, circuitAfter-1, Away)
	repeat(c, 1, Answered)
}
