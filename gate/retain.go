package gate

import (
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
)

// Tally is what one report of an outcome says about records: that a use of
// each went well or badly.
type Tally struct {
	Records []tenet.RecordID // in order, without repeats
	Success bool
}

// Rest is how a record stands with forgetting. Dormant ones leave the default
// results and nothing else; pinned ones never become dormant.
type Rest struct {
	Record          tenet.RecordID
	Dormant, Pinned bool
	LowSince        time.Time // the first sweep that found it low; zero: not low
	ServedAt        time.Time // the last serving that sweeps know of
}

// maxTally bounds one report.
const maxTally = 1000

// Credit records an outcome: one decision for the batch. Who runs the agent
// says how it went; an agent or a tool can't vouch for what it was served, or
// poison would keep itself warm.
func (g *Gate) Credit(by tenet.Principal, scope tenet.Scope, t Tally, at time.Time) (Decision, error) {
	const op = "credit"
	switch {
	case !by.MayReach(scope):
		return Decision{}, tenet.Errorf(tenet.Denied, op, "the principal may not act in this scope")
	case by.Kind() != tenet.App && by.Kind() != tenet.EndUser && by.Kind() != tenet.Operator:
		return Decision{}, tenet.Errorf(tenet.Denied, op, "an app, the user or an operator reports outcomes")
	}
	t.Records = slices.Compact(slices.Sorted(slices.Values(t.Records)))
	if n := len(t.Records); n == 0 || n > maxTally {
		return Decision{}, tenet.Errorf(tenet.Invalid, op, "%d records, want 1 to %d", n, maxTally)
	}
	return Decision{&Plan{Kind: Stats, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Tally: &t}}, nil
}

// Retain records what a sweep or a pin decided. It changes no text.
func (g *Gate) Retain(scope tenet.Scope, actor string, rests []Rest, why string, at time.Time) (Decision, error) {
	if scope.IsZero() || len(rests) == 0 {
		return Decision{}, tenet.Errorf(tenet.Invalid, "retain", "no scope, or nothing to retain")
	}
	rests = slices.Clone(rests)
	slices.SortFunc(rests, func(a, b Rest) int {
		if a.Record < b.Record {
			return -1
		}
		return 1
	})
	for i := range rests {
		rests[i].LowSince, rests[i].ServedAt = tenet.Micros(rests[i].LowSince), tenet.Micros(rests[i].ServedAt)
		if i > 0 && rests[i].Record == rests[i-1].Record {
			return Decision{}, tenet.Errorf(tenet.Invalid, "retain", "a record is named twice")
		}
	}
	return Decision{&Plan{Kind: Dormancy, Scope: scope, Actor: actor, At: tenet.Micros(at), Rests: rests, Why: why}}, nil
}
