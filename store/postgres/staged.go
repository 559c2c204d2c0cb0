package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// sealStaged seals a staged candidate with the messages that it cites behind
// it, so that it can be judged when its session is gone.
func (s subject) sealStaged(c tenet.Candidate, cited []tenet.Message, sid int64) []byte {
	e := column.Encoder{B: column.EncodeCandidate(c)}
	var mine []tenet.Message
	for _, id := range c.Cites {
		for _, m := range cited {
			if m.ID == id {
				mine = append(mine, m)
				break
			}
		}
	}
	e.Num(int64(len(mine)))
	for _, m := range mine {
		column.EncodeMessage(&e, m)
	}
	return s.key.Seal(e.B, s.about("staged", sid, string(c.ID)))
}

func (s subject) unsealStaged(sealed []byte, sid int64, id string) (tenet.Candidate, []tenet.Message, error) {
	plain, err := s.key.Unseal(sealed, s.about("staged", sid, id))
	if err != nil {
		return tenet.Candidate{}, nil, err
	}
	d := column.Decoder{B: plain}
	c := d.Candidate(s.scope)
	var cited []tenet.Message
	if len(d.B) > 0 { // else it was staged before messages were kept
		for range d.Count() {
			cited = append(cited, column.DecodeMessage(&d))
		}
	}
	return c, cited, d.Err()
}

// StagedCited implements store.Ledger.
func (db *DB) StagedCited(ctx context.Context, scope tenet.Scope, session tenet.SessionID) ([]tenet.Message, error) {
	const op = "staged"
	var out []tenet.Message
	err := db.at(scope).snapshot(ctx, func(c conn) error {
		out = nil
		seen := map[tenet.MessageID]bool{}
		s, err := db.find(ctx, c, op, scope)
		if err != nil {
			return err
		}
		sid, err := s.session(ctx, c, session)
		if err != nil || sid == 0 {
			return err
		}
		return c.each(ctx, `SELECT candidate, sealed FROM tenet.staged WHERE scope = $1 AND sid = $2 ORDER BY n`, []any{s.id, sid}, func(rs *rows) error {
			var id string
			var sealed []byte
			if err := rs.Scan(&id, &sealed); err != nil {
				return err
			}
			_, cited, err := s.unsealStaged(sealed, sid, id)
			for _, m := range cited {
				if !seen[m.ID] {
					seen[m.ID] = true
					out = append(out, m)
				}
			}
			return err
		})
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}

// Unjudged implements store.Ledger.
func (db *DB) Unjudged(ctx context.Context, limit int) ([]store.SessionRef, error) {
	const op = "unjudged"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	type owned struct {
		tenant     string
		scope, sid int64
	}
	var found []owned
	if err := db.worker().each(ctx, `SELECT DISTINCT tenant, scope, sid FROM tenet.staged ORDER BY tenant, scope, sid LIMIT $1`, []any{limit}, func(rs *rows) error {
		var o owned
		err := rs.Scan(&o.tenant, &o.scope, &o.sid)
		found = append(found, o)
		return err
	}); err != nil {
		return nil, failure(op, err)
	}
	var out []store.SessionRef
	for _, o := range found {
		scope, id, err := db.sessionOf(ctx, db.in(o.tenant), o.tenant, o.scope, o.sid)
		if errors.Is(err, pgx.ErrNoRows) {
			continue // erased
		}
		if err != nil {
			return nil, failure(op, err)
		}
		out = append(out, store.SessionRef{Scope: scope, Session: id})
	}
	return out, nil
}

// sessionOf is the session behind surrogates.
func (db *DB) sessionOf(ctx context.Context, c conn, tenant string, scope, sid int64) (of tenet.Scope, id tenet.SessionID, err error) {
	var subject string
	var kind int64
	if err = c.row(ctx, `SELECT s.kind, `+sealing.NameOf("s")+`, n.external_id FROM tenet.session_names n JOIN tenet.subjects s ON s.scope = n.scope
		WHERE n.scope = $1 AND n.sid = $2`, []any{scope, sid}, &kind, &subject, &id); err != nil {
		return of, id, err
	}
	of, err = scopeOf(tenant, kind, subject)
	return of, id, err
}
