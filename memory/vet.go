package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
)

// Vet says what Remember would decide, without writing anything: the decision
// without the write. It is judged against the state as it is now, so a later
// write may fare otherwise. Errors: Invalid, Denied, Conflict, Unavailable; a
// refusal is in the verdict and no error.
func (m *Memory) Vet(ctx context.Context, by tenet.Principal, c tenet.Candidate) (tenet.Verdict, error) {
	if err := m.durable("vet"); err != nil {
		return tenet.Verdict{}, err
	}
	if err := reach("vet", by, c.Scope); err != nil {
		return tenet.Verdict{}, err
	}
	if err := nameCandidate("vet", &c); err != nil {
		return tenet.Verdict{}, err
	}
	c.ProposedBy, c.ProposedAt = by.String(), m.now()
	k, err := m.buildCase(ctx, by, c)
	if err != nil {
		return tenet.Verdict{}, err
	}
	if k.State, err = m.ledger.State(ctx, c.Scope, m.gate.Query(k), k.At); err != nil {
		return tenet.Verdict{}, err
	}
	d, err := m.gate.Judge(k)
	return d.Verdict(), err
}
