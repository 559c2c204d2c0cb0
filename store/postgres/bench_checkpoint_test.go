package postgres

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

var state = bytes.Repeat([]byte("0123456789abcdef"), 640)

// BenchmarkCheckpoint is the next version of 10 KB, of which twenty stay, and the
// newest one read back, beside the same rows by hand under the session's lock.
func BenchmarkCheckpoint(b *testing.B) {
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
		versions := make([]int64, 64)
		b.Run("put", func(b *testing.B) {
			sideBySide(b, clients, func(c, _ int) error {
				versions[c]++
				return db.PutCheckpoint(ctx, scopes[c], tenet.Checkpoint{Session: "ours", Version: versions[c], State: state, At: begun}, 0, 20)
			}, func(c, _ int) error {
				tx, err := db.pool.Begin(ctx)
				if err != nil {
					return err
				}
				defer tx.Rollback(ctx)
				if _, err := tx.Exec(ctx, `SELECT 1 FROM tenet.sessions WHERE scope = $1 AND sid = $2 FOR UPDATE`, ids[c], sids[c]); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, `INSERT INTO tenet.checkpoints (scope, sid, version, step, position, at, content, sealed, tenant) VALUES ($1, $2, $3, 0, 0, 0, $4, $5, 'acme')`,
					ids[c], sids[c], versions[c], state[:32], state); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, `DELETE FROM tenet.checkpoints WHERE scope = $1 AND sid = $2 AND version <= $3`, ids[c], sids[c], versions[c]-20); err != nil {
					return err
				}
				return tx.Commit(ctx)
			})
		})
		for c := range 64 { // whoever has none yet
			if versions[c] == 0 {
				db.PutCheckpoint(ctx, scopes[c], tenet.Checkpoint{Session: "ours", Version: 1, State: state, At: begun}, 0, 20)
			}
		}
		b.Run("get", func(b *testing.B) {
			sideBySide(b, clients, func(c, _ int) error {
				ks, err := db.Checkpoints(ctx, scopes[c], "ours", 0, 1)
				if err == nil && (len(ks) != 1 || len(ks[0].State) != len(state)) {
					err = fmt.Errorf("%d checkpoints", len(ks))
				}
				return err
			}, func(c, _ int) error {
				var sealed []byte
				return db.pool.QueryRow(ctx, `SELECT k.sealed FROM tenet.subjects s JOIN tenet.session_names n ON n.scope = s.scope AND n.external_id = 'ours'
					JOIN tenet.checkpoints k ON k.scope = n.scope AND k.sid = n.sid WHERE s.tenant = 'acme' AND s.kind = 1 AND s.external_id = $1 ORDER BY k.version DESC LIMIT 1`,
					fmt.Sprint("u", c)).Scan(&sealed)
			})
		})
	})
}

// TestCheckpointThroughput prints what scripts/bench-langgraph.sh compares: puts
// and gets of 10 KB a second.
func TestCheckpointThroughput(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints figures; scripts/bench-langgraph.sh runs it")
	}
	db := fresh(t)
	for _, clients := range []int{1, 8, 64} {
		for _, what := range []string{"put", "get"} {
			var n atomic.Int64
			var wg sync.WaitGroup
			until := time.Now().Add(2 * time.Second)
			for c := range clients {
				scope := user(t, "acme", fmt.Sprint(clients, "u", c))
				if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "run", Scope: scope, CreatedAt: begun}); err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					for v := int64(1); time.Now().Before(until); v++ {
						var err error
						if what == "put" {
							err = db.PutCheckpoint(ctx, scope, tenet.Checkpoint{Session: "run", Version: v, State: state, At: begun}, 0, 20)
						} else {
							_, err = db.Checkpoints(ctx, scope, "run", 0, 1)
						}
						if err != nil {
							t.Error(err)
							return
						}
						n.Add(1)
					}
				})
			}
			wg.Wait()
			t.Logf("Tenet on PostgreSQL: checkpoint %s, %d clients: %d/s", what, clients, n.Load()/2)
		}
	}
}
