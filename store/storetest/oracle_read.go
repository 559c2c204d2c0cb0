package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Head implements store.Reader.
func (o *Oracle) Head(ctx context.Context, scope tenet.Scope) (store.Head, error) {
	s, err := o.enter(ctx, "head", scope)
	defer o.mu.Unlock()
	if err != nil {
		return store.Head{}, err
	}
	return s.head, nil
}

// Facts implements store.Reader.
func (o *Oracle) Facts(ctx context.Context, scope tenet.Scope, at tenet.AsOf) ([]tenet.Record, error) {
	s, err := o.enter(ctx, "facts", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if at.Valid.IsZero() {
		return nil, tenet.Errorf(tenet.Invalid, "facts", "no valid time: a store reads no clock")
	}
	out := s.where(func(r *row) bool {
		believed := r.Known.Open()
		if !at.Known.IsZero() {
			believed = r.Known.Contains(at.Known)
		}
		return r.Tier == tenet.TierFact && believed && r.Valid.Contains(at.Valid)
	})
	slices.SortFunc(out, func(a, b tenet.Record) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.Valid.From.Compare(b.Valid.From), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Record implements store.Reader.
func (o *Oracle) Record(ctx context.Context, scope tenet.Scope, id tenet.RecordID) (tenet.Record, error) {
	s, err := o.enter(ctx, "record", scope)
	defer o.mu.Unlock()
	if err != nil {
		return tenet.Record{}, err
	}
	r := s.find(id)
	if r == nil {
		return tenet.Record{}, tenet.Errorf(tenet.NotFound, "record", "no such record")
	}
	return s.read(*r), nil
}

// History implements store.Reader.
func (o *Oracle) History(ctx context.Context, scope tenet.Scope, tier tenet.Tier, key string) ([]tenet.Record, error) {
	s, err := o.enter(ctx, "history", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := s.where(func(r *row) bool { return r.Tier == tier && r.Key == key })
	slices.SortFunc(out, func(a, b tenet.Record) int {
		return cmp.Or(a.Known.From.Compare(b.Known.From), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Changes implements store.Reader.
func (o *Oracle) Changes(ctx context.Context, scope tenet.Scope, since uint64) (store.Changes, error) {
	s, err := o.enter(ctx, "changes", scope)
	defer o.mu.Unlock()
	if err != nil {
		return store.Changes{}, err
	}
	ch := store.Changes{Head: s.head, Reset: since == 0 || since > s.head.Text}
	if ch.Reset {
		since = 0
	}
	ch.Added = s.where(func(r *row) bool { return r.textIn > since && r.textOut == 0 })
	for _, r := range s.rows {
		if !ch.Reset && r.textIn != 0 && r.textIn <= since && r.textOut > since {
			ch.Removed = append(ch.Removed, r.ID)
		}
	}
	return ch, nil
}

// State implements store.Reader.
func (o *Oracle) State(ctx context.Context, scope tenet.Scope, q gate.Query, now time.Time) (gate.State, error) {
	s, err := o.enter(ctx, "state", scope)
	defer o.mu.Unlock()
	if err != nil {
		return gate.State{}, err
	}
	return s.state(q, now), nil
}

// Evidence implements store.Trail.
func (o *Oracle) Evidence(ctx context.Context, scope tenet.Scope, id tenet.RecordID) ([]tenet.Evidence, error) {
	s, err := o.enter(ctx, "evidence", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if s.find(id) == nil {
		return nil, tenet.Errorf(tenet.NotFound, "evidence", "no such record")
	}
	var out []tenet.Evidence
	for _, e := range s.evidence {
		if e.record == id {
			out = append(out, e.Evidence)
		}
	}
	return out, nil
}

// Verdict implements store.Trail.
func (o *Oracle) Verdict(ctx context.Context, scope tenet.Scope, id tenet.CandidateID) (tenet.Verdict, error) {
	s, err := o.enter(ctx, "verdict", scope)
	defer o.mu.Unlock()
	if err != nil {
		return tenet.Verdict{}, err
	}
	j, ok := s.refs[string(id)]
	if !ok || j.verdict.Outcome == 0 { // an end or retract has no verdict
		return tenet.Verdict{}, tenet.Errorf(tenet.NotFound, "verdict", "no such candidate")
	}
	return j.verdict, nil
}

// Verdicts implements store.Trail.
func (o *Oracle) Verdicts(ctx context.Context, scope tenet.Scope, prefix string, after tenet.CandidateID, limit int) ([]tenet.Verdict, error) {
	s, err := o.enter(ctx, "verdicts", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Verdict
	for id, j := range s.refs {
		if strings.HasPrefix(id, prefix) && id > string(after) && j.verdict.Outcome != 0 {
			out = append(out, j.verdict)
		}
	}
	slices.SortFunc(out, func(a, b tenet.Verdict) int { return cmp.Compare(a.Candidate, b.Candidate) })
	return out[:min(limit, len(out))], nil
}

// Held implements store.Trail.
func (o *Oracle) Held(ctx context.Context, scope tenet.Scope, now time.Time, after tenet.CandidateID, limit int) ([]tenet.Held, error) {
	s, err := o.enter(ctx, "held", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Held
	skip := after != ""
	for _, h := range slices.Backward(s.holds) {
		if skip {
			skip = h.candidate != after
			continue
		}
		if len(out) == limit {
			break
		}
		held := tenet.Held{Verdict: s.refs[string(h.candidate)].verdict, By: h.by, ExpiresAt: h.expires, State: h.state}
		if h.expires.After(now) && h.sealed != nil {
			plain, err := s.key.Unseal(h.sealed, string(h.candidate))
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(plain, &held.Candidate); err != nil {
				return nil, tenet.Errorf(tenet.Internal, "held", "a sealed candidate does not decode")
			}
			held.Candidate.Scope = scope
		}
		out = append(out, held)
	}
	return out, nil
}

// Audit implements store.Trail.
func (o *Oracle) Audit(ctx context.Context, scope tenet.Scope, from uint64, limit int) ([]tenet.AuditEntry, error) {
	s, err := o.enter(ctx, "audit", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.AuditEntry
	for _, e := range s.chain {
		if e.Seq >= from && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

// Scopes implements store.Trail.
func (o *Oracle) Scopes(ctx context.Context, tenant string, after tenet.Scope, limit int) ([]tenet.Scope, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "scopes", "the context ended")
	}
	var out []tenet.Scope
	for scope, s := range o.scopes {
		if scope.Tenant() == tenant && len(s.chain) > 0 && (after.IsZero() || scope.Key() > after.Key()) {
			out = append(out, scope)
		}
	}
	slices.SortFunc(out, func(a, b tenet.Scope) int { return cmp.Compare(a.Key(), b.Key()) })
	return out[:min(limit, len(out))], nil
}

// Staged implements store.Ledger.
func (o *Oracle) Staged(ctx context.Context, scope tenet.Scope, session tenet.SessionID) (int64, []tenet.Candidate, error) {
	s, err := o.enter(ctx, "staged", scope)
	defer o.mu.Unlock()
	if err != nil {
		return 0, nil, err
	}
	st := s.stages[session]
	return st.cursor, slices.Clone(st.waiting), nil
}

// StagedCited implements store.Ledger.
func (o *Oracle) StagedCited(ctx context.Context, scope tenet.Scope, session tenet.SessionID) ([]tenet.Message, error) {
	s, err := o.enter(ctx, "staged", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Message
	st := s.stages[session]
	for _, c := range st.waiting {
		for _, m := range citedBy(c, st.cited) {
			if !slices.ContainsFunc(out, func(k tenet.Message) bool { return k.ID == m.ID }) {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// citedBy are those of the messages that the candidate cites, in its order.
func citedBy(c tenet.Candidate, ms []tenet.Message) []tenet.Message {
	var out []tenet.Message
	for _, id := range c.Cites {
		if i := slices.IndexFunc(ms, func(m tenet.Message) bool { return m.ID == id }); i >= 0 {
			out = append(out, ms[i])
		}
	}
	return out
}

// Unjudged implements store.Ledger.
func (o *Oracle) Unjudged(ctx context.Context, limit int) ([]store.SessionRef, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "unjudged", "the context ended")
	}
	var out []store.SessionRef
	for scope, s := range o.scopes {
		for id, st := range s.stages {
			if len(st.waiting) > 0 {
				out = append(out, store.SessionRef{Scope: scope, Session: id})
			}
		}
	}
	slices.SortFunc(out, func(a, b store.SessionRef) int {
		return cmp.Or(cmp.Compare(a.Scope.Key(), b.Scope.Key()), cmp.Compare(a.Session, b.Session))
	})
	return out[:min(limit, len(out))], nil
}

// Due implements store.Ledger.
func (o *Oracle) Due(ctx context.Context, now time.Time, limit int) ([]tenet.Record, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "due", "the context ended")
	}
	var out []tenet.Record
	for _, s := range o.scopes {
		if s.frozen == 0 {
			out = append(out, s.due(now)...)
		}
	}
	slices.SortFunc(out, func(a, b tenet.Record) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(limit, len(out))], nil
}

func (d *durable) due(now time.Time) []tenet.Record {
	return d.where(func(r *row) bool { return !r.Expired && !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now) })
}

// Verify implements store.Trail.
func (o *Oracle) Verify(ctx context.Context, scope tenet.Scope) (store.Verification, error) {
	s, err := o.enter(ctx, "verify", scope)
	defer o.mu.Unlock()
	if err != nil {
		return store.Verification{}, err
	}
	v := store.Verification{Entries: len(s.chain), Records: len(s.rows)}
	v.Bad, v.Why = s.check(o.master, s.name())
	return v, nil
}

// check recomputes the chain from the rows.
func (d *durable) check(master store.MasterKey, name string) (bad uint64, why string) {
	cut, why := d.cutNow(master, name)
	if why != "" {
		return 1, why
	}
	prev, next := cut.Hash, cut.Upto+1
	for _, e := range d.chain {
		switch {
		case !bytes.Equal(e.Hash, store.EntryHash(e)):
			return e.Seq, "the entry was altered"
		case !bytes.Equal(e.Digest, store.EntryDigest(d.key, d.written(e))):
			return e.Seq, "what the entry covers was altered"
		case e.Seq <= cut.Upto: // see cutNow
			continue
		case e.Seq != next:
			return next, "an entry is missing"
		case !bytes.Equal(e.Prev, prev):
			return e.Seq, "the entry does not follow the one before it"
		}
		prev, next = e.Hash, next+1
	}
	if d.head.Audit != next-1 {
		return next, "the end of the chain is missing"
	}
	frozen := uint64(0)
	for _, e := range d.chain {
		switch e.Action {
		case gate.Freeze.String():
			frozen = e.Seq
		case gate.Thaw.String():
			frozen = 0
		}
	}
	if frozen != d.frozen {
		return next, "the legal hold is not the one that was placed"
	}
	for _, r := range d.rows {
		switch n := d.head.Audit; {
		case r.in == 0 || r.in > n || d.entry(r.in).Seq == 0:
			return max(r.in, 1), "a record that no entry wrote"
		case r.out > n || r.Known.Open() != (r.out == 0):
			return r.in, "a closing that no entry wrote"
		case r.out != 0 && !r.Known.To.Equal(d.entry(r.out).At):
			return r.out, "a closing at another time"
		}
	}
	return 0, ""
}

// written gathers from the rows what entry e wrote.
func (d *durable) written(e tenet.AuditEntry) store.Written {
	w := store.Written{Ref: e.Ref, Actor: e.Actor, Why: e.Why, Records: map[string][]byte{}}
	if j, ok := d.refs[e.Ref]; ok && j.in == e.Seq {
		w.Content, w.Verdict = j.content, j.verdict
	}
	for _, r := range d.rows {
		if r.in == e.Seq {
			id := string(r.ID)
			w.RecordIDs, w.Records[id] = append(w.RecordIDs, id), r.digest
			if !r.Expired { // of an expired one, only the digest is left
				w.Records[id] = store.RecordDigest(d.key, r.Record)
			}
		}
		if r.out == e.Seq {
			w.Closed = append(w.Closed, gate.Close{Record: r.ID, Reason: r.Closed, By: r.SupersededBy})
		}
		if r.gone == e.Seq {
			w.Expired = append(w.Expired, r.ID)
		}
	}
	slices.Sort(w.RecordIDs)
	slices.Sort(w.Expired)
	slices.SortFunc(w.Closed, func(a, b gate.Close) int { return cmp.Compare(a.Record, b.Record) })
	for _, x := range d.evidence {
		if x.in == e.Seq {
			w.Evidence = append(w.Evidence, store.EvidenceDigest(d.key, x.record, x.Evidence))
		}
	}
	for _, a := range d.agreed {
		if a.in == e.Seq {
			w.Agreed = &a.Agreement
		}
	}
	if m, ok := d.marks[e.Seq]; ok {
		w.Stage = &m
	}
	if s, ok := d.settled[e.Seq]; ok {
		w.Settled = &s
	}
	if t, ok := d.tallies[e.Seq]; ok {
		w.Tally = &t
	}
	w.Rests = d.rests[e.Seq]
	d.buried(e.Seq, &w)
	for _, h := range d.cuts {
		if h.seq == e.Seq {
			w.Cut = h.digest
		}
	}
	return w
}
