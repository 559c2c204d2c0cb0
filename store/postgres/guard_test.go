package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var begun = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func user(t testing.TB, tenant, id string) tenet.Scope {
	t.Helper()
	s, err := tenet.NewScope(tenant, tenet.User(id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func app(t testing.TB, tenant string) tenet.Principal {
	t.Helper()
	p, err := tenet.NewPrincipal(tenet.App, tenant, "test")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fact judges a fact that the user just stated, against nothing known.
func fact(t testing.TB, g *gate.Gate, scope tenet.Scope, id, key, text string, at time.Time) gate.Decision {
	t.Helper()
	c := tenet.Fact(scope, key, text).Quoting(text)
	c.ID = tenet.CandidateID(id)
	d, err := g.Judge(gate.Case{By: app(t, scope.Tenant()), Candidate: c, At: at})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// filled is a database in which two tenants have a row in every table.
func filled(t *testing.T, partitions int) (dsn string, db *DB) {
	t.Helper()
	dsn = named(t, server(t), database(t, partitions))
	db = open(t, dsn)
	g := gate.New(nil)
	for _, tenant := range []string{"acme", "globex"} {
		scope := user(t, tenant, "sarah")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := db.Apply(ctx, []gate.Decision{
			fact(t, g, scope, tenant+"-1", "allergy", "Allergic to shellfish, says "+tenant+".", begun),
			fact(t, g, scope, tenant+"-2", "city", "Lives in Oslo, says "+tenant+".", begun.Add(time.Second)),
		}, nil)
		must(err)
		_, err = db.Ensure(ctx, scope, tenet.Session{ID: "chat", Scope: scope, TTL: time.Hour, CreatedAt: begun})
		must(err)
		_, err = db.Append(ctx, scope, "chat", []tenet.Message{{ID: "m1", Role: tenet.RoleUser, Text: "hello from " + tenant, RecordedAt: begun}}, begun)
		must(err)
		c := tenet.Fact(scope, "pet", "Has a cat.")
		c.ID = "proposal"
		must(db.Propose(ctx, scope, "chat", c, begun))
		must(db.Serve(ctx, scope, tenet.Receipt{ID: "r", Session: "chat", At: begun}))
		must(db.PutCheckpoint(ctx, scope, tenet.Checkpoint{Session: "chat", Version: 1, State: []byte("state"), At: begun}, 0, 3))
		_, err = db.Hold(ctx, scope, "chat", "w", begun, begun.Add(time.Minute))
		must(err)
		_, _, err = db.Claim(ctx, scope, store.Claim{Session: "chat", Key: "pay", By: "w", Now: begun, Until: begun.Add(time.Minute)})
		must(err)
		must(db.Put(ctx, scope, tenet.Blob{Thread: "t", ID: "1", Data: []byte("blob"), CreatedAt: begun}, false))
		admin, err := tenet.NewPrincipal(tenet.Admin, tenant, "root")
		must(err)
		d, err := g.Access(admin, tenet.Key{ID: "key-" + tenant, Tenant: tenant, Kind: tenet.App, Hash: []byte("hash of " + tenant + " 0123456789"), CreatedAt: begun}, gate.KeyMade, begun)
		must(err)
		_, err = db.Apply(ctx, []gate.Decision{d}, nil)
		must(err)
	}
	return dsn, db
}

// tables are those with a tenant column.
func tables(t *testing.T, c *pgx.Conn) []string {
	t.Helper()
	rs, err := c.Query(ctx, `SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
		WHERE c.relnamespace = 'tenet'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rs, pgx.RowTo[string])
	if err != nil || len(names) < 20 {
		t.Fatalf("%d tables with a tenant: %v", len(names), err)
	}
	return names
}

func codeIs(err error, code string) bool { return codeOf(err) == code }

// TestOneTenantNeverSeesAnother goes past the Go code: plain SQL as the role
// that every statement of the program runs as, and every table there is.
func TestOneTenantNeverSeesAnother(t *testing.T) {
	for _, partitions := range []int{0, 4} {
		t.Run(fmt.Sprint(partitions, " parts"), func(t *testing.T) {
			dsn, _ := filled(t, partitions)
			c, err := pgx.Connect(ctx, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(ctx)
			as := func(role, tenant string, f func(pgx.Tx)) {
				t.Helper()
				tx, err := c.Begin(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(ctx)
				if _, err := tx.Exec(ctx, `SELECT set_config('role', $1, true), set_config('tenet.tenant', $2, true)`, role, tenant); err != nil {
					t.Fatal(err)
				}
				f(tx)
			}
			count := func(tx pgx.Tx, table, where string) (n int) {
				t.Helper()
				if err := tx.QueryRow(ctx, `SELECT count(*) FROM tenet.`+table+` WHERE `+where).Scan(&n); err != nil {
					t.Fatalf("%s: %v", table, err)
				}
				return n
			}
			mine := 0
			for _, table := range tables(t, c) {
				as(appRole, "acme", func(tx pgx.Tx) {
					if n := count(tx, table, `tenant <> 'acme'`); n != 0 {
						t.Errorf("%s: acme sees %d rows of others", table, n)
					}
					mine += count(tx, table, `tenant = 'acme'`)
				})
				for _, nobody := range []string{"", "initech"} {
					as(appRole, nobody, func(tx pgx.Tx) {
						if n := count(tx, table, `true`); n != 0 {
							t.Errorf("%s: tenant %q sees %d rows", table, nobody, n)
						}
					})
				}
				as(appRole, "acme", func(tx pgx.Tx) {
					if _, err := tx.Exec(ctx, `UPDATE tenet.`+table+` SET tenant = 'acme' WHERE tenant = 'globex'`); err == nil {
						if n := count(tx, table, `true`); n != count(tx, table, `tenant = 'acme'`) {
							t.Errorf("%s: took rows over", table)
						}
					} else if table != "chain" && table != "cuts" || !codeIs(err, insufficientPrivilege) {
						t.Errorf("%s: %v", table, err)
					}
				})
				as(appRole, "acme", func(tx pgx.Tx) {
					tag, err := tx.Exec(ctx, `UPDATE tenet.`+table+` SET tenant = 'globex'`)
					if err == nil && tag.RowsAffected() > 0 {
						t.Errorf("%s: %d rows were given to another tenant", table, tag.RowsAffected())
					}
				})
				as(appRole, "acme", func(tx pgx.Tx) {
					tag, err := tx.Exec(ctx, `DELETE FROM tenet.`+table+` WHERE tenant = 'globex'`)
					if err != nil && !codeIs(err, insufficientPrivilege) || err == nil && tag.RowsAffected() > 0 {
						t.Errorf("%s: removed %d rows of another tenant: %v", table, tag.RowsAffected(), err)
					}
				})
			}
			if mine < 15 {
				t.Errorf("acme sees only %d rows of its own: the test has nothing to hide", mine)
			}
			// A new row cannot name another tenant.
			as(appRole, "acme", func(tx pgx.Tx) {
				_, err := tx.Exec(ctx, `INSERT INTO tenet.session_names (scope, sid, external_id, tenant) VALUES (1, 1, 'x', 'globex')`)
				if !codeIs(err, insufficientPrivilege) {
					t.Errorf("a row for another tenant: %v", err)
				}
			})
			// What was decided can be read and added to, nothing more.
			for _, q := range []string{`UPDATE tenet.chain SET action = 'x'`, `DELETE FROM tenet.chain`, `DELETE FROM tenet.cuts`, `UPDATE tenet.cuts SET upto = 0`, `TRUNCATE tenet.chain`, `DROP TABLE tenet.chain`,
				`ALTER TABLE tenet.chain DISABLE ROW LEVEL SECURITY`, `DELETE FROM tenet.heads`, `UPDATE tenet.meta SET version = 9`, `CREATE TABLE tenet.mine (x int)`,
				`TRUNCATE tenet.records`} {
				as(appRole, "acme", func(tx pgx.Tx) {
					if _, err := tx.Exec(ctx, q); !codeIs(err, insufficientPrivilege) {
						t.Errorf("%s as the application: %v", q, err)
					}
				})
			}
			// The parts of a table are no way around it.
			if partitions > 0 {
				as(appRole, "acme", func(tx pgx.Tx) {
					if _, err := tx.Exec(ctx, `SELECT * FROM tenet.records_p0`); !codeIs(err, insufficientPrivilege) {
						t.Errorf("a part by itself: %v", err)
					}
				})
			}
			// The worker sees whose turn it is in every tenant, and no content.
			as(workerRole, "", func(tx pgx.Tx) {
				for _, table := range []string{"heads", "chain", "sessions", "proposals", "records", "blobs"} {
					var n int
					if err := tx.QueryRow(ctx, `SELECT count(DISTINCT tenant) FROM tenet.`+table).Scan(&n); err != nil || n != 2 {
						t.Errorf("%s: the worker sees %d tenants: %v", table, n, err)
					}
				}
			})
			for _, q := range []string{`SELECT text FROM tenet.records`, `SELECT * FROM tenet.messages`, `SELECT data FROM tenet.blobs`, `SELECT sealed FROM tenet.proposals`,
				`SELECT external_id FROM tenet.subjects`, `SELECT external_id FROM tenet.session_names`, `SELECT reads FROM tenet.sessions`, `SELECT ref FROM tenet.trail`,
				`SELECT * FROM tenet.keys`, `SELECT excerpt FROM tenet.evidence`, `SELECT sealed FROM tenet.checkpoints`, `SELECT numbers FROM tenet.vectors`,
				`UPDATE tenet.sessions SET worker = 'x'`, `DELETE FROM tenet.chain`, `INSERT INTO tenet.chain (scope) VALUES (1)`, `SELECT answer FROM tenet.once`} {
				as(workerRole, "", func(tx pgx.Tx) {
					if _, err := tx.Exec(ctx, q); !codeIs(err, insufficientPrivilege) {
						t.Errorf("%s as the worker: %v", q, err)
					}
				})
			}
		})
	}
}

// TestALoginNeedsNoRightOfItsOwn: the server's login is in the two roles and
// nothing else, and everything works; on its own it reads nothing.
func TestALoginNeedsNoRightOfItsOwn(t *testing.T) {
	dsn, _ := filled(t, 0)
	login := fmt.Sprint("tenet_login_", time.Now().UnixNano())
	raw(t, dsn, `CREATE ROLE `+login+` LOGIN NOINHERIT IN ROLE tenet_app, tenet_worker`)
	t.Cleanup(func() { raw(t, server(t), `DROP ROLE `+login) })
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	as := fmt.Sprintf("postgres://%s@%s:%d/%s?sslmode=disable", login, config.Host, config.Port, config.Database)
	db := open(t, as)
	scope := user(t, "acme", "sarah")
	if _, err := db.Apply(ctx, []gate.Decision{fact(t, gate.New(nil), scope, "more", "job", "Works as a nurse.", begun.Add(time.Hour))}, nil); err != nil {
		t.Fatal(err)
	}
	rs, err := db.Facts(ctx, scope, tenet.AsOf{Valid: begun.Add(2 * time.Hour)})
	if err != nil || len(rs) != 3 {
		t.Errorf("%d facts: %v", len(rs), err)
	}
	if l, err := db.Lease(ctx, store.LeaseRequest{Worker: "w", Now: begun.Add(time.Hour), Until: begun.Add(2 * time.Hour)}); err != nil || l == nil {
		t.Errorf("lease: %v %v", l, err)
	}
	c, err := pgx.Connect(ctx, as)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, table := range tables(t, c) {
		if _, err := c.Exec(ctx, `SELECT count(*) FROM tenet.`+table); !codeIs(err, insufficientPrivilege) {
			t.Errorf("%s without a role: %v", table, err)
		}
	}
	db.Close()
}

// TestValuesOfAKeyStayApart: what the program gets wrong, the tables refuse.
func TestValuesOfAKeyStayApart(t *testing.T) {
	for _, partitions := range []int{0, 4} {
		dsn, _ := filled(t, partitions)
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		copied := func(set string) error {
			tx, err := c.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, `CREATE TEMP TABLE more ON COMMIT DROP AS SELECT * FROM tenet.records WHERE id = 'acme-1'; UPDATE more SET id = 'more', `+set, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			_, err = tx.Exec(ctx, `INSERT INTO tenet.records SELECT * FROM more`, pgx.QueryExecModeSimpleProtocol)
			return err
		}
		if err := copied(`key = 'allergy'`); !taken(err) {
			t.Errorf("%d parts: a second open value of a key: %v", partitions, err)
		}
		if err := copied(`valid_from = valid_from + 1, valid_to = valid_from + 1000`); !codeIs(err, exclusionViolation) {
			t.Errorf("%d parts: a value within another's time: %v", partitions, err)
		}
		if err := copied(`valid_to = valid_from, valid_from = valid_from - 1000`); err != nil {
			t.Errorf("%d parts: a value before another: %v", partitions, err)
		}
		if err := copied(`multi = true`); err != nil {
			t.Errorf("%d parts: one of many values: %v", partitions, err)
		}
	}
}

// TestTheServersRoleCannotCutAChain goes past the Go code: what removes entries
// looks by itself at what may go, whoever calls it.
func TestTheServersRoleCannotCutAChain(t *testing.T) {
	for _, partitions := range []int{0, 4} {
		t.Run(fmt.Sprint(partitions, " parts"), func(t *testing.T) {
			dsn := named(t, server(t), database(t, partitions))
			db := open(t, dsn)
			g, scope, other := gate.New(nil), user(t, "acme", "sarah"), user(t, "globex", "sarah")
			now := time.Now()
			long := now.Add(-100 * 24 * time.Hour)
			refuse := func(scope tenet.Scope, id string, at time.Time) gate.Decision {
				c := tenet.Candidate{ID: tenet.CandidateID(id), Scope: scope, Text: "of no tier"}
				d, err := g.Judge(gate.Case{By: app(t, scope.Tenant()), Candidate: c.Quoting(c.Text), At: at})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			for _, s := range []tenet.Scope{scope, other} {
				ask := func(id string, at time.Time) gate.Decision {
					operator, err := tenet.NewPrincipal(tenet.Operator, s.Tenant(), "test")
					if err != nil {
						t.Fatal(err)
					}
					d, err := g.Freeze(operator, s, "case", at)
					if id == "thaw" {
						d, err = g.Thaw(operator, s, "case", at)
					}
					if err != nil {
						t.Fatal(err)
					}
					return d
				}
				_, err := db.Apply(ctx, []gate.Decision{ // 1 and 2 could go, 3 is needed, 4 and 5 are too young
					ask("freeze", long), ask("thaw", long.Add(time.Second)), refuse(s, "c", long.Add(2*time.Second)),
					ask("freeze", now), ask("thaw", now.Add(time.Second)),
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
			}
			mine, err := db.ChainName(ctx, scope)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := db.ChainName(ctx, other)
			if err != nil {
				t.Fatal(err)
			}
			id, _ := store.ChainOf(mine)
			strange, _ := store.ChainOf(theirs)
			c, err := pgx.Connect(ctx, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(ctx)
			try := func(role, tenant string, of int64, gone []int64, before ...string) error {
				t.Helper()
				tx, err := c.Begin(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(ctx)
				for _, q := range append([]string{`SELECT set_config('role', '` + role + `', true), set_config('tenet.tenant', '` + tenant + `', true)`}, before...) {
					if _, err := tx.Exec(ctx, q); err != nil {
						t.Fatalf("%s: %v", q, err)
					}
				}
				var n int64
				err = tx.QueryRow(ctx, `SELECT tenet.cut($1, $2)`, of, gone).Scan(&n)
				if err == nil && n != int64(len(gone)) {
					t.Errorf("%d entries went, want %d", n, len(gone))
				}
				return err
			}
			// What somebody with the server's login can write.
			forged := []string{
				fmt.Sprintf(`INSERT INTO tenet.chain (scope, seq, action, outcome, codes, ruleset, at, digest, prev, hash) VALUES (%d, 6, 'cut', 0, '', '', %d, '', '', 'x')`, id, now.UnixMicro()),
				fmt.Sprintf(`INSERT INTO tenet.cuts (scope, seq, upto, digest, body, sig) VALUES (%d, 6, 5, 'x', 'x', 'x')`, id),
				fmt.Sprintf(`UPDATE tenet.heads SET audit = 6, hash = 'x', cut = 5 WHERE scope = %d`, id),
				fmt.Sprintf(`DELETE FROM tenet.trail WHERE scope = %d AND seq IN (1, 2, 4, 5)`, id),
			}
			for what, err := range map[string]error{
				"without a cut on the chain": try(appRole, "acme", id, []int64{1}),
				"of another tenant":          try(appRole, "acme", strange, []int64{1}),
				"as nobody":                  try(appRole, "", id, []int64{1}),
				"as the worker":              try(workerRole, "acme", id, []int64{1}, `SELECT 1`),
				"what a row names":           try(appRole, "acme", id, []int64{3}, forged...),
				"what is young":              try(appRole, "acme", id, []int64{4}, forged...),
				"behind the cut":             try(appRole, "acme", id, []int64{6}, forged...),
				"whose words are there":      try(appRole, "acme", id, []int64{1}, forged[:3]...),
				"under a legal hold":         try(appRole, "acme", id, []int64{1}, append(forged, fmt.Sprintf(`UPDATE tenet.heads SET frozen = 4 WHERE scope = %d`, id))...),
			} {
				if !codeIs(err, insufficientPrivilege) {
					t.Errorf("cutting %s: %v", what, err)
				}
			}
			// The control: with all of that, what is old and unneeded goes, and verify
			// finds that the head was forged.
			if err := try(appRole, "acme", id, []int64{1, 2}, forged...); err != nil {
				t.Errorf("the control: %v", err)
			}
			for _, q := range append(forged, fmt.Sprintf(`SELECT tenet.cut(%d, ARRAY[1, 2])`, id)) {
				if _, err := c.Exec(ctx, `SELECT set_config('tenet.tenant', 'acme', false)`); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Exec(ctx, q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}
			v, err := db.Verify(ctx, scope)
			if err != nil || v.OK() {
				t.Errorf("a forged head verifies: %+v, %v", v, err)
			}
		})
	}
}
