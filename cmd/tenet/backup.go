package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
)

type backupCmd struct {
	File string `arg:"" help:"New file for the copy."`
}

func (c backupCmd) Run(a *app) error {
	if err := a.local("backup"); err != nil {
		return err
	}
	if _, err := a.memory(reads); err != nil {
		return err
	}
	b, ok := a.opened.db.(store.Backup)
	if !ok {
		return tenet.Errorf(tenet.Unavailable, "backup", "only a file is copied by this command; PostgreSQL has its own")
	}
	if err := b.Backup(a.ctx, c.File); err != nil {
		return err
	}
	return a.print(map[string]string{"backup": c.File}, func() {
		a.printf("copied to %s; keep the key file, the journal of erasures and a vault apart from it\n", printable(c.File))
	})
}

type restoreCmd struct {
	File    string `arg:"" help:"A copy that tenet backup made."`
	Replace bool   `help:"Put it in the place of the database that is there. Stop the server first."`
}

func (c restoreCmd) Run(a *app) error {
	const op = "restore"
	if err := a.local(op); err != nil {
		return err
	}
	if a.set.store.scheme != "sqlite" {
		return tenet.Errorf(tenet.Invalid, op, "only a file is restored by this command")
	}
	path := a.set.store.path
	if _, err := os.Stat(path); err == nil && !c.Replace {
		return tenet.Errorf(tenet.Conflict, op, "there is a database at %s: --replace puts the copy in its place", path)
	}
	// The copy must open under this database's key, before anything is replaced.
	temp, err := copyBeside(c.File, path)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if err := a.unwrapKeys(); err != nil {
		return err
	}
	key := a.set.masterKey
	if len(key) == 0 {
		if key, err = sqlite.KeyFile(path + ".key"); err != nil {
			return err
		}
	}
	db, err := a.set.openFile(a.ctx, temp, key)
	if err != nil {
		return err
	}
	faults, err := db.Check(a.ctx, a.set.tenant)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return tenet.Errorf(tenet.Internal, op, "the copy is damaged: %s: %s", faults[0].Place, faults[0].What)
	}
	for _, rest := range []string{"-wal", "-shm"} { // of the one that is replaced
		if err := os.Remove(path + rest); err != nil && !os.IsNotExist(err) {
			return tenet.Errorf(tenet.Unavailable, op, "the old log cannot be removed: %s", osReason(err))
		}
	}
	if err := os.Rename(temp, path); err != nil {
		return tenet.Errorf(tenet.Unavailable, op, "the copy cannot take its place: %s", osReason(err))
	}
	// Opening carries out every erasure that is younger than the copy.
	if _, err := a.memory(reads); err != nil {
		return err
	}
	again := a.opened.reapplied
	return a.print(map[string]any{"restored": c.File, "erased_again": again}, func() {
		a.printf("restored %s; %d later erasures were carried out again\n", printable(c.File), again)
	})
}

// copyBeside copies a file into the folder of another, so that renaming it is
// one step.
func copyBeside(from, to string) (string, error) {
	in, err := os.Open(from)
	if err != nil {
		return "", tenet.Errorf(tenet.NotFound, "restore", "the copy cannot be opened: %s", osReason(err))
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".tenet-restore-*")
	if err != nil {
		return "", tenet.Errorf(tenet.Unavailable, "restore", "no file can be made: %s", osReason(err))
	}
	_, err = io.Copy(out, in)
	if serr := out.Sync(); err == nil {
		err = serr
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(out.Name())
		return "", tenet.Errorf(tenet.Unavailable, "restore", "the copy cannot be written: %s", osReason(err))
	}
	return out.Name(), nil
}
