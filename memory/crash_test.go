package memory_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/rules"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// fickle answers differently each time it is asked, as a model does: beside
// the turns it proposes notes that carry the call's own mark, one in one call
// and two in another.
type fickle struct{}

func (fickle) Name() string { return "fickle/1" }

func (fickle) Extract(ctx context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	out, err := model.Verbatim{}.Extract(ctx, st)
	b := make([]byte, 4)
	rand.Read(b)
	for _, m := range st.Messages {
		for n := range 1 + int(b[0])%2 {
			out = append(out, tenet.Candidate{Tier: tenet.TierNote, Text: fmt.Sprintf("%s mark%s note%d", m.Text, hex.EncodeToString(b), n)}.Citing(m.ID))
		}
	}
	return out, err
}

const crashProposals = 20

// crashMessages is how long the conversation is: 2,000 messages when kills are
// asked for, less in an ordinary run.
func crashMessages() int {
	if os.Getenv("TENET_KILLS") == "" {
		return 400
	}
	return 2000
}

func extractorNamed(name string) model.Extractor {
	if name == "fickle" {
		return fickle{}
	}
	return rules.Extractor{}
}

func openCrashFile(t testing.TB, path, extractor string, later time.Duration) *memory.Memory {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	m, err := memory.Open(context.Background(), memory.Config{
		Ledger: db, Sessions: db, Gate: newGate(), Extractor: extractorNamed(extractor), Now: func() time.Time { return time.Now().Add(later) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTheChildThatIsKilled is the process that the next test kills.
func TestTheChildThatIsKilled(t *testing.T) {
	path := os.Getenv("TENET_CRASH_FILE")
	if path == "" {
		return // TestAKillAtAnyPointOfAConsolidation runs it
	}
	m := openCrashFile(t, path, os.Getenv("TENET_CRASH_EXTRACTOR"), time.Hour)
	fmt.Println("ready")
	if _, _, err := m.ConsolidateOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	fmt.Println("finished")
}

// TestAKillAtAnyPointOfAConsolidation kills a process with SIGKILL at random
// points of the consolidation of 400 messages and lets another one finish:
// no item is lost, none is there twice, each has its verdict. TENET_KILLS says
// how many points, of 2,000 messages then (200: make crash-consolidation).
func TestAKillAtAnyPointOfAConsolidation(t *testing.T) {
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("TENET_KILLS")); err == nil {
		kills = n
	} else if testing.Short() {
		kills = 1
	}
	for _, extractor := range []string{"rules", "fickle"} {
		t.Run(extractor, func(t *testing.T) {
			rng := seeded(t)
			template := filepath.Join(t.TempDir(), "template.db")
			sarah := fillCrashFile(t, template)
			began := time.Now()
			if killed, _ := runChild(t, copyFile(t, template), extractor, time.Hour); killed {
				t.Fatal("the child does not finish")
			}
			whole := time.Since(began)
			points, early := map[string]int{}, 0
			for n := 0; n < kills; {
				path := copyFile(t, template)
				after := time.Duration(rng.Int64N(int64(whole)))
				started := time.Now()
				killed, ready := runChild(t, path, extractor, after)
				if !killed { // it was faster than the first: no point of it was hit
					whole = min(whole, time.Since(started))
					continue
				}
				n++
				if !ready {
					early++
				}
				m := openCrashFile(t, path, extractor, 3*time.Hour) // the dead one's lease is over
				point := stage(t, m, sarah)
				points[point]++
				for {
					if _, more, err := m.ConsolidateOnce(context.Background()); err != nil {
						t.Fatalf("killed %v after %v: %v", killed, after, err)
					} else if !more {
						break
					}
				}
				checkCrashFile(t, m, sarah, extractor, fmt.Sprintf("killed after %v (%s)", after, point))
				os.RemoveAll(filepath.Dir(path))
			}
			t.Logf("%s: %d kills over %v, before it began %d; by how many messages were consolidated then: %v", extractor, kills, whole.Round(time.Millisecond), early, points)
		})
	}
}

// stage names how far the dead process had come.
func stage(t *testing.T, m *memory.Memory, sarah tenet.Scope) string {
	t.Helper()
	app := principal(t, tenet.App, "shop")
	st := must[memory.Status](t)(m.Status(t.Context(), app, sarah, "chat", "", 100_000))
	return fmt.Sprintf("%d staged, %d judged", st.Staged/200*200, len(st.Verdicts)/400*400)
}

func fillCrashFile(t *testing.T, path string) tenet.Scope {
	t.Helper()
	db := must[*sqlite.DB](t)(sqlite.Open(t.Context(), path, sqlite.Options{}))
	m := must[*memory.Memory](t)(memory.Open(t.Context(), memory.Config{Ledger: db, Sessions: db, Gate: newGate()}))
	app, sarah := principal(t, tenet.App, "shop"), scope(t, "sarah")
	s := must[*memory.Session](t)(m.Session(t.Context(), app, sarah, "chat"))
	var ms []tenet.Message
	for i := range crashMessages() {
		text := fmt.Sprintf("This is turn %d of the day.", i)
		if i%10 == 3 {
			text = fmt.Sprintf("Remember that my locker has the number %d.", i)
		}
		ms = append(ms, tenet.UserMessage(text))
	}
	must[[]tenet.Message](t)(s.Append(t.Context(), ms...))
	for i := range crashProposals {
		text := fmt.Sprintf("proposal %d", i)
		must[tenet.CandidateID](t)(s.Propose(t.Context(), tenet.Note(sarah, text).Quoting(text)))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return sarah
}

func copyFile(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(must[string](t)(os.MkdirTemp(t.TempDir(), "crash")), "tenet.db")
	for _, suffix := range []string{"", ".key"} {
		b := must[[]byte](t)(os.ReadFile(path + suffix))
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// runChild runs the consolidation in a process of its own and kills it after a
// while. It reports whether the kill came first, and whether work had begun.
func runChild(t *testing.T, path, extractor string, after time.Duration) (killed, ready bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheChildThatIsKilled$", "-test.v")
	cmd.Env = append(os.Environ(), "TENET_CRASH_FILE="+path, "TENET_CRASH_EXTRACTOR="+extractor)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child failed: %v\n%s", err, out.String())
	}
	return err != nil, strings.Contains(out.String(), "ready")
}

func checkCrashFile(t *testing.T, m *memory.Memory, sarah tenet.Scope, extractor, when string) {
	t.Helper()
	ctx := t.Context()
	app := principal(t, tenet.App, "shop")
	op := must[*memory.Operator](t)(m.Operator(principal(t, tenet.Operator, "olga"), sarah))
	st := must[memory.Status](t)(m.Status(ctx, app, sarah, "chat", "", 100_000))
	if st.State != memory.JobDone || st.Staged != 0 {
		t.Fatalf("%s: %+v", when, st.Job)
	}
	episodes, proposals, marks := map[int64]int{}, map[string]int{}, map[int64]map[string]int{}
	for _, v := range st.Verdicts {
		if !v.Outcome.Kept() {
			t.Fatalf("%s: %+v", when, v)
		}
		r, ev, err := op.Record(ctx, v.Record)
		if err != nil || r.Tier != tenet.TierFact && r.Tier != tenet.TierEpisode && len(ev) == 0 {
			t.Fatalf("%s: %s has no record or evidence: %v", when, v.Candidate, err)
		}
		switch {
		case r.Tier == tenet.TierEpisode:
			episodes[r.Position]++
		case strings.HasPrefix(r.Text, "proposal "):
			proposals[r.Text]++
		case strings.Contains(r.Text, " mark"):
			var n int64
			text, mark, _ := strings.Cut(r.Text, " mark")
			mark, _, _ = strings.Cut(mark, " note")
			for _, w := range strings.Fields(strings.TrimSuffix(text, ".")) {
				if i, err := strconv.ParseInt(w, 10, 64); err == nil {
					n = i
				}
			}
			if marks[n/200] == nil {
				marks[n/200] = map[string]int{}
			}
			marks[n/200][mark]++
		}
	}
	for i := range int64(crashMessages()) {
		if episodes[i+1] != 1 {
			t.Fatalf("%s: message %d is there %d times", when, i+1, episodes[i+1])
		}
	}
	if len(proposals) != crashProposals {
		t.Errorf("%s: %d proposals", when, len(proposals))
	}
	for stretch, by := range marks {
		if len(by) != 1 {
			t.Errorf("%s: stretch %d was extracted by %d calls: %v", when, stretch, len(by), by)
		}
		for mark, n := range by {
			if n != 200 && n != 400 {
				t.Errorf("%s: stretch %d: %d notes of call %s", when, stretch, n, mark)
			}
		}
	}
	if extractor == "fickle" && len(marks) != crashMessages()/200 {
		t.Errorf("%s: %d stretches have notes", when, len(marks))
	}
	if v := must[store.Verification](t)(op.Verify(ctx)); !v.OK() {
		t.Errorf("%s: %+v", when, v)
	}
}
