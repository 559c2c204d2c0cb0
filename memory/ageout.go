package memory

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// ageOut drops the sealed texts of refused candidates that have run out. An
// open hold that nobody looked at is expired by it: nothing stays for ever
// because nobody decided.
func (m *Memory) ageOut(ctx context.Context, now time.Time) (n int, err error) {
	if m.cfg.Governor == nil {
		return 0, nil
	}
	for {
		due, err := m.cfg.Governor.AgedOut(ctx, now, stretchSize)
		if err != nil || len(due) == 0 {
			return n, err
		}
		for start := 0; start < len(due); { // one decision per scope
			end := start
			var aged []gate.Aged
			for ; end < len(due) && due[end].Scope == due[start].Scope; end++ {
				aged = append(aged, due[end].Aged)
			}
			d, err := m.gate.AgeOut(due[start].Scope, aged, now)
			if err != nil {
				return n, err
			}
			// Another sweeper may have been faster; the next look tells.
			if _, err := m.ledger.Apply(ctx, []gate.Decision{d}, nil); err != nil && tenet.KindOf(err) != tenet.Conflict {
				return n, err
			}
			n, start = n+len(aged), end
		}
	}
}
