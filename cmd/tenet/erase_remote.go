package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"net/url"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

func (r *remote) Erase(ctx context.Context, _ tenet.Principal, scope tenet.Scope, e memory.Erasing) (memory.Erasure, error) {
	s := e.Of
	name := string(s.Record) + string(s.Message) + string(s.Session) + s.Key + s.Origin // one of them is set
	var out memory.Erasure
	_, err := r.call(ctx, request{method: "POST", path: scoped(scope, "erase"), body: map[string]any{
		"what": s.What(), "name": name, "why": e.Why, "dry_run": e.DryRun,
	}}, &out)
	return out, err
}

func (r *remote) VerifyErasure(ctx context.Context, _ tenet.Principal, scope tenet.Scope, receipt memory.ErasureReceipt, key ed25519.PublicKey) (memory.ErasureCheck, error) {
	if key != nil && receipt.Key != hex.EncodeToString(key) {
		return memory.ErasureCheck{Places: map[string]int{}}, nil
	}
	var out memory.ErasureCheck
	_, err := r.call(ctx, request{method: "POST", path: scoped(scope, "erasures", "verify"), body: receipt}, &out)
	return out, err
}

func (o remoteReview) Erasures(ctx context.Context, limit int) ([]memory.ErasureState, error) {
	var out struct {
		Erasures []memory.ErasureState `json:"erasures"`
	}
	_, err := o.r.call(ctx, request{method: "GET", path: "/v1/erasures", query: url.Values{"limit": {strconv.Itoa(limit)}}}, &out)
	return out.Erasures, err
}
