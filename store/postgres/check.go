package postgres

import (
	"context"

	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
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
					out = append(out, store.Fault{Place: "subject " + chainName(id), What: "the vault does not give its data key"})
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
			why, err := links(ctx, c, db.master(), id, 0, nil)
			if err != nil {
				return err
			}
			if why != "" {
				out = append(out, store.Fault{Place: "chain " + chainName(id), What: why})
			}
		}
		return nil
	})
	return out, failure(op, err)
}
