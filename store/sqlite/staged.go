package sqlite

import (
	"context"

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
	err := db.r.snapshot(ctx, func(c conn) error {
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
		return c.each(ctx, `SELECT candidate, sealed FROM staged WHERE scope = ? AND sid = ? ORDER BY n`, []any{s.id, sid}, func(rs *rows) error {
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
	var out []store.SessionRef
	err := db.r.each(ctx, `SELECT DISTINCT s.tenant, s.kind, `+sealing.NameOf("s")+`, n.external_id FROM staged w
		JOIN subjects s ON s.scope = w.scope JOIN session_names n ON n.sid = w.sid ORDER BY 1, 2, 3, 4 LIMIT ?`, []any{limit}, func(rs *rows) error {
		var tenant, subject string
		var kind int64
		var ref store.SessionRef
		err := rs.Scan(&tenant, &kind, &subject, &ref.Session)
		if err == nil {
			ref.Scope, err = scopeOf(tenant, kind, subject)
		}
		out = append(out, ref)
		return err
	})
	if err != nil {
		return nil, failure(op, err)
	}
	return out, nil
}
