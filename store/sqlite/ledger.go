package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

const recordColumns = `id, tier, key, value, text, label, origins, agreed, seen, session, message, tool_call, speaker, position,
	valid_from, valid_to, sys_from, sys_to, supersedes, superseded_by, fragment_of, elevates, closed, multi, safety,
	expires_at, expired, signature`

// scan reads recordColumns, then more columns into also. own is the scope's
// key, made once for many rows.
func (s subject) scan(rs *rows, own string, also ...any) (tenet.Record, error) {
	r := tenet.Record{Scope: s.scope}
	var value, origins, agreed sql.RawBytes
	var validFrom, validTo, knownFrom, knownTo, expires int64
	dest := append([]any{
		&r.ID, &r.Tier, &r.Key, &value, &r.Text, &r.Label, &origins, &agreed, &r.Seen, &r.Session, &r.Message, &r.ToolCall, &r.Speaker, &r.Position,
		&validFrom, &validTo, &knownFrom, &knownTo, &r.Supersedes, &r.SupersededBy, &r.FragmentOf, &r.Elevates, &r.Closed, &r.Multi, &r.Safety,
		&expires, &r.Expired, &r.Signature,
	}, also...)
	if err := rs.Scan(dest...); err != nil {
		return r, err
	}
	if len(value) > 0 {
		r.Value = slices.Clone([]byte(value))
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
	err := c.of(s.id).each(ctx, `SELECT `+recordColumns+` FROM records `+rest, args, func(rs *rows) error {
		r, err := s.scan(rs, own)
		out = append(out, r)
		return err
	})
	return out, err
}

// Head implements store.Reader.
func (db *DB) Head(ctx context.Context, scope tenet.Scope) (store.Head, error) {
	if scope.IsZero() {
		return store.Head{}, invalid("head", "no scope")
	}
	// Every recall asks this: by the surrogate, once it is known, and as few
	// columns as can be, into types that need no conversion.
	var id, text, stats, audit, dense, sleep int64
	const columns = `SELECT h.scope, h.text, h.stats, h.audit, h.dense, h.sleep FROM subjects s JOIN heads h ON h.scope = s.scope WHERE `
	dest := []any{&id, &text, &stats, &audit, &dense, &sleep}
	err := sql.ErrNoRows
	if known, ok := db.surrogates.Load(scope); ok {
		err = db.r.row(ctx, columns+`s.scope = ?`, []any{known}, dest...)
	}
	if errors.Is(err, sql.ErrNoRows) { // not known yet, or erased and perhaps made anew
		err = db.r.row(ctx, columns+`s.tenant = ? AND s.kind = ? AND s.external_id = ?`, db.names(scope), dest...)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			db.surrogates.Delete(scope)
			return store.Head{}, nil
		case err == nil:
			db.surrogates.Store(scope, id)
		}
	}
	if err != nil {
		return store.Head{}, failure("head", err)
	}
	return store.Head{Text: uint64(text), Stats: uint64(stats), Audit: uint64(audit), Dense: uint64(dense), Sleep: uint64(sleep)}, nil
}

type position struct {
	store.Head
	id     int64
	facts  uint64
	reset  uint64
	lastAt int64
}

// head is the scope's surrogate and position in one look-up.
func (db *DB) head(ctx context.Context, c conn, op string, scope tenet.Scope) (position, error) {
	var p position
	if scope.IsZero() {
		return p, invalid(op, "no scope")
	}
	err := c.row(ctx, `SELECT h.scope, h.text, h.stats, h.audit, h.dense, h.sleep, h.facts, h.reset, h.last_at
		FROM subjects s JOIN heads h ON h.scope = s.scope WHERE s.tenant = ? AND s.kind = ? AND s.external_id = ?`,
		db.names(scope),
		&p.id, &p.Text, &p.Stats, &p.Audit, &p.Dense, &p.Sleep, &p.facts, &p.reset, &p.lastAt)
	if errors.Is(err, sql.ErrNoRows) {
		return position{}, nil
	}
	if err != nil {
		return p, failure(op, err)
	}
	return p, nil
}

// Record implements store.Reader.
func (db *DB) Record(ctx context.Context, scope tenet.Scope, id tenet.RecordID) (tenet.Record, error) {
	const op = "record"
	p, err := db.head(ctx, db.r, op, scope)
	if err != nil {
		return tenet.Record{}, err
	}
	rs, err := subject{scope: scope, id: p.id}.records(ctx, db.r, `WHERE scope = ? AND id = ?`, p.id, string(id))
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
	p, err := db.head(ctx, db.r, op, scope)
	if err != nil {
		return nil, err
	}
	where := `WHERE scope = ? AND tier = ? AND key = ? AND key <> ''`
	if key == "" { // records without a key are in no index for it
		where = `WHERE scope = ? AND tier = ? AND key = ?`
	}
	rs, err := subject{scope: scope, id: p.id}.records(ctx, db.r, where, p.id, int64(tier), key)
	if err != nil {
		return nil, failure(op, err)
	}
	slices.SortFunc(rs, func(a, b tenet.Record) int {
		return cmp.Or(a.Known.From.Compare(b.Known.From), cmp.Compare(a.ID, b.ID))
	})
	return rs, nil
}

// State implements store.Reader.
func (db *DB) State(ctx context.Context, scope tenet.Scope, q gate.Query, now time.Time) (gate.State, error) {
	const op = "state"
	p, err := db.head(ctx, db.r, op, scope)
	if err == nil && p.id == 0 { // nobody, or nobody any more
		s := subject{scope: scope, master: db.master()}
		st := gate.State{Now: now}
		if s.gone, _, err = db.goneAt(db.r, scope); err == nil {
			st.Blocked, err = s.blocked(ctx, db.r, q)
		}
		return st, failure(op, err)
	}
	if err != nil {
		return gate.State{Now: now}, err
	}
	st, err := subject{scope: scope, id: p.id}.state(ctx, db.r, q, later(now, column.From(p.lastAt)))
	if err == nil {
		st.Pace, err = subject{scope: scope, id: p.id}.pace(ctx, db.r, q.Pace, st.Now)
	}
	if err == nil {
		var s subject
		if s, err = db.find(ctx, db.r, op, scope); err == nil {
			st.Blocked, err = s.blocked(ctx, db.r, q)
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
	st.Usage, err = s.usage(ctx, c, now)
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
	const open = ` AND sys_to = 9223372036854775807 AND valid_to > ?`
	since := column.Start(q.Since)
	switch {
	case q.Tier == 0:
	case q.Key != "" && q.Signature != "":
		return `INDEXED BY records_believed WHERE scope = ? AND tier = ? AND key = ? AND key <> '' AND signature = ?` + open,
			[]any{s.id, int64(q.Tier), q.Key, q.Signature, since}
	case q.Key != "":
		return `INDEXED BY records_believed WHERE scope = ? AND tier = ? AND key = ? AND key <> ''` + open,
			[]any{s.id, int64(q.Tier), q.Key, since}
	case q.Signature != "" && q.Tier == tenet.TierNote:
		return `INDEXED BY records_signature WHERE scope = ? AND tier = 2 AND signature = ?` + open,
			[]any{s.id, q.Signature, since}
	case q.Signature != "": // no gate asks for this
		return `WHERE scope = ? AND tier = ? AND signature = ?` + open,
			[]any{s.id, int64(q.Tier), q.Signature, since}
	}
	return "", nil
}

// usage sums up the facts whose valid time has not ended.
func (s subject) usage(ctx context.Context, c conn, now time.Time) (u gate.Usage, err error) {
	err = c.row(ctx, `SELECT count(*), ifnull(sum(size), 0), ifnull(sum(safety), 0), ifnull(sum(size * safety), 0) FROM records INDEXED BY records_usage
		WHERE scope = ? AND tier = 1 AND sys_to = 9223372036854775807 AND valid_to > ?`, []any{s.id, column.Start(now)},
		&u.Rows, &u.Bytes, &u.SafetyRows, &u.SafetyBytes)
	return u, err
}

// Staged implements store.Ledger.
func (db *DB) Staged(ctx context.Context, scope tenet.Scope, session tenet.SessionID) (int64, []tenet.Candidate, error) {
	const op = "staged"
	var cursor int64
	var cs []tenet.Candidate
	err := db.r.snapshot(ctx, func(c conn) error {
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
		return c.each(ctx, `SELECT candidate, sealed FROM staged WHERE scope = ? AND sid = ? ORDER BY n`, []any{s.id, sid}, func(rs *rows) error {
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
	err = c.row(ctx, `SELECT to_pos FROM stages WHERE scope = ? AND sid = ? ORDER BY seq DESC LIMIT 1`, []any{s.id, sid}, &n)
	if errors.Is(err, sql.ErrNoRows) {
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
	var out []tenet.Record
	err := db.r.snapshot(ctx, func(c conn) error {
		type owned struct {
			scope int64
			id    string
		}
		out = nil
		var due []owned
		if err := c.each(ctx, `SELECT scope, id FROM records INDEXED BY records_due
			WHERE expires_at <= ? AND expires_at < 9223372036854775807 AND expired = 0`+warmOnly+` ORDER BY expires_at, id LIMIT ?`,
			[]any{column.End(now), limit}, func(rs *rows) error {
				var o owned
				err := rs.Scan(&o.scope, &o.id)
				due = append(due, o)
				return err
			}); err != nil {
			return err
		}
		for _, o := range due {
			scope, err := ownerOf(ctx, c, o.scope)
			if err != nil {
				return err
			}
			if scope.IsZero() {
				continue // erased
			}
			rs, err := subject{scope: scope, id: o.scope}.records(ctx, c, `WHERE scope = ? AND id = ?`, o.scope, o.id)
			if err != nil {
				return err
			}
			out = append(out, rs...)
		}
		return nil
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// byFact is the order of Facts.
func byFact(a, b tenet.Record) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), a.Valid.From.Compare(b.Valid.From), cmp.Compare(a.ID, b.ID))
}
