package memory_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/roots"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// vault is an engine over a file, with a journal beside it.
type vault struct {
	*memory.Memory
	db   *sqlite.DB
	path string
}

func openVault(t testing.TB, path string, sink memory.Sink) *vault {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if sink == nil {
		sink = roots.File(path + ".erasures")
	}
	m, err := memory.Open(context.Background(), memory.Config{
		Ledger: db, Sessions: db, Gate: newGate(), Debounce: time.Millisecond,
		ErasureKey: ed25519.NewKeyFromSeed(db.Secret("erasure receipts")), Erasures: sink,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &vault{m, db, path}
}

// reapply is what the command does before it serves.
func (v *vault) reapply(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(v.path + ".erasures")
	if err != nil {
		t.Fatal(err)
	}
	n, err := v.Reapply(context.Background(), bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// canary is what must be gone: words with initials of their own, and the
// numbers of a vector, in every form in which a file could hold them.
type canary struct {
	token  string
	vector []int8
}

func newCanary(r *rand.Rand) canary {
	const letters = "bcdfghjklmnpqrstvwxz"
	b := make([]byte, 24)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	c := canary{token: string(b)}
	for range 64 {
		c.vector = append(c.vector, int8(r.IntN(255)-127))
	}
	return c
}

func (c canary) base64() string { return base64.StdEncoding.EncodeToString([]byte(c.token)) }

func (c canary) forms() map[string][]byte {
	vec := make([]byte, len(c.vector))
	for i, n := range c.vector {
		vec[i] = byte(n)
	}
	out := map[string][]byte{
		"token": []byte(c.token), "upper": []byte(strings.ToUpper(c.token)), "prefix": []byte(c.token[:8]), "suffix": []byte(c.token[16:]),
		"base64": []byte(c.base64()), "vector": vec[:32], "vector's end": vec[32:],
	}
	return out
}

// found lists the forms that any file of the folder holds.
func (c canary) found(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		var text []byte
		if err == nil && !d.IsDir() {
			text, err = os.ReadFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the database removed it meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		for name, form := range c.forms() {
			if bytes.Contains(text, form) {
				out = append(out, filepath.Base(path)+": "+name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tell fills a memory with the canary: said, derived, refused, resumed, kept by
// a framework, placed; once in a text that needs overflow pages.
func (v *vault) tell(t *testing.T, scope tenet.Scope, c canary) {
	t.Helper()
	ctx := context.Background()
	app := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.App, scope.Tenant(), "host"))
	agent := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Agent, scope.Tenant(), "bot"))
	s := must[*memory.Session](t)(v.Session(ctx, app, scope, "chat-"+tenet.SessionID(c.token)))
	_, err := s.Append(ctx, tenet.UserMessage("Before it I said nothing of note."), tenet.UserMessage("My secret word is "+c.token+"."),
		tenet.UserMessage("After it I spoke of bread."), tenet.AssistantMessage(strings.Repeat("I heard "+c.token+". ", 1500)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Remember(ctx, app, tenet.Fact(scope, "word_"+c.token[:6], "secret word "+c.token).Quoting("My secret word is "+c.token))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Remember(ctx, agent, tenet.Fact(scope, "word", "forged "+c.token).Quoting("forged "+c.token)); err == nil {
		t.Fatal("nothing was refused")
	}
	if _, err := s.Context(ctx, "secret word", memory.Budget{Tokens: 4000}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{c.token, strings.ToUpper(c.token), c.base64()} {
		if err := v.db.Put(ctx, scope, tenet.Blob{Thread: "t", ID: id, Data: []byte(c.token), CreatedAt: time.Now()}, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	op := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, scope.Tenant(), "op"))
	found := must[memory.Found](t)(v.Recall(ctx, op, "bread", memory.RecallOptions{}, scope))
	if len(found.Hits) == 0 {
		t.Fatal("nothing is recalled")
	}
	if err := v.db.Place(ctx, scope, "space", []store.Vector{{Record: found.Hits[0].ID, Values: c.vector}}); err != nil {
		t.Fatal(err)
	}
}

func folded(t testing.TB, path string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return raw
}

// TestErasedFromDisk holds what docs/erasure.md says of SQLite's files: after
// an erasure no file of the folder holds any form of what went, and before it
// all of them could be found.
func TestErasedFromDisk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := rand.New(rand.NewPCG(seed, 7))
			dir := t.TempDir()
			v := openVault(t, filepath.Join(dir, "tenet.db"), nil)
			gone, stays := newCanary(r), newCanary(r)
			sarah := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("sarah-"+gone.token)))
			bob := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("bob")))
			v.tell(t, sarah, gone)
			v.tell(t, bob, stays)
			if seed%2 == 0 { // what is in the file, too, not in its log alone
				if _, err := folded(t, v.path).Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
					t.Fatal(err)
				}
			}
			control := gone.found(t, dir)
			for form := range gone.forms() {
				if !strings.Contains(strings.Join(control, "|")+"|", ": "+form+"|") {
					t.Errorf("seed %d: the control does not find the %s: %v", seed, form, control)
				}
			}
			op := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, "acme", "op"))
			before := must[memory.Found](t)(v.Recall(ctx, op, "secret word bread", memory.RecallOptions{}, bob))
			of := gate.Selection{Subject: true}
			if seed%4 == 1 {
				of = gate.Selection{Session: tenet.SessionID("chat-" + gone.token)}
			}
			var reader *sql.Tx
			if seed%4 == 2 { // a reader that will not let go
				var err error
				if reader, err = folded(t, v.path).Begin(); err != nil {
					t.Fatal(err)
				}
				var n int
				if err := reader.QueryRow(`SELECT count(*) FROM records`).Scan(&n); err != nil {
					t.Fatal(err)
				}
			}
			e, err := v.Erase(ctx, op, sarah, memory.Erasing{Of: of})
			if err != nil {
				t.Fatal(err)
			}
			o := must[*memory.Operator](t)(v.Operator(op, bob))
			if reader != nil {
				if es := must[[]memory.ErasureState](t)(o.Erasures(ctx, 10)); es[0].State != store.ErasurePending {
					t.Errorf("seed %d: with a reader in its way the erasure is %s", seed, es[0].State)
				}
				if len(gone.found(t, dir)) == 0 {
					t.Errorf("seed %d: the reader held nothing back: the variant tests nothing", seed)
				}
				reader.Rollback()
				if err := v.db.Purge(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if of.Session != "" { // a session alone: what was said elsewhere stays until the rest goes
				if v := must[memory.Found](t)(v.Recall(ctx, op, "bread", memory.RecallOptions{}, sarah)); len(v.Hits) > 0 {
					t.Errorf("seed %d: recall still finds the session: %d", seed, len(v.Hits))
				}
				if e, err = v.Erase(ctx, op, sarah, memory.Erasing{Of: gate.Selection{Subject: true}}); err != nil {
					t.Fatal(err)
				}
			}
			if es := must[[]memory.ErasureState](t)(o.Erasures(ctx, 10)); es[0].State != store.ErasureDone {
				t.Errorf("seed %d: the erasure is %s", seed, es[0].State)
			}
			if left := gone.found(t, dir); len(left) > 0 {
				t.Errorf("seed %d: found after the erasure: %v", seed, left)
			}
			// What runs afterwards brings nothing back.
			if _, err := v.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			for more := true; more; {
				if _, more, err = v.ConsolidateOnce(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if left := gone.found(t, dir); len(left) > 0 {
				t.Errorf("seed %d: found after consolidation: %v", seed, left)
			}
			check, err := v.VerifyErasure(ctx, op, *e.Receipt, nil)
			if err != nil || !check.OK {
				t.Errorf("seed %d: the receipt does not hold: %+v %v", seed, check, err)
			}
			if text, _ := json.Marshal(e.Receipt); bytes.Contains(text, []byte(gone.token)) {
				t.Errorf("seed %d: the receipt holds what went", seed)
			}
			forged := *e.Receipt
			forged.Seq++
			if check, err := v.VerifyErasure(ctx, op, forged, nil); err != nil || check.OK {
				t.Errorf("seed %d: an altered receipt holds: %v", seed, err)
			}
			stranger := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, "globex", "olga"))
			if check, err := v.VerifyErasure(ctx, stranger, *e.Receipt, nil); err != nil || check.OK || check.Signature || len(check.Places) > 0 || check.Chain != "" {
				t.Errorf("seed %d: another tenant's operator learns from the receipt: %+v %v", seed, check, err)
			}
			after := must[memory.Found](t)(v.Recall(ctx, op, "secret word bread", memory.RecallOptions{}, bob))
			if a, b := must[[]byte](t)(json.Marshal(before.Hits)), must[[]byte](t)(json.Marshal(after.Hits)); !bytes.Equal(a, b) {
				t.Errorf("seed %d: another subject's recall changed", seed)
			}
			if w := must[store.Verification](t)(o.Verify(ctx)); !w.OK() {
				t.Errorf("seed %d: another subject's chain: %s", seed, w.Why)
			}
			if left := stays.found(t, dir); len(left) == 0 {
				t.Errorf("seed %d: the other's words are gone: the control finds nothing", seed)
			}
		})
	}
}

// killer is a journal that kills its process where it is told to.
type killer struct {
	roots.File
	when string
}

func (k killer) Append(line []byte) error {
	switch k.when {
	case "before the journal":
		kill()
	case "in the journal":
		k.File.Append(line[:len(line)/2])
		kill()
	}
	err := k.File.Append(line)
	if k.when == "before the commit" {
		kill()
	}
	if k.when == "after the commit" {
		go func() {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			kill()
		}()
	}
	return err
}

func kill() {
	p, _ := os.FindProcess(os.Getpid())
	p.Kill()
	select {}
}

// TestTheEraserThatIsKilled is the process that the next test kills.
func TestTheEraserThatIsKilled(t *testing.T) {
	path := os.Getenv("TENET_ERASE_FILE")
	if path == "" {
		t.Skip("run by TestAKilledErasureIsWholeOrNot")
	}
	v := openVault(t, path, killer{roots.File(path + ".erasures"), os.Getenv("TENET_ERASE_KILL")})
	scope := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("sarah")))
	op := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, "acme", "op"))
	v.Erase(context.Background(), op, scope, memory.Erasing{Of: gate.Selection{Subject: true}})
	time.Sleep(time.Second)
	kill()
}

// TestAKilledErasureIsWholeOrNot kills an erasure at each of its steps. After
// the next start it is carried out, or it never began; it is never half done.
func TestAKilledErasureIsWholeOrNot(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		when  string
		gone  bool // after the restart
		again int
	}{
		{"before the journal", false, 0},
		{"in the journal", false, 0},
		{"before the commit", true, 1},
		{"after the commit", true, 0},
	} {
		t.Run(c.when, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			dir := t.TempDir()
			path := filepath.Join(dir, "tenet.db")
			gone := newCanary(rand.New(rand.NewPCG(uint64(i), 9)))
			scope := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("sarah")))
			v := openVault(t, path, nil)
			v.tell(t, scope, gone)
			v.db.Close()
			child := exec.Command(os.Args[0], "-test.run=^TestTheEraserThatIsKilled$")
			child.Env = append(os.Environ(), "TENET_ERASE_FILE="+path, "TENET_ERASE_KILL="+c.when)
			if err := child.Run(); err == nil {
				t.Fatal("the child was not killed")
			}
			v = openVault(t, path, nil)
			op := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, "acme", "op"))
			n := 0
			if _, err := os.Stat(path + ".erasures"); err == nil {
				n = v.reapply(t)
			}
			if err := v.db.Purge(ctx); err != nil {
				t.Fatal(err)
			}
			if c.when == "after the commit" {
				c.again = n // the kill may have been faster than the commit
			}
			if n != c.again {
				t.Errorf("%d erasures were carried out at the start, want %d", n, c.again)
			}
			facts := must[[]memory.Fact](t)(v.Facts(ctx, op, tenet.AsOf{}, scope))
			left := gone.found(t, dir)
			if c.gone && (len(facts) > 0 || len(left) > 0) {
				t.Errorf("it is half done: %d facts, %v", len(facts), left)
			}
			if !c.gone && (len(facts) == 0 || len(left) == 0) {
				t.Errorf("it never began, and %d facts are left", len(facts))
			}
			o := must[*memory.Operator](t)(v.Operator(op, scope))
			es := must[[]memory.ErasureState](t)(o.Erasures(ctx, 10))
			if c.gone && (len(es) != 1 || es[0].State != store.ErasureDone) {
				t.Errorf("erasures: %+v, want one done", es)
			}
			if w := must[store.Verification](t)(o.Verify(ctx)); !w.OK() {
				t.Errorf("the chain: %s", w.Why)
			}
		})
	}
}

// TestAnOldFileBringsNothingBack is a restore: the file of before the erasure
// comes back, beside the journal of after.
func TestAnOldFileBringsNothingBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenet.db")
	r := rand.New(rand.NewPCG(1, 11))
	gone, part := newCanary(r), newCanary(r)
	sarah := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("sarah")))
	bob := must[tenet.Scope](t)(tenet.NewScope("acme", tenet.User("bob")))
	op := must[tenet.Principal](t)(tenet.NewPrincipal(tenet.Operator, "acme", "op"))
	v := openVault(t, path, nil)
	v.tell(t, sarah, gone)
	v.tell(t, bob, part)
	v.db.Close()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v = openVault(t, path, nil)
	for _, e := range []struct {
		scope tenet.Scope
		of    gate.Selection
	}{{sarah, gate.Selection{Subject: true}}, {bob, gate.Selection{Key: "word_" + part.token[:6]}}} {
		if _, err := v.Erase(ctx, op, e.scope, memory.Erasing{Of: e.of}); err != nil {
			t.Fatal(err)
		}
	}
	v.db.Close()
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	v = openVault(t, path, nil)
	if n := v.reapply(t); n != 2 {
		t.Errorf("%d erasures were carried out again, want 2", n)
	}
	if left := gone.found(t, dir); len(left) > 0 {
		t.Errorf("the old file brought back %v", left)
	}
	if fs := must[[]memory.Fact](t)(v.Facts(ctx, op, tenet.AsOf{}, sarah, bob)); len(fs) > 0 {
		t.Errorf("the old file brought back %d facts", len(fs))
	}
	o := must[*memory.Operator](t)(v.Operator(op, bob))
	if w := must[store.Verification](t)(o.Verify(ctx)); !w.OK() {
		t.Errorf("the chain: entry %d: %s", w.Bad, w.Why)
	}
	if n := v.reapply(t); n != 0 {
		t.Errorf("a second start carried out %d", n)
	}
	// A line that somebody else wrote is refused, by number.
	text, err := os.ReadFile(path + ".erasures")
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.IndexByte(text, '\n')+40] ^= 1
	if _, err := v.Reapply(ctx, bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("an altered journal: %v", err)
	}
}
