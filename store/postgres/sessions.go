package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

const sessionColumns = `x.sid, x.reads, x.ttl, x.retain_none, x.created_at, x.ended_at, x.last_at, x.length, x.consolidated, x.due_at,
	x.attempts, x.last_code, x.worker, x.fence, x.lease_until`

// session is a session's row.
type session struct {
	subject
	tenet.Session
	sid    int64
	worker string
	fence  uint64
	until  int64
}

func (s *session) leased(now time.Time) bool { return s.worker != "" && s.until > column.Start(now) }

// session reads a row of the session tier, and holds it in a transaction that
// writes; NotFound when there is none.
func (db *DB) session(ctx context.Context, c conn, op string, scope tenet.Scope, id tenet.SessionID) (*session, error) {
	if scope.IsZero() {
		return nil, invalid(op, "no scope")
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return nil, err
	}
	out := &session{subject: subject{scope: scope}, Session: tenet.Session{ID: id, Scope: scope}}
	var reads, wrapped []byte
	var ttl, created, ended, last, due int64
	c, err := db.bound(ctx, c, op, scope)
	if err != nil {
		return nil, err
	}
	err = c.row(ctx, `SELECT s.scope, s.data_key, `+sessionColumns+`
		FROM tenet.subjects s JOIN tenet.session_names n ON n.scope = s.scope AND n.external_id = $4
		JOIN tenet.sessions x ON x.scope = n.scope AND x.sid = n.sid
		WHERE s.tenant = $1 AND s.kind = $2 AND s.external_id = $3`+c.locking("x")+c.staying("s"),
		append(db.names(scope), string(id)), &out.subject.id, &wrapped,
		&out.sid, &reads, &ttl, &out.RetainNone, &created, &ended, &last, &out.Length, &out.Consolidated, &due,
		&out.Attempts, &out.LastCode, &out.worker, &out.fence, &out.until)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, absent(op, "session")
	}
	if err != nil {
		return nil, err
	}
	if out.key, err = db.unwrap(out.subject.id, wrapped); err != nil {
		return nil, err
	}
	out.TTL = time.Duration(ttl)
	out.CreatedAt, out.EndedAt, out.LastAt, out.DueAt = column.From(created), column.From(ended), column.From(last), column.From(due)
	out.Reads, err = out.unsealReads(reads, out.sid)
	return out, err
}

// The scopes a session reads are external ids, so they are sealed.
func (s subject) sealReads(rs []tenet.Scope, sid int64) []byte {
	var e column.Encoder
	e.Num(int64(len(rs)))
	for _, r := range rs {
		e.Str(r.Tenant())
		e.Num(int64(r.Subject().Kind()))
		e.Str(r.Subject().ID())
	}
	return s.key.Seal(e.B, s.about("reads", sid, ""))
}

func (s subject) unsealReads(b []byte, sid int64) ([]tenet.Scope, error) {
	plain, err := s.key.Unseal(b, s.about("reads", sid, ""))
	if err != nil {
		return nil, err
	}
	d := column.Decoder{B: plain}
	out := make([]tenet.Scope, d.Count())
	for i := range out {
		tenant, kind, id := d.Str(), d.Num(), d.Str()
		if out[i], err = scopeOf(tenant, kind, id); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		out = nil
	}
	return out, d.Err()
}

// Ensure implements store.Sessions.
func (db *DB) Ensure(ctx context.Context, scope tenet.Scope, n tenet.Session) (tenet.Session, error) {
	const op = "ensure"
	switch {
	case scope.IsZero():
		return tenet.Session{}, invalid(op, "no scope")
	case n.Scope != scope:
		return tenet.Session{}, invalid(op, "the session writes another scope")
	case n.TTL < 0:
		return tenet.Session{}, invalid(op, "a negative TTL")
	case slices.ContainsFunc(n.Reads, tenet.Scope.IsZero):
		return tenet.Session{}, invalid(op, "a zero scope to read")
	}
	s, err := db.session(ctx, db.at(scope), op, scope, n.ID)
	if err == nil {
		return s.Session, nil
	}
	if tenet.KindOf(err) != tenet.NotFound {
		return tenet.Session{}, failure(op, err)
	}
	if n.LastAt.IsZero() {
		n.LastAt = n.CreatedAt
	}
	err = db.write(ctx, op, scope.Tenant(), func(c conn) error {
		sub, err := db.enter(c, op, scope)
		if err != nil {
			return err
		}
		if err := sub.mayBegin(c, n.ID); err != nil {
			return err
		}
		if err := db.visitors(c, sub, n.Reads); err != nil {
			return err
		}
		sid, err := sub.nameSession(c, n.ID)
		if err != nil {
			return err
		}
		if err := c.exec(`INSERT INTO tenet.sessions (sid, scope, reads, ttl, retain_none, created_at, ended_at, last_at, length, consolidated,
				due_at, attempts, last_code, worker, fence, lease_until, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9, 0, '', '', 0, $10, $11) ON CONFLICT (scope, sid) DO NOTHING`,
			sid, sub.id, sub.sealReads(n.Reads, sid), int64(n.TTL), n.RetainNone, column.Start(n.CreatedAt), column.Start(n.EndedAt), column.Start(n.LastAt),
			column.End(n.DueAt), int64(column.NoStart), expiry(n.LastAt, n.TTL)); err != nil {
			return err
		}
		s, err = db.session(bg, c, op, scope, n.ID)
		return err
	})
	if err != nil {
		return tenet.Session{}, err
	}
	return s.Session, nil
}

// expiry is when a log that last grew at a time may go.
func expiry(last time.Time, ttl time.Duration) int64 {
	if ttl == 0 || last.IsZero() {
		return column.NoEnd
	}
	return column.Start(last.Add(ttl))
}

const messageColumns = `seq, id, role, channel, speaker, text, said_at, client_id, tool_calls, tool_call_id, retain_none, label, recorded_by, recorded_at`

func (s subject) message(rs *rows, id tenet.SessionID, also ...any) (tenet.Message, error) {
	m := tenet.Message{Session: id}
	var said, recorded int64
	var calls []byte
	dest := append([]any{&m.Seq, &m.ID, &m.Role, &m.Channel, &m.Speaker, &m.Text, &said, &m.ClientID, &calls, &m.ToolCallID, &m.RetainNone,
		&m.Label, &m.RecordedBy, &recorded}, also...)
	if err := rs.Scan(dest...); err != nil {
		return m, err
	}
	m.SaidAt, m.RecordedAt = column.From(said), column.From(recorded)
	d := column.Decoder{B: calls}
	m.ToolCalls = column.DecodeStrings[string](&d)
	return m, d.Err()
}

// Append implements store.Sessions.
func (db *DB) Append(ctx context.Context, scope tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error) {
	const op = "append"
	for _, m := range ms {
		if m.ID == "" {
			return nil, invalid(op, "a message has no id")
		}
	}
	var out []tenet.Message
	err := db.mutate(ctx, op, scope, func() any { return out }, func(c conn) error {
		s, err := db.session(bg, c, op, scope, id)
		if err != nil {
			return err
		}
		if !s.EndedAt.IsZero() {
			return conflict(op, "the session has ended")
		}
		out = make([]tenet.Message, 0, len(ms))
		length, last := s.Length, s.LastAt
		for _, m := range ms {
			kept, err := s.kept(c, m)
			if err != nil {
				return err
			}
			if kept == nil {
				length++
				m.Session, m.Seq = id, length
				m.SaidAt, m.RecordedAt = tenet.Micros(m.SaidAt), tenet.Micros(m.RecordedAt)
				m.ToolCalls = slices.Clone(m.ToolCalls)
				if m.RecordedAt.After(last) {
					last = m.RecordedAt
				}
				if err := s.insert(c, m); err != nil {
					return err
				}
				if err := db.visitor(c, s.subject, m.RecordedBy); err != nil {
					return err
				}
				kept = &m
			}
			out = append(out, *kept)
		}
		if length == s.Length && due.IsZero() {
			return nil
		}
		at := column.End(s.DueAt)
		if !due.IsZero() {
			at = column.Start(due)
		}
		return c.exec(`UPDATE tenet.sessions SET length = $1, last_at = $2, due_at = $3, expires_at = $4 WHERE sid = $5 AND scope = $6`,
			length, column.Start(last), at, expiry(last, s.TTL), s.sid, s.subject.id)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// kept returns the message that was kept under m's client id, if any.
func (s *session) kept(c conn, m tenet.Message) (*tenet.Message, error) {
	if m.ClientID == "" {
		return nil, nil
	}
	var k *tenet.Message
	err := c.of(s.subject.id).each(bg, `SELECT `+messageColumns+` FROM tenet.messages WHERE scope = $1 AND sid = $2 AND client_id = $3 AND client_id <> ''`, []any{s.subject.id, s.sid, m.ClientID}, func(rs *rows) error {
		found, err := s.message(rs, s.ID)
		k = &found
		return err
	})
	if err != nil || k == nil {
		return nil, err
	}
	if k.Role != m.Role || k.Text != m.Text || k.ToolCallID != m.ToolCallID || !slices.Equal(k.ToolCalls, m.ToolCalls) {
		return nil, conflict("append", "the client id was used for another message")
	}
	return k, nil
}

func (s *session) insert(c conn, m tenet.Message) error {
	var calls column.Encoder
	column.EncodeStrings(&calls, m.ToolCalls)
	return c.of(s.subject.id).claim(conflict("append", "the message id is taken"), `INSERT INTO tenet.messages (scope, sid, `+messageColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		s.subject.id, s.sid, m.Seq, string(m.ID), int64(m.Role), string(m.Channel), m.Speaker, m.Text, column.Start(m.SaidAt), m.ClientID, sealing.Content(calls.B),
		m.ToolCallID, m.RetainNone, int64(m.Label), m.RecordedBy, column.Start(m.RecordedAt))
}

// Messages implements store.Sessions.
func (db *DB) Messages(ctx context.Context, scope tenet.Scope, id tenet.SessionID, after int64, limit int) ([]tenet.Message, error) {
	const op = "messages"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	var out []tenet.Message
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		s, err := db.session(ctx, c, op, scope, id)
		if err != nil {
			return err
		}
		if after < 0 {
			after = max(0, s.Length+after)
		}
		return c.each(ctx, `SELECT `+messageColumns+` FROM tenet.messages WHERE scope = $1 AND sid = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
			[]any{s.subject.id, s.sid, after, limit}, func(rs *rows) error {
				m, err := s.message(rs, id)
				out = append(out, m)
				return err
			})
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Cited implements store.Sessions.
func (db *DB) Cited(ctx context.Context, scope tenet.Scope, ids []tenet.MessageID) ([]tenet.Message, error) {
	const op = "cited"
	s, err := db.find(ctx, db.at(scope), op, scope)
	if err != nil || s.id == 0 {
		return nil, err
	}
	var out []tenet.Message
	for _, id := range ids {
		err := db.at(scope).of(s.id).each(ctx, `SELECT m.seq, m.id, m.role, m.channel, m.speaker, m.text, m.said_at, m.client_id, m.tool_calls, m.tool_call_id,
				m.retain_none, m.label, m.recorded_by, m.recorded_at, n.external_id
			FROM tenet.messages m JOIN tenet.session_names n ON n.scope = m.scope AND n.sid = m.sid WHERE m.scope = $1 AND m.id = $2`, []any{s.id, string(id)}, func(rs *rows) error {
			var session tenet.SessionID
			m, err := s.message(rs, "", &session)
			m.Session = session
			out = append(out, m)
			return err
		})
		if err != nil {
			return nil, failure(op, err)
		}
	}
	return out, nil
}

// Propose implements store.Sessions.
func (db *DB) Propose(ctx context.Context, scope tenet.Scope, id tenet.SessionID, p tenet.Candidate, due time.Time) error {
	const op = "propose"
	if p.ID == "" {
		return invalid(op, "the candidate has no id")
	}
	p.Scope = scope
	p.ProposedAt = tenet.Micros(p.ProposedAt)
	p.Valid = tenet.Interval{From: tenet.Micros(p.Valid.From), To: tenet.Micros(p.Valid.To)}
	return db.mutate(ctx, op, scope, func() any { return struct{}{} }, func(c conn) error {
		s, err := db.session(bg, c, op, scope, id)
		if err != nil {
			return err
		}
		if !s.EndedAt.IsZero() {
			return conflict(op, "the session has ended")
		}
		content := store.ContentDigest(s.key, p)
		var old []byte
		err = c.of(s.subject.id).row(bg, `SELECT content FROM tenet.proposals WHERE scope = $1 AND sid = $2 AND candidate = $3`, []any{s.subject.id, s.sid, string(p.ID)}, &old)
		switch {
		case err == nil && bytes.Equal(old, content):
			return nil
		case err == nil:
			return conflict(op, "the id was used with other content")
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		if err := db.visitor(c, s.subject, p.ProposedBy); err != nil {
			return err
		}
		if err := c.of(s.subject.id).exec(`INSERT INTO tenet.proposals (scope, sid, candidate, content, sealed) VALUES ($1, $2, $3, $4, $5)`,
			s.subject.id, s.sid, string(p.ID), content, s.seal(p, s.about("proposal", s.sid, string(p.ID)))); err != nil {
			return err
		}
		if due.IsZero() {
			return nil
		}
		return c.exec(`UPDATE tenet.sessions SET due_at = $1 WHERE sid = $2 AND scope = $3`, column.Start(due), s.sid, s.subject.id)
	})
}

// Serve implements store.Sessions.
func (db *DB) Serve(ctx context.Context, scope tenet.Scope, r tenet.Receipt) error {
	const op = "serve"
	body := sealing.Content(column.EncodeReceipt(r))
	return db.write(ctx, op, scope.Tenant(), func(c conn) error {
		s, err := db.session(bg, c, op, scope, r.Session)
		if err != nil {
			return err
		}
		if err := c.of(s.subject.id).exec(`INSERT INTO tenet.receipts (scope, sid, at, body) VALUES ($1, $2, $3, $4)`, s.subject.id, s.sid, column.Start(r.At), body); err != nil || s.EndedAt.IsZero() {
			return err
		}
		// The log may be gone already: what is served late goes with the next sweep.
		return c.exec(`UPDATE tenet.sessions SET expires_at = $1 WHERE sid = $2 AND scope = $3`, expiry(s.LastAt, s.TTL), s.sid, s.subject.id)
	})
}

// Receipts implements store.Sessions.
func (db *DB) Receipts(ctx context.Context, scope tenet.Scope, id tenet.SessionID) ([]tenet.Receipt, error) {
	const op = "receipts"
	s, err := db.session(ctx, db.at(scope), op, scope, id)
	if err != nil {
		return nil, failure(op, err)
	}
	var out []tenet.Receipt
	err = db.at(scope).each(ctx, `SELECT at, body FROM tenet.receipts WHERE scope = $1 AND sid = $2 ORDER BY n`, []any{s.subject.id, s.sid}, func(rs *rows) error {
		var at int64
		var body []byte
		if err := rs.Scan(&at, &body); err != nil {
			return err
		}
		r, err := column.DecodeReceipt(body)
		r.Session, r.At = id, column.From(at)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// End implements store.Sessions.
func (db *DB) End(ctx context.Context, scope tenet.Scope, id tenet.SessionID, at time.Time) error {
	const op = "end"
	return db.write(ctx, op, scope.Tenant(), func(c conn) error {
		s, err := db.session(bg, c, op, scope, id)
		if err != nil || !s.EndedAt.IsZero() {
			return err
		}
		return c.exec(`UPDATE tenet.sessions SET ended_at = $1, due_at = $1 WHERE sid = $2 AND scope = $3`, column.Start(at), s.sid, s.subject.id)
	})
}
