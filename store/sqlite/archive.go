package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

var (
	_ store.Archive        = (*DB)(nil)
	_ store.SessionArchive = (*DB)(nil)
)

// continues refuses what does not go on where the scope's past ends, and what
// was erased after it was recorded.
func (l *ledger) continues(p gate.Plan) error {
	const op = "apply"
	erased := &tenet.Error{Kind: tenet.Conflict, Op: op, Code: tenet.CodeErased, Reason: "it was erased after it was recorded"}
	switch {
	case !l.lastAt.IsZero() && !p.At.After(l.lastAt):
		return conflict(op, "the scope has a past of its own")
	case !l.gone.IsZero() && !p.At.After(l.gone):
		return erased
	}
	for _, r := range p.Insert {
		q := gate.Query{Statement: gate.Fingerprint(tenet.Candidate{Tier: r.Tier, Text: r.Text, Value: r.Value})}
		for _, o := range r.Origins {
			if o.Message != "" {
				q.Sources = append(q.Sources, gate.MessageSource(o.Message))
			}
			if o.Session != "" {
				q.Sources = append(q.Sources, gate.SessionSource(o.Session))
			}
		}
		b, err := l.blocked(bg, l.c, q) // whatever the scope's head says of tombstones
		if err != nil {
			return err
		}
		if b.Source || !b.Erased.IsZero() && !p.At.After(b.Erased) {
			return erased
		}
	}
	return nil
}

// Forgot implements store.Archive.
func (db *DB) Forgot(ctx context.Context, scope tenet.Scope) (bool, error) {
	if scope.IsZero() {
		return false, invalid("forgot", "no scope")
	}
	var any bool // marks are nobody's by their looks
	err := db.r.row(ctx, `SELECT EXISTS (SELECT 1 FROM gone)`, nil, &any)
	return any, failure("forgot", err)
}

// past gathers what a stretch of entries wrote.
type past struct {
	subject
	c        conn
	ctx      context.Context
	from, to int64
	at       map[int64]*gate.Plan
}

// Past implements store.Archive.
func (db *DB) Past(ctx context.Context, scope tenet.Scope, after uint64, limit int) (out []gate.Plan, last uint64, err error) {
	const op = "past"
	if limit < 1 {
		return nil, after, invalid(op, "no limit")
	}
	err = db.r.snapshot(ctx, func(c conn) error {
		out, last = nil, after
		s, err := db.find(ctx, c, op, scope)
		if err != nil || s.id == 0 {
			return err
		}
		p := past{subject: s, c: c, ctx: ctx, from: int64(after), at: map[int64]*gate.Plan{}}
		var seqs []int64
		if err := p.entries(ctx, c, `c.seq > ?`, []any{p.from}, limit, func(e tenet.AuditEntry, v tenet.Verdict, _ []byte) error {
			seqs = append(seqs, int64(e.Seq))
			plan := &gate.Plan{Kind: gate.KindNamed(e.Action), Scope: scope, Actor: e.Actor, At: e.At, Ref: e.Ref, Why: e.Why, Verdict: v}
			if plan.Kind == gate.Admit || plan.Kind == gate.Refuse {
				plan.Candidate = tenet.Candidate{ID: tenet.CandidateID(e.Ref), Scope: scope, Tier: v.Tier, Key: v.Key}
			}
			p.at[int64(e.Seq)] = plan
			return nil
		}); err != nil || len(seqs) == 0 {
			return err
		}
		p.to = seqs[len(seqs)-1]
		for _, read := range []func() error{p.records, p.evidence, p.closings, p.agreements, p.holds, p.stages, p.counters, p.tombstones} {
			if err := read(); err != nil {
				return err
			}
		}
		last = uint64(p.to)
		for _, seq := range seqs {
			if plan := p.at[seq]; plan.Kind != gate.Import && !plan.Blank() {
				out = append(out, *plan)
			}
		}
		return nil
	})
	if err != nil {
		return nil, after, failure(op, err)
	}
	return out, last, nil
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
	own := p.scope.Key()
	agreed := map[tenet.RecordID][][]tenet.Origin{}
	if err := p.c.each(p.ctx, `SELECT a.record, a.origins FROM corroborations a JOIN records r ON r.scope = a.scope AND r.id = a.record
		WHERE a.scope = ? AND r.seq > ? AND r.seq <= ? ORDER BY a.seq`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var id tenet.RecordID
		var b []byte
		if err := rs.Scan(&id, &b); err != nil {
			return err
		}
		os, err := column.DecodeOrigins(b, own)
		agreed[id] = append(agreed[id], os)
		return err
	}); err != nil {
		return err
	}
	return p.c.each(p.ctx, `SELECT `+recordColumns+`, seq, expired_seq, origins FROM records
		WHERE scope = ? AND seq > ? AND seq <= ? ORDER BY seq, rowid`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var seq, expired int64
		var base []byte
		r, err := p.scan(rs, own, &seq, &expired, &base)
		if err != nil {
			return err
		}
		if r.Origins, err = column.DecodeOrigins(base, own); err != nil {
			return err
		}
		var more []tenet.Origin
		for _, os := range agreed[r.ID] {
			n := len(more)
			if more = union(r.Origins, more, os); len(more) > n {
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
		if err := p.kept(p.ctx, p.c, plan.Supported(), func(e tenet.Evidence) { plan.Evidence = append(plan.Evidence, e) }); err != nil {
			return err
		}
	}
	return nil
}

// closings are ends of what was believed, by decision and by retention.
func (p *past) closings() error {
	if err := p.c.each(p.ctx, `SELECT closed_seq, id, closed, superseded_by FROM records WHERE scope = ? AND closed_seq > ? AND closed_seq <= ?
		ORDER BY closed_seq, id`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var seq int64
		var cl gate.Close
		if err := rs.Scan(&seq, &cl.Record, &cl.Reason, &cl.By); err != nil {
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
	return p.c.each(p.ctx, `SELECT expired_seq, id FROM records WHERE scope = ? AND expired_seq > ? AND expired_seq <= ? ORDER BY expired_seq, id`,
		[]any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
			var seq int64
			var id tenet.RecordID
			if err := rs.Scan(&seq, &id); err != nil {
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
	return p.c.each(p.ctx, `SELECT seq, record, origins FROM corroborations WHERE scope = ? AND seq > ? AND seq <= ?`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var seq int64
		var a gate.Agreement
		var b []byte
		if err := rs.Scan(&seq, &a.Record, &b); err != nil {
			return err
		}
		plan, err := p.of(seq)
		if err != nil {
			return err
		}
		plan.Agree = &a
		a.Origins, err = column.DecodeOrigins(b, p.scope.Key())
		return err
	})
}

// holds are what was refused, as far as it is kept, and what became of it.
func (p *past) holds() error {
	return p.c.each(p.ctx, `SELECT h.seq, h.state, h.settled_seq, h.aged_seq, h.expires_at, h.sealed, t.ref FROM held h
		JOIN trail t ON t.scope = h.scope AND t.seq = h.seq
		WHERE h.scope = ?1 AND (h.seq > ?2 AND h.seq <= ?3 OR h.settled_seq > ?2 AND h.settled_seq <= ?3 OR h.aged_seq > ?2 AND h.aged_seq <= ?3)
		ORDER BY t.ref`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var seq, settled, aged, expires int64
		var state tenet.HoldState
		var sealed []byte
		var ref string
		if err := rs.Scan(&seq, &state, &settled, &aged, &expires, &sealed, &ref); err != nil {
			return err
		}
		if plan := p.at[seq]; plan != nil {
			plan.Hold = &gate.Hold{State: tenet.HoldOpen, ExpiresAt: column.From(expires)}
			if plan.Verdict.Outcome == tenet.Rejected {
				plan.Hold.State = tenet.HoldRefused
			}
			if sealed != nil {
				var err error
				if plan.Candidate, err = p.unseal(sealed, p.aboutHeld(seq, ref, expires)); err != nil {
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
	if err := p.c.each(p.ctx, `SELECT s.seq, s.sid, s.from_pos, s.to_pos, s.count, n.external_id,
			s.seq = (SELECT max(seq) FROM stages x WHERE x.scope = s.scope AND x.sid = s.sid)
		FROM stages s JOIN session_names n ON n.sid = s.sid
		WHERE s.scope = ? AND s.seq > ? AND s.seq <= ?`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var seq, sid int64
		var s gate.Staged
		var newest bool
		if err := rs.Scan(&seq, &sid, &s.From, &s.To, &s.Judged, &s.Session, &newest); err != nil {
			return err
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
		if err := p.c.each(p.ctx, `SELECT candidate, sealed FROM staged WHERE scope = ? AND sid = ? ORDER BY n`, []any{p.id, sid}, func(rs *sql.Rows) error {
			var id string
			var sealed []byte
			if err := rs.Scan(&id, &sealed); err != nil {
				return err
			}
			c, cited, err := p.unsealStaged(sealed, sid, id)
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
	if err := p.c.each(p.ctx, `SELECT seq, record, success FROM outcomes WHERE scope = ? AND seq > ? AND seq <= ? ORDER BY seq, record`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var seq int64
		var id tenet.RecordID
		var success bool
		if err := rs.Scan(&seq, &id, &success); err != nil {
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
	return p.c.each(p.ctx, `SELECT seq, record, dormant, pinned, low_since, served_at FROM retention WHERE scope = ? AND seq > ? AND seq <= ? ORDER BY seq, record`, []any{p.id, p.from, p.to}, func(rs *sql.Rows) error {
		var seq, low, served int64
		var r gate.Rest
		if err := rs.Scan(&seq, &r.Record, &r.Dormant, &r.Pinned, &low, &served); err != nil {
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
	if err := p.c.each(p.ctx, `SELECT seq, statement, kind, label FROM tombstones WHERE scope = ? AND seq > ? AND seq <= ? AND kind = ? ORDER BY seq, statement`,
		[]any{p.id, p.from, p.to, int64(gate.TombRejected)}, func(rs *sql.Rows) error {
			var t tomb
			err := rs.Scan(&t.seq, &t.statement, &t.Kind, &t.Label)
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
			out[string(store.StatementDigest(p.key, f))] = f
		}
	}
	own := p.scope.Key()
	if err := p.c.each(p.ctx, `SELECT `+recordColumns+` FROM records WHERE scope = ?`, []any{p.id}, func(rs *sql.Rows) error {
		r, err := p.scan(rs, own)
		note(tenet.Candidate{Tier: r.Tier, Text: r.Text, Value: r.Value})
		return err
	}); err != nil {
		return nil, err
	}
	err := p.c.each(p.ctx, `SELECT h.seq, h.expires_at, h.sealed, t.ref FROM held h JOIN trail t ON t.scope = h.scope AND t.seq = h.seq
		WHERE h.scope = ? AND h.sealed IS NOT NULL`, []any{p.id}, func(rs *sql.Rows) error {
		var seq, expires int64
		var sealed []byte
		var ref string
		if err := rs.Scan(&seq, &expires, &sealed, &ref); err != nil {
			return err
		}
		c, err := p.unseal(sealed, p.aboutHeld(seq, ref, expires))
		note(c)
		return err
	})
	return out, err
}

// SessionsOf implements store.SessionArchive.
func (db *DB) SessionsOf(ctx context.Context, scope tenet.Scope, after tenet.SessionID, limit int) (out []tenet.Session, err error) {
	const op = "sessions of"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	err = db.r.snapshot(ctx, func(c conn) error {
		out = nil
		s, err := db.find(ctx, c, op, scope)
		if err != nil || s.id == 0 {
			return err
		}
		var ids []tenet.SessionID
		if err := c.each(ctx, `SELECT n.external_id FROM session_names n JOIN sessions s ON s.sid = n.sid
			WHERE n.scope = ? AND n.external_id > ? ORDER BY n.external_id LIMIT ?`, []any{s.id, string(after), limit}, func(rs *sql.Rows) error {
			var id tenet.SessionID
			err := rs.Scan(&id)
			ids = append(ids, id)
			return err
		}); err != nil {
			return err
		}
		for _, id := range ids {
			one, err := s.load(ctx, c, op, id)
			if err != nil {
				return err
			}
			out = append(out, one.Session)
		}
		return nil
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Whole implements store.SessionArchive.
func (db *DB) Whole(ctx context.Context, scope tenet.Scope, id tenet.SessionID) (w store.WholeSession, err error) {
	const op = "whole session"
	err = db.r.snapshot(ctx, func(c conn) error {
		w = store.WholeSession{}
		s, err := db.session(ctx, c, op, scope, id)
		if err != nil {
			return err
		}
		w.Session = s.Session
		if err := c.each(ctx, `SELECT `+messageColumns+` FROM messages WHERE scope = ? AND sid = ? ORDER BY seq`, []any{s.subject.id, s.sid}, func(rs *sql.Rows) error {
			m, err := s.message(rs, id)
			w.Messages = append(w.Messages, m)
			return err
		}); err != nil {
			return err
		}
		if err := c.each(ctx, `SELECT at, body FROM receipts WHERE scope = ? AND sid = ? ORDER BY n`, []any{s.subject.id, s.sid}, func(rs *sql.Rows) error {
			var at int64
			var body []byte
			if err := rs.Scan(&at, &body); err != nil {
				return err
			}
			r, err := column.DecodeReceipt(body)
			r.Session, r.At = id, column.From(at)
			w.Receipts = append(w.Receipts, r)
			return err
		}); err != nil {
			return err
		}
		return c.each(ctx, `SELECT candidate, sealed FROM proposals WHERE scope = ? AND sid = ? ORDER BY n`, []any{s.subject.id, s.sid}, func(rs *sql.Rows) error {
			var candidate string
			var sealed []byte
			if err := rs.Scan(&candidate, &sealed); err != nil {
				return err
			}
			p, err := s.unseal(sealed, s.about("proposal", s.sid, candidate))
			w.Proposals = append(w.Proposals, p)
			return err
		})
	})
	if err != nil {
		return store.WholeSession{}, failure(op, err)
	}
	return w, nil
}

// PutBack implements store.SessionArchive.
func (db *DB) PutBack(ctx context.Context, scope tenet.Scope, w store.WholeSession) error {
	const op = "put back"
	if err := store.CheckWhole(scope, w); err != nil {
		return err
	}
	return db.write(ctx, op, func(c conn) error {
		sub, err := db.enter(c, op, scope)
		if err != nil {
			return err
		}
		if err := sub.mayBegin(c, w.ID); err != nil {
			return err
		}
		if _, err := sub.load(bg, c, op, w.ID); tenet.KindOf(err) != tenet.NotFound {
			if err == nil {
				err = conflict(op, "the session is there")
			}
			return err
		}
		if err := db.visitors(c, sub, w.Reads); err != nil {
			return err
		}
		sid, err := sub.nameSession(c, w.ID)
		if err != nil {
			return err
		}
		n := w.Session
		if err := c.exec(`INSERT INTO sessions (sid, scope, reads, ttl, retain_none, created_at, ended_at, last_at, length, consolidated,
				due_at, attempts, last_code, worker, fence, lease_until, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, ?, ?)`,
			sid, sub.id, sub.sealReads(n.Reads, sid), int64(n.TTL), n.RetainNone, column.Start(n.CreatedAt), column.Start(n.EndedAt), column.Start(n.LastAt), n.Length, n.Consolidated,
			column.End(n.DueAt), n.Attempts, string(n.LastCode), int64(column.NoStart), expiry(n.LastAt, n.TTL)); err != nil {
			return err
		}
		s := &session{subject: sub, Session: n, sid: sid}
		for _, m := range w.Messages {
			if err := s.insert(c, m); err != nil {
				return err
			}
			if err := db.visitor(c, sub, m.RecordedBy); err != nil {
				return err
			}
		}
		for _, r := range w.Receipts {
			if err := c.exec(`INSERT INTO receipts (scope, sid, at, body) VALUES (?, ?, ?, ?)`, sub.id, sid, column.Start(r.At), column.EncodeReceipt(r)); err != nil {
				return err
			}
		}
		for _, p := range w.Proposals {
			if err := db.visitor(c, sub, p.ProposedBy); err != nil {
				return err
			}
			if err := c.exec(`INSERT INTO proposals (scope, sid, candidate, content, sealed) VALUES (?, ?, ?, ?, ?)`,
				sub.id, sid, string(p.ID), store.ContentDigest(sub.key, p), sub.seal(p, sub.about("proposal", sid, string(p.ID)))); err != nil {
				return err
			}
		}
		return nil
	})
}
