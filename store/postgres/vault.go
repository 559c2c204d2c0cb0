package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var _ store.Vault = (*Vault)(nil)

// Vault is a database of its own, on another server than the sealed one, that
// holds the sealed one's data keys, wrapped. All servers of Tenet that share the
// sealed database share the vault. What a key was stays in its dead rows until
// VACUUM FULL, and in its server's write-ahead log and backups as long as those
// are kept: they are to be kept no longer than what is erased may be readable.
type Vault struct {
	pool *pgxpool.Pool
	id   []byte
}

// vaultTimeout bounds each call.
const vaultTimeout = 10 * time.Second

// OpenVault opens the vault in the database that the DSN names; create makes it
// when the database has none. It returns Unavailable for a server that cannot be
// reached and for a database without one.
func OpenVault(ctx context.Context, dsn string, create bool) (*Vault, error) {
	const op = "open vault"
	ctx, cancel := context.WithTimeout(ctx, vaultTimeout)
	defer cancel()
	pool, err := connect(ctx, dsn, 4)
	if err != nil {
		return nil, failure(op, err)
	}
	v := &Vault{pool: pool}
	if err := v.find(ctx, create); err != nil {
		pool.Close()
		return nil, failure(op, err)
	}
	return v, nil
}

// Apart is Invalid when two databases are on one server, or on copies of one.
func Apart(ctx context.Context, a, b string) error {
	const op = "open vault"
	ctx, cancel := context.WithTimeout(ctx, vaultTimeout)
	defer cancel()
	var pools [2]*pgxpool.Pool
	for i, dsn := range []string{a, b} {
		var err error
		if pools[i], err = connect(ctx, dsn, 1); err != nil {
			return failure(op, err)
		}
		defer pools[i].Close()
	}
	return failure(op, twoServers(ctx, pools[0], pools[1]))
}

// twoServers goes by the server's own name for itself: base backups, standbys and the
// write-ahead log are of all databases of a server.
func twoServers(ctx context.Context, a, b *pgxpool.Pool) error {
	var names [2]int64
	for i, pool := range []*pgxpool.Pool{a, b} {
		if err := pool.QueryRow(ctx, `SELECT system_identifier FROM pg_control_system()`).Scan(&names[i]); err != nil {
			return err
		}
	}
	if names[0] == names[1] {
		return tenet.Errorf(tenet.Invalid, "open vault", "the vault is on the database's own server, whose backups and write-ahead log would hold both: it belongs on another")
	}
	return nil
}

// making is the advisory lock under which a vault is made ("TNVT").
const making = 0x544e5654

// find reads the vault's id, and makes a vault when it may.
func (v *Vault) find(ctx context.Context, create bool) error {
	var made bool
	const is = `SELECT to_regclass('tenet_vault.vault') IS NOT NULL`
	if err := v.pool.QueryRow(ctx, is).Scan(&made); err != nil {
		return err
	}
	if !made && !create {
		return tenet.Errorf(tenet.Unavailable, "open vault", "the vault is missing: without it the sealed database cannot be read")
	}
	if !made {
		if err := v.write(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(making)); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, is).Scan(&made); err != nil || made {
				return err // another process was first
			}
			id := make([]byte, 16)
			rand.Read(id)
			for _, q := range []string{
				`CREATE SCHEMA tenet_vault`,
				`CREATE TABLE tenet_vault.vault (one int PRIMARY KEY CHECK (one = 1), id bytea NOT NULL)`,
				`CREATE TABLE tenet_vault.data_keys (scope bigint PRIMARY KEY, wrapped bytea)`, // NULL: destroyed
				`CREATE INDEX data_keys_destroyed ON tenet_vault.data_keys (scope) WHERE wrapped IS NULL`,
			} {
				if _, err := tx.Exec(ctx, q); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, `INSERT INTO tenet_vault.vault VALUES (1, $1)`, id)
			return err
		}); err != nil {
			return err
		}
	}
	return v.pool.QueryRow(ctx, `SELECT id FROM tenet_vault.vault`).Scan(&v.id)
}

// write runs f in a transaction that is durable when it returns, whatever the
// server is set to.
func (v *Vault) write(ctx context.Context, f func(pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), vaultTimeout)
	defer cancel()
	return pgx.BeginFunc(ctx, v.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = on`); err != nil {
			return err
		}
		return f(tx)
	})
}

// Close closes the connections.
func (v *Vault) Close() error {
	v.pool.Close()
	return nil
}

// ID implements store.Vault.
func (v *Vault) ID() []byte { return v.id }

// Keep implements store.Vault.
func (v *Vault) Keep(ctx context.Context, scope int64, wrapped []byte) error {
	return away(v.write(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO tenet_vault.data_keys (scope, wrapped) VALUES ($1, $2)`, scope, wrapped)
		return err
	}))
}

// Kept implements store.Vault.
func (v *Vault) Kept(ctx context.Context, scope int64) (wrapped []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, vaultTimeout)
	defer cancel()
	err = v.pool.QueryRow(ctx, `SELECT wrapped FROM tenet_vault.data_keys WHERE scope = $1`, scope).Scan(&wrapped)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, absent("vault", "data key")
	}
	return wrapped, away(err)
}

// Destroy implements store.Vault.
func (v *Vault) Destroy(ctx context.Context, scopes []int64) error {
	return away(v.write(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO tenet_vault.data_keys (scope) SELECT unnest($1::bigint[]) ON CONFLICT (scope) DO UPDATE SET wrapped = NULL`, scopes)
		return err
	}))
}

// Destroyed implements store.Vault.
func (v *Vault) Destroyed(ctx context.Context, after int64, limit int) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, vaultTimeout)
	defer cancel()
	rows, err := v.pool.Query(ctx, `SELECT scope FROM tenet_vault.data_keys WHERE wrapped IS NULL AND scope > $1 ORDER BY scope LIMIT $2`, after, limit)
	if err != nil {
		return nil, away(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	return out, away(err)
}

// Rewrap implements store.Vault.
func (v *Vault) Rewrap(ctx context.Context, wrap func(scope int64, wrapped []byte) ([]byte, error)) (done int, err error) {
	for after := int64(-1); ; {
		n, seen, last := 0, 0, after
		if err := v.write(ctx, func(tx pgx.Tx) error {
			anew := map[int64][]byte{}
			rows, err := tx.Query(ctx, `SELECT scope, wrapped FROM tenet_vault.data_keys WHERE scope > $1 AND wrapped IS NOT NULL ORDER BY scope LIMIT $2 FOR UPDATE`, after, rewrapped)
			if err != nil {
				return err
			}
			var w []byte
			if _, err := pgx.ForEachRow(rows, []any{&last, &w}, func() (err error) {
				seen++
				anew[last], err = wrap(last, w)
				return err
			}); err != nil {
				return err
			}
			for scope, w := range anew {
				if w == nil {
					continue
				}
				if _, err := tx.Exec(ctx, `UPDATE tenet_vault.data_keys SET wrapped = $1 WHERE scope = $2`, w, scope); err != nil {
					return err
				}
				n++
			}
			return nil
		}); err != nil {
			return done, away(err)
		}
		if done += n; seen < rewrapped {
			return done, nil
		}
		after = last
	}
}

// away says of a failure that it is the vault's, not the database's.
func away(err error) error {
	if err = failure("vault", err); tenet.KindOf(err) == tenet.Unavailable {
		return &tenet.Error{Kind: tenet.Unavailable, Op: "vault", Reason: "the vault, which holds the subjects' data keys, cannot be reached", Err: err, After: retry}
	}
	return err
}
