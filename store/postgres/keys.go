package postgres

import (
	"context"
	"encoding/hex"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

const keyColumns = `id, tenant, kind, name, subjects, owns, hash, created_at, expires_at, revoked_at`

func scanKey(rs *rows) (tenet.Key, error) {
	var k tenet.Key
	var subjects, owns []byte
	var created, expires, revoked int64
	if err := rs.Scan(&k.ID, &k.Tenant, &k.Kind, &k.Name, &subjects, &owns, &k.Hash, &created, &expires, &revoked); err != nil {
		return k, err
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = column.From(created), column.From(expires), column.From(revoked)
	d := column.Decoder{B: subjects}
	k.Subjects = column.DecodeStrings[string](&d)
	if err := d.Err(); err != nil {
		return k, err
	}
	d = column.Decoder{B: owns}
	k.Owns = column.DecodeStrings[string](&d)
	return k, d.Err()
}

// access makes the key of an Access decision, or writes what the decision is
// about: a rotation that was decided before a revocation must not undo it.
func (w *writing) access(k *tenet.Key, what gate.KeyChange) error {
	if k == nil {
		return nil
	}
	// Another tenant's key cannot be seen, but its id is taken.
	taken := conflict("key", "the id, or the hash, is another key's")
	if what == gate.KeyMade {
		var subjects, owns column.Encoder
		column.EncodeStrings(&subjects, k.Subjects)
		column.EncodeStrings(&owns, k.Owns)
		return w.c.of(sealing.Everybody).claim(taken, `INSERT INTO tenet.keys (`+keyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			sealing.Plain(k.ID), sealing.Plain(k.Tenant), int64(k.Kind), k.Name, sealing.Content(subjects.B), sealing.Content(owns.B), k.Hash, column.Start(k.CreatedAt), column.End(k.ExpiresAt), column.End(k.RevokedAt))
	}
	n, err := w.c.affect(`SELECT 1 FROM tenet.keys WHERE id = $1 AND tenant = $2 AND revoked_at = $3 FOR UPDATE`, sealing.Plain(k.ID), sealing.Plain(k.Tenant), int64(column.NoEnd))
	switch {
	case err != nil:
		return err
	case n == 0:
		return conflict("key", "no such key, or it is revoked")
	}
	set, value := `expires_at`, any(column.End(k.ExpiresAt))
	switch what {
	case gate.KeyRotated:
		set, value = `hash`, k.Hash
	case gate.KeyRevoked:
		set, value = `revoked_at`, column.End(k.RevokedAt)
	}
	return w.c.claim(taken, `UPDATE tenet.keys SET `+set+` = $1 WHERE id = $2`, value, sealing.Plain(k.ID))
}

// KeyByHash implements store.Keys.
func (db *DB) KeyByHash(ctx context.Context, hash []byte) (tenet.Key, error) {
	const op = "key"
	var found *tenet.Key
	c := db.in("")
	c.hash = hex.EncodeToString(hash)
	err := c.each(ctx, `SELECT `+keyColumns+` FROM tenet.keys WHERE hash = $1`, []any{hash}, func(rs *rows) error {
		k, err := scanKey(rs)
		found = &k
		return err
	})
	switch {
	case err != nil:
		return tenet.Key{}, failure(op, err)
	case found == nil:
		return tenet.Key{}, absent(op, "key")
	}
	return *found, nil
}

// KeysOf implements store.Keys.
func (db *DB) KeysOf(ctx context.Context, tenant, after string, limit int) ([]tenet.Key, error) {
	const op = "keys"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	var out []tenet.Key
	err := db.in(tenant).each(ctx, `SELECT `+keyColumns+` FROM tenet.keys WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3`, []any{sealing.Plain(tenant), sealing.Plain(after), limit}, func(rs *rows) error {
		k, err := scanKey(rs)
		out = append(out, k)
		return err
	})
	return out, failure(op, err)
}
