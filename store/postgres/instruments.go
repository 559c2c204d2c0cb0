package postgres

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

var _ store.Instruments = (*DB)(nil)

// Backlog implements store.Instruments. The worker's role sees whose turn it
// is, and no content.
func (db *DB) Backlog(ctx context.Context, now time.Time) (store.Backlog, error) {
	var b store.Backlog
	var oldest int64
	err := db.worker().snapshot(ctx, func(c conn) error {
		if err := c.row(ctx, `SELECT count(*) FILTER (WHERE due_at <= $1), count(*) FILTER (WHERE due_at > $1), coalesce(min(due_at), $1 + 1)
			FROM tenet.sessions WHERE due_at < 9223372036854775807`, []any{column.Start(now)}, &b.Due, &b.Waiting, &oldest); err != nil {
			return err
		}
		return c.row(ctx, `SELECT count(*) FILTER (WHERE due_at < 9223372036854775807), count(*) FILTER (WHERE due_at = 9223372036854775807)
			FROM tenet.sessions WHERE attempts > 0`, nil, &b.Failing, &b.Dead)
	})
	b.Oldest = time.Time{}
	if oldest <= column.Start(now) {
		b.Oldest = column.From(oldest)
	}
	return b, failure("backlog", err)
}

// Receipted implements store.Instruments.
func (db *DB) Receipted(ctx context.Context, scope tenet.Scope, since time.Time) ([]tenet.Receipt, error) {
	const op = "receipted"
	s, err := db.find(ctx, db.at(scope), op, scope)
	if err != nil || s.id == 0 {
		return nil, err
	}
	var out []tenet.Receipt
	err = db.at(scope).each(ctx, `SELECT at, body FROM tenet.receipts WHERE scope = $1 AND at >= $2 ORDER BY at`, []any{s.id, column.Start(since)}, func(rs *rows) error {
		var at int64
		var body []byte
		if err := rs.Scan(&at, &body); err != nil {
			return err
		}
		r, err := column.DecodeReceipt(body)
		r.At = column.From(at)
		out = append(out, r)
		return err
	})
	return out, failure(op, err)
}
