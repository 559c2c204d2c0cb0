package erasing

import (
	"slices"

	"github.com/tenet-memory/tenet/gate"
)

// Rule says what erasing a subject does with its rows of a table.
type Rule uint8

const (
	// Removed: the subject's rows are deleted.
	Removed Rule = 1
	// Stays: rows stay, and hold surrogates, numbers and keyed digests only.
	Stays Rule = 2
	// Shared: the rows belong to no subject; those that name it go.
	Shared Rule = 3
)

// Table is the rule of one table. A table or column that is not listed fails
// the backends' tests.
type Table struct {
	Name string
	Rule Rule
	// Columns of a table that stays: why each holds nothing of anybody is said
	// where the table is made.
	Columns []string
}

// Tables is every table of the schema, children before what they refer to.
var Tables = []Table{
	{Name: "once", Rule: Removed},
	{Name: "holds", Rule: Removed},
	{Name: "checkpoints", Rule: Removed},
	{Name: "effects", Rule: Removed},
	{Name: "receipts", Rule: Removed},
	{Name: "proposals", Rule: Removed},
	{Name: "messages", Rule: Removed},
	{Name: "sessions", Rule: Removed},
	{Name: "session_names", Rule: Removed},
	{Name: "blobs", Rule: Removed},
	{Name: "thread_names", Rule: Removed},
	{Name: "staged", Rule: Removed},
	{Name: "stages", Rule: Removed},
	{Name: "held", Rule: Removed},
	{Name: "retention", Rule: Removed},
	{Name: "outcomes", Rule: Removed},
	{Name: "vectors", Rule: Removed},
	{Name: "tombstones", Rule: Removed},
	{Name: "corroborations", Rule: Removed},
	{Name: "evidence", Rule: Removed},
	{Name: "records", Rule: Removed},
	{Name: "trail", Rule: Removed},
	{Name: "erased", Rule: Removed},
	{Name: "elsewhere", Rule: Removed},
	{Name: "subjects", Rule: Removed},
	{Name: "keys", Rule: Shared},
	{Name: "heads", Rule: Stays, Columns: []string{"scope", "text", "stats", "audit", "facts", "staged", "tombs", "reset", "last_at", "hash", "dense", "sleep", "swept_at", "base", "frozen", "cut", "cut_at", "records", "bytes", "tenant"}},
	{Name: "chain", Rule: Stays, Columns: []string{"scope", "seq", "action", "outcome", "codes", "ruleset", "at", "digest", "prev", "hash", "tenant"}},
	{Name: "cuts", Rule: Stays, Columns: []string{"scope", "seq", "upto", "digest", "body", "sig", "tenant"}},
	{Name: "meta", Rule: Stays, Columns: []string{"one", "key_check", "secret", "version", "partitions", "vault"}},
	{Name: "shreds", Rule: Stays, Columns: []string{"scope"}},
	{Name: "spaces", Rule: Stays, Columns: []string{"space", "name"}}, // of models
	{Name: "gone", Rule: Stays, Columns: []string{"mark", "at", "text"}},
	{Name: "erasures", Rule: Stays, Columns: []string{"id", "owner", "what", "scope", "seq", "at", "state", "counts"}},
}

// Whole deletes a subject's rows, by the table. The caller has read what it
// still needs of them.
func Whole(tx Tx, id int64, counts map[string]int) error {
	for _, t := range Tables {
		if t.Rule != Removed {
			continue
		}
		n, err := tx.Exec(`DELETE FROM tenet.`+t.Name+` WHERE scope = ?`, id)
		if err != nil {
			return err
		}
		count(counts, t.Name, int(n))
	}
	return nil
}

// Left counts a subject's rows by table after it went whole: all are zero.
func Left(tx Tx, id int64) (map[string]int, error) {
	out := map[string]int{}
	for _, t := range Tables {
		if t.Rule != Removed {
			continue
		}
		n := 0
		if err := tx.Each(`SELECT count(*) FROM tenet.`+t.Name+` WHERE scope = ?`, []any{id}, func(scan Scan) error { return scan(&n) }); err != nil {
			return nil, err
		}
		out[t.Name] = n
	}
	return out, nil
}

func count(counts map[string]int, place string, n int) {
	if n > 0 {
		counts[place] += n
	}
}

// Tombstones are what an erasure leaves of the statements of a selection.
func Tombstones(statements []string) []gate.Tombstone {
	slices.Sort(statements)
	var out []gate.Tombstone
	for _, s := range slices.Compact(statements) {
		if s != "" {
			out = append(out, gate.Tombstone{Kind: gate.TombErased, Statement: s})
		}
	}
	return out
}

// Tx is a transaction as both databases give it: SQL with "?" and tables named
// "tenet.name".
type Tx interface {
	Exec(query string, args ...any) (int64, error)
	Each(query string, args []any, row func(Scan) error) error
}

// Scan reads the columns of a row.
type Scan func(dest ...any) error
