// Package forget decides when a semantic record leaves the default results and
// when it comes back. It is pure arithmetic over what it is given: it reads no
// clock and no store, and forgetting here is suppression, never deletion.
//
// It imports the standard library only.
//
// The score corrects the article's formula, which in the form printed never
// evicts anything that was not used (see the tests named after it). The parts
// are Park et al.'s recency and importance and Memory Worth (arXiv 2604.12007);
// relevance ranks a query's hits and has no place in a sweep.
package forget

import (
	"math"
	"time"
)

// Class sets how fast recency fades.
type Class uint8

const (
	Note      Class = iota // an extracted statement
	Episode                // a verbatim turn
	Procedure              // how something was done
)

// Importance priors by what a record is. No model is asked: it would stand on
// the write path.
const (
	ImportanceNote       = 0.2
	ImportanceFact       = 0.3
	ImportancePreference = 0.4
	ImportanceCorrection = 0.6
	ImportanceCommitment = 0.7
	ImportanceSafety     = 1.0
)

// Params are the numbers of the policy. Weights sum to 1; times are half-lives.
type Params struct {
	RecencyWeight, ImportanceWeight, WorthWeight float64

	HalfLife      [3]time.Duration // by Class
	WorthHalfLife time.Duration    // of success and failure counts
	WorthPrior    float64          // pseudo-counts of success and failure each
	WorthMinimum  float64          // outcomes before worth may count below one half

	Demote, Promote float64       // the gap between them keeps an entry from thrashing
	SweepGap        time.Duration // between two sweeps that count as two
	Youngest        time.Duration // nothing younger goes dormant
	Unserved        time.Duration // without a serving, for the second signal
}

// DefaultParams are reasoned, not calibrated: try a change with a dry run.
func DefaultParams() Params {
	const day = 24 * time.Hour
	return Params{
		RecencyWeight: 0.5, ImportanceWeight: 0.2, WorthWeight: 0.3,
		HalfLife:      [3]time.Duration{Note: 30 * day, Episode: 14 * day, Procedure: 60 * day},
		WorthHalfLife: 90 * day, WorthPrior: 2, WorthMinimum: 5,
		Demote: 0.25, Promote: 0.40, SweepGap: day, Youngest: 14 * day, Unserved: 90 * day,
	}
}

// Entry is what a sweep knows of one record.
type Entry struct {
	Class      Class
	Importance float64 // 0 to 1
	RecordedAt time.Time
	// CreditedAt is the last use that an outcome was reported for. Being
	// recalled is not a use, or an attacker could keep poison warm by asking.
	CreditedAt time.Time
	ServedAt   time.Time // the last time a recall served it

	// Success and Failure count reported outcomes, decayed as of CountedAt.
	Success, Failure float64
	CountedAt        time.Time

	Dormant  bool
	LowSince time.Time // the first sweep that found it low; zero: not low
	Exempt   bool      // pinned, safety, held, confirmed, or a key's only value
}

// Worth is the chance that a use of the entry goes well: the counts with a
// prior, and not below one half before enough outcomes are in.
func (p Params) Worth(e Entry, now time.Time) float64 {
	s, f := p.Counts(e, now)
	w := (s + p.WorthPrior) / (s + f + 2*p.WorthPrior)
	if s+f < p.WorthMinimum {
		w = max(w, 0.5)
	}
	return w
}

// Counts are the entry's successes and failures, decayed to now.
func (p Params) Counts(e Entry, now time.Time) (success, failure float64) {
	d := decay(since(e.CountedAt, now), p.WorthHalfLife)
	return e.Success * d, e.Failure * d
}

// Score is the retention score, 0 to 1: 0.5 recency + 0.2 importance + 0.3
// worth at the default weights.
func (p Params) Score(e Entry, now time.Time) float64 {
	last := e.RecordedAt
	if e.CreditedAt.After(last) {
		last = e.CreditedAt
	}
	recency := decay(since(last, now), p.HalfLife[e.Class])
	return p.RecencyWeight*recency + p.ImportanceWeight*e.Importance + p.WorthWeight*p.Worth(e, now)
}

// Reason says why a sweep leaves an entry as it is or changes it.
type Reason string

const (
	Keeps    Reason = "KEEPS"    // the score is high enough
	Exempted Reason = "EXEMPT"   // never forgotten
	Young    Reason = "YOUNG"    // too recent to judge
	Low      Reason = "LOW"      // low for the first time, or too soon after it
	OneSign  Reason = "ONE_SIGN" // low, but no second signal agrees
	Sleeps   Reason = "SLEEPS"   // becomes dormant
	Asleep   Reason = "ASLEEP"   // stays dormant
	Wakes    Reason = "WAKES"    // becomes active again
)

// Step is the outcome of one sweep for one entry.
type Step struct {
	Score    float64
	Dormant  bool      // from now on
	LowSince time.Time // to be kept for the next sweep
	Reason   Reason
}

// Sweep judges an entry. It goes dormant only on two signals: a score under
// Demote on two sweeps, and either a bad record of outcomes, or no serving for
// a long time in a scope over its budget of entries. So users who report no
// outcomes don't lose their memory. It wakes at Promote.
func (p Params) Sweep(e Entry, now time.Time, overBudget bool) Step {
	st := Step{Score: p.Score(e, now), Dormant: e.Dormant, LowSince: e.LowSince}
	switch {
	case e.Exempt:
		return Step{Score: st.Score, Reason: Exempted}
	case e.Dormant && st.Score >= p.Promote:
		return Step{Score: st.Score, Reason: Wakes}
	case e.Dormant:
		st.Reason = Asleep
		return st
	case st.Score >= p.Demote:
		return Step{Score: st.Score, Reason: Keeps}
	case since(e.RecordedAt, now) < p.Youngest:
		return Step{Score: st.Score, Reason: Young}
	case e.LowSince.IsZero():
		st.LowSince, st.Reason = now, Low
		return st
	case since(e.LowSince, now) < p.SweepGap:
		st.Reason = Low
		return st
	case !p.failing(e, now) && !(overBudget && p.unserved(e, now)):
		st.Reason = OneSign
		return st
	}
	st.Dormant, st.Reason = true, Sleeps
	return st
}

func (p Params) failing(e Entry, now time.Time) bool {
	s, f := p.Counts(e, now)
	return s+f >= p.WorthMinimum && p.Worth(e, now) < 0.5
}

func (p Params) unserved(e Entry, now time.Time) bool {
	last := e.RecordedAt
	if e.ServedAt.After(last) {
		last = e.ServedAt
	}
	return since(last, now) >= p.Unserved
}

// since is never negative: a clock that jumped back makes nothing fresher
// than fresh.
func since(t, now time.Time) time.Duration {
	if t.IsZero() || now.Before(t) {
		return 0
	}
	return now.Sub(t)
}

func decay(age, halfLife time.Duration) float64 {
	return math.Exp2(-float64(age) / float64(halfLife))
}
