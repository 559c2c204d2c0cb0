package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sealing"
)

func (db *DB) master() store.MasterKey { return *db.keys.Load() }

// unwrap opens a subject's data key.
func (db *DB) unwrap(scope int64, wrapped []byte) (store.DataKey, error) {
	if db.seal != nil {
		return db.seal.Key(bg, scope)
	}
	return db.unwrapped(scope, wrapped)
}

func (db *DB) unwrapped(scope int64, wrapped []byte) (store.DataKey, error) {
	return db.master().Unwrap(scope, wrapped)
}

// keyRow is what the database says of its master key.
type keyRow struct {
	check, kept []byte
	vault       []byte // the id of the vault that it is sealed with, nil: it is not sealed
}

// useKey holds the ring of keys against the database.
func (db *DB) useKey(r keyRow) error {
	k, err := db.master().Open(r.check, r.kept)
	if err == nil {
		db.keys.Store(&k)
	}
	return err
}

// rotating is the advisory lock between those that wrap a new key and a
// rotation ("TNEK").
const rotating = 0x544e454b

// current refuses to wrap under a key that was rotated away: what is wrapped
// must be readable when the rotation is over. None begins until the
// transaction ends.
func (db *DB) current(c conn) error {
	if err := c.exec(`SELECT pg_advisory_xact_lock_shared($1)`, int64(rotating)); err != nil {
		return err
	}
	var r keyRow
	if err := c.row(bg, `SELECT key_check, secret FROM tenet.meta`, nil, &r.check, &r.kept); err != nil {
		return err
	}
	if db.master().Current(r.check) {
		return nil
	}
	if db.useKey(r) != nil {
		return tenet.Errorf(tenet.Unavailable, "open", "the master key was rotated: open the database with the new one")
	}
	return nil
}

// rewrapped bounds how many keys one transaction of Rotate wraps.
const rewrapped = 500

// Rotate makes key, of 32 bytes, the one that wraps, and wraps every data key
// under it. It returns how many it wrapped. Others that were opened with both
// keys read and write meanwhile. After a crash it is called again with the same
// key and goes on. The login must own the schema.
func (db *DB) Rotate(ctx context.Context, key []byte) (int, error) {
	const op = "rotate"
	if len(key) != len(store.DataKey{}) {
		return 0, invalid(op, "the master key is not 32 bytes")
	}
	k := db.master().To(store.DataKey(key))
	if err := db.writeKey(ctx, k); err != nil {
		return 0, err
	}
	if db.seal != nil {
		n, err := db.seal.Rewrap(ctx, k.Rewrap)
		return n, failure(op, err)
	}
	var tenants []string
	if err := db.worker().each(ctx, `SELECT DISTINCT tenant FROM tenet.heads WHERE tenant IS NOT NULL ORDER BY tenant`, nil, func(rs *rows) error {
		var t string
		err := rs.Scan(&t)
		tenants = append(tenants, t)
		return err
	}); err != nil {
		return 0, failure(op, err)
	}
	done := 0
	for _, t := range tenants {
		n, err := db.rewrap(ctx, t, k)
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// writeKey makes the key that wraps in k the database's, as its owner.
func (db *DB) writeKey(ctx context.Context, k store.MasterKey) error {
	err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(rotating)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE tenet.meta SET key_check = $1, secret = $2`, k.Check(), k.Kept())
		return err
	})
	if err == nil {
		db.keys.Store(&k)
	}
	return failure("rotate", err)
}

func (db *DB) rewrap(ctx context.Context, tenant string, k store.MasterKey) (done int, err error) {
	const op = "rotate"
	for after := int64(-1); ; {
		var n, seen int
		last := after
		if err := db.write(ctx, op, tenant, func(c conn) error {
			n, seen, last = 0, 0, after
			wrapped := map[int64][]byte{}
			if err := c.each(bg, `SELECT scope, data_key FROM tenet.subjects WHERE tenant = $1 AND scope > $2 ORDER BY scope LIMIT $3 FOR UPDATE`,
				[]any{sealing.Plain(tenant), after, rewrapped}, func(rs *rows) error {
					var w []byte
					err := rs.Scan(&last, &w)
					if err == nil {
						wrapped[last], err = k.Rewrap(last, w)
					}
					seen++
					return err
				}); err != nil {
				return err
			}
			for scope, w := range wrapped {
				if w == nil {
					continue
				}
				if err := c.exec(`UPDATE tenet.subjects SET data_key = $1 WHERE scope = $2`, w, scope); err != nil {
					return err
				}
				n++
			}
			return nil
		}); err != nil {
			return done, err
		}
		if done += n; seen < rewrapped {
			return done, nil
		}
		after = last
	}
}

// Adopt makes digests with another database's secret, for a copy of its rows:
// kept is as that database seals it under the same master key. A database that
// holds something already is Conflict, unless the secret is its own.
func (db *DB) Adopt(ctx context.Context, kept []byte) error {
	const op = "adopt"
	was := db.master()
	k, err := was.Open(was.Check(), kept)
	if err != nil || string(k.Secret("adopt")) == string(was.Secret("adopt")) {
		return err
	}
	var any bool
	if err := db.worker().row(ctx, `SELECT EXISTS (SELECT 1 FROM tenet.heads)`, nil, &any); err != nil {
		return failure(op, err)
	}
	if any {
		return conflict(op, "the database holds subjects under another secret")
	}
	return db.writeKey(ctx, k)
}
