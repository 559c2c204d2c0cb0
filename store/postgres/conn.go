package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sealing"
	"github.com/tenet-memory/tenet/trace"
)

// system is what spans call this store.
const system = "postgresql"

// spent ends a span. No row is an answer.
func spent(span trace.Span, err error) {
	if !span.On() {
		return
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	span.End(failure("query", err))
}

// The roles of schema/guard.sql.
const (
	appRole    = "tenet_app"
	workerRole = "tenet_worker"
)

// conn runs statements as a role that is set to a tenant. Without tx each
// query is a transaction of its own, sent with its settings in one go. In a
// transaction, statements that return nothing wait until the next query, or the
// end, and are sent with it: a round trip costs more than most statements.
type conn struct {
	db     *DB
	role   string
	tenant string
	hash   string // in hex, of what only its bearer can know: an API key, a call that happens once
	scope  int64  // whose texts are written
	tx     *tx
}

// of is c for statements that name a subject's texts.
func (c conn) of(scope int64) conn {
	if c.scope = scope; scope == 0 {
		c.scope = sealing.Nobody
	}
	return c
}

// rows are a query's, opened where they are sealed.
type rows struct {
	pgx.Rows
	seal *sealing.Sealer
}

func (r *rows) Scan(dest ...any) error {
	if err := r.Rows.Scan(dest...); err != nil {
		return err
	}
	return r.seal.Opened(dest)
}

type tx struct {
	ctx     context.Context
	on      *pgxpool.Conn
	waiting []statement
	writes  bool
	repeats bool // done twice, it is done once: it may be tried again though it may have been committed
}

type statement struct {
	query string
	args  []any
	err   error                       // why it can't be sent
	taken error                       // what a unique or exclusion violation means
	done  func(pgx.Rows, error) error // for a query
	tag   func(pgconn.CommandTag)     // for others
}

// at reads as the application in one tenant.
func (db *DB) at(scope tenet.Scope) conn { return db.in(scope.Tenant()) }

func (db *DB) in(tenant string) conn { return conn{db: db, role: appRole, tenant: tenant} }

// worker reads what has no content, of every tenant.
func (db *DB) worker() conn { return conn{db: db, role: workerRole} }

// statement seals what is written, and makes the driver's types of its arguments.
func (c conn) statement(query string, args []any) statement {
	out, err := c.db.seal.Args(c.scope, args)
	for i, a := range out {
		switch a := a.(type) {
		case sealing.Plain:
			out[i] = string(a)
		case sealing.Content:
			out[i] = []byte(a)
		case sealing.Texts:
			out[i] = []string(a)
		}
	}
	return statement{query: query, args: out, err: err}
}

func (c conn) settings() statement {
	if c.hash != "" {
		return statement{query: `SELECT set_config('role', $1, true), set_config('tenet.tenant', $2, true), set_config('tenet.key_hash', $3, true)`, args: []any{c.role, c.tenant, c.hash}}
	}
	return statement{query: `SELECT set_config('role', $1, true), set_config('tenet.tenant', $2, true)`, args: []any{c.role, c.tenant}}
}

// send runs statements in one round trip; the last may be a query.
func send(ctx context.Context, on *pgxpool.Conn, ss []statement) (err error) {
	ctx, span := trace.Query(ctx, system, ss[len(ss)-1].query)
	span.Count("tenet.statements", len(ss))
	defer func() { spent(span, err) }()
	var b pgx.Batch
	for _, s := range ss {
		if s.err != nil {
			return s.err
		}
		b.Queue(s.query, s.args...)
	}
	res := on.SendBatch(ctx, &b)
	for _, s := range ss {
		if s.done == nil {
			tag, err := res.Exec()
			if err != nil {
				res.Close()
				if s.taken != nil && taken(err) {
					return s.taken
				}
				return err
			}
			if s.tag != nil {
				s.tag(tag)
			}
			continue
		}
		rs, err := res.Query()
		if err = s.done(rs, err); err != nil {
			rs.Close()
			res.Close()
			return err
		}
	}
	return res.Close()
}

// exec puts a writing statement on its way. Its error may come later, but
// before the transaction ends.
func (c conn) exec(query string, args ...any) error {
	s := c.statement(query, args)
	c.tx.waiting = append(c.tx.waiting, s)
	return s.err
}

// claim is exec for a statement that a unique or exclusion constraint may
// refuse, which is then the given error.
func (c conn) claim(taken error, query string, args ...any) error {
	s := c.statement(query, args)
	s.taken = taken
	c.tx.waiting = append(c.tx.waiting, s)
	return s.err
}

// affect is exec that waits for how many rows it touched.
func (c conn) affect(query string, args ...any) (n int64, err error) {
	s := c.statement(query, args)
	s.tag = func(t pgconn.CommandTag) { n = t.RowsAffected() }
	return n, c.tx.flush(s)
}

func (t *tx) flush(last ...statement) error {
	ss := append(t.waiting, last...)
	t.waiting = nil
	if len(ss) == 0 {
		return nil
	}
	return send(t.ctx, t.on, ss)
}

// become sets the transaction to another role or tenant.
func (c conn) become(role, tenant string) conn {
	c.role, c.tenant = role, tenant
	c.tx.waiting = append(c.tx.waiting, c.settings())
	return c
}

// failure is Tenet's error, except in a transaction, which has to see whether
// it may try again.
func (c conn) failure(op string, err error) error {
	if c.tx != nil {
		return err
	}
	return failure(op, err)
}

// locking is the rest of a query that is to hold the row it reads until the
// transaction ends, if it is one that writes.
func (c conn) locking(of string) string {
	if c.tx != nil && c.tx.writes {
		return " FOR UPDATE OF " + of
	}
	return ""
}

// staying is the rest of a query that is to keep the subject it reads from
// being erased until the transaction ends, if it is one that writes.
func (c conn) staying(of string) string {
	switch {
	case c.tx == nil || !c.tx.writes:
		return ""
	case of == "":
		return " FOR KEY SHARE"
	}
	return " FOR KEY SHARE OF " + of
}

// row reads one row into dest; none is pgx.ErrNoRows.
func (c conn) row(ctx context.Context, query string, args []any, dest ...any) error {
	found := false
	err := c.each(ctx, query, args, func(rs *rows) error {
		if found {
			return nil
		}
		found = true
		return rs.Scan(dest...)
	})
	if err == nil && !found {
		err = pgx.ErrNoRows
	}
	return err
}

// reading is a query whose rows f takes.
func (c conn) reading(query string, args []any, f func(*rows) error) statement {
	s := c.statement(query, args)
	s.done = func(rs pgx.Rows, err error) error {
		if err != nil {
			return err
		}
		out := &rows{rs, c.db.seal}
		for rs.Next() {
			if err := f(out); err != nil {
				return err
			}
		}
		return rs.Err()
	}
	return s
}

// ask puts a query on its way in a transaction; f is called before the next
// one returns.
func (c conn) ask(query string, args []any, f func(*rows) error) {
	c.tx.waiting = append(c.tx.waiting, c.reading(query, args, f))
}

// each calls f on every row. f must not use c.
func (c conn) each(ctx context.Context, query string, args []any, f func(*rows) error) error {
	began := false
	s := c.reading(query, args, func(rs *rows) error { began = true; return f(rs) })
	if c.tx != nil {
		return c.tx.flush(s)
	}
	return c.trip(ctx, func() bool { return !began }, s)
}

// oneTrip runs queries in one transaction of their own. afresh undoes what
// their functions did, before a second try.
func (c conn) oneTrip(ctx context.Context, afresh func(), ss ...statement) error {
	return c.trip(ctx, func() bool { afresh(); return true }, ss...)
}

// trip sends queries with their settings, again when a connection turned out
// dead and may allows it.
func (c conn) trip(ctx context.Context, may func() bool, ss ...statement) error {
	if err := c.db.circuit.Enter("database"); err != nil {
		return err
	}
	var r store.Reached
	defer func() { c.db.circuit.Leave(r) }()
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	ss = append([]statement{c.settings()}, ss...)
	for n := 0; ; n++ {
		err := c.db.once(ctx, ss...)
		if err == nil || n == 2 || !lost(err) || ctx.Err() != nil || !may() {
			r = reached(caller, err)
			return err
		}
		c.db.pool.Reset() // the server went away and came back: so did every idle connection
	}
}

// once runs statements on any connection, outside of a transaction block: all
// that is sent together is one transaction.
func (db *DB) once(ctx context.Context, ss ...statement) error {
	on, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer on.Release()
	return send(ctx, on, ss)
}

const (
	beginRead  = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	beginWrite = `BEGIN ISOLATION LEVEL READ COMMITTED`
)

// snapshot runs f on one unchanging view of the database.
func (c conn) snapshot(ctx context.Context, f func(conn) error) error {
	return c.transact(ctx, beginRead, f)
}

// write runs f in a transaction of the tenant and returns when it is durable
// or undone. f may be called again when the database undid it through no fault
// of its own, so it must set its results afresh.
func (db *DB) write(ctx context.Context, op, tenant string, f func(conn) error) error {
	return failure(op, db.in(tenant).transact(ctx, beginWrite, f))
}

// attempts bounds how often a transaction is begun again after a deadlock or a
// lost connection.
const attempts = 4

func (c conn) transact(ctx context.Context, begin string, f func(conn) error) error {
	if err := c.db.circuit.Enter("database"); err != nil {
		return err
	}
	var r store.Reached
	defer func() { c.db.circuit.Leave(r) }()
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	for n := 1; ; n++ {
		again, err := c.try(ctx, begin, f)
		r = reached(caller, err)
		if err == nil || !again || n == attempts || ctx.Err() != nil {
			return err
		}
		met := r
		r = store.Unsure // until the next try says more
		if lost(err) {
			c.db.pool.Reset()
		}
		if err := pause(ctx, n); err != nil {
			r = met
			return err
		}
	}
}

// try runs one transaction. again says that nothing was written and that
// another try may do better.
func (c conn) try(ctx context.Context, begin string, f func(conn) error) (again bool, err error) {
	ctx, span := trace.Ask(ctx, system, "transaction")
	defer func() { spent(span, err) }()
	on, err := c.db.pool.Acquire(ctx)
	if err != nil {
		return lost(err), err
	}
	defer on.Release()
	t := &tx{ctx: ctx, on: on, writes: begin == beginWrite}
	c.tx = t
	defer func() {
		if on.Conn().PgConn().TxStatus() != 'I' && !on.Conn().IsClosed() { // an error, or a panic of f's
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			on.Exec(end, `ROLLBACK`, pgx.QueryExecModeSimpleProtocol)
		}
	}()
	t.waiting = append(t.waiting, statement{query: begin}, c.settings())
	if err := f(c); err != nil {
		return retriable(err), err
	}
	committed := false
	err = t.flush(statement{query: `COMMIT`, tag: func(tag pgconn.CommandTag) { committed = tag.String() == "COMMIT" }})
	switch {
	case committed: // whatever became of the connection afterwards
		return false, nil
	case err == nil:
		return false, tenet.Errorf(tenet.Internal, "commit", "the transaction was undone")
	}
	// A connection that was lost here may have been lost after the commit.
	return undone(err) || t.repeats && lost(err), err
}
