package postgres

import (
	"context"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/sealing"
)

// Waiting implements store.Queue. It walks the sessions: it is what somebody
// asks who looks after the pipeline, not a step of it.
func (db *DB) Waiting(ctx context.Context, tenant string, skip, limit int) ([]tenet.Session, error) {
	const op = "waiting"
	if skip < 0 || limit < 0 {
		return nil, invalid(op, "a negative page")
	}
	var out []tenet.Session
	err := db.in(tenant).snapshot(ctx, func(c conn) error {
		out = nil
		type name struct {
			tenant, subject string
			kind            int64
			id              tenet.SessionID
		}
		var names []name
		if err := c.each(ctx, `SELECT b.tenant, b.kind, `+sealing.NameOf("b")+`, n.external_id FROM tenet.sessions s
			JOIN tenet.session_names n ON n.scope = s.scope AND n.sid = s.sid JOIN tenet.subjects b ON b.scope = n.scope
			WHERE b.tenant = $1 AND (s.consolidated < s.length OR EXISTS (SELECT 1 FROM tenet.proposals p WHERE p.scope = s.scope AND p.sid = s.sid))
			ORDER BY (s.attempts = 0), s.due_at, b.kind, b.external_id, n.external_id LIMIT $2 OFFSET $3`, []any{sealing.Plain(tenant), limit, skip}, func(rs *rows) error {
			var n name
			err := rs.Scan(&n.tenant, &n.kind, &n.subject, &n.id)
			names = append(names, n)
			return err
		}); err != nil {
			return err
		}
		for _, n := range names {
			scope, err := scopeOf(n.tenant, n.kind, n.subject)
			if err != nil {
				return err
			}
			s, err := db.session(ctx, c, op, scope, n.id)
			if err != nil {
				return err
			}
			out = append(out, s.Session)
		}
		return nil
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Verdicts implements store.Trail.
func (db *DB) Verdicts(ctx context.Context, scope tenet.Scope, prefix string, after tenet.CandidateID, limit int) ([]tenet.Verdict, error) {
	const op = "verdicts"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	p, err := db.head(ctx, op, scope)
	if err != nil {
		return nil, err
	}
	var refs []string
	if err := db.at(scope).each(ctx, `SELECT t.ref FROM tenet.trail t JOIN tenet.chain c ON c.scope = t.scope AND c.seq = t.seq
		WHERE t.scope = $1 AND t.ref >= $2 AND t.ref < $3 AND t.ref > $4 AND t.content IS NOT NULL AND c.outcome > 0 ORDER BY t.ref LIMIT $5`, []any{p.id, db.seal.Compared(prefix), db.seal.Compared(prefix) + "\U0010FFFF", db.seal.Compared(string(after)), db.seal.Most(limit)}, func(rs *rows) error {
		var ref string
		err := rs.Scan(&ref)
		refs = append(refs, ref)
		return err
	}); err != nil {
		return nil, failure(op, err)
	}
	if db.seal != nil {
		refs = sealing.Page(refs, strings.Clone, prefix, string(after), limit)
	}
	out := make([]tenet.Verdict, 0, len(refs))
	for _, ref := range refs {
		v, err := db.Verdict(ctx, scope, tenet.CandidateID(ref))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
