package memory_test

import (
	"bytes"
	"crypto/ed25519"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// journal keeps the lines of erasures.
type journal struct{ bytes.Buffer }

func (j *journal) Append(line []byte) error { j.Write(line); return nil }

// TestANewDatabaseWithTheJournalTakesNothingErasedFromAnOldExport: the database
// is lost, the journal and the master key are not.
func TestANewDatabaseWithTheJournalTakesNothingErasedFromAnOldExport(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	lines := &journal{}
	open := func() *engine {
		return mover(t, backend{"sqlite", func(t *testing.T) stores {
			db := must[*sqlite.DB](t)(sqlite.Open(ctx, filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{MasterKey: bytes.Repeat([]byte{5}, 32)}))
			t.Cleanup(func() { db.Close() })
			return stores{db, db}
		}}, 1)
	}
	e := governed(t, backend{"sqlite", func(*testing.T) stores { return open().stores }}, func(c *memory.Config) {
		c.ErasureKey, c.Erasures = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)), lines
	})
	v := must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "The locker has the code zebra."))))
	must[tenet.Verdict](t)(e.Remember(ctx, e.app, quoting(tenet.Note(e.sarah, "Sarah likes trains."))))
	s := must[*memory.Session](t)(e.Session(ctx, e.app, e.sarah, "chat"))
	said := must[[]tenet.Message](t)(s.Append(ctx, tenet.UserMessage("I keep a quagga."), tenet.UserMessage("I like tea.")))
	must[tenet.Verdict](t)(e.Remember(ctx, e.app, tenet.Note(e.sarah, "I keep a quagga.").Citing(said[0].ID)))
	file := e.export(t)
	whole := open()
	whole.clock.Store(e.clock.Load())
	if got := whole.bring(t, file); got.Restored == 0 || got.Merged != 0 {
		t.Errorf("without the journal, which would prove nothing: %+v", got)
	}
	e.advance(time.Hour)
	must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Record: v.Record}}))
	must[memory.Erasure](t)(e.Erase(ctx, e.op, e.sarah, memory.Erasing{Of: gate.Selection{Message: said[0].ID}}))
	for _, word := range []string{"sarah", "zebra", "quagga", "chat", string(said[0].ID), string(v.Record)} {
		if strings.Contains(lines.String(), word) {
			t.Errorf("the journal says %q", word)
		}
	}
	n := open()
	n.clock.Store(e.clock.Load())
	if carried := must[int](t)(n.Reapply(ctx, bytes.NewReader(lines.Bytes()))); carried != 2 {
		t.Fatalf("%d erasures were carried out again", carried)
	}
	n.advance(time.Hour)
	got := n.bring(t, file)
	if got.Restored != 0 || got.Kept == 0 || got.Refused[string(tenet.CodeErased)] != 2 || got.Sessions != 1 {
		t.Errorf("%+v", got)
	}
	all := n.view(t)
	if strings.Contains(all, "zebra") || strings.Contains(all, "quagga") {
		t.Error("something erased is back")
	}
	if !strings.Contains(all, "trains") || !strings.Contains(all, "I like tea.") {
		t.Error("what was not erased is not there")
	}
	n.verified(t)
}
