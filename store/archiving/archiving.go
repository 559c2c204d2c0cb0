// Package archiving is what the SQL stores share of an archive: what the entries
// of a chain wrote, gathered from the tables where it stands now. The stores
// bring the transaction, the entries and the form of a record.
//
// It imports tenet, gate, store, what they share of erasure and the standard
// library, and writes nothing.
package archiving

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/erasing"
)

// Chain is one scope under a snapshot, as its store reads it.
type Chain struct {
	erasing.Tx
	ID    int64
	Scope tenet.Scope
	Key   store.DataKey

	// Entries reads at most limit entries after a position, oldest first.
	Entries func(after int64, limit int, f func(tenet.AuditEntry, tenet.Verdict) error) error
	// Written reads the records that entries after from and up to to inserted,
	// in the order they were written: with the entry, the one that let them
	// expire (0: none), and the origins they came with.
	Written func(from, to int64, f func(r tenet.Record, seq, expired int64, origins []byte) error) error
	// Evidence reads what is kept with a record.
	Evidence func(id tenet.RecordID, f func(tenet.Evidence)) error

	Unseal       func(sealed []byte, about string) (tenet.Candidate, error)
	UnsealStaged func(sealed []byte, sid int64, id string) (tenet.Candidate, []tenet.Message, error)
	AboutHeld    func(seq int64, ref string, expires int64) string
}

// past gathers what a stretch of entries wrote.
type past struct {
	Chain
	from, to int64
	at       map[int64]*gate.Plan
}

// Past is store.Archive's, on a scope that the store has found.
func Past(c Chain, after uint64, limit int) (out []gate.Plan, last uint64, err error) {
	p := past{Chain: c, from: int64(after), at: map[int64]*gate.Plan{}}
	var seqs []int64
	if err := p.Entries(p.from, limit, func(e tenet.AuditEntry, v tenet.Verdict) error {
		seqs = append(seqs, int64(e.Seq))
		plan := &gate.Plan{Kind: gate.KindNamed(e.Action), Scope: c.Scope, Actor: e.Actor, At: e.At, Ref: e.Ref, Why: e.Why, Verdict: v}
		if plan.Kind == gate.Admit || plan.Kind == gate.Refuse {
			plan.Candidate = tenet.Candidate{ID: tenet.CandidateID(e.Ref), Scope: c.Scope, Tier: v.Tier, Key: v.Key}
		}
		p.at[int64(e.Seq)] = plan
		return nil
	}); err != nil || len(seqs) == 0 {
		return nil, after, err
	}
	p.to = seqs[len(seqs)-1]
	for _, read := range []func() error{p.records, p.evidence, p.closings, p.agreements, p.holds, p.stages, p.counters, p.tombstones} {
		if err := read(); err != nil {
			return nil, after, err
		}
	}
	for _, seq := range seqs {
		inOrder(p.at[seq])
		if plan := p.at[seq]; plan.Kind != gate.Import && plan.Kind != gate.Cut && !plan.Blank() {
			out = append(out, *plan)
		}
	}
	return out, uint64(p.to), nil
}

// inOrder puts a plan's rows in the order of their ids, which SQL can't where
// they are sealed.
func inOrder(plan *gate.Plan) {
	slices.SortFunc(plan.Close, func(a, b gate.Close) int { return cmp.Compare(a.Record, b.Record) })
	slices.Sort(plan.Expire)
	slices.Sort(plan.Aged)
	if plan.Tally != nil {
		slices.Sort(plan.Tally.Records)
	}
	slices.SortFunc(plan.Rests, func(a, b gate.Rest) int { return cmp.Compare(a.Record, b.Record) })
}

// of is the plan of an entry of the stretch.
func (p *past) of(seq int64) (*gate.Plan, error) {
	if plan := p.at[seq]; plan != nil {
		return plan, nil
	}
	return nil, tenet.Errorf(tenet.Internal, "past", "rows that no entry of the chain wrote: run verify")
}

// records are as they were inserted: what closed, confirmed or expired them
// is told with the entries that did.
func (p *past) records() error {
	own := p.Scope.Key()
	agreed := map[tenet.RecordID][][]tenet.Origin{}
	if err := p.Each(`SELECT a.record, a.origins FROM tenet.corroborations a JOIN tenet.records r ON r.scope = a.scope AND r.id = a.record
		WHERE a.scope = ? AND r.seq > ? AND r.seq <= ? ORDER BY a.seq`, []any{p.ID, p.from, p.to}, func(scan erasing.Scan) error {
		var id tenet.RecordID
		var b []byte
		if err := scan(&id, &b); err != nil {
			return err
		}
		os, err := column.DecodeOrigins(b, own)
		agreed[id] = append(agreed[id], os)
		return err
	}); err != nil {
		return err
	}
	return p.Written(p.from, p.to, func(r tenet.Record, seq, expired int64, origins []byte) (err error) {
		if r.Origins, err = column.DecodeOrigins(origins, own); err != nil {
			return err
		}
		var more []tenet.Origin
		for _, os := range agreed[r.ID] {
			n := len(more)
			if more = column.Union(r.Origins, more, os); len(more) > n {
				r.Seen--
			}
		}
		r.Known.To, r.Closed, r.SupersededBy = tenet.Interval{}.To, "", ""
		r.Expired = r.Expired && expired == 0
		plan, err := p.of(seq)
		if err != nil {
			return err
		}
		plan.Insert = append(plan.Insert, r)
		return nil
	})
}

func (p *past) evidence() error {
	for _, plan := range p.at {
		if plan.Kind != gate.Admit || len(plan.Insert) == 0 {
			continue
		}
		if err := p.Evidence(plan.Supported(), func(e tenet.Evidence) { plan.Evidence = append(plan.Evidence, e) }); err != nil {
			return err
		}
	}
	return nil
}

// closings are ends of what was believed, by decision and by retention.
func (p *past) closings() error {
	if err := p.Each(`SELECT closed_seq, id, closed, superseded_by FROM tenet.records WHERE scope = ? AND closed_seq > ? AND closed_seq <= ?
		ORDER BY closed_seq`, []any{p.ID, p.from, p.to}, func(scan erasing.Scan) error {
		var seq int64
		var cl gate.Close
		if err := scan(&seq, &cl.Record, &cl.Reason, &cl.By); err != nil {
			return err
		}
		plan, err := p.of(seq)
		if err == nil {
			plan.Close = append(plan.Close, cl)
		}
		return err
	}); err != nil {
		return err
	}
	return p.Each(`SELECT expired_seq, id FROM tenet.records WHERE scope = ? AND expired_seq > ? AND expired_seq <= ? ORDER BY expired_seq`,
		[]any{p.ID, p.from, p.to}, func(scan erasing.Scan) error {
			var seq int64
			var id tenet.RecordID
			if err := scan(&seq, &id); err != nil {
				return err
			}
			plan, err := p.of(seq)
			if err == nil {
				plan.Expire = append(plan.Expire, id)
			}
			return err
		})
}

func (p *past) agreements() error {
	return p.Each(`SELECT seq, record, origins FROM tenet.corroborations WHERE scope = ? AND seq > ? AND seq <= ?`, []any{p.ID, p.from, p.to}, func(scan erasing.Scan) error {
		var seq int64
		var a gate.Agreement
		var b []byte
		if err := scan(&seq, &a.Record, &b); err != nil {
			return err
		}
		plan, err := p.of(seq)
		if err != nil {
			return err
		}
		plan.Agree = &a
		a.Origins, err = column.DecodeOrigins(b, p.Scope.Key())
		return err
	})
}

// holds are what was refused, as far as it is kept, and what became of it.
func (p *past) holds() error {
	return p.Each(`SELECT h.seq, h.state, h.settled_seq, h.aged_seq, h.expires_at, h.sealed, t.ref FROM tenet.held h
		JOIN tenet.trail t ON t.scope = h.scope AND t.seq = h.seq
		WHERE h.scope = ? AND (h.seq > ? AND h.seq <= ? OR h.settled_seq > ? AND h.settled_seq <= ? OR h.aged_seq > ? AND h.aged_seq <= ?)`, []any{p.ID, p.from, p.to, p.from, p.to, p.from, p.to}, func(scan erasing.Scan) error {
		var seq, settled, aged, expires int64
		var state tenet.HoldState
		var sealed []byte
		var ref string
		if err := scan(&seq, &state, &settled, &aged, &expires, &sealed, &ref); err != nil {
			return err
		}
		if plan := p.at[seq]; plan != nil {
			plan.Hold = &gate.Hold{State: tenet.HoldOpen, ExpiresAt: column.From(expires)}
			if plan.Verdict.Outcome == tenet.Rejected {
				plan.Hold.State = tenet.HoldRefused
			}
			if sealed != nil {
				var err error
				if plan.Candidate, err = p.Unseal(sealed, p.AboutHeld(seq, ref, expires)); err != nil {
					return err
				}
				plan.Hold.Text = plan.Candidate.Text
			}
		}
		if plan := p.at[settled]; plan != nil {
			plan.Settles = &gate.Settlement{Candidate: tenet.CandidateID(ref), State: state}
		}
		if plan := p.at[aged]; plan != nil {
			plan.Aged = append(plan.Aged, tenet.CandidateID(ref))
		}
		return nil
	})
}

// stages are how far sessions were consolidated; what waits for its verdict is
// told with the last stretch of its session.
func (p *past) stages() error {
	last := map[int64]*gate.Plan{}
	var sids []int64
	if err := p.Each(`SELECT s.seq, s.sid, s.from_pos, s.to_pos, s.count, n.external_id,
			s.seq = (SELECT max(seq) FROM tenet.stages x WHERE x.scope = s.scope AND x.sid = s.sid),
			s.seq = (SELECT min(seq) FROM tenet.stages x WHERE x.scope = s.scope AND x.sid = s.sid)
		FROM tenet.stages s JOIN tenet.session_names n ON n.scope = s.scope AND n.sid = s.sid
		WHERE s.scope = ? AND s.seq > ? AND s.seq <= ?`, []any{p.ID, p.from, p.to}, func(scan erasing.Scan) error {
		var seq, sid int64
		var s gate.Staged
		var newest, oldest bool
		if err := scan(&seq, &sid, &s.From, &s.To, &s.Judged, &s.Session, &newest, &oldest); err != nil {
			return err
		}
		if oldest { // a cut may have removed those before it
			s.From = 0
		}
		plan, err := p.of(seq)
		if err != nil {
			return err
		}
		if plan.Staged = &s; newest {
			last[sid] = plan
			sids = append(sids, sid)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, sid := range sids {
		s := last[sid].Staged
		if err := p.Each(`SELECT candidate, sealed FROM tenet.staged WHERE scope = ? AND sid = ? ORDER BY n`, []any{p.ID, sid}, func(scan erasing.Scan) error {
			var id string
			var sealed []byte
			if err := scan(&id, &sealed); err != nil {
				return err
			}
			c, cited, err := p.UnsealStaged(sealed, sid, id)
			s.Candidates = append(s.Candidates, c)
			for _, m := range cited {
				if !slices.ContainsFunc(s.Cited, func(k tenet.Message) bool { return k.ID == m.ID }) {
					s.Cited = append(s.Cited, m)
				}
			}
			return err
		}); err != nil {
			return err
		}
		s.Judged -= len(s.Candidates)
	}
	return nil
}

// counters are outcomes, pins and what is dormant.
func (p *past) counters() error {
	if err := p.Each(`SELECT seq, record, success FROM tenet.outcomes WHERE scope = ? AND seq > ? AND seq <= ? ORDER BY seq`, []any{p.ID, p.from, p.to}, func(scan erasing.Scan) error {
		var seq int64
		var id tenet.RecordID
		var success bool
		if err := scan(&seq, &id, &success); err != nil {
			return err
		}
		plan, err := p.of(seq)
		if err != nil {
			return err
		}
		if plan.Tally == nil {
			plan.Tally = &gate.Tally{Success: success}
		}
		plan.Tally.Records = append(plan.Tally.Records, id)
		return nil
	}); err != nil {
		return err
	}
	return p.Each(`SELECT seq, record, dormant, pinned, low_since, served_at FROM tenet.retention WHERE scope = ? AND seq > ? AND seq <= ? ORDER BY seq`, []any{p.ID, p.from, p.to}, func(scan erasing.Scan) error {
		var seq, low, served int64
		var r gate.Rest
		if err := scan(&seq, &r.Record, &r.Dormant, &r.Pinned, &low, &served); err != nil {
			return err
		}
		r.LowSince, r.ServedAt = column.From(low), column.From(served)
		plan, err := p.of(seq)
		if err == nil {
			plan.Rests = append(plan.Rests, r)
		}
		return err
	})
}

// tombstones are told by their statements, which are found among what the scope
// still holds. Those of what was erased are not found, and stay here.
func (p *past) tombstones() error {
	type tomb struct {
		seq       int64
		statement []byte
		gate.Tombstone
	}
	var tombs []tomb
	if err := p.Each(`SELECT seq, statement, kind, label FROM tenet.tombstones WHERE scope = ? AND seq > ? AND seq <= ? AND kind = ? ORDER BY seq, statement`,
		[]any{p.ID, p.from, p.to, int64(gate.TombRejected)}, func(scan erasing.Scan) error {
			var t tomb
			err := scan(&t.seq, &t.statement, &t.Kind, &t.Label)
			tombs = append(tombs, t)
			return err
		}); err != nil || len(tombs) == 0 {
		return err
	}
	known, err := p.statements()
	if err != nil {
		return err
	}
	for _, t := range tombs {
		if t.Statement = known[string(t.statement)]; t.Statement == "" {
			continue
		}
		plan, err := p.of(t.seq)
		if err != nil {
			return err
		}
		plan.Tombs = append(plan.Tombs, t.Tombstone)
	}
	for _, plan := range p.at { // in an order that does not depend on the key
		slices.SortFunc(plan.Tombs, func(a, b gate.Tombstone) int { return bytes.Compare([]byte(a.Statement), []byte(b.Statement)) })
	}
	return nil
}

// statements is what the scope holds, by the digests that tombstones know.
func (p *past) statements() (map[string]string, error) {
	out := map[string]string{}
	note := func(c tenet.Candidate) {
		if c.Text != "" || len(c.Value) > 0 {
			f := gate.Fingerprint(c)
			out[string(store.StatementDigest(p.Key, f))] = f
		}
	}
	if err := p.Written(-1, math.MaxInt64, func(r tenet.Record, _, _ int64, _ []byte) error {
		note(tenet.Candidate{Tier: r.Tier, Text: r.Text, Value: r.Value})
		return nil
	}); err != nil {
		return nil, err
	}
	err := p.Each(`SELECT h.seq, h.expires_at, h.sealed, t.ref FROM tenet.held h JOIN tenet.trail t ON t.scope = h.scope AND t.seq = h.seq
		WHERE h.scope = ? AND h.sealed IS NOT NULL`, []any{p.ID}, func(scan erasing.Scan) error {
		var seq, expires int64
		var sealed []byte
		var ref string
		if err := scan(&seq, &expires, &sealed, &ref); err != nil {
			return err
		}
		c, err := p.Unseal(sealed, p.AboutHeld(seq, ref, expires))
		note(c)
		return err
	})
	return out, err
}
