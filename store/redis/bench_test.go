package redis

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
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

func clients(b *testing.B, f func(b *testing.B, db *DB, scopes []tenet.Scope, clients int)) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n, " clients"), func(b *testing.B) {
			db := open(b, single(b), Options{MaxConns: 64})
			var scopes []tenet.Scope
			for i := range 64 {
				scopes = append(scopes, scope(b, "acme", tenet.User(fmt.Sprint("u", i))))
				ensure(b, db, scopes[i], "chat")
			}
			f(b, db, scopes, n)
		})
	}
}

const words = "Could you look up this week's promotions for me, and tell me which of them I can eat?"

// BenchmarkAppend is one message at the end of a log, beside one MULTI of the
// commands that keep the same: log, id, client id, session, queue.
func BenchmarkAppend(b *testing.B) {
	clients(b, func(b *testing.B, db *DB, scopes []tenet.Scope, n int) {
		at := time.Now()
		sealed := bytes.Repeat([]byte{7}, len(words)+80)
		sideBySide(b, n, func(_, i int) error {
			m := message(fmt.Sprint("m", i), words)
			_, err := db.Append(ctx, scopes[i%64], "chat", []tenet.Message{m}, at)
			return err
		}, func(_, i int) error {
			k := fmt.Sprintf("{%s:hand%d}", db.prefix, i%64)
			_, err := db.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.RPush(ctx, k+":log", sealed)
				p.HSet(ctx, k+":ids", fmt.Sprint("m", i), i)
				p.HSet(ctx, k+":clients", fmt.Sprint("client m", i), i)
				p.HIncrBy(ctx, k+":s", "len", 1)
				p.HSet(ctx, k+":s", "la", at.UnixMicro(), "due", at.UnixMicro())
				p.ZAdd(ctx, k+":due", redis.Z{Score: float64(at.UnixMicro()), Member: "chat"})
				return nil
			})
			return err
		})
	})
}

var state = bytes.Repeat([]byte("0123456789abcdef"), 640)

// BenchmarkCheckpointPut is the next version of 10 KB, of which twenty stay,
// beside one MULTI of the same.
func BenchmarkCheckpointPut(b *testing.B) {
	clients(b, func(b *testing.B, db *DB, scopes []tenet.Scope, n int) {
		versions := make([]int64, n)
		sideBySide(b, n, func(c, i int) error {
			versions[c]++
			return db.PutCheckpoint(ctx, scopes[c%64], tenet.Checkpoint{Session: "chat", Version: versions[c], State: state, At: time.Now()}, 0, 20)
		}, func(c, i int) error {
			k := fmt.Sprintf("{%s:hand%d}", db.prefix, c%64)
			_, err := db.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.HSet(ctx, k+":ck", versions[c], state)
				p.HSet(ctx, k+":s", "ck", versions[c])
				p.HDel(ctx, k+":ck", fmt.Sprint(versions[c]-20))
				return nil
			})
			return err
		})
	})
}

// BenchmarkCheckpointGet is the newest version of 10 KB beside one HGET.
func BenchmarkCheckpointGet(b *testing.B) {
	clients(b, func(b *testing.B, db *DB, scopes []tenet.Scope, n int) {
		for i, sc := range scopes {
			if err := db.PutCheckpoint(ctx, sc, tenet.Checkpoint{Session: "chat", Version: 1, State: state, At: time.Now()}, 0, 20); err != nil {
				b.Fatal(err)
			}
			db.client.HSet(ctx, fmt.Sprintf("{%s:hand%d}:ck", db.prefix, i), 1, state)
		}
		sideBySide(b, n, func(_, i int) error {
			ks, err := db.Checkpoints(ctx, scopes[i%64], "chat", 0, 1)
			if err == nil && (len(ks) != 1 || len(ks[0].State) != len(state)) {
				err = fmt.Errorf("%d checkpoints", len(ks))
			}
			return err
		}, func(_, i int) error {
			return db.client.HGet(ctx, fmt.Sprintf("{%s:hand%d}:ck", db.prefix, i%64), "1").Err()
		})
	})
}

// BenchmarkMessages is the last twenty of a log beside one LRANGE.
func BenchmarkMessages(b *testing.B) {
	clients(b, func(b *testing.B, db *DB, scopes []tenet.Scope, n int) {
		sealed := bytes.Repeat([]byte{7}, len(words)+80)
		for i, sc := range scopes {
			for m := range 40 {
				if _, err := db.Append(ctx, sc, "chat", []tenet.Message{message(fmt.Sprint("m", m), words)}, time.Time{}); err != nil {
					b.Fatal(err)
				}
				db.client.RPush(ctx, fmt.Sprintf("{%s:hand%d}:log", db.prefix, i), sealed)
			}
		}
		sideBySide(b, n, func(_, i int) error {
			ms, err := db.Messages(ctx, scopes[i%64], "chat", -20, 20)
			if err == nil && len(ms) != 20 {
				err = fmt.Errorf("%d messages", len(ms))
			}
			return err
		}, func(_, i int) error {
			return db.client.LRange(ctx, fmt.Sprintf("{%s:hand%d}:log", db.prefix, i%64), -20, -1).Err()
		})
	})
}

// BenchmarkALongSessionMoves takes a session of 10,000 messages of 500 bytes out,
// and puts it back: the longest that others of its shard wait is the latter.
func BenchmarkALongSessionMoves(b *testing.B) {
	for name, dsn := range map[string]string{"single": single(b), "cluster": cluster(b)} {
		db := few(b, dsn)
		sc := scope(b, "acme", tenet.User("sarah"))
		ensure(b, db, sc, "long")
		for i := range 100 {
			var ms []tenet.Message
			for j := range 100 {
				ms = append(ms, message(fmt.Sprint("m", i, ".", j), strings.Repeat("x", 500)))
			}
			if _, err := db.Append(ctx, sc, "long", ms, time.Now()); err != nil {
				b.Fatal(err)
			}
		}
		w, err := db.Whole(ctx, sc, "long")
		if err != nil || len(w.Messages) != 10_000 {
			b.Fatal(len(w.Messages), err)
		}
		b.Run(name+" out", func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Whole(ctx, sc, "long"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" back", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				w.ID = tenet.SessionID(fmt.Sprint("back ", b.N, " ", i))
				for j := range w.Messages {
					w.Messages[j].ID, w.Messages[j].Session = tenet.MessageID(fmt.Sprint("b", b.N, ".", i, ".", j)), w.ID
				}
				if err := db.PutBack(ctx, sc, w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
