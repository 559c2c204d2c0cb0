package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// effect makes an effect from what scripts send of it, as it stands at now: a
// claim whose time ran out without an outcome is in doubt, and nobody has to
// write that down.
func (s subject) effect(token, name string, id tenet.SessionID, e reply, now time.Time) (tenet.Effect, error) {
	out := tenet.Effect{
		Key: name, Session: id, Step: int(number(e.str(1))), State: tenet.EffectState(e.str(2)), Attempt: int(number(e.str(3))),
		ClaimedBy: e.str(7), ClaimedAt: when(e.str(8)), LeaseUntil: when(e.str(9)), SettledAt: when(e.str(10)),
	}
	if out.State == tenet.EffectClaimed && !out.LeaseUntil.After(tenet.Micros(now)) {
		out.State = tenet.EffectInDoubt
	}
	if e.str(6) == "" {
		return out, nil
	}
	plain, err := s.unseal(e.str(6), about("outcome", token, name))
	if len(plain) > 0 {
		out.Outcome = plain
	}
	return out, err
}

// Claim implements store.Runs.
func (db *DB) Claim(ctx context.Context, scope tenet.Scope, k store.Claim) (tenet.Effect, bool, error) {
	const op = "claim"
	if k.Key == "" || k.By == "" || !k.Until.After(k.Now) {
		return tenet.Effect{}, false, invalid(op, "no key, no claimant or no time")
	}
	p, s, err := db.at(op, scope, k.Session)
	if err != nil {
		return tenet.Effect{}, false, err
	}
	r, sub, err := db.write(ctx, writing{op: op, script: "claim", place: p, s: s, what: "session", args: func(sub subject) []any {
		return []any{k.Key, store.PayloadDigest(sub.key, k.Payload), micros(k.Now), micros(k.Until), k.By, k.Step, bit(k.Retry), decimal(k.Fence)}
	}})
	if err != nil {
		return tenet.Effect{}, false, err
	}
	e, err := sub.effect(s, k.Key, k.Session, r.list(2), k.Now)
	return e, r.str(1) == "1", err
}

// Settle implements store.Runs.
func (db *DB) Settle(ctx context.Context, scope tenet.Scope, k store.Settle) (tenet.Effect, error) {
	const op = "settle"
	if k.State != tenet.EffectCompleted && k.State != tenet.EffectFailed {
		return tenet.Effect{}, invalid(op, "an effect settles as completed or failed")
	}
	p, s, err := db.at(op, scope, k.Session)
	if err != nil {
		return tenet.Effect{}, err
	}
	result := func(sub subject, r reply) (tenet.Effect, error) {
		return sub.effect(s, k.Key, k.Session, r.list(2), k.Now)
	}
	r, sub, err := db.write(ctx, writing{op: op, script: "settle", place: p, s: s, what: "session", args: func(sub subject) []any {
		return []any{k.Key, k.Attempt, string(k.State), store.OutcomeDigest(sub.key, k.Outcome), sub.seal(k.Outcome, about("outcome", s, k.Key)), micros(k.Now)}
	}, result: func(sub subject, r reply) (any, error) { return result(sub, r) }})
	if err != nil {
		return tenet.Effect{}, err
	}
	return result(sub, r)
}

// Effects implements store.Runs.
func (db *DB) Effects(ctx context.Context, scope tenet.Scope, id tenet.SessionID, now time.Time) ([]tenet.Effect, error) {
	const op = "effects"
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return nil, err
	}
	r, err := db.run(ctx, op, "effects", p.tag, p.u, s)
	if err == nil {
		err = r.verdict(op, "session")
	}
	if err != nil {
		return nil, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return nil, err
	}
	all := slices.Clone(r[3:])
	slices.SortFunc(all, func(a, b any) int {
		return cmp.Compare(number(reply(a.([]any)).list(1).str(0)), number(reply(b.([]any)).list(1).str(0)))
	})
	var out []tenet.Effect
	for i := range all {
		e, err := sub.effect(s, all.list(i).str(0), id, all.list(i).list(1), now)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
