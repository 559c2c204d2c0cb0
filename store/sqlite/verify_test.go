package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// lived fills a scope with every kind of decision.
func lived(t testing.TB, db *DB) tenet.Scope {
	t.Helper()
	scope, g := user(t, "sarah"), gate.New(nil)
	app, agent, op := principal(t, tenet.App), principal(t, tenet.Agent), principal(t, tenet.Operator)
	at := begin
	n := 0
	keep := func(by tenet.Principal, c tenet.Candidate, expires time.Duration) tenet.Verdict {
		t.Helper()
		n++
		at = at.Add(time.Second)
		if c.ID == "" {
			c.ID = tenet.CandidateID(fmt.Sprint("c", n))
		}
		cs := gate.Case{By: by, Candidate: c.Quoting(c.Text), At: at}
		if expires != 0 {
			cs.ExpiresAt = at.Add(expires)
		}
		return apply(t, db, judge(t, db, g, cs))[0].Verdict
	}
	keep(app, tenet.FactValue(scope, "city", []byte(`"Berlin"`), "Berlin"), 0)
	keep(app, tenet.Fact(scope, "city", "Paris"), 0)
	keep(app, tenet.Fact(scope, "pet", "A cat"), 0)
	keep(app, tenet.Note(scope, "likes tea"), 0)
	keep(app, tenet.Note(scope, "likes tea"), 0) // corroborated
	keep(app, tenet.Candidate{Scope: scope, Tier: tenet.TierDocument, Key: "a.md", Text: "one"}, 0)
	keep(app, tenet.Candidate{Scope: scope, Tier: tenet.TierDocument, Key: "a.md", Text: "two"}, 0)
	ep := keep(app, tenet.Candidate{Scope: scope, Tier: tenet.TierEpisode, Text: "said once", Speaker: "Sarah", Position: 3}, time.Hour)
	note := keep(app, tenet.Note(scope, "short-lived"), time.Hour)
	keep(agent, tenet.Fact(scope, "role", "admin"), 0) // held
	released := keep(agent, tenet.Fact(scope, "team", "blue"), 0)
	discarded := keep(agent, tenet.Fact(scope, "desk", "corner"), 0)
	keep(app, tenet.Candidate{Scope: scope, Text: "no tier"}, 0) // rejected
	at = at.Add(time.Second)
	for _, h := range held(t, db, scope, at) {
		var d gate.Decision
		var err error
		switch h.Verdict.Candidate {
		case discarded.Candidate:
			d, err = g.Discard(op, scope, h, "not so", at)
		case released.Candidate:
			c := h.Candidate
			c.ID = "released"
			cs := gate.Case{By: op, Candidate: c, At: at}
			cs.State, err = db.State(ctx, scope, g.Query(cs), at)
			if err == nil {
				d, err = g.Release(cs, h)
			}
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		apply(t, db, d)
	}
	pet, err := db.Record(ctx, scope, "c3")
	if err != nil {
		t.Fatal(err)
	}
	d, err := g.End(gate.Change{By: op, Scope: scope, Target: pet, ID: "end-1", To: at, Why: "it died", At: at.Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, db, d)
	d, err = g.StageBatch(scope, gate.Staged{Session: "chat", From: 0, To: 4, Candidates: []tenet.Candidate{{ID: "st", Scope: scope, Tier: tenet.TierNote, Text: "staged"}}}, at)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, db, d)
	var due []tenet.Record
	for _, id := range []tenet.RecordID{ep.Record, note.Record} {
		r, err := db.Record(ctx, scope, id)
		if err != nil {
			t.Fatal(err)
		}
		due = append(due, r)
	}
	if d, err = g.ExpireText(scope, due, at.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	apply(t, db, d)
	if d, err = g.Credit(app, scope, gate.Tally{Records: []tenet.RecordID{"c4"}, Success: true}, at.Add(3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	apply(t, db, d)
	if d, err = g.Retain(scope, op.String(), []gate.Rest{{Record: "c4", Dormant: true, LowSince: at, ServedAt: at}}, "sweep", at.Add(4*time.Hour)); err != nil {
		t.Fatal(err)
	}
	apply(t, db, d)
	return scope
}

func held(t testing.TB, db *DB, scope tenet.Scope, now time.Time) []tenet.Held {
	t.Helper()
	hs, err := db.Held(ctx, scope, now, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return hs
}

// Every column of every row that the chain answers for is altered in turn,
// and every row deleted. Exempt is what no entry covers, with the reason.
func TestEveryAlteredColumnIsFound(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{
		"heads.reset":    "says only that recall starts afresh",
		"heads.dense":    "the position of vectors, which are derived and no memory",
		"heads.swept_at": "when to sweep next",
		"heads.cut_at":   "when to look next whether something is to be cut",
		"heads.records":  "how much the scope keeps, for a quota: fsck compares it with the rows",
		"heads.bytes":    "the same",
		"records.placed": "where to look for records without a vector",
		"staged.n":       "an order among what waits; each is judged by itself",
		"records.seen": "of a fragment it is the parent's at the time of the split; " +
			"of all others it is checked",
	}
	for name, tables := range map[string][]string{
		"of a whole chain": {"chain", "trail", "records", "evidence", "corroborations", "held", "stages", "staged", "heads", "outcomes", "retention"},
		"of a cut chain":   {"chain", "trail", "records", "evidence", "held", "heads", "cuts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := fresh(t)
			scope := lived(t, db)
			exempt := maps.Clone(exempt)
			if slices.Contains(tables, "cuts") {
				cutTwice(t, db, scope)
				exempt["held.expires_at"] = "when a text ran out that is gone; until then it is sealed with it"
				exempt["heads.base"] = "where the chain began, which the sealed head says now"
			}
			everyColumn(t, db, scope, exempt, tables)
		})
	}
}

// cutTwice leaves a sealed head, and what is left of an older one.
func cutTwice(t testing.TB, db *DB, scope tenet.Scope) {
	t.Helper()
	g, at := gate.New(nil), begin
	ageOut := func() {
		at = at.Add(gate.HoldFor + 24*time.Hour)
		due, err := db.AgedOut(ctx, at, 100)
		if err != nil || len(due) == 0 {
			t.Fatal(err, len(due))
		}
		var aged []gate.Aged
		for _, a := range due {
			aged = append(aged, a.Aged)
		}
		d, err := g.AgeOut(scope, aged, at)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, db, d)
	}
	cut := func(before time.Time) {
		at = at.Add(gate.AuditAtLeast)
		d, err := g.CutAudit(scope, before, at)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := db.Cut(ctx, d); err != nil || c.IsZero() {
			t.Fatal(err, c)
		}
	}
	ageOut()
	first := at.Add(time.Minute)
	c := tenet.Candidate{ID: "late", Scope: scope, Text: "no tier again"}
	apply(t, db, judge(t, db, g, gate.Case{By: principal(t, tenet.App), Candidate: c.Quoting(c.Text), At: first}))
	ageOut()
	second := at.Add(time.Minute)
	cut(first)
	cut(second)
}

// everyColumn alters one column of one row after the other.
func everyColumn(t *testing.T, db *DB, scope tenet.Scope, exempt map[string]string, tables []string) {
	if v, err := db.Verify(ctx, scope); err != nil || !v.OK() || v.Entries == 0 || v.Records == 0 {
		t.Fatalf("before: %+v %v", v, err)
	}
	raw := func(query string, args ...any) (int64, error) {
		res, err := db.w.pool.Exec(query, args...)
		if err != nil {
			return 0, err
		}
		return res.RowsAffected()
	}
	tried := 0
	for _, table := range tables {
		where, row := "seq", "scope = %d AND seq = %d"
		switch table {
		case "records", "evidence", "staged":
			where, row = "rowid", "scope <> %d AND rowid = %d"
		case "heads":
			where, row = "0", "scope <> %d AND 0 = %d"
		}
		var keys []int64
		rs, err := db.w.pool.Query(`SELECT ` + where + ` FROM ` + table)
		if err != nil {
			t.Fatal(err)
		}
		for rs.Next() {
			var k int64
			rs.Scan(&k)
			keys = append(keys, k)
		}
		rs.Close()
		var columns []string
		rs, err = db.w.pool.Query(`SELECT name FROM pragma_table_info(?)`, table)
		if err != nil {
			t.Fatal(err)
		}
		for rs.Next() {
			var c string
			rs.Scan(&c)
			columns = append(columns, c)
		}
		rs.Close()
		if len(keys) == 0 || len(columns) == 0 {
			t.Fatalf("%s has nothing to alter", table)
		}
		var id int64
		if err := db.w.pool.QueryRow(`SELECT scope FROM heads`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			at := fmt.Sprintf(row, id, k)
			if strings.Contains(at, "<>") {
				at = fmt.Sprintf(row, 0, k)
			}
			for _, c := range columns {
				if exempt[table+"."+c] != "" {
					continue
				}
				if c == "scope" && table == "heads" {
					continue // no scope, no head: an empty ledger
				}
				var old any
				if err := db.w.pool.QueryRow(`SELECT ` + c + ` FROM ` + table + ` WHERE ` + at).Scan(&old); err != nil {
					t.Fatalf("%s.%s: %v", table, c, err)
				}
				// The key columns move the row: find it again by what it became.
				set := `CASE typeof(` + c + `) WHEN 'integer' THEN ` + c + ` + CASE WHEN ` + c + ` = 9223372036854775807 THEN -1 ELSE 1 END
					WHEN 'text' THEN ` + c + ` || 'x' ELSE CAST(ifnull(` + c + `, '') || 'x' AS BLOB) END`
				if c == "seq" || c == "scope" {
					continue // moved rows are tried below, as deletions
				}
				n, err := raw(`UPDATE ` + table + ` SET ` + c + ` = ` + set + ` WHERE ` + at)
				if err != nil || n != 1 {
					continue // the schema itself refused
				}
				tried++
				if v, err := db.Verify(ctx, scope); err == nil && v.OK() {
					t.Errorf("%s.%s of row %d was altered and nothing found", table, c, k)
				} else if err == nil && v.Bad == 0 {
					t.Errorf("%s.%s: no entry is named: %+v", table, c, v)
				}
				if _, err := raw(`UPDATE `+table+` SET `+c+` = CASE WHEN ?1 IS NULL AND '`+c+`' = 'sig' THEN x'' ELSE ?1 END WHERE `+at, old); err != nil {
					t.Fatalf("%s.%s cannot be put back: %v", table, c, err)
				}
			}
		}
	}
	if v, err := db.Verify(ctx, scope); err != nil || !v.OK() {
		t.Fatalf("after all was put back: %+v %v", v, err)
	}
	t.Logf("%d alterations", tried)
	if tried < 40*len(tables) {
		t.Errorf("only %d alterations were possible", tried)
	}
}

func TestDeletedAndMovedRowsAreFound(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		`DELETE FROM chain WHERE seq = 3`, `DELETE FROM chain WHERE seq = (SELECT max(seq) FROM chain)`, `DELETE FROM chain`,
		`DELETE FROM trail WHERE seq = 2`, `DELETE FROM trail WHERE seq = (SELECT max(seq) FROM trail)`,
		`DELETE FROM records WHERE rowid = 1`, `DELETE FROM records`, `DELETE FROM evidence WHERE rowid = 2`, `DELETE FROM evidence`,
		`DELETE FROM corroborations`, `DELETE FROM outcomes`, `DELETE FROM retention`, `DELETE FROM held WHERE seq = (SELECT min(seq) FROM held)`, `DELETE FROM stages`, `DELETE FROM staged`,
		`DELETE FROM heads`,
		`UPDATE chain SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM chain)`,
		`UPDATE chain SET seq = -seq WHERE seq IN (2, 3); UPDATE chain SET seq = 5 + seq WHERE seq < 0`, // swapped
		`UPDATE records SET seq = seq + 1 WHERE rowid = 1`, `UPDATE records SET seq = 9999 WHERE rowid = 1`,
		`UPDATE evidence SET seq = seq + 1`, `UPDATE held SET state = 'refused', settled_seq = 1 WHERE state = 'open'`,
		`UPDATE subjects SET data_key = zeroblob(60)`,
		// The whole tail rewritten consistently but for the key.
		`UPDATE chain SET digest = zeroblob(32), hash = zeroblob(32) WHERE seq = (SELECT max(seq) FROM chain); UPDATE heads SET hash = zeroblob(32)`,
		`INSERT INTO evidence SELECT scope, record, seq, n + 10, message, session, role, label, excerpt, said_at, digest FROM evidence WHERE rowid = 1`,
		`INSERT INTO corroborations SELECT scope, seq + 1, record, origins FROM corroborations`,
		`UPDATE records SET sys_to = 9223372036854775807, valid_to = valid_to - 1, closed = '', superseded_by = '', closed_seq = 0 WHERE closed <> ''`,
	} {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			db := fresh(t)
			scope := lived(t, db)
			if _, err := db.w.pool.Exec(damage); err != nil {
				t.Fatal(err)
			}
			v, err := db.Verify(ctx, scope)
			if err != nil || v.OK() || v.Bad == 0 {
				t.Errorf("want a finding, got %+v, %v", v, err)
			}
		})
	}
}

// Ids of tenants and people stand in subjects only, but for sealed columns.
func TestNoSubjectStandsOutsideSubjects(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	scope := lived(t, db)
	if _, err := db.Ensure(ctx, scope, tenet.Session{ID: "chat-one", Scope: scope, Reads: []tenet.Scope{scope}, CreatedAt: begin}); err != nil {
		t.Fatal(err)
	}
	if err := db.Put(ctx, scope, tenet.Blob{Thread: "thread-one", ID: "v1", Data: []byte("sarah at acme")}, true); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"sarah": "subjects", "acme": "subjects", "chat-one": "session_names", "thread-one": "thread_names"}
	tables := map[string]bool{}
	rs, err := db.w.pool.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	for rs.Next() {
		var n string
		rs.Scan(&n)
		tables[n] = true
	}
	rs.Close()
	for table := range tables {
		rows, err := db.w.pool.Query(`SELECT * FROM ` + table)
		if err != nil {
			t.Fatal(err)
		}
		cols, _ := rows.Columns()
		for rows.Next() {
			vals, to := make([]any, len(cols)), make([]any, len(cols))
			for i := range vals {
				to[i] = &vals[i]
			}
			rows.Scan(to...)
			for i, v := range vals {
				for id, home := range want {
					if table != home && cols[i] != "speaker" && strings.Contains(strings.ToLower(fmt.Sprintf("%s", v)), id) {
						t.Errorf("%q stands in %s.%s", id, table, cols[i])
					}
				}
			}
		}
		rows.Close()
	}
}
