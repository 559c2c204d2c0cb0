package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// Changes implements store.Reader.
func (db *DB) Changes(ctx context.Context, scope tenet.Scope, since uint64) (store.Changes, error) {
	const op = "changes"
	var ch store.Changes
	err := db.r.snapshot(ctx, func(c conn) error {
		p, err := db.head(ctx, c, op, scope)
		if err != nil {
			return err
		}
		ch = store.Changes{Head: p.Head, Reset: since == 0 || since < p.reset || since > p.Text}
		if ch.Reset {
			since = 0
		}
		if ch.Added, err = (subject{scope: scope, id: p.id}).added(ctx, c, since); err != nil || ch.Reset {
			return err
		}
		return c.each(ctx, `SELECT id FROM records WHERE scope = ?1 AND removed > ?2 AND removed > 0 AND added <= ?2 ORDER BY removed, rowid`,
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

// added reads what recall may return, in the order in which it came. A cold
// index reads a whole scope through here, and each column costs as much as
// indexing two words: small numbers are packed into one, what is mostly empty
// comes as NULL or as one text, and nothing is scanned by reflection.
func (s subject) added(ctx context.Context, c conn, since uint64) ([]tenet.Record, error) {
	var out []tenet.Record
	own := s.scope.Key()
	var id, key, text, session, message, speaker, signature string
	var value, origins, agreed, links sql.RawBytes
	var bits, position, validFrom, validTo, knownFrom, knownTo, expires int64
	dest := []any{
		&id, &key, &value, &text, &origins, &agreed, &session, &message, &speaker, &bits, &links, &position,
		&validFrom, &validTo, &knownFrom, &knownTo, &expires, &signature,
	}
	err := c.each(ctx, `SELECT id, key, value, text, origins, agreed, session, message, speaker,
			tier | (label << 8) | (multi << 16) | (safety << 17) | (expired << 18) | (seen << 20), -- its operators bind alike
			CASE WHEN tool_call = '' AND supersedes = '' AND superseded_by = '' AND fragment_of = '' AND elevates = '' AND closed = '' THEN NULL
				ELSE json_array(tool_call, supersedes, superseded_by, fragment_of, elevates, closed) END,
			position, valid_from, valid_to, sys_from, sys_to, expires_at, signature
		FROM records WHERE scope = ? AND added > ? AND added > 0 AND removed = 0 ORDER BY added, rowid`,
		[]any{s.id, int64(since)}, func(rs *rows) error {
			if err := rs.Scan(dest...); err != nil {
				return err
			}
			if len(out) == cap(out) { // append grows large slices by a quarter only
				out = slices.Grow(out, max(64, len(out)))
			}
			out = append(out, tenet.Record{
				Scope: s.scope, ID: tenet.RecordID(id), Key: key, Text: text, Message: tenet.MessageID(message), Position: position,
				Tier: tenet.Tier(bits & 0xff), Label: tenet.Label(bits >> 8 & 0xff), Seen: int(bits >> 20),
				Multi: bits&(1<<16) != 0, Safety: bits&(1<<17) != 0, Expired: bits&(1<<18) != 0,
				Valid: tenet.Interval{From: column.From(validFrom), To: column.From(validTo)}, Known: tenet.Interval{From: column.From(knownFrom), To: column.From(knownTo)},
				ExpiresAt: column.From(expires), Signature: signature,
			})
			r := &out[len(out)-1]
			last := &tenet.Record{}
			if len(out) > 1 {
				last = &out[len(out)-2]
			}
			// Neighbours mostly share these: one string serves them all.
			r.Session, r.Speaker = same(tenet.SessionID(session), last.Session), same(speaker, last.Speaker)
			if len(value) > 0 {
				r.Value = slices.Clone([]byte(value))
			}
			if len(links) > 0 {
				var l [6]string
				if err := json.Unmarshal(links, &l); err != nil {
					return tenet.Errorf(tenet.Internal, "decode", "a stored column is damaged")
				}
				if err := c.seal.Opened([]any{&l[0], &l[1], &l[2], &l[3], &l[4]}); err != nil {
					return err
				}
				r.ToolCall, r.Supersedes, r.SupersededBy, r.FragmentOf = l[0], tenet.RecordID(l[1]), tenet.RecordID(l[2]), tenet.RecordID(l[3])
				r.Elevates, r.Closed = tenet.RecordID(l[4]), tenet.Closing(l[5])
			}
			var err error
			if r.Origins, err = column.DecodeOrigins(origins, own); err != nil {
				return err
			}
			more, err := column.DecodeOrigins(agreed, own)
			r.Origins = append(r.Origins, more...)
			return err
		})
	return out, err
}

// same is a, as the string that b already holds when they are equal.
func same[S ~string](a, b S) S {
	if a == b {
		return b
	}
	return a
}
