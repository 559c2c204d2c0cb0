package postgres

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
	"github.com/tenet-memory/tenet/store/storetest"
)

// newSealed makes a sealed database with a vault of its own.
func newSealed(t testing.TB) (db *DB, v *Vault, dsn string) {
	t.Helper()
	v, _ = vault(t)
	dsn = empties(t)
	db, err := openWith(t, dsn, v, testKey)
	if err != nil {
		t.Fatal(err)
	}
	return db, v, dsn
}

// aWord is one that nothing else has written to the server.
func aWord() string {
	b := make([]byte, 15)
	rand.Read(b)
	return "Q" + strings.ToLower(strings.NewReplacer("2", "g", "3", "h", "4", "j", "5", "k", "6", "v", "7", "w").Replace(base32.StdEncoding.EncodeToString(b)))
}

// rowsOf is a copy of all rows of all tables, byte for byte, by place.
func rowsOf(t testing.TB, db *DB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for table, rows := range allRows(t, db) {
		for _, row := range rows.Rows {
			for i, cell := range row {
				out[table+"."+rows.Columns[i]] = append(append(out[table+"."+rows.Columns[i]], cell...), '\n')
			}
		}
	}
	return out
}

// onDisk are the files that a server keeps of a database, its write-ahead log and
// its own log, when they can be read here.
func onDisk(t testing.TB, db *DB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	dir := os.Getenv("TENET_TEST_SERVERS")
	if dir == "" {
		t.Log("the server's files are elsewhere: its rows are searched, not its files")
		return out
	}
	raw(t, server(t), "CHECKPOINT")
	var oid int
	if err := db.pool.QueryRow(ctx, `SELECT oid::int FROM pg_database WHERE datname = current_database()`).Scan(&oid); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"data/pg_wal/0*", fmt.Sprintf("data/base/%d/*", oid), "log"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s (%v)", pattern, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if os.IsNotExist(err) { // recycled meanwhile
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			out[pattern] = append(out[pattern], b...)
		}
	}
	return out
}

// places are those that hold the word in any form.
func places(word string, in map[string][]byte) (found []string) {
	for place, b := range in {
		for form, want := range storetest.FormsOf(word) {
			if bytes.Contains(b, want) || bytes.Contains(b, []byte(hex.EncodeToString(want))) {
				found = append(found, place+": "+form)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestNoCopyOfASealedDatabaseHoldsAWord searches a copy of every row, and the
// server's own files, while the subject is alive.
func TestNoCopyOfASealedDatabaseHoldsAWord(t *testing.T) {
	t.Parallel()
	plain, word := fresh(t), aWord()
	storetest.Fill(t, plain, word)
	if found := places(word, rowsOf(t, plain)); len(found) < 30 {
		t.Fatalf("the control finds %v only", found)
	}
	if found := places(word, onDisk(t, plain)); os.Getenv("TENET_TEST_SERVERS") != "" && len(found) < 6 {
		t.Fatalf("the control finds %v only", found)
	}
	for name, open := range map[string]func(testing.TB) *DB{"one": sealed, "partitioned": sealedSplit4} {
		db, word := open(t), aWord()
		scope := storetest.Fill(t, db, word)
		if found := places(word, rowsOf(t, db)); len(found) > 0 {
			t.Errorf("%s: the word is in %v", name, found)
		}
		if found := places(word, onDisk(t, db)); len(found) > 0 {
			t.Errorf("%s: the word is in %v", name, found)
		}
		if v, err := db.Verify(ctx, scope); err != nil || !v.OK() || v.Records == 0 {
			t.Errorf("%s: %+v (%v)", name, v, err)
		}
	}
}

// isSealed matches what a sealed text or content looks like.
var isSealed = regexp.MustCompile(`(?s)^(\x01[A-Za-z0-9_-]{48,}$|\x00tenet\x01\x00)`)

// binaryOf is a bigint as the protocol has it.
func binaryOf(n int64) []byte {
	b, _ := hex.DecodeString(fmt.Sprintf("%016x", uint64(n)))
	return b
}

// TestEveryTextOfASealedDatabaseIsSealed goes by the schema: a text column that
// is not sealed is one that somebody said is a word of the vocabulary.
func TestEveryTextOfASealedDatabaseIsSealed(t *testing.T) {
	t.Parallel()
	db := sealed(t)
	storetest.Fill(t, db, aWord())
	met := map[string]bool{}
	for _, table := range erasing.Tables {
		if table.Rule == erasing.Stays {
			continue
		}
		rs, err := db.pool.Query(ctx, `SELECT * FROM tenet.`+table.Name)
		if err != nil {
			t.Fatal(err)
		}
		for rs.Next() {
			cells, err := rs.Values()
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range rs.FieldDescriptions() {
				name := table.Name + "." + f.Name
				if f.Name == "tenant" || storetest.Unsealed(name) {
					continue
				}
				switch cell := cells[i].(type) {
				case string:
					if cell == "" {
						continue
					}
					met[name] = true
					if plain, err := db.seal.Open(cell); err != nil || plain == cell {
						t.Errorf("%s is not sealed (%v)", name, err)
					}
				case []byte:
					if len(cell) == 0 {
						continue
					}
					met[name] = true
					was := bytes.Clone(cell)
					if err := db.seal.Opened([]any{&cell}); err != nil || bytes.Equal(was, cell) {
						t.Errorf("%s is not sealed (%v)", name, err)
					}
				}
			}
		}
		if err := rs.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if len(met) < 30 {
		t.Errorf("only %d columns hold anything: %v", len(met), met)
	}
}

func TestVectorsOfASealedDatabaseAreNotIndexed(t *testing.T) {
	t.Parallel()
	db := sealed(t)
	if err := db.IndexPlaces(ctx, 1, []store.Band{{Low: 1, High: 6}}, nil); tenet.KindOf(err) != tenet.Denied {
		t.Errorf("%v", err)
	}
}
