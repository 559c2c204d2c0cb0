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

// Served implements store.Servings.
func (db *DB) Served(ctx context.Context, scope tenet.Scope, since time.Time) (map[tenet.RecordID]time.Time, error) {
	const op = "served"
	p, err := db.place(op, scope)
	if err != nil {
		return nil, err
	}
	all, err := db.client.SMembers(ctx, p.tag+":ru:"+p.u).Result()
	if err != nil {
		return nil, failure(op, err)
	}
	out := map[tenet.RecordID]time.Time{}
	for _, s := range all {
		r, err := db.run(ctx, op, "receipts", p.tag, p.u, s)
		if err != nil {
			return nil, err
		}
		if r.word() != "ok" {
			continue // it went meanwhile
		}
		sub, err := db.with(p, r.str(1), r.str(2))
		if err != nil {
			return nil, err
		}
		entries := slices.DeleteFunc(slices.Clone(r.list(4)), func(e any) bool {
			text, _ := e.(string)
			at, _, _ := strings.Cut(text, " ")
			return when(at).Before(tenet.Micros(since))
		})
		rs, err := sub.receipts(s, "", entries)
		if err != nil {
			return nil, err
		}
		for _, r := range rs {
			for _, id := range r.Recalled {
				if r.At.After(out[id]) {
					out[id] = r.At
				}
			}
		}
	}
	return out, nil
}

// ServedWith implements store.Served. It looks at every session of the tenant,
// of which none outlives its TTL, and at the receipts of those that may have read
// the scope.
func (db *DB) ServedWith(ctx context.Context, scope tenet.Scope, ids []tenet.RecordID) ([]store.ScopedReceipt, error) {
	const op = "served"
	if scope.IsZero() {
		return nil, invalid(op, "no scope")
	}
	wanted := make(map[tenet.RecordID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	named := func(id tenet.RecordID) bool { return wanted[id] }
	var out []store.ScopedReceipt
	err := db.members(ctx, op, "rt", scope.Tenant(), func(tag, s string) error {
		x, sub, err := db.load(ctx, op, tag, s)
		if err != nil || sub == nil || x.Scope != scope && !slices.Contains(x.Reads, scope) {
			return err
		}
		rs, err := db.Receipts(ctx, x.Scope, x.ID)
		if err != nil && tenet.KindOf(err) != tenet.NotFound {
			return err
		}
		for _, r := range rs {
			if slices.ContainsFunc(r.Facts, named) || slices.ContainsFunc(r.Recalled, named) {
				out = append(out, store.ScopedReceipt{Scope: x.Scope, Receipt: r})
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b store.ScopedReceipt) int {
		return cmp.Or(cmp.Compare(a.Scope.Key(), b.Scope.Key()), cmp.Compare(a.Session, b.Session))
	})
	return out, err
}

// erased bounds how much of a subject goes in one script.
const erased = 50

// Erase removes everything of a subject, spent ids and its data key included,
// and returns how many sessions went. What a copy of the server's memory still
// holds cannot be read without that key. What stays is the keyed digest of the
// subject's name and when it was erased. Called again after a failure it goes on.
func (db *DB) Erase(ctx context.Context, scope tenet.Scope, at time.Time) (int, error) {
	const op = "erase"
	p, err := db.place(op, scope)
	if err != nil {
		return 0, err
	}
	gone := 0
	for {
		r, err := db.run(ctx, op, "erase", p.tag, p.u, erased, micros(at))
		if err == nil && r.word() == "frozen" {
			err = store.HeldBack(op)
		}
		if err != nil {
			return gone, err
		}
		gone += int(r.num(0))
		if r.num(1) == 0 {
			db.keys.drop(p.u)
			db.spots.clear()
			return gone, nil
		}
	}
}
