package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// TestTheDatabaseItselfKeepsOneOpenValueAKey: whatever the code above it does,
// a second open row of a single-valued key does not fit.
func TestTheDatabaseItselfKeepsOneOpenValueAKey(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	scope, g := user(t, "sarah"), gate.New(nil)
	cs := gate.Case{By: principal(t, tenet.App), Candidate: tenet.Fact(scope, "city", "Berlin").Quoting("Berlin"), At: begin}
	cs.Candidate.ID = "c1"
	apply(t, db, judge(t, db, g, cs))
	_, err := db.w.pool.Exec(`CREATE TEMP TABLE twin AS SELECT * FROM records; UPDATE twin SET id = 'c2'; INSERT INTO records SELECT * FROM twin`)
	if err == nil || !strings.Contains(err.Error(), "UNIQUE constraint failed: records.scope, records.tier, records.key") {
		t.Errorf("a second open row was taken, or refused for another reason: %v", err)
	}
}

// TestVerifyFindsADamagedIndex: an index that lost its entries hides facts from
// whoever reads through it, and the rows and the chain know nothing of it.
func TestVerifyFindsADamagedIndex(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"records_usage", "records_believed", "records_open", "records_history"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			db := open(t, path)
			scope := lived(t, db)
			var root, size int64
			if err := db.w.pool.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, index).Scan(&root); err != nil {
				t.Fatal(err)
			}
			if err := db.w.pool.QueryRow(`PRAGMA page_size`).Scan(&size); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			page := make([]byte, size) // an empty leaf of an index
			page[0], page[5], page[6] = 10, byte(size>>8), byte(size)
			copy(file[(root-1)*size:], page)
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			v, err := open(t, path).Verify(ctx, scope)
			if err != nil || v.OK() {
				t.Errorf("verify says %+v, %v of an emptied %s", v, err, index)
			}
		})
	}
}
