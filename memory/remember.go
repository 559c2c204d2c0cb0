package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// Remember proposes a candidate and waits for its verdict: the synchronous way
// for host code, with rules only and no model. The candidate must cite messages
// of its scope or carry a quote.
//
// When the verdict is quarantined or rejected the error is Refused and carries
// the first code, so that a caller who ignores the verdict does not believe
// the candidate was kept. Other errors: Invalid for what cannot be judged,
// Denied for another tenant's or subject's scope, Conflict for a stale
// IfVersion or a reused id with other content, Unavailable.
func (m *Memory) Remember(ctx context.Context, by tenet.Principal, c tenet.Candidate) (tenet.Verdict, error) {
	return m.remember(ctx, by, c, nil)
}

func (m *Memory) remember(ctx context.Context, by tenet.Principal, c tenet.Candidate, replaces *tenet.Record) (tenet.Verdict, error) {
	if err := m.durable("remember"); err != nil {
		return tenet.Verdict{}, err
	}
	if err := reach("remember", by, c.Scope); err != nil {
		return tenet.Verdict{}, err
	}
	if err := nameCandidate("remember", &c); err != nil {
		return tenet.Verdict{}, err
	}
	c.ProposedBy, c.ProposedAt = by.String(), m.now()
	k, err := m.buildCase(ctx, by, c)
	if err != nil {
		return tenet.Verdict{}, err
	}
	k.Replaces = replaces
	if done, err := m.answered(ctx, by); err != nil {
		return tenet.Verdict{}, err
	} else if done {
		k.Candidate.IfVersion = "" // it was decided when the version held
	} else if c.IfVersion != "" { // the caller's precondition is about the state as it is
		if k.State, err = m.ledger.State(ctx, c.Scope, m.gate.Query(k), k.At); err != nil {
			return tenet.Verdict{}, err
		}
		if _, err := m.ledger.Verdict(ctx, c.Scope, c.ID); err == nil {
			k.Candidate.IfVersion = "" // a retry: it was decided when the version held
		}
	}
	applied, err := onceApplied(ctx, by, k.At, func(ctx context.Context) ([]store.Applied, error) {
		return m.admit(ctx, []gate.Case{k})
	})
	if err != nil {
		return tenet.Verdict{}, err
	}
	v := applied[0].Verdict
	if !v.Outcome.Kept() {
		return v, m.refusal(ctx, c.Scope, v)
	}
	return v, nil
}

// nameCandidate gives a candidate an id when its caller did not. Ids with a
// slash are kept for what the gate makes of a record; a caller who could take one
// could stand in the way of a later write.
func nameCandidate(op string, c *tenet.Candidate) error {
	if c.ID == "" {
		c.ID = tenet.CandidateID(newID())
	}
	if strings.Contains(string(c.ID), "/") {
		return tenet.Errorf(tenet.Invalid, op, "candidate ids must not contain a slash")
	}
	return nil
}

// buildCase collects what a judgement depends on beside the ledger's state.
func (m *Memory) buildCase(ctx context.Context, by tenet.Principal, c tenet.Candidate) (gate.Case, error) {
	k := gate.Case{By: by, Candidate: c, At: m.now()}
	if len(c.Cites) > 0 {
		cited, err := m.sessions.Cited(ctx, c.Scope, c.Cites)
		if err != nil {
			return k, err
		}
		k.Evidence = cited
	}
	if c.Session != "" {
		parents, err := m.recalledLabels(ctx, c)
		if err != nil {
			return k, err
		}
		k.Parents = parents
	}
	return k, nil
}

// recalledLabels are the labels of what was served in the candidate's session
// before it was proposed: those records count as its parents.
func (m *Memory) recalledLabels(ctx context.Context, c tenet.Candidate) ([]tenet.Label, error) {
	receipts, err := m.sessions.Receipts(ctx, c.Scope, c.Session)
	if tenet.KindOf(err) == tenet.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var labels []tenet.Label
	for _, r := range receipts {
		if r.Lowest.Known() && !slices.Contains(labels, r.Lowest) {
			labels = append(labels, r.Lowest)
		}
	}
	return labels, nil
}

// admit judges cases of one scope and applies the decisions in one
// transaction. Each is judged against an empty state first: the ledger checks
// the state it needs in any case, and has it judged again under its lock when
// there is something there, so nothing is read twice and no writer can slip in
// between.
func (m *Memory) admit(ctx context.Context, cases []gate.Case) (applied []store.Applied, err error) {
	ctx, span := trace.Start(ctx, "judge")
	defer func() {
		span.Count("tenet.candidates", len(cases))
		span.End(err)
	}()
	if err := m.findSimilar(ctx, cases); err != nil {
		return nil, err
	}
	ds := make([]gate.Decision, len(cases))
	for i, k := range cases {
		d, err := m.gate.Judge(k)
		if err != nil {
			return nil, err
		}
		ds[i] = d
	}
	applied, err = m.ledger.Apply(ctx, ds, func(i int, s gate.State) (gate.Decision, error) {
		k := cases[i]
		k.State = s
		return m.gate.Judge(k)
	})
	m.counts.refused(err)
	for _, a := range applied {
		if !a.Replayed {
			m.counts.verdict(cases[0].By.Tenant(), a.Verdict)
			span.Verdict(a.Verdict)
		}
	}
	return applied, err
}

// refusal is the error for a verdict that kept nothing. When the persistent
// tier is full it says what could be ended, by id.
func (m *Memory) refusal(ctx context.Context, scope tenet.Scope, v tenet.Verdict) error {
	words := make([]string, 0, len(v.Codes))
	for _, c := range v.Codes {
		words = append(words, string(c))
	}
	reason := v.Outcome.String() + ": " + strings.Join(words, ", ")
	for _, f := range v.Findings {
		if f.Detail != "" {
			reason += "; " + f.Detail
		}
	}
	e := &tenet.Error{Kind: tenet.Refused, Op: "remember", Reason: reason}
	if len(v.Codes) > 0 {
		e.Code = v.Codes[0]
	}
	if slices.Contains(v.Codes, tenet.CodePersistentFull) {
		e.Code = tenet.CodePersistentFull
		if facts, err := m.ledger.Facts(ctx, scope, tenet.AsOf{Valid: m.now()}); err == nil {
			e.Reason += "; could be ended: " + largest(facts, 3)
		}
	}
	return e
}

// largest names the largest facts that are not safety facts, by id.
func largest(facts []tenet.Record, n int) string {
	facts = slices.DeleteFunc(slices.Clone(facts), func(r tenet.Record) bool { return r.Safety })
	slices.SortStableFunc(facts, func(a, b tenet.Record) int { return b.RenderedSize() - a.RenderedSize() })
	var out []string
	for _, r := range facts[:min(n, len(facts))] {
		out = append(out, fmt.Sprintf("%s (%d bytes)", r.ID, r.RenderedSize()))
	}
	if out == nil {
		return "nothing, all are safety facts"
	}
	return strings.Join(out, ", ")
}

// Fact is a record of the persistent tier as it composes with others.
type Fact struct {
	tenet.Record
	Confirmation tenet.Confirmation `json:"confirmation"`
	// ShadowedBy is the record of another scope that holds under the same key
	// instead: it has the higher label, or the same in a narrower scope.
	ShadowedBy tenet.RecordID `json:"shadowed_by,omitempty"`
	// RevalidateAfter is when the fact should be asked about again; from then on
	// Stale is set. It stays a fact, and supports no action.
	RevalidateAfter time.Time `json:"revalidate_after,omitzero"`
	Stale           bool      `json:"stale,omitempty"`
}

// Facts loads every fact of the scopes by identity: complete, exact, without a
// query. Give scopes from narrow to wide. Under one single-valued key the
// higher label wins, a tie goes to the narrower scope, and the registry may let
// the narrower scope override; losers come back marked, never hidden.
func (m *Memory) Facts(ctx context.Context, by tenet.Principal, at tenet.AsOf, scopes ...tenet.Scope) ([]Fact, error) {
	if err := m.durable("facts"); err != nil {
		return nil, err
	}
	if err := reach("facts", by, scopes...); err != nil {
		return nil, err
	}
	return compose(ctx, m.ledger, m.gate, m.asOf(at), scopes)
}

// Values loads the facts that hold under one key of the scope, in the order of
// Facts. It returns NotFound when there is none.
func (m *Memory) Values(ctx context.Context, by tenet.Principal, scope tenet.Scope, key string) ([]Fact, error) {
	all, err := m.Facts(ctx, by, tenet.AsOf{}, scope)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f Fact) bool { return f.Key != key })
	if len(all) == 0 {
		return nil, tenet.Errorf(tenet.NotFound, "values", "the key has no value")
	}
	return all, nil
}

// asOf replaces zero times by one instant of the engine's clock.
func (m *Memory) asOf(at tenet.AsOf) tenet.AsOf {
	now := m.now()
	orElse(&at.Valid, now)
	orElse(&at.Known, time.Time{})
	return tenet.AsOf{Valid: tenet.Micros(at.Valid), Known: tenet.Micros(at.Known)}
}

func compose(ctx context.Context, r store.Reader, g *gate.Gate, at tenet.AsOf, scopes []tenet.Scope) ([]Fact, error) {
	var all []Fact
	winner := map[string]int{} // key -> index in all
	for _, s := range scopes {
		records, err := r.Facts(ctx, s, at)
		if err != nil {
			return nil, err
		}
		all = slices.Grow(all, len(records))
		for _, rec := range records {
			f := Fact{Record: rec, Confirmation: rec.Confirmation(), RevalidateAfter: revalidateAfter(g, rec)}
			f.Stale = !f.RevalidateAfter.IsZero() && !at.Valid.Before(f.RevalidateAfter)
			i, taken := winner[rec.Key]
			switch {
			case rec.Multi || taken && all[i].Scope == rec.Scope:
			case !taken:
				winner[rec.Key] = len(all)
			case rec.Label > all[i].Label && !g.Key(rec.Key).Overridable:
				all[i].ShadowedBy = rec.ID
				winner[rec.Key] = len(all)
			default:
				f.ShadowedBy = all[i].ID
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// History returns every record ever believed under a key, oldest belief first:
// what was said, when it was true, when Tenet believed it, and why that ended.
func (m *Memory) History(ctx context.Context, by tenet.Principal, scope tenet.Scope, key string) ([]tenet.Record, error) {
	if err := m.durable("history"); err != nil {
		return nil, err
	}
	if err := reach("history", by, scope); err != nil {
		return nil, err
	}
	return m.ledger.History(ctx, scope, tenet.TierFact, key)
}

// Change names the fact that End or Retract is about, by record or by key.
type Change struct {
	Scope  tenet.Scope
	Record tenet.RecordID // one version, of Key when that is given, too
	Key    string         // without Record: the open record under a single-valued key
	To     time.Time      // End: when it stopped being true; zero: now
	Why    string         // kept with the audit entry; not memory text
	ID     string         // makes a retry harmless; empty: made
}

// End records that a fact is no longer true. It stays in history with its end.
// Errors: NotFound, Denied for agents, Refused when the fact has a higher label
// than the principal reaches, Conflict when a key holds several values or the
// record is closed.
func (m *Memory) End(ctx context.Context, by tenet.Principal, c Change) error {
	return m.change(ctx, "end", by, c, m.gate.End)
}

// Retract records that a fact never was true: Tenet stops believing it, and
// history says when. Errors as for End.
func (m *Memory) Retract(ctx context.Context, by tenet.Principal, c Change) error {
	return m.change(ctx, "retract", by, c, m.gate.Retract)
}

func (m *Memory) change(ctx context.Context, op string, by tenet.Principal, c Change, decide func(gate.Change) (gate.Decision, error)) error {
	if err := m.durable(op); err != nil {
		return err
	}
	if err := reach(op, by, c.Scope); err != nil {
		return err
	}
	if done, err := m.answered(ctx, by); done || err != nil {
		return err
	}
	target, err := m.target(ctx, op, c)
	if err != nil {
		return err
	}
	orElse(&c.ID, newID())
	d, err := decide(gate.Change{By: by, Scope: c.Scope, Target: target, ID: c.ID, To: c.To, Why: c.Why, At: m.now()})
	if err != nil {
		return err
	}
	_, err = onceApplied(ctx, by, m.now(), func(ctx context.Context) ([]store.Applied, error) {
		return m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	})
	return err
}

// target finds the one record a change is about.
func (m *Memory) target(ctx context.Context, op string, c Change) (tenet.Record, error) {
	if c.Record != "" {
		r, err := m.ledger.Record(ctx, c.Scope, c.Record)
		if err == nil && c.Key != "" && r.Key != c.Key {
			err = tenet.Errorf(tenet.NotFound, op, "the key has no such version")
		}
		return r, err
	}
	s, err := m.ledger.State(ctx, c.Scope, gate.Query{Tier: tenet.TierFact, Key: c.Key, Since: m.now()}, m.now())
	if err != nil {
		return tenet.Record{}, err
	}
	open := slices.DeleteFunc(s.Open, func(r tenet.Record) bool { return !r.Valid.Open() })
	switch len(open) {
	case 0:
		return tenet.Record{}, tenet.Errorf(tenet.NotFound, op, "the key has no open value")
	case 1:
		return open[0], nil
	}
	return tenet.Record{}, tenet.Errorf(tenet.Conflict, op, "the key holds %d values; name the record", len(open))
}
