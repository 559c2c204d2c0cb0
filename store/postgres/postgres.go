// Package postgres keeps all of Tenet's ports - ledger, sessions, threads and
// what goes with them - in one PostgreSQL database that many processes share.
// It needs version 15 or later with the btree_gist extension, which comes with
// it, and works through a transaction-pooling proxy.
//
// The package imports tenet, gate, store, the standard library and pgx. It
// never judges, never reads configuration, never logs, and never lets the
// driver's error text out, which may quote what was stored.
//
// Every statement runs as one of two roles that own nothing, in a transaction
// that is set to one tenant: row-level security answers for the tables even
// where a statement would not. conn.go is the one way to the database and says
// how. A write locks the scope's head, its session or its thread first, so
// that what it decides on cannot move.
//
// How it is laid out, otherwise: migrate.go and schema/ make the tables;
// apply.go and rows.go write decisions, ledger.go, facts.go, trail.go and
// verify.go read them; sessions.go, queue.go, runs.go, effects.go and threads.go
// are the session tier; the rest is one port a file.
package postgres

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sealing"
)

var (
	_ store.Ledger    = (*DB)(nil)
	_ store.Sessions  = (*DB)(nil)
	_ store.Threads   = (*DB)(nil)
	_ store.Runs      = (*DB)(nil)
	_ store.Keys      = (*DB)(nil)
	_ store.Onces     = (*DB)(nil)
	_ store.Documents = (*DB)(nil)
	_ store.Deleter   = (*DB)(nil)
)

// Options configure Open. MasterKey is required.
type Options struct {
	// MasterKey, 32 bytes, wraps each subject's data key; further keys of 32 bytes
	// behind it are unwrapped with, too, while a rotation goes on. It belongs in no
	// backup of the database.
	MasterKey []byte
	// MaxConns bounds the pool; zero leaves it to pool_max_conns in the DSN,
	// or to a default for this machine.
	MaxConns int
	// Timeout bounds each call whose context has no earlier deadline; zero is
	// 30 seconds.
	Timeout time.Duration
	// Partitions, more than 0, splits the tables by the scope's hash into so
	// many parts when the schema is made. An existing schema stays as it is.
	Partitions int
	// Vault, when it is set, holds the data keys of a sealed database: a new one
	// is made sealed, one that is not sealed is refused. Without it a sealed one
	// is refused. Every server opens the database with the same vault.
	Vault store.Vault
}

// DB is one pool of connections. It is safe for concurrent use.
type DB struct {
	keys    atomic.Pointer[store.MasterKey]
	pool    *pgxpool.Pool
	timeout time.Duration
	circuit store.Circuit
	facts   factCache
	seal    *sealing.Sealer // nil: the database is not sealed
	seats   seats
	rooms   store.Rooms
}

// Open connects to the database that the DSN names, bringing an older schema
// up to date when the login may. It returns Unavailable for a server that
// cannot be reached, a schema that is another program's, newer, or older and
// not ours to change, and Invalid for a DSN that does not parse or a master
// key that is not the database's.
func Open(ctx context.Context, dsn string, o Options) (*DB, error) {
	const op = "open"
	ring, err := store.NewMasterKey(o.MasterKey)
	if err != nil {
		return nil, err
	}
	if o.Partitions < 0 || o.Partitions > 1024 {
		return nil, tenet.Errorf(tenet.Invalid, op, "%d partitions, want 0 to 1024", o.Partitions)
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	pool, err := connect(ctx, dsn, o.MaxConns)
	if err != nil {
		return nil, failure(op, err)
	}
	db := &DB{pool: pool, timeout: o.Timeout}
	db.keys.Store(&ring)
	if err := db.migrate(ctx, o.Partitions, o.Vault); err != nil {
		pool.Close()
		return nil, failure(op, err)
	}
	return db, nil
}

// connect makes a pool of at most so many connections; zero leaves it to the DSN.
func connect(ctx context.Context, dsn string, most int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "open", "the DSN does not parse") // the error quotes it, password and all
	}
	switch {
	case most > 0:
		config.MaxConns = int32(most)
	case config.MaxConns < 16 && runtime.NumCPU() < 16: // pgxpool's default is the number of processors
		config.MaxConns = 16
	}
	if err := throughProxy(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
}

// throughProxy finds out whether a pooling proxy stands before the server. Its
// transactions may come to lie on any of its connections, so a statement
// prepared by name in one is not there in the next: then statements are
// described once and sent whole.
func throughProxy(ctx context.Context, c *pgx.ConnConfig) error {
	if c.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return nil // the DSN says
	}
	plain := c.Copy()
	plain.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, plain)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var pid uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	if pid != conn.PgConn().PID() {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return nil
}

// Close closes the connections, waiting for calls that are under way.
func (db *DB) Close() error {
	db.pool.Close()
	return nil
}
