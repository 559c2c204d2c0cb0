package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var _ store.Vault = (*Vault)(nil)

// Vault is a file of its own that holds the wrapped data keys of a sealed
// database. Several processes may use it. It belongs in no backup that is kept
// longer than what is erased may be readable.
type Vault struct {
	c  conn
	id []byte
}

// vaultID marks the file as a vault ("TNVT").
const vaultID = 0x544e5654

// There is no write-ahead log: what is overwritten in the file is gone from
// it with the commit.
const vaultParams = "_pragma=busy_timeout(10000)&_pragma=journal_mode(DELETE)&_pragma=synchronous(EXTRA)&_txlock=immediate&" + common

// OpenVault opens the vault at path; create makes a new one when there is no
// file. A file that is something else is Unavailable.
func OpenVault(ctx context.Context, path string, create bool) (*Vault, error) {
	const op = "open vault"
	if path == "" {
		return nil, tenet.Errorf(tenet.Invalid, op, "no path")
	}
	if path != Memory {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return nil, tenet.Errorf(tenet.Invalid, op, "the path cannot be resolved")
		}
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && !create {
			return nil, tenet.Errorf(tenet.Unavailable, op, "the vault is missing: without it the sealed database cannot be read")
		}
		if readOnly, err := prepareFile(path); err != nil || readOnly {
			return nil, tenet.Errorf(tenet.Unavailable, op, "the vault cannot be opened for writing")
		}
		if !vaultOrNew(path) {
			return nil, tenet.Errorf(tenet.Unavailable, op, "the file is no vault")
		}
	}
	p, err := openPool(path, vaultParams, 1)
	if err != nil {
		return nil, failure(op, err)
	}
	v := &Vault{c: newConn(p)}
	if err := v.make(ctx); err != nil {
		p.Close()
		return nil, failure(op, err)
	}
	if path != Memory {
		syncDir(filepath.Dir(path))
	}
	return v, nil
}

// vaultOrNew looks at the head of a file before SQLite does: opening a database
// that is in use as a vault would change, or wait for, its journal.
func vaultOrNew(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [72]byte // the application's id is its last four bytes
	switch _, err := io.ReadFull(f, head[:]); {
	case err == io.EOF:
		return true
	case err != nil:
		return false
	}
	return binary.BigEndian.Uint32(head[68:]) == vaultID
}

// make brings a new file into form and reads the vault's id.
func (v *Vault) make(ctx context.Context) error {
	return v.write(ctx, func(c conn) error {
		var app, tables int
		if err := c.row(ctx, "PRAGMA application_id", nil, &app); err != nil {
			return err
		}
		if err := c.row(ctx, "SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
			return err
		}
		if app == vaultID {
			return c.row(ctx, "SELECT id FROM vault", nil, &v.id)
		}
		if app != 0 || tables > 0 {
			return tenet.Errorf(tenet.Unavailable, "open vault", "the file is no vault")
		}
		v.id = make([]byte, 16)
		rand.Read(v.id)
		for _, q := range []string{
			"CREATE TABLE vault (one INTEGER PRIMARY KEY CHECK (one = 1), id BLOB NOT NULL) STRICT",
			"CREATE TABLE data_keys (scope INTEGER PRIMARY KEY, wrapped BLOB) STRICT", // NULL: destroyed
			"CREATE INDEX data_keys_destroyed ON data_keys (scope) WHERE wrapped IS NULL",
			"PRAGMA application_id=" + strconv.Itoa(vaultID),
		} {
			if err := c.exec(q); err != nil {
				return err
			}
		}
		return c.exec("INSERT INTO vault (one, id) VALUES (1, ?)", v.id)
	})
}

// write runs f in a transaction that is durable when it returns.
func (v *Vault) write(ctx context.Context, f func(conn) error) error {
	return persist(ctx, func() error {
		tx, err := v.c.pool.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := f(v.c.in(tx)); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Close releases the file.
func (v *Vault) Close() error { return failure("close vault", v.c.pool.Close()) }

// ID implements store.Vault.
func (v *Vault) ID() []byte { return v.id }

// Keep implements store.Vault.
func (v *Vault) Keep(ctx context.Context, scope int64, wrapped []byte) error {
	return failure("vault", v.write(ctx, func(c conn) error {
		return c.exec("INSERT INTO data_keys (scope, wrapped) VALUES (?, ?)", scope, wrapped)
	}))
}

// Kept implements store.Vault.
func (v *Vault) Kept(ctx context.Context, scope int64) (wrapped []byte, err error) {
	err = v.c.row(ctx, "SELECT wrapped FROM data_keys WHERE scope = ?", []any{scope}, &wrapped)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, absent("vault", "data key")
	}
	return wrapped, failure("vault", err)
}

// Destroy implements store.Vault.
func (v *Vault) Destroy(ctx context.Context, scopes []int64) error {
	return failure("vault", v.write(ctx, func(c conn) error {
		for _, id := range scopes {
			if err := c.exec("INSERT INTO data_keys (scope) VALUES (?) ON CONFLICT DO UPDATE SET wrapped = NULL", id); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Destroyed implements store.Vault.
func (v *Vault) Destroyed(ctx context.Context, after int64, limit int) (out []int64, err error) {
	err = v.c.each(ctx, "SELECT scope FROM data_keys WHERE wrapped IS NULL AND scope > ? ORDER BY scope LIMIT ?", []any{after, limit}, func(rs *rows) error {
		var id int64
		err := rs.Scan(&id)
		out = append(out, id)
		return err
	})
	return out, failure("vault", err)
}

// Rewrap implements store.Vault.
func (v *Vault) Rewrap(ctx context.Context, wrap func(scope int64, wrapped []byte) ([]byte, error)) (int, error) {
	done := 0
	for after := int64(-1); ; {
		n, seen := 0, 0
		if err := v.write(ctx, func(c conn) error {
			n, seen = 0, 0
			anew := map[int64][]byte{}
			if err := c.each(bg, "SELECT scope, wrapped FROM data_keys WHERE scope > ? AND wrapped IS NOT NULL ORDER BY scope LIMIT ?", []any{after, rewrapped}, func(rs *rows) error {
				var w []byte
				err := rs.Scan(&after, &w)
				if err == nil {
					anew[after], err = wrap(after, w)
				}
				seen++
				return err
			}); err != nil {
				return err
			}
			for scope, w := range anew {
				if w == nil {
					continue
				}
				if err := c.exec("UPDATE data_keys SET wrapped = ? WHERE scope = ? AND wrapped IS NOT NULL", w, scope); err != nil {
					return err
				}
				n++
			}
			return nil
		}); err != nil {
			return done, failure("vault", err)
		}
		if done += n; seen < rewrapped {
			return done, nil
		}
	}
}
