package memory

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"io"

	"github.com/tenet-memory/tenet"
)

// Reapply carries out the erasures of a journal that the database knows nothing
// of: those that a crash cut off before the commit, and those that are younger
// than a backup that was restored. Call it before anything is served. A line
// that is under a legal hold since waits for it to be lifted. A line
// that this engine's key did not sign is Invalid, and nothing is carried out;
// a last line without its end was never followed by a commit, and is passed
// over.
func (m *Memory) Reapply(ctx context.Context, journal io.Reader) (int, error) {
	const op = "reapply"
	if m.cfg.Eraser == nil || len(m.cfg.ErasureKey) != ed25519.PrivateKeySize {
		return 0, tenet.Errorf(tenet.Unavailable, op, "the store does not erase, or there is no key")
	}
	key := m.cfg.ErasureKey.Public().(ed25519.PublicKey)
	lines := map[string]JournalLine{}
	var ids []string
	r := bufio.NewReaderSize(journal, 1<<16)
	for n := 1; ; n++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, tenet.Errorf(tenet.Unavailable, op, "the journal cannot be read")
		}
		var l JournalLine
		if tenet.DecodeJSON(bytes.TrimSpace(text), &l) != nil || !l.Signed(key) {
			return 0, tenet.Errorf(tenet.Invalid, op, "line %d of the journal of erasures is not signed with this database's key, or was altered", n)
		}
		if _, twice := lines[l.ID]; !twice {
			ids = append(ids, l.ID)
		}
		lines[l.ID] = l
	}
	if len(ids) == 0 {
		return 0, nil
	}
	missing, err := m.cfg.Eraser.Unknown(ctx, ids)
	if err != nil {
		return 0, err
	}
	done := 0
	for _, id := range missing {
		d, err := m.gate.Again(id, lines[id].What, m.now())
		if err != nil {
			return done, err
		}
		if _, err := m.cfg.Eraser.Again(ctx, d, lines[id].Journaled); heldBack(err) {
			m.log.WarnContext(ctx, "an erasure that was begun waits for a legal hold to be lifted", "erasure", id)
		} else if err != nil {
			return done, err
		} else {
			done++
		}
	}
	if done > 0 {
		m.purge(ctx)
	}
	return done, nil
}
