package gate

import (
	"time"

	"github.com/tenet-memory/tenet"
)

// Window is how long texts of a kind are kept. Of several that match a record
// the last one counts.
type Window struct {
	Tier  tenet.Tier
	Label tenet.Label // zero: any
	// Safety windows are for safety facts, and others never touch those.
	Safety bool
	For    time.Duration // after it was said; zero: for ever
}

// WithRetention sets the windows in which texts are kept. They hold for what is
// judged from then on.
func WithRetention(ws []Window) Option { return func(g *rulebook) { g.windows = ws } }

// expiry is when a record's text is to be dropped; zero: never.
func (g *rulebook) expiry(c Case, r tenet.Record) time.Time {
	keep, ruled := time.Duration(0), false
	for _, w := range g.windows {
		if w.Tier == r.Tier && (w.Label == 0 || w.Label == r.Label) && w.Safety == r.Safety {
			keep, ruled = w.For, true
		}
	}
	if r.Tier == tenet.TierFact && g.keys != nil {
		if spec, known := g.keys(r.Key); known && spec.Keep > 0 {
			keep, ruled = spec.Keep, true
		}
	}
	switch {
	case !ruled:
		return c.ExpiresAt
	case keep == 0:
		return time.Time{}
	}
	said := c.At
	if len(c.Evidence) > 0 {
		said = c.Evidence[0].Said()
	}
	return tenet.Micros(said.Add(keep))
}

// renewEvery bounds how often saying the same again writes a row.
const renewEvery = 24 * time.Hour

// renews reports whether a statement keeps an equal record's text longer than
// it would have been kept.
func renews(rec, r tenet.Record) bool {
	return !r.ExpiresAt.IsZero() && (rec.ExpiresAt.IsZero() || rec.ExpiresAt.Sub(r.ExpiresAt) >= renewEvery)
}

// renew puts rec in the place of an equal record that would have expired
// sooner: it holds since when that one did, on its word too.
func renew(p *Plan, v *tenet.Verdict, rec *tenet.Record, r tenet.Record) {
	rec.Valid, rec.Supersedes = r.Valid, r.ID
	rec.Origins = append(rec.Origins, r.Origins...)
	p.Close = append(p.Close, Close{Record: r.ID, Reason: tenet.ClosedSuperseded, By: rec.ID})
	v.Outcome, v.Record, v.Replaced = tenet.Superseded, rec.ID, r.ID
}

// ExpireText decides to drop the raw text of records past their retention.
// Nothing derived from them is touched and no fingerprint is left: expiry is
// not erasure. What is loaded by its key is not believed any more, since
// nothing is left to believe.
func (g *Gate) ExpireText(scope tenet.Scope, due []tenet.Record, at time.Time) (Decision, error) {
	p := &Plan{Kind: Expire, Scope: scope, Actor: "retention", At: tenet.Micros(at), Ref: "retention"}
	for _, r := range due {
		if r.Scope != scope || r.ExpiresAt.IsZero() || r.ExpiresAt.After(p.At) {
			return Decision{}, tenet.Errorf(tenet.Invalid, "expire", "a record that is not due")
		}
		p.Expire = append(p.Expire, r.ID)
		if r.Known.Open() && (r.Tier == tenet.TierFact || r.Tier == tenet.TierDocument) {
			p.Close = append(p.Close, Close{Record: r.ID, Reason: tenet.ClosedExpired})
		}
	}
	if len(p.Expire) == 0 {
		return Decision{}, tenet.Errorf(tenet.Invalid, "expire", "nothing is due")
	}
	return Decision{p}, nil
}
