package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// JobState is where the consolidation of a session stands. The set is closed.
type JobState string

const (
	JobDone    JobState = "done"    // nothing waits: every item has its verdict
	JobWaiting JobState = "waiting" // not due yet: the turn is not over
	JobDue     JobState = "due"     // a worker takes it next, or has it
	JobFailing JobState = "failing" // the last attempt failed; it is tried again when due
	JobDead    JobState = "dead"    // given up after MaxAttempts: retry it, or drop it
)

// Job is a session as the pipeline sees it.
type Job struct {
	Scope    tenet.Scope     `json:"scope"`
	Session  tenet.SessionID `json:"session"`
	State    JobState        `json:"state"`
	Messages int64           `json:"messages"` // not consolidated yet
	DueAt    time.Time       `json:"due_at,omitzero"`
	Attempts int             `json:"attempts,omitempty"`
	Code     tenet.Code      `json:"code,omitempty"` // why the last attempt failed
}

func jobOf(s tenet.Session, now time.Time) Job {
	j := Job{
		Scope: s.Scope, Session: s.ID, Messages: s.Length - s.Consolidated, DueAt: s.DueAt, Attempts: s.Attempts, Code: s.LastCode,
	}
	switch {
	case s.Attempts > 0 && s.DueAt.IsZero():
		j.State = JobDead
	case s.Attempts > 0:
		j.State = JobFailing
	case s.DueAt.IsZero():
		j.State = JobDone
	case s.DueAt.After(now):
		j.State = JobWaiting
	default:
		j.State = JobDue
	}
	return j
}

// Status is what became of a session's items so far.
type Status struct {
	Job
	Staged   int             `json:"staged"` // saved candidates that have no verdict yet
	Verdicts []tenet.Verdict `json:"verdicts"`
	// Next continues the list of verdicts; empty at its end.
	Next tenet.CandidateID `json:"next,omitempty"`
}

// Status says where a session's consolidation stands, with the verdicts of its
// extracted candidates and of the proposals that Tenet named, in the order of
// their ids after the given one, at most limit. The state is terminal when it
// is JobDone with nothing staged, or JobDead. Errors: NotFound, Denied.
func (m *Memory) Status(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, after tenet.CandidateID, limit int) (Status, error) {
	if err := m.durable("status"); err != nil {
		return Status{}, err
	}
	if limit <= 0 {
		return Status{}, tenet.Errorf(tenet.Invalid, "status", "limit must be positive")
	}
	s, err := m.OpenSession(ctx, by, scope, id)
	if err != nil {
		return Status{}, err
	}
	_, staged, err := m.ledger.Staged(ctx, scope, id)
	if err != nil {
		return Status{}, err
	}
	vs, err := m.ledger.Verdicts(ctx, scope, itemPrefix(scope, id), after, limit)
	if err != nil {
		return Status{}, err
	}
	out := Status{Job: jobOf(s.info, m.now()), Staged: len(staged), Verdicts: vs}
	if len(vs) == limit {
		out.Next = vs[limit-1].Candidate
	}
	if out.State == JobDone && len(staged) > 0 { // its session was lost and came back
		out.State = JobDue
	}
	return out, nil
}

// Verdict is what was decided about one candidate, NotFound while it waits.
func (m *Memory) Verdict(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.CandidateID) (tenet.Verdict, error) {
	if err := m.durable("verdict"); err != nil {
		return tenet.Verdict{}, err
	}
	if err := reach("verdict", by, scope); err != nil {
		return tenet.Verdict{}, err
	}
	return m.ledger.Verdict(ctx, scope, id)
}

// Proposal is what was decided about a proposal made in the session, or, while
// that waits, where the session stands. Errors: NotFound for a session that is
// not there, and for what has no verdict although nothing waits; Denied.
func (m *Memory) Proposal(ctx context.Context, by tenet.Principal, scope tenet.Scope, session tenet.SessionID, id tenet.CandidateID) (tenet.Verdict, JobState, error) {
	// In this order: what is judged in between has its verdict by then.
	s, err := m.Status(ctx, by, scope, session, "", 1)
	if err != nil {
		return tenet.Verdict{}, "", err
	}
	v, err := m.Verdict(ctx, by, scope, id)
	if tenet.KindOf(err) == tenet.NotFound && s.State != JobDone {
		return tenet.Verdict{}, s.State, nil
	}
	return v, "", err
}

// itemPrefix begins the ids of all that a session proposes, so that their
// verdicts can be found by the session.
func itemPrefix(scope tenet.Scope, id tenet.SessionID) string {
	h := sha256.Sum256([]byte(scope.Key() + "\x00" + string(id)))
	return hex.EncodeToString(h[:6]) + "-"
}

// Jobs lists the sessions, of the tenant's scopes that the operator may reach,
// whose consolidation has not come to its end: failures first, then the longest
// due. It skips the first skip of them and returns limit, fewer only at the end.
func (o *Operator) Jobs(ctx context.Context, skip, limit int) ([]Job, error) {
	from := 0
	if !o.by.Narrowed() { // every session counts: the store may skip
		from, skip = skip, 0
	}
	now := o.m.now()
	out := []Job{}
	for len(out) < limit {
		page, err := o.m.sessions.Waiting(ctx, o.scope.Tenant(), from, limit)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			switch {
			case !o.by.MayReach(s.Scope) || len(out) == limit:
			case skip > 0:
				skip--
			default:
				out = append(out, jobOf(s, now))
			}
		}
		if len(page) < limit {
			break
		}
		from += len(page)
	}
	return out, nil
}

// Retry gives a session of the scope a new row of attempts, now. It returns a
// Conflict error while a worker has it.
func (o *Operator) Retry(ctx context.Context, id tenet.SessionID) error {
	l, err := o.take(ctx, "retry", id)
	if err != nil {
		return err
	}
	return o.m.sessions.Ack(ctx, *l, store.Ack{Cursor: l.Session.Consolidated, NextDue: o.m.now(), Now: o.m.now()})
}

// Drop gives up what a session of the scope has not consolidated: its messages
// stay in its log and are never extracted, its proposals are refused. The
// audit chain has it, with who and why. What was staged already is not dropped:
// it is judged. It returns how many messages are skipped.
func (o *Operator) Drop(ctx context.Context, id tenet.SessionID, why string) (skipped int64, err error) {
	l, err := o.take(ctx, "drop", id)
	if err != nil {
		return 0, err
	}
	m := o.m
	ack := store.Ack{Cursor: l.Session.Consolidated, NextDue: m.now(), Now: m.now()}
	defer func() {
		if ackErr := m.sessions.Ack(context.WithoutCancel(ctx), *l, ack); err == nil {
			err = ackErr
		}
	}()
	cursor, err := m.judgeStaged(ctx, o.scope, id, &Report{}, atOnce)
	if err != nil {
		return 0, err
	}
	ds := []gate.Decision{}
	for _, c := range l.Proposals {
		d, err := m.gate.Dropped(o.by, c, m.now())
		if err != nil {
			return 0, err
		}
		ds = append(ds, d)
	}
	skip, err := m.gate.SkipStretch(o.by, o.scope, gate.Staged{Session: id, From: cursor, To: l.Session.Length}, why, m.now())
	if err != nil {
		return 0, err
	}
	if _, err := m.ledger.Apply(ctx, append(ds, skip), nil); err != nil {
		return 0, err
	}
	ack = store.Ack{Cursor: l.Session.Length, Now: m.now()}
	for _, c := range l.Proposals {
		ack.Done = append(ack.Done, c.ID)
	}
	return l.Session.Length - cursor, nil
}

// take leases one session for an operator's hand.
func (o *Operator) take(ctx context.Context, op string, id tenet.SessionID) (*store.Lease, error) {
	now := o.m.now()
	l, err := o.m.sessions.Lease(ctx, store.LeaseRequest{Worker: worker(), Now: now, Until: now.Add(o.m.cfg.Lease), Scope: o.scope, Only: id})
	if err == nil && l == nil {
		err = tenet.Errorf(tenet.Conflict, op, "a worker has the session; try again when its lease is over")
	}
	return l, err
}

// orphans judges what is staged for sessions that no worker will lease, because
// their store lost them. It skips what was staged within a lease: its worker
// may be at it. Applying twice is a replay, so two replicas do no harm.
func (m *Memory) orphans(ctx context.Context) (Report, bool, error) {
	refs, err := m.ledger.Unjudged(ctx, stretchSize)
	if err != nil {
		return Report{}, false, err
	}
	for _, ref := range refs {
		_, cs, err := m.ledger.Staged(ctx, ref.Scope, ref.Session)
		if err != nil {
			return Report{}, false, err
		}
		if slices.ContainsFunc(cs, func(c tenet.Candidate) bool { return m.now().Sub(c.ProposedAt) < m.cfg.Lease }) {
			continue
		}
		r := Report{Scope: ref.Scope, Session: ref.Session}
		if _, err := m.judgeStaged(ctx, ref.Scope, ref.Session, &r, m.giveWay); err != nil { // the others need not wait for it
			m.log.WarnContext(ctx, "a staged session cannot be judged", "kind", tenet.KindOf(err).String())
			continue
		}
		return r, true, nil
	}
	return Report{}, false, nil
}
