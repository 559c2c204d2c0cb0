package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Operator is the review side of one scope: what is held, what was decided,
// and whether the record of it is intact.
type Operator struct {
	m     *Memory
	by    tenet.Principal
	scope tenet.Scope
}

// Operator returns the review handle. It returns a Denied error unless the
// principal is an operator of the tenant.
func (m *Memory) Operator(by tenet.Principal, scope tenet.Scope) (*Operator, error) {
	if err := m.durable("operator"); err != nil {
		return nil, err
	}
	if by.Kind() != tenet.Operator || !by.MayReach(scope) {
		return nil, tenet.Errorf(tenet.Denied, "operator", "only an operator of the tenant may review")
	}
	return &Operator{m, by, scope}, nil
}

// Scopes lists the tenant's scopes that the operator may reach, after the given
// one: limit of them, fewer only at the end.
func (o *Operator) Scopes(ctx context.Context, after tenet.Scope, limit int) ([]tenet.Scope, error) {
	var mine []tenet.Scope
	for len(mine) < limit {
		page, err := o.m.ledger.Scopes(ctx, o.scope.Tenant(), after, limit)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if o.by.MayReach(s) && len(mine) < limit {
				mine = append(mine, s)
			}
		}
		if len(page) < limit {
			break
		}
		after = page[len(page)-1]
	}
	return mine, nil
}

// Users lists the people of whom the tenant keeps something and whom the operator
// may reach, in a stable order: the first skip are passed over, at most limit are
// returned, and the number is of them all.
func (o *Operator) Users(ctx context.Context, skip, limit int) ([]string, int, error) {
	users, total := []string{}, 0
	for after := (tenet.Scope{}); ; {
		page, err := o.Scopes(ctx, after, 500)
		if err != nil || len(page) == 0 {
			return users, total, err
		}
		after = page[len(page)-1]
		for _, s := range page {
			if s.Subject().Kind() != tenet.SubjectUser {
				continue
			}
			if total++; total > skip && len(users) < limit {
				users = append(users, s.Subject().ID())
			}
		}
	}
}

// History returns every record ever believed under a key of a tier.
func (o *Operator) History(ctx context.Context, tier tenet.Tier, key string) ([]tenet.Record, error) {
	return o.m.ledger.History(ctx, o.scope, tier, key)
}

// Record returns one record with the excerpts that support it.
func (o *Operator) Record(ctx context.Context, id tenet.RecordID) (tenet.Record, []tenet.Evidence, error) {
	r, err := o.m.ledger.Record(ctx, o.scope, id)
	if err != nil {
		return tenet.Record{}, nil, err
	}
	ev, err := o.m.ledger.Evidence(ctx, o.scope, id)
	return r, ev, err
}

// Verdict returns what was decided about a candidate, and why.
func (o *Operator) Verdict(ctx context.Context, id tenet.CandidateID) (tenet.Verdict, error) {
	return o.m.ledger.Verdict(ctx, o.scope, id)
}

// Audit returns entries of the scope's chain from seq on, at most limit.
func (o *Operator) Audit(ctx context.Context, from uint64, limit int) ([]tenet.AuditEntry, error) {
	return o.m.ledger.Audit(ctx, o.scope, from, limit)
}

// Verify recomputes the scope's chain and every row it covers.
func (o *Operator) Verify(ctx context.Context) (store.Verification, error) {
	return o.m.ledger.Verify(ctx, o.scope)
}

// Held lists quarantined and rejected candidates with their texts, newest
// first.
func (o *Operator) Held(ctx context.Context, after tenet.CandidateID, limit int) ([]tenet.Held, error) {
	return o.m.ledger.Held(ctx, o.scope, o.m.now(), after, limit)
}

// Release admits a held candidate on the operator's word: a new record of
// label operator that elevates the held one. Errors: NotFound, Conflict when it
// is not open, Refused for what no operator may waive.
func (o *Operator) Release(ctx context.Context, id tenet.CandidateID) (tenet.Verdict, error) {
	held, err := o.held(ctx, id)
	if err != nil {
		return tenet.Verdict{}, err
	}
	k, err := o.m.elevated(ctx, o.by, o.scope, held, "/released")
	if err != nil {
		return tenet.Verdict{}, err
	}
	return o.m.elevate(ctx, o.by, k, func(k gate.Case) (gate.Decision, error) { return o.m.gate.Release(k, held) })
}

// Discard settles a held candidate without admitting it, and leaves a tombstone:
// the same statement is not held again when it comes with the same label or a
// lower one.
func (o *Operator) Discard(ctx context.Context, id tenet.CandidateID, why string) error {
	held, err := o.held(ctx, id)
	if err != nil {
		return err
	}
	d, err := o.m.gate.Discard(o.by, o.scope, held, why, o.m.now())
	if err != nil {
		return err
	}
	_, err = o.m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

func (o *Operator) held(ctx context.Context, id tenet.CandidateID) (tenet.Held, error) {
	return o.m.held(ctx, o.scope, id)
}

// held finds one held candidate.
func (m *Memory) held(ctx context.Context, scope tenet.Scope, id tenet.CandidateID) (tenet.Held, error) {
	var after tenet.CandidateID
	for {
		page, err := m.ledger.Held(ctx, scope, m.now(), after, 100)
		if err != nil {
			return tenet.Held{}, err
		}
		for _, h := range page {
			if h.Verdict.Candidate == id {
				return h, nil
			}
		}
		if len(page) < 100 {
			return tenet.Held{}, tenet.Errorf(tenet.NotFound, "held", "no such held candidate")
		}
		after = page[len(page)-1].Verdict.Candidate
	}
}
