package postgres

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store/column"
)

// sideBySide runs ours and the same by hand in turns, by so many clients at
// once, so that a busy machine slows both, and compares the medians.
func sideBySide(b *testing.B, clients int, ours, hand func(client, i int) error) {
	b.Helper()
	times := make([][2][]time.Duration, clients)
	var n atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for c := range clients {
		wg.Go(func() {
			for {
				i := int(n.Add(1)) - 1
				if i >= b.N {
					return
				}
				for k, f := range []func(int, int) error{ours, hand} {
					t0 := time.Now()
					if err := f(c, i); err != nil {
						b.Error(err)
						return
					}
					times[c][k] = append(times[c][k], time.Since(t0))
				}
			}
		})
	}
	wg.Wait()
	var all [2][]time.Duration
	for _, t := range times {
		all[0], all[1] = append(all[0], t[0]...), append(all[1], t[1]...)
	}
	for k := range all {
		slices.Sort(all[k])
	}
	if b.Failed() || len(all[1]) == 0 {
		return
	}
	p50 := func(k int) float64 { return float64(all[k][len(all[k])/2].Microseconds()) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(p50(0), "us-tenet")
	b.ReportMetric(p50(1), "us-hand")
	b.ReportMetric(p50(0)/p50(1), "ratio")
}

func each(b *testing.B, f func(b *testing.B, clients int)) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n, " clients"), func(b *testing.B) { f(b, n) })
	}
}

// bench is a store with scopes of 50 facts each.
func bench(b testing.TB, scopes int) (*DB, []tenet.Scope, []int64) {
	b.Helper()
	db, err := Open(ctx, named(b, server(b), database(b, 0)), Options{MasterKey: testKey, MaxConns: 32})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	g := gate.New(nil, gate.WithLimits(gate.Limits{Rows: 1 << 30, Bytes: 1 << 40, Value: 6 << 10}))
	var out []tenet.Scope
	var ids []int64
	for s := range scopes {
		scope := user(b, "acme", fmt.Sprint("u", s))
		ds := make([]gate.Decision, 50)
		for i := range ds {
			ds[i] = fact(b, g, scope, fmt.Sprint("c", i), fmt.Sprint("key.", i), fmt.Sprint("The value of number ", i, " is of ordinary length."), begun.Add(time.Duration(i)*time.Second))
		}
		if _, err := db.Apply(ctx, ds, nil); err != nil {
			b.Fatal(err)
		}
		sub, err := db.find(ctx, db.at(scope), "find", scope)
		if err != nil {
			b.Fatal(err)
		}
		out, ids = append(out, scope), append(ids, sub.id)
	}
	if _, err := db.pool.Exec(ctx, `ANALYZE`); err != nil {
		b.Fatal(err)
	}
	return db, out, ids
}

// row is a record as plain SQL would read it.
type row struct {
	s [13]string
	n [9]int64
	b [3][]byte
	f [3]bool
}

// BenchmarkLoadByIdentity is a scope's 50 facts, complete, beside one SELECT
// of the same columns by hand.
func BenchmarkLoadByIdentity(b *testing.B) {
	columns := "r." + strings.Join(strings.FieldsFunc(recordColumns, func(r rune) bool { return strings.ContainsRune(", \n\t", r) }), ", r.")
	for _, way := range []string{"cached", "read"} {
		each(b, func(b *testing.B, clients int) {
			db, scopes, _ := bench(b, 64)
			b.Run(way, func(b *testing.B) {
				sideBySide(b, clients, func(_, i int) error {
					if way == "read" {
						db.facts.mu.Lock()
						db.facts.sets, db.facts.rows = nil, 0
						db.facts.mu.Unlock()
					}
					rs, err := db.Facts(ctx, scopes[i%64], tenet.AsOf{Valid: begun.Add(time.Hour)})
					if err == nil && len(rs) != 50 {
						err = fmt.Errorf("%d facts", len(rs))
					}
					return err
				}, func(_, i int) error {
					rs, err := db.pool.Query(ctx, `SELECT `+columns+` FROM tenet.subjects s JOIN tenet.records r ON r.scope = s.scope
						WHERE s.tenant = $1 AND s.kind = 1 AND s.external_id = $2 AND r.tier = 1 AND r.sys_to = 9223372036854775807 AND r.valid_from <= $3 AND r.valid_to > $3 ORDER BY r.key`,
						"acme", fmt.Sprint("u", i%64), column.Start(begun.Add(time.Hour)))
					if err != nil {
						return err
					}
					var out []row
					var r row
					_, err = pgx.ForEachRow(rs, []any{
						&r.s[0], &r.n[0], &r.s[1], &r.b[0], &r.s[2], &r.n[1], &r.b[1], &r.b[2], &r.n[2], &r.s[3], &r.s[4], &r.s[5], &r.s[6], &r.n[3],
						&r.n[4], &r.n[5], &r.n[6], &r.n[7], &r.s[7], &r.s[8], &r.s[9], &r.s[10], &r.s[11], &r.f[0], &r.f[1], &r.n[8], &r.f[2], &r.s[12],
					}, func() error { out = append(out, r); return nil })
					return err
				})
			})
		})
	}
}

// BenchmarkRemember is a durable write of one new fact with evidence, verdict
// and chain, beside the same rows inserted by hand under the head's lock.
func BenchmarkRemember(b *testing.B) {
	each(b, func(b *testing.B, clients int) {
		db, _, ids := bench(b, 64)
		g := gate.New(nil, gate.WithLimits(gate.Limits{Rows: 1 << 30, Bytes: 1 << 40, Value: 6 << 10}))
		ds := make([]gate.Decision, b.N)
		for i := range ds {
			ds[i] = fact(b, g, user(b, "acme", fmt.Sprint("new", i%64)), fmt.Sprint("n", i), fmt.Sprint("key.", i), fmt.Sprint("The value of number ", i, " is of ordinary length."), begun)
		}
		for s := range 64 { // as those of the other side, the subjects are known already
			scope := user(b, "acme", fmt.Sprint("new", s))
			if _, err := db.Apply(ctx, []gate.Decision{fact(b, g, scope, "first", "first", "The first value is of ordinary length.", begun)}, nil); err != nil {
				b.Fatal(err)
			}
		}
		blob := make([]byte, 32)
		origin := make([]byte, 90)
		sideBySide(b, clients, func(_, i int) error {
			_, err := db.Apply(ctx, ds[i:i+1], nil)
			return err
		}, func(_, i int) error {
			tx, err := db.pool.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			scope, id, text := ids[i%64], fmt.Sprint("h", i), fmt.Sprint("The value of number ", i, " is of ordinary length.")
			var audit int64
			if err := tx.QueryRow(ctx, `SELECT audit FROM tenet.heads WHERE scope = $1 FOR UPDATE`, scope).Scan(&audit); err != nil {
				return err
			}
			audit++
			for _, s := range []statement{
				{query: `INSERT INTO tenet.records (scope, id, tier, key, value, text, label, origins, seen, session, message, tool_call, speaker, position, valid_from, valid_to, sys_from, sys_to,
					supersedes, superseded_by, fragment_of, elevates, closed, multi, safety, expires_at, expired, signature, size, digest, seq, closed_seq, expired_seq, added, removed, tenant)
					VALUES ($1, $2, 1, $3, NULL, $4, 4, $5, 1, '', 'm', '', '', 0, $6, 9223372036854775807, $6, 9223372036854775807, '', '', '', '', '', false, false, 9223372036854775807, false, $4, 60, $7, $8, 0, 0, 0, 0, 'acme')`,
					args: []any{scope, id, fmt.Sprint("hand.", i), text, origin, column.Start(begun) + audit, blob, audit}},
				{query: `INSERT INTO tenet.evidence (scope, record, seq, n, message, session, role, label, excerpt, said_at, digest, tenant) VALUES ($1, $2, $3, 0, 'm', '', 1, 4, $4, 0, $5, 'acme')`,
					args: []any{scope, id, audit, text, blob}},
				{query: `INSERT INTO tenet.chain (scope, seq, action, outcome, codes, ruleset, at, digest, prev, hash, tenant) VALUES ($1, $2, 'admit', 1, '', $3, $4, $5, $5, $5, 'acme')`,
					args: []any{scope, audit, "0123456789abcdef", column.Start(begun) + audit, blob}},
				{query: `INSERT INTO tenet.trail (scope, seq, ref, actor, why, content, record, replaced, tier, key, label, effect, findings, at, tenant) VALUES ($1, $2, $3, 'app:test', '', $4, $3, '', 1, $5, 4, '', '', 0, 'acme')`,
					args: []any{scope, audit, id, blob, fmt.Sprint("hand.", i)}},
				{query: `UPDATE tenet.heads SET audit = $2, facts = $2, last_at = $3, hash = $4 WHERE scope = $1`, args: []any{scope, audit, column.Start(begun) + audit, blob}},
			} {
				if _, err := tx.Exec(ctx, s.query, s.args...); err != nil {
					return err
				}
			}
			return tx.Commit(ctx)
		})
	})
}

// BenchmarkAppend is one message at the end of a log, beside the same two rows
// by hand under the session's lock.
func BenchmarkAppend(b *testing.B) {
	each(b, func(b *testing.B, clients int) {
		db, scopes, ids := bench(b, 64)
		sids := make([]int64, 64)
		for i, scope := range scopes {
			for _, id := range []tenet.SessionID{"ours", "hand"} {
				if _, err := db.Ensure(ctx, scope, tenet.Session{ID: id, Scope: scope, CreatedAt: begun}); err != nil {
					b.Fatal(err)
				}
			}
			if err := db.pool.QueryRow(ctx, `SELECT sid FROM tenet.session_names WHERE scope = $1 AND external_id = 'hand'`, ids[i]).Scan(&sids[i]); err != nil {
				b.Fatal(err)
			}
		}
		const text = "Could you look up this week's promotions for me, and tell me which of them I can eat?"
		sideBySide(b, clients, func(_, i int) error {
			_, err := db.Append(ctx, scopes[i%64], "ours", []tenet.Message{{ID: tenet.MessageID(fmt.Sprint("m", i)), Role: tenet.RoleUser, Text: text, ClientID: fmt.Sprint(i), RecordedBy: "app:test", RecordedAt: begun}}, begun)
			return err
		}, func(_, i int) error {
			tx, err := db.pool.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			scope, sid := ids[i%64], sids[i%64]
			var length int64
			if err := tx.QueryRow(ctx, `SELECT length FROM tenet.sessions WHERE scope = $1 AND sid = $2 FOR UPDATE`, scope, sid).Scan(&length); err != nil {
				return err
			}
			length++
			if _, err := tx.Exec(ctx, `INSERT INTO tenet.messages (scope, sid, seq, id, role, channel, speaker, text, said_at, client_id, tool_calls, tool_call_id, retain_none, label, recorded_by, recorded_at, tenant)
				VALUES ($1, $2, $3, $4, 1, '', '', $5, 0, $6, $7, '', false, 4, 'app:test', 0, 'acme')`, scope, sid, length, fmt.Sprint("h", i), text, fmt.Sprint(i), []byte{0}); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE tenet.sessions SET length = $3, last_at = $4, due_at = $4 WHERE scope = $1 AND sid = $2`, scope, sid, length, column.Start(begun)); err != nil {
				return err
			}
			return tx.Commit(ctx)
		})
	})
}
