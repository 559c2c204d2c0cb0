package storetest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/erasing"
)

// Erasable is one database behind every port.
type Erasable interface {
	store.Ledger
	store.Sessions
	store.Threads
	store.Runs
	store.Keys
	store.Vectors
	store.Retention
	store.Governor
	store.Eraser
}

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

type eraseClause struct {
	name string
	run  func(testing.TB, *eraseRig)
}

var eraseClauses = []eraseClause{
	{"EveryTableAndColumnHasARule", everyTableHasARule},
	{"ASubjectLeavesNoByte", aSubjectLeavesNoByte},
	{"WhatAPersonLeftElsewhereGoes", leftElsewhereGoes},
	{"PartsGoAndTheChainVerifies", partsGo},
	{"WhatOthersSaidTooStays", saidByOthersStays},
	{"ADryRunWritesNothing", aDryRunWritesNothing},
	{"LateWritersWriteNothing", lateWritersWriteNothing},
	{"OnlyTheUserMaySayItAgain", onlyTheUserSaysItAgain},
	{"AnAlteredRowIsFoundAfterAnErasure", alteredAfterErasure},
	{"ATenantGoesWhole", aTenantGoesWhole},
	{"AJournalErasesAgain", aJournalErasesAgain},
	{"AJournalErasesATenantAgain", aJournalErasesATenantAgain},
	{"OnlyTheGateErasesAgain", onlyTheGateErasesAgain},
}

// RunErasure checks store.Eraser on a database.
func RunErasure[D Erasable](t *testing.T, open func(testing.TB) D, dump func(testing.TB, D) Rows) {
	for _, c := range eraseClauses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			c.run(t, newEraseRig(t, db, func(t testing.TB) Rows { return dump(t, db) }))
		})
	}
}

// mark stands in everything that is to go.
const mark = "Qzwxmark"

type eraseRig struct {
	*rig
	db   Erasable
	dump func(testing.TB) Rows
}

func newEraseRig(t testing.TB, db Erasable, dump func(testing.TB) Rows) *eraseRig {
	return &eraseRig{rig: rigOn(t, db, mustScope(t, "acme", tenet.User("sarah-"+mark)), nil), db: db, dump: dump}
}

func (r *eraseRig) on(s tenet.Subject) *eraseRig {
	return &eraseRig{rig: rigOn(r.TB, r.db, mustScope(r.TB, r.scope.Tenant(), s), nil), db: r.db, dump: r.dump}
}

func (r *eraseRig) erase(of gate.Selection, o store.EraseOptions) (store.Erased, error) {
	r.Helper()
	r.now = r.now.Add(time.Second)
	d, err := r.g.Erase(r.operator, r.scope, of, "erasure-"+rand.Text(), "asked to", r.now)
	must(r.TB, err)
	return r.db.Erase(ctx, d, o)
}

func (r *eraseRig) gone(of gate.Selection) store.Erased {
	r.Helper()
	e, err := r.erase(of, store.EraseOptions{})
	must(r.TB, err)
	return e
}

// say appends a message of the session.
func (r *eraseRig) say(session tenet.SessionID, id, text, by string) tenet.Message {
	r.Helper()
	r.now = r.now.Add(time.Second)
	_, err := r.db.Ensure(ctx, r.scope, tenet.Session{ID: session, Scope: r.scope, Reads: []tenet.Scope{r.scope}, CreatedAt: r.now})
	must(r.TB, err)
	ms, err := r.db.Append(ctx, r.scope, session, []tenet.Message{{
		ID: tenet.MessageID(id), Role: tenet.RoleUser, Text: text, Label: tenet.LabelUserStated, RecordedBy: by, RecordedAt: r.now, ClientID: "client-" + id,
	}}, r.now)
	must(r.TB, err)
	return ms[0]
}

// access makes an API key.
func (r *eraseRig) access(k tenet.Key) {
	r.Helper()
	d, err := r.g.Access(principal(r.TB, tenet.Admin, k.Tenant), k, gate.KeyMade, r.now)
	must(r.TB, err)
	_, err = r.l.Apply(ctx, []gate.Decision{d}, nil)
	must(r.TB, err)
}

// citing makes a case that rests on a message.
func (r *eraseRig) citing(c tenet.Candidate, m tenet.Message) gate.Case {
	c.Quote = ""
	k := r.propose(r.app, c.Citing(m.ID))
	k.Candidate.Quote = ""
	k.Candidate.Session = m.Session
	k.Evidence = []tenet.Message{m}
	return k
}

// fill writes rows of the subject into every table that can have one.
func (r *eraseRig) fill(word string) {
	r.Helper()
	session := tenet.SessionID("chat-" + word)
	m := r.say(session, "m-"+word, "I am allergic to "+word+" and to nuts.", "app:test")
	allergy := r.keep(r.citing(tenet.Fact(r.scope, "allergy_"+word, "allergic to "+word), m)).Verdict.Record
	r.keep(r.fact("city_"+word, "lives in "+word))
	r.keep(r.fact("city_"+word, "lives in "+word+" now"))
	note := r.keep(r.note("likes the " + word + " bakery")).Verdict.Record
	r.keep(r.note("likes the " + word + " bakery")) // a second voice
	r.keep(r.episode("we talked about " + word))
	r.keep(r.document("/notes/"+word+".md", "about "+word))
	if a := r.remember(r.propose(r.agent, tenet.Fact(r.scope, "forged_"+word, "never "+word))); a.Verdict.Outcome.Kept() {
		r.Fatal("nothing was held")
	}
	var numbers []int8
	for _, b := range []byte(word + ".........") {
		numbers = append(numbers, int8(b))
	}
	must(r.TB, r.vectors().Place(ctx, r.scope, "space", []store.Vector{{Record: note, Values: numbers}}))
	credit, err := r.g.Credit(r.app, r.scope, gate.Tally{Records: []tenet.RecordID{note}, Success: true}, r.now)
	must(r.TB, err)
	rest, err := r.g.Retain(r.scope, "retention", []gate.Rest{{Record: note, Pinned: true}}, "pin", r.now)
	must(r.TB, err)
	bar, err := r.g.Bar(r.operator, r.scope, []gate.Tombstone{{Kind: gate.TombRejected, Statement: "never " + word, Label: tenet.LabelExternal}}, word, r.now)
	must(r.TB, err)
	waits := tenet.Note(r.scope, "staged "+word).Citing(m.ID)
	waits.ID = tenet.CandidateID("staged-" + word)
	stage, err := r.g.StageBatch(r.scope, gate.Staged{Session: session, To: 1, Since: m.RecordedAt, Cited: []tenet.Message{m}, Candidates: []tenet.Candidate{waits}}, r.now)
	must(r.TB, err)
	r.apply(credit, rest, bar, stage)
	must(r.TB, r.db.Propose(ctx, r.scope, session, tenet.Candidate{ID: tenet.CandidateID("proposal-" + word), Scope: r.scope, Tier: tenet.TierNote, Text: "proposed " + word}, time.Time{}))
	must(r.TB, r.db.Serve(ctx, r.scope, tenet.Receipt{ID: "r-" + word, Session: session, At: r.now, Facts: []tenet.RecordID{allergy}, Recalled: []tenet.RecordID{note}}))
	_, err = r.db.Hold(ctx, r.scope, session, "worker-"+word, r.now, r.now.Add(time.Hour))
	must(r.TB, err)
	must(r.TB, r.db.PutCheckpoint(ctx, r.scope, tenet.Checkpoint{Session: session, Version: 1, State: []byte("state: allergic to " + word), At: r.now}, 0, 5))
	e, _, err := r.db.Claim(ctx, r.scope, store.Claim{Session: session, Key: "mail-" + word, Payload: []byte(word), By: "agent:bot", Now: r.now, Until: r.now.Add(time.Hour)})
	must(r.TB, err)
	_, err = r.db.Settle(ctx, r.scope, store.Settle{Session: session, Key: e.Key, Attempt: e.Attempt, State: tenet.EffectCompleted, Outcome: json.RawMessage(`"allergic to ` + word + `"`), Now: r.now})
	must(r.TB, err)
	must(r.TB, r.db.Put(ctx, r.scope, tenet.Blob{Thread: "thread-" + word, ID: "v1-" + word, Data: []byte("blob about " + word), Meta: []byte(word), CreatedAt: r.now}, false))
	r.access(tenet.Key{ID: rand.Text(), Tenant: r.scope.Tenant(), Kind: tenet.EndUser, Name: r.scope.Subject().ID(), Subjects: []string{r.scope.Subject().String()}, Hash: []byte("0123456789abcdef" + word + r.scope.Key())})
	once := store.WithOnce(ctx, &store.Once{Tenant: r.scope.Tenant(), Caller: "app:test", Route: "append", Key: word + r.scope.Key(), Fingerprint: []byte(word), Now: r.now, ExpiresAt: r.now.Add(time.Hour),
		Answer: func(v any) ([]byte, error) { return json.Marshal(v) }})
	_, err = r.db.Append(once, r.scope, session, []tenet.Message{{ID: tenet.MessageID("once-" + word), Role: tenet.RoleUser, Text: "again " + word, Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: r.now}}, time.Time{})
	must(r.TB, err)
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

func partsGo(t testing.TB, r *eraseRig) {
	for _, c := range []struct {
		name string
		of   gate.Selection
	}{
		{"record", gate.Selection{}},
		{"key", gate.Selection{Key: "city_" + mark}},
		{"message", gate.Selection{Message: "m-" + mark}},
		{"session", gate.Selection{Session: "chat-" + mark}},
		{"origin", gate.Selection{Origin: "app:test"}},
	} {
		r := r.on(tenet.User("part-" + c.name))
		r.fill("basil")
		r.fill(mark)
		r.verified()
		of := c.of
		if c.name == "record" {
			of.Record = r.history(tenet.TierFact, "allergy_"+mark)[0].ID
		}
		e := r.gone(of)
		if len(e.Counts) == 0 {
			t.Errorf("%s: nothing was counted", c.name)
		}
		v, err := r.l.Verify(ctx, r.scope)
		must(t, err)
		if !v.OK() {
			t.Errorf("after erasing a %s the chain does not verify: entry %d: %s", c.name, v.Bad, v.Why)
		}
		left, err := r.db.Residue(ctx, e.Journal)
		must(t, err)
		for place, n := range left {
			if n > 0 {
				t.Errorf("%s: residue in %s", c.name, place)
			}
		}
		ch, err := r.l.Changes(ctx, r.scope, 1)
		must(t, err)
		if !ch.Reset {
			t.Errorf("%s: an index that knew the texts is not told to forget them", c.name)
		}
		for _, rec := range ch.Added {
			if slices.Contains(e.Records, rec.ID) {
				t.Errorf("%s: recall still finds %s", c.name, rec.ID)
			}
		}
		if c.name != "origin" {
			same(t, c.name+": the other allergy", texts(r.history(tenet.TierFact, "allergy_basil")), []string{"allergic to basil"})
		}
		switch c.name {
		case "record", "message":
			same(t, c.name+": the erased one", len(r.history(tenet.TierFact, "allergy_"+mark)), 0)
			ms, err := r.db.Messages(ctx, r.scope, tenet.SessionID("chat-"+mark), 0, 10)
			must(t, err)
			if len(ms) == 0 || ms[0].Text != "" || !ms[0].RetainNone {
				t.Errorf("%s: the message that said it stands: %+v", c.name, ms)
			}
		case "key":
			same(t, "every version", len(r.history(tenet.TierFact, "city_"+mark)), 0)
		case "session":
			_, err := r.db.Messages(ctx, r.scope, tenet.SessionID("chat-"+mark), 0, 10)
			wantKind(t, "the session", err, tenet.NotFound)
			_, err = r.db.Ensure(ctx, r.scope, tenet.Session{ID: tenet.SessionID("chat-" + mark), Scope: r.scope, CreatedAt: r.now})
			wantKind(t, "a late Ensure", err, tenet.Conflict)
		case "origin":
			same(t, "what an agent filed", len(r.history(tenet.TierDocument, "/notes/basil.md")), 1)
		}
		r.keep(r.fact("color", "likes green")) // the ledger goes on
		r.verified()
		_, err = r.erase(of, store.EraseOptions{})
		if c.name == "record" || c.name == "key" {
			wantKind(t, c.name+" again", err, tenet.NotFound)
		}
		r.verified()
	}
}

func saidByOthersStays(t testing.TB, r *eraseRig) {
	one := r.say("one", "m1", "I am allergic to nuts.", "app:test")
	two := r.say("two", "m2", "I am allergic to nuts.", "app:test")
	id := r.keep(r.citing(tenet.Note(r.scope, "allergic to nuts"), one)).Verdict.Record
	r.keep(r.citing(tenet.Note(r.scope, "allergic to nuts"), two))
	r.keep(r.citing(tenet.Note(r.scope, "from session one only: allergic to nuts I am"), one))
	e := r.gone(gate.Selection{Session: "one"})
	same(t, "kept on the other's word", e.Kept, []tenet.RecordID{id})
	r.verified()
	rec := r.record(id)
	if len(rec.Origins) != 1 || rec.Origins[0].Message != "m2" || rec.Session != "two" || rec.Seen != 1 {
		t.Errorf("it rests on %+v, seen %d", rec.Origins, rec.Seen)
	}
	e = r.gone(gate.Selection{Session: "two"})
	same(t, "then nobody says it", e.Records, []tenet.RecordID{id})
	r.verified()
}

func aDryRunWritesNothing(t testing.TB, r *eraseRig) {
	r.fill(mark)
	was := r.dump(t)
	for _, of := range []gate.Selection{{Subject: true}, {Key: "city_" + mark}, {Session: tenet.SessionID("chat-" + mark)}, {Origin: "app:test"}} {
		called := false
		e, err := r.erase(of, store.EraseOptions{DryRun: true, Journal: func(store.Journaled) error { called = true; return nil }})
		must(t, err)
		if len(e.Counts) == 0 || called {
			t.Errorf("%s: counts %v, journal called: %v", of.What(), e.Counts, called)
		}
	}
	same(t, "rows", r.dump(t), was)
	// A journal that cannot be written undoes the erasure.
	_, err := r.erase(gate.Selection{Subject: true}, store.EraseOptions{Journal: func(store.Journaled) error {
		return tenet.Errorf(tenet.Unavailable, "journal", "the disk is full")
	}})
	wantKind(t, "without a journal", err, tenet.Unavailable)
	same(t, "rows", r.dump(t), was)
}

func lateWritersWriteNothing(t testing.TB, r *eraseRig) {
	m := r.say("chat", "m1", "I live in "+mark+".", "app:test")
	r.keep(r.fact("color", "green"))
	stage := func(session tenet.SessionID, m tenet.Message, id string, at time.Time) gate.Decision {
		c := tenet.Note(r.scope, "The user's town is "+mark).Citing(m.ID)
		c.ID = tenet.CandidateID(id)
		d, err := r.g.StageBatch(r.scope, gate.Staged{Session: session, To: 1, Since: m.RecordedAt, Cited: []tenet.Message{m}, Candidates: []tenet.Candidate{c}}, at)
		must(t, err)
		return d
	}
	late := func(id string) (gate.Case, gate.Decision) {
		c := r.citing(tenet.Note(r.scope, "A town called "+mark+" is where the user lives"), m)
		c.Candidate.ID = tenet.CandidateID(id)
		return c, r.blind(c)
	}
	// A message goes while a worker holds what it read.
	staged := stage("chat", m, "s1", r.now)
	k, d := late("late-1")
	r.gone(gate.Selection{Message: "m1"})
	r.apply(staged)
	_, cs, err := r.l.Staged(ctx, r.scope, "chat")
	must(t, err)
	same(t, "candidates staged of an erased message", len(cs), 0)
	as, err := r.l.Apply(ctx, []gate.Decision{d}, r.again(k))
	must(t, err)
	if as[0].Verdict.Outcome != tenet.Rejected || !slices.Contains(as[0].Verdict.Codes, tenet.CodeErased) {
		t.Errorf("a late candidate: %v %v", as[0].Verdict.Outcome, as[0].Verdict.Codes)
	}
	r.verified()

	// The same for the session, and for the whole subject.
	m = r.say("chat-2", "m2", "I live in "+mark+".", "app:test")
	staged = stage("chat-2", m, "s2", r.now)
	r.gone(gate.Selection{Session: "chat-2"})
	_, err = r.l.Apply(ctx, []gate.Decision{staged}, nil)
	wantKind(t, "staging of an erased session", err, tenet.Conflict)
	m = r.say("chat-3", "m3", "I live in "+mark+".", "app:test")
	lease, err := r.db.Lease(ctx, store.LeaseRequest{Worker: "w", Now: r.now, Until: r.now.Add(time.Hour), Scope: r.scope, Only: "chat-3"})
	must(t, err)
	staged = stage("chat-3", m, "s3", r.now.Add(time.Hour))
	k, d = late("late-3")
	fact := r.history(tenet.TierFact, "color")[0]
	end, err := r.g.Retract(gate.Change{By: r.app, Scope: r.scope, Target: fact, ID: "end", At: r.now})
	must(t, err)
	r.gone(gate.Selection{Subject: true})
	was := r.dump(t)
	_, err = r.l.Apply(ctx, []gate.Decision{staged}, nil)
	wantKind(t, "staging for an erased subject", err, tenet.Conflict)
	_, err = r.l.Apply(ctx, []gate.Decision{d}, r.again(k))
	wantKind(t, "a late candidate for an erased subject", err, tenet.Conflict)
	if _, err = r.l.Apply(ctx, []gate.Decision{end}, nil); err == nil {
		t.Error("a late retraction was written")
	}
	if err := r.db.Ack(ctx, *lease, store.Ack{Cursor: 1, Now: r.now}); err == nil {
		t.Error("a late acknowledgement was taken")
	}
	must(t, r.db.Place(ctx, r.scope, "space", []store.Vector{{Record: fact.ID, Values: []int8{1}}}))
	_, err = r.db.Append(ctx, r.scope, "chat-3", []tenet.Message{{ID: "m4", Role: tenet.RoleUser, Text: mark}}, time.Time{})
	wantKind(t, "a late append", err, tenet.NotFound)
	now := r.dump(t)
	delete(was, "spaces") // a model's name
	delete(now, "spaces")
	same(t, "rows after late writers", now, was)
}

func onlyTheUserSaysItAgain(t testing.TB, r *eraseRig) {
	say := func(p tenet.Principal, text string) tenet.Verdict {
		return r.remember(r.propose(p, tenet.Note(r.scope, text))).Verdict
	}
	connector := principal(t, tenet.Connector, "acme")
	for _, of := range []string{"record", "subject"} {
		text := "allergic to " + mark + " and more " + of
		id := r.keep(r.note(text)).Verdict.Record
		head := r.head()
		if of == "record" {
			r.gone(gate.Selection{Record: id})
		} else {
			r.gone(gate.Selection{Subject: true})
		}
		old := r.citing(tenet.Note(r.scope, "Other words of "+mark+" before"), tenet.Message{ID: "old-" + tenet.MessageID(of), Role: tenet.RoleUser, Text: "Other words of " + mark + " before", Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: r.now.Add(-time.Hour)})
		if of == "subject" { // evidence from before, as an import brings it
			_, err := r.l.Apply(ctx, []gate.Decision{r.blind(old)}, r.again(old))
			wantKind(t, "old evidence of an erased subject", err, tenet.Conflict)
		}
		if v := say(r.app, text); v.Outcome != tenet.Stored || !slices.Contains(v.Codes, tenet.CodeRestated) {
			t.Errorf("%s: the user says it again: %v %v", of, v.Outcome, v.Codes)
		}
		if h := r.head(); h.Text <= head.Text {
			t.Errorf("%s: Text stands at %d after %d: an old index would think itself current", of, h.Text, head.Text)
		}
		v := say(connector, text)
		if v.Outcome != tenet.Rejected || !slices.Contains(v.Codes, tenet.CodeErased) {
			t.Errorf("%s: a connector says it again: %v %v", of, v.Outcome, v.Codes)
		}
		for _, h := range r.held() {
			if strings.Contains(h.Candidate.Text, mark) {
				t.Errorf("%s: the refusal log holds what was erased", of)
			}
		}
		if v := say(r.app, "Something new about "+of); v.Outcome != tenet.Stored {
			t.Errorf("%s: what is new: %v %v", of, v.Outcome, v.Codes)
		}
		r.verified()
	}
}

func alteredAfterErasure(t testing.TB, r *eraseRig) {
	r.fill("basil")
	r.fill(mark)
	e := r.gone(gate.Selection{Session: tenet.SessionID("chat-" + mark)})
	r.verified()
	if why, err := r.db.Chain(ctx, e.Chain, e.Seq, append([]byte{0}, e.Hash[1:]...)); err != nil || why == "" {
		t.Errorf("another hash at the entry is not found: %q %v", why, err)
	}
	if why, err := r.db.Chain(ctx, e.Chain, e.Seq+100, e.Hash); err != nil || why == "" {
		t.Errorf("an entry that is not there is not missed: %q %v", why, err)
	}
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

func aJournalErasesAgain(t testing.TB, r *eraseRig) {
	// What a backup brings back: a twin of each subject's rows would need a
	// restored file; here the same database plays both, with an erasure that
	// only its journal knows.
	r.fill("basil")
	r.fill(mark)
	var lines []store.Journaled
	for _, of := range []gate.Selection{{Session: tenet.SessionID("chat-" + mark)}, {Key: "city_" + mark}, {Subject: true}} {
		undo := tenet.Errorf(tenet.Unavailable, "test", "undone")
		_, err := r.erase(of, store.EraseOptions{Journal: func(j store.Journaled) error {
			b, err := json.Marshal(j)
			must(t, err)
			var back store.Journaled
			must(t, json.Unmarshal(b, &back))
			if strings.Contains(strings.ToLower(string(b)), strings.ToLower(mark)) || strings.Contains(string(b), "sarah") {
				t.Errorf("the journal holds content: %s", b)
			}
			lines = append(lines, back)
			return undo
		}})
		wantKind(t, "undone", err, tenet.Unavailable)
	}
	r.verified()
	for i, j := range lines {
		d, err := r.g.Again(j.ID, j.What, r.now)
		must(t, err)
		e, err := r.db.Again(ctx, d, j)
		must(t, err)
		if len(e.Counts) == 0 {
			t.Errorf("line %d erased nothing", i)
		}
		if i < 2 {
			r.verified()
			left, err := r.db.Residue(ctx, j)
			must(t, err)
			for place, n := range left {
				if n > 0 {
					t.Errorf("line %d: residue in %s", i, place)
				}
			}
		}
		again, err := r.db.Again(ctx, d, j)
		must(t, err)
		same(t, "a second time", len(again.Counts), 0)
	}
	if in := r.dump(t).holding(mark, "sarah"); len(in) > 0 {
		t.Errorf("after the journal it is still in %v", in)
	}
}

// undone is the journal's line of an erasure that was undone.
func (r *eraseRig) undone(of gate.Selection) (line store.Journaled) {
	r.Helper()
	_, err := r.erase(of, store.EraseOptions{Journal: func(j store.Journaled) error {
		line = j
		return tenet.Errorf(tenet.Unavailable, "test", "undone")
	}})
	wantKind(r.TB, "undone", err, tenet.Unavailable)
	return line
}

func aJournalErasesATenantAgain(t testing.TB, r *eraseRig) {
	r.fill(mark)
	whole := r.on(tenet.WholeTenant())
	whole.keep(whole.fact("motto", "we sell "+mark))
	whole.access(tenet.Key{ID: rand.Text(), Tenant: "acme", Kind: tenet.App, Name: "shop-" + mark, Hash: []byte("0123456789abcdef0123456789abcdef")})
	other := &eraseRig{rig: rigOn(t, r.db, mustScope(t, "globex", tenet.User("hank")), nil), db: r.db, dump: r.dump}
	other.fill("basil")
	line := whole.undone(gate.Selection{Tenant: true})
	d, err := r.g.Again(line.ID, line.What, whole.now)
	must(t, err)
	_, err = r.db.Again(ctx, d, line)
	must(t, err)
	if in := r.dump(t).holding(mark, "sarah"); len(in) > 0 {
		t.Errorf("after the journal the tenant's people are still in %v", in)
	}
	keys, err := r.db.KeysOf(ctx, "acme", "", 10)
	must(t, err)
	same(t, "keys of the tenant", len(keys), 0)
	keys, err = r.db.KeysOf(ctx, "globex", "", 10)
	must(t, err)
	same(t, "keys of another tenant", len(keys), 1)
	other.verified()
}

func onlyTheGateErasesAgain(t testing.TB, r *eraseRig) {
	r.fill("basil")
	line := r.undone(gate.Selection{Subject: true})
	was := r.dump(t)
	again := func(id, what string) gate.Decision {
		d, err := r.g.Again(id, what, r.now)
		must(t, err)
		return d
	}
	asked, err := r.g.Erase(r.operator, r.scope, gate.Selection{Subject: true}, line.ID, "asked to", r.now)
	must(t, err)
	for name, c := range map[string]struct {
		d    gate.Decision
		want tenet.Kind
	}{
		"no decision":      {gate.Decision{}, tenet.Refused},
		"another line":     {again("erasure-x", line.What), tenet.Invalid},
		"another kind":     {again(line.ID, "tenant"), tenet.Invalid},
		"somebody's order": {asked, tenet.Invalid},
	} {
		_, err := r.db.Again(ctx, c.d, line)
		wantKind(t, name, err, c.want)
	}
	_, err = r.db.Erase(ctx, again(line.ID, line.What), store.EraseOptions{})
	wantKind(t, "a repetition where an erasure is asked for", err, tenet.Invalid)
	_, err = r.g.Again("", "subject", r.now)
	wantKind(t, "a line without an id", err, tenet.Invalid)
	same(t, "rows", r.dump(t), was)
}
