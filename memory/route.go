package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// ReleaseAs is Release for a candidate that no extractor could route: the
// operator names the tier, and the key of a fact. Of one that named its tier
// itself it is Invalid.
func (o *Operator) ReleaseAs(ctx context.Context, id tenet.CandidateID, tier tenet.Tier, key string) (tenet.Verdict, error) {
	held, err := o.held(ctx, id)
	if err != nil {
		return tenet.Verdict{}, err
	}
	k, err := o.m.elevated(ctx, o.by, o.scope, held, "/released")
	if err != nil {
		return tenet.Verdict{}, err
	}
	k.Candidate.Tier, k.Candidate.Key = tier, key
	return o.m.elevate(ctx, o.by, k, func(k gate.Case) (gate.Decision, error) { return o.m.gate.Release(k, held) })
}
