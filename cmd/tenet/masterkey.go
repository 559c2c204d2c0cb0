package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"os"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/postgres"
	"github.com/tenet-memory/tenet/store/sqlite"
)

type masterKeyCmd struct {
	Make   masterKeyMakeCmd   `cmd:"" help:"Draw a key for the setting master_key and print it, wrapped when there is a key service."`
	Rotate masterKeyRotateCmd `cmd:"" help:"Wrap every data key under a new master key; readers and writers go on."`
}

type masterKeyRotateCmd struct {
	Old        string `help:"Write the earlier key to this file: backups that were made before can be opened with it only." placeholder:"FILE" xor:"old"`
	DiscardOld bool   `help:"Keep no earlier key: what is sealed in backups that were made before can't be read any more." xor:"old"`
}

// keySize is the length of one master key.
const keySize = 32

func (c masterKeyRotateCmd) Run(a *app) error {
	const op = "master-key rotate"
	if err := a.local(op); err != nil {
		return err
	}
	if err := a.unwrapKeys(); err != nil {
		return err
	}
	if len(a.set.masterKey) > 0 {
		return c.configured(a)
	}
	if a.set.store.scheme != "sqlite" {
		return tenet.Errorf(tenet.Invalid, "usage", "master_key: set the new key and, behind a comma, the present one")
	}
	if (c.Old == "") != c.DiscardOld {
		return tenet.Errorf(tenet.Invalid, "usage", "say where the earlier key goes: --old FILE, or --discard-old")
	}
	file := a.set.store.path + ".key"
	keys, err := sqlite.KeyFile(file)
	if err != nil {
		return err
	}
	resumed := len(keys) > keySize // a rotation was cut off: it goes on to the same key
	if !resumed {
		keys = append(newMasterKey(), keys...)
	}
	if c.Old != "" {
		if err := writeOldKeys(c.Old, keys[keySize:]); err != nil {
			return err
		}
	}
	if !resumed {
		if err := sqlite.WriteKeyFile(file, keys); err != nil {
			return err
		}
	}
	db, err := a.set.openFile(a.ctx, a.set.store.path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := db.Rotate(a.ctx, keys[:keySize])
	if err != nil {
		return err
	}
	if err := sqlite.WriteKeyFile(file, keys[:keySize]); err != nil {
		return err
	}
	return a.rotated(n, "the key file holds the new key alone")
}

// configured is a rotation to the first of the configured keys: every process
// was given both before.
func (c masterKeyRotateCmd) configured(a *app) error {
	if c.Old != "" || c.DiscardOld {
		return tenet.Errorf(tenet.Invalid, "usage", "--old and --discard-old go with a key file: master_key is yours to keep")
	}
	keys := a.set.masterKey
	if len(keys) == keySize {
		return tenet.Errorf(tenet.Invalid, "usage", "master_key: set the new key and, behind a comma, the present one, here and for every process")
	}
	var n int
	if a.set.store.scheme == "postgres" {
		db, err := a.set.openServer(a.ctx, postgres.Options{MasterKey: keys})
		if err != nil {
			return err
		}
		defer db.Close()
		if n, err = db.Rotate(a.ctx, keys[:keySize]); err != nil {
			return err
		}
	} else {
		db, err := a.set.openFile(a.ctx, a.set.store.path, keys)
		if err != nil {
			return err
		}
		defer db.Close()
		if n, err = db.Rotate(a.ctx, keys[:keySize]); err != nil {
			return err
		}
	}
	return a.rotated(n, "take the earlier key out of master_key, for every process")
}

func (a *app) rotated(n int, next string) error {
	return a.print(map[string]any{"wrapped": n}, func() { a.printf("%d data keys are wrapped under the new key; %s\n", n, next) })
}

func newMasterKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

// writeOldKeys keeps the earlier keys, for their owner only. A file of a
// rotation that was cut off holds them already.
func writeOldKeys(name string, keys []byte) error {
	var text bytes.Buffer
	for ; len(keys) > 0; keys = keys[keySize:] {
		text.WriteString(hex.EncodeToString(keys[:keySize]) + "\n")
	}
	if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, text.Bytes()) {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		if _, err = f.Write(text.Bytes()); err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "master-key rotate", "the earlier key cannot be written to the file: %s", osReason(err))
	}
	return nil
}
