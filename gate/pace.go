package gate

import (
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// PaceWindow is the stretch of a scope's own time over which writes are counted.
const PaceWindow = time.Minute

// Rates bound how many facts and notes a principal may propose for one subject
// in PaceWindow, refusals included; zero is no bound. What the engine's
// extractor proposes and what an agent files as documents is not counted: the
// one is bounded by the messages it read, the other is never a fact by itself.
type Rates struct {
	Agent, Connector, App, User, Operator int
	// Key is how many writes of one fact key on a word below the user's own are
	// taken in the window, and Self how many that agents alone stand behind; a
	// kept write on better authority starts the latter count afresh.
	Key, Self int
}

// DefaultRates leave people, apps and operators unbounded.
var DefaultRates = Rates{Agent: 120, Connector: 600, Key: 10, Self: 3}

// WithRates replaces DefaultRates.
func WithRates(r Rates) Option { return func(g *rulebook) { g.rates = r } }

func (r Rates) of(k tenet.PrincipalKind) int {
	switch k {
	case tenet.Agent:
		return r.Agent
	case tenet.Connector:
		return r.Connector
	case tenet.App:
		return r.App
	case tenet.EndUser:
		return r.User
	case tenet.Operator:
		return r.Operator
	}
	return 0
}

// PaceQuery asks for the writes of the last PaceWindow by a principal and under
// a key; Limits are what they are held against. The zero query asks for nothing.
type PaceQuery struct {
	Actor, Key string
	Limits     Pace
}

// IsZero reports whether nothing is counted.
func (q PaceQuery) IsZero() bool { return q == PaceQuery{} }

// Least is how many entries a scope must have for any limit to be reached.
func (q PaceQuery) Least() uint64 {
	least := 0
	for _, n := range [...]int{q.Limits.Actor, q.Limits.Key, q.Limits.Self} {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return uint64(least)
}

// Pace is what was counted.
type Pace struct{ Actor, Key, Self int }

// Over is which limits are reached. A decision depends on this alone, so that
// others' writes don't disturb it.
type Over struct{ Actor, Key, Self bool }

// Over holds counts against the query's limits.
func (q PaceQuery) Over(p Pace) Over {
	reached := func(n, limit int) bool { return limit > 0 && n >= limit }
	return Over{reached(p.Actor, q.Limits.Actor), reached(p.Key, q.Limits.Key), reached(p.Self, q.Limits.Self)}
}

// PaceEntry is one judged candidate as the counting sees it.
type PaceEntry struct {
	Actor, Key string
	Tier       tenet.Tier
	Label      tenet.Label
	Outcome    tenet.Outcome
	Codes      string // as they are kept, "" or a JSON list
}

// Counter counts entries, the newest first. All ledgers count with it.
type Counter struct {
	q     PaceQuery
	reset bool // a write on better authority was met: older ones don't count as Self
	Pace  Pace
}

// Counter starts a count.
func (q PaceQuery) Counter() *Counter { return &Counter{q: q} }

// Add takes the next older entry.
func (c *Counter) Add(e PaceEntry) {
	// What a limit refused takes no further place, or nobody could recover.
	limited := func(code tenet.Code) bool { return strings.Contains(e.Codes, `"`+string(code)+`"`) } // whole, not a part of another
	if limited(tenet.CodeRateLimit) || limited(tenet.CodeKeyChurn) || limited(tenet.CodeSelfReinforcement) || e.Tier != tenet.TierFact && e.Tier != tenet.TierNote {
		return
	}
	if e.Actor == c.q.Actor {
		c.Pace.Actor++
	}
	if e.Tier != tenet.TierFact || c.q.Key == "" || e.Key != c.q.Key {
		return
	}
	if e.Label < tenet.LabelUserStated {
		c.Pace.Key++
	}
	switch {
	case e.Label >= tenet.LabelAttestedTool && e.Outcome.Kept():
		c.reset = true
	case e.Label < tenet.LabelAttestedTool && !c.reset:
		c.Pace.Self++
	}
}

// paceQuery is what is counted for a case.
func (g *rulebook) paceQuery(c Case) PaceQuery {
	tier := c.Candidate.Tier
	if c.Extracted || tier != tenet.TierFact && tier != tenet.TierNote {
		return PaceQuery{}
	}
	q := PaceQuery{Actor: c.By.String(), Limits: Pace{Actor: g.rates.of(c.By.Kind())}}
	if k := c.By.Kind(); tier == tenet.TierFact && (k == tenet.Agent || k == tenet.Connector) {
		q.Limits.Key = g.rates.Key
		if k == tenet.Agent {
			q.Limits.Self = g.rates.Self
		}
	}
	if q.Limits == (Pace{}) {
		return PaceQuery{}
	}
	if q.Limits.Key > 0 || q.Limits.Self > 0 {
		q.Key = c.Candidate.Key
	}
	return q
}

// paced refuses what comes too fast. The other checks run all the same: what
// they mask must not stand in the log because it came often.
func paced(o Over, label tenet.Label) []Finding {
	var fs []Finding
	if o.Actor {
		fs = append(fs, refusal("rate", tenet.CodeRateLimit, reject))
	}
	// The user's own proven words are not held back because an agent was busy.
	if o.Key && label < tenet.LabelUserStated {
		fs = append(fs, refusal("rate", tenet.CodeKeyChurn, reject))
	}
	if o.Self && label < tenet.LabelAttestedTool {
		fs = append(fs, refusal("rate", tenet.CodeSelfReinforcement, reject))
	}
	return fs
}
