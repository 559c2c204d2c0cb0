package redis

import (
	"context"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// writing is one call of a script that writes in a scope.
type writing struct {
	op     string
	script trace.Word
	place  place
	s      string // the session's token, or the thread's
	what   string // for NotFound
	enter  bool   // makes the subject
	args   func(subject) []any
	// result, of a mutation that its caller may have asked to happen once, is
	// what it returned. nil: it cannot be asked to.
	result func(subject, reply) (any, error)
	// blind says that result needs no reply.
	blind bool
}

// nothing is the result of a mutation that returns only an error.
func nothing(subject, reply) (any, error) { return struct{}{}, nil }

// write runs the script until its data key and what it found are the present
// ones. A mutation under an idempotency key whose answer depends on what it
// finds is tried first, its answer made, and then done if nothing has moved.
func (db *DB) write(ctx context.Context, w writing) (reply, subject, error) {
	o := store.OnceFrom(ctx)
	if w.result == nil {
		o = nil
	}
	trial, want := o != nil && !w.blind, ""
	var answer []byte
	for {
		own := db.owner
		if w.enter {
			own = db.enter
		}
		sub, err := own(ctx, w.op, w.place)
		if err != nil {
			if tenet.KindOf(err) == tenet.NotFound {
				err = absent(w.op, w.what)
			}
			return nil, sub, err
		}
		if o != nil && w.blind {
			v, err := w.result(sub, nil)
			if err != nil {
				return nil, sub, err
			}
			if answer, err = o.Answer(v); err != nil {
				return nil, sub, err
			}
		}
		args := append([]any{sub.u, sub.kid, w.s, bit(trial), want}, db.onceArgs(o, sub, answer)...)
		r, err := db.run(ctx, w.op, w.script, w.place.tag, append(args, w.args(sub)...)...)
		if err != nil {
			return nil, sub, err
		}
		switch r.word() {
		case "key":
			if _, err := db.with(w.place, r.str(1), r.str(2)); err != nil {
				return nil, sub, err
			}
			continue
		case "moved":
			trial, want = true, ""
			continue
		case "nobody":
			db.keys.drop(w.place.u)
			if w.enter { // erased between the two
				continue
			}
		case "once":
			plain, err := sub.unseal(r.str(1), "once/"+db.onceID(o))
			if err != nil {
				return nil, sub, err
			}
			return nil, sub, &store.Replay{Answer: plain}
		}
		if err := r.verdict(w.op, w.what); err != nil {
			return nil, sub, err
		}
		if !trial {
			return r, sub, nil
		}
		v, err := w.result(sub, r)
		if err != nil {
			return nil, sub, err
		}
		if answer, err = o.Answer(v); err != nil {
			return nil, sub, err
		}
		trial, want = false, r.str(1)
	}
}

func (db *DB) onceID(o *store.Once) string {
	return db.token("once", o.Tenant, o.Caller, o.Route, o.Key)
}

func (db *DB) onceArgs(o *store.Once, sub subject, answer []byte) []any {
	if o == nil {
		return []any{"", "", "", "", "", ""}
	}
	id := db.onceID(o)
	return []any{
		id, micros(o.Now), db.master.OnceFingerprint(o), sub.seal(answer, "once/"+id),
		micros(o.ExpiresAt), strconv.FormatInt(max(1, o.ExpiresAt.Sub(o.Now).Milliseconds()), 10),
	}
}

// RecordedIn is store.Onces for the calls of one subject: its answers lie with
// it, so that they are recorded in the same script as the effect.
func (db *DB) RecordedIn(ctx context.Context, scope tenet.Scope, o *store.Once) (*store.Replay, error) {
	const op = "recorded"
	p, err := db.place(op, scope)
	if err != nil {
		return nil, err
	}
	sub, err := db.owner(ctx, op, p)
	if tenet.KindOf(err) == tenet.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	id := db.onceID(o)
	r, err := db.client.HMGet(ctx, p.tag+":o:"+id, "p", "a", "x").Result()
	found := reply(r)
	switch {
	case err != nil:
		return nil, failure(op, err)
	case r[0] == nil || !when(found.str(2)).After(o.Now):
		return nil, nil
	case found.str(0) != string(db.master.OnceFingerprint(o)):
		return nil, reply{"payload"}.verdict(op, "")
	}
	plain, err := sub.unseal(found.str(1), "once/"+id)
	if err != nil {
		return nil, err
	}
	return &store.Replay{Answer: plain}, nil
}
