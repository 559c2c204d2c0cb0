package redis

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// kept are a version's arguments for a script.
func (s subject) kept(token string, b tenet.Blob) []any {
	return []any{b.ID, b.Parent, store.BlobDigest(s.key, b), s.seal(b.Data, about("blob", token, b.ID)), s.seal(b.Meta, about("meta", token, b.ID)),
		micros(b.CreatedAt), micros(b.ExpiresAt)}
}

// Put implements store.Threads.
func (db *DB) Put(ctx context.Context, scope tenet.Scope, b tenet.Blob, strict bool) error {
	const op = "put"
	p, err := db.place(op, scope)
	if err != nil {
		return err
	}
	if b.Thread == "" || b.ID == "" {
		return invalid(op, "no thread or no id")
	}
	s := db.thread(p, b.Thread)
	_, _, err = db.write(ctx, writing{op: op, script: "put", place: p, s: s, enter: true, args: func(sub subject) []any {
		return append(append([]any{sub.seal([]byte(b.Thread), about("thread", s, ""))}, sub.kept(s, b)...), bit(strict))
	}, result: nothing, blind: true})
	return err
}

// Get implements store.Threads.
func (db *DB) Get(ctx context.Context, scope tenet.Scope, thread, id string) (tenet.Blob, error) {
	const op = "get"
	what, args := "newest", []any(nil)
	if id != "" {
		what, args = "named", []any{id}
	}
	bs, err := db.versions(ctx, op, scope, thread, what, 1, time.Time{}, args...)
	if err == nil && len(bs) == 0 {
		err = absent(op, "version")
	}
	if err != nil {
		return tenet.Blob{}, err
	}
	return bs[0], nil
}

// List implements store.Threads.
func (db *DB) List(ctx context.Context, scope tenet.Scope, now time.Time, thread, after string, limit int) ([]tenet.Blob, error) {
	const op = "list"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	if after == "" {
		return db.versions(ctx, op, scope, thread, "newest", limit, now)
	}
	return db.versions(ctx, op, scope, thread, "after", limit, now, after)
}

// versions are those that are not over at now; the zero time: all.
func (db *DB) versions(ctx context.Context, op string, scope tenet.Scope, thread, what string, limit int, now time.Time, args ...any) ([]tenet.Blob, error) {
	p, err := db.place(op, scope)
	if err != nil {
		return nil, err
	}
	s := db.thread(p, thread)
	r, err := db.run(ctx, op, "versions", p.tag, append([]any{p.u, s, what, limit, micros(now)}, args...)...)
	if err != nil || len(r) == 3 {
		return nil, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return nil, err
	}
	var out []tenet.Blob
	for i := 3; i < len(r); i++ {
		v := r.list(i)
		b := tenet.Blob{Thread: thread, ID: v.str(0), Parent: v.str(1), CreatedAt: when(v.str(4)), ExpiresAt: when(v.str(5))}
		if b.Data, err = sub.unseal(v.str(2), about("blob", s, b.ID)); err != nil {
			return nil, err
		}
		if b.Meta, err = sub.unseal(v.str(3), about("meta", s, b.ID)); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// Drop implements store.Threads.
func (db *DB) Drop(ctx context.Context, scope tenet.Scope, thread string) (int, error) {
	const op = "drop"
	p, err := db.place(op, scope)
	if err != nil {
		return 0, err
	}
	r, err := db.run(ctx, op, "drop", p.tag, p.u, db.thread(p, thread))
	if err == nil {
		err = r.verdict(op, "thread")
	}
	return int(r.num(1)), err
}
