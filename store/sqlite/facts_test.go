package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/storetest"
)

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// A cached answer is the one that a fresh read would give: at every boundary
// of validity, forwards and backwards, after writes here and elsewhere.
func TestCachedFactsAreTheFileFacts(t *testing.T) {
	t.Parallel()
	const seed = 7
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "tenet.db")
	db, other := open(t, path), open(t, path)
	g, scope, app := gate.New(nil, gate.WithLimits(gate.Limits{})), user(t, "sarah"), principal(t, tenet.App)
	at := begin
	for n := range 400 {
		if r.IntN(3) == 0 {
			at = at.Add(time.Second)
			c := fact(app, scope, fmt.Sprint("c", n), fmt.Sprint("k", r.IntN(4)), fmt.Sprint("value ", r.IntN(5)), at)
			c.Candidate.Valid.From = begin.Add(time.Duration(r.IntN(20)) * time.Hour)
			if r.IntN(2) == 0 {
				c.Candidate.Valid.To = c.Candidate.Valid.From.Add(time.Duration(1+r.IntN(20)) * time.Hour)
			}
			w := db
			if r.IntN(2) == 0 {
				w = other
			}
			apply(t, w, judge(t, w, g, c))
		}
		when := tenet.AsOf{Valid: begin.Add(time.Duration(r.IntN(45)) * time.Hour)}
		if r.IntN(2) == 0 {
			when.Valid = when.Valid.Add(-time.Microsecond)
		}
		got, err := db.Facts(ctx, scope, when)
		if err != nil {
			t.Fatal(err)
		}
		db.facts.drop(must(db.head(ctx, db.r, "test", scope)).id)
		want, err := db.Facts(ctx, scope, when)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("at step %d the cache gave %+v, the file %+v", n, got, want)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFactsMayBeChangedByTheCaller(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	remember(t, db, "c1", "city", "Berlin")
	for range 3 {
		rs := must(db.Facts(ctx, user(t, "sarah"), tenet.AsOf{Valid: begin}))
		if rs[0].Text != "Berlin" || string(rs[0].Value) != `"Berlin"` || rs[0].Origins[0].Principal != "app:test" {
			t.Fatalf("a caller changed the cache: %+v", rs[0])
		}
		rs[0].Text, rs[0].Value[1], rs[0].Origins[0].Principal = "x", 'x', "x"
		rs[0].Origins = append(rs[0].Origins, tenet.Origin{})
	}
}

func TestCacheStaysWithinItsBound(t *testing.T) {
	t.Parallel()
	var c factCache
	for i := range int64(2000) {
		c.put(i, factSet{rows: make([]tenet.Record, 50), until: column.NoEnd})
		if c.rows > cachedRows {
			t.Fatalf("%d rows after %d scopes", c.rows, i)
		}
	}
	if len(c.sets)*51 != c.rows {
		t.Errorf("%d scopes, %d rows", len(c.sets), c.rows)
	}
}

// Whatever field the vocabulary gains, the stored forms keep it.
func TestStoredFormsKeepEveryField(t *testing.T) {
	t.Parallel()
	var c tenet.Candidate
	fill(reflect.ValueOf(&c).Elem(), 1)
	c.Scope = user(t, "sarah")
	got, err := column.DecodeCandidate(column.EncodeCandidate(c), c.Scope)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("a candidate came back as %+v, was %+v (%v)", got, c, err)
	}
	os := make([]tenet.Origin, 2)
	fill(reflect.ValueOf(&os[0]).Elem(), 1)
	os[1].Subject = "own"
	back, err := column.DecodeOrigins(column.EncodeOrigins(os, "own"), "own")
	if err != nil || !reflect.DeepEqual(back, os) {
		t.Errorf("origins came back as %+v, were %+v (%v)", back, os, err)
	}
	for _, b := range [][]byte{{}, {1}, {2}, {1, 255}, column.EncodeCandidate(c)[:20], append(column.EncodeCandidate(c), 0)} {
		if _, err := column.DecodeCandidate(b, c.Scope); err == nil {
			t.Errorf("%v decoded", b)
		}
	}

	db := fresh(t)
	var s tenet.Session
	fill(reflect.ValueOf(&s).Elem(), 1)
	s.Scope, s.Reads = c.Scope, []tenet.Scope{c.Scope}
	s.Length, s.Consolidated, s.Attempts, s.LastCode, s.EndedAt = 0, 0, 0, "", time.Time{}
	if kept := must(db.Ensure(ctx, s.Scope, s)); !reflect.DeepEqual(kept, s) {
		t.Errorf("a session came back as %+v, was %+v", kept, s)
	}
	var m tenet.Message
	fill(reflect.ValueOf(&m).Elem(), 1)
	m.Session, m.Seq = s.ID, 1
	must(db.Append(ctx, s.Scope, s.ID, []tenet.Message{m}, begin))
	if ms := must(db.Messages(ctx, s.Scope, s.ID, 0, 10)); len(ms) != 1 || !reflect.DeepEqual(ms[0], m) {
		t.Errorf("a message came back as %+v, was %+v", ms, m)
	}
	var rec tenet.Receipt
	fill(reflect.ValueOf(&rec).Elem(), 1)
	rec.Session = s.ID
	if err := db.Serve(ctx, s.Scope, rec); err != nil {
		t.Fatal(err)
	}
	if rs := must(db.Receipts(ctx, s.Scope, s.ID)); len(rs) != 1 || !reflect.DeepEqual(rs[0], rec) {
		t.Errorf("a receipt came back as %+v, was %+v", rs, rec)
	}
	var b tenet.Blob
	fill(reflect.ValueOf(&b).Elem(), 1)
	if err := db.Put(ctx, s.Scope, b, false); err != nil {
		t.Fatal(err)
	}
	if kept := must(db.Get(ctx, s.Scope, b.Thread, "")); !reflect.DeepEqual(kept, b) {
		t.Errorf("a blob came back as %+v, was %+v", kept, b)
	}
}

// fill sets every exported field to something that is not zero.
func fill(v reflect.Value, n int) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(begin.Add(time.Duration(n) * time.Minute)))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), n+i)
			}
		}
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("s", n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(n))
	case v.CanUint():
		v.SetUint(uint64(1 + n%2))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes([]byte(fmt.Sprintf("%d", n)))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n+i)
		}
	}
}

func TestModelAgrees(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			storetest.Model(t, func(t testing.TB) store.Ledger { return fresh(t) }, seed)
			storetest.ModelSessions(t, func(t testing.TB) store.Sessions { return fresh(t) }, seed)
			if seed > 0 {
				return
			}
			storetest.Model(t, func(t testing.TB) store.Ledger { return sealed(t) }, seed)
			storetest.ModelSessions(t, func(t testing.TB) store.Sessions { return sealed(t) }, seed)
		})
	}
}
