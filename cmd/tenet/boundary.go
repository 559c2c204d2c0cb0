package main

import (
	"context"
	"net/http"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// governance is what both an engine and a server offer at the write boundary.
type governance interface {
	Vet(context.Context, tenet.Principal, tenet.Candidate) (tenet.Verdict, error)
	Ask(context.Context, tenet.Principal, tenet.Scope, tenet.CandidateID) (memory.Prompt, error)
	Confirm(ctx context.Context, by tenet.Principal, scope tenet.Scope, nonce string) (tenet.Verdict, error)
	Authorize(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, action string, rests ...tenet.RecordID) (memory.Authorization, error)
}

// governed is the engine over a file, or a server.
func (a *app) governed(may access) (governance, error) {
	if a.set.values["server"] != "" {
		return a.remote()
	}
	return a.memory(may)
}

// vetCmd takes what remember takes.
type vetCmd struct{ rememberCmd }

func (c vetCmd) Run(a *app) error {
	cand, err := c.candidate(a)
	if err != nil {
		return err
	}
	by, err := a.principal(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.governed(reads)
	if err != nil {
		return err
	}
	v, err := m.Vet(a.ctx, by, cand)
	if err != nil {
		return err
	}
	return a.print(v, func() { a.verdict(v) })
}

type askCmd struct {
	Candidate string `arg:"" help:"The held candidate's id."`
}

func (c askCmd) Run(a *app) error {
	scope, by, err := a.acting(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.governed(reads)
	if err != nil {
		return err
	}
	p, err := m.Ask(a.ctx, by, scope, tenet.CandidateID(c.Candidate))
	if err != nil {
		return err
	}
	return a.print(p, func() {
		a.printf("%s\n", printable(p.Text))
		if p.Key != "" {
			a.printf("  key      %s\n", printable(p.Key))
		}
		if p.Current != "" {
			a.printf("  instead of  %s\n", printable(p.Current))
		}
		a.printf("  origin   %s\n  effect   %s\n  until    %s\n  nonce    %s\n", printable(p.Origin), p.Effect, stamp(p.ExpiresAt), p.Nonce)
	})
}

type confirmCmd struct {
	Nonce string `arg:"" help:"The nonce of what was shown. Needs --as user."`
}

func (c confirmCmd) Run(a *app) error {
	scope, by, err := a.acting(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.governed(reads)
	if err != nil {
		return err
	}
	v, err := m.Confirm(a.ctx, by, scope, c.Nonce)
	if err != nil {
		return err
	}
	return a.print(v, func() { a.verdict(v) })
}

type authorizeCmd struct {
	Session string   `arg:"" help:"The session's id."`
	Action  string   `arg:"" help:"payment, account_change, outbound_message, data_sharing, code_execution, deletion, or one of the policy's own."`
	On      []string `sep:"none" help:"The records that the action rests on." placeholder:"RECORD"`
}

func (c authorizeCmd) Run(a *app) error {
	scope, by, err := a.acting(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.governed(reads)
	if err != nil {
		return err
	}
	var on []tenet.RecordID
	for _, r := range c.On {
		on = append(on, tenet.RecordID(r))
	}
	z, err := m.Authorize(a.ctx, by, scope, tenet.SessionID(c.Session), c.Action, on...)
	if err != nil {
		return err
	}
	return a.print(z, func() {
		a.printf("%s %s\n", z.Answer, printable(z.Action))
		for _, r := range z.Reasons {
			a.printf("  %s: %s (%d)\n", r.Answer, r.Code, r.N)
		}
	})
}

// acting is the scope and who acts in it.
func (a *app) acting(def tenet.PrincipalKind) (tenet.Scope, tenet.Principal, error) {
	scope, err := a.scope()
	if err != nil {
		return scope, tenet.Principal{}, err
	}
	by, err := a.principal(def)
	return scope, by, err
}

// The same at a server.

func (r *remote) Vet(ctx context.Context, _ tenet.Principal, c tenet.Candidate) (tenet.Verdict, error) {
	var out verdictOut
	_, err := r.call(ctx, request{method: http.MethodPost, path: scoped(c.Scope, "vet"), body: candidateBody(c)}, &out)
	return out.Verdict, err
}

func (r *remote) Ask(ctx context.Context, _ tenet.Principal, scope tenet.Scope, id tenet.CandidateID) (memory.Prompt, error) {
	var out memory.Prompt
	_, err := r.call(ctx, request{method: http.MethodPost, path: scoped(scope, "confirmable", string(id), "ask")}, &out)
	return out, err
}

func (r *remote) Confirm(ctx context.Context, _ tenet.Principal, scope tenet.Scope, nonce string) (tenet.Verdict, error) {
	var out verdictOut
	_, err := r.call(ctx, request{method: http.MethodPost, path: scoped(scope, "confirm"), body: map[string]any{"nonce": nonce}, once: newKey}, &out)
	return out.Verdict, err
}

func (r *remote) Authorize(ctx context.Context, _ tenet.Principal, scope tenet.Scope, id tenet.SessionID, action string, rests ...tenet.RecordID) (memory.Authorization, error) {
	var out memory.Authorization
	body := map[string]any{"action": action}
	if len(rests) > 0 {
		body["records"] = rests
	}
	_, err := r.call(ctx, request{method: http.MethodPost, path: scoped(scope, "sessions", string(id), "authorize"), body: body}, &out)
	return out, err
}

type gateCmd struct {
	Replay gateReplayCmd `cmd:"" help:"Judge the logged refusals again under the present rules, and show what would change."`
}

type gateReplayCmd struct {
	Since moment `help:"Only what was refused from then on." placeholder:"TIME"`
	All   bool   `help:"Print those that would not change, too."`
}

// remedy is what an operator does after an incident, or after a change of rules.
type remedy interface {
	Taint(context.Context, memory.Source) (memory.Taint, error)
	Revoke(ctx context.Context, src memory.Source, why string) (memory.Taint, error)
	Rescan(ctx context.Context, why string, apply bool) (memory.Rescan, error)
	// replays calls f with the logged refusals since a time, judged again.
	replays(ctx context.Context, since time.Time, f func(memory.Replayed)) (ruleset string, err error)
}

// localRemedy is the engine's, over a file.
type localRemedy struct{ *memory.Operator }

func (o localRemedy) replays(ctx context.Context, since time.Time, f func(memory.Replayed)) (string, error) {
	for after := tenet.CandidateID(""); ; {
		hs, err := o.Held(ctx, after, 100)
		if err != nil || len(hs) == 0 {
			return o.RuleSet(), err
		}
		page, err := o.Replay(ctx, after, 100)
		if err != nil {
			return "", err
		}
		for _, r := range page {
			if !r.Held.Verdict.At.Before(since) {
				f(r)
			}
		}
		after = hs[len(hs)-1].Verdict.Candidate
	}
}

func (a *app) remedy() (remedy, error) {
	scope, by, err := a.acting(tenet.Operator)
	if err != nil {
		return nil, err
	}
	if a.set.values["server"] != "" {
		r, err := a.remote()
		return remoteRemedy{r, scope}, err
	}
	m, err := a.memory(reads)
	if err != nil {
		return nil, err
	}
	o, err := m.Operator(by, scope)
	return localRemedy{o}, err
}

func (c gateReplayCmd) Run(a *app) error {
	o, err := a.remedy()
	if err != nil {
		return err
	}
	shown, judged, flips := []memory.Replayed{}, 0, 0
	ruleset, err := o.replays(a.ctx, c.Since.Time, func(r memory.Replayed) {
		judged++
		if r.Flips {
			flips++
		}
		if r.Flips || c.All {
			shown = append(shown, r)
		}
	})
	if err != nil {
		return err
	}
	return a.print(map[string]any{"judged": judged, "flips": flips, "ruleset": ruleset, "replayed": shown}, func() {
		var rows [][]string
		for _, r := range shown {
			rows = append(rows, []string{string(r.Held.Verdict.Candidate), r.Held.Verdict.Outcome.String(), r.Now.Outcome.String(), codes(r.Held.Verdict.Codes), dash(codes(r.Now.Codes)), dash(r.Partial)})
		}
		if len(rows) > 0 {
			a.table("CANDIDATE|WAS|NOW|CODES|CODES NOW|ONLY PARTLY", rows)
		}
		a.printf("%d refusals judged again under %s, %d would come out otherwise\n", judged, ruleset, flips)
	})
}

type taintCmd struct {
	Session string `xor:"source" help:"What came from a session."`
	Message string `xor:"source" help:"What came from a message."`
	Origin  string `xor:"source" help:"What came from a principal (connector:crm) or a channel (channel:external)."`
	Key     string `name:"fact-key" xor:"source" help:"What stands or stood under a fact's key."`
	Record  string `xor:"source" help:"One record and its parts."`
	Since   moment `help:"Only what was learned from then on." placeholder:"TIME"`
	Revoke  bool   `help:"Close it all, in one transaction, and put back what it had pushed out, ended or retracted."`
	DryRun  bool   `help:"With --revoke: show what would be done and do nothing."`
	Why     string `help:"The reason, kept with the audit entry. Not memory text."`
}

func (c taintCmd) Run(a *app) error {
	o, err := a.remedy()
	if err != nil {
		return err
	}
	src := memory.Source{
		Session: tenet.SessionID(c.Session), Message: tenet.MessageID(c.Message), Origin: c.Origin, Key: c.Key, Record: tenet.RecordID(c.Record), Since: c.Since.Time,
	}
	t, err := memory.Taint{}, error(nil)
	if c.Revoke && !c.DryRun {
		t, err = o.Revoke(a.ctx, src, c.Why)
	} else {
		t, err = o.Taint(a.ctx, src)
	}
	if err != nil {
		return err
	}
	return a.print(t, func() {
		var rows [][]string
		for _, r := range t.Records {
			state := "believed"
			if !r.Known.Open() {
				state = string(r.Closed)
			}
			if t.Revoked != "" && r.Known.Open() {
				state = "revoked now"
			}
			rows = append(rows, []string{string(r.ID), r.Tier.String(), dash(r.Key), r.Label.String(), state, r.Text})
		}
		if len(rows) > 0 {
			a.table("RECORD|TIER|KEY|LABEL|STATE|TEXT", rows)
		}
		a.printf("%d records came from it, %d of them believed; %d more were only agreed with and stay\n", len(t.Records), t.Open(), len(t.Agreed))
		for _, r := range t.Undone {
			a.printf("  was %s on its word: %s %s\n", r.Closed, printable(r.Key), printable(r.Text))
		}
		for _, p := range t.Restored {
			a.printf("  comes back: %s %s, true %s\n", printable(p.Of.Key), printable(p.Of.Text), span(p.Valid))
		}
		seen := map[string]bool{}
		for _, r := range t.Served {
			if line := r.Scope.String() + " session " + printable(string(r.Session)); !seen[line] {
				seen[line] = true
				a.printf("  was shown to: %s\n", line)
			}
		}
		for _, id := range t.Again {
			a.printf("  is consolidated again: session %s\n", printable(string(id)))
		}
		for _, id := range t.Missed {
			a.printf("  could not be read again just now: session %s\n", printable(string(id)))
		}
		if t.Revoked != "" {
			a.printf("revoked as %s\n", t.Revoked)
		}
	})
}

type rescanCmd struct {
	Apply bool   `help:"Take what would be held or rejected now out of belief: one audited decision a record."`
	Why   string `help:"The reason, kept with the audit entries. Not memory text."`
}

func (c rescanCmd) Run(a *app) error {
	o, err := a.remedy()
	if err != nil {
		return err
	}
	x, err := o.Rescan(a.ctx, c.Why, c.Apply)
	if err != nil {
		return err
	}
	return a.print(x, func() {
		var rows [][]string
		for _, r := range x.Flips {
			rows = append(rows, []string{string(r.Record.ID), r.Record.Tier.String(), dash(r.Record.Key), r.Record.Label.String(), r.Now.Outcome.String(), codes(r.Now.Codes)})
		}
		if len(rows) > 0 {
			a.table("RECORD|TIER|KEY|LABEL|NOW|CODES", rows)
		}
		a.printf("%d records judged again under %s, %d would not be let in, %d withdrawn\n", x.Judged, x.RuleSet, len(x.Flips), x.Withdrew)
	})
}
