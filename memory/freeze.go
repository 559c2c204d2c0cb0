package memory

import (
	"context"
	"errors"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// LegalHold is a legal hold that stands.
type LegalHold = store.Frozen

// Freeze places a legal hold on the scope: until Thaw nothing of it is erased
// and nothing expires; recall, new statements and forgetting go on. Errors:
// Invalid without a reason, Conflict when one stands already, and with code
// ERASED when the subject was erased and nothing came since, Unavailable when a
// store knows no holds.
func (o *Operator) Freeze(ctx context.Context, why string) (tenet.AuditEntry, error) {
	d, err := o.m.gate.Freeze(o.by, o.scope, why, o.m.now())
	if err != nil {
		return tenet.AuditEntry{}, err
	}
	if _, err := o.freezer("legal hold"); err != nil {
		return tenet.AuditEntry{}, err
	}
	// The sessions first: a crash in between keeps too much.
	if err := o.freezeSessions(ctx, true); err != nil {
		return tenet.AuditEntry{}, err
	}
	e, err := o.legalHold(ctx, d)
	if erased(err) {
		err = errors.Join(err, o.freezeSessions(ctx, false))
	}
	return e, err
}

// Thaw lifts the legal hold. It is Conflict when none stands.
func (o *Operator) Thaw(ctx context.Context, why string) (tenet.AuditEntry, error) {
	d, err := o.m.gate.Thaw(o.by, o.scope, why, o.m.now())
	if err != nil {
		return tenet.AuditEntry{}, err
	}
	e, err := o.legalHold(ctx, d)
	if err != nil && tenet.KindOf(err) != tenet.Conflict {
		return e, err
	}
	// Also when none stood: a crash may have left the sessions frozen.
	return e, errors.Join(err, o.freezeSessions(ctx, false))
}

func (o *Operator) legalHold(ctx context.Context, d gate.Decision) (tenet.AuditEntry, error) {
	as, err := o.m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	if err != nil {
		return tenet.AuditEntry{}, err
	}
	return as[0].Entry, nil
}

// freezeSessions is for a session tier in a database of its own.
func (o *Operator) freezeSessions(ctx context.Context, frozen bool) error {
	if !o.m.apart() {
		return nil
	}
	s, ok := o.m.cfg.Sessions.(store.SessionFreezer)
	if !ok {
		return tenet.Errorf(tenet.Unavailable, "legal hold", "the session store knows no legal holds")
	}
	return s.Freeze(ctx, o.scope, frozen)
}

// LegalHolds lists the tenant's legal holds on scopes that the operator may
// reach, after the given scope (zero: from the first): limit of them, fewer only
// at the end.
func (o *Operator) LegalHolds(ctx context.Context, after tenet.Scope, limit int) ([]LegalHold, error) {
	f, err := o.freezer("legal holds")
	if err != nil {
		return nil, err
	}
	out := []LegalHold{}
	for len(out) < limit {
		page, err := f.Frozen(ctx, o.scope.Tenant(), o.m.now(), after, limit)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			if o.by.MayReach(h.Scope) && len(out) < limit {
				out = append(out, h)
			}
		}
		if len(page) < limit {
			break
		}
		after = page[len(page)-1].Scope
	}
	return out, nil
}

// HoldCounts are numbers about the legal holds of all tenants.
type HoldCounts struct {
	Standing int           `json:"standing"`
	Age      time.Duration `json:"age"`     // of the one that has stood longest
	Overdue  int           `json:"overdue"` // texts past their time that stay because of one
}

// HoldCounts counts legal holds. It is Unavailable when the store knows none.
func (m *Memory) HoldCounts(ctx context.Context) (HoldCounts, error) {
	f, ok := m.ledger.(store.Freezer)
	if !ok {
		return HoldCounts{}, tenet.Errorf(tenet.Unavailable, "legal holds", "the store knows no legal holds")
	}
	now := m.now()
	c, err := f.FrozenCounts(ctx, now)
	out := HoldCounts{Standing: c.Holds, Overdue: c.Overdue}
	if !c.Oldest.IsZero() {
		out.Age = now.Sub(c.Oldest)
	}
	return out, err
}

func (o *Operator) freezer(op string) (store.Freezer, error) {
	f, ok := o.m.ledger.(store.Freezer)
	if !ok {
		return nil, tenet.Errorf(tenet.Unavailable, op, "the store knows no legal holds")
	}
	return f, nil
}

// heldBack reports whether a legal hold stood in the way.
func heldBack(err error) bool {
	var e *tenet.Error
	return errors.As(err, &e) && e.Code == store.CodeLegalHold
}

// erased reports whether there is nothing to hold.
func erased(err error) bool {
	var e *tenet.Error
	return errors.As(err, &e) && e.Code == tenet.CodeErased
}
