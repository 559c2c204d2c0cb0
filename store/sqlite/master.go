package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

func (db *DB) master() store.MasterKey { return *db.keys.Load() }

// unwrap opens a subject's data key. When that fails, another process may have
// rotated the master key: the key file is read once more.
func (db *DB) unwrap(scope int64, wrapped []byte) (store.DataKey, error) {
	if db.seal != nil {
		return db.seal.Key(bg, scope)
	}
	return db.unwrapped(scope, wrapped)
}

func (db *DB) unwrapped(scope int64, wrapped []byte) (store.DataKey, error) {
	dk, err := db.master().Unwrap(scope, wrapped)
	if err != nil && db.reload() == nil {
		dk, err = db.master().Unwrap(scope, wrapped)
	}
	return dk, err
}

// reload reads the key file again.
func (db *DB) reload() error {
	if db.keyFile == "" {
		return tenet.Errorf(tenet.Unavailable, "open", "the master key was rotated: open the database with the new one")
	}
	raw, err := keyFile(db.keyFile, false)
	if err != nil {
		return err
	}
	return db.useKey(context.Background(), db.r, raw)
}

// useKey holds a ring of keys against the file.
func (db *DB) useKey(ctx context.Context, c conn, raw []byte) error {
	k, err := store.NewMasterKey(raw)
	if err != nil {
		return err
	}
	var check, kept []byte
	if err := c.row(ctx, "SELECT key_check, secret FROM meta", nil, &check, &kept); err != nil {
		return failure("open", err)
	}
	if k, err = k.Open(check, kept); err == nil {
		db.keys.Store(&k)
	}
	return err
}

// current refuses to wrap under a key that was rotated away: what is wrapped
// must be readable when the rotation is over.
func (db *DB) current(c conn) error {
	var check []byte
	if err := c.row(bg, "SELECT key_check FROM meta", nil, &check); err != nil {
		return err
	}
	if db.master().Current(check) {
		return nil
	}
	if err := db.reload(); err != nil {
		return err
	}
	if !db.master().Current(check) {
		return tenet.Errorf(tenet.Unavailable, "open", "the master key is being rotated: try again")
	}
	return nil
}

// Rotate makes key, of 32 bytes, the one that wraps, and wraps every data key
// under it. It returns how many it wrapped. Others may read and write
// meanwhile, those that opened the key file read it again by themselves; so the
// file must hold both keys before (WriteKeyFile). After a crash it is called
// again with the same key and goes on.
func (db *DB) Rotate(ctx context.Context, key []byte) (int, error) {
	const op = "rotate"
	if len(key) != len(store.DataKey{}) {
		return 0, invalid(op, "the master key is not 32 bytes")
	}
	k := db.master().To(store.DataKey(key))
	if err := db.write(ctx, op, func(c conn) error {
		return c.exec("UPDATE meta SET key_check = ?, secret = ?", k.Check(), k.Kept())
	}); err != nil {
		return 0, err
	}
	db.keys.Store(&k)
	if db.seal != nil {
		return db.seal.Rewrap(ctx, k.Rewrap)
	}
	done := 0
	for after := int64(-1); ; {
		n, seen := 0, 0
		if err := db.write(ctx, op, func(c conn) error {
			n, seen = 0, 0
			wrapped := map[int64][]byte{}
			last := after
			if err := c.each(bg, "SELECT scope, data_key FROM subjects WHERE scope > ? ORDER BY scope LIMIT ?", []any{after, rewrapped}, func(rs *rows) error {
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
				if err := c.exec("UPDATE subjects SET data_key = ? WHERE scope = ?", w, scope); err != nil {
					return err
				}
				n++
			}
			after = last
			return nil
		}); err != nil {
			return done, err
		}
		if done += n; seen < rewrapped {
			return done, nil
		}
	}
}

// rewrapped bounds how many keys one transaction of Rotate wraps.
const rewrapped = 500

// findKey sets the master key: the option's, or the key file's. The file's
// check value, written with the first key, tells a wrong one.
func (db *DB) findKey(ctx context.Context, path string, o Options) error {
	const op = "open"
	var check []byte
	err := db.r.row(ctx, "SELECT key_check FROM meta", nil, &check)
	fresh := errors.Is(err, sql.ErrNoRows)
	if err != nil && !fresh {
		return failure(op, err)
	}
	raw := o.MasterKey
	if len(raw) == 0 {
		db.keyFile = path + ".key"
		if raw, err = keyFile(db.keyFile, fresh && db.w != nil); err != nil {
			return err
		}
	}
	if fresh {
		k, err := store.NewMasterKey(raw)
		if err != nil {
			return err
		}
		if err := db.write(ctx, op, func(c conn) error {
			var vault []byte
			if o.Vault != nil {
				if err := unused(ctx, c, o.Vault); err != nil {
					return err
				}
				vault = o.Vault.ID()
			}
			return c.exec("INSERT INTO meta (one, key_check, vault) VALUES (1, ?, ?) ON CONFLICT DO NOTHING", k.Check(), vault)
		}); err != nil {
			return err
		}
	}
	if err := db.useKey(ctx, db.r, raw); err != nil {
		return err
	}
	return db.findVault(ctx, o.Vault)
}

// KeyFile reads a master key as Open keeps it beside its database, for who
// opens a copy of the database elsewhere: one key a line, that of a rotation
// that is under way first.
func KeyFile(name string) ([]byte, error) { return keyFile(name, false) }

// WriteKeyFile puts keys in the place of a key file, at once.
func WriteKeyFile(name string, keys []byte) error {
	tmp, err := keyFileWith(filepath.Dir(name), keys)
	if err == nil {
		defer os.Remove(tmp)
		err = os.Rename(tmp, name)
	}
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "key file", "the key file cannot be written: %v", reason(err))
	}
	syncDir(filepath.Dir(name))
	return nil
}

// keyFile reads the keys beside the database; create makes one when there is
// none. Of several processes that make one, all read the first: it appears
// under its name complete, by a link.
func keyFile(name string, create bool) ([]byte, error) {
	const op = "open"
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && create {
		if err := makeKeyFile(name); err != nil {
			return nil, tenet.Errorf(tenet.Unavailable, op, "the key file cannot be made: %v", reason(err))
		}
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tenet.Errorf(tenet.Unavailable, op, "the key file (the database's name with .key) is missing: without it the sealed texts cannot be read")
	case err != nil:
		return nil, tenet.Errorf(tenet.Unavailable, op, "the key file cannot be read: %v", reason(err))
	}
	var keys []byte
	for _, line := range strings.Fields(string(text)) {
		key, err := hex.DecodeString(line)
		if err != nil || len(key) != 32 {
			return nil, tenet.Errorf(tenet.Unavailable, op, "a line of the key file does not hold 64 hexadecimal digits")
		}
		keys = append(keys, key...)
	}
	if len(keys) == 0 {
		return nil, tenet.Errorf(tenet.Unavailable, op, "the key file does not hold 64 hexadecimal digits")
	}
	return keys, nil
}

func makeKeyFile(name string) error {
	key := make([]byte, 32)
	rand.Read(key)
	tmp, err := keyFileWith(filepath.Dir(name), key)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := os.Link(tmp, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	syncDir(filepath.Dir(name))
	return nil
}

// keyFileWith writes keys into a new file of the folder, for its owner only.
func keyFileWith(dir string, keys []byte) (string, error) {
	f, err := os.CreateTemp(dir, ".tenet-key-*") // mode 0600
	if err != nil {
		return "", err
	}
	for ; err == nil && len(keys) > 0; keys = keys[32:] {
		_, err = f.WriteString(hex.EncodeToString(keys[:32]) + "\n")
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}

// syncDir makes a name outlast a power cut, as the database will.
func syncDir(name string) {
	if d, err := os.Open(name); err == nil {
		d.Sync()
		d.Close()
	}
}
