package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Rooms hold writes to their tenants' quotas, in one process over one database.
// Each scope's head says what the scope keeps, in the transaction of the write;
// a tenant's sum is counted from the heads when a quota asks for it, at most once
// a second, and this process's own writes are added meanwhile. So a process never
// passes a quota by itself, and several by what the others wrote since the count.
// Nothing is refused on a count that
// is much older than it takes to make. Writers of different scopes wait for
// nothing that is the tenant's. The zero
// value is ready.
type Rooms struct {
	mu sync.Mutex
	of map[string]*room
}

// room is one tenant that has a quota.
type room struct {
	counting sync.Mutex // held while it is counted, which no transaction waits for

	mu      sync.Mutex
	known   bool      // it was counted at least once
	counted time.Time // zero: what was counted does not hold any more
	shrunk  bool      // something went since
	took    time.Duration
	kept    gate.Stored // as counted, and what was added since
	pending gate.Stored // what transactions under way add
	grown   gate.Stored // all that was ever added here
}

const (
	countEvery = time.Second // how old a count may get, when counting is quick
	countShare = 20          // else it takes a twentieth of one processor
	againShare = 4           // before a write is refused: a quarter
)

// CodeQuota begins the codes of writes that a quota has no room for; the limit's
// name ends them: QUOTA_RECORDS, QUOTA_BYTES, QUOTA_SUBJECTS.
const CodeQuota = "QUOTA_"

// OverQuota is the limit that a write was refused for; empty for other errors.
func OverQuota(err error) string {
	var e *tenet.Error
	if !errors.As(err, &e) || !strings.HasPrefix(string(e.Code), CodeQuota) {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(string(e.Code), CodeQuota))
}

// QuotaReached is the error of a write that a limit of its tenant's quota has no
// room for.
func QuotaReached(op, limit string, kept, most int64) error {
	e := tenet.Errorf(tenet.Unavailable, op, "the tenant's quota of %s has no room for it: %d of %d are used", limit, kept, most)
	e.Code = tenet.Code(CodeQuota + strings.ToUpper(limit))
	return e
}

// Growth is what one write adds to its tenant's memory.
type Growth struct {
	room  *room       // nil: no quota was asked about yet
	taken gate.Stored // reserved in the room
	is    gate.Stored // what the write came to
}

// errUncounted is the error of a Take that needs a count first.
var errUncounted = &tenet.Error{Kind: tenet.Internal, Op: "apply", Reason: "the tenant's memory is not counted"}

// Within runs a write of a tenant, which calls Begin when it starts, Take before
// what it wrote may stand, and Came at its end. A write that finds no room runs
// once more on a new count, and so does the first that asks for room.
func (r *Rooms) Within(ctx context.Context, tenant string, count func(ctx context.Context, tenant string) (gate.Stored, error), write func(*Growth) error) error {
	g := &Growth{room: r.room(tenant, false)}
	if g.room != nil {
		if _, err := g.room.look(ctx, tenant, false, count); err != nil {
			return err
		}
	}
	for again := true; ; again = false {
		err := write(g)
		if err == nil {
			if g.room == nil { // another write may have made it meanwhile
				g.room = r.room(tenant, false)
			}
			g.done()
			return nil
		}
		g.Begin()
		switch {
		case again && (errors.Is(err, errUncounted) || OverQuota(err) != ""):
			g.room = r.room(tenant, true)
			anew, cerr := g.room.look(ctx, tenant, true, count)
			if cerr != nil {
				return cerr
			}
			if !anew && OverQuota(err) != "" {
				return err
			}
		default:
			return err
		}
	}
}

// Recount has everything counted again: an erasure made room.
func (r *Rooms) Recount() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.of {
		one.mu.Lock()
		one.counted = time.Time{}
		one.mu.Unlock()
	}
}

func (r *Rooms) room(tenant string, making bool) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.of[tenant]
	if one == nil && making {
		if r.of == nil {
			r.of = map[string]*room{}
		}
		one = new(room)
		r.of[tenant] = one
	}
	return one
}

// look counts when the last count is too old, or, with anew, not of this moment.
// It reports whether the count is new.
func (r *room) look(ctx context.Context, tenant string, anew bool, count func(context.Context, string) (gate.Stored, error)) (bool, error) {
	fresh := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		may := max(countEvery, countShare*r.took)
		if anew {
			may = againShare * r.took
		}
		return !r.counted.IsZero() && time.Since(r.counted) < may && !(anew && r.shrunk)
	}
	if fresh() {
		return false, nil
	}
	r.counting.Lock()
	defer r.counting.Unlock()
	if fresh() { // another did it meanwhile
		return true, nil
	}
	r.mu.Lock()
	before := r.grown
	r.shrunk = false
	r.mu.Unlock()
	began := time.Now()
	sum, err := count(ctx, tenant)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// What was added since may or may not be in the sum: too much is the side to err on.
	r.kept, r.known, r.counted, r.took = sum.Plus(r.grown.Minus(before)), true, time.Now(), time.Since(began)
	return true, nil
}

// done turns what the write took into what it added. What went is not taken off:
// a count may have seen it go, and the next one will.
func (g *Growth) done() {
	if g.room == nil {
		return
	}
	r := g.room
	r.mu.Lock()
	defer r.mu.Unlock()
	more := positive(g.is)
	r.pending = r.pending.Minus(g.taken)
	r.kept, r.grown = r.kept.Plus(more), r.grown.Plus(more)
	r.shrunk = r.shrunk || more != g.is
	g.taken = gate.Stored{}
}

func positive(s gate.Stored) gate.Stored {
	return gate.Stored{Records: max(s.Records, 0), Bytes: max(s.Bytes, 0), Subjects: max(s.Subjects, 0)}
}

// Begin gives back what an earlier run of the write took.
func (g *Growth) Begin() {
	if g.room != nil {
		g.room.mu.Lock()
		g.room.pending = g.room.pending.Minus(g.taken)
		g.room.mu.Unlock()
	}
	g.taken = gate.Stored{}
}

// Take reserves room for what the transaction has written so far; what it
// returns undoes the transaction.
func (g *Growth) Take(q gate.Quota, sofar gate.Stored) error {
	if q == (gate.Quota{}) {
		return nil
	}
	if g.room == nil {
		return errUncounted
	}
	r := g.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known {
		return errUncounted
	}
	others := r.kept.Plus(r.pending).Minus(g.taken)
	if limit := q.Passed(others.Plus(sofar), sofar); limit != "" {
		most, kept := q.Of(limit, others)
		return QuotaReached("apply", limit, kept, most)
	}
	more := positive(sofar).Minus(g.taken)
	g.taken, r.pending = positive(sofar), r.pending.Plus(more)
	return nil
}

// Came says what the write came to.
func (g *Growth) Came(is gate.Stored) { g.is = is }
