package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// Apply implements store.Ledger.
func (db *DB) Apply(ctx context.Context, ds []gate.Decision, again store.Rejudge) ([]store.Applied, error) {
	const op = "apply"
	var scope tenet.Scope
	for i, d := range ds {
		if d.IsZero() {
			return nil, tenet.Errorf(tenet.Refused, op, "decision %d was not made by the gate", i)
		}
		if i > 0 && d.Plan().Scope != scope {
			return nil, invalid(op, "decisions of two scopes")
		}
		scope = d.Plan().Scope
		if p := d.Plan(); p.Kind == gate.Erase && !p.Readmitted {
			return nil, invalid(op, "an erasure is not applied but carried out")
		} else if p.Kind == gate.Cut {
			return nil, invalid(op, "a cut is not applied but carried out")
		}
	}
	if len(ds) == 0 {
		return nil, nil
	}
	var out []store.Applied
	var l *ledger
	err := db.rooms.Within(ctx, scope.Tenant(), db.Stored, func(g *store.Growth) error {
		return db.mutate(ctx, op, scope, func() any { return out }, func(c conn) error {
			out = make([]store.Applied, 0, len(ds))
			g.Begin()
			var err error
			if l, err = db.open(c, scope); err != nil {
				return err
			}
			l.growth = g
			for i, d := range ds {
				a, err := l.apply(i, d.Plan(), again)
				if err != nil {
					return err
				}
				out = append(out, a)
			}
			g.Came(l.grown())
			return l.save()
		})
	})
	if err != nil {
		return nil, err
	}
	if l.facts != l.wasFacts {
		db.facts.drop(l.id)
	}
	return out, nil
}

// ledger is one scope under the write lock.
type ledger struct {
	subject
	db     *DB
	c      conn
	head   store.Head
	facts  uint64 // the entry that last changed a fact
	staged int64  // how many candidates wait
	tombs  int64  // how many tombstones there are
	frozen int64  // the entry that placed the legal hold that stands
	lastAt time.Time
	hash   []byte
	stored gate.Stored // of this scope

	wasFacts, wasAudit uint64
	wasStored          gate.Stored
	growth             *store.Growth // of Apply
}

// grown is what the transaction has added to what the scope keeps.
func (l *ledger) grown() gate.Stored {
	l.stored.Subjects = min(l.stored.Records, 1)
	return l.stored.Minus(l.wasStored)
}

// was notes where the transaction began.
func (l *ledger) was() {
	l.stored.Subjects = min(l.stored.Records, 1)
	l.wasFacts, l.wasAudit, l.wasStored = l.facts, l.head.Audit, l.stored
}

// bg is the context of statements inside a write transaction: they are short,
// and a transaction is not to be cut between them.
var bg = context.Background()

func (db *DB) open(c conn, scope tenet.Scope) (*ledger, error) {
	l := &ledger{subject: subject{scope: scope, master: db.master()}, db: db, c: c}
	var wrapped []byte
	var last, gone int64
	err := c.row(bg, `SELECT s.scope, s.data_key, s.erased_at, h.text, h.stats, h.audit, h.sleep, h.facts, h.staged, h.tombs, h.frozen, h.records, h.bytes, h.last_at, h.hash
		FROM subjects s JOIN heads h ON h.scope = s.scope WHERE s.tenant = ? AND s.kind = ? AND s.external_id = ?`,
		db.names(scope),
		&l.id, &wrapped, &gone, &l.head.Text, &l.head.Stats, &l.head.Audit, &l.head.Sleep, &l.facts, &l.staged, &l.tombs, &l.frozen, &l.stored.Records, &l.stored.Bytes, &last, &l.hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		var base int64
		if l.gone, base, err = db.goneAt(c, scope); err != nil || !l.gone.IsZero() {
			l.head.Text = uint64(base)
			break // who was erased is entered again only by what came after
		}
		l.subject, err = db.enter(c, "apply", scope)
	case err == nil:
		l.lastAt, l.gone = column.From(last), column.Since(gone)
		l.key, err = db.unwrap(l.id, wrapped)
	}
	l.was()
	l.c = l.c.of(l.id)
	return l, err
}

func (l *ledger) save() error {
	if l.head.Audit == l.wasAudit {
		return nil // replays only
	}
	return l.c.exec(`UPDATE heads SET text = ?, stats = ?, audit = ?, sleep = ?, facts = ?, staged = ?, tombs = ?, frozen = ?, records = ?, bytes = ?, last_at = ?, hash = ? WHERE scope = ?`,
		int64(l.head.Text), int64(l.head.Stats), int64(l.head.Audit), int64(l.head.Sleep), int64(l.facts), l.staged, l.tombs, l.frozen, l.stored.Records, l.stored.Bytes, column.Start(l.lastAt), l.hash, l.id)
}

// apply writes one decision, unless it was written before.
func (l *ledger) apply(i int, p gate.Plan, again store.Rejudge) (store.Applied, error) {
	const op = "apply"
	if l.id == 0 && (p.Kind == gate.Freeze || p.Kind == gate.Thaw) {
		return store.Applied{}, store.NothingToHold(op)
	}
	content := l.content(p)
	if content != nil && l.id != 0 {
		a, err := l.replay(p, content)
		if err != nil || a.Replayed {
			return a, err
		}
	}
	ok, err := l.holds(p)
	if p.Readmitted {
		ok, err = true, l.continues(p)
	}
	if err != nil {
		return store.Applied{}, err
	}
	if !ok {
		if again == nil {
			return store.Applied{}, conflict(op, "the state moved since it was judged")
		}
		st, err := l.state(bg, l.c, p.Needs.Query, later(p.At, l.lastAt))
		if err == nil {
			st.Blocked, err = l.block(p.Needs.Query)
		}
		if err == nil {
			st.Pace, err = l.pace(bg, l.c, p.Needs.Query.Pace, st.Now)
		}
		if err != nil {
			return store.Applied{}, err
		}
		d, err := again(i, st)
		if err != nil {
			return store.Applied{}, callbackError{err}
		}
		q := d.Plan()
		switch {
		case d.IsZero():
			return store.Applied{}, tenet.Errorf(tenet.Refused, op, "decision %d was not made by the gate", i)
		case q.Scope != p.Scope || q.Ref != p.Ref:
			return store.Applied{}, invalid(op, "another case was judged again")
		}
		if ok, err := l.holds(q); err != nil {
			return store.Applied{}, err
		} else if !ok {
			return store.Applied{}, conflict(op, "it was judged again against another state")
		}
		p, content = q, l.content(q)
	}
	if err := l.comeBack(p); err != nil {
		return store.Applied{}, err
	}

	at := p.At
	if !l.lastAt.IsZero() && !at.After(l.lastAt) {
		at = l.lastAt.Add(time.Microsecond)
	}
	l.lastAt = at
	l.head.Audit++
	w := writing{ledger: l, seq: l.head.Audit, at: at, pos: l.head.Text + 1}
	if err := w.write(p); err != nil {
		return store.Applied{}, err
	}
	if err := l.growth.Take(p.Quota, l.grown()); err != nil {
		return store.Applied{}, err
	}
	v := p.Verdict
	if len(v.Codes) == 0 {
		v.Codes = nil
	}
	if len(v.Findings) == 0 {
		v.Findings = nil
	}
	e := tenet.AuditEntry{
		Seq: w.seq, Action: p.Kind.String(), Outcome: v.Outcome, Codes: v.Codes, RuleSet: v.RuleSet,
		At: at, Prev: l.hash, Ref: p.Ref, Actor: p.Actor, Why: p.Why,
	}
	w.Ref, w.Actor, w.Why, w.Content, w.Verdict = p.Ref, p.Actor, p.Why, content, v
	slices.Sort(w.RecordIDs)
	e.Digest = store.EntryDigest(l.key, w.Written)
	e.Hash = store.EntryHash(e)
	l.hash = e.Hash
	if err := l.enter(e, v, content); err != nil {
		return store.Applied{}, err
	}
	return store.Applied{Entry: e, Verdict: v}, nil
}

// content is the digest that makes a Ref idempotent, nil for kinds that aren't.
func (l *ledger) content(p gate.Plan) []byte {
	if p.Readmitted && p.Ref == "" {
		return nil // an erasure took its words
	}
	switch p.Kind {
	case gate.Admit, gate.Refuse:
		return store.ContentDigest(l.key, p.Declared)
	case gate.End, gate.Retract, gate.Revoke:
		return store.ChangeDigest(l.key, p)
	case gate.Ask:
		return store.AskDigest(l.key, p)
	}
	return nil
}

// replay finds what an earlier decision of the same Ref came to.
func (l *ledger) replay(p gate.Plan, content []byte) (store.Applied, error) {
	var seq int64
	var old []byte
	err := l.c.row(bg, `SELECT seq, content FROM trail WHERE scope = ? AND ref = ? AND content IS NOT NULL`, []any{l.id, p.Ref}, &seq, &old)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return store.Applied{}, nil
	case err != nil:
		return store.Applied{}, err
	case !bytes.Equal(old, content):
		return store.Applied{}, conflict("apply", "the id was used with other content")
	}
	a := store.Applied{Replayed: true}
	var found bool
	err = l.entries(bg, l.c, `c.seq = ?`, []any{seq}, 1, func(e tenet.AuditEntry, v tenet.Verdict, _ []byte) error {
		a.Entry, a.Verdict, found = e, v, true
		return nil
	})
	if err == nil && !found {
		err = tenet.Errorf(tenet.Internal, "apply", "an entry of the chain is missing: run verify")
	}
	if err == nil {
		err = l.unstage(p)
	}
	return a, err
}

// holds reports whether the state is still the one that p was judged against.
func (l *ledger) holds(p gate.Plan) (bool, error) {
	n := p.Needs
	if n.States() { // the others say nothing that an erasure could forbid
		if b, err := l.block(n.Query); err != nil || b != n.Blocked {
			return false, err
		}
	}
	if l.head.Audit >= n.Query.Pace.Least() {
		if pace, err := l.pace(bg, l.c, n.Query.Pace, later(p.At, l.lastAt)); err != nil || n.Query.Pace.Over(pace) != n.Over {
			return false, err
		}
	}
	where, args := l.believed(n.Query)
	if where == "" {
		if len(n.Open) > 0 {
			return false, nil
		}
	} else {
		// Their order follows from what they are: the same ids are enough.
		found, known := 0, 0
		err := l.c.each(bg, `SELECT id FROM records `+where, args, func(rs *rows) error {
			var id tenet.RecordID
			if err := rs.Scan(&id); err != nil {
				return err
			}
			if found++; slices.Contains(n.Open, id) {
				known++
			}
			return nil
		})
		if err != nil || found != len(n.Open) || known != found {
			return false, err
		}
	}
	if n.Limits == (gate.Limits{}) || (n.Grows.Rows <= 0 && n.Grows.Bytes <= 0) {
		return true, nil
	}
	u, err := l.usage(bg, l.c, later(p.At, l.lastAt))
	return n.Limits.Fits(u, n.Grows), err
}

// enter appends the entry to the chain and its words to the trail.
func (l *ledger) enter(e tenet.AuditEntry, v tenet.Verdict, content []byte) error {
	if err := l.db.visitor(l.c, l.subject, e.Actor); err != nil {
		return err
	}
	if err := l.link(e); err != nil {
		return err
	}
	findings, err := encodeJSON(v.Findings, len(v.Findings))
	if err != nil {
		return err
	}
	return l.c.exec(`INSERT INTO trail (scope, seq, ref, actor, why, content, record, replaced, tier, key, label, effect, findings, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.id, int64(e.Seq), e.Ref, e.Actor, e.Why, content, string(v.Record), string(v.Replaced), int64(v.Tier), v.Key,
		int64(v.Label), v.Effect, findings, column.Start(v.At))
}

// link appends the entry to the chain.
func (l *ledger) link(e tenet.AuditEntry) error {
	codes, err := encodeJSON(e.Codes, len(e.Codes))
	if err != nil {
		return err
	}
	return l.c.exec(`INSERT INTO chain (scope, seq, action, outcome, codes, ruleset, at, digest, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.id, int64(e.Seq), sealing.Plain(e.Action), int64(e.Outcome), sealing.Plain(codes), sealing.Plain(e.RuleSet), column.Start(e.At), e.Digest, e.Prev, e.Hash)
}

func encodeJSON(v any, n int) (string, error) {
	if n == 0 {
		return "", nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "", tenet.Errorf(tenet.Internal, "apply", "a verdict does not encode")
	}
	return string(b), nil
}
