package sqlite

import (
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
	if err := sealing.Match(id, v); err != nil || v == nil {
		return err
	}
	db.seal = sealing.New(v, db.unwrapped)
	db.r.seal = db.seal
	if db.w != nil {
		db.w.seal = db.seal
	}
	return db.seal.Begin(ctx, db.master().Wrap)
}

// unused refuses a vault that belongs to a database already for a new one.
func unused(ctx context.Context, c conn, v store.Vault) error {
	var made int
	err := c.row(ctx, "SELECT 1 FROM meta", nil, &made)
	if errors.Is(err, sql.ErrNoRows) {
		err = sealing.Unused(ctx, v)
	}
	return err // none when another process makes this one
}

// shredded removes the rows of subjects whose data keys are destroyed: an older
// copy of the file brought them back, and nobody can read them. What else their
// erasure left is in the journal.
func (db *DB) shredded(ctx context.Context) error {
	const op = "open"
	return db.seal.Shredded(ctx, func(dead []int64) error {
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
				if err := erasing.Whole(sharedTx{c, bg}, id, map[string]int{}); err != nil {
					return err
				}
				_, err := erasing.Recount(sharedTx{c, bg}, id)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
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
