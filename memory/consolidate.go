package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// Report says what one consolidation did: a verdict for every item.
type Report struct {
	Scope    tenet.Scope     `json:"scope"`
	Session  tenet.SessionID `json:"session"`
	Messages int             `json:"messages"` // consolidated now
	Verdicts []tenet.Verdict `json:"verdicts"`
}

// stretchSize is how many messages are extracted and staged in one
// transaction.
const stretchSize = 200

// ConsolidateOnce takes one due session through extraction and the gate. It
// returns false when nothing is due. It is the unit of background work; Run is
// a loop around it.
func (m *Memory) ConsolidateOnce(ctx context.Context) (_ Report, more bool, err error) {
	if err := m.durable("consolidate"); err != nil {
		return Report{}, false, err
	}
	now := m.now()
	l, err := m.sessions.Lease(ctx, store.LeaseRequest{Worker: worker(), Now: now, Until: now.Add(m.cfg.Lease)})
	if err != nil {
		return Report{}, false, err
	}
	if l == nil {
		return m.orphans(ctx)
	}
	ctx, span := trace.Begin(ctx, "job consolidate")
	defer func() { span.End(err) }()
	if x, ok := m.extract.(model.BatchExtractor); ok {
		m.together(ctx, x, *l)
	}
	r, err := m.consolidate(ctx, *l, m.giveWay)
	return r, true, err
}

// Consolidate takes one session, due or not, through extraction and the gate,
// and waits while another worker has it.
func (m *Memory) Consolidate(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID) (Report, error) {
	if err := m.durable("consolidate"); err != nil {
		return Report{}, err
	}
	if err := reach("consolidate", by, scope); err != nil {
		return Report{}, err
	}
	return m.finish(ctx, scope, id)
}

// finish consolidates one session by rules. It is all of the write side that a
// Session can reach.
func (m *Memory) finish(ctx context.Context, scope tenet.Scope, id tenet.SessionID) (Report, error) {
	me := worker()
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		now := m.now()
		l, err := m.sessions.Lease(ctx, store.LeaseRequest{
			Worker: me, Now: now, Until: now.Add(m.cfg.Lease), Scope: scope, Only: id,
		})
		if err != nil {
			return Report{}, err
		}
		if l != nil {
			return m.consolidate(ctx, *l, atOnce)
		}
		select { // another worker has it
		case <-ctx.Done():
			return Report{}, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// sweepEvery is how often Run sweeps.
const sweepEvery = 30 * time.Second

// Run consolidates due sessions, embeds what has no vector, sweeps expired
// sessions and texts, and once a day what is to be forgotten, until the context
// ends. Errors are logged and tried again; every is how often it looks (default
// 1 s).
func (m *Memory) Run(ctx context.Context, every time.Duration) error {
	if err := m.durable("run"); err != nil {
		return err
	}
	orElse(&every, time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var swept time.Time
	for {
		for {
			ctx := trace.Fresh(ctx)
			_, more, err := m.ConsolidateOnce(ctx)
			if err != nil && ctx.Err() == nil {
				m.log.WarnContext(ctx, "consolidation failed", "kind", tenet.KindOf(err).String())
			}
			if !more || err != nil {
				break
			}
		}
		for {
			ctx := trace.Fresh(ctx)
			n, err := m.EmbedOnce(ctx)
			if err != nil && ctx.Err() == nil {
				m.log.WarnContext(ctx, "embedding failed", "kind", tenet.KindOf(err).String())
			}
			if n == 0 || err != nil {
				break
			}
		}
		if now := time.Now(); now.Sub(swept) >= sweepEvery { // retention is not urgent, and a sweep takes the write lock
			swept = now
			m.keepRetention(trace.Fresh(ctx))
			for more := true; more && ctx.Err() == nil; {
				ctx, err := trace.Fresh(ctx), error(nil)
				if _, more, err = m.ForgetOnce(ctx); err != nil && ctx.Err() == nil {
					m.log.WarnContext(ctx, "forgetting failed", "kind", tenet.KindOf(err).String())
					break
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// keepRetention sweeps and purges, and logs what no caller would see.
func (m *Memory) keepRetention(ctx context.Context) {
	ctx, span := trace.Begin(ctx, "job sweep")
	s, err := m.Sweep(ctx)
	defer func() { span.End(err) }()
	span.Count("tenet.messages", s.Messages)
	span.Count("tenet.texts", s.Texts)
	span.Count("tenet.entries", s.Entries)
	switch {
	case err != nil && ctx.Err() == nil:
		m.log.WarnContext(ctx, "sweep failed", "kind", tenet.KindOf(err).String())
	case s.Frozen > 0:
		m.log.InfoContext(ctx, "texts past their time stay because of legal holds", "texts", s.Frozen)
	}
	m.purge(ctx)
}

// Swept says what a sweep removed.
type Swept struct {
	Messages int `json:"messages"` // of expired sessions, all consolidated
	Texts    int `json:"texts"`    // of records past their retention
	Held     int `json:"held"`     // texts of refused candidates that ran out
	Entries  int `json:"entries"`  // of the audit past its retention that nothing needs
	Frozen   int `json:"frozen"`   // texts past their time that stay because of a legal hold
}

// Sweep removes the messages of sessions past their TTL, up to what is
// consolidated, and drops the raw text of records past their retention. What
// was derived from either stays.
func (m *Memory) Sweep(ctx context.Context) (Swept, error) {
	now := m.now()
	n, err := m.sessions.Sweep(ctx, now)
	s := Swept{Messages: n}
	if err != nil || m.ledger == nil {
		return s, err
	}
	if s.Held, err = m.ageOut(ctx, now); err != nil {
		return s, err
	}
	if f, ok := m.ledger.(store.Freezer); ok {
		frozen, err := f.FrozenCounts(ctx, now)
		if err != nil {
			return s, err
		}
		s.Frozen = frozen.Overdue
	}
	for {
		due, err := m.ledger.Due(ctx, now, stretchSize)
		if err != nil {
			return s, err
		}
		if len(due) == 0 {
			s.Entries, err = m.cutAudits(ctx, now)
			return s, err
		}
		for len(due) > 0 { // one decision per scope
			scope := due[0].Scope
			var mine, rest []tenet.Record
			for _, r := range due {
				if r.Scope == scope {
					mine = append(mine, r)
				} else {
					rest = append(rest, r)
				}
			}
			d, err := m.gate.ExpireText(scope, mine, now)
			if err != nil {
				return s, err
			}
			due = rest
			if _, err := m.ledger.Apply(ctx, []gate.Decision{d}, nil); tenet.KindOf(err) == tenet.Conflict {
				continue // closed, expired or frozen after the look: the next one tells
			} else if err != nil {
				return s, err
			}
			s.Texts += len(mine)
		}
	}
}

// worker names one taker of leases. Each call is another: two calls of one
// process must not take each other's session.
func worker() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), newID())
}

// retryAfter spaces the attempts of a failing session: 1 s, doubling, at most
// ten minutes.
func retryAfter(attempts int) time.Duration {
	return min(time.Second<<min(attempts, 20), 10*time.Minute)
}

// consolidate works a lease off. A crash between any two lines loses and
// doubles nothing: the lease expires, staged candidates are found again, and
// applying one twice is a replay.
func (m *Memory) consolidate(ctx context.Context, l store.Lease, pause pause) (r Report, err error) {
	ctx, span := trace.Start(ctx, "consolidate")
	defer func() {
		span.Count("tenet.messages", r.Messages)
		span.Count("tenet.verdicts", len(r.Verdicts))
		span.End(err)
	}()
	r = Report{Scope: l.Session.Scope, Session: l.Session.ID}
	ack := store.Ack{Cursor: l.Session.Consolidated}
	err = m.work(ctx, l, &r, &ack, pause)
	ack.Now = m.now()
	r.Messages = int(ack.Cursor - l.Session.Consolidated) // positions are consecutive
	if err == nil {
		m.counts.consolidated(l.Session.DueAt, ack.Now)
	}
	if err != nil {
		ack.Code = tenet.Code(tenet.KindOf(err).String())
		if limit := OverQuota(err); limit != "" {
			ack.Code = tenet.Code("quota of " + limit)
		}
		ack.NextDue = ack.Now.Add(retryAfter(l.Session.Attempts))
		// Room may be made at any time: what waits for it is not given up.
		ack.Park = l.Session.Attempts+1 >= m.cfg.MaxAttempts && OverQuota(err) == ""
		m.counts.pipeline.add(func(n *Pipeline) {
			if n.Failures++; ack.Park {
				n.GivenUp++
			}
		})
	}
	if ackErr := m.sessions.Ack(context.WithoutCancel(ctx), l, ack); err == nil {
		err = ackErr
	}
	return r, err
}

func (m *Memory) work(ctx context.Context, l store.Lease, r *Report, ack *store.Ack, pause pause) error {
	scope, id := l.Session.Scope, l.Session.ID
	for {
		cursor, err := m.judgeStaged(ctx, scope, id, r, pause)
		if err != nil {
			return err
		}
		ack.Cursor = max(ack.Cursor, cursor)
		ms, err := m.sessions.Messages(ctx, scope, id, cursor, stretchSize)
		if err != nil {
			return err
		}
		if len(ms) == 0 {
			break
		}
		if err := m.stage(ctx, window{l.Session, cursor, ms}, pause); err != nil {
			return err
		}
	}
	for _, c := range l.Proposals {
		v, err := m.judgeProposal(ctx, c)
		switch tenet.KindOf(err) {
		case tenet.NoError:
		case tenet.Invalid, tenet.Conflict, tenet.Denied:
			// It will never be judged: its id has another's verdict, say. The
			// session must not wait for it for ever.
			v = tenet.Verdict{Candidate: c.ID, Outcome: tenet.Rejected, Tier: c.Tier, Codes: []tenet.Code{tenet.Code(strings.ToUpper(tenet.KindOf(err).String()))}, RuleSet: m.gate.RuleSet(), At: m.now()}
			m.log.WarnContext(ctx, "a proposal cannot be judged", "kind", tenet.KindOf(err).String())
			m.counts.verdict(c.Scope.Tenant(), v)
			if err := m.unjudged(ctx, c, v.Codes[0]); err != nil {
				return err
			}
		default:
			return err
		}
		r.Verdicts = append(r.Verdicts, v)
		ack.Done = append(ack.Done, c.ID)
	}
	return nil
}

// window is a stretch of a session that starts after its cursor.
type window struct {
	session  tenet.Session
	cursor   int64
	messages []tenet.Message
}

// stretch is what an extractor may see of a window.
func (w window) stretch() model.Stretch {
	st := model.Stretch{Session: w.session}
	for _, msg := range w.messages {
		if !msg.RetainNone && !w.session.RetainNone {
			st.Messages = append(st.Messages, msg)
		}
	}
	return st
}

// stage extracts a stretch and saves the candidates with the cursor in one
// transaction, before any is judged.
func (m *Memory) stage(ctx context.Context, w window, pause pause) error {
	st := w.stretch()
	began := time.Now()
	ectx, span := trace.Start(ctx, "extract")
	cs, err := m.extract.Extract(ectx, st)
	span.Count("tenet.messages", len(st.Messages))
	span.Count("tenet.candidates", len(cs))
	span.End(err)
	if err != nil {
		return err
	}
	err = m.save(ctx, w, st.Messages, cs)
	pause(ctx, time.Since(began))
	return err
}

// save puts what was extracted from a window on the stage; shown are the
// messages that the candidates may cite.
func (m *Memory) save(ctx context.Context, w window, shown []tenet.Message, cs []tenet.Candidate) error {
	s := w.session
	cs, err := m.forget(ctx, s.Scope, w.stretch().Messages, cs)
	if err != nil {
		return err
	}
	m.counts.pipeline.extracted(cs)
	for i := range cs {
		c := &cs[i]
		c.Scope, c.Session = s.Scope, s.ID
		c.ID = candidateID(s, w.messages, m.extract.Name(), i)
		c.ProposedBy, c.ProposedAt = extractorName(m.extract), m.now()
	}
	d, err := m.gate.StageBatch(s.Scope, gate.Staged{
		Session: s.ID, From: w.cursor, To: w.messages[len(w.messages)-1].Seq, Since: w.messages[0].RecordedAt, Candidates: cs, Cited: cited(shown, cs),
	}, m.now())
	if err != nil {
		return err
	}
	_, err = m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

func extractorName(e model.Extractor) string { return tenet.Agent.String() + ":" + e.Name() }

// candidateID follows from the session, the stretch, the extractor and the
// ordinal, so that staging the same stretch twice proposes the same ids.
func candidateID(s tenet.Session, ms []tenet.Message, extractor string, i int) tenet.CandidateID {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s", ms[0].ID, ms[len(ms)-1].ID, extractor)
	return tenet.CandidateID(fmt.Sprintf("%s%s-%04d", itemPrefix(s.Scope, s.ID), hex.EncodeToString(h.Sum(nil)[:10]), i))
}

// cited are those of the messages that some candidate cites.
func cited(ms []tenet.Message, cs []tenet.Candidate) []tenet.Message {
	ids := map[tenet.MessageID]bool{}
	for _, c := range cs {
		for _, id := range c.Cites {
			ids[id] = true
		}
	}
	var out []tenet.Message
	for _, m := range ms {
		if ids[m.ID] {
			out = append(out, m)
		}
	}
	return out
}

// judgeStaged judges and applies what is saved for a session, and returns how
// far the session is consolidated. Applying removes each candidate from the
// stage. The messages saved with them are the evidence, so that the session
// itself is not needed.
func (m *Memory) judgeStaged(ctx context.Context, scope tenet.Scope, id tenet.SessionID, r *Report, pause pause) (int64, error) {
	cursor, cs, err := m.ledger.Staged(ctx, scope, id)
	if err != nil || len(cs) == 0 {
		return cursor, err
	}
	kept, err := m.ledger.StagedCited(ctx, scope, id)
	if err != nil {
		return 0, err
	}
	byID := make(map[tenet.MessageID]tenet.Message, len(kept))
	for _, msg := range kept {
		byID[msg.ID] = msg
	}
	cases := make([]gate.Case, 0, len(cs))
	for _, c := range cs {
		by, err := tenet.ParsePrincipal(scope.Tenant(), c.ProposedBy)
		if err != nil {
			return 0, err
		}
		k := gate.Case{By: by, Candidate: c, At: m.now(), Extracted: true}
		for _, id := range c.Cites {
			if msg, ok := byID[id]; ok {
				k.Evidence = append(k.Evidence, msg)
			}
		}
		if c.Tier == tenet.TierEpisode && m.cfg.EpisodeRetention > 0 && len(k.Evidence) > 0 {
			k.ExpiresAt = k.Evidence[0].Said().Add(m.cfg.EpisodeRetention)
		}
		cases = append(cases, k)
	}
	m.object(ctx, cases)
	var full error // what a quota has no room for waits on the stage
	for batch := range slices.Chunk(cases, judgedTogether) {
		began := time.Now()
		applied, err := m.admit(ctx, batch)
		if OverQuota(err) != "" {
			// What adds nothing, and an allergy, need not wait with the others.
			applied = nil
			for _, k := range batch {
				one, err := m.admit(ctx, []gate.Case{k})
				if OverQuota(err) != "" {
					full = err
				} else if err != nil {
					return 0, err
				}
				applied = append(applied, one...)
			}
		} else if err != nil {
			return 0, err
		}
		for _, a := range applied {
			r.Verdicts = append(r.Verdicts, a.Verdict)
		}
		if ev := batch[0].Evidence; len(ev) > 0 {
			m.counts.pipeline.visible(ev[0].RecordedAt, m.now())
		}
		pause(ctx, time.Since(began))
	}
	if full != nil {
		return 0, full
	}
	return cursor, nil
}

// judgedTogether is how many candidates share a transaction: enough that the
// flush to disk is not most of it, few enough that an append which comes
// meanwhile does not wait long.
const judgedTogether = 16

// pause is what consolidation does after a write that took so long.
type pause func(ctx context.Context, took time.Duration)

// atOnce is the pause of work that somebody waits for: none.
func atOnce(context.Context, time.Duration) {}

// giveWay has background work pause after a write that took so long, while
// somebody is in conversation: ten times as long as it took. With nobody
// there it goes on at once.
func (m *Memory) giveWay(ctx context.Context, took time.Duration) {
	if time.Since(time.Unix(0, m.counts.spoken.Load())) > 200*time.Millisecond {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(10*took, 250*time.Millisecond)):
	}
}

// judgeProposal judges what was proposed during the turn, as its author.
func (m *Memory) judgeProposal(ctx context.Context, c tenet.Candidate) (tenet.Verdict, error) {
	by, err := tenet.ParsePrincipal(c.Scope.Tenant(), c.ProposedBy)
	if err != nil {
		return tenet.Verdict{}, err
	}
	k, err := m.buildCase(ctx, by, c)
	if err != nil {
		return tenet.Verdict{}, err
	}
	cases := []gate.Case{k}
	m.object(ctx, cases)
	applied, err := m.admit(ctx, cases)
	if err != nil {
		return tenet.Verdict{}, err
	}
	return applied[0].Verdict, nil
}

// unjudged leaves a verdict for who waits for one. An id that has a verdict
// already keeps it.
func (m *Memory) unjudged(ctx context.Context, c tenet.Candidate, code tenet.Code) error {
	d, err := m.gate.Unjudged(c, code, m.now())
	if err != nil {
		return err
	}
	if _, err = m.ledger.Apply(ctx, []gate.Decision{d}, nil); tenet.KindOf(err) == tenet.Conflict {
		return nil
	}
	return err
}
