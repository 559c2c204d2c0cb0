package redis

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var _ store.Shelf = (*DB)(nil)

// PutAll implements store.Shelf.
func (db *DB) PutAll(ctx context.Context, scope tenet.Scope, thread string, bs []store.Kept) error {
	const op = "put all"
	p, err := db.place(op, scope)
	if err != nil {
		return err
	}
	if thread == "" || len(bs) == 0 || slices.ContainsFunc(bs, func(b store.Kept) bool { return b.ID == "" }) {
		return invalid(op, "no thread, no versions or no id")
	}
	s := db.thread(p, thread)
	_, _, err = db.write(ctx, writing{op: op, script: "putall", place: p, s: s, enter: true, args: func(sub subject) []any {
		args := []any{sub.seal([]byte(thread), about("thread", s, "")), len(bs)}
		for _, b := range bs {
			args = append(append(args, bit(b.Replace)), sub.kept(s, b.Blob)...)
		}
		return args
	}, result: nothing, blind: true})
	return err
}

// Find implements store.Shelf.
func (db *DB) Find(ctx context.Context, scope tenet.Scope, now time.Time, thread, prefix, below string, limit int) ([]tenet.Blob, error) {
	const op = "find"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	// The bound is made here: a script would compare by the server's locale. No
	// text has the byte 255.
	high := "+"
	if prefix != "" {
		high = "(" + prefix + "\xff"
	}
	if below != "" && (prefix == "" || below < prefix+"\xff") {
		high = "(" + below
	}
	return db.versions(ctx, op, scope, thread, "prefix", limit, now, high, "["+prefix)
}

// Named implements store.Shelf.
func (db *DB) Named(ctx context.Context, scope tenet.Scope, thread string, ids []string) ([]tenet.Blob, error) {
	return db.versions(ctx, "named", scope, thread, "named", len(ids), time.Time{}, texts(ids)...)
}

func texts(ids []string) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// Remove implements store.Shelf.
func (db *DB) Remove(ctx context.Context, scope tenet.Scope, thread string, ids []string) (int, error) {
	const op = "remove"
	p, err := db.place(op, scope)
	if err != nil {
		return 0, err
	}
	r, err := db.run(ctx, op, "remove", p.tag, append([]any{p.u, db.thread(p, thread), len(ids)}, texts(ids)...)...)
	if err == nil {
		err = r.verdict(op, "thread")
	}
	return int(r.num(1)), err
}

// Threads implements store.Shelf. Names are sealed, so it opens all of the
// subject's.
func (db *DB) Threads(ctx context.Context, scope tenet.Scope, now time.Time, prefix, after string, limit int) ([]tenet.Thread, error) {
	const op = "threads"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	p, err := db.place(op, scope)
	if err != nil {
		return nil, err
	}
	r, err := db.run(ctx, op, "threads", p.tag, p.u, micros(now))
	if err != nil || len(r) == 3 {
		return nil, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return nil, err
	}
	var out []tenet.Thread
	for i := 3; i < len(r); i++ {
		t := r.list(i)
		name, err := sub.unseal(t.str(1), about("thread", t.str(0), ""))
		if err != nil {
			return nil, err
		}
		if n := string(name); strings.HasPrefix(n, prefix) && n > after {
			out = append(out, tenet.Thread{Name: n, NewestAt: when(t.str(2))})
		}
	}
	slices.SortFunc(out, func(a, b tenet.Thread) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(limit, len(out))], nil
}
