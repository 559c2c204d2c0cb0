package postgres

import (
	"context"

	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/sealing"
)

// findVault holds the vault against the database, and makes up for erasures
// that an older copy or a crash left.
func (db *DB) findVault(ctx context.Context, id []byte, v store.Vault) error {
	if err := sealing.Match(id, v); err != nil || v == nil {
		return err
	}
	db.seal = sealing.New(v, db.unwrapped)
	if err := db.seal.Begin(ctx, db.master().Wrap); err != nil {
		return err
	}
	if err := db.seal.Shredded(ctx, func(dead []int64) error { return db.shredded(ctx, dead) }); err != nil {
		return err
	}
	return db.destroy(ctx)
}

// apart refuses a vault on the database's own server.
func (db *DB) apart(ctx context.Context, v store.Vault) error {
	own, is := v.(*Vault)
	if !is {
		return nil
	}
	return twoServers(ctx, db.pool, own.pool)
}

// shredded removes the rows of subjects whose data keys are destroyed: an older
// copy of the database brought them back, and nobody can read them. What else
// their erasure left is in the journal.
func (db *DB) shredded(ctx context.Context, dead []int64) error {
	of := map[string][]int64{}
	if err := db.worker().each(ctx, `SELECT tenant, scope FROM tenet.heads WHERE scope = ANY($1) AND tenant IS NOT NULL`, []any{dead}, func(rs *rows) error {
		var tenant string
		var id int64
		err := rs.Scan(&tenant, &id)
		of[tenant] = append(of[tenant], id)
		return err
	}); err != nil {
		return err
	}
	for tenant, ids := range of {
		var back []int64
		if err := db.in(tenant).each(ctx, `SELECT scope FROM tenet.subjects WHERE scope = ANY($1)`, []any{ids}, func(rs *rows) error {
			var id int64
			err := rs.Scan(&id)
			back = append(back, id)
			return err
		}); err != nil {
			return err
		}
		for _, id := range back {
			if err := db.write(ctx, "open", tenant, func(c conn) error {
				if err := erasing.Whole(sharedTx{c, bg}, id, map[string]int{}); err != nil {
					return err
				}
				_, err := erasing.Recount(sharedTx{c, bg}, id)
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// shred notes that a subject's key is to be destroyed once the erasure is
// committed.
func (e *erasure) shred(id int64) error {
	if e.db.seal == nil {
		return nil
	}
	return e.c.exec(`INSERT INTO tenet.shreds (scope) VALUES ($1) ON CONFLICT DO NOTHING`, id)
}

// destroy destroys the keys of subjects whose erasure is committed.
func (db *DB) destroy(ctx context.Context) error {
	if db.seal == nil {
		return nil
	}
	var ids []int64
	if err := db.worker().each(ctx, `SELECT scope FROM tenet.shreds`, nil, func(rs *rows) error {
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
	return db.worker().transact(ctx, beginWrite, func(c conn) error {
		return c.exec(`DELETE FROM tenet.shreds WHERE scope = ANY($1)`, ids)
	})
}
