package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var (
	_ store.Archive        = (*Oracle)(nil)
	_ store.SessionArchive = (*Oracle)(nil)
)

// continues refuses what does not go on where the scope's past ends, and what
// was erased after it was recorded.
func (d *durable) continues(p gate.Plan) error {
	if !d.known.IsZero() && !p.At.After(d.known) {
		return tenet.Errorf(tenet.Conflict, "apply", "the scope has a past of its own")
	}
	for _, r := range p.Insert {
		b := d.blocked(gate.Fingerprint(tenet.Candidate{Tier: r.Tier, Text: r.Text, Value: r.Value}))
		if !b.Erased.IsZero() && !p.At.After(b.Erased) {
			return store.ErasedBefore("apply")
		}
	}
	return nil
}

// Past implements store.Archive.
func (o *Oracle) Past(ctx context.Context, scope tenet.Scope, after uint64, limit int) ([]gate.Plan, uint64, error) {
	s, err := o.enter(ctx, "past", scope)
	defer o.mu.Unlock()
	switch {
	case err != nil:
		return nil, after, err
	case limit < 1:
		return nil, after, tenet.Errorf(tenet.Invalid, "past", "no limit")
	}
	var out []gate.Plan
	last, n := after, 0
	for _, e := range s.chain {
		if e.Seq <= after || n == limit {
			continue
		}
		n++
		last = e.Seq
		p, err := s.plan(scope, e)
		if err != nil {
			return nil, after, err
		}
		if p.Kind != gate.Import && p.Kind != gate.Cut && !p.Blank() {
			out = append(out, p)
		}
	}
	return out, last, nil
}

// Forgot implements store.Archive: an oracle does not erase.
func (o *Oracle) Forgot(ctx context.Context, scope tenet.Scope) (bool, error) {
	_, err := o.enter(ctx, "forgot", scope)
	o.mu.Unlock()
	return false, err
}

// plan is what entry e wrote, as the rows stand.
func (d *durable) plan(scope tenet.Scope, e tenet.AuditEntry) (gate.Plan, error) {
	p := gate.Plan{Kind: gate.KindNamed(e.Action), Scope: scope, Actor: e.Actor, At: e.At, Ref: e.Ref, Why: e.Why}
	if j, ok := d.refs[e.Ref]; ok && j.in == e.Seq {
		p.Verdict = j.verdict
	}
	if p.Kind == gate.Admit || p.Kind == gate.Refuse {
		p.Candidate = tenet.Candidate{ID: tenet.CandidateID(e.Ref), Scope: scope, Tier: p.Verdict.Tier, Key: p.Verdict.Key}
	}
	for _, r := range d.rows {
		if r.in == e.Seq {
			rec := clone(r.Record)
			rec.Known.To, rec.Closed, rec.SupersededBy, rec.Expired = tenet.Interval{}.To, "", "", rec.Expired && r.gone == 0
			p.Insert = append(p.Insert, rec)
		}
		if r.out == e.Seq {
			p.Close = append(p.Close, gate.Close{Record: r.ID, Reason: r.Closed, By: r.SupersededBy})
		}
		if r.gone == e.Seq {
			p.Expire = append(p.Expire, r.ID)
		}
	}
	slices.SortFunc(p.Close, func(a, b gate.Close) int { return cmp.Compare(a.Record, b.Record) })
	slices.Sort(p.Expire)
	for _, x := range d.evidence {
		if x.in == e.Seq {
			p.Evidence = append(p.Evidence, x.Evidence)
		}
	}
	for _, a := range d.agreed {
		if a.in == e.Seq {
			p.Agree = &a.Agreement
		}
	}
	if p.Kind == gate.Refuse {
		for _, h := range d.holds {
			if string(h.candidate) != e.Ref {
				continue
			}
			p.Hold = &gate.Hold{State: tenet.HoldOpen, ExpiresAt: h.expires}
			if p.Verdict.Outcome == tenet.Rejected {
				p.Hold.State = tenet.HoldRefused
			}
			if h.sealed != nil {
				plain, err := d.key.Unseal(h.sealed, string(h.candidate))
				if err != nil {
					return p, err
				}
				if json.Unmarshal(plain, &p.Candidate) != nil {
					return p, tenet.Errorf(tenet.Internal, "past", "a sealed candidate does not decode")
				}
				p.Candidate.Scope, p.Hold.Text = scope, p.Candidate.Text
			}
		}
	}
	if s, ok := d.settled[e.Seq]; ok {
		p.Settles = &s
	}
	for id, in := range d.aged {
		if in == e.Seq {
			p.Aged = append(p.Aged, id)
		}
	}
	slices.Sort(p.Aged)
	if m, ok := d.marks[e.Seq]; ok {
		st := d.stages[tenet.SessionID(m.Session)]
		p.Staged = &gate.Staged{Session: tenet.SessionID(m.Session), From: m.From, To: m.To, Judged: m.Count}
		newest, oldest := true, true
		for seq, other := range d.marks {
			newest = newest && (other.Session != m.Session || seq <= e.Seq)
			oldest = oldest && (other.Session != m.Session || seq >= e.Seq)
		}
		if oldest { // a cut may have removed those before it
			p.Staged.From = 0
		}
		if newest {
			p.Staged.Candidates = slices.Clone(st.waiting)
			for _, c := range st.waiting {
				for _, k := range citedBy(c, st.cited) {
					if !slices.ContainsFunc(p.Staged.Cited, func(have tenet.Message) bool { return have.ID == k.ID }) {
						p.Staged.Cited = append(p.Staged.Cited, k)
					}
				}
			}
			p.Staged.Judged -= len(st.waiting)
		}
	}
	if t, ok := d.tallies[e.Seq]; ok {
		p.Tally = &t
	}
	p.Rests = slices.Clone(d.rests[e.Seq])
	d.barred(e.Seq, &p)
	return p, nil
}

// barred is which statements entry seq left tombstones for, of those that the
// scope still holds.
func (d *durable) barred(seq uint64, p *gate.Plan) {
	var known []string
	note := func(c tenet.Candidate) {
		if c.Text != "" || len(c.Value) > 0 {
			known = append(known, gate.Fingerprint(c))
		}
	}
	for _, r := range d.rows {
		note(tenet.Candidate{Tier: r.Tier, Text: r.Text, Value: r.Value})
	}
	for _, h := range d.holds {
		var c tenet.Candidate
		if plain, err := d.key.Unseal(h.sealed, string(h.candidate)); err == nil && json.Unmarshal(plain, &c) == nil {
			note(c)
		}
	}
	for _, t := range d.tombs {
		if t.in != seq || t.kind != gate.TombRejected {
			continue
		}
		for _, f := range known {
			if slices.Equal(store.StatementDigest(d.key, f), t.statement) {
				p.Tombs = append(p.Tombs, gate.Tombstone{Kind: t.kind, Label: t.label, Statement: f})
				break
			}
		}
	}
	slices.SortFunc(p.Tombs, func(a, b gate.Tombstone) int { return cmp.Compare(a.Statement, b.Statement) })
}

// SessionsOf implements store.SessionArchive.
func (o *Oracle) SessionsOf(ctx context.Context, scope tenet.Scope, after tenet.SessionID, limit int) ([]tenet.Session, error) {
	s, err := o.enter(ctx, "sessions of", scope)
	defer o.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case limit < 0:
		return nil, tenet.Errorf(tenet.Invalid, "sessions of", "a negative limit")
	}
	var out []tenet.Session
	for id, c := range s.conversations {
		if id > after {
			out = append(out, c.session())
		}
	}
	slices.SortFunc(out, func(a, b tenet.Session) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(limit, len(out))], nil
}

// Whole implements store.SessionArchive.
func (o *Oracle) Whole(ctx context.Context, scope tenet.Scope, id tenet.SessionID) (store.WholeSession, error) {
	c, _, err := o.session(ctx, "whole session", scope, id)
	defer o.mu.Unlock()
	if err != nil {
		return store.WholeSession{}, err
	}
	return store.WholeSession{
		Session: c.session(), Messages: slices.Clone(c.log), Receipts: slices.Clone(c.receipts), Proposals: slices.Clone(c.proposals),
	}, nil
}

// PutBack implements store.SessionArchive.
func (o *Oracle) PutBack(ctx context.Context, scope tenet.Scope, w store.WholeSession) error {
	if err := store.CheckWhole(scope, w); err != nil {
		return err
	}
	s, err := o.enter(ctx, "put back", scope)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	if s.conversations[w.ID] != nil {
		return tenet.Errorf(tenet.Conflict, "put back", "the session is there")
	}
	for _, c := range s.conversations {
		for _, m := range c.log {
			if slices.ContainsFunc(w.Messages, func(n tenet.Message) bool { return n.ID == m.ID }) {
				return tenet.Errorf(tenet.Conflict, "put back", "a message id is taken")
			}
		}
	}
	s.conversations[w.ID] = &conversation{
		Session: w.Session, log: slices.Clone(w.Messages), receipts: slices.Clone(w.Receipts), proposals: slices.Clone(w.Proposals),
	}
	return nil
}
