package postgres

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// Documents implements store.Documents. It goes by the believed records of the
// tier in order of key, which is the order of the path's bytes.
func (db *DB) Documents(ctx context.Context, scope tenet.Scope, now time.Time, prefix, after string, limit int) ([]tenet.Record, error) {
	const op = "documents"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	s, err := db.find(ctx, db.at(scope), op, scope)
	if err != nil || s.id == 0 {
		return nil, err
	}
	t := column.Start(now)
	rs, err := s.records(ctx, db.at(scope), `WHERE scope = $1 AND tier = 4 AND key <> '' AND sys_to = 9223372036854775807
		AND key >= $2 AND key > $3 AND starts_with(key, $2) AND valid_from <= $4 AND valid_to > $4 ORDER BY key LIMIT $5`,
		s.id, db.seal.Compared(prefix), db.seal.Compared(after), t, db.seal.Most(limit))
	if db.seal != nil {
		rs = sealing.Page(rs, func(r tenet.Record) string { return r.Key }, prefix, after, limit)
	}
	return rs, failure(op, err)
}
