package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
)

// Rows are all rows of a database, read past its ports: for every table that
// the live schema names, the columns and the rows as bytes.
type Rows map[string]TableRows

// TableRows are the rows of one table.
type TableRows struct {
	Columns []string
	Rows    [][][]byte
}

// holding lists the tables with a row that holds any of the texts.
func (r Rows) holding(texts ...string) []string {
	var out []string
	for table, rows := range r {
		for _, row := range rows.Rows {
			if slices.ContainsFunc(row, func(cell []byte) bool {
				return slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(bytes.ToLower(cell), []byte(strings.ToLower(t))) })
			}) {
				out = append(out, table)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

func everyTableHasARule(t testing.TB, r *eraseRig) {
	have := r.dump(t)
	ruled := map[string]erasing.Table{}
	for _, table := range erasing.Tables {
		ruled[table.Name] = table
		if _, ok := have[table.Name]; !ok {
			t.Errorf("there is a rule for %s, which the schema does not have", table.Name)
		}
	}
	for name, rows := range have {
		rule, ok := ruled[name]
		if !ok {
			t.Errorf("table %s has no rule: say in store/erasing what erasing a subject does with it", name)
			continue
		}
		if rule.Rule != erasing.Stays {
			continue
		}
		for _, c := range rows.Columns {
			if !slices.Contains(rule.Columns, c) {
				t.Errorf("%s.%s stays after an erasure, and nobody said that it holds nothing of anybody", name, c)
			}
		}
	}
	if len(have) < 20 {
		t.Errorf("the schema shows %d tables: the look is broken", len(have))
	}
}

func aSubjectLeavesNoByte(t testing.TB, r *eraseRig) {
	bob := r.on(tenet.User("bob"))
	bob.fill("basil")
	r.fill(mark)
	before := r.dump(t)
	// The control: every table that loses rows has some that name the subject,
	// or are its own.
	found := before.holding(mark)
	for _, want := range []string{"subjects", "session_names", "thread_names", "records", "evidence", "messages", "trail", "keys", "vectors", "receipts", "effects", "blobs", "staged", "proposals"} {
		if !slices.Contains(found, want) {
			t.Errorf("the control finds nothing in %s", want)
		}
	}
	chain, err := r.db.ChainName(ctx, r.scope)
	must(t, err)
	dry, err := r.erase(gate.Selection{Subject: true}, store.EraseOptions{DryRun: true})
	must(t, err)
	e := r.gone(gate.Selection{Subject: true})
	same(t, "the dry run's counts", dry.Counts, e.Counts)
	for _, table := range erasing.Tables {
		if table.Rule == erasing.Removed && table.Name != "erased" && table.Name != "elsewhere" && e.Counts[table.Name] == 0 {
			t.Errorf("no row of %s was erased: the test fills none", table.Name)
		}
	}
	if e.Chain != chain || e.Seq == 0 || len(e.Hash) == 0 {
		t.Errorf("the receipt names entry %d of chain %q, want one of %q", e.Seq, e.Chain, chain)
	}
	after := r.dump(t)
	if left := after.holding(mark, "sarah"); len(left) > 0 {
		t.Errorf("the subject is still in %v", left)
	}
	why, err := r.db.Chain(ctx, chain, e.Seq, e.Hash)
	must(t, err)
	same(t, "what is wrong with the chain", why, "")
	bob.verified()
	// Nobody else's rows moved.
	for table, was := range before {
		rule := erasing.Tables[slices.IndexFunc(erasing.Tables, func(x erasing.Table) bool { return x.Name == table })]
		if rule.Rule == erasing.Removed && len(after[table].Rows)+e.Counts[table] != len(was.Rows) {
			t.Errorf("%s had %d rows, lost %d and has %d", table, len(was.Rows), e.Counts[table], len(after[table].Rows))
		}
	}
	same(t, "facts", len(r.facts(at(r.now))), 0)
	_, err = r.l.Record(ctx, r.scope, "c0001")
	wantKind(t, "a record", err, tenet.NotFound)
	_, err = r.erase(gate.Selection{Subject: true}, store.EraseOptions{})
	wantKind(t, "a second erasure", err, tenet.NotFound)
	same(t, "rows after it", len(r.dump(t)["gone"].Rows), len(after["gone"].Rows))
	left, err := r.db.Residue(ctx, e.Journal)
	must(t, err)
	for place, n := range left {
		if n > 0 {
			t.Errorf("residue in %s", place)
		}
	}
	states, err := r.db.Erasures(ctx, r.scope.Tenant(), 10)
	must(t, err)
	if len(states) != 1 || states[0].State != store.ErasurePending {
		t.Fatalf("erasures: %+v, want one pending", states)
	}
	must(t, r.db.Purge(ctx))
	states, err = r.db.Erasures(ctx, r.scope.Tenant(), 10)
	must(t, err)
	same(t, "state after the physical pass", states[0].State, store.ErasureDone)
}

// everyWordElsewhere leaves one thing of a person in each of several scopes, so
// that no other thing leads the erasure there.
func everyWordElsewhere(t testing.TB, r *eraseRig) {
	r.keep(r.fact("color", "green"))
	who := "user:" + r.scope.Subject().ID()
	in := func(name string) *eraseRig { return r.on(tenet.Project(name)) }
	open := func(r *eraseRig) {
		t.Helper()
		_, err := r.db.Ensure(ctx, r.scope, tenet.Session{ID: "s", Scope: r.scope, Reads: []tenet.Scope{r.scope}, CreatedAt: r.now})
		must(t, err)
	}
	// Cited as evidence, and not said in a session of this database.
	said := tenet.Message{ID: "m1", Session: "far", Role: tenet.RoleUser, Text: "The build is green", Label: tenet.LabelUserStated, RecordedBy: who, RecordedAt: r.now}

	agrees := in("agrees")
	note := agrees.keep(agrees.note("The build is green")).Verdict.Record
	if v := agrees.keep(agrees.citing(tenet.Note(agrees.scope, "The build is green"), said)).Verdict; v.Outcome != tenet.Corroborated {
		t.Fatalf("the second voice: %v", v.Outcome)
	}
	rests := in("rests")
	rests.keep(rests.citing(tenet.Note(rests.scope, "The build is green"), said))

	runs := in("runs")
	open(runs)
	must(t, r.db.PutCheckpoint(ctx, runs.scope, tenet.Checkpoint{Session: "s", Version: 1, State: []byte("half way"), By: who, At: r.now}, 0, 5))
	must(t, r.db.PutCheckpoint(ctx, runs.scope, tenet.Checkpoint{Session: "s", Version: 2, State: []byte("further"), By: "agent:bot", At: r.now}, 0, 5))

	claims := in("claims")
	open(claims)
	_, _, err := r.db.Claim(ctx, claims.scope, store.Claim{Session: "s", Key: "mail", Payload: []byte("x"), By: who, Now: r.now, Until: r.now.Add(time.Hour)})
	must(t, err)

	waits := in("waits")
	open(waits)
	c := tenet.Note(waits.scope, "The build is slow")
	c.ID, c.ProposedBy = "proposal", who
	must(t, r.db.Propose(ctx, waits.scope, "s", c, time.Time{}))

	staged := in("staged")
	c = tenet.Note(staged.scope, "The build is slow").Citing("m2")
	c.ID, c.ProposedBy = "staged", who
	d, err := r.g.StageBatch(staged.scope, gate.Staged{Session: "s", To: 1, Since: r.now, Cited: []tenet.Message{{ID: "m2", Session: "s", Role: tenet.RoleUser, Text: "The build is slow", RecordedBy: "app:test", RecordedAt: r.now}}, Candidates: []tenet.Candidate{c}}, r.now)
	must(t, err)
	r.apply(d)

	r.gone(gate.Selection{Subject: true})
	if left := r.dump(t).holding(mark, "sarah"); len(left) > 0 {
		t.Errorf("the person is still in %v", left)
	}
	rec := agrees.record(note)
	same(t, "voices of what another said too", rec.Seen, 1)
	ks, err := r.db.Checkpoints(ctx, runs.scope, "s", 0, 10)
	must(t, err)
	if len(ks) != 2 || ks[1].By != "" || string(ks[1].State) != "half way" || ks[0].By != "agent:bot" {
		t.Errorf("the checkpoints: %+v", ks)
	}
	must(t, r.db.PutCheckpoint(ctx, runs.scope, tenet.Checkpoint{Session: "s", Version: 2, State: []byte("further"), By: "agent:bot", At: r.now}, 0, 5)) // the same call again
	l, err := r.db.Lease(ctx, store.LeaseRequest{Worker: "w", Now: r.now, Until: r.now.Add(time.Hour), Scope: waits.scope, Only: "s"})
	must(t, err)
	same(t, "proposals", len(l.Proposals), 0)
	_, cs, err := r.l.Staged(ctx, staged.scope, "s")
	must(t, err)
	same(t, "staged candidates", len(cs), 0)
	for _, s := range []*eraseRig{agrees, rests, staged} {
		s.verified()
	}
}

func leftElsewhereGoes(t testing.TB, r *eraseRig) {
	project := r.on(tenet.Project("atlas"))
	who := "user:" + r.scope.Subject().ID()
	m := project.say("standup", "m1", "The build moves to "+mark+".", who)
	project.keep(project.citing(tenet.Note(project.scope, "The build moves to "+mark), m))
	stays := project.keep(project.note("The build is green")).Verdict.Record
	by, err := tenet.NewPrincipal(tenet.EndUser, "acme", r.scope.Subject().ID())
	must(t, err)
	k := project.propose(by, tenet.Note(project.scope, "Deploys are on "+mark+" days"))
	project.keep(k)
	_, err = r.db.Ensure(ctx, project.scope, tenet.Session{ID: "reads", Scope: project.scope, Reads: []tenet.Scope{project.scope, r.scope}, CreatedAt: r.now})
	must(t, err)
	denied, err := r.g.Denied(by, "release", "only an operator", r.now)
	must(t, err)
	_, err = r.l.Apply(ctx, []gate.Decision{denied}, nil)
	must(t, err)
	r.fill(mark)
	r.access(tenet.Key{ID: "both", Tenant: "acme", Kind: tenet.App, Name: "host", Subjects: []string{r.scope.Subject().String(), "user:bob"}, Hash: []byte("0123456789abcdef-both")})
	r.gone(gate.Selection{Subject: true})
	if left := r.dump(t).holding(mark, "sarah"); len(left) > 0 {
		t.Errorf("the person is still in %v", left)
	}
	project.verified()
	r.on(tenet.WholeTenant()).verified()
	same(t, "what others said", project.record(stays).Text, "The build is green")
	s, err := r.db.Ensure(ctx, project.scope, tenet.Session{ID: "reads", Scope: project.scope, CreatedAt: r.now})
	must(t, err)
	same(t, "what the session reads", s.Reads, []tenet.Scope{project.scope})
	k2, err := r.db.KeyByHash(ctx, []byte("0123456789abcdef-both"))
	must(t, err)
	same(t, "the shared key's subjects", k2.Subjects, []string{"user:bob"})
}

func aTenantGoesWhole(t testing.TB, r *eraseRig) {
	r.fill(mark)
	r.on(tenet.Project("p-" + mark)).fill(mark + "two")
	whole := r.on(tenet.WholeTenant())
	whole.keep(whole.fact("motto", "we sell "+mark))
	other := &eraseRig{rig: rigOn(t, r.db, mustScope(t, "globex", tenet.User("hank")), nil), db: r.db, dump: r.dump}
	other.fill("basil")
	whole.gone(gate.Selection{Tenant: true})
	left := r.dump(t)
	if in := left.holding(mark, "sarah"); len(in) > 0 {
		t.Errorf("the tenant's people are still in %v", in)
	}
	for table, rows := range left { // what stays under the tenant's name has nothing in it
		rule := erasing.Tables[slices.IndexFunc(erasing.Tables, func(x erasing.Table) bool { return x.Name == table })]
		if (Rows{table: rows}).holding("acme") != nil && rule.Rule != erasing.Stays {
			t.Errorf("the tenant is still in %s", table)
		}
	}
	other.verified()
	same(t, "the other tenant", len(other.facts(at(other.now))), 2)
}
