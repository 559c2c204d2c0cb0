package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/trace"
)

// asked bounds how many sessions, and how many messages, one call asks for.
const asked = 256

// SessionsOf implements store.SessionArchive. Names are sealed, so it opens all
// of the subject's: what a page costs goes by how many sessions there are.
func (db *DB) SessionsOf(ctx context.Context, scope tenet.Scope, after tenet.SessionID, limit int) ([]tenet.Session, error) {
	const op = "sessions of"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	p, err := db.place(op, scope)
	if err != nil {
		return nil, err
	}
	var all []string
	if err := db.reach(ctx, op, "sessions", func(ctx context.Context) (err error) {
		all, err = db.client.SMembers(ctx, p.tag+":x:"+p.u).Result()
		return err
	}); err != nil {
		return nil, err
	}
	type named struct {
		id    tenet.SessionID
		token string
	}
	var page []named
	if err := db.those(ctx, op, "names", p, all, func(sub subject, token string, r reply, i int) error {
		if r.str(i) == "" {
			return nil // it went meanwhile
		}
		id, _, err := sub.unsealName(token, r.str(i))
		if id > after {
			page = append(page, named{id, token})
		}
		return err
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(page, func(a, b named) int { return cmp.Compare(a.id, b.id) })
	var tokens []string
	for _, n := range page[:min(limit, len(page))] {
		tokens = append(tokens, n.token)
	}
	var out []tenet.Session
	return out, db.those(ctx, op, "rows", p, tokens, func(sub subject, token string, r reply, i int) error {
		if len(r.list(i)) == 0 {
			return nil
		}
		s, err := sub.row(token, r.list(i))
		out = append(out, s)
		return err
	})
}

// those runs a script over sessions of a subject, some at a time, and calls f
// with what it replies of each.
func (db *DB) those(ctx context.Context, op string, script trace.Word, p place, tokens []string, f func(sub subject, token string, r reply, i int) error) error {
	for some := range slices.Chunk(tokens, asked) {
		r, err := db.run(ctx, op, script, p.tag, append([]any{p.u, len(some)}, texts(some)...)...)
		if err != nil || r.word() == "nobody" {
			return err
		}
		sub, err := db.with(p, r.str(1), r.str(2))
		if err != nil {
			return err
		}
		for i, token := range some {
			if err := f(sub, token, r, i+3); err != nil {
				return err
			}
		}
	}
	return nil
}

// Whole implements store.SessionArchive. A log only grows until all of it goes,
// so it is read in parts after the rest of the session: one that went meanwhile
// is read again as it is now.
func (db *DB) Whole(ctx context.Context, scope tenet.Scope, id tenet.SessionID) (store.WholeSession, error) {
	const op = "whole session"
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return store.WholeSession{}, err
	}
	for {
		w, there, err := db.whole(ctx, op, p, s)
		if err != nil || there {
			return w, err
		}
	}
}

// whole reports whether the log was there to its end.
func (db *DB) whole(ctx context.Context, op string, p place, s string) (w store.WholeSession, there bool, err error) {
	r, err := db.run(ctx, op, "whole", p.tag, p.u, s)
	if err == nil {
		err = r.verdict(op, "session")
	}
	if err != nil {
		return w, false, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return w, false, err
	}
	if w.Session, err = sub.row(s, r.list(3)); err != nil {
		return w, false, err
	}
	if w.Receipts, err = sub.receipts(s, w.ID, r.list(5)); err != nil {
		return w, false, err
	}
	if w.Proposals, err = sub.proposals(s, r.list(6)); err != nil {
		return w, false, err
	}
	length := r.num(4)
	if length != w.Length && (length > 0 || w.EndedAt.IsZero()) {
		return w, false, tenet.Errorf(tenet.Internal, op, "a session's log is not what it counts: parts of it were evicted")
	}
	log := sub.entries(s)
	for at := int64(0); at < length; {
		part, err := db.stretch(ctx, op, p, s, at, int(min(asked, length-at)))
		if tenet.KindOf(err) == tenet.NotFound {
			return w, false, nil
		}
		if err != nil {
			return w, false, err
		}
		if len(part.entries) == 0 || part.kid != sub.kid {
			return w, false, nil
		}
		for _, e := range part.entries {
			at++
			m, err := log.message(e, w.ID, at)
			if err != nil {
				return w, false, err
			}
			w.Messages = append(w.Messages, m)
		}
	}
	return w, true, nil
}

// PutBack implements store.SessionArchive.
func (db *DB) PutBack(ctx context.Context, scope tenet.Scope, w store.WholeSession) error {
	const op = "put back"
	if err := store.CheckWhole(scope, w); err != nil {
		return err
	}
	p, s, err := db.at(op, scope, w.ID)
	if err != nil {
		return err
	}
	_, _, err = db.write(ctx, writing{op: op, script: "putback", place: p, s: s, enter: true, args: func(sub subject) []any {
		var places, log, clients, receipts, proposals []any
		for _, m := range w.Messages {
			places = append(places, string(m.ID), s+" "+decimal(m.Seq))
			log = append(log, sub.entry(s, m))
			if client, print := sub.client(m); client != nil {
				clients = append(clients, client, decimal(m.Seq)+" "+string(print))
			}
		}
		for _, r := range w.Receipts {
			at := micros(r.At)
			receipts = append(receipts, at+" "+string(sub.seal(column.EncodeReceipt(r), about("receipt", s, at))))
		}
		for i, c := range w.Proposals {
			sealed := sub.seal(column.EncodeCandidate(c), about("proposal", s, string(c.ID)))
			proposals = append(proposals, string(c.ID), fmt.Sprintf("%012d", i+1)+string(store.ContentDigest(sub.key, c))+string(sealed))
		}
		return slices.Concat([]any{
			strconv.FormatInt(w.Began().UnixMicro(), 10), db.tenant(p), sub.sealName(s, w.ID, w.Reads), decimal(int64(w.TTL)), bit(w.RetainNone),
			micros(w.CreatedAt), micros(w.EndedAt), micros(w.LastAt), micros(w.DueAt),
			decimal(w.Length), decimal(w.Consolidated), decimal(w.Attempts), string(w.LastCode),
			len(log), len(clients) / 2, len(receipts), len(proposals) / 2,
		}, places, log, clients, receipts, proposals)
	}})
	return err
}
