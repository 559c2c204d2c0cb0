package redis

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// Hold implements store.Runs.
func (db *DB) Hold(ctx context.Context, scope tenet.Scope, id tenet.SessionID, holder string, now, until time.Time) (uint64, error) {
	const op = "hold"
	if holder == "" || !until.After(now) {
		return 0, invalid(op, "no holder or no time")
	}
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return 0, err
	}
	fence := func(r reply) uint64 { return uint64(number(r.str(2))) }
	r, _, err := db.write(ctx, writing{op: op, script: "hold", place: p, s: s, what: "session", args: func(sub subject) []any {
		return []any{store.HolderDigest(sub.key, holder), micros(now), micros(until)}
	}, result: func(_ subject, r reply) (any, error) { return fence(r), nil }})
	if err != nil {
		return 0, err
	}
	return fence(r), nil
}

// PutCheckpoint implements store.Runs.
func (db *DB) PutCheckpoint(ctx context.Context, scope tenet.Scope, k tenet.Checkpoint, fence uint64, keep int) error {
	const op = "put checkpoint"
	if k.Version < 1 || keep < 1 {
		return invalid(op, "versions count from 1, and at least one is kept")
	}
	p, s, err := db.at(op, scope, k.Session)
	if err != nil {
		return err
	}
	version := decimal(k.Version)
	_, _, err = db.write(ctx, writing{op: op, script: "checkpoint", place: p, s: s, what: "session", args: func(sub subject) []any {
		return []any{version, store.CheckpointDigest(sub.key, k), decimal(fence), keep, sub.seal(encodeCheckpoint(k), about("checkpoint", s, version))}
	}, result: nothing, blind: true})
	return err
}

func encodeCheckpoint(k tenet.Checkpoint) []byte {
	e := column.Encoder{B: make([]byte, 0, len(k.State)+256)}
	e.Num(1) // the form's version
	e.Num(int64(k.Step))
	e.Num(k.Position)
	e.Time(k.At)
	e.Str(string(k.State))
	e.Str(k.By)
	e.Num(int64(len(k.Done)))
	for _, s := range k.Done {
		e.Str(s.Name)
		e.Str(string(s.Outcome))
	}
	column.EncodeStrings(&e, k.Effects)
	return column.Pack(e.B)
}

func decodeCheckpoint(plain []byte, k *tenet.Checkpoint) error {
	plain, err := column.Unpack(plain)
	if err != nil {
		return err
	}
	d := column.Decoder{B: plain}
	if d.Num() != 1 {
		return tenet.Errorf(tenet.Internal, "decode", "a stored checkpoint has an unknown form")
	}
	k.Step = int(d.Num())
	k.Position = d.Num()
	k.At = d.Time()
	if s := d.Str(); s != "" {
		k.State = []byte(s)
	}
	k.By = d.Str()
	for range d.Count() {
		s := tenet.Step{Name: d.Str()}
		if o := d.Str(); o != "" {
			s.Outcome = []byte(o)
		}
		k.Done = append(k.Done, s)
	}
	k.Effects = column.DecodeStrings[string](&d)
	return d.Err()
}

// Checkpoints implements store.Runs.
func (db *DB) Checkpoints(ctx context.Context, scope tenet.Scope, id tenet.SessionID, below int64, limit int) ([]tenet.Checkpoint, error) {
	const op = "checkpoints"
	if below < 0 || limit < 0 {
		return nil, invalid(op, "a negative version or limit")
	}
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return nil, err
	}
	r, err := db.run(ctx, op, "checkpoints", p.tag, p.u, s, below, limit)
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
	var out []tenet.Checkpoint
	for i := 3; i < len(r); i++ {
		version, body := r.list(i).str(0), r.list(i).str(1)
		if len(body) < 32 {
			return nil, tenet.Errorf(tenet.Internal, "decode", "a stored checkpoint is damaged")
		}
		plain, err := sub.unseal(body[32:], about("checkpoint", s, version))
		if err != nil {
			return nil, err
		}
		k := tenet.Checkpoint{Session: id, Version: number(version)}
		if err := decodeCheckpoint(plain, &k); err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// DeleteSession implements store.Deleter.
func (db *DB) DeleteSession(ctx context.Context, scope tenet.Scope, id tenet.SessionID, at time.Time) error {
	const op = "delete session"
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return err
	}
	_, _, err = db.write(ctx, writing{op: op, script: "delete", place: p, s: s, what: "session",
		args: func(subject) []any { return []any{micros(at)} }, result: nothing, blind: true})
	return err
}
