package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

const recordColumns = `id, tier, key, value, text, label, origins, agreed, seen, session, message, tool_call, speaker, position,
	valid_from, valid_to, sys_from, sys_to, supersedes, superseded_by, fragment_of, elevates, closed, multi, safety,
	expires_at, expired, signature`

// scan reads recordColumns, then more columns into also. own is the scope's
// key, made once for many rows. Plain types are scanned fastest.
func (s subject) scan(rs *rows, own string, also ...any) (tenet.Record, error) {
	r := tenet.Record{Scope: s.scope}
	var value, origins, agreed []byte
	var validFrom, validTo, knownFrom, knownTo, expires int64
	dest := append([]any{
		(*string)(&r.ID), (*uint8)(&r.Tier), &r.Key, &value, &r.Text, (*uint8)(&r.Label), &origins, &agreed, &r.Seen,
		(*string)(&r.Session), (*string)(&r.Message), &r.ToolCall, &r.Speaker, &r.Position, &validFrom, &validTo, &knownFrom, &knownTo,
		(*string)(&r.Supersedes), (*string)(&r.SupersededBy), (*string)(&r.FragmentOf), (*string)(&r.Elevates), (*string)(&r.Closed), &r.Multi, &r.Safety,
		&expires, &r.Expired, &r.Signature,
	}, also...)
	if err := rs.Scan(dest...); err != nil {
		return r, err
	}
	if len(value) > 0 {
		r.Value = value
	}
	r.Valid = tenet.Interval{From: column.From(validFrom), To: column.From(validTo)}
	r.Known = tenet.Interval{From: column.From(knownFrom), To: column.From(knownTo)}
	r.ExpiresAt = column.From(expires)
	var err error
	if r.Origins, err = column.DecodeOrigins(origins, own); err != nil {
		return r, err
	}
	more, err := column.DecodeOrigins(agreed, own)
	r.Origins = append(r.Origins, more...)
	return r, err
}

// records runs a query for recordColumns.
func (s subject) records(ctx context.Context, c conn, rest string, args ...any) ([]tenet.Record, error) {
	var out []tenet.Record
	own := s.scope.Key()
	err := c.of(s.id).each(ctx, `SELECT `+recordColumns+` FROM tenet.records `+rest, args, func(rs *rows) error {
		r, err := s.scan(rs, own)
		out = append(out, r)
		return err
	})
	return out, err
}

// Head implements store.Reader.
func (db *DB) Head(ctx context.Context, scope tenet.Scope) (store.Head, error) {
	h, err := db.head(ctx, "head", scope)
	return h.Head, err
}

type position struct {
	store.Head
	id     int64
	facts  uint64
	reset  uint64
	lastAt int64
}

// head is the scope's surrogate and position in one look-up.
func (db *DB) head(ctx context.Context, op string, scope tenet.Scope) (position, error) {
	return db.at(scope).head(ctx, op, scope)
}

const selectHead = `SELECT h.scope, h.text, h.stats, h.audit, h.dense, h.sleep, h.facts, h.reset, h.last_at
	FROM tenet.subjects s JOIN tenet.heads h ON h.scope = s.scope WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3`

func (p *position) scan(rs *rows) error {
	return rs.Scan(&p.id, &p.Text, &p.Stats, &p.Audit, &p.Dense, &p.Sleep, &p.facts, &p.reset, &p.lastAt)
}

func (c conn) head(ctx context.Context, op string, scope tenet.Scope) (position, error) {
	var p position
	if scope.IsZero() {
		return p, invalid(op, "no scope")
	}
	err := c.each(ctx, selectHead, c.db.names(scope), p.scan)
	if err != nil {
		return position{}, c.failure(op, err)
	}
	return p, nil
}

// Record implements store.Reader.
func (db *DB) Record(ctx context.Context, scope tenet.Scope, id tenet.RecordID) (tenet.Record, error) {
	const op = "record"
	p, err := db.head(ctx, op, scope)
	if err != nil {
		return tenet.Record{}, err
	}
	rs, err := subject{scope: scope, id: p.id}.records(ctx, db.at(scope), `WHERE scope = $1 AND id = $2`, p.id, string(id))
	if err != nil {
		return tenet.Record{}, failure(op, err)
	}
	if len(rs) == 0 {
		return tenet.Record{}, absent(op, "record")
	}
	return rs[0], nil
}

// History implements store.Reader.
func (db *DB) History(ctx context.Context, scope tenet.Scope, tier tenet.Tier, key string) ([]tenet.Record, error) {
	const op = "history"
	p, err := db.head(ctx, op, scope)
	if err != nil {
		return nil, err
	}
	where := `WHERE scope = $1 AND tier = $2 AND key = $3 AND key <> ''`
	if key == "" { // records without a key are in no index for it
		where = `WHERE scope = $1 AND tier = $2 AND key = $3`
	}
	rs, err := subject{scope: scope, id: p.id}.records(ctx, db.at(scope), where, p.id, int64(tier), key)
	if err != nil {
		return nil, failure(op, err)
	}
	slices.SortFunc(rs, func(a, b tenet.Record) int {
		return cmp.Or(a.Known.From.Compare(b.Known.From), cmp.Compare(a.ID, b.ID))
	})
	return rs, nil
}

// Changes implements store.Reader.
func (db *DB) Changes(ctx context.Context, scope tenet.Scope, since uint64) (store.Changes, error) {
	const op = "changes"
	var ch store.Changes
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		p, err := c.head(ctx, op, scope)
		if err != nil {
			return err
		}
		ch = store.Changes{Head: p.Head, Reset: since == 0 || since < p.reset || since > p.Text}
		if ch.Reset {
			since = 0
		}
		if ch.Added, err = (subject{scope: scope, id: p.id}).records(ctx, c,
			`WHERE scope = $1 AND added > $2 AND added > 0 AND removed = 0 ORDER BY added, n`, p.id, int64(since)); err != nil || ch.Reset {
			return err
		}
		return c.each(ctx, `SELECT id FROM tenet.records WHERE scope = $1 AND removed > $2 AND removed > 0 AND added <= $2 ORDER BY removed, n`,
			[]any{p.id, int64(since)}, func(rs *rows) error {
				var id tenet.RecordID
				err := rs.Scan(&id)
				ch.Removed = append(ch.Removed, id)
				return err
			})
	})
	if err != nil {
		return store.Changes{}, failure(op, err)
	}
	return ch, nil
}

// State implements store.Reader.
func (db *DB) State(ctx context.Context, scope tenet.Scope, q gate.Query, now time.Time) (gate.State, error) {
	const op = "state"
	p, err := db.head(ctx, op, scope)
	if err == nil && p.id == 0 { // nobody, or nobody any more
		s := subject{scope: scope, master: db.master()}
		st := gate.State{Now: now}
		if s.gone, _, err = db.goneAt(db.at(scope), scope); err == nil {
			st.Blocked, err = s.blocked(ctx, db.at(scope), q)
		}
		return st, failure(op, err)
	}
	if err != nil {
		return gate.State{Now: now}, err
	}
	st, err := subject{scope: scope, id: p.id}.state(ctx, db.at(scope), q, later(now, column.From(p.lastAt)))
	if err == nil && !q.Pace.IsZero() {
		n := q.Pace.Counter()
		err = db.at(scope).of(p.id).each(ctx, selectPace, subject{id: p.id}.paceArgs(q.Pace, st.Now), func(rs *rows) error { return scanPace(rs, n) })
		st.Pace = n.Pace
	}
	if err == nil {
		var s subject
		if s, err = db.find(ctx, db.at(scope), op, scope); err == nil {
			st.Blocked, err = s.blocked(ctx, db.at(scope), q)
		}
	}
	if err != nil {
		return gate.State{}, failure(op, err)
	}
	return st, nil
}

func (s subject) state(ctx context.Context, c conn, q gate.Query, now time.Time) (st gate.State, err error) {
	if where, args := s.believed(q); where != "" {
		if st.Open, err = s.records(ctx, c, where, args...); err != nil {
			return st, err
		}
		slices.SortFunc(st.Open, func(a, b tenet.Record) int {
			return cmp.Or(cmp.Compare(column.Start(a.Valid.From), column.Start(b.Valid.From)), cmp.Compare(a.ID, b.ID))
		})
	}
	st.Now = now
	err = c.each(ctx, selectUsage, []any{s.id, column.Start(now)}, func(rs *rows) error { return scanUsage(rs, &st.Usage) })
	return st, err
}

// later is the later of a caller's time and the scope's own: a case may have
// waited while others were decided.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// believed is the rest of a SELECT on records for what q names, or "" when
// that is nothing.
func (s subject) believed(q gate.Query) (string, []any) {
	const open = ` AND sys_to = 9223372036854775807 AND valid_to > $%d`
	since := column.Start(q.Since)
	switch {
	case q.Tier == 0:
	case q.Key != "" && q.Signature != "":
		return `WHERE scope = $1 AND tier = $2 AND key = $3 AND key <> '' AND signature = $4` + fmt.Sprintf(open, 5),
			[]any{s.id, int64(q.Tier), q.Key, q.Signature, since}
	case q.Key != "":
		return `WHERE scope = $1 AND tier = $2 AND key = $3 AND key <> ''` + fmt.Sprintf(open, 4),
			[]any{s.id, int64(q.Tier), q.Key, since}
	case q.Signature != "" && q.Tier == tenet.TierNote:
		return `WHERE scope = $1 AND tier = 2 AND hashtextextended(signature, 0) = hashtextextended($2, 0) AND signature = $2` + fmt.Sprintf(open, 3),
			[]any{s.id, q.Signature, since}
	case q.Signature != "": // no gate asks for this
		return `WHERE scope = $1 AND tier = $2 AND signature = $3` + fmt.Sprintf(open, 4),
			[]any{s.id, int64(q.Tier), q.Signature, since}
	}
	return "", nil
}

// selectUsage sums up the facts whose valid time has not ended.
const selectUsage = `SELECT count(*), coalesce(sum(size), 0)::bigint, count(*) FILTER (WHERE safety), coalesce(sum(size) FILTER (WHERE safety), 0)::bigint
	FROM tenet.records WHERE scope = $1 AND tier = 1 AND sys_to = 9223372036854775807 AND valid_to > $2`

func scanUsage(rs *rows, u *gate.Usage) error {
	return rs.Scan(&u.Rows, &u.Bytes, &u.SafetyRows, &u.SafetyBytes)
}

// Staged implements store.Ledger.
func (db *DB) Staged(ctx context.Context, scope tenet.Scope, session tenet.SessionID) (int64, []tenet.Candidate, error) {
	const op = "staged"
	var cursor int64
	var cs []tenet.Candidate
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		cursor, cs = 0, nil
		s, err := db.find(ctx, c, op, scope)
		if err != nil {
			return err
		}
		sid, err := s.session(ctx, c, session)
		if err != nil || sid == 0 {
			return err
		}
		if cursor, err = s.cursor(ctx, c, sid); err != nil {
			return err
		}
		return c.each(ctx, `SELECT candidate, sealed FROM tenet.staged WHERE scope = $1 AND sid = $2 ORDER BY n`, []any{s.id, sid}, func(rs *rows) error {
			var id string
			var sealed []byte
			if err := rs.Scan(&id, &sealed); err != nil {
				return err
			}
			cand, _, err := s.unsealStaged(sealed, sid, id)
			cs = append(cs, cand)
			return err
		})
	})
	if err != nil {
		return 0, nil, failure(op, err)
	}
	return cursor, cs, nil
}

// cursor is where the session's last stage ended.
func (s subject) cursor(ctx context.Context, c conn, sid int64) (n int64, err error) {
	err = c.row(ctx, `SELECT to_pos FROM tenet.stages WHERE scope = $1 AND sid = $2 ORDER BY seq DESC LIMIT 1`, []any{s.id, sid}, &n)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return n, err
}

// Due implements store.Ledger.
func (db *DB) Due(ctx context.Context, now time.Time, limit int) ([]tenet.Record, error) {
	const op = "due"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	out, err := db.gather(ctx, `SELECT tenant, scope, id FROM tenet.records
		WHERE expires_at <= $1 AND expires_at < 9223372036854775807 AND NOT expired`+warmOnly+` ORDER BY expires_at, id LIMIT $2`, column.End(now), limit)
	return out, failure(op, err)
}

// gather reads the records that a query of the worker's for tenant, scope and
// id names, in its order. Those that went meanwhile are left out.
func (db *DB) gather(ctx context.Context, query string, args ...any) ([]tenet.Record, error) {
	type owner struct {
		tenant string
		scope  int64
	}
	type row struct {
		owner
		id string
	}
	var found []row
	ids := map[owner]sealing.Texts{}
	if err := db.worker().each(ctx, query, args, func(rs *rows) error {
		var r row
		err := rs.Scan(&r.tenant, &r.scope, &r.id)
		found = append(found, r)
		ids[r.owner] = append(ids[r.owner], r.id)
		return err
	}); err != nil {
		return nil, err
	}
	have := map[row]tenet.Record{}
	for o, ids := range ids {
		scope, err := db.ownerOf(ctx, o.tenant, o.scope)
		if err != nil {
			return nil, err
		}
		if scope.IsZero() {
			continue // erased
		}
		rs, err := subject{scope: scope, id: o.scope}.records(ctx, db.in(o.tenant), `WHERE scope = $1 AND id = ANY($2)`, o.scope, ids)
		if err != nil {
			return nil, err
		}
		for _, r := range rs {
			have[row{o, string(r.ID)}] = r
		}
	}
	var out []tenet.Record
	for _, r := range found {
		if rec, ok := have[r]; ok {
			out = append(out, rec)
		}
	}
	return out, nil
}

// ownerOf is the scope behind a surrogate, zero when it was erased.
func (db *DB) ownerOf(ctx context.Context, tenant string, id int64) (tenet.Scope, error) {
	var name string
	var kind int64
	err := db.in(tenant).row(ctx, `SELECT s.kind, `+sealing.NameOf("s")+` FROM tenet.subjects s WHERE s.scope = $1`, []any{id}, &kind, &name)
	if errors.Is(err, pgx.ErrNoRows) {
		return tenet.Scope{}, nil
	}
	if err != nil {
		return tenet.Scope{}, err
	}
	return scopeOf(tenant, kind, name)
}

// byFact is the order of Facts.
func byFact(a, b *tenet.Record) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), a.Valid.From.Compare(b.Valid.From), cmp.Compare(a.ID, b.ID))
}
