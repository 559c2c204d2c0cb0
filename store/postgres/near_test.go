package postgres

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

const (
	nearDim   = 48
	nearSpace = "m/48"
)

var nearBands = []store.Band{{Low: tenet.LabelUserStated, High: tenet.LabelOperator}, {Low: tenet.LabelExternal, High: tenet.LabelExternal}}

// pgvector skips a test where the server has no such extension, or fails it.
func pgvector(t testing.TB) {
	t.Helper()
	c, err := pgx.Connect(ctx, server(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	var is bool
	if err := c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')`).Scan(&is); err != nil {
		t.Fatal(err)
	}
	switch {
	case is:
	case strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), "postgres"):
		t.Fatal("the server has no pgvector, and TENET_TEST_REQUIRE names postgres: scripts/test-pgvector.sh installs it")
	default:
		t.Skip("SKIPPED, NOTHING TESTED: the server has no pgvector; scripts/test-pgvector.sh installs it")
	}
}

// crowd gives a scope n believed notes of a label, with vectors in clusters as
// texts are, and returns the vectors by record.
func crowd(t testing.TB, db *DB, scope tenet.Scope, name string, n, dim int, label tenet.Label, rng *rand.Rand) map[tenet.RecordID][]int8 {
	t.Helper()
	g := gate.New(nil)
	c := tenet.Note(scope, "A note of the crowd named "+name+".").Quoting("A note of the crowd named " + name + ".")
	c.ID = tenet.CandidateID("crowd-" + name)
	d, err := g.Judge(gate.Case{By: app(t, scope.Tenant()), Candidate: c, At: begun})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Apply(ctx, []gate.Decision{d}, nil); err != nil {
		t.Fatal(err)
	}
	sub, err := db.find(ctx, db.at(scope), "find", scope)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.pool.Query(ctx, `SELECT attname::text FROM pg_attribute WHERE attrelid = 'tenet.records'::regclass AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('id', 'label', 'n')`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Join(columns, ", ")
	if _, err := db.pool.Exec(ctx, fmt.Sprintf(`INSERT INTO tenet.records (id, label, %s) SELECT '%s-' || i, %d, %s FROM tenet.records, generate_series(0, %d) i WHERE scope = %d AND id = 'crowd-%s'`,
		list, name, label, list, n-1, sub.id, name)); err != nil {
		t.Fatal(err)
	}
	centres := make([][]float64, 30)
	for i := range centres {
		centres[i] = make([]float64, dim)
		for j := range centres[i] {
			centres[i][j] = rng.NormFloat64() + 1.5 // all of them lean one way, as those of models do
		}
	}
	out := map[tenet.RecordID][]int8{}
	var batch []store.Vector
	for i := range n {
		v := make([]int8, dim)
		for j, x := range centres[rng.IntN(len(centres))] {
			v[j] = int8(max(-127, min(127, 30*(x+0.7*rng.NormFloat64()))))
		}
		id := tenet.RecordID(fmt.Sprint(name, "-", i))
		out[id] = v
		if batch = append(batch, store.Vector{Record: id, Values: v}); len(batch) == 500 || i == n-1 {
			if err := db.Place(ctx, scope, nearSpace, batch); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
	return out
}

// exactly is the n records with the least angle to a direction.
func exactly(kept map[tenet.RecordID][]int8, toward []int16, n int) []tenet.RecordID {
	angle := map[tenet.RecordID]float64{}
	var ids []tenet.RecordID
	for id, v := range kept {
		for i, x := range v {
			angle[id] += float64(x) * float64(toward[i])
		}
		angle[id] /= norm(v)
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b tenet.RecordID) int { return int(math.Copysign(1, angle[b]-angle[a])) })
	return ids[:n]
}

func direction(rng *rand.Rand, dim int) []int16 {
	out := make([]int16, dim)
	for i := range out {
		out[i] = int16(700 * rng.NormFloat64())
	}
	return out
}

// TestTheDatabaseFindsTheNearestOfOneScopeAndBand: on plain and split tables,
// with recall measured against a look at everything, and nothing of another
// scope, tenant or band among what comes, however near it is.
func TestTheDatabaseFindsTheNearestOfOneScopeAndBand(t *testing.T) {
	pgvector(t)
	for name, parts := range map[string]int{"plain": 0, "split": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			at := database(t, parts)
			dirty.Store(at, true)
			db := open(t, named(t, server(t), at))
			sarah, other := user(t, "acme", "sarah"), user(t, "globex", "sarah")
			trusted := crowd(t, db, sarah, "said", 1500, nearDim, tenet.LabelUserStated, rng)
			external := crowd(t, db, sarah, "read", 700, nearDim, tenet.LabelExternal, rng)
			crowd(t, db, other, "said", 1300, nearDim, tenet.LabelUserStated, rng)
			// What no model has numbers for is no reason for an index, and stops none.
			crowd(t, db, user(t, "acme", "wordless"), "blank", 2500, nearDim, tenet.LabelUserStated, rng)
			if _, err := db.pool.Exec(ctx, `UPDATE tenet.vectors SET numbers = '' WHERE record LIKE 'blank-%'`); err != nil {
				t.Fatal(err)
			}

			if _, is, err := db.Sampled(ctx, sarah, nearSpace, nearBands); is || err != nil {
				t.Fatalf("there is an index before one was made: %v", err)
			}
			// Some rows are of a version that did not write the label.
			if _, err := db.pool.Exec(ctx, `UPDATE tenet.vectors SET label = 0 WHERE record LIKE '%1'`); err != nil {
				t.Fatal(err)
			}
			var made []PlaceIndex
			if err := db.IndexPlaces(ctx, 1300, nearBands, func(p PlaceIndex) { made = append(made, p) }); err != nil {
				t.Fatal(err)
			}
			if len(made) != 2 || made[0].Made != 2 || made[0].Tenant != "acme" || made[0].Places != 2200 || made[0].Recall < 0.9 {
				t.Errorf("made %+v", made)
			}
			t.Logf("as measured when it was made: %.3f of ten, %d questions", made[0].Recall, made[0].Measured)
			samples, is, err := db.Sampled(ctx, sarah, nearSpace, nearBands)
			if !is || err != nil || samples[0].Count != 1500 || samples[1].Count != 700 || len(samples[0].Places) != 1500 || samples[0].Recall == 0 || samples[0].Questions != nearQuestions {
				t.Fatalf("samples: %v %v", is, err)
			}

			const questions, k = 100, 10
			found := 0
			for range questions {
				toward := direction(rng, nearDim)
				got, _, err := db.Nearest(ctx, sarah, nearSpace, []store.Nearest{{Band: nearBands[0], Toward: toward, N: 100}}, nil)
				if err != nil || len(got) != 100 {
					t.Fatalf("%d of 100: %v", len(got), err)
				}
				for _, v := range got {
					if !slices.Equal(v.Values, trusted[v.Record]) {
						t.Fatalf("%s is not of the scope and band, or its numbers are not", v.Record)
					}
				}
				for _, id := range exactly(trusted, toward, k) {
					if slices.ContainsFunc(got, func(v store.Vector) bool { return v.Record == id }) {
						found++
					}
				}
			}
			recall := float64(found) / (questions * k)
			t.Logf("recall@%d of 100 brought: %.3f (n %d)", k, recall, questions)
			if recall < 0.95 {
				t.Errorf("recall %.3f is below .95", recall)
			}

			// A place without its label is found again once its scope is looked at.
			if _, err := db.pool.Exec(ctx, `UPDATE tenet.vectors SET label = 0 WHERE record LIKE 'said-%3'`); err != nil {
				t.Fatal(err)
			}
			if err := db.IndexPlaces(ctx, 1300, nearBands, nil); err != nil {
				t.Fatal(err)
			}
			if s, _, err := db.Sampled(ctx, sarah, nearSpace, nearBands); err != nil || s[0].Count != 1500 {
				t.Fatalf("%d of 1500 have a lane: %v", s[0].Count, err)
			}

			// The flood: what is in another band comes only for that band, and by id.
			toward := direction(rng, nearDim)
			got, _, err := db.Nearest(ctx, sarah, nearSpace, []store.Nearest{{Band: nearBands[1], Toward: toward, N: 5}}, []tenet.RecordID{"said-7", "said-1499", "nobody"})
			if err != nil || len(got) != 7 || !slices.Equal(got[5].Values, trusted[got[5].Record]) {
				t.Fatalf("%d: %v", len(got), err)
			}
			for _, v := range got[:5] {
				if external[v.Record] == nil {
					t.Errorf("%s is of another band", v.Record)
				}
			}
			if got, _, err := db.Nearest(ctx, user(t, "acme", "bob"), nearSpace, []store.Nearest{{Band: nearBands[0], Toward: toward, N: 5}}, []tenet.RecordID{"said-7"}); err != nil || len(got) != 0 {
				t.Errorf("a stranger got %d: %v", len(got), err)
			}

			// The plan reads one scope's index, as the application, in one tenant.
			sub, err := db.find(ctx, db.at(sarah), "find", sarah)
			if err != nil {
				t.Fatal(err)
			}
			var plan []string
			if err := db.at(sarah).each(ctx, `EXPLAIN (COSTS OFF) SELECT record FROM tenet.vectors WHERE `+nearRows(sub.id, spaceNumber(t, db), nearBands[0])+` ORDER BY `+
				nearNumbers("public", nearDim)+` OPERATOR(public.<=>) '`+nearText(toward)+`'::public.halfvec LIMIT 10`, nil, func(rs *rows) error {
				var line string
				err := rs.Scan(&line)
				plan = append(plan, line)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			all := strings.Join(plan, "\n")
			t.Log(all)
			if !strings.Contains(all, nearName(sub.id, spaceNumber(t, db), nearBands[0])) || strings.Contains(all, "Sort") {
				t.Error("the index is not what is read")
			}
			// And past the program: another tenant's setting sees nothing of it.
			if err := db.in("globex").each(ctx, `SELECT record FROM tenet.vectors WHERE `+nearRows(sub.id, spaceNumber(t, db), nearBands[0])+` ORDER BY `+
				nearNumbers("public", nearDim)+` OPERATOR(public.<=>) '`+nearText(toward)+`'::public.halfvec LIMIT 10`, nil, func(*rows) error { return fmt.Errorf("a row") }); err != nil {
				t.Errorf("another tenant reads: %v", err)
			}

			// What is gone is not found, and an index whose scope is small goes.
			if _, err := db.pool.Exec(ctx, `DELETE FROM tenet.vectors WHERE scope = $1 AND record NOT LIKE '%7'`, sub.id); err != nil {
				t.Fatal(err)
			}
			got, _, err = db.Nearest(ctx, sarah, nearSpace, []store.Nearest{{Band: nearBands[0], Toward: toward, N: 100}}, nil)
			if err != nil || len(got) == 0 || slices.ContainsFunc(got, func(v store.Vector) bool { return !strings.HasSuffix(string(v.Record), "7") }) {
				t.Errorf("after most went: %d, %v", len(got), err)
			}
			if err := db.IndexPlaces(ctx, 1300, nearBands, nil); err != nil {
				t.Fatal(err)
			}
			if _, is, err := db.Sampled(ctx, sarah, nearSpace, nearBands); is || err != nil {
				t.Errorf("the index of a scope that is small now is still there: %v", err)
			}
			if _, is, err := db.Sampled(ctx, other, nearSpace, nearBands); !is || err != nil {
				t.Errorf("the other scope's index went too: %v", err)
			}
			// Whoever asked it last is told, and with the extension gone, too.
			asks := []store.Nearest{{Band: nearBands[0], Toward: toward, N: 5}}
			if got, is, err := db.Nearest(ctx, sarah, nearSpace, asks, nil); is || len(got) > 0 || err != nil {
				t.Errorf("without its index: %d, %v, %v", len(got), is, err)
			}
			if got, is, err := db.Nearest(ctx, other, nearSpace, asks, nil); !is || len(got) != 5 || err != nil {
				t.Errorf("the other scope: %d, %v, %v", len(got), is, err)
			}
			if _, err := db.pool.Exec(ctx, `DROP EXTENSION vector CASCADE`); err != nil {
				t.Fatal(err)
			}
			if got, is, err := db.Nearest(ctx, other, nearSpace, asks, nil); is || len(got) > 0 || err != nil {
				t.Errorf("without the extension: %d, %v, %v", len(got), is, err)
			}
		})
	}
}

func spaceNumber(t testing.TB, db *DB) int64 {
	t.Helper()
	n, err := spaceID(ctx, db.worker(), nearSpace)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWhoMayNotMakeIndexesIsTold: the server's own login never needs to.
func TestWhoMayNotMakeIndexesIsTold(t *testing.T) {
	pgvector(t)
	at := database(t, 0)
	dirty.Store(at, true)
	dsn := named(t, server(t), at)
	login := "near_" + at
	raw(t, dsn, `CREATE ROLE `+login+` LOGIN; GRANT tenet_app, tenet_worker TO `+login)
	t.Cleanup(func() { raw(t, server(t), `DROP ROLE IF EXISTS `+login) })
	db := open(t, strings.Replace(dsn, "postgres@", login+"@", 1))
	if err := db.IndexPlaces(ctx, 1, nearBands, nil); tenet.KindOf(err) != tenet.Denied {
		t.Errorf("the server's login: %v, want denied", err)
	}
	if _, _, err := db.Nearest(ctx, user(t, "acme", "sarah"), nearSpace, []store.Nearest{{Band: nearBands[0], N: 5}}, nil); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("no direction: %v, want invalid", err)
	}
	if _, _, err := db.Sampled(ctx, user(t, "acme", "sarah"), "", nearBands); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("no space: %v, want invalid", err)
	}
}

// TestHowWellALargeScopeIsSearched measures the index of one scope with
// TENET_NEAR_ROWS vectors of 384 numbers: making it, asking it as recall does,
// and how much of a look at everything it finds.
func TestHowWellALargeScopeIsSearched(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("TENET_NEAR_ROWS"))
	if err != nil {
		t.Skip("a long run: TENET_NEAR_ROWS says how many vectors; make bench-near")
	}
	pgvector(t)
	const dim = 384
	rng := rand.New(rand.NewPCG(11, 0))
	at := database(t, 0)
	dirty.Store(at, true)
	db, err := Open(ctx, named(t, server(t), at), Options{MasterKey: testKey, MaxConns: 8, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sarah := user(t, "acme", "sarah")
	kept := crowd(t, db, sarah, "said", n, dim, tenet.LabelUserStated, rng)
	if _, err := db.pool.Exec(ctx, `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	var made PlaceIndex
	if err := db.IndexPlaces(ctx, n, nearBands, func(p PlaceIndex) { made = p }); err != nil {
		t.Fatal(err)
	}
	var size, rows string
	if err := db.pool.QueryRow(ctx, `SELECT pg_size_pretty(sum(pg_relation_size(indexrelid))), pg_size_pretty(pg_table_size('tenet.vectors')) FROM pg_index WHERE indexrelid::regclass::text LIKE 'tenet.%near%'`).Scan(&size, &rows); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d vectors of %d numbers: index %s beside %s of rows, made and measured in %v, %.3f of ten by %d questions", n, dim, size, rows, made.Took.Round(time.Second), made.Recall, made.Measured)
	var mean [dim]float64
	for _, v := range kept {
		for i, x := range v {
			mean[i] += float64(x) / float64(n)
		}
	}
	var took []time.Duration
	found, questions := 0, 100
	for range questions { // as the direction of a text like those that are there, less the mean
		like := kept[tenet.RecordID(fmt.Sprint("said-", rng.IntN(n)))]
		toward, back := make([]int16, dim), make([]int16, dim)
		for i, x := range like {
			toward[i] = int16(50 * (float64(x) - mean[i] + 15*rng.NormFloat64()))
			back[i] = -toward[i]
		}
		began := time.Now()
		got, _, err := db.Nearest(ctx, sarah, nearSpace, []store.Nearest{{Band: nearBands[0], Toward: toward, N: 100}, {Band: nearBands[0], Toward: back, N: 4}}, nil)
		took = append(took, time.Since(began))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range exactly(kept, toward, 10) {
			if slices.ContainsFunc(got, func(v store.Vector) bool { return v.Record == id }) {
				found++
			}
		}
	}
	slices.Sort(took)
	t.Logf("recall@10 of 100 brought: %.3f (n %d); a question: p50 %v, p99 %v", float64(found)/float64(10*questions), questions, took[questions/2], took[questions*99/100])
	if found < 9*questions {
		t.Errorf("recall@10 is below .9")
	}
}
