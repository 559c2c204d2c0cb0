package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

var _ store.Nearness = (*DB)(nil)

// Where the extension pgvector is, a scope with very many vectors can have one
// index of them for each band of labels. An index holds one scope's rows of one
// band and nothing else, so that no tenant, subject or lane takes a place in
// another's search, and what is looked at is what row-level security lets be
// seen. The numbers stay where they are: the index is over an expression, the
// bytes as a halfvec, which holds whole numbers up to 2048 exactly. That such
// indexes are there, in the catalogue, is all that says the scope is searched
// here. nearindex.go makes them.

// nearName is the name of a band's index.
func nearName(scope, space int64, b store.Band) string {
	return fmt.Sprintf("near_%d_%d_%d_%d", scope, space, b.Low, b.High)
}

// nearRows says which rows an index of a band holds. Numbers stand in the text:
// the planner has to see that a query asks for what the index holds.
func nearRows(scope, space int64, b store.Band) string {
	return fmt.Sprintf(`scope = %d AND space = %d AND label BETWEEN %d AND %d AND numbers <> ''`, scope, space, b.Low, b.High)
}

// nearNumbers is what is indexed. extension is the schema that pgvector is in.
func nearNumbers(extension string, dim int) string {
	return fmt.Sprintf(`tenet.near_numbers(numbers)::%s.halfvec(%d)`, extension, dim)
}

// near is where the vectors of a scope are searched.
type near struct {
	scope, space int64
	extension    string // the schema of pgvector, quoted; empty: it is not there
	indexed      bool   // each of the bands has its index
}

func (c conn) near(ctx context.Context, scope tenet.Scope, space string, bands []store.Band) (n near, err error) {
	ends := make([]string, len(bands))
	for i, b := range bands {
		ends[i] = fmt.Sprintf("%d_%d", b.Low, b.High)
	}
	err = c.row(ctx, `SELECT s.scope, coalesce(p.space, 0),
		coalesce((SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'), ''),
		NOT EXISTS (SELECT 1 FROM unnest($5::text[]) ends WHERE NOT EXISTS (SELECT 1 FROM pg_class k JOIN pg_index x ON x.indexrelid = k.oid
			WHERE k.relname = format('near_%s_%s_%s', s.scope, p.space, ends)::name AND k.relnamespace = 'tenet'::regnamespace AND x.indisvalid))
		FROM tenet.subjects s LEFT JOIN tenet.spaces p ON p.name = $4 WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3`,
		append(c.db.names(scope), sealing.Plain(space), ends), &n.scope, &n.space, &n.extension, &n.indexed)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	n.indexed = n.indexed && c.db.seal == nil // the server can't compare what is sealed
	return n, err
}

// Sampled implements store.Nearness.
func (db *DB) Sampled(ctx context.Context, scope tenet.Scope, space string, bands []store.Band) (out []store.Sample, is bool, err error) {
	const op = "sampled"
	if scope.IsZero() || space == "" || len(bands) == 0 {
		return nil, false, invalid(op, "no scope, space or band")
	}
	c := db.at(scope)
	n, err := c.near(ctx, scope, space, bands)
	if err != nil || !n.indexed {
		return nil, false, failure(op, err)
	}
	out = make([]store.Sample, len(bands))
	names := make([]string, len(bands))
	for i, b := range bands {
		names[i] = nearName(n.scope, n.space, b)
	}
	err = c.oneTrip(ctx, func() {}, c.reading(`SELECT w.i::int - 1, coalesce(obj_description(k.oid, 'pg_class'), '') FROM unnest($1::text[]) WITH ORDINALITY w (name, i)
		JOIN pg_class k ON k.relname = w.name AND k.relnamespace = 'tenet'::regnamespace`, []any{names}, func(rs *rows) error {
		var i int
		var told string
		if err := rs.Scan(&i, &told); err != nil {
			return err
		}
		// A comment that is not ours says nothing: then it was not measured.
		fmt.Sscanf(told, nearTold, &out[i].Recall, &out[i].Questions)
		return nil
	}))
	if err != nil {
		return nil, false, failure(op, err)
	}
	for i, b := range bands {
		s := &out[i]
		err := c.oneTrip(ctx, func() { s.Count, s.Places = 0, nil }, c.reading(`SELECT count(*) FROM tenet.vectors WHERE `+nearRows(n.scope, n.space, b), nil, func(rs *rows) error {
			return rs.Scan(&s.Count)
		}), c.reading(`SELECT record, numbers FROM tenet.vectors WHERE `+nearRows(n.scope, n.space, b)+` ORDER BY hashtextextended(record, 0), record LIMIT `+strconv.Itoa(store.SampleSize), nil, appending(&s.Places)))
		if err != nil {
			return nil, false, failure(op, err)
		}
	}
	return out, true, nil
}

// appending reads places.
func appending(out *[]store.Vector) func(*rows) error {
	return func(rs *rows) error {
		var v store.Vector
		var b []byte // Scan copies into it
		if err := rs.Scan(&v.Record, &b); err != nil {
			return err
		}
		v.Values = column.AsNumbers(b)
		*out = append(*out, v)
		return nil
	}
}

// Nearest implements store.Nearness. An index can go at any time, and the
// extension with all of them: without one every row would be made a halfvec and
// compared, which takes seconds.
func (db *DB) Nearest(ctx context.Context, scope tenet.Scope, space string, asks []store.Nearest, ids []tenet.RecordID) (out []store.Vector, is bool, err error) {
	const op = "nearest"
	if scope.IsZero() || space == "" {
		return nil, false, invalid(op, "no scope or space")
	}
	effort := 0
	var bands []store.Band
	for _, a := range asks {
		if a.N < 1 || a.N > nearMost/2 || len(a.Toward) == 0 {
			return nil, false, invalid(op, "asks for none, for more than 500 or for no direction")
		}
		effort = max(effort, a.N)
		bands = append(bands, a.Band)
	}
	c := db.at(scope)
	n, err := c.near(ctx, scope, space, bands)
	if err != nil || n.scope == 0 { // nobody, or erased meanwhile: nothing is near
		return nil, err == nil, failure(op, err)
	}
	if !n.indexed {
		return nil, false, nil
	}
	var ss []statement
	if len(asks) > 0 {
		// How many it keeps in hand on its way, and so finds at most.
		ss = append(ss, statement{query: `SELECT set_config('hnsw.ef_search', $1, true)`, args: []any{strconv.Itoa(min(4*effort, nearMost))}})
	}
	for _, a := range asks {
		ss = append(ss, c.reading(fmt.Sprintf(`SELECT record, numbers FROM tenet.vectors WHERE %s ORDER BY %s OPERATOR(%s.<=>) ($1::text)::%s.halfvec LIMIT %d`,
			nearRows(n.scope, n.space, a.Band), nearNumbers(n.extension, len(a.Toward)), n.extension, n.extension, a.N), []any{nearText(a.Toward)}, appending(&out)))
	}
	if len(ids) > 0 {
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = string(id)
		}
		ss = append(ss, c.reading(`SELECT record, numbers FROM tenet.vectors WHERE scope = $1 AND space = $2 AND record = ANY($3)`, []any{n.scope, n.space, names}, appending(&out)))
	}
	if len(ss) == 0 {
		return nil, true, nil
	}
	err = c.oneTrip(ctx, func() { out = nil }, ss...)
	return out, err == nil, failure(op, err)
}

// nearMost is the most that pgvector keeps in hand.
const nearMost = 1000

// nearText is a direction as pgvector reads it.
func nearText(toward []int16) string {
	var b strings.Builder
	for i, v := range toward {
		b.WriteByte("[,"[min(i, 1)])
		b.WriteString(strconv.Itoa(int(v)))
	}
	b.WriteByte(']')
	return b.String()
}
