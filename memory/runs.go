package memory

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// Bounds of running work.
const (
	maxHold    = time.Hour   // the longest a session is held or an effect claimed at a time
	defaultFor = time.Minute // how long when the caller does not say
)

// Hold is the right to advance a session until it runs out. Checkpoints that
// carry its fence are refused once somebody else holds the session.
type Hold struct {
	Fence uint64    `json:"fence"`
	Until time.Time `json:"until"`
}

// Hold takes the session for a holder, named by the caller, for some time
// (zero: a minute). The same holder extends. While another holds it the error
// is Conflict.
func (s *Session) Hold(ctx context.Context, holder string, d time.Duration) (Hold, error) {
	if err := s.works("hold"); err != nil {
		return Hold{}, err
	}
	if err := checkName("holder", holder, tenet.MaxID); err != nil {
		return Hold{}, err
	}
	until, err := s.until("hold", d)
	if err != nil {
		return Hold{}, err
	}
	return once(ctx, s.by, s.now(), func(ctx context.Context) (Hold, error) {
		fence, err := s.runs.Hold(ctx, s.info.Scope, s.info.ID, s.by.String()+"/"+holder, s.now(), until)
		return Hold{fence, until}, err
	}, same, same)
}

// Checkpoint keeps where the run stands. c.Version must be the last one plus
// one, so that of two workers only one advances; with a fence it must also be
// the session's newest. Otherwise the error is Conflict. The same version with
// the same content is a harmless retry.
func (s *Session) Checkpoint(ctx context.Context, c tenet.Checkpoint, fence uint64) (tenet.Checkpoint, error) {
	if err := s.works("checkpoint"); err != nil {
		return tenet.Checkpoint{}, err
	}
	if err := checkCheckpoint(c); err != nil {
		return tenet.Checkpoint{}, err
	}
	c.Session, c.By, c.At = s.info.ID, s.by.String(), s.now()
	err := onceOnly(ctx, s.by, c.At, func(ctx context.Context) error {
		return s.runs.PutCheckpoint(ctx, s.info.Scope, c, fence, s.keep)
	})
	return c, err
}

func checkCheckpoint(c tenet.Checkpoint) error {
	const op = "checkpoint"
	switch {
	case c.Version < 1:
		return tenet.Errorf(tenet.Invalid, op, "versions count from 1")
	case c.Step < 0 || c.Position < 0:
		return tenet.Errorf(tenet.Invalid, op, "step and position are not negative")
	case len(c.State) > tenet.MaxState:
		return tenet.Errorf(tenet.Invalid, op, "the state is %d bytes, the limit is %d", len(c.State), tenet.MaxState)
	case len(c.Done) > maxSteps || len(c.Effects) > maxSteps:
		return tenet.Errorf(tenet.Invalid, op, "more than %d steps or effects", maxSteps)
	}
	for _, d := range c.Done {
		if err := checkName("step name", d.Name, tenet.MaxID); err != nil {
			return err
		}
		if err := checkOutcome(op, d.Outcome); err != nil {
			return err
		}
	}
	for _, k := range c.Effects {
		if err := checkName("effect key", k, tenet.MaxID); err != nil {
			return err
		}
	}
	return nil
}

// maxSteps bounds the steps and effects that one checkpoint lists.
const maxSteps = 10_000

func checkOutcome(op string, outcome json.RawMessage) error {
	if len(outcome) > tenet.MaxOutcome {
		return tenet.Errorf(tenet.Invalid, op, "the outcome is %d bytes, the limit is %d", len(outcome), tenet.MaxOutcome)
	}
	if len(outcome) == 0 {
		return nil
	}
	return tenet.CheckJSON(outcome)
}

// Checkpoints returns versions newest first, below the given one (zero: from
// the newest), at most limit. Only the newest are kept.
func (s *Session) Checkpoints(ctx context.Context, below int64, limit int) ([]tenet.Checkpoint, error) {
	if err := s.works("checkpoints"); err != nil {
		return nil, err
	}
	return s.runs.Checkpoints(ctx, s.info.Scope, s.info.ID, below, limit)
}

// Resumption is what a worker needs to know before it goes on.
type Resumption struct {
	// Checkpoint is the newest; its Version is 0 when there is none.
	Checkpoint tenet.Checkpoint `json:"checkpoint"`
	// Open effects are claimed by somebody whose lease runs.
	Open []tenet.Effect `json:"open"`
	// InDoubt effects may or may not have happened: ask the provider and
	// resolve them, or claim them with retry when it honours the key.
	InDoubt []tenet.Effect `json:"in_doubt"`
	// Settled effects were begun and have an outcome, at or after the
	// checkpoint's step: the run need not do them again.
	Settled []tenet.Effect `json:"settled"`
}

// Resume says where the run stands, and which effects are open or in doubt.
func (s *Session) Resume(ctx context.Context) (Resumption, error) {
	cs, err := s.Checkpoints(ctx, 0, 1)
	if err != nil {
		return Resumption{}, err
	}
	r := Resumption{Checkpoint: tenet.Checkpoint{Session: s.info.ID}}
	if len(cs) > 0 {
		r.Checkpoint = cs[0]
	}
	es, err := s.Effects(ctx)
	if err != nil {
		return Resumption{}, err
	}
	for _, e := range es {
		switch {
		case e.State == tenet.EffectClaimed:
			r.Open = append(r.Open, e)
		case e.State == tenet.EffectInDoubt:
			r.InDoubt = append(r.InDoubt, e)
		case e.Step >= r.Checkpoint.Step:
			r.Settled = append(r.Settled, e)
		}
	}
	return r, nil
}

// Effects returns the session's effects in the order they were first claimed.
func (s *Session) Effects(ctx context.Context) ([]tenet.Effect, error) {
	if err := s.works("effects"); err != nil {
		return nil, err
	}
	return s.runs.Effects(ctx, s.info.Scope, s.info.ID, s.now())
}

// Claiming asks for the right to carry out an external side effect.
type Claiming struct {
	Key     string
	Step    int
	Payload []byte        // what would be sent; only a keyed digest is kept
	For     time.Duration // how long the outcome may take; zero: a minute
	// Retry says that the provider honours the key, so that an attempt in
	// doubt or failed may be made again.
	Retry bool
	Fence uint64
}

// Claimed is the answer to a claim.
type Claimed struct {
	// Granted says: carry it out, under this key, and settle Effect.Attempt.
	// When it is false, Effect is where it stands: completed with its outcome,
	// failed, or in doubt.
	Granted bool         `json:"granted"`
	Effect  tenet.Effect `json:"effect"`
}

// Claim opens an effect or says where it stands. Errors: Conflict while
// another attempt runs, for a stale fence, and, with code EFFECT_PAYLOAD, when
// the key was claimed with another payload.
func (s *Session) Claim(ctx context.Context, c Claiming) (Claimed, error) {
	const op = "claim"
	if err := s.works(op); err != nil {
		return Claimed{}, err
	}
	if err := checkName("effect key", c.Key, tenet.MaxID); err != nil {
		return Claimed{}, err
	}
	if c.Step < 0 || len(c.Payload) > tenet.MaxState {
		return Claimed{}, tenet.Errorf(tenet.Invalid, op, "a negative step, or a payload over %d bytes", tenet.MaxState)
	}
	until, err := s.until(op, c.For)
	if err != nil {
		return Claimed{}, err
	}
	e, granted, err := s.runs.Claim(ctx, s.info.Scope, store.Claim{
		Session: s.info.ID, Key: c.Key, Step: c.Step, Payload: c.Payload, By: s.by.String(), Retry: c.Retry, Fence: c.Fence,
		Now: s.now(), Until: until,
	})
	return Claimed{granted, e}, err
}

// Complete records what the attempt came to; it is what later claims get.
func (s *Session) Complete(ctx context.Context, key string, attempt int, outcome json.RawMessage) (tenet.Effect, error) {
	return s.settle(ctx, "complete", key, attempt, tenet.EffectCompleted, outcome)
}

// Fail records that the attempt is known not to have happened.
func (s *Session) Fail(ctx context.Context, key string, attempt int, outcome json.RawMessage) (tenet.Effect, error) {
	return s.settle(ctx, "fail", key, attempt, tenet.EffectFailed, outcome)
}

// Resolve settles an effect in doubt with what was found out from the
// provider. It is a Conflict for one that is not in doubt.
func (s *Session) Resolve(ctx context.Context, key string, attempt int, state tenet.EffectState, outcome json.RawMessage) (tenet.Effect, error) {
	es, err := s.Effects(ctx)
	if err != nil {
		return tenet.Effect{}, err
	}
	for _, e := range es {
		if e.Key != key || e.Attempt != attempt {
			continue
		}
		if e.State == tenet.EffectClaimed {
			return tenet.Effect{}, tenet.Errorf(tenet.Conflict, "resolve", "the attempt is under way, not in doubt")
		}
		return s.settle(ctx, "resolve", key, attempt, state, outcome)
	}
	return tenet.Effect{}, tenet.Errorf(tenet.NotFound, "resolve", "no such attempt")
}

func (s *Session) settle(ctx context.Context, op, key string, attempt int, state tenet.EffectState, outcome json.RawMessage) (tenet.Effect, error) {
	if err := s.works(op); err != nil {
		return tenet.Effect{}, err
	}
	if err := checkName("effect key", key, tenet.MaxID); err != nil {
		return tenet.Effect{}, err
	}
	if state != tenet.EffectCompleted && state != tenet.EffectFailed {
		return tenet.Effect{}, tenet.Errorf(tenet.Invalid, op, "an effect settles as completed or failed")
	}
	if attempt < 1 {
		return tenet.Effect{}, tenet.Errorf(tenet.Invalid, op, "attempts count from 1")
	}
	if err := checkOutcome(op, outcome); err != nil {
		return tenet.Effect{}, err
	}
	return once(ctx, s.by, s.now(), func(ctx context.Context) (tenet.Effect, error) {
		return s.runs.Settle(ctx, s.info.Scope, store.Settle{
			Session: s.info.ID, Key: key, Attempt: attempt, State: state, Outcome: outcome, Now: s.now(),
		})
	}, same, same)
}

// works returns an Unavailable error when no store keeps running work.
func (s *Session) works(op string) error {
	if s.runs == nil {
		return tenet.Errorf(tenet.Unavailable, op, "no store for running work")
	}
	return nil
}

func (s *Session) until(op string, d time.Duration) (time.Time, error) {
	orElse(&d, defaultFor)
	if d < time.Millisecond || d > maxHold {
		return time.Time{}, tenet.Errorf(tenet.Invalid, op, "a lease lasts from a millisecond to an hour")
	}
	return s.now().Add(d), nil
}

// checkName returns an Invalid error for a name that cannot be kept.
func checkName(what, name string, limit int) error {
	if name == "" || len(name) > limit {
		return tenet.Errorf(tenet.Invalid, what, "%d bytes, want 1 to %d", len(name), limit)
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f {
			return tenet.Errorf(tenet.Invalid, what, "holds a control character")
		}
	}
	return tenet.CheckText(what, name)
}
