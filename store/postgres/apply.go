package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

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
			out, l = make([]store.Applied, 0, len(ds)), nil
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
		db.facts.drop(l.scope)
	}
	return out, nil
}

// ledger is one scope under its lock.
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

// bg stands where a statement takes its transaction's context.
var bg = context.Background()

func (db *DB) open(c conn, scope tenet.Scope) (*ledger, error) {
	l := &ledger{subject: subject{scope: scope, master: db.master()}, db: db, c: c.of(0)}
	for range 2 {
		found, err := db.lock(c, l)
		if err != nil || found {
			return l, err
		}
		var base int64
		if l.gone, base, err = db.goneAt(c, scope); err != nil || !l.gone.IsZero() {
			l.head.Text = uint64(base)
			return l, err // who was erased is entered again only by what came after
		}
		if _, err := db.enter(c, "apply", scope); err != nil {
			return nil, err
		}
	}
	return nil, tenet.Errorf(tenet.Unavailable, "apply", "the scope was erased meanwhile")
}

// lock reads the scope's head and holds it until the transaction ends: nobody
// else decides in the scope meanwhile.
func (db *DB) lock(c conn, l *ledger) (bool, error) {
	scope := l.scope
	var wrapped []byte
	var last, gone int64
	err := c.row(bg, `SELECT s.scope, s.data_key, s.erased_at, h.text, h.stats, h.audit, h.sleep, h.facts, h.staged, h.tombs, h.frozen, h.records, h.bytes, h.last_at, h.hash
		FROM tenet.subjects s JOIN tenet.heads h ON h.scope = s.scope WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3 FOR UPDATE OF h`,
		db.names(scope),
		&l.id, &wrapped, &gone, &l.head.Text, &l.head.Stats, &l.head.Audit, &l.head.Sleep, &l.facts, &l.staged, &l.tombs, &l.frozen, &l.stored.Records, &l.stored.Bytes, &last, &l.hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	}
	l.lastAt, l.gone, l.c = column.From(last), column.Since(gone), c.of(l.id)
	l.was()
	l.key, err = db.unwrap(l.id, wrapped)
	return true, err
}

func (l *ledger) save() error {
	if l.head.Audit == l.wasAudit {
		return nil // replays only
	}
	return l.c.exec(`UPDATE tenet.heads SET text = $1, stats = $2, audit = $3, sleep = $4, facts = $5, staged = $6, tombs = $7, frozen = $8, records = $9, bytes = $10, last_at = $11, hash = $12 WHERE scope = $13`,
		int64(l.head.Text), int64(l.head.Stats), int64(l.head.Audit), int64(l.head.Sleep), int64(l.facts), l.staged, l.tombs, l.frozen, l.stored.Records, l.stored.Bytes, column.Start(l.lastAt), l.hash, l.id)
}

// apply writes one decision, unless it was written before.
func (l *ledger) apply(i int, p gate.Plan, again store.Rejudge) (store.Applied, error) {
	const op = "apply"
	if l.id == 0 && (p.Kind == gate.Freeze || p.Kind == gate.Thaw) {
		return store.Applied{}, store.NothingToHold(op)
	}
	content := l.content(p)
	was, err := l.ask(p, content != nil && l.id != 0)
	switch {
	case err != nil:
		return store.Applied{}, err
	case was.seq != 0 && !bytes.Equal(was.content, content):
		return store.Applied{}, conflict(op, "the id was used with other content")
	case was.seq != 0:
		return l.replay(p, was.seq)
	}
	ok, err := l.holds(p, was)
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
		if err == nil && !p.Needs.Query.Pace.IsZero() {
			n := p.Needs.Query.Pace.Counter()
			err = l.c.each(bg, selectPace, l.paceArgs(p.Needs.Query.Pace, st.Now), func(rs *rows) error { return scanPace(rs, n) })
			st.Pace = n.Pace
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
		is, err := l.ask(q, false)
		if err != nil {
			return store.Applied{}, err
		}
		if ok, err := l.holds(q, is); err != nil {
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

// asked is what applying a decision depends on.
type asked struct {
	seq          int64  // the entry of an earlier decision of the same Ref, or 0
	content      []byte // its content
	found, known int    // believed records, and those of them that were known
	usage        gate.Usage
	pace         *gate.Counter // nil: no limit can be reached
}

// ask reads all of it in one round trip; replays also what the Ref came to.
func (l *ledger) ask(p gate.Plan, replays bool) (*asked, error) {
	a := new(asked)
	if replays {
		l.c.ask(`SELECT seq, content FROM tenet.trail WHERE scope = $1 AND ref = $2 AND content IS NOT NULL`, []any{l.id, p.Ref}, func(rs *rows) error {
			return rs.Scan(&a.seq, &a.content)
		})
	}
	if where, args := l.believed(p.Needs.Query); where != "" {
		l.c.ask(`SELECT id FROM tenet.records `+where, args, func(rs *rows) error {
			var id tenet.RecordID
			if err := rs.Scan(&id); err != nil {
				return err
			}
			if a.found++; slices.Contains(p.Needs.Open, id) {
				a.known++
			}
			return nil
		})
	}
	if limited(p.Needs) {
		l.c.ask(selectUsage, []any{l.id, column.Start(later(p.At, l.lastAt))}, func(rs *rows) error { return scanUsage(rs, &a.usage) })
	}
	if q := p.Needs.Query.Pace; !q.IsZero() && l.head.Audit >= q.Least() {
		a.pace = q.Counter()
		l.c.ask(selectPace, l.paceArgs(q, later(p.At, l.lastAt)), func(rs *rows) error { return scanPace(rs, a.pace) })
	}
	return a, l.c.tx.flush()
}

// limited reports whether the decision makes the persistent tier grow.
func limited(n gate.Needs) bool {
	return n.Limits != (gate.Limits{}) && (n.Grows.Rows > 0 || n.Grows.Bytes > 0)
}

// replay is what an earlier decision of the same Ref came to.
func (l *ledger) replay(p gate.Plan, seq int64) (store.Applied, error) {
	a := store.Applied{Replayed: true}
	var found bool
	err := l.entries(bg, l.c, `c.seq = $3`, []any{seq}, 1, func(e tenet.AuditEntry, v tenet.Verdict, _ []byte) error {
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
// The order of the believed follows from what they are: the same ids are enough.
func (l *ledger) holds(p gate.Plan, a *asked) (bool, error) {
	n := p.Needs
	if n.States() { // the others say nothing that an erasure could forbid
		if b, err := l.block(n.Query); err != nil || b != n.Blocked {
			return false, err
		}
	}
	var pace gate.Pace
	if a.pace != nil {
		pace = a.pace.Pace
	}
	if n.Query.Pace.Over(pace) != n.Over {
		return false, nil
	}
	return a.found == len(n.Open) && a.known == a.found && (!limited(n) || n.Limits.Fits(a.usage, n.Grows)), nil
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
	return l.c.exec(`INSERT INTO tenet.trail (scope, seq, ref, actor, why, content, record, replaced, tier, key, label, effect, findings, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		l.id, int64(e.Seq), e.Ref, e.Actor, e.Why, content, string(v.Record), string(v.Replaced), int64(v.Tier), v.Key,
		int64(v.Label), v.Effect, findings, column.Start(v.At))
}

// link appends the entry to the chain.
func (l *ledger) link(e tenet.AuditEntry) error {
	codes, err := encodeJSON(e.Codes, len(e.Codes))
	if err != nil {
		return err
	}
	return l.c.exec(`INSERT INTO tenet.chain (scope, seq, action, outcome, codes, ruleset, at, digest, prev, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
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
