package memory

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// Call makes a mutation happen once under a key of its caller's: a transport
// puts it into the context, the engine hands it to the one store call that
// decides, and the store records it in the same transaction. A call that did
// nothing - Invalid, Denied, a Conflict - is not recorded and may be tried again.
type Call struct {
	Route       string        // the operation
	Key         string        // the caller's idempotency key
	Fingerprint []byte        // digest of the whole request
	KeepFor     time.Duration // how long a repetition is recognised

	// Replayed is set when the answer is that of an earlier call.
	Replayed bool
}

type callKey struct{}

// WithCall returns a context under which the engine's next mutation happens
// once. It returns a Conflict with code ONCE_PAYLOAD when the key was used for
// another request.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// AnsweredBefore reports whether the call of the context was answered with what an
// earlier one decided.
func AnsweredBefore(ctx context.Context) bool {
	c := callOf(ctx)
	return c != nil && c.Replayed
}

// CodeOncePayload marks a key that was used with another request.
const CodeOncePayload = store.CodeOncePayload

// once runs the mutation under the caller's key, when there is one, and gives
// back what it returned the first time. keep says what of the result is worth
// recording, and back makes the result from it.
func once[T, K any](ctx context.Context, by tenet.Principal, now time.Time, do func(context.Context) (T, error), keep func(T) K, back func(K) T) (T, error) {
	c := callOf(ctx)
	if c == nil {
		return do(ctx)
	}
	o := c.once(by, now)
	o.Answer = func(result any) ([]byte, error) {
		v, _ := result.(T)
		return json.Marshal(keep(v))
	}
	v, err := do(store.WithOnce(ctx, o))
	var r *store.Replay
	if !errors.As(err, &r) {
		return v, err
	}
	c.Replayed = true
	var k K
	if err := json.Unmarshal(r.Answer, &k); err != nil {
		return v, tenet.Errorf(tenet.Internal, "replay", "the recorded answer does not decode")
	}
	return back(k), nil
}

// answered reports whether the call was answered before: then what it depended
// on has moved since, by the call itself.
func (m *Memory) answered(ctx context.Context, by tenet.Principal) (bool, error) {
	c := callOf(ctx)
	if c == nil || m.onces == nil {
		return false, nil
	}
	r, err := m.onces.Recorded(ctx, c.once(by, m.now()))
	c.Replayed = r != nil
	return r != nil, err
}

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

func (c *Call) once(by tenet.Principal, now time.Time) *store.Once {
	return &store.Once{
		Tenant: by.Tenant(), Caller: by.String(), Route: c.Route, Key: c.Key, Fingerprint: c.Fingerprint,
		Now: now, ExpiresAt: now.Add(c.KeepFor),
	}
}

// same is keep and back for a result that is recorded as it is.
func same[T any](v T) T { return v }

// onceOnly is once for a mutation that returns nothing.
func onceOnly(ctx context.Context, by tenet.Principal, now time.Time, do func(context.Context) error) error {
	_, err := once(ctx, by, now, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) }, same, same)
	return err
}

// onceApplied keeps of applied decisions what was decided.
func onceApplied(ctx context.Context, by tenet.Principal, now time.Time, do func(context.Context) ([]store.Applied, error)) ([]store.Applied, error) {
	return once(ctx, by, now, do,
		func(as []store.Applied) []tenet.Verdict {
			vs := make([]tenet.Verdict, 0, len(as))
			for _, a := range as {
				if a.Verdict.Outcome != 0 {
					vs = append(vs, a.Verdict)
				}
			}
			return vs
		},
		func(vs []tenet.Verdict) []store.Applied {
			as := make([]store.Applied, len(vs))
			for i, v := range vs {
				as[i] = store.Applied{Verdict: v, Replayed: true}
			}
			return as
		})
}
