package memory

import (
	"context"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/forget"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/recall"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// Retained is one record as a sweep judged it.
type Retained struct {
	ID         tenet.RecordID `json:"id"`
	Tier       tenet.Tier     `json:"tier"`
	Score      float64        `json:"score"`
	Importance float64        `json:"importance"`
	Success    float64        `json:"success"` // reported outcomes, decayed
	Failure    float64        `json:"failure"`
	Was        bool           `json:"was_dormant"`
	Dormant    bool           `json:"dormant"`
	Pinned     bool           `json:"pinned,omitempty"`
	LowSince   time.Time      `json:"low_since,omitzero"`
	ServedAt   time.Time      `json:"served_at,omitzero"`
	Reason     forget.Reason  `json:"reason"`
	Text       string         `json:"text"`
}

// ForgetReport says what a sweep of one scope found, and what it changed.
type ForgetReport struct {
	Scope      tenet.Scope           `json:"scope"`
	Entries    int                   `json:"entries"` // notes, episodes and documents
	Budget     int                   `json:"budget"`
	OverBudget bool                  `json:"over_budget"`
	Reasons    map[forget.Reason]int `json:"reasons"`
	// Changes are the records that fall asleep, wake, or become low; a dry run
	// lists them and leaves them as they are.
	Changes []Retained `json:"changes"`
	DryRun  bool       `json:"dry_run"`
}

// servedStep is how much newer a serving must be than the one that sweeps
// know of before it is written down: a week in ninety days.
const servedStep = 7 * 24 * time.Hour

// Outcomes reports how what was recalled turned out: each record's worth rises
// or falls with it, and a success counts as a use. It returns a Denied error
// for agents and connectors, Invalid for no or too many ids, and NotFound when
// one of them is no record of the scope; then nothing is counted.
func (m *Memory) Outcomes(ctx context.Context, by tenet.Principal, scope tenet.Scope, ids []tenet.RecordID, success bool) error {
	if err := m.durable("outcomes"); err != nil {
		return err
	}
	if m.cfg.Retention == nil {
		return tenet.Errorf(tenet.Unavailable, "outcomes", "this ledger keeps no outcomes")
	}
	now := m.now()
	d, err := m.gate.Credit(by, scope, gate.Tally{Records: ids, Success: success}, now)
	if err != nil {
		return err
	}
	return onceOnly(ctx, by, now, func(ctx context.Context) error {
		_, err := m.ledger.Apply(ctx, []gate.Decision{d}, nil)
		if err == nil && success {
			m.counts.credited.Add(m.counts.recalled.credit(scope, ids))
		}
		return err
	})
}

// Pin keeps a record from ever becoming dormant, and wakes it; or takes the
// pin away. Only an app, the person or an operator may.
func (m *Memory) Pin(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.RecordID, pinned bool) error {
	const op = "pin"
	if err := m.durable(op); err != nil {
		return err
	}
	if err := reach(op, by, scope); err != nil {
		return err
	}
	if k := by.Kind(); k != tenet.App && k != tenet.EndUser && k != tenet.Operator {
		return tenet.Errorf(tenet.Denied, op, "an app, the user or an operator pins")
	}
	if m.cfg.Retention == nil {
		return tenet.Errorf(tenet.Unavailable, op, "this ledger keeps no pins")
	}
	r, err := m.ledger.Record(ctx, scope, id)
	if err != nil {
		return err
	}
	if r.Tier == tenet.TierFact {
		return tenet.Errorf(tenet.Invalid, op, "a fact is never forgotten; it needs no pin")
	}
	d, err := m.gate.Retain(scope, by.String(), []gate.Rest{{Record: id, Pinned: pinned}}, "pin", m.now())
	if err != nil {
		return err
	}
	_, err = m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

// Forget sweeps one scope: entries that are low on two signals leave the
// default results, others come back. Nothing is deleted. A dry run returns the
// same report and writes nothing.
func (m *Memory) Forget(ctx context.Context, by tenet.Principal, scope tenet.Scope, dryRun bool) (ForgetReport, error) {
	const op = "forget"
	if err := m.durable(op); err != nil {
		return ForgetReport{}, err
	}
	if by.Kind() != tenet.Operator || !by.MayReach(scope) {
		return ForgetReport{}, tenet.Errorf(tenet.Denied, op, "only an operator of the tenant may sweep")
	}
	if m.cfg.Retention == nil {
		return ForgetReport{}, tenet.Errorf(tenet.Unavailable, op, "this ledger keeps no retention")
	}
	return m.sweepScope(ctx, by.String(), scope, dryRun)
}

// ForgetOnce sweeps one scope that was not swept for a day, and returns false
// when there is none. It is a unit of background work, like ConsolidateOnce.
func (m *Memory) ForgetOnce(ctx context.Context) (_ ForgetReport, more bool, err error) {
	if m.ledger == nil || m.cfg.Retention == nil {
		return ForgetReport{}, false, nil
	}
	due, err := m.cfg.Retention.Unswept(ctx, m.now().Add(-m.cfg.Forget.SweepGap), 1)
	if err != nil || len(due) == 0 {
		return ForgetReport{}, false, err
	}
	ctx, span := trace.Begin(ctx, "job forget")
	defer func() { span.End(err) }()
	rep, err := m.sweepScope(ctx, "retention", due[0], false)
	return rep, true, err
}

func (m *Memory) sweepScope(ctx context.Context, actor string, scope tenet.Scope, dryRun bool) (ForgetReport, error) {
	now, p := m.now(), m.cfg.Forget
	rep := ForgetReport{Scope: scope, Budget: m.cfg.EntryBudget, Reasons: map[forget.Reason]int{}, DryRun: dryRun}
	uses, err := m.cfg.Retention.Uses(ctx, scope, "", 0, p.WorthHalfLife, now)
	if err != nil {
		return rep, err
	}
	rep.Entries = len(uses)
	// Receipts name what was served in sessions that write the scope. What a
	// wider scope's entries served in others is not among them: there only
	// outcomes speak.
	rep.OverBudget = len(uses) > m.cfg.EntryBudget && scope.Subject().Kind() == tenet.SubjectUser && m.cfg.Servings != nil
	var served map[tenet.RecordID]time.Time
	if m.cfg.Servings != nil {
		if served, err = m.cfg.Servings.Served(ctx, scope, now.Add(-p.Unserved)); err != nil {
			return rep, err
		}
	}
	weigh, err := importance(m.indexes.params.Language)
	if err != nil {
		return rep, tenet.Errorf(tenet.Internal, "forget", "%v", err)
	}
	var rests []gate.Rest
	for _, u := range uses {
		at := u.ServedAt
		if s := served[u.Record.ID]; s.After(at) {
			at = s
		}
		e := entryOf(u, at, weigh(u.Record), now)
		st := p.Sweep(e, now, rep.OverBudget)
		rep.Reasons[st.Reason]++
		moved := st.Dormant != u.Dormant || !st.LowSince.Equal(u.LowSince)
		if !moved && at.Sub(u.ServedAt) < servedStep {
			continue
		}
		rests = append(rests, gate.Rest{Record: u.Record.ID, Dormant: st.Dormant, Pinned: u.Pinned, LowSince: st.LowSince, ServedAt: at})
		if moved {
			rep.Changes = append(rep.Changes, Retained{
				ID: u.Record.ID, Tier: u.Record.Tier, Score: st.Score, Importance: e.Importance, Success: u.Success, Failure: u.Failure,
				Was: u.Dormant, Dormant: st.Dormant, Pinned: u.Pinned, LowSince: st.LowSince, ServedAt: at, Reason: st.Reason, Text: u.Record.Text,
			})
		}
	}
	if dryRun {
		return rep, nil
	}
	for len(rests) > 0 { // in batches: a decision holds the write lock
		n := min(len(rests), maxRests)
		d, err := m.gate.Retain(scope, actor, rests[:n], "sweep", now)
		if err != nil {
			return rep, err
		}
		if _, err := m.ledger.Apply(ctx, []gate.Decision{d}, nil); err != nil {
			return rep, err
		}
		rests = rests[n:]
	}
	return rep, m.cfg.Retention.Swept(ctx, scope, now)
}

const maxRests = 1000

func entryOf(u store.Use, served time.Time, importance float64, now time.Time) forget.Entry {
	r := u.Record
	e := forget.Entry{
		Importance: importance, RecordedAt: r.Known.From, CreditedAt: u.CreditedAt, ServedAt: served,
		Success: u.Success, Failure: u.Failure, CountedAt: now, Dormant: u.Dormant, LowSince: u.LowSince,
		// A document is addressed by its path, a keyed note is its key's value.
		Exempt: u.Pinned || r.Safety || importance >= forget.ImportanceSafety || r.Tier == tenet.TierDocument || r.Key != "",
	}
	if r.Tier == tenet.TierEpisode {
		e.Class = forget.Episode
	}
	return e
}

// promises are phrases of a commitment or a date that matters.
var promises = []string{
	"i promise", "we promise", "i committed", "i will ", "we will ", "i'll ", "we'll ", "deadline", "due on", "due by",
	"remind me", "appointment", "must not forget", "don't forget", "make sure",
}

// importance is what a record is by its kind. No model is asked, and no text
// makes itself important beyond a commitment: safety comes from the gate.
func importance(language string) (func(tenet.Record) float64, error) {
	prefers, err := recall.Preferences(language)
	if err != nil {
		return nil, err
	}
	return func(r tenet.Record) float64 {
		switch {
		case r.Safety:
			return forget.ImportanceSafety
		case r.Label < tenet.LabelUserStated: // what others say does not weigh by its words
			return forget.ImportanceNote
		case r.Label >= tenet.LabelUserConfirmed:
			return forget.ImportanceCorrection
		}
		low := strings.ToLower(r.Text[:min(len(r.Text), 2048)])
		for _, w := range promises {
			if strings.Contains(low, w) {
				return forget.ImportanceCommitment
			}
		}
		if prefers(r.Text) {
			return forget.ImportancePreference
		}
		return forget.ImportanceNote
	}, nil
}
