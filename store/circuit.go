package store

import (
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
)

// Circuit keeps a process from waiting, call after call, for a server that is
// away. After failures in a row, none with a success between, it answers at
// once for a while, then lets one call through to see. The zero value is ready.
type Circuit struct {
	mu      sync.Mutex
	fails   int
	until   time.Time // answering at once until then
	probing bool
	now     func() time.Time // nil: time.Now
}

const (
	circuitAfter = 5               // failures in a row
	circuitFor   = 2 * time.Second // how long it stays open
)

// Enter returns an Unavailable error, which says when to try again, while the
// circuit is open. Otherwise the caller says what became of its call by Leave.
func (c *Circuit) Enter(op string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails < circuitAfter {
		return nil
	}
	now := c.clock()
	if !c.probing && !now.Before(c.until) {
		c.probing = true
		return nil
	}
	e := tenet.Errorf(tenet.Unavailable, op, "the store is away; not asked again yet")
	e.After = max(c.until.Sub(now), 100*time.Millisecond)
	return e
}

// Reached is what a call says of the server.
type Reached uint8

const (
	// Unsure says nothing: the caller's own context ended first, or the call
	// panicked. It is the zero value, for a Leave that is deferred.
	Unsure   Reached = iota
	Answered         // a refusal too
	Away             // it could not be reached, or did not answer in the store's own time
)

// Leave counts a call that was let through. It is to be deferred: a call that
// never leaves would keep every other one out.
func (c *Circuit) Leave(r Reached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
	switch r {
	case Answered:
		c.fails = 0
	case Away:
		if c.fails++; c.fails >= circuitAfter {
			c.until = c.clock().Add(circuitFor)
		}
	}
}

func (c *Circuit) clock() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}
