package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
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
