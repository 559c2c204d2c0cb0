package roots_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/roots"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
	"github.com/tenet-memory/tenet/store/storetest"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type ledger interface {
	store.Ledger
	store.Governor
}

func write(t *testing.T, l ledger, user, text string) {
	t.Helper()
	scope, err := tenet.NewScope("acme", tenet.User(user))
	ok(t, err)
	app, err := tenet.NewPrincipal(tenet.App, "acme", "app")
	ok(t, err)
	c := tenet.Note(scope, text).Quoting(text)
	c.ID = tenet.CandidateID("c-" + text)
	d, err := gate.New(nil).Judge(gate.Case{By: app, Candidate: c, At: time.Now()})
	ok(t, err)
	_, err = l.Apply(context.Background(), []gate.Decision{d}, nil)
	ok(t, err)
}

func TestARootShowsWhatWasCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roots.jsonl")
	pub, key, err := ed25519.GenerateKey(nil)
	ok(t, err)
	l := storetest.NewOracle()
	write(t, l, "sarah", "one")
	write(t, l, "bob", "two")
	w, err := roots.NewWriter(l, roots.File(path), key, nil)
	ok(t, err)
	r, err := w.Once(t.Context(), time.Now())
	ok(t, err)
	if len(r.Heads) != 2 {
		t.Fatalf("%d heads, want 2", len(r.Heads))
	}
	if r, err := w.Once(t.Context(), time.Now()); r != nil || err != nil {
		t.Errorf("nothing moved: %v %v", r, err)
	}
	write(t, l, "sarah", "three")
	r, err = w.Once(t.Context(), time.Now())
	ok(t, err)
	if len(r.Heads) != 1 || r.N != 2 {
		t.Errorf("the second root is %+v", r)
	}
	write(t, l, "bob", "four") // the open window
	check := func(l store.Governor) roots.Check {
		t.Helper()
		b, err := os.ReadFile(path)
		ok(t, err)
		log, err := roots.Read(bytes.NewReader(b), pub)
		ok(t, err)
		c, err := log.Against(t.Context(), l, time.Now())
		ok(t, err)
		return c
	}
	c := check(l)
	if len(c.Findings) != 0 || c.Entries != 1 || c.Roots != 2 || c.Open <= 0 {
		t.Errorf("intact: %+v", c)
	}
	if text, _ := os.ReadFile(path); strings.Contains(string(text), "sarah") || strings.Contains(string(text), "acme") {
		t.Error("a root names somebody")
	}

	// A database whose chains end earlier, or say something else.
	if c := check(storetest.NewOracle()); len(c.Findings) != 2 {
		t.Errorf("dropped chains: %+v", c)
	}

	// A new process goes on where the log ended.
	b, _ := os.ReadFile(path)
	w, err = roots.NewWriter(l, roots.File(path), key, bytes.NewReader(b))
	ok(t, err)
	r, err = w.Once(t.Context(), time.Now())
	ok(t, err)
	if r.N != 3 || len(r.Heads) != 1 {
		t.Errorf("after a restart: %+v", r)
	}

	// Every altered byte of the log is found.
	b, _ = os.ReadFile(path)
	for i := 0; i < len(b); i += 37 {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := roots.Read(bytes.NewReader(bad), pub); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("byte %d altered: %v", i, err)
		}
	}
	other, _, _ := ed25519.GenerateKey(nil)
	for what, in := range map[string][]byte{"a line missing": b[bytes.IndexByte(b, '\n')+1:], "cut off": b[:len(b)-1], "noise": []byte("x\n")} {
		if _, err := roots.Read(bytes.NewReader(in), pub); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := roots.Read(bytes.NewReader(b), other); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("another key: %v", err)
	}
}

// TestTruncationThatTheChainItselfCannotShow cuts the newest entry off a real
// database, head and all: verify finds nothing, the root does.
func TestTruncationThatTheChainItselfCannotShow(t *testing.T) {
	dir := t.TempDir()
	full, short := filepath.Join(dir, "full.db"), filepath.Join(dir, "short.db")
	open := func(p string) *sqlite.DB {
		db, err := sqlite.Open(t.Context(), p, sqlite.Options{MasterKey: bytes.Repeat([]byte{7}, 32)})
		ok(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	db := open(full)
	write(t, db, "sarah", "one")
	ok(t, db.Close())
	old, err := os.ReadFile(full)
	ok(t, err)
	ok(t, os.WriteFile(short, old, 0o600)) // what an attacker would restore
	db = open(full)
	write(t, db, "sarah", "two")

	pub, key, err := ed25519.GenerateKey(nil)
	ok(t, err)
	var log bytes.Buffer
	w, err := roots.NewWriter(db, buffer{&log}, key, nil)
	ok(t, err)
	_, err = w.Once(t.Context(), time.Now())
	ok(t, err)

	restored := open(short)
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	v, err := restored.Verify(t.Context(), scope)
	ok(t, err)
	if !v.OK() {
		t.Errorf("the shorter chain does not verify by itself: %s", v.Why)
	}
	l, err := roots.Read(&log, pub)
	ok(t, err)
	c, err := l.Against(t.Context(), restored, time.Now())
	ok(t, err)
	if len(c.Findings) != 1 || c.Findings[0].Seq != 2 {
		t.Errorf("the root shows %+v", c)
	}
}

// TestARootReachesAcrossARetainedAudit: an entry that a root names may go when a
// sealed head stands for it, and only then.
func TestARootReachesAcrossARetainedAudit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cut.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{MasterKey: bytes.Repeat([]byte{7}, 32)})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	app, err := tenet.NewPrincipal(tenet.App, "acme", "app")
	ok(t, err)
	g, at := gate.New(nil), time.Now().Add(-200*24*time.Hour)
	denied := func(at time.Time) (scope tenet.Scope) {
		d, err := g.Denied(app, "facts", "another's", at)
		ok(t, err)
		_, err = db.Apply(t.Context(), []gate.Decision{d}, nil)
		ok(t, err)
		return d.Plan().Scope
	}
	scope := denied(at)
	pub, key, err := ed25519.GenerateKey(nil)
	ok(t, err)
	var written bytes.Buffer
	w, err := roots.NewWriter(db, buffer{&written}, key, nil)
	ok(t, err)
	_, err = w.Once(t.Context(), at.Add(time.Minute))
	ok(t, err)
	log, err := roots.Read(&written, pub)
	ok(t, err)
	against := func(what string, want int) {
		t.Helper()
		c, err := log.Against(t.Context(), db, time.Now())
		ok(t, err)
		if c.Chains != 1 || len(c.Findings) != want {
			t.Errorf("%s: %+v, want %d findings", what, c, want)
		}
	}
	denied(at.Add(24 * time.Hour))
	against("before", 0)
	d, err := g.CutAudit(scope, time.Now().Add(-60*24*time.Hour), time.Now())
	ok(t, err)
	cut, err := db.Cut(t.Context(), d)
	ok(t, err)
	if cut.Removed != 2 {
		t.Fatalf("the cut removed %d entries", cut.Removed)
	}
	against("cut", 0)
	raw, err := sql.Open("sqlite", path)
	ok(t, err)
	defer raw.Close()
	for what, q := range map[string]string{
		"the head says that more was cut": `UPDATE cuts SET body = CAST(replace(CAST(body AS TEXT), '"upto":2', '"upto":9') AS BLOB)`,
		"the head is signed by nobody":    "UPDATE cuts SET sig = zeroblob(64)",
	} {
		var body, sig []byte
		ok(t, raw.QueryRow("SELECT body, sig FROM cuts").Scan(&body, &sig))
		_, err = raw.Exec(q)
		ok(t, err)
		against(what, 1)
		_, err = raw.Exec("UPDATE cuts SET body = ?, sig = ?", body, sig)
		ok(t, err)
	}
	against("mended", 0)
	_, err = raw.Exec("DELETE FROM chain")
	ok(t, err)
	against("a head, and no chain", 1)
	if faults, err := db.Check(t.Context(), "acme"); err != nil || len(faults) == 0 {
		t.Errorf("fsck of a head without a chain: %+v, %v", faults, err)
	}
	_, err = raw.Exec("DELETE FROM cuts")
	ok(t, err)
	against("no head", 1)
}

type buffer struct{ *bytes.Buffer }

func (b buffer) Append(line []byte) error { _, err := b.Write(line); return err }
