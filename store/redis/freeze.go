package redis

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var _ store.SessionFreezer = (*DB)(nil)

// Freeze implements store.SessionFreezer. A subject that has no session yet is
// made: what it says from now on is under the hold, too.
func (db *DB) Freeze(ctx context.Context, scope tenet.Scope, frozen bool) error {
	const op = "freeze"
	p, err := db.place(op, scope)
	if err != nil {
		return err
	}
	for {
		if frozen {
			if _, err := db.enter(ctx, op, p); err != nil {
				return err
			}
		}
		r, err := db.run(ctx, op, "freeze", p.tag, p.u, bit(frozen))
		switch {
		case err != nil:
			return err
		case r.word() != "nobody":
			return r.verdict(op, "subject")
		case !frozen:
			return nil
		}
		db.keys.drop(p.u) // erased meanwhile
	}
}
