package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
)

// DeleteSession removes a conversation's log, proposals, receipts and running
// work. Its id is spent: a late write is a Conflict and does not bring it back.
// What was consolidated from it stays; erasing a subject is another matter.
// Errors: NotFound, Denied for agents.
func (m *Memory) DeleteSession(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID) error {
	const op = "delete session"
	if err := reach(op, by, scope); err != nil {
		return err
	}
	if by.Kind() == tenet.Agent {
		return tenet.Errorf(tenet.Denied, op, "agents may not delete sessions")
	}
	if m.cfg.Deleter == nil {
		return tenet.Errorf(tenet.Unavailable, op, "the store deletes no sessions")
	}
	now := m.now()
	return onceOnly(ctx, by, now, func(ctx context.Context) error {
		return m.cfg.Deleter.DeleteSession(ctx, scope, id, now)
	})
}
