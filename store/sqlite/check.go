package sqlite

import (
	"context"
	"errors"
	"os"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/cutting"
	"github.com/tenet-memory/tenet/store/erasing"
)

var (
	_ store.Checker = (*DB)(nil)
	_ store.Backup  = (*DB)(nil)
)

// Check implements store.Checker. One file is looked at as a whole, whatever
// the tenant.
func (db *DB) Check(ctx context.Context, _ string) ([]store.Fault, error) {
	const op = "check"
	var out []store.Fault
	err := db.r.snapshot(ctx, func(c conn) error {
		out = nil
		if err := c.each(ctx, `PRAGMA integrity_check(20)`, nil, func(rs *rows) error {
			var line string
			err := rs.Scan(&line)
			if line != "ok" { // the line names tables and rowids, and may quote a value
				out = append(out, store.Fault{Place: "file", What: "a table or an index is damaged"})
			}
			return err
		}); err != nil {
			return err
		}
		faults, err := erasing.Check(sharedTx{c, bg})
		if err != nil {
			return err
		}
		out = append(out, faults...)
		if db.seal != nil {
			if err := c.each(ctx, `SELECT scope FROM subjects ORDER BY scope`, nil, func(rs *rows) error {
				var id int64
				if err := rs.Scan(&id); err != nil {
					return err
				}
				if _, err := db.seal.Key(ctx, id); err != nil {
					out = append(out, store.Fault{Place: "subject " + store.ChainName(id), What: "the vault does not give its data key"})
				}
				return nil
			}); err != nil {
				return err
			}
		}
		var chains []int64
		if err := c.each(ctx, `SELECT scope FROM heads WHERE audit > 0 ORDER BY scope`, nil, func(rs *rows) error {
			var id int64
			err := rs.Scan(&id)
			chains = append(chains, id)
			return err
		}); err != nil {
			return err
		}
		for _, id := range chains {
			why, err := cutting.Links(sharedTx{c, ctx}, db.master(), id, 0, nil)
			if err != nil {
				return err
			}
			if why != "" {
				out = append(out, store.Fault{Place: "chain " + store.ChainName(id), What: why})
			}
		}
		return nil
	})
	return out, failure(op, err)
}

// Recount implements store.Checker, over the whole file as Check.
func (db *DB) Recount(ctx context.Context, _ string) (n int, err error) {
	err = db.write(ctx, "recount", func(c conn) error {
		n = 0
		var ids []int64
		if err := c.each(bg, `SELECT scope FROM heads ORDER BY scope`, nil, func(rs *rows) error {
			var id int64
			err := rs.Scan(&id)
			ids = append(ids, id)
			return err
		}); err != nil {
			return err
		}
		for _, id := range ids {
			wrong, err := erasing.Recount(sharedTx{c, bg}, id)
			if err != nil {
				return err
			}
			if wrong {
				n++
			}
		}
		return nil
	})
	db.rooms.Recount()
	return n, err
}

// Backup implements store.Backup. Writers go on meanwhile; the copy is of one
// instant, and packed: it holds nothing that was deleted.
func (db *DB) Backup(ctx context.Context, path string) error {
	const op = "backup"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return tenet.Errorf(tenet.Conflict, op, "the file is there already")
	}
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, op, "the file cannot be made: %v", reason(err))
	}
	f.Close()
	if _, err := db.r.pool.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		os.Remove(path)
		return failure(op, err)
	}
	if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return tenet.Errorf(tenet.Unavailable, op, "the copy cannot be opened: %v", reason(err))
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, op, "the copy is not on disk: %v", reason(err))
	}
	return nil
}
