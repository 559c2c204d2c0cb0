package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/sealing"
)

// findVault holds the vault against the file: what rests is sealed for every
// text or for none.
func (db *DB) findVault(ctx context.Context, v store.Vault) error {
	const op = "open"
	var id []byte
	if err := db.r.row(ctx, "SELECT vault FROM meta", nil, &id); err != nil {
		return failure(op, err)
	}
	switch {
	case id == nil && v == nil:
		return nil
	case v == nil:
		return tenet.Errorf(tenet.Invalid, op, "the database is sealed: open it with its vault")
	case id == nil:
		return tenet.Errorf(tenet.Invalid, op, "the database is not sealed, and a vault was named: export it and import it into a new one")
	case !bytes.Equal(id, v.ID()):
		return tenet.Errorf(tenet.Invalid, op, "the vault is another database's")
	}
	db.seal = sealing.New(v, db.unwrapped)
	db.r.seal = db.seal
	if db.w != nil {
		db.w.seal = db.seal
	}
	_, err := v.Kept(ctx, sealing.Everybody)
	if tenet.KindOf(err) != tenet.NotFound {
		return err
	}
	dk := store.NewDataKey()
	if err = v.Keep(ctx, sealing.Everybody, db.master().Wrap(sealing.Everybody, dk)); err != nil {
		_, err = v.Kept(ctx, sealing.Everybody) // another process made it
	}
	return err
}

// unused refuses a vault that belongs to a database already for a new one.
func unused(ctx context.Context, c conn, v store.Vault) error {
	var made int
	err := c.row(ctx, "SELECT 1 FROM meta", nil, &made)
	if err == nil {
		return nil // another process makes this one
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := v.Kept(ctx, sealing.Everybody); tenet.KindOf(err) != tenet.NotFound {
		if err == nil {
			err = tenet.Errorf(tenet.Invalid, "open", "the vault is another database's")
		}
		return err
	}
	return nil
}

// shredded removes the rows of subjects whose data keys are destroyed: an older
// copy of the file brought them back, and nobody can read them. What else their
// erasure left is in the journal.
func (db *DB) shredded(ctx context.Context, v store.Vault) error {
	const op, page = "open", 1000
	for after := int64(0); ; {
		dead, err := v.Destroyed(ctx, after, page)
		if err != nil || len(dead) == 0 {
			return err
		}
		after = dead[len(dead)-1]
		for _, id := range dead {
			var one int
			err := db.r.row(ctx, "SELECT 1 FROM subjects WHERE scope = ?", []any{id}, &one)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return failure(op, err)
			}
			if db.w == nil {
				return tenet.Errorf(tenet.Unavailable, op, "the read-only file has rows of an erased subject: make it writeable once to remove them")
			}
			if err := db.write(ctx, op, func(c conn) error {
				return erasing.Whole(sharedTx{c, bg}, id, map[string]int{})
			}); err != nil {
				return err
			}
		}
	}
}

// shred notes that a subject's key is to be destroyed once the erasure is
// committed.
func (e *erasure) shred(id int64) error {
	if e.db.seal == nil {
		return nil
	}
	return e.c.exec("INSERT INTO shreds (scope) VALUES (?) ON CONFLICT DO NOTHING", id)
}

// destroy destroys the keys of subjects whose erasure is committed.
func (db *DB) destroy(ctx context.Context) error {
	if db.seal == nil {
		return nil
	}
	var ids []int64
	if err := db.r.each(ctx, "SELECT scope FROM shreds", nil, func(rs *rows) error {
		var id int64
		err := rs.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil || len(ids) == 0 {
		return err
	}
	if err := db.seal.Destroy(ctx, ids); err != nil {
		return err
	}
	return db.write(ctx, "purge", func(c conn) error {
		for _, id := range ids {
			if err := c.exec("DELETE FROM shreds WHERE scope = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
}
