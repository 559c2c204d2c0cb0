package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var (
	_ store.Governor = (*Oracle)(nil)
	_ store.Served   = (*Oracle)(nil)
)

// tomb is a tombstone as it is kept: no words.
type tomb struct {
	statement []byte
	kind      gate.TombKind
	label     tenet.Label
	at        time.Time
	in        uint64
}

// bury writes tombstones and drops the texts of what has aged out.
func (d *durable) bury(p gate.Plan, seq uint64, at time.Time) error {
	for _, t := range p.Tombs {
		d.tombs = append(d.tombs, tomb{store.StatementDigest(d.key, t.Statement), t.Kind, t.Label, at, seq})
	}
	for _, id := range p.Aged {
		i := slices.IndexFunc(d.holds, func(h hold) bool { return h.candidate == id })
		switch {
		case i < 0:
			return tenet.Errorf(tenet.NotFound, "apply", "no such hold")
		case d.holds[i].sealed == nil:
			return tenet.Errorf(tenet.Conflict, "apply", "the text is gone already")
		}
		d.holds[i].sealed = nil
		if s := d.holds[i].state; s == tenet.HoldOpen || s == tenet.HoldRefused {
			d.holds[i].state = tenet.HoldExpired
		}
		d.aged[id] = seq
	}
	return nil
}

// buried is what entry seq buried.
func (d *durable) buried(seq uint64, w *store.Written) {
	for id, in := range d.aged {
		if in == seq {
			w.Aged = append(w.Aged, id)
		}
	}
	slices.Sort(w.Aged)
	for _, t := range d.tombs {
		if t.in == seq {
			w.Tombs = append(w.Tombs, store.TombDigest(d.key, t.statement, t.kind, t.label))
		}
	}
	slices.SortFunc(w.Tombs, bytes.Compare)
}

func (d *durable) blocked(statement string) (b gate.Block) {
	if statement == "" {
		return b
	}
	fp := store.StatementDigest(d.key, statement)
	for _, t := range d.tombs {
		if !bytes.Equal(t.statement, fp) {
			continue
		}
		switch t.kind {
		case gate.TombRejected:
			b.Rejected = max(b.Rejected, t.label)
		case gate.TombErased:
			if t.at.After(b.Erased) {
				b.Erased = t.at
			}
		}
	}
	return b
}

// pace counts the scope's last entries.
func (d *durable) pace(q gate.PaceQuery, now time.Time) gate.Pace {
	n := q.Counter()
	for i := len(d.chain) - 1; i >= 0 && !q.IsZero(); i-- {
		e := d.chain[i]
		if !e.At.After(now.Add(-gate.PaceWindow)) {
			break
		}
		if j, ok := d.refs[e.Ref]; ok && j.in == e.Seq {
			n.Add(gate.PaceEntry{Actor: e.Actor, Key: j.verdict.Key, Tier: j.verdict.Tier, Label: j.verdict.Label, Outcome: j.verdict.Outcome, Codes: fmt.Sprintf("%q", j.verdict.Codes)})
		}
	}
	return n.Pace
}

// AgedOut implements store.Governor.
func (o *Oracle) AgedOut(ctx context.Context, now time.Time, limit int) ([]store.AgedOut, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "aged out", "the context ended")
	}
	var out []store.AgedOut
	for scope, s := range o.scopes {
		for _, h := range s.holds {
			if s.frozen == 0 && h.sealed != nil && !h.expires.After(now) && len(out) < limit {
				out = append(out, store.AgedOut{Scope: scope, Aged: gate.Aged{Candidate: h.candidate, ExpiresAt: h.expires}})
			}
		}
	}
	return out, nil
}

// OpenHolds implements store.Governor.
func (o *Oracle) OpenHolds(ctx context.Context, now time.Time) (out store.OpenHolds, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return out, tenet.Errorf(tenet.Unavailable, "open holds", "the context ended")
	}
	var first time.Time // of those that run out
	for _, s := range o.scopes {
		for _, h := range s.holds {
			if h.state == tenet.HoldOpen && h.sealed != nil && h.expires.After(now) && out.Held < store.OpenHoldsMost {
				out.Held++
				if first.IsZero() || h.expires.Before(first) {
					first, out.Oldest = h.expires, s.chain[s.refs[string(h.candidate)].in-1].At
				}
			}
		}
	}
	return out, nil
}

// Stored implements store.Governor.
func (o *Oracle) Stored(ctx context.Context, tenant string) (gate.Stored, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return gate.Stored{}, tenet.Errorf(tenet.Unavailable, "stored", "the context ended")
	}
	return o.stored(tenant), nil
}

func (o *Oracle) stored(tenant string) (s gate.Stored) {
	for scope, d := range o.scopes {
		if scope.Tenant() == tenant {
			s = s.Plus(d.stored())
		}
	}
	return s
}

func (d *durable) stored() (s gate.Stored) {
	for _, r := range d.rows {
		s.Bytes += int64(r.RenderedSize())
		if gate.Counts(r.Record) {
			s.Records++
		}
	}
	s.Subjects = min(s.Records, 1)
	return s
}

// Records implements store.Governor.
func (o *Oracle) Records(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int) ([]tenet.Record, error) {
	s, err := o.enter(ctx, "records", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	start := 0
	if after != "" {
		start = slices.IndexFunc(s.rows, func(r row) bool { return r.ID == after }) + 1
		if start == 0 {
			return nil, nil
		}
	}
	var out []tenet.Record
	for _, r := range s.rows[start:] {
		if len(out) < limit {
			out = append(out, s.read(r))
		}
	}
	return out, nil
}

// Heads implements store.Governor. The oracle names a chain by the digest of
// its scope's key.
func (o *Oracle) Heads(ctx context.Context, after string, limit int) ([]store.ChainHead, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "heads", "the context ended")
	}
	var out []store.ChainHead
	for _, s := range o.scopes {
		if n := len(s.chain); n > 0 && s.name() > after {
			out = append(out, store.ChainHead{Chain: s.name(), Seq: s.head.Audit, Hash: s.chain[n-1].Hash})
		}
	}
	slices.SortFunc(out, func(a, b store.ChainHead) int { return cmp.Compare(a.Chain, b.Chain) })
	return out[:min(limit, len(out))], nil
}

func (s *space) name() string {
	return strconv.FormatUint(uint64(s.key[0])<<32|uint64(s.key[1])<<24|uint64(s.key[2])<<16|uint64(s.key[3])<<8|uint64(s.key[4]), 16)
}

// OriginsAt implements store.Governor.
func (o *Oracle) OriginsAt(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID, at time.Time) (map[tenet.RecordID][]tenet.Origin, error) {
	s, err := o.enter(ctx, "origins", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := map[tenet.RecordID][]tenet.Origin{}
	for _, id := range ids {
		r := s.find(id)
		if r == nil {
			continue
		}
		said := slices.Clone(r.Origins)
		for _, a := range s.agreed {
			for _, x := range a.Origins {
				if a.Record == id && !s.entry(a.in).At.After(at) && !slices.Contains(said, x) {
					said = append(said, x)
				}
			}
		}
		out[id] = said
	}
	return out, nil
}

// ChainName implements store.Governor.
func (o *Oracle) ChainName(ctx context.Context, scope tenet.Scope) (string, error) {
	s, err := o.enter(ctx, "chain", scope)
	defer o.mu.Unlock()
	if err != nil || len(s.chain) == 0 {
		return "", err
	}
	return s.name(), nil
}

// EntryAt implements store.Governor.
func (o *Oracle) EntryAt(ctx context.Context, chain string, seq uint64) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.scopes {
		if len(s.chain) > 0 && s.name() == chain {
			for _, e := range s.chain {
				if e.Seq == seq {
					return e.Hash, nil
				}
			}
		}
	}
	return nil, ctx.Err()
}

// ServedWith implements store.Served.
func (o *Oracle) ServedWith(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID) ([]store.ScopedReceipt, error) {
	if scope.IsZero() {
		return nil, tenet.Errorf(tenet.Invalid, "served", "no scope")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "served", "the context ended")
	}
	var out []store.ScopedReceipt
	for from, s := range o.scopes {
		reads := from == scope
		for _, c := range s.conversations {
			reads = reads || from.Tenant() == scope.Tenant() && slices.Contains(c.Reads, scope)
		}
		for _, c := range s.conversations {
			for _, r := range c.receipts {
				if reads && names(r, ids) {
					out = append(out, store.ScopedReceipt{Scope: from, Receipt: r})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b store.ScopedReceipt) int {
		return cmp.Or(cmp.Compare(a.Scope.Key(), b.Scope.Key()), cmp.Compare(a.Session, b.Session))
	})
	return out, nil
}

func names(r tenet.Receipt, ids []tenet.RecordID) bool {
	for _, id := range ids {
		if slices.Contains(r.Facts, id) || slices.Contains(r.Recalled, id) {
			return true
		}
	}
	return false
}
