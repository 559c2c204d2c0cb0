// Package sqlite keeps all of Tenet's ports - ledger, sessions and threads -
// in one SQLite file: the embedded default. Several processes may use one
// file; what was acknowledged survives a kill at any point.
//
// The package imports tenet, gate, store, the standard library and the SQLite
// driver. It never judges, never reads configuration, never logs, and never
// lets the driver's error text out, which may quote what was stored.
//
// How it is laid out: writer.go is the one way in, conn.go what reads and
// writes share; apply.go and rows.go write decisions, ledger.go, facts.go,
// trail.go and verify.go read them; sessions.go, queue.go and threads.go are
// the session tier.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sealing"
	"github.com/tenet-memory/tenet/trace"
)

var (
	_ store.Ledger   = (*DB)(nil)
	_ store.Sessions = (*DB)(nil)
	_ store.Threads  = (*DB)(nil)
)

// Memory as a path opens a database that lives as long as the handle.
const Memory = ":memory:"

// Options configure Open. The zero value is ready to use.
type Options struct {
	// MasterKey, 32 bytes, wraps each subject's data key; further keys of 32 bytes
	// behind it are unwrapped with, too, while a rotation goes on. When empty it is
	// read from the file beside the database, path + ".key", which is made
	// on first use and belongs in no backup of the database.
	MasterKey []byte
	// Vault, when it is set, holds the data keys of a sealed database: a new one
	// is made sealed, one that is not sealed is refused. Without it a sealed one
	// is refused.
	Vault store.Vault
}

// DB is one open file. It is safe for concurrent use.
type DB struct {
	keys       atomic.Pointer[store.MasterKey]
	keyFile    string  // where the master key is read again when it was rotated; empty: nowhere
	w          *writer // nil when the file is read-only
	r          conn
	seal       *sealing.Sealer // nil: the file is not sealed
	facts      factCache
	rooms      store.Rooms
	surrogates sync.Map // of scopes whose position was asked for: tenet.Scope to int64
	closeAll   func() error
	checked    struct { // the last look at the whole file
		mu sync.Mutex
		at time.Time
		ok bool
	}
}

// Open opens or creates the database at path, bringing an older schema up to
// date. It returns Unavailable for a file that is damaged, foreign, locked
// against us or written by a newer version, and Invalid for a master key that
// is not the file's. A file without write permission opens for reading.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	const op = "open"
	if len(o.MasterKey) > 0 {
		if _, err := store.NewMasterKey(o.MasterKey); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return nil, tenet.Errorf(tenet.Invalid, op, "no path")
	}
	if path == Memory {
		return openMemory(ctx, o)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, op, "the path cannot be resolved")
	}
	readOnly, err := prepareFile(path)
	if err != nil {
		return nil, err
	}
	if readOnly {
		return openReadOnly(ctx, path, o)
	}
	w, err := openPool(path, writeParams, 1)
	if err != nil {
		return nil, failure(op, err)
	}
	if err := migrate(ctx, w); err != nil {
		w.Close()
		return nil, err
	}
	r, err := openPool(path, readParams, readers)
	if err != nil {
		w.Close()
		return nil, failure(op, err)
	}
	db := &DB{w: newWriter(w), r: newConn(r), closeAll: func() error {
		// Readers first: the last connection to close folds the log into the
		// file, and a reader could not.
		rerr := r.Close()
		if err := w.Close(); err != nil {
			return err
		}
		return rerr
	}}
	return db.unlock(ctx, path, o)
}

func openMemory(ctx context.Context, o Options) (*DB, error) {
	p, err := openPool(Memory, writeParams, 1)
	if err != nil {
		return nil, failure("open", err)
	}
	if err := migrate(ctx, p); err != nil {
		p.Close()
		return nil, err
	}
	if len(o.MasterKey) == 0 {
		o.MasterKey = make([]byte, 32)
		rand.Read(o.MasterKey)
	}
	w := newWriter(p)
	db := &DB{w: w, r: w.conn, closeAll: p.Close}
	return db.unlock(ctx, "", o)
}

// openReadOnly reads a file nobody may write. Its log must not be needed, or
// be there already.
func openReadOnly(ctx context.Context, path string, o Options) (*DB, error) {
	params := readParams + "&mode=ro"
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		params += "&immutable=1" // no log: nothing to share with a writer
	}
	p, err := openPool(path, params, readers)
	if err != nil {
		return nil, failure("open", err)
	}
	if err := checkSchema(ctx, p); err != nil {
		p.Close()
		return nil, err
	}
	db := &DB{r: newConn(p), closeAll: p.Close}
	return db.unlock(ctx, path, o)
}

// unlock finds the master key and holds it against the file.
func (db *DB) unlock(ctx context.Context, path string, o Options) (*DB, error) {
	err := db.findKey(ctx, path, o)
	if err == nil && db.seal != nil {
		err = db.shredded(ctx)
	}
	if err == nil && db.w != nil {
		err = failure("open", db.destroy(ctx))
	}
	if err != nil {
		db.closeAll()
		return nil, err
	}
	return db, nil
}

// Close releases the file. Calls that are under way may fail as Unavailable.
func (db *DB) Close() error {
	if err := db.closeAll(); err != nil {
		return failure("close", err)
	}
	return nil
}

// write runs a write function; see writer.do. A file that was opened for
// reading is Unavailable.
func (db *DB) write(ctx context.Context, op string, run func(conn) error) (err error) {
	if db.w == nil {
		return tenet.Errorf(tenet.Unavailable, op, "the database file is read-only")
	}
	ctx, span := trace.Ask(ctx, system, "transaction") // waiting for its turn is part of it
	defer func() { span.End(err) }()
	if err := db.w.do(ctx, run); err != nil {
		return failure(op, err)
	}
	return nil
}

// openPool opens up to n connections, each with the same parameters.
func openPool(path, params string, n int) (*sql.DB, error) {
	p, err := sql.Open("sqlite", dsn(path, params))
	if err != nil {
		return nil, err
	}
	p.SetMaxOpenConns(n)
	p.SetMaxIdleConns(n)
	return p, nil
}
