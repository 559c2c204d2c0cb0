package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"sync"

	"github.com/tenet-memory/tenet"
)

// writer runs write functions in immediate transactions on the one writing
// connection. Functions that arrive while another transaction runs wait and
// share the next one, each in a savepoint of its own, so that many goroutines
// pay for one flush to disk: 32 writers were 2 to 5 times faster than one by
// one (BenchmarkApplyParallel). There is no goroutine of its own: the first who
// comes leads, and hands over to whoever waits.
type writer struct {
	conn
	mu      sync.Mutex
	queue   []*job
	leading bool // somebody leads
}

// job is one write function. run may be called again when a transaction that
// it shared had to be undone, so it must set its results afresh.
type job struct {
	ctx    context.Context
	run    func(conn) error
	err    error
	panics any
	called bool      // to lead
	wake   chan bool // true: lead; false: it is done
}

// shared bounds how many functions share one transaction, so that the first
// of them does not wait for all.
const shared = 128

func newWriter(p *sql.DB) *writer { return &writer{conn: newConn(p)} }

// do runs f in a transaction and returns when it is durable, undone, or, with
// ctx's error, when ctx ended before it was begun.
func (w *writer) do(ctx context.Context, f func(conn) error) error {
	j := &job{ctx: ctx, run: f, wake: make(chan bool, 1)}
	w.mu.Lock()
	w.queue = append(w.queue, j)
	lead := !w.leading
	w.leading = true
	w.mu.Unlock()
	if !lead {
		lead = w.wait(j)
	}
	if lead {
		w.lead(j)
	}
	if j.panics != nil {
		panic(j.panics)
	}
	return j.err
}

// wait returns true when j is to lead and false when it is done.
func (w *writer) wait(j *job) bool {
	select {
	case lead := <-j.wake:
		return lead
	case <-j.ctx.Done():
	}
	w.mu.Lock()
	if i := slices.Index(w.queue, j); i >= 0 && !j.called {
		w.queue = slices.Delete(w.queue, i, i+1)
		j.err = j.ctx.Err()
		w.mu.Unlock()
		return false
	}
	w.mu.Unlock()
	return <-j.wake // it is under way: only its end tells what became of it
}

// lead runs one shared transaction, j in it, and hands over.
func (w *writer) lead(j *job) {
	tx, err := w.begin(j.ctx)
	w.mu.Lock()
	var batch []*job
	if err != nil {
		i := slices.Index(w.queue, j)
		w.queue = slices.Delete(w.queue, i, i+1)
		j.err = err
	} else {
		n := min(len(w.queue), shared)
		batch = slices.Clone(w.queue[:n]) // j is the first: nobody before it is left
		w.queue = slices.Delete(w.queue, 0, n)
	}
	w.mu.Unlock()
	if batch != nil {
		w.commit(tx, batch)
	}

	w.mu.Lock()
	if len(w.queue) > 0 {
		w.queue[0].called = true
		w.queue[0].wake <- true
	} else {
		w.leading = false
	}
	w.mu.Unlock()
	for _, b := range batch {
		if b != j {
			b.wake <- false
		}
	}
}

// begin takes the file's write lock, however long another process holds it,
// while ctx lives.
func (w *writer) begin(ctx context.Context) (tx *sql.Tx, err error) {
	err = persist(ctx, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		tx, err = w.pool.Begin()
		return err
	})
	return tx, err
}

// commit runs the batch in tx. When one function spoils the transaction, or
// the commit fails, the others have another try without it, or alone.
func (w *writer) commit(tx *sql.Tx, batch []*job) {
	for {
		again := w.try(tx, batch)
		if len(again) == 0 {
			return
		}
		if len(again) == len(batch) { // the commit itself failed: each alone
			for _, j := range again {
				if tx, err := w.begin(j.ctx); err != nil {
					j.err = err
				} else {
					w.try(tx, []*job{j})
				}
			}
			return
		}
		var err error
		if tx, err = w.begin(context.WithoutCancel(again[0].ctx)); err != nil {
			for _, j := range again {
				j.err = err
			}
			return
		}
		batch = again
	}
}

// try runs and commits one transaction and returns those whose work was undone
// through no fault of their own. A lone function is never among them.
func (w *writer) try(tx *sql.Tx, batch []*job) (again []*job) {
	c := w.in(tx)
	defer c.keep()
	kept := make([]*job, 0, len(batch))
	for i, j := range batch {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if len(batch) == 1 {
			j.call(c)
		} else if j.err = c.exec("SAVEPOINT one"); j.err == nil {
			if j.call(c); j.err != nil && !spoils(j.err) {
				if err := c.exec("ROLLBACK TO one"); err != nil {
					j.err = err
				}
			}
			if j.err == nil {
				j.err = c.exec("RELEASE one")
			}
		}
		switch {
		case j.err == nil:
			kept = append(kept, j)
		case spoils(j.err):
			tx.Rollback()
			return append(kept, batch[i+1:]...)
		}
	}
	if len(kept) == 0 {
		tx.Rollback()
		return nil
	}
	err := tx.Commit()
	if err == nil {
		return nil
	}
	if len(batch) > 1 {
		return kept
	}
	kept[0].err = err
	return nil
}

// call runs the function and keeps its panic for whoever sent it.
func (j *job) call(c conn) {
	defer func() {
		if j.panics = recover(); j.panics != nil {
			j.err = tenet.Errorf(tenet.Internal, "write", "a callback panicked")
		}
	}()
	j.err = j.run(c)
}
