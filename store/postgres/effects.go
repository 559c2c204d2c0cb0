package postgres

import (
	"bytes"
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

const effectColumns = `key, step, state, attempt, payload, outcome, claimed_by, claimed_at, lease_until, settled_at`

// effect is an effect's row.
type effect struct {
	tenet.Effect
	payload []byte
}

// effect reads a row as it stands at now: a claim whose time ran out without
// an outcome is in doubt, and nobody has to write that down.
func (r *run) effect(rs *rows, now time.Time) (effect, error) {
	e := effect{Effect: tenet.Effect{Session: r.id}}
	var outcome []byte
	var claimed, until, settled int64
	if err := rs.Scan(&e.Key, &e.Step, &e.State, &e.Attempt, &e.payload, &outcome, &e.ClaimedBy, &claimed, &until, &settled); err != nil {
		return e, err
	}
	e.ClaimedAt, e.LeaseUntil, e.SettledAt = column.From(claimed), column.From(until), column.From(settled)
	if e.State == tenet.EffectClaimed && until <= column.Start(now) {
		e.State = tenet.EffectInDoubt
	}
	if outcome == nil {
		return e, nil
	}
	plain, err := r.key.Unseal(outcome, r.about("outcome", r.sid, e.Key))
	if len(plain) > 0 {
		e.Outcome = plain
	}
	return e, err
}

func (r *run) find(c conn, key string, now time.Time) (*effect, error) {
	var found *effect
	err := c.of(r.subject.id).each(bg, `SELECT `+effectColumns+` FROM tenet.effects WHERE scope = $1 AND sid = $2 AND key = $3`, []any{r.subject.id, r.sid, key}, func(rs *rows) error {
		e, err := r.effect(rs, now)
		found = &e
		return err
	})
	return found, err
}

// Claim implements store.Runs.
func (db *DB) Claim(ctx context.Context, scope tenet.Scope, k store.Claim) (e tenet.Effect, granted bool, err error) {
	const op = "claim"
	if k.Key == "" || k.By == "" || !k.Until.After(k.Now) {
		return e, false, invalid(op, "no key, no claimant or no time")
	}
	err = db.write(ctx, op, scope.Tenant(), func(c conn) error {
		granted = false
		r, err := db.run(bg, c, op, scope, k.Session)
		if err != nil {
			return err
		}
		payload := store.PayloadDigest(r.key, k.Payload)
		old, err := r.find(c, k.Key, k.Now)
		if err != nil {
			return err
		}
		if old != nil {
			e = old.Effect
			switch {
			case !bytes.Equal(old.payload, payload):
				return &tenet.Error{Kind: tenet.Conflict, Op: op, Code: store.CodeEffectPayload, Reason: "the key was claimed with another payload"}
			case e.State == tenet.EffectCompleted:
				return nil
			case e.State == tenet.EffectClaimed:
				return conflict(op, "the effect is under way")
			case !k.Retry:
				return nil
			}
		}
		if err := r.open(op, k.Fence); err != nil {
			return err
		}
		e = tenet.Effect{
			Key: k.Key, Session: k.Session, Step: k.Step, State: tenet.EffectClaimed, Attempt: 1,
			ClaimedBy: k.By, ClaimedAt: tenet.Micros(k.Now), LeaseUntil: tenet.Micros(k.Until),
		}
		granted = true
		if err := db.visitor(c, r.subject, k.By); err != nil {
			return err
		}
		if old != nil {
			e.Attempt, e.Step = old.Attempt+1, old.Step
			return c.of(r.subject.id).exec(`UPDATE tenet.effects SET state = $1, attempt = $2, outcome = NULL, claimed_by = $3, claimed_at = $4, lease_until = $5, settled_at = $6 WHERE sid = $7 AND key = $8 AND scope = $9`,
				sealing.Plain(e.State), e.Attempt, e.ClaimedBy, column.Start(e.ClaimedAt), column.Start(e.LeaseUntil), int64(column.NoStart), r.sid, k.Key, r.subject.id)
		}
		return c.of(r.subject.id).exec(`INSERT INTO tenet.effects (scope, sid, `+effectColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, $8, $9, $10, $11)`,
			r.subject.id, r.sid, k.Key, e.Step, sealing.Plain(e.State), e.Attempt, payload, e.ClaimedBy, column.Start(e.ClaimedAt), column.Start(e.LeaseUntil), int64(column.NoStart))
	})
	if err != nil {
		return tenet.Effect{}, false, err
	}
	return e, granted, nil
}

// Settle implements store.Runs.
func (db *DB) Settle(ctx context.Context, scope tenet.Scope, s store.Settle) (e tenet.Effect, err error) {
	const op = "settle"
	if s.State != tenet.EffectCompleted && s.State != tenet.EffectFailed {
		return e, invalid(op, "an effect settles as completed or failed")
	}
	err = db.mutate(ctx, op, scope, func() any { return e }, func(c conn) error {
		r, err := db.run(bg, c, op, scope, s.Session)
		if err != nil {
			return err
		}
		old, err := r.find(c, s.Key, s.Now)
		switch {
		case err != nil:
			return err
		case old == nil:
			return absent(op, "effect")
		case old.Attempt != s.Attempt:
			return conflict(op, "another attempt has been made since")
		}
		e = old.Effect
		if e.State == tenet.EffectCompleted || e.State == tenet.EffectFailed {
			if e.State == s.State && bytes.Equal(e.Outcome, s.Outcome) {
				return nil
			}
			return conflict(op, "the effect has another outcome already")
		}
		// A late outcome of an attempt in doubt is welcome: now it is known.
		e.State, e.Outcome, e.SettledAt = s.State, s.Outcome, tenet.Micros(s.Now)
		return c.of(r.subject.id).exec(`UPDATE tenet.effects SET state = $1, outcome = $2, settled_at = $3 WHERE sid = $4 AND key = $5 AND scope = $6`,
			sealing.Plain(e.State), r.key.Seal(s.Outcome, r.about("outcome", r.sid, s.Key)), column.Start(e.SettledAt), r.sid, s.Key, r.subject.id)
	})
	if err != nil {
		return tenet.Effect{}, err
	}
	return e, nil
}

// Effects implements store.Runs.
func (db *DB) Effects(ctx context.Context, scope tenet.Scope, id tenet.SessionID, now time.Time) ([]tenet.Effect, error) {
	const op = "effects"
	r, err := db.run(ctx, db.at(scope), op, scope, id)
	if err != nil {
		return nil, failure(op, err)
	}
	var out []tenet.Effect
	err = db.at(scope).each(ctx, `SELECT `+effectColumns+` FROM tenet.effects WHERE scope = $1 AND sid = $2 ORDER BY n`, []any{r.subject.id, r.sid}, func(rs *rows) error {
		e, err := r.effect(rs, now)
		out = append(out, e.Effect)
		return err
	})
	return out, failure(op, err)
}
