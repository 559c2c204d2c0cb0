package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// PlaceIndex is what became of one scope's indexes of vectors in one space.
type PlaceIndex struct {
	Tenant   string        `json:"tenant"`
	Scope    int64         `json:"scope"` // the surrogate
	Space    string        `json:"space"`
	Places   int           `json:"places"`
	Made     int           `json:"made"` // indexes; those that were there stay
	Dropped  int           `json:"dropped"`
	Recall   float64       `json:"recall,omitempty"` // as store.Sample tells it, of the worst band
	Measured int           `json:"measured,omitempty"`
	Took     time.Duration `json:"took"`
}

// nearTold is how an index's comment tells what was measured.
const nearTold = "recall %g of 10, %d questions"

// nearQuestions is how many questions a measurement asks of a band.
const nearQuestions = 50

// IndexPlaces makes indexes for the scopes with at least over vectors in a
// space, one for each band, and drops those of scopes that have fewer than half
// of it. Reading and writing go on meanwhile. It needs pgvector 0.7 or later,
// which it installs when it may, and the schema's owner; otherwise it is
// Denied. Each index's recall is measured and kept in its comment. done is told
// of each scope.
func (db *DB) IndexPlaces(ctx context.Context, over int, bands []store.Band, done func(PlaceIndex)) error {
	const op = "index places"
	if over < 1 || len(bands) == 0 {
		return invalid(op, "no threshold or no band")
	}
	if db.seal != nil {
		return tenet.Errorf(tenet.Denied, op, "the database is sealed: an index of vectors would give their texts away")
	}
	if err := db.nearReady(ctx, op); err != nil {
		return err
	}
	type large struct {
		PlaceIndex
		space int64
	}
	var all []large
	err := db.worker().each(ctx, `SELECT v.tenant, v.scope, v.space, s.name, count(*) FROM tenet.vectors v JOIN tenet.spaces s ON s.space = v.space
		GROUP BY v.tenant, v.scope, v.space, s.name HAVING count(*) >= $1 ORDER BY 5 DESC`, []any{(over + 1) / 2}, func(rs *rows) error {
		var l large
		if err := rs.Scan(&l.Tenant, &l.Scope, &l.space, &l.Space, &l.Places); err != nil {
			return err
		}
		all = append(all, l)
		return nil
	})
	if err != nil {
		return failure(op, err)
	}
	have, err := db.nearIndexes(ctx)
	if err != nil {
		return failure(op, err)
	}
scopes:
	for _, l := range all {
		began := time.Now()
		if l.Places >= over { // a server that is being replaced may still write places without their labels
			if err := db.labelPlaces(ctx, l.Tenant, l.Scope); err != nil {
				return failure(op, err)
			}
		}
		for _, b := range bands {
			name := nearName(l.Scope, l.space, b)
			valid, is := have[name]
			delete(have, name)
			switch {
			case is && valid || l.Places < over:
				continue
			case is: // a try that was cut off
				if err := db.nearDo(ctx, `DROP INDEX CONCURRENTLY IF EXISTS tenet.`+pgx.Identifier{name}.Sanitize()); err != nil {
					return failure(op, err)
				}
			}
			s, err := db.makeNear(ctx, l.Tenant, l.Scope, l.space, b)
			if errors.Is(err, pgx.ErrNoRows) { // no text of it is one that the model has numbers for
				continue scopes
			}
			if err != nil {
				return failure(op, err)
			}
			l.Made++
			if s.Questions > 0 && (l.Measured == 0 || s.Recall < l.Recall) {
				l.Recall, l.Measured = s.Recall, s.Questions
			}
		}
		l.Took = time.Since(began)
		if done != nil && l.Places >= over {
			done(l.PlaceIndex)
		}
	}
	for name := range have { // of scopes that went, or are small now
		if err := db.nearDo(ctx, `DROP INDEX CONCURRENTLY IF EXISTS tenet.`+pgx.Identifier{name}.Sanitize()); err != nil {
			return failure(op, err)
		}
	}
	if done != nil && len(have) > 0 {
		done(PlaceIndex{Dropped: len(have)})
	}
	return nil
}

// nearReady sees to the extension and the function that reads numbers for it.
func (db *DB) nearReady(ctx context.Context, op string) error {
	var owner bool
	var installed, obtainable string
	if err := db.pool.QueryRow(ctx, `SELECT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = 'tenet.meta'::regclass), 'MEMBER'),
		coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
		coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), '')`).Scan(&owner, &installed, &obtainable); err != nil {
		return failure(op, err)
	}
	switch {
	case !owner:
		return tenet.Errorf(tenet.Denied, op, "the login may not change the schema: run it as the schema's owner")
	case installed == "" && obtainable == "":
		return tenet.Errorf(tenet.Unavailable, op, "the server does not have pgvector: install its package (postgresql-NN-pgvector) there")
	case installed == "":
		if err := db.nearDo(ctx, `CREATE EXTENSION IF NOT EXISTS vector`); err != nil {
			return tenet.Errorf(tenet.Denied, op, "pgvector is not in the database, and the login may not put it there: a superuser runs CREATE EXTENSION vector")
		}
	case older(installed):
		return tenet.Errorf(tenet.Unavailable, op, "pgvector %s is too old: ALTER EXTENSION vector UPDATE to 0.7 or later", installed)
	}
	var schema string
	if err := db.pool.QueryRow(ctx, `SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`).Scan(&schema); err != nil {
		return failure(op, err)
	}
	return failure(op, db.nearDo(ctx, `DO $do$ BEGIN
		IF to_regprocedure('tenet.near_numbers(bytea)') IS NULL THEN
			CREATE FUNCTION tenet.near_numbers(b bytea) RETURNS `+schema+`.halfvec LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000
			SET search_path = pg_catalog, pg_temp AS $f$
			DECLARE a int[] := array_fill(0, ARRAY[length(b)]);
			BEGIN
				FOR i IN 1 .. length(b) LOOP
					a[i] := ((get_byte(b, i - 1) + 128) & 255) - 128;
				END LOOP;
				RETURN a::`+schema+`.halfvec;
			END $f$;
		END IF;
	END $do$`))
}

// older reports whether a version of pgvector knows no halfvec.
func older(version string) bool {
	var major, minor int
	fmt.Sscanf(version, "%d.%d", &major, &minor) // what is no version is 0.0, and too old
	return major == 0 && minor < 7
}

// nearDo runs what a login must own things for, outside of a transaction.
func (db *DB) nearDo(ctx context.Context, query string) error {
	_, err := db.pool.Exec(ctx, query, pgx.QueryExecModeSimpleProtocol)
	return err
}

// nearIndexes lists the indexes by name, and whether they are whole.
func (db *DB) nearIndexes(ctx context.Context) (map[string]bool, error) {
	rows, err := db.pool.Query(ctx, `SELECT k.relname::text, x.indisvalid FROM pg_class k JOIN pg_index x ON x.indexrelid = k.oid JOIN pg_am a ON a.oid = k.relam
		WHERE k.relnamespace = 'tenet'::regnamespace AND a.amname = 'hnsw' AND k.relname LIKE 'near\_%'`)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	var name string
	var valid bool
	_, err = pgx.ForEachRow(rows, []any{&name, &valid}, func() error { out[name] = valid; return nil })
	return out, err
}

// labelPlaces looks up the labels that a scope's vectors lack.
func (db *DB) labelPlaces(ctx context.Context, tenant string, scope int64) error {
	for n := int64(1); n > 0; {
		err := db.write(ctx, "label places", tenant, func(c conn) (err error) {
			n, err = c.affect(`UPDATE tenet.vectors v SET label = r.label FROM tenet.records r WHERE v.scope = $1 AND r.scope = v.scope AND r.id = v.record
				AND (v.record, v.space) IN (SELECT record, space FROM tenet.vectors WHERE scope = $1 AND label = 0 LIMIT 5000)`, scope)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// makeNear makes one index, measures it and says in its comment what came out.
// It is pgx.ErrNoRows when the scope has no numbers.
func (db *DB) makeNear(ctx context.Context, tenant string, scope, space int64, b store.Band) (s store.Sample, err error) {
	c := db.in(tenant)
	var extension, table string
	dim := 1
	if err := c.row(ctx, `SELECT (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'),
		tableoid::regclass::text, length(numbers) FROM tenet.vectors WHERE scope = $1 AND space = $2 AND numbers <> '' LIMIT 1`, []any{scope, space}, &extension, &table, &dim); err != nil {
		return s, err
	}
	name := nearName(scope, space, b)
	if err := db.nearDo(ctx, fmt.Sprintf(`CREATE INDEX CONCURRENTLY %s ON %s USING hnsw ((%s) %s.halfvec_cosine_ops) WHERE %s`,
		pgx.Identifier{name}.Sanitize(), table, nearNumbers(extension, dim), extension, nearRows(scope, space, b))); err != nil {
		return s, err
	}
	if s, err = db.measureNear(ctx, c, near{scope: scope, space: space, extension: extension}, b, dim); err != nil || s.Questions == 0 {
		return s, err
	}
	return s, db.nearDo(ctx, fmt.Sprintf(`COMMENT ON INDEX tenet.%s IS '`+nearTold+`'`, pgx.Identifier{name}.Sanitize(), s.Recall, s.Questions))
}

// measureNear asks an index for what is near to some of its own places, less
// the mean of a sample, as recall asks, and compares the ten nearest with those
// of a look at every place.
func (db *DB) measureNear(ctx context.Context, c conn, n near, b store.Band, dim int) (s store.Sample, err error) {
	var some []store.Vector
	within := nearRows(n.scope, n.space, b)
	if err := c.each(ctx, `SELECT record, numbers FROM tenet.vectors WHERE `+within+fmt.Sprintf(` ORDER BY hashtextextended(record, 0), record LIMIT %d`, store.SampleSize), nil, appending(&some)); err != nil {
		return s, err
	}
	mean := make([]float64, dim)
	for _, v := range some {
		size := norm(v.Values)
		for i, x := range v.Values {
			mean[i] += float64(x) / size / float64(len(some))
		}
	}
	type found struct {
		record tenet.RecordID
		angle  float64
	}
	asked := min(nearQuestions, len(some)/20) // of few places everything is found
	toward := make([][]int16, asked)
	best := make([][]found, asked)
	for i := range toward {
		v := some[i].Values
		size, peak := norm(v), 0.0
		for j, x := range v {
			peak = max(peak, math.Abs(float64(x)/size-mean[j]))
		}
		toward[i] = make([]int16, dim)
		for j, x := range v {
			toward[i][j] = int16(math.RoundToEven((float64(x)/size - mean[j]) / peak * 2047))
		}
	}
	if asked == 0 {
		return s, nil
	}
	const ten = 10
	if err := c.each(ctx, `SELECT record, numbers FROM tenet.vectors WHERE `+within, nil, func(rs *rows) error {
		var record tenet.RecordID
		var raw []byte
		if err := rs.Scan(&record, &raw); err != nil {
			return err
		}
		v := column.AsNumbers(raw)
		size := norm(v)
		for i, t := range toward {
			var product int64
			for j, x := range v {
				product += int64(x) * int64(t[j])
			}
			f := found{record, float64(product) / size}
			if len(best[i]) == ten && f.angle <= best[i][ten-1].angle {
				continue
			}
			at, _ := slices.BinarySearchFunc(best[i], f, func(a, b found) int { return cmp.Compare(b.angle, a.angle) })
			if best[i] = slices.Insert(best[i], at, f); len(best[i]) > ten {
				best[i] = best[i][:ten]
			}
		}
		return nil
	}); err != nil {
		return s, err
	}
	hit, of := 0, 0
	for i, t := range toward {
		var got []store.Vector
		if err := c.oneTrip(ctx, func() { got = nil },
			statement{query: `SELECT set_config('hnsw.ef_search', '400', true)`},
			c.reading(fmt.Sprintf(`SELECT record, numbers FROM tenet.vectors WHERE %s ORDER BY %s OPERATOR(%s.<=>) ($1::text)::%s.halfvec LIMIT 100`,
				within, nearNumbers(n.extension, dim), n.extension, n.extension), []any{nearText(t)}, appending(&got))); err != nil {
			return s, err
		}
		of += len(best[i])
		for _, f := range best[i] {
			if slices.ContainsFunc(got, func(v store.Vector) bool { return v.Record == f.record }) {
				hit++
			}
		}
	}
	s.Recall, s.Questions = math.Floor(1000*float64(hit)/float64(of))/1000, asked
	return s, nil
}

func norm(v []int8) float64 {
	var sum int64
	for _, x := range v {
		sum += int64(x) * int64(x)
	}
	return math.Sqrt(float64(sum))
}
