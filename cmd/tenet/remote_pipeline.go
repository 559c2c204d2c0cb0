package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// The operator's side of the pipeline, at a server.

type wireJob struct {
	memory.Job
	Scope wireScope `json:"scope"`
}

func (o remoteReview) Jobs(ctx context.Context, skip, limit int) ([]memory.Job, error) {
	ws, err := pages(ctx, o.r, "/v1/jobs", url.Values{}, func(wireJob) bool { skip--; return skip < 0 }, limit)
	out := make([]memory.Job, 0, len(ws))
	for _, w := range ws {
		w.Job.Scope = w.Scope.scope()
		out = append(out, w.Job)
	}
	return out, err
}

func (r *remote) Status(ctx context.Context, _ tenet.Principal, scope tenet.Scope, id tenet.SessionID, after tenet.CandidateID, limit int) (memory.Status, error) {
	q := url.Values{"limit": {strconv.Itoa(min(limit, 1000))}}
	if after != "" {
		q.Set("after", string(after))
	}
	var out memory.Status
	_, err := r.call(ctx, request{method: http.MethodGet, path: scoped(scope, "sessions", string(id), "status"), query: q}, &out)
	out.Job.Scope = scope
	return out, err
}

func (o remoteReview) Retry(ctx context.Context, id tenet.SessionID) error {
	_, err := o.r.call(ctx, request{method: http.MethodPost, path: scoped(o.scope, "jobs", string(id), "retry")}, nil)
	return err
}

func (o remoteReview) Drop(ctx context.Context, id tenet.SessionID, why string) (int64, error) {
	var out struct {
		Skipped int64 `json:"skipped"`
	}
	_, err := o.r.call(ctx, request{method: http.MethodPost, path: scoped(o.scope, "jobs", string(id), "drop"), body: map[string]any{"why": why}}, &out)
	return out.Skipped, err
}

func (o remoteReview) Stats(ctx context.Context) (memory.Stats, error) {
	var out memory.Stats
	_, err := o.r.call(ctx, request{method: http.MethodGet, path: scoped(o.scope, "stats")}, &out)
	return out, err
}

func (o remoteReview) Conflicts(ctx context.Context) ([]memory.Cluster, error) {
	return o.clusters(ctx, "false")
}

func (o remoteReview) Clusters(ctx context.Context) ([]memory.Cluster, error) {
	return o.clusters(ctx, "true")
}

func (o remoteReview) clusters(ctx context.Context, all string) ([]memory.Cluster, error) {
	var out struct {
		Clusters []memory.Cluster `json:"clusters"`
	}
	_, err := o.r.call(ctx, request{method: http.MethodGet, path: scoped(o.scope, "conflicts"), query: url.Values{"all": {all}}}, &out)
	for _, c := range out.Clusters {
		for i := range c.Records {
			c.Records[i].Scope = o.scope
		}
	}
	return out.Clusters, err
}

func (o remoteReview) ReleaseAs(ctx context.Context, id tenet.CandidateID, tier tenet.Tier, key string) (tenet.Verdict, error) {
	body := map[string]any{"tier": tier.String()}
	if key != "" {
		body["key"] = key
	}
	var out verdictOut
	_, err := o.r.call(ctx, request{method: http.MethodPost, path: scoped(o.scope, "quarantine", string(id), "release-as"), body: body}, &out)
	return out.Verdict, err
}

func (o remoteReview) reextract(ctx context.Context, extractor string, since time.Time, commit bool) (memory.Reextraction, error) {
	body := map[string]any{"extractor": extractor, "commit": commit}
	if !since.IsZero() {
		body["since"] = since
	}
	var out memory.Reextraction
	_, err := o.r.call(ctx, request{method: http.MethodPost, path: scoped(o.scope, "reextract"), body: body}, &out)
	for i := range out.Added {
		out.Added[i].Scope = o.scope
	}
	for i := range out.Removed {
		out.Removed[i].Scope = o.scope
	}
	return out, err
}
