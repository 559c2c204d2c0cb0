package gate

import "github.com/tenet-memory/tenet"

// Stored is how much is kept of durable memory.
type Stored struct {
	Records  int64 `json:"records"`  // those that Counts
	Bytes    int64 `json:"bytes"`    // of keys, texts and values, of what is not believed any more, too
	Subjects int64 `json:"subjects"` // with at least one such record
}

// Counts reports whether a record is one of a quota's: believed, with its text,
// and not the ended rest of one whose place another took.
func Counts(r tenet.Record) bool {
	return r.Known.Open() && !r.Expired && (r.FragmentOf == "" || r.Valid.Open())
}

// Plus is the sum of both.
func (s Stored) Plus(t Stored) Stored {
	return Stored{s.Records + t.Records, s.Bytes + t.Bytes, s.Subjects + t.Subjects}
}

// Minus is what s is more than t.
func (s Stored) Minus(t Stored) Stored {
	return Stored{s.Records - t.Records, s.Bytes - t.Bytes, s.Subjects - t.Subjects}
}

// Quota is how much a tenant may keep; 0 is no bound.
type Quota struct {
	Records  int64 `json:"records"`
	Bytes    int64 `json:"bytes"`
	Subjects int64 `json:"subjects"`
}

// QuotaLimits are the names of a quota's limits.
var QuotaLimits = []string{"records", "bytes", "subjects"}

// Of is a limit and what is kept of it.
func (q Quota) Of(limit string, s Stored) (most, kept int64) {
	switch limit {
	case "records":
		return q.Records, s.Records
	case "bytes":
		return q.Bytes, s.Bytes
	case "subjects":
		return q.Subjects, s.Subjects
	}
	return 0, 0
}

// With is the quota with one limit set.
func (q Quota) With(limit string, most int64) Quota {
	switch limit {
	case "records":
		q.Records = most
	case "bytes":
		q.Bytes = most
	case "subjects":
		q.Subjects = most
	}
	return q
}

// Passed names the first limit that s passes and g made grow; empty: none. What
// does not grow is not refused, however much there is.
func (q Quota) Passed(s, g Stored) string {
	for _, limit := range QuotaLimits {
		most, kept := q.Of(limit, s)
		if _, grown := q.Of(limit, g); most > 0 && grown > 0 && kept > most {
			return limit
		}
	}
	return ""
}

// reserve is what safety facts may use: a tenth more, so that a full memory
// still takes an allergy.
func (q Quota) reserve() Quota {
	return Quota{q.Records + q.Records/10, q.Bytes + q.Bytes/10, q.Subjects + q.Subjects/10}
}

// Quotas are how much each tenant may keep.
type Quotas struct {
	Default Quota
	Of      map[string]Quota // by tenant, in place of Default
}

// For is the tenant's quota.
func (q Quotas) For(tenant string) Quota {
	if own, ok := q.Of[tenant]; ok {
		return own
	}
	return q.Default
}

// WithQuotas bounds what each tenant may keep. Quotas are no part of the rule
// set: they say how much, not what, and Adopt leaves them as they are.
func WithQuotas(q Quotas) Option { return func(b *rulebook) { b.quotas = q } }

// Quotas are the gate's.
func (g *Gate) Quotas() Quotas { return g.at.Load().quotas }

// bound gives a plan that adds to memory the quota that it has to keep within.
// What ends, retracts, revokes or erases has none: it must go when memory is full.
func (q Quotas) bound(p *Plan) {
	if p.Kind != Admit || len(p.Insert) == 0 {
		return
	}
	p.Quota = q.For(p.Scope.Tenant())
	for _, r := range p.Insert {
		if r.Safety {
			p.Quota = p.Quota.reserve()
			return
		}
	}
}
