package sqlite

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

// A checkpoint of 10 KB against the same rows written and read by hand: the
// look-up of the session by its names, the version check, the insert and the
// pruning, in one transaction with the same settings. Both are measured in
// turn, so that what else the machine does hits both.
func TestACheckpointCostsLittleMoreThanItsRows(t *testing.T) {
	rounds := 300
	if n, err := strconv.Atoi(os.Getenv("TENET_BENCH_ROUNDS")); err == nil {
		rounds = n
	}
	db := fresh(t)
	scope := user(t, "sarah")
	at := func(path string) *DB {
		d := open(t, path)
		if _, err := d.Ensure(ctx, scope, tenet.Session{ID: "run", Scope: scope, Reads: []tenet.Scope{scope}, CreatedAt: begin}); err != nil {
			t.Fatal(err)
		}
		return d
	}
	if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "run", Scope: scope, Reads: []tenet.Scope{scope}, CreatedAt: begin}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hand.db")
	at(path).Close()
	hand := newRowsByHand(t, path)

	state := bytes.Repeat([]byte("0123456789abcdef"), 640)
	const keep = 20
	var puts, handPuts, gets, handGets []time.Duration
	took := func(into *[]time.Duration, f func()) {
		start := time.Now()
		f()
		*into = append(*into, time.Since(start))
	}
	for v := int64(1); v <= int64(rounds); v++ {
		put := func() {
			took(&puts, func() {
				err := db.PutCheckpoint(ctx, scope, tenet.Checkpoint{Session: "run", Version: v, Step: int(v), State: state, By: "agent:a", At: begin}, 0, keep)
				if err != nil {
					t.Fatal(err)
				}
			})
		}
		handPut := func() { took(&handPuts, func() { hand.put(v, state, keep) }) }
		get := func() {
			took(&gets, func() {
				got, err := db.Checkpoints(ctx, scope, "run", 0, 1)
				if err != nil || len(got) != 1 || got[0].Version != v || len(got[0].State) != len(state) {
					t.Fatalf("%v %v", got, err)
				}
			})
		}
		handGet := func() {
			took(&handGets, func() {
				if n, got := hand.get(); n != v || len(got) != len(state) {
					t.Fatalf("version %d of %d bytes", n, len(got))
				}
			})
		}
		// Whoever comes second finds a warm processor: they take turns.
		if v%2 == 0 {
			put()
			handPut()
			get()
			handGet()
		} else {
			handPut()
			put()
			handGet()
			get()
		}
	}
	put, get := ratio50(puts, handPuts), ratio50(gets, handGets)
	t.Logf("put p50 %v p99 %v, by hand %v: %.2fx; get p50 %v p99 %v, by hand %v: %.2fx", at50(puts, .5), at50(puts, .99), at50(handPuts, .5), put,
		at50(gets, .5), at50(gets, .99), at50(handGets, .5), get)
	if os.Getenv("TENET_BENCH_ROUNDS") != "" && (put > 1.5 || get > 1.5) {
		t.Errorf("put %.2fx, get %.2fx; want at most 1.5x", put, get)
	}
}

func at50(ds []time.Duration, p float64) time.Duration {
	ds = slices.Clone(ds)
	slices.Sort(ds)
	return ds[int(p*float64(len(ds)-1))].Round(time.Microsecond)
}

func ratio50(a, b []time.Duration) float64 { return float64(at50(a, .5)) / float64(at50(b, .5)) }

// rowsByHand is the same work with prepared statements and nothing around them.
type rowsByHand struct {
	t                        *testing.T
	w, r                     *sql.DB
	find, last, insert, trim *sql.Stmt
	readFind, read           *sql.Stmt
}

func newRowsByHand(t *testing.T, path string) *rowsByHand {
	t.Helper()
	w, err := openPool(path, writeParams, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := openPool(path, readParams, readers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	h := &rowsByHand{t: t, w: w, r: r}
	const find = `SELECT s.scope, n.sid, x.ended_at FROM subjects s JOIN session_names n ON n.scope = s.scope AND n.external_id = 'run'
		JOIN sessions x ON x.sid = n.sid WHERE s.tenant = 'acme' AND s.kind = 1 AND s.external_id = 'sarah'`
	for _, p := range []struct {
		pool  *sql.DB
		query string
		into  **sql.Stmt
	}{
		{w, find, &h.find},
		{w, `SELECT coalesce(max(version), 0) FROM checkpoints WHERE sid = ?`, &h.last},
		{w, `INSERT INTO checkpoints (scope, sid, version, step, position, at, content, sealed) VALUES (?, ?, ?, ?, 0, 0, x'00', ?)`, &h.insert},
		{w, `DELETE FROM checkpoints WHERE sid = ? AND version <= ?`, &h.trim},
		{r, find, &h.readFind},
		{r, `SELECT version, step, position, at, sealed FROM checkpoints WHERE sid = ? ORDER BY version DESC LIMIT 1`, &h.read},
	} {
		s, err := p.pool.Prepare(p.query)
		if err != nil {
			t.Fatal(err)
		}
		*p.into = s
	}
	return h
}

func (h *rowsByHand) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *rowsByHand) put(version int64, state []byte, keep int64) {
	tx, err := h.w.Begin()
	h.must(err)
	var scope, sid, ended, last int64
	h.must(tx.Stmt(h.find).QueryRow().Scan(&scope, &sid, &ended))
	h.must(tx.Stmt(h.last).QueryRow(sid).Scan(&last))
	if last != version-1 {
		h.t.Fatalf("last is %d", last)
	}
	_, err = tx.Stmt(h.insert).Exec(scope, sid, version, version, state)
	h.must(err)
	if version > keep {
		_, err = tx.Stmt(h.trim).Exec(sid, version-keep)
		h.must(err)
	}
	h.must(tx.Commit())
}

func (h *rowsByHand) get() (version int64, state []byte) {
	var scope, sid, ended, step, position, at int64
	h.must(h.readFind.QueryRow().Scan(&scope, &sid, &ended))
	h.must(h.read.QueryRow(sid).Scan(&version, &step, &position, &at, &state))
	return version, state
}
