package storetest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
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
	store.Freezer
	store.Deleter
	store.Shelf
}

type eraseClause struct {
	name string
	run  func(testing.TB, *eraseRig)
}

var eraseClauses = []eraseClause{
	{"EveryTableAndColumnHasARule", everyTableHasARule},
	{"ASubjectLeavesNoByte", aSubjectLeavesNoByte},
	{"WhatAPersonLeftElsewhereGoes", leftElsewhereGoes},
	{"EveryWordLeftElsewhereIsFound", everyWordElsewhere},
	{"PartsGoAndTheChainVerifies", partsGo},
	{"AStateThatHoldsItGoes", aStateThatHoldsItGoes},
	{"WhatOthersSaidTooStays", saidByOthersStays},
	{"ASessionKeptElsewhereGoes", sessionElsewhereGoes},
	{"ADryRunWritesNothing", aDryRunWritesNothing},
	{"ThatSomethingWasErasedIsKnown", erasureIsKnown},
	{"LateWritersWriteNothing", lateWritersWriteNothing},
	{"OnlyTheUserMaySayItAgain", onlyTheUserSaysItAgain},
	{"AnAlteredRowIsFoundAfterAnErasure", alteredAfterErasure},
	{"ATenantGoesWhole", aTenantGoesWhole},
	{"AJournalErasesAgain", aJournalErasesAgain},
	{"AJournalErasesATenantAgain", aJournalErasesATenantAgain},
	{"OnlyTheGateErasesAgain", onlyTheGateErasesAgain},
	{"ALegalHoldKeepsEverything", aLegalHoldKeepsEverything},
	{"ALegalHoldInAnotherScopeStopsTheErasure", aLegalHoldElsewhere},
	{"AnErasureIsCarriedOutAgainPastAnOlderHold", anErasureAgainPastAnOlderHold},
	{"OfWhoWasErasedThereIsNothingToHold", nothingToHold},
	{"AnErasureMakesRoom", anErasureMakesRoom},
	{"WhoComesBackAfterAnErasureIsServedAsAnybody", whoComesBackIsServed},
}

// RunErasure checks store.Eraser on a database. dump reads its rows past the
// ports, alter alters one.
func RunErasure[D Erasable](t *testing.T, open func(testing.TB) D, dump func(testing.TB, D) Rows, alter func(testing.TB, store.Ledger, Tampering)) {
	for _, c := range eraseClauses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			r := newEraseRig(t, db, func(t testing.TB) Rows { return dump(t, db) })
			r.alter = func(w Tampering) { r.altered = true; alter(r.TB, db, w) }
			c.run(t, r)
			if !t.Failed() && !r.altered {
				r.headsCount()
			}
		})
	}
}

// Fill writes rows of a subject into every table that can have one. Its name,
// and every text, id and place in them hold the word.
func Fill(t testing.TB, db Erasable, word string) tenet.Scope {
	t.Helper()
	r := &eraseRig{rig: rigOn(t, db, mustScope(t, "acme", tenet.User("sarah-"+word)), nil), db: db}
	r.fill(word)
	return r.scope
}

// mark stands in everything that is to go.
const mark = "Qzwxmark"

type eraseRig struct {
	*rig
	db    Erasable
	dump  func(testing.TB) Rows
	alter func(Tampering)

	altered bool
}

func newEraseRig(t testing.TB, db Erasable, dump func(testing.TB) Rows) *eraseRig {
	return &eraseRig{rig: rigOn(t, db, mustScope(t, "acme", tenet.User("sarah-"+mark)), nil), db: db, dump: dump}
}

func (r *eraseRig) on(s tenet.Subject) *eraseRig {
	return &eraseRig{rig: rigOn(r.TB, r.db, mustScope(r.TB, r.scope.Tenant(), s), nil), db: r.db, dump: r.dump, alter: r.alter}
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
	hash := sha256.Sum256([]byte(word + r.scope.Key()))
	r.access(tenet.Key{ID: rand.Text(), Tenant: r.scope.Tenant(), Kind: tenet.EndUser, Name: r.scope.Subject().ID(), Subjects: []string{r.scope.Subject().String()}, Hash: hash[:]})
	once := store.WithOnce(ctx, &store.Once{Tenant: r.scope.Tenant(), Caller: "app:test", Route: "append", Key: word + r.scope.Key(), Fingerprint: []byte(word), Now: r.now, ExpiresAt: r.now.Add(time.Hour),
		Answer: func(v any) ([]byte, error) { return json.Marshal(v) }})
	_, err = r.db.Append(once, r.scope, session, []tenet.Message{{ID: tenet.MessageID("once-" + word), Role: tenet.RoleUser, Text: "again " + word, Label: tenet.LabelUserStated, RecordedBy: "app:test", RecordedAt: r.now}}, time.Time{})
	must(r.TB, err)
}

// erasureIsKnown: of parts too, and for a subject of the same name that has
// nothing yet.
func erasureIsKnown(t testing.TB, r *eraseRig) {
	a := r.keep(r.note("Sarah likes " + mark + "."))
	known := func(want bool) {
		t.Helper()
		if forgot, err := r.db.(store.Archive).Forgot(ctx, r.scope); err != nil || forgot != want {
			t.Errorf("forgot is %v, %v", forgot, err)
		}
	}
	known(false)
	d, err := r.g.Erase(r.operator, r.scope, gate.Selection{Record: a.Verdict.Record}, "erasure-dry", "", r.now)
	must(t, err)
	_, err = r.db.Erase(ctx, d, store.EraseOptions{DryRun: true})
	must(t, err)
	known(false)
	d, err = r.g.Erase(r.operator, r.scope, gate.Selection{Record: a.Verdict.Record}, "erasure-1", "", r.now)
	must(t, err)
	e, err := r.db.Erase(ctx, d, store.EraseOptions{})
	must(t, err)
	known(true)
	if len(e.Journal.Gone) == 0 {
		t.Error("the journal's line says nothing to a database that never held it")
	}
	d, err = r.g.Erase(r.operator, r.scope, gate.Selection{Subject: true}, "erasure-2", "", r.now.Add(time.Second))
	must(t, err)
	_, err = r.db.Erase(ctx, d, store.EraseOptions{})
	must(t, err)
	st, err := r.l.State(ctx, r.scope, gate.Query{Statement: gate.Fingerprint(tenet.Note(r.scope, "Sarah likes "+mark+"."))}, r.now)
	must(t, err)
	if st.Blocked.Erased.IsZero() || st.Blocked.Subject.IsZero() {
		t.Errorf("what was erased is not known: %+v", st.Blocked)
	}
}
