package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// batchSessions is how many sessions may share one call of an extractor.
const batchSessions = 8

// together extracts other due sessions of the scope in one call with the leased
// one, and stages each by itself. It only saves calls: what it stages is
// found by whoever leases the session next, and whatever goes wrong here is
// left to each session's own turn, so that a text that no extractor can read
// holds up nobody but its own session. For the same reason a session whose last
// attempt failed is never taken along.
func (m *Memory) together(ctx context.Context, x model.BatchExtractor, l store.Lease) {
	if l.Session.Attempts > 0 {
		return
	}
	scope := l.Session.Scope
	left := stretchSize
	var ws []window
	take := func(s tenet.Session) {
		cursor, staged, err := m.ledger.Staged(ctx, scope, s.ID)
		if err != nil || len(staged) > 0 {
			return // what is staged is judged first
		}
		ms, err := m.sessions.Messages(ctx, scope, s.ID, cursor, left)
		if err != nil || len(ms) == 0 {
			return
		}
		left -= len(ms)
		ws = append(ws, window{s, cursor, ms})
	}
	take(l.Session)
	if len(ws) == 0 {
		return
	}
	// What cannot be taken along stays leased until the end, so that the next is
	// another; twice as many as are wanted are looked at.
	for tries := 0; tries < 2*batchSessions && len(ws) < batchSessions && left > 0; tries++ {
		now := m.now()
		other, err := m.sessions.Lease(ctx, store.LeaseRequest{Worker: worker(), Now: now, Until: now.Add(m.cfg.Lease), Scope: scope})
		if err != nil {
			m.log.WarnContext(ctx, "no further session for a batch", "kind", tenet.KindOf(err).String())
		}
		if err != nil || other == nil {
			break
		}
		defer func() { // due again when it was, for its own turn
			_ = m.sessions.Ack(context.WithoutCancel(ctx), *other, store.Ack{Cursor: other.Session.Consolidated, NextDue: other.Session.DueAt, Now: m.now()})
		}()
		take(other.Session)
	}
	if len(ws) < 2 {
		return
	}
	var sts []model.Stretch
	var shown []tenet.Message
	for _, w := range ws {
		st := w.stretch()
		sts, shown = append(sts, st), append(shown, st.Messages...)
	}
	ectx, span := trace.Start(ctx, "extract")
	all, err := x.ExtractBatch(ectx, sts)
	span.Count("tenet.messages", len(shown))
	span.Count("tenet.sessions", len(sts))
	span.End(err)
	if err != nil || len(all) != len(ws) {
		m.log.WarnContext(ctx, "a batch cannot be extracted: each session by itself", "kind", tenet.KindOf(err).String())
		return
	}
	for i, w := range ws {
		if err := m.save(ctx, w, shown, all[i]); err != nil {
			m.log.WarnContext(ctx, "a session of a batch cannot be staged", "kind", tenet.KindOf(err).String())
		}
	}
}
