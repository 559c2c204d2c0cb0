package postgres

import (
	"context"

	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/cutting"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/sealing"
)

var _ store.Checker = (*DB)(nil)

// Check implements store.Checker, over the rows of one tenant.
func (db *DB) Check(ctx context.Context, tenant string) ([]store.Fault, error) {
	const op = "check"
	var out []store.Fault
	err := db.in(tenant).snapshot(ctx, func(c conn) error {
		faults, err := erasing.Check(sharedTx{c, bg})
		if err != nil {
			return err
		}
		out = faults
		if db.seal != nil {
			var ids []int64
			if err := c.each(ctx, `SELECT scope FROM tenet.subjects ORDER BY scope`, nil, func(rs *rows) error {
				var id int64
				err := rs.Scan(&id)
				ids = append(ids, id)
				return err
			}); err != nil {
				return err
			}
			for _, id := range ids {
				if _, err := db.seal.Key(ctx, id); err != nil {
					out = append(out, store.Fault{Place: "subject " + store.ChainName(id), What: "the vault does not give its data key"})
				}
			}
		}
		var chains []int64
		if err := c.each(ctx, `SELECT scope FROM tenet.heads WHERE audit > 0 ORDER BY scope`, nil, func(rs *rows) error {
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

// Recount implements store.Checker, a transaction for each scope.
func (db *DB) Recount(ctx context.Context, tenant string) (n int, err error) {
	const op = "recount"
	var ids []int64
	if err := db.in(tenant).each(ctx, `SELECT scope FROM tenet.heads WHERE tenant = $1 ORDER BY scope`, []any{sealing.Plain(tenant)}, func(rs *rows) error {
		var id int64
		err := rs.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return 0, failure(op, err)
	}
	for _, id := range ids {
		wrong := false
		if err := db.write(ctx, op, tenant, func(c conn) error {
			var locked int64
			if err := c.row(bg, `SELECT scope FROM tenet.heads WHERE scope = $1 FOR UPDATE`, []any{id}, &locked); err != nil {
				return err
			}
			var err error
			wrong, err = erasing.Recount(sharedTx{c, bg}, id)
			return err
		}); err != nil {
			return n, err
		}
		if wrong {
			n++
		}
	}
	db.rooms.Recount()
	return n, nil
}
