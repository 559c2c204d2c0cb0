package main

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// remoteRemedy is remedy at a server.
type remoteRemedy struct {
	r     *remote
	scope tenet.Scope
}

func (o remoteRemedy) Taint(ctx context.Context, src memory.Source) (memory.Taint, error) {
	return o.taint(ctx, src, map[string]any{})
}

func (o remoteRemedy) Revoke(ctx context.Context, src memory.Source, why string) (memory.Taint, error) {
	return o.taint(ctx, src, map[string]any{"revoke": true, "why": why})
}

func (o remoteRemedy) taint(ctx context.Context, src memory.Source, body map[string]any) (memory.Taint, error) {
	for name, v := range map[string]string{
		"session": string(src.Session), "message": string(src.Message), "origin": src.Origin, "key": src.Key, "record": string(src.Record),
	} {
		if v != "" {
			body[name] = v
		}
	}
	if !src.Since.IsZero() {
		body["since"] = src.Since
	}
	var out struct {
		memory.Taint
		Served []struct {
			store.ScopedReceipt
			Scope wireScope `json:"scope"`
		} `json:"served"`
	}
	_, err := o.r.call(ctx, request{method: http.MethodPost, path: scoped(o.scope, "taint"), body: body}, &out)
	t := out.Taint
	for i := range t.Records {
		t.Records[i].Scope = o.scope
	}
	for i := range t.Undone {
		t.Undone[i].Scope = o.scope
	}
	for i := range t.Restored {
		t.Restored[i].Of.Scope = o.scope
	}
	t.Served = []store.ScopedReceipt{}
	for _, s := range out.Served {
		s.ScopedReceipt.Scope = s.Scope.scope()
		t.Served = append(t.Served, s.ScopedReceipt)
	}
	return t, err
}

func (o remoteRemedy) Rescan(ctx context.Context, why string, apply bool) (memory.Rescan, error) {
	var out memory.Rescan
	_, err := o.r.call(ctx, request{method: http.MethodPost, path: scoped(o.scope, "rescan"), body: map[string]any{"apply": apply, "why": why}}, &out)
	for i := range out.Flips {
		out.Flips[i].Record.Scope = o.scope
	}
	return out, err
}

func (o remoteRemedy) replays(ctx context.Context, since time.Time, f func(memory.Replayed)) (string, error) {
	q := url.Values{"limit": {"100"}}
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
	for {
		var out struct {
			RuleSet string            `json:"ruleset"`
			Items   []memory.Replayed `json:"items"`
			Next    string            `json:"next"`
		}
		if _, err := o.r.call(ctx, request{method: http.MethodGet, path: scoped(o.scope, "replay"), query: q}, &out); err != nil {
			return "", err
		}
		for _, r := range out.Items {
			r.Held.Candidate.Scope = o.scope
			f(r)
		}
		if out.Next == "" {
			return out.RuleSet, nil
		}
		q.Set("cursor", out.Next)
	}
}
