package sqlite

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// Parameters of each connection. WAL lets readers and the writer pass each
// other; FULL makes a commit durable before it is acknowledged; secure_delete
// overwrites what is deleted. The writer's own busy wait is short because
// SQLite's is unfair: writer.go retries with jitter on top of it.
const (
	common      = "_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_pragma=temp_store(2)&_pragma=trusted_schema(0)"
	writeParams = "_pragma=busy_timeout(20)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate&" + common
	readParams  = "_pragma=busy_timeout(10000)&" + common

	readers = 8
)

// dsn builds the driver's name for a path, which may hold any character.
func dsn(path, params string) string {
	if path == Memory {
		return Memory + "?" + params
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	return u.String() + "?" + params
}

// prepareFile makes a new database readable by its owner only, and reports
// whether an old one may only be read. It goes by the permission bits, which
// bind us even where, as root, they would not.
func prepareFile(path string) (readOnly bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return false, f.Close()
	}
	info, serr := os.Stat(path)
	switch {
	case serr == nil && info.IsDir():
		return false, tenet.Errorf(tenet.Unavailable, "open", "the path is a directory")
	case serr == nil && info.Mode().Perm()&0o222 == 0:
		return true, nil
	case serr == nil:
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return true, nil
		}
		return false, f.Close()
	}
	return false, tenet.Errorf(tenet.Unavailable, "open", "the database file cannot be created: %v", reason(err))
}

// reason is the operating system's word for an error, without the path.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return errors.New("the operating system refused")
}

//go:embed schema/*.sql
var schema embed.FS

// applicationID marks the file as Tenet's ("TNET").
const applicationID = 0x544e4554

// migrate brings the schema up to date. It is not goose: goose has no lock
// for SQLite and reads the version outside the transaction that applies the
// next one: of 80 opens, eight at a time on one new file, 13 failed. Here the
// version is read and written under the one write lock.
func migrate(ctx context.Context, p *sql.DB) error {
	const op = "open"
	files, err := schema.ReadDir("schema")
	if err != nil {
		return tenet.Errorf(tenet.Internal, op, "the schema is not built in")
	}
	err = persist(ctx, func() error {
		tx, err := p.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		have, err := version(ctx, tx, len(files))
		if err != nil || have == len(files) {
			return err
		}
		for _, f := range files[have:] {
			text, err := schema.ReadFile("schema/" + f.Name())
			if err != nil {
				return err
			}
			if _, err := tx.Exec(string(text)); err != nil {
				return err
			}
		}
		if _, err := tx.Exec("PRAGMA user_version=" + strconv.Itoa(len(files)) + "; PRAGMA application_id=" + strconv.Itoa(applicationID)); err != nil {
			return err
		}
		return tx.Commit()
	})
	if err != nil {
		return failure(op, err)
	}
	return nil
}

// checkSchema is migrate for a file that may not be written.
func checkSchema(ctx context.Context, p *sql.DB) error {
	files, _ := schema.ReadDir("schema")
	have, err := version(ctx, p, len(files))
	if err != nil {
		return failure("open", err)
	}
	if have != len(files) {
		return tenet.Errorf(tenet.Unavailable, "open", "the read-only file has schema %d, this version needs %d: make it writeable once to upgrade it", have, len(files))
	}
	return nil
}

type rower interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// version reads the schema's version; it refuses files that are newer than
// want or another program's.
func version(ctx context.Context, q rower, want int) (int, error) {
	var have, app, tables int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return 0, err
	}
	if err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, err
	}
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	switch {
	case app != applicationID && (tables > 0 || have > 0 || app != 0):
		return 0, tenet.Errorf(tenet.Unavailable, "open", "the file is another program's database")
	case have > want:
		return 0, tenet.Errorf(tenet.Unavailable, "open", "the file has schema %d and this version knows %d: upgrade Tenet", have, want)
	}
	return have, nil
}

// persist repeats f while the file is busy and ctx lives. Several processes
// that only wait for SQLite's own handler can starve one another.
func persist(ctx context.Context, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if !busy(err) {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

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
		if raw, err = keyFile(path+".key", fresh && db.w != nil); err != nil {
			return err
		}
	}
	copy(db.master[:], raw)
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte("tenet master key"))
	want := mac.Sum(nil)
	if fresh {
		if err := db.write(ctx, op, func(c conn) error {
			return c.exec("INSERT INTO meta (one, key_check) VALUES (1, ?) ON CONFLICT DO NOTHING", want)
		}); err != nil {
			return err
		}
		if err := db.r.row(ctx, "SELECT key_check FROM meta", nil, &check); err != nil {
			return failure(op, err)
		}
	}
	if !hmac.Equal(check, want) {
		return tenet.Errorf(tenet.Invalid, op, "the master key is not the one this file was made with")
	}
	return nil
}

// KeyFile reads a master key as Open keeps it beside its database, for who
// opens a copy of the database elsewhere.
func KeyFile(name string) ([]byte, error) { return keyFile(name, false) }

// keyFile reads the key beside the database; create makes one when there is
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
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, tenet.Errorf(tenet.Unavailable, op, "the key file does not hold 64 hexadecimal digits")
	}
	return key, nil
}

func makeKeyFile(name string) error {
	key := make([]byte, 32)
	rand.Read(key)
	f, err := os.CreateTemp(filepath.Dir(name), ".tenet-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if d, err := os.Open(filepath.Dir(name)); err == nil { // the name must outlast a power cut, as the database will
		d.Sync()
		d.Close()
	}
	return nil
}

// pause waits a random while, longer the more often it was in vain.
func pause(ctx context.Context, n int) error {
	t := time.NewTimer(jitter(n))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
