package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
)

// CheckIndex compares what recall would be built from with the records that
// are believed, and a live index, if there is one, with both. It says what
// differs; empty: nothing. Unavailable when the store lists no records, or the
// scope is written so often that no two readings are of one state.
func (m *Memory) CheckIndex(ctx context.Context, scope tenet.Scope) (string, error) {
	const op = "check"
	if err := m.durable(op); err != nil {
		return "", err
	}
	if m.cfg.Governor == nil {
		return "", tenet.Errorf(tenet.Unavailable, op, "the store lists no records to compare an index with")
	}
	for range checkTries {
		before, err := m.ledger.Head(ctx, scope)
		if err != nil {
			return "", err
		}
		why, err := m.compareIndex(ctx, scope)
		if err != nil || why == "" {
			return why, err
		}
		after, err := m.ledger.Head(ctx, scope)
		if err != nil {
			return "", err
		}
		if before == after {
			return why, nil // nobody wrote: it is the index
		}
	}
	return "", tenet.Errorf(tenet.Unavailable, op, "the scope was written in each of %d comparisons", checkTries)
}

// checkTries is how often CheckIndex compares again after a write in between.
const checkTries = 5

func (m *Memory) compareIndex(ctx context.Context, scope tenet.Scope) (string, error) {
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
	if si.head != ch.Head.Text {
		return "the scope was written meanwhile", nil
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
