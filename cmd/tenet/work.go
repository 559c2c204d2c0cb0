package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type checkpointCmd struct {
	Put    checkpointPutCmd    `cmd:"" help:"Keep where a run stands; the version is the last one plus one."`
	List   checkpointListCmd   `cmd:"" help:"List checkpoints, newest first."`
	Resume checkpointResumeCmd `cmd:"" help:"Show where to go on, and which effects are open or in doubt."`
}

type checkpointPutCmd struct {
	Session string `arg:"" help:"The session's id."`
	Version int64  `arg:"" help:"The last version plus one."`
	Step    int    `arg:"" help:"Index of the step to run next."`
	State   string `help:"State to keep; - reads standard input."`
	Fence   uint64 `help:"Fence of a hold; a stale one is refused."`
}

func (c checkpointPutCmd) Run(a *app) error {
	state, err := a.text(c.State)
	if err != nil {
		return err
	}
	s, err := a.openSession(c.Session, nil, writes, false)
	if err != nil {
		return err
	}
	k, err := s.Checkpoint(a.ctx, tenet.Checkpoint{Version: c.Version, Step: c.Step, State: []byte(state), Position: s.Info().Length}, c.Fence)
	if err != nil {
		return err
	}
	return a.print(k, func() { a.printf("checkpoint %d of %s: step %d\n", k.Version, printable(c.Session), k.Step) })
}

type checkpointListCmd struct {
	Session string `arg:"" help:"The session's id."`
	Limit   int    `help:"At most this many." default:"20"`
}

func (c checkpointListCmd) Run(a *app) error {
	s, err := a.openSession(c.Session, nil, reads, true)
	if err != nil {
		return err
	}
	ks, err := s.Checkpoints(a.ctx, 0, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"checkpoints": orEmpty(ks)}, func() {
		var rows [][]string
		for _, k := range ks {
			rows = append(rows, []string{strconv.FormatInt(k.Version, 10), strconv.Itoa(k.Step), stamp(k.At), k.By, strconv.Itoa(len(k.State))})
		}
		a.table("VERSION|STEP|AT|BY|BYTES", rows)
	})
}

type checkpointResumeCmd struct {
	Session string `arg:"" help:"The session's id."`
}

func (c checkpointResumeCmd) Run(a *app) error {
	s, err := a.openSession(c.Session, nil, reads, true)
	if err != nil {
		return err
	}
	r, err := s.Resume(a.ctx)
	if err != nil {
		return err
	}
	return a.print(r, func() {
		a.printf("checkpoint %d, next step %d\n", r.Checkpoint.Version, r.Checkpoint.Step)
		a.effects(append(append(append([]tenet.Effect{}, r.InDoubt...), r.Open...), r.Settled...))
	})
}

func (a *app) effects(es []tenet.Effect) {
	var rows [][]string
	for _, e := range es {
		rows = append(rows, []string{e.Key, string(e.State), strconv.Itoa(e.Step), strconv.Itoa(e.Attempt), e.ClaimedBy, stamp(e.LeaseUntil), string(e.Outcome)})
	}
	if rows != nil {
		a.table("EFFECT|STATE|STEP|ATTEMPT|BY|LEASE|OUTCOME", rows)
	}
}

type effectCmd struct {
	List     effectListCmd    `cmd:"" help:"List a session's external side effects."`
	Claim    effectClaimCmd   `cmd:"" help:"Ask to carry an effect out; a completed one answers with its outcome."`
	Complete effectSettleCmd  `cmd:"" help:"Record what an effect came to."`
	Fail     effectFailCmd    `cmd:"" help:"Record that an effect did not happen."`
	Resolve  effectResolveCmd `cmd:"" help:"Settle an effect in doubt with what the provider says."`
}

type effectListCmd struct {
	Session string `arg:"" help:"The session's id."`
}

func (c effectListCmd) Run(a *app) error {
	s, err := a.openSession(c.Session, nil, reads, true)
	if err != nil {
		return err
	}
	es, err := s.Effects(a.ctx)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"effects": orEmpty(es)}, func() { a.effects(es) })
}

type effectClaimCmd struct {
	Session string        `arg:"" help:"The session's id."`
	Effect  string        `arg:"" help:"The idempotency key that the provider gets, too."`
	Payload string        `help:"What would be sent, as JSON; only a keyed digest is kept."`
	Step    int           `help:"Step of the run."`
	Lease   time.Duration `help:"How long the outcome may take." default:"1m"`
	Retry   bool          `help:"The provider honours the key: another attempt when it is in doubt or failed."`
	Fence   uint64        `help:"Fence of a hold; a stale one is refused."`
}

func (c effectClaimCmd) Run(a *app) error {
	if c.Payload != "" {
		if err := tenet.CheckJSON([]byte(c.Payload)); err != nil {
			return err
		}
	}
	s, err := a.openSession(c.Session, nil, writes, false)
	if err != nil {
		return err
	}
	got, err := s.Claim(a.ctx, memory.Claiming{Key: c.Effect, Step: c.Step, Payload: []byte(c.Payload), For: c.Lease, Retry: c.Retry, Fence: c.Fence})
	if err != nil {
		return err
	}
	return a.print(got, func() {
		word := "not granted"
		if got.Granted {
			word = "granted"
		}
		a.printf("%s\n", word)
		a.effects([]tenet.Effect{got.Effect})
	})
}

type settling struct {
	Session string `arg:"" help:"The session's id."`
	Effect  string `arg:"" help:"The effect's key."`
	Attempt int    `arg:"" help:"The attempt that was granted."`
	Outcome string `help:"Outcome as JSON; what later claims get."`
}

func (c settling) settle(a *app, do func(conversation) (tenet.Effect, error)) error {
	if strings.TrimSpace(c.Outcome) != "" {
		if err := tenet.CheckJSON([]byte(c.Outcome)); err != nil {
			return err
		}
	}
	s, err := a.openSession(c.Session, nil, reads, true)
	if err != nil {
		return err
	}
	e, err := do(s)
	if err != nil {
		return err
	}
	return a.print(e, func() { a.effects([]tenet.Effect{e}) })
}

type effectSettleCmd struct{ settling }

func (c effectSettleCmd) Run(a *app) error {
	return c.settle(a, func(s conversation) (tenet.Effect, error) {
		return s.Complete(a.ctx, c.Effect, c.Attempt, json.RawMessage(c.Outcome))
	})
}

type effectFailCmd struct{ settling }

func (c effectFailCmd) Run(a *app) error {
	return c.settle(a, func(s conversation) (tenet.Effect, error) {
		return s.Fail(a.ctx, c.Effect, c.Attempt, json.RawMessage(c.Outcome))
	})
}

type effectResolveCmd struct {
	settling
	State string `required:"" enum:"completed,failed" help:"What became of it: completed or failed."`
}

func (c effectResolveCmd) Run(a *app) error {
	return c.settle(a, func(s conversation) (tenet.Effect, error) {
		return s.Resolve(a.ctx, c.Effect, c.Attempt, tenet.EffectState(c.State), json.RawMessage(c.Outcome))
	})
}
