package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/tenet-memory/tenet/store/sealing"
	"github.com/tenet-memory/tenet/trace"
)

// system is what spans call this store.
const system = "sqlite"

// ended ends a query's span. No row is an answer.
func ended(span trace.Span, err error) {
	if !span.On() {
		return
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	span.End(failure("query", err))
}

// conn runs statements, each prepared once: on the pool, or in a transaction
// when tx is set.
type conn struct {
	pool  *sql.DB
	stmts *sync.Map // SQL text -> *sql.Stmt
	tx    *sql.Tx
	bound map[string]*sql.Stmt // tx's own view of stmts
	fresh *[]string            // what tx had to prepare for itself
	seal  *sealing.Sealer      // nil: the file is not sealed
	scope int64                // whose texts are written
}

func newConn(p *sql.DB) conn { return conn{pool: p, stmts: new(sync.Map)} }

// of is c for statements that name a subject's texts.
func (c conn) of(scope int64) conn {
	if c.scope = scope; scope == 0 {
		c.scope = sealing.Nobody
	}
	return c
}

// rows are a query's, opened where they are sealed.
type rows struct {
	*sql.Rows
	seal *sealing.Sealer
}

func (r *rows) Scan(dest ...any) error {
	if err := r.Rows.Scan(dest...); err != nil {
		return err
	}
	return r.seal.Opened(dest)
}

func (c conn) in(tx *sql.Tx) conn {
	c.tx, c.bound, c.fresh = tx, map[string]*sql.Stmt{}, new([]string)
	return c
}

// keep prepares for good, after the transaction, what it met for the first
// time: during it, the pool's only connection was taken.
func (c conn) keep() {
	for _, query := range *c.fresh {
		if _, ok := c.stmts.Load(query); ok {
			continue
		}
		if p, err := c.pool.Prepare(query); err == nil {
			c.stmts.Store(query, p)
		}
	}
}

func (c conn) stmt(query string) (*sql.Stmt, error) {
	if s := c.bound[query]; s != nil {
		return s, nil
	}
	var s *sql.Stmt
	if v, ok := c.stmts.Load(query); ok {
		s = v.(*sql.Stmt)
	} else if c.tx != nil {
		t, err := c.tx.Prepare(query)
		if err != nil {
			return nil, err
		}
		c.bound[query] = t
		*c.fresh = append(*c.fresh, query)
		return t, nil
	} else {
		p, err := c.pool.Prepare(query)
		if err != nil {
			return nil, err
		}
		if v, loaded := c.stmts.LoadOrStore(query, p); loaded {
			p.Close()
			p = v.(*sql.Stmt)
		}
		return p, nil
	}
	if c.tx == nil {
		return s, nil
	}
	s = c.tx.Stmt(s)
	c.bound[query] = s
	return s, nil
}

// exec runs a writing statement, which takes no context: a transaction is
// short, and is not to be cut between its statements.
func (c conn) exec(query string, args ...any) error {
	_, err := c.affect(query, args...)
	return err
}

func (c conn) affect(query string, args ...any) (int64, error) {
	s, err := c.stmt(query)
	if err != nil {
		return 0, err
	}
	if args, err = c.seal.Args(c.scope, args); err != nil {
		return 0, err
	}
	res, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query waits for a busy file as long as ctx lives, and runs the statement
// under during.
func (c conn) query(ctx, during context.Context, query string, args ...any) (rs *sql.Rows, err error) {
	if args, err = c.seal.Args(c.scope, args); err != nil {
		return nil, err
	}
	err = persist(ctx, func() error {
		s, err := c.stmt(query)
		if err != nil {
			return err
		}
		rs, err = s.QueryContext(during, args...)
		return err
	})
	return rs, err
}

// row reads one row into dest; none is sql.ErrNoRows. It is not interrupted
// once it runs: a point look-up is shorter than the two goroutines that
// database/sql and the driver start to watch a context.
func (c conn) row(ctx context.Context, query string, args []any, dest ...any) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, span := trace.Query(ctx, system, query)
	defer func() { ended(span, err) }()
	rs, err := c.query(ctx, context.WithoutCancel(ctx), query, args...)
	if err != nil {
		return err
	}
	defer rs.Close()
	if !rs.Next() {
		if err := rs.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := (&rows{rs, c.seal}).Scan(dest...); err != nil {
		return err
	}
	return rs.Close()
}

// each calls f on every row.
func (c conn) each(ctx context.Context, query string, args []any, f func(*rows) error) (err error) {
	ctx, span := trace.Query(ctx, system, query)
	defer func() { ended(span, err) }()
	rs, err := c.query(ctx, ctx, query, args...)
	if err != nil {
		return err
	}
	defer rs.Close()
	out := &rows{rs, c.seal}
	for rs.Next() {
		if err := f(out); err != nil {
			return err
		}
	}
	return rs.Err()
}

// snapshot runs f on one unchanging view of the file.
func (c conn) snapshot(ctx context.Context, f func(conn) error) error {
	tx, err := c.pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(c.in(tx))
}
