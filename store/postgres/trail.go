package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// entries reads links of the chain with their words, in order. content is
// valid during the call of f only.
func (s subject) entries(ctx context.Context, c conn, where string, args []any, limit int,
	f func(e tenet.AuditEntry, v tenet.Verdict, content []byte) error) error {
	args = append([]any{s.id, int64(limit)}, args...) // where counts from $3
	return c.of(s.id).each(ctx, `SELECT c.seq, c.action, c.outcome, c.codes, c.ruleset, c.at, c.digest, c.prev, c.hash,
			coalesce(t.ref, ''), coalesce(t.actor, ''), coalesce(t.why, ''), t.content, coalesce(t.record, ''), coalesce(t.replaced, ''),
			coalesce(t.tier, 0), coalesce(t.key, ''), coalesce(t.label, 0), coalesce(t.effect, ''), coalesce(t.findings, ''), coalesce(t.at, 0)
		FROM tenet.chain c LEFT JOIN tenet.trail t ON t.scope = c.scope AND t.seq = c.seq
		WHERE c.scope = $1 AND `+where+` ORDER BY c.seq LIMIT $2`, args, func(rs *rows) error {
		e, v, content, err := scanEntry(rs)
		if err != nil {
			return err
		}
		return f(e, v, content)
	})
}

func scanEntry(rs scanner) (e tenet.AuditEntry, v tenet.Verdict, content []byte, err error) {
	var at, vat int64
	var codes, findings string
	if err = rs.Scan(&e.Seq, &e.Action, &e.Outcome, &codes, &e.RuleSet, &at, &e.Digest, &e.Prev, &e.Hash,
		&e.Ref, &e.Actor, &e.Why, &content, &v.Record, &v.Replaced, &v.Tier, &v.Key, &v.Label, &v.Effect, &findings, &vat); err != nil {
		return e, v, nil, err
	}
	e.At = column.From(at)
	if codes != "" && json.Unmarshal([]byte(codes), &e.Codes) != nil {
		return e, v, nil, tenet.Errorf(tenet.Internal, "read", "the codes of an audit entry are damaged")
	}
	if findings != "" && json.Unmarshal([]byte(findings), &v.Findings) != nil {
		return e, v, nil, tenet.Errorf(tenet.Internal, "read", "the findings of a verdict are damaged")
	}
	v.At = column.From(vat)
	if e.Outcome != 0 { // only candidates have verdicts; of other entries the columns are empty
		v.Candidate, v.Outcome, v.Codes, v.RuleSet = tenet.CandidateID(e.Ref), e.Outcome, e.Codes, e.RuleSet
	}
	return e, v, content, nil
}

// Audit implements store.Trail.
func (db *DB) Audit(ctx context.Context, scope tenet.Scope, from uint64, limit int) ([]tenet.AuditEntry, error) {
	const op = "audit"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	p, err := db.head(ctx, op, scope)
	if err != nil || from > p.Audit {
		return nil, err
	}
	var out []tenet.AuditEntry
	err = subject{id: p.id}.entries(ctx, db.at(scope), `c.seq >= $3`, []any{int64(from)}, limit, func(e tenet.AuditEntry, _ tenet.Verdict, _ []byte) error {
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Verdict implements store.Trail.
func (db *DB) Verdict(ctx context.Context, scope tenet.Scope, id tenet.CandidateID) (tenet.Verdict, error) {
	const op = "verdict"
	p, err := db.head(ctx, op, scope)
	if err != nil {
		return tenet.Verdict{}, err
	}
	var out tenet.Verdict
	err = subject{id: p.id}.entries(ctx, db.at(scope), `c.seq = (SELECT seq FROM tenet.trail WHERE scope = $1 AND ref = $3 AND content IS NOT NULL)`,
		[]any{string(id)}, 1, func(_ tenet.AuditEntry, v tenet.Verdict, _ []byte) error {
			out = v
			return nil
		})
	if err != nil {
		return tenet.Verdict{}, failure(op, err)
	}
	if out.Outcome == 0 {
		return tenet.Verdict{}, absent(op, "candidate")
	}
	return out, nil
}

// Evidence implements store.Trail.
func (db *DB) Evidence(ctx context.Context, scope tenet.Scope, id tenet.RecordID) ([]tenet.Evidence, error) {
	const op = "evidence"
	p, err := db.head(ctx, op, scope)
	if err != nil {
		return nil, err
	}
	var one int
	err = db.at(scope).of(p.id).row(ctx, `SELECT 1 FROM tenet.records WHERE scope = $1 AND id = $2`, []any{p.id, string(id)}, &one)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, absent(op, "record")
	}
	var out []tenet.Evidence
	if err == nil {
		err = subject{id: p.id}.kept(ctx, db.at(scope), id, func(e tenet.Evidence) { out = append(out, e) })
	}
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// kept reads the evidence kept with a record.
func (s subject) kept(ctx context.Context, c conn, id tenet.RecordID, f func(tenet.Evidence)) error {
	return c.of(s.id).each(ctx, `SELECT message, session, role, label, excerpt, said_at FROM tenet.evidence WHERE scope = $1 AND record = $2 ORDER BY seq, n`,
		[]any{s.id, string(id)}, func(rs *rows) error {
			var e tenet.Evidence
			var said int64
			if err := rs.Scan(&e.Message, &e.Session, &e.Role, &e.Label, &e.Excerpt, &said); err != nil {
				return err
			}
			e.SaidAt = column.From(said)
			f(e)
			return nil
		})
}

// Held implements store.Trail. A hold that ran out is listed without its text.
func (db *DB) Held(ctx context.Context, scope tenet.Scope, now time.Time, after tenet.CandidateID, limit int) ([]tenet.Held, error) {
	const op = "held"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	var out []tenet.Held
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		s, err := db.find(ctx, c, op, scope)
		if err != nil {
			return err
		}
		before := int64(column.NoEnd)
		if after != "" {
			err := c.of(s.id).row(ctx, `SELECT seq FROM tenet.trail WHERE scope = $1 AND ref = $2 AND content IS NOT NULL`, []any{s.id, string(after)}, &before)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return c.each(ctx, `SELECT c.seq, c.action, c.outcome, c.codes, c.ruleset, c.at, c.digest, c.prev, c.hash,
				t.ref, t.actor, t.why, t.content, t.record, t.replaced, t.tier, t.key, t.label, t.effect, t.findings, t.at,
				h.state, h.expires_at, h.sealed
			FROM tenet.held h JOIN tenet.chain c ON c.scope = h.scope AND c.seq = h.seq JOIN tenet.trail t ON t.scope = h.scope AND t.seq = h.seq
			WHERE h.scope = $1 AND h.seq < $2 ORDER BY h.seq DESC LIMIT $3`, []any{s.id, before, limit}, func(rs *rows) error {
			var h tenet.Held
			var expires int64
			var sealed []byte
			e, v, _, err := scanEntry(tail{rs, []any{&h.State, &expires, &sealed}})
			if err != nil {
				return err
			}
			h.Verdict, h.By, h.ExpiresAt = v, e.Actor, column.From(expires)
			if expires > column.Start(now) && sealed != nil {
				h.Candidate, err = s.unseal(sealed, s.aboutHeld(int64(e.Seq), e.Ref, expires))
			}
			out = append(out, h)
			return err
		})
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// scanner is a row; tail is one with more columns than its reader knows.
type scanner interface{ Scan(...any) error }

type tail struct {
	scanner
	more []any
}

func (t tail) Scan(dest ...any) error { return t.scanner.Scan(append(dest, t.more...)...) }

// Scopes implements store.Trail. A scope is listed from its first decision on.
func (db *DB) Scopes(ctx context.Context, tenant string, after tenet.Scope, limit int) ([]tenet.Scope, error) {
	const op = "scopes"
	switch {
	case tenant == "":
		return nil, invalid(op, "no tenant")
	case limit < 0:
		return nil, invalid(op, "a negative limit")
	case !after.IsZero() && after.Tenant() != tenant:
		return nil, invalid(op, "the scope to go on from is another tenant's")
	}
	var out []tenet.Scope
	err := db.in(tenant).each(ctx, `SELECT s.kind, `+sealing.NameOf("s")+` FROM tenet.subjects s JOIN tenet.heads h ON h.scope = s.scope
		WHERE s.tenant = $1 AND (s.kind, s.external_id) > ($2, $3) AND h.audit > 0 ORDER BY s.kind, s.external_id LIMIT $4`,
		[]any{sealing.Plain(tenant), int64(after.Subject().Kind()), db.seal.Compared(after.Subject().ID()), db.seal.Most(limit)}, func(rs *rows) error {
			var kind int64
			var id string
			if err := rs.Scan(&kind, &id); err != nil {
				return err
			}
			scope, err := scopeOf(tenant, kind, id)
			out = append(out, scope)
			return err
		})
	if err != nil {
		return nil, failure(op, err)
	}
	if db.seal != nil {
		out = sealing.Page(out, sealing.InOrder, "", sealing.InOrder(after), limit)
	}
	return out, nil
}
