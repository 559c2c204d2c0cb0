package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

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
