package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/storetest"
)

func open(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func fresh(t testing.TB) *DB {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "tenet.db"))
}

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Backend{
		Ledger:   func(t testing.TB) store.Ledger { return fresh(t) },
		Sessions: func(t testing.TB) store.Sessions { return fresh(t) },
		Threads:  func(t testing.TB) store.Threads { return fresh(t) },
		Tamper:   tamper,
	})
}

// sealed opens a new sealed file with a vault of its own.
func sealed(t testing.TB) *DB {
	t.Helper()
	db, _ := sealedAt(t, filepath.Join(t.TempDir(), "tenet.db"))
	return db
}

func sealedAt(t testing.TB, path string) (*DB, *Vault) {
	t.Helper()
	v, err := OpenVault(context.Background(), path+".vault", true)
	if err != nil {
		t.Fatalf("open the vault: %v", err)
	}
	db, err := Open(context.Background(), path, Options{Vault: v})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { db.Close(); v.Close() })
	return db, v
}

func TestContractSealed(t *testing.T) {
	storetest.Run(t, storetest.Backend{
		Ledger:   func(t testing.TB) store.Ledger { return sealed(t) },
		Sessions: func(t testing.TB) store.Sessions { return sealed(t) },
		Threads:  func(t testing.TB) store.Threads { return sealed(t) },
		Tamper:   tamper,
	})
}

func TestContractInMemory(t *testing.T) {
	storetest.Run(t, storetest.Backend{
		Ledger:   func(t testing.TB) store.Ledger { return open(t, Memory) },
		Sessions: func(t testing.TB) store.Sessions { return open(t, Memory) },
		Threads:  func(t testing.TB) store.Threads { return open(t, Memory) },
		Tamper:   tamper,
	})
}

// tamper alters a row through the writer's connection, past everything.
func tamper(t testing.TB, l store.Ledger, w storetest.Tampering) {
	t.Helper()
	db := l.(*DB)
	s, err := db.find(context.Background(), db.r, "tamper", w.Scope)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(query string, args ...any) {
		t.Helper()
		args, err := db.seal.Args(s.id, args)
		if err != nil {
			t.Fatal(err)
		}
		res, err := db.w.pool.Exec(query, args...)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := res.RowsAffected(); n == 0 {
			t.Fatalf("%s: nothing to alter", w.Damage)
		}
	}
	record := func(set string) {
		t.Helper()
		raw(`UPDATE records SET `+set+` WHERE scope = ? AND id = ?`, s.id, string(w.Record))
	}
	switch w.Damage {
	case storetest.RecordText:
		record(`text = 'something else'`)
	case storetest.RecordLabel:
		record(`label = 6`)
	case storetest.RecordValid:
		record(`valid_from = valid_from - 3600000000`)
	case storetest.RecordReopened:
		// Past its successor: the open place of the key is taken.
		record(`multi = multi, sys_to = 9223372036854775807, valid_to = valid_to - (valid_to = 9223372036854775807), closed = '', superseded_by = '', closed_seq = 0`)
	case storetest.RecordDropped:
		raw(`DELETE FROM records WHERE scope = ? AND id = ?`, s.id, string(w.Record))
	case storetest.RecordPlanted:
		plant(t, db, s.id, string(w.Record))
	case storetest.EvidenceText:
		raw(`UPDATE evidence SET excerpt = 'something else' WHERE scope = ? AND record = ?`, s.id, string(w.Record))
	case storetest.VerdictOutcome:
		raw(`UPDATE chain SET outcome = 1 WHERE scope = ?1 AND seq = (SELECT seq FROM trail WHERE scope = ?1 AND ref = ?2 AND content IS NOT NULL)`, s.id, string(w.Candidate))
	case storetest.EntryAltered:
		raw(`UPDATE chain SET action = 'altered' WHERE scope = ? AND seq = ?`, s.id, int64(w.Seq))
	case storetest.EntryDropped:
		raw(`DELETE FROM chain WHERE scope = ? AND seq = ?`, s.id, int64(w.Seq))
	case storetest.HoldLifted:
		raw(`UPDATE heads SET frozen = 0 WHERE scope = ?`, s.id)
	case storetest.HeadMoved:
		var body []byte
		if err := db.w.pool.QueryRow(`SELECT body FROM cuts WHERE scope = ? AND body IS NOT NULL`, s.id).Scan(&body); err != nil {
			t.Fatal(err)
		}
		body = storetest.Moved(t, body)
		raw(`UPDATE cuts SET upto = upto + 1, body = ?, digest = ? WHERE scope = ? AND body IS NOT NULL`, body, store.CutDigest(body), s.id)
		raw(`UPDATE heads SET cut = cut + 1 WHERE scope = ?`, s.id)
	case storetest.HeadDropped:
		raw(`DELETE FROM cuts WHERE scope = ? AND body IS NOT NULL`, s.id)
	case storetest.TombDropped:
		raw(`DELETE FROM tombstones WHERE scope = ?`, s.id)
	default:
		t.Fatalf("no way to do %q", w.Damage)
	}
}

// plant copies a record's row under another id and key.
func plant(t testing.TB, db *DB, scope int64, id string) {
	t.Helper()
	for _, q := range []string{
		`CREATE TEMP TABLE planted AS SELECT * FROM records WHERE scope = ?1 AND id = ?2`,
		`UPDATE planted SET id = 'planted', key = 'planted'`,
		`INSERT INTO records SELECT * FROM planted`,
		`DROP TABLE planted`,
	} {
		args, err := db.seal.Args(scope, []any{scope, id})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.w.pool.Exec(q, args[:2*min(1, countParams(q))]...); err != nil {
			t.Fatal(err)
		}
	}
}

func countParams(q string) int {
	n := 0
	for _, r := range q {
		if r == '?' {
			n++
		}
	}
	return n
}
