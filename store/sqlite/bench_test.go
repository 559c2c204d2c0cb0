package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

var (
	ctx   = context.Background()
	begin = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
)

func user(t testing.TB, id string) tenet.Scope {
	t.Helper()
	s, err := tenet.NewScope("acme", tenet.User(id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func principal(t testing.TB, k tenet.PrincipalKind) tenet.Principal {
	t.Helper()
	p, err := tenet.NewPrincipal(k, "acme", "test")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fact is the case of a fact that the user just stated.
func fact(by tenet.Principal, scope tenet.Scope, id, key, text string, at time.Time) gate.Case {
	c := tenet.Fact(scope, key, text).Quoting(text)
	c.ID = tenet.CandidateID(id)
	return gate.Case{By: by, Candidate: c, At: at}
}

// judge decides against the ledger's present state.
func judge(t testing.TB, l store.Ledger, g *gate.Gate, c gate.Case) gate.Decision {
	t.Helper()
	d, err := judged(l, g, c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func judged(l store.Ledger, g *gate.Gate, c gate.Case) (gate.Decision, error) {
	st, err := l.State(ctx, c.Candidate.Scope, g.Query(c), c.At)
	if err != nil {
		return gate.Decision{}, err
	}
	c.State = st
	return g.Judge(c)
}

func apply(t testing.TB, l store.Ledger, ds ...gate.Decision) []store.Applied {
	t.Helper()
	as, err := l.Apply(ctx, ds, nil)
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// noLimit lets benchmarks write more than a person has.
func noLimit() *gate.Gate {
	return gate.New(nil, gate.WithLimits(gate.Limits{Rows: 1 << 30, Bytes: 1 << 40, Value: 6 << 10}))
}

// decisions judges n new facts, spread over 50-fact scopes.
func decisions(b *testing.B, db *DB, n int) []gate.Decision {
	g, by := noLimit(), principal(b, tenet.App)
	ds := make([]gate.Decision, n)
	for i := range ds {
		c := fact(by, user(b, fmt.Sprint("u", i/50)), fmt.Sprint("c", i), fmt.Sprint("key.", i%50), fmt.Sprint("The value of number ", i, " is of ordinary length."), begin.Add(time.Duration(i)*time.Second))
		d, err := g.Judge(c)
		if err != nil {
			b.Fatal(err)
		}
		ds[i] = d
	}
	return ds
}

// BenchmarkApplyFact is a durable write of one fact, gate time apart, beside
// the same rows, as they then stand in the file, written by hand: prepared
// statements, one transaction each, synchronous FULL. The two take turns, so
// that a busy machine slows both, and the medians are compared.
func BenchmarkApplyFact(b *testing.B) {
	db := fresh(b)
	ds := decisions(b, db, b.N)
	hand := byHand(b, ds)
	var ours, theirs []time.Duration
	b.ResetTimer()
	for i := range ds {
		t0 := time.Now()
		if _, err := db.Apply(ctx, ds[i:i+1], nil); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		hand(i)
		ours, theirs = append(ours, t1.Sub(t0)), append(theirs, time.Since(t1))
	}
	report(b, ours, theirs)
}

// report compares medians.
func report(b *testing.B, ours, theirs []time.Duration) {
	slices.Sort(ours)
	slices.Sort(theirs)
	o, h := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(o.Microseconds()), "us-tenet")
	b.ReportMetric(float64(h.Microseconds()), "us-hand")
	b.ReportMetric(float64(o)/float64(h), "ratio")
}

// byHand returns a function that writes the rows of decision i.
func byHand(b *testing.B, ds []gate.Decision) func(int) {
	src := fresh(b)
	for i := 0; i < len(ds); i += 50 {
		apply(b, src, ds[i:min(i+50, len(ds))]...)
	}
	type table struct {
		stmt *sql.Stmt
		rows [][]any
	}
	dst := fresh(b)
	for _, copy := range []string{"subjects", "heads"} {
		for _, r := range rowsOf(b, src, `SELECT * FROM `+copy) {
			if _, err := dst.w.pool.Exec(`INSERT INTO `+copy+` VALUES (`+places(len(r))+`)`, r...); err != nil {
				b.Fatal(err)
			}
		}
	}
	var tables []table
	for _, name := range []string{"records", "evidence", "chain", "trail"} {
		rows := rowsOf(b, src, `SELECT t.* FROM records r JOIN `+name+` t ON t.scope = r.scope AND t.seq = r.seq ORDER BY r.rowid`)
		stmt, err := dst.w.pool.Prepare(`INSERT INTO ` + name + ` VALUES (` + places(len(rows[0])) + `)`)
		if err != nil {
			b.Fatal(err)
		}
		tables = append(tables, table{stmt, rows})
	}
	head, err := dst.w.pool.Prepare(`UPDATE heads SET text = ?, stats = ?, audit = ?, facts = ?, staged = ?, last_at = ?, hash = ? WHERE scope = ?`)
	if err != nil {
		b.Fatal(err)
	}
	return func(i int) {
		tx, err := dst.w.pool.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range tables {
			if _, err := tx.Stmt(t.stmt).Exec(t.rows[i]...); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := tx.Stmt(head).Exec(0, 0, i, i, 0, i, tables[2].rows[i][9], tables[0].rows[i][0]); err != nil {
			b.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

func places(n int) string { return "?" + strings.Repeat(", ?", n-1) }

func rowsOf(b *testing.B, db *DB, query string) (out [][]any) {
	b.Helper()
	rs, err := db.w.pool.Query(query)
	if err != nil {
		b.Fatal(err)
	}
	defer rs.Close()
	cols, _ := rs.Columns()
	for rs.Next() {
		row, to := make([]any, len(cols)), make([]any, len(cols))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rs.Scan(to...); err != nil {
			b.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// fifty fills 1,000 users' scopes with 50 facts each and returns one of them.
func fifty(b *testing.B, db *DB) tenet.Scope {
	ds := decisions(b, db, 50*1000)
	for i := 0; i < len(ds); i += 50 {
		apply(b, db, ds[i:i+50]...)
	}
	return user(b, "u500")
}

// BenchmarkFacts50 loads 50 facts of one of 1,000 users, cached and as the
// first read after a write, each beside a bare prepared SELECT of the same
// rows scanned into variables. They take turns and the medians are compared.
func BenchmarkFacts50(b *testing.B) {
	db := fresh(b)
	scope := fifty(b, db)
	p, err := db.head(ctx, db.r, "bench", scope)
	if err != nil {
		b.Fatal(err)
	}
	stmt, err := db.r.pool.Prepare(`SELECT ` + recordColumns + ` FROM records INDEXED BY records_usage
		WHERE scope = ? AND tier = 1 AND sys_to = 9223372036854775807 AND valid_to > ? AND valid_from <= ?`)
	if err != nil {
		b.Fatal(err)
	}
	at := tenet.AsOf{Valid: begin.AddDate(1, 0, 0)}
	bare := func() (n int) {
		rs, err := stmt.Query(p.id, column.Start(at.Valid), column.Start(at.Valid))
		if err != nil {
			b.Fatal(err)
		}
		defer rs.Close()
		for rs.Next() {
			var r tenet.Record
			var value, origins, agreed []byte
			var a, z, f, o, e int64
			if err := rs.Scan(&r.ID, &r.Tier, &r.Key, &value, &r.Text, &r.Label, &origins, &agreed, &r.Seen, &r.Session, &r.Message, &r.ToolCall, &r.Speaker, &r.Position,
				&a, &z, &f, &o, &r.Supersedes, &r.SupersededBy, &r.FragmentOf, &r.Elevates, &r.Closed, &r.Multi, &r.Safety, &e, &r.Expired, &r.Signature); err != nil {
				b.Fatal(err)
			}
			n++
		}
		return n
	}
	for _, c := range []struct {
		name string
		drop bool
	}{{"cached", false}, {"uncached", true}} {
		b.Run(c.name, func(b *testing.B) {
			var ours, theirs []time.Duration
			for b.Loop() {
				if c.drop {
					db.facts.drop(p.id)
				}
				t0 := time.Now()
				rs, err := db.Facts(ctx, scope, at)
				t1 := time.Now()
				if n := bare(); err != nil || len(rs) != 50 || n != 50 {
					b.Fatal(len(rs), n, err)
				}
				ours, theirs = append(ours, t1.Sub(t0)), append(theirs, time.Since(t1))
			}
			report(b, ours, theirs)
		})
	}
}

// BenchmarkApplyParallel is many goroutines writing facts of their own users.
func BenchmarkApplyParallel(b *testing.B) {
	db, err := Open(ctx, filepath.Join(b.TempDir(), "tenet.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	ds := decisions(b, db, b.N)
	var next atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := next.Add(1) - 1
			if _, err := db.Apply(ctx, ds[i:i+1], nil); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkAppend is one message into one of many sessions.
func BenchmarkAppend(b *testing.B) {
	db := fresh(b)
	scope := user(b, "sarah")
	if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "s", Scope: scope, CreatedAt: begin}); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		m := tenet.Message{ID: tenet.MessageID(fmt.Sprint("m", n)), Role: tenet.RoleUser, Text: "Show me this week's promotions.", RecordedAt: begin.Add(time.Duration(n) * time.Second)}
		if _, err := db.Append(ctx, scope, "s", []tenet.Message{m}, begin); err != nil {
			b.Fatal(err)
		}
	}
}
