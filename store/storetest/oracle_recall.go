package storetest

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

var (
	_ store.Vectors   = (*Oracle)(nil)
	_ store.Retention = (*Oracle)(nil)
	_ store.Servings  = (*Oracle)(nil)
)

// spot is a record's place in a space and the Dense position it came with.
type spot struct {
	values []int8
	at     uint64
}

// recallable reports whether recall can find the row.
func (r *row) recallable() bool { return r.textIn != 0 && r.textOut == 0 }

// forgetPlaces drops the places of records that recall has lost.
func (s *space) forgetPlaces() {
	for _, in := range s.places {
		for id := range in {
			if r := s.find(id); r == nil || !r.recallable() {
				delete(in, id)
			}
		}
	}
}

// Unplaced implements store.Vectors.
func (o *Oracle) Unplaced(ctx context.Context, space string, limit int) ([]tenet.Record, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if space == "" || limit < 0 {
		return nil, tenet.Errorf(tenet.Invalid, "unplaced", "no space, or a negative limit")
	}
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "unplaced", "the context ended")
	}
	var out []tenet.Record
	for _, s := range o.scopes {
		out = append(out, s.where(func(r *row) bool {
			_, has := s.places[space][r.ID]
			return r.recallable() && !has
		})...)
	}
	return out[:min(limit, len(out))], nil
}

// Place implements store.Vectors.
func (o *Oracle) Place(ctx context.Context, scope tenet.Scope, space string, vs []store.Vector) error {
	s, err := o.enter(ctx, "place", scope)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	if space == "" {
		return tenet.Errorf(tenet.Invalid, "place", "no space")
	}
	moved := false
	for _, v := range vs {
		if r := s.find(v.Record); r == nil || !r.recallable() {
			continue
		}
		if s.places[space] == nil {
			s.places[space] = map[tenet.RecordID]spot{}
		}
		s.places[space][v.Record] = spot{slices.Clone(v.Values), s.head.Dense + 1}
		moved = true
	}
	if moved {
		s.head.Dense++
	}
	return nil
}

// Places implements store.Vectors.
func (o *Oracle) Places(ctx context.Context, scope tenet.Scope, space string, since uint64) ([]store.Vector, uint64, error) {
	s, err := o.enter(ctx, "places", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, 0, err
	}
	var out []store.Vector
	for id, p := range s.places[space] {
		if p.at > since {
			out = append(out, store.Vector{Record: id, Values: slices.Clone(p.values)})
		}
	}
	return out, s.head.Dense, nil
}

// retain writes the counters and states of a decision.
func (d *durable) retain(p gate.Plan, seq uint64) error {
	var named []tenet.RecordID
	if p.Tally != nil {
		named = append(named, p.Tally.Records...)
	}
	for _, r := range p.Rests {
		named = append(named, r.Record)
	}
	for _, id := range named {
		if d.find(id) == nil {
			return tenet.Errorf(tenet.NotFound, "apply", "no such record")
		}
	}
	if p.Tally != nil {
		d.tallies[seq] = *p.Tally
		d.head.Stats++
	}
	if len(p.Rests) > 0 {
		d.rests[seq] = p.Rests
		d.head.Sleep++
	}
	return nil
}

// rest is how a record stands: what the last entry about it said.
func (d *durable) rest(id tenet.RecordID) gate.Rest {
	var last gate.Rest
	for seq := uint64(1); seq <= d.head.Audit; seq++ {
		for _, r := range d.rests[seq] {
			if r.Record == id {
				last = r
			}
		}
	}
	return last
}

// Sleeping implements store.Retention.
func (o *Oracle) Sleeping(ctx context.Context, scope tenet.Scope) ([]tenet.RecordID, error) {
	s, err := o.enter(ctx, "sleeping", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.RecordID
	for _, r := range s.rows {
		if r.recallable() && s.rest(r.ID).Dormant {
			out = append(out, r.ID)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Uses implements store.Retention.
func (o *Oracle) Uses(ctx context.Context, scope tenet.Scope, after tenet.RecordID, limit int, halfLife time.Duration, now time.Time) ([]store.Use, error) {
	s, err := o.enter(ctx, "uses", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if limit < 0 {
		return nil, tenet.Errorf(tenet.Invalid, "uses", "a negative limit")
	}
	var out []store.Use
	var from uint64
	if after != "" {
		r := s.find(after)
		if r == nil {
			return nil, tenet.Errorf(tenet.NotFound, "uses", "no such record")
		}
		from = r.textIn
	}
	passed := from == 0
	all := s.where(func(r *row) bool {
		if !passed {
			passed = r.ID == after
			return false
		}
		return r.recallable()
	})
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	for _, rec := range all {
		u := store.Use{Record: rec}
		for seq, t := range s.tallies {
			if !slices.Contains(t.Records, rec.ID) {
				continue
			}
			at := s.entry(seq).At
			n := math.Exp2(-float64(max(0, now.Sub(at))) / float64(halfLife))
			if !t.Success {
				u.Failure += n
				continue
			}
			u.Success += n
			if at.After(u.CreditedAt) {
				u.CreditedAt = at
			}
		}
		r := s.rest(rec.ID)
		u.Dormant, u.Pinned, u.LowSince, u.ServedAt = r.Dormant, r.Pinned, r.LowSince, r.ServedAt
		out = append(out, u)
	}
	return out, nil
}

// Unswept implements store.Retention.
func (o *Oracle) Unswept(ctx context.Context, since time.Time, limit int) ([]tenet.Scope, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if limit < 0 {
		return nil, tenet.Errorf(tenet.Invalid, "unswept", "a negative limit")
	}
	var out []tenet.Scope
	for scope, s := range o.scopes {
		if s.head.Text > 0 && s.swept.Before(since) {
			out = append(out, scope)
		}
	}
	slices.SortFunc(out, func(a, b tenet.Scope) int { return o.scopes[a].swept.Compare(o.scopes[b].swept) })
	return out[:min(limit, len(out))], nil
}

// Swept implements store.Retention.
func (o *Oracle) Swept(ctx context.Context, scope tenet.Scope, at time.Time) error {
	s, err := o.enter(ctx, "swept", scope)
	defer o.mu.Unlock()
	if err == nil {
		s.swept = at
	}
	return err
}

// Served implements store.Servings.
func (o *Oracle) Served(ctx context.Context, scope tenet.Scope, since time.Time) (map[tenet.RecordID]time.Time, error) {
	s, err := o.enter(ctx, "served", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := map[tenet.RecordID]time.Time{}
	for _, c := range s.conversations {
		for _, r := range c.receipts {
			for _, id := range r.Recalled {
				if !r.At.Before(since) && r.At.After(out[id]) {
					out[id] = r.At
				}
			}
		}
	}
	return out, nil
}
