package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
)

// CheckIndex compares what recall would be built from with the records that
// are believed, and a live index, if there is one, with both. It says what
// differs; empty: nothing.
func (m *Memory) CheckIndex(ctx context.Context, scope tenet.Scope) (string, error) {
	if err := m.durable("check"); err != nil || m.cfg.Governor == nil {
		return "", err
	}
	believed := map[tenet.RecordID]string{}
	for after := tenet.RecordID(""); ; {
		page, err := m.cfg.Governor.Records(ctx, scope, after, 500)
		if err != nil {
			return "", err
		}
		for _, r := range page {
			after = r.ID
			if r.Tier != tenet.TierFact && r.Known.Open() && !r.Expired {
				believed[r.ID] = r.Text
			}
		}
		if len(page) < 500 {
			break
		}
	}
	ch, err := m.ledger.Changes(ctx, scope, 0)
	if err != nil {
		return "", err
	}
	if len(ch.Added) != len(believed) {
		return "recall would be built from other records than are believed", nil
	}
	for _, r := range ch.Added {
		if text, ok := believed[r.ID]; !ok || text != r.Text {
			return "recall would be built from other records than are believed", nil
		}
	}
	si := m.indexes.scope(scope)
	if err := m.indexes.refresh(ctx, scope, si); err != nil {
		return "", err
	}
	si.mu.RLock()
	defer si.mu.RUnlock()
	if si.head != ch.Head.Text { // somebody wrote meanwhile
		return "", nil
	}
	live := 0
	for _, e := range si.entries {
		if e.id == "" { // a place that is free
			continue
		}
		if text, ok := believed[e.id]; !ok || text != e.text {
			return "the live index is not what a rebuilt one would be", nil
		}
		live++
	}
	if live != len(believed) {
		return "the live index is not what a rebuilt one would be", nil
	}
	return "", nil
}
