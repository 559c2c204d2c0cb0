package storetest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

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

// alteredAfterErasure alters rows that an erasure left: those that it did not
// touch, those whose digest is the erasure's own, and what it wrote.
func alteredAfterErasure(t testing.TB, r *eraseRig) {
	for n, c := range []struct {
		what string
		with func(basil, kept tenet.RecordID, seq uint64) Tampering
	}{
		{"a row that it did not touch", func(basil, _ tenet.RecordID, _ uint64) Tampering { return Tampering{Damage: RecordText, Record: basil} }},
		{"a row that it made rest on others' word", func(_, kept tenet.RecordID, _ uint64) Tampering { return Tampering{Damage: RecordText, Record: kept} }},
		{"a row that it left, dropped", func(_, kept tenet.RecordID, _ uint64) Tampering {
			return Tampering{Damage: RecordDropped, Record: kept}
		}},
		{"its tombstones", func(_, _ tenet.RecordID, _ uint64) Tampering { return Tampering{Damage: TombDropped} }},
		{"its entry", func(_, _ tenet.RecordID, seq uint64) Tampering { return Tampering{Damage: EntryAltered, Seq: seq} }},
	} {
		r := r.on(tenet.User(fmt.Sprint("altered-", n)))
		r.fill("basil")
		one, two := r.say("one", "m1", "I sleep at nine.", "app:test"), r.say("two", "m2", "I sleep at nine.", "app:test")
		r.keep(r.citing(tenet.Note(r.scope, "sleeps at nine"), one))
		r.keep(r.citing(tenet.Note(r.scope, "sleeps at nine"), two))
		e := r.gone(gate.Selection{Session: "one"})
		if len(e.Kept) != 1 {
			t.Fatalf("kept on others' word: %v", e.Kept)
		}
		r.verified()
		if why, err := r.db.Chain(ctx, e.Chain, e.Seq, append([]byte{e.Hash[0] ^ 1}, e.Hash[1:]...)); err != nil || why == "" {
			t.Errorf("another hash at the entry is not found: %q %v", why, err)
		}
		if why, err := r.db.Chain(ctx, e.Chain, e.Seq+100, e.Hash); err != nil || why == "" {
			t.Errorf("an entry that is not there is not missed: %q %v", why, err)
		}
		w := c.with(r.history(tenet.TierFact, "allergy_basil")[0].ID, e.Kept[0], e.Seq)
		w.Scope = r.scope
		r.alter(w)
		v, err := r.l.Verify(ctx, r.scope)
		must(t, err)
		if v.OK() {
			t.Errorf("%s: altered after an erasure, and nobody finds it", c.what)
		}
	}
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
