package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenet-memory/tenet"
)

// statsCmd counts what one scope holds and what was decided in it. A running
// server's instruments are at /metrics.
type statsCmd struct{}

type scopeStats struct {
	Scope     tenet.Scope    `json:"scope"`
	Facts     int            `json:"facts"`
	FactBytes int            `json:"fact_bytes"`
	Documents int            `json:"documents"`
	Entries   int            `json:"entries"`
	Held      int            `json:"held"` // open for release
	Actions   map[string]int `json:"actions"`
	Outcomes  map[string]int `json:"outcomes"`
	Codes     map[string]int `json:"codes"`
}

// statsPage is how much is read at a time.
const statsPage = 500

func (statsCmd) Run(a *app) error {
	scope, err := a.scope()
	if err != nil {
		return err
	}
	by, err := a.principal(tenet.Operator)
	if err != nil {
		return err
	}
	m, err := a.engine(reads)
	if err != nil {
		return err
	}
	o, err := m.Operator(by, scope)
	if err != nil {
		return err
	}
	s := scopeStats{Scope: scope, Actions: map[string]int{}, Outcomes: map[string]int{}, Codes: map[string]int{}}
	facts, err := m.Facts(a.ctx, by, tenet.AsOf{}, scope)
	if err != nil {
		return err
	}
	for _, f := range facts {
		s.Facts++
		s.FactBytes += f.RenderedSize()
	}
	for after := ""; ; {
		ds, err := m.Documents(a.ctx, by, scope, "", after, statsPage)
		if err != nil {
			return err
		}
		s.Documents += len(ds)
		if len(ds) < statsPage {
			break
		}
		after = ds[len(ds)-1].Path
	}
	if err := s.audit(a, o); err != nil {
		return err
	}
	for after := tenet.CandidateID(""); ; {
		hs, err := o.Held(a.ctx, after, statsPage)
		if err != nil {
			return err
		}
		for _, h := range hs {
			if h.State == tenet.HoldOpen {
				s.Held++
			}
		}
		if len(hs) < statsPage {
			break
		}
		after = hs[len(hs)-1].Verdict.Candidate
	}
	return a.print(s, func() {
		a.printf("%s: %d facts (%d bytes), %d documents, %d entries, %d held\n", printable(scope.Subject().String()), s.Facts, s.FactBytes, s.Documents, s.Entries, s.Held)
		for _, m := range []struct {
			name string
			n    map[string]int
		}{{"actions", s.Actions}, {"outcomes", s.Outcomes}, {"codes", s.Codes}} {
			line := ""
			for _, k := range slices.Sorted(maps.Keys(m.n)) {
				line += fmt.Sprintf(" %s %d", k, m.n[k])
			}
			a.printf("%-9s%s\n", m.name, dash(line))
		}
	})
}

// audit counts the entries of the scope's chain.
func (s *scopeStats) audit(a *app, o reviewer) error {
	for from := uint64(1); ; {
		es, err := o.Audit(a.ctx, from, statsPage)
		if err != nil {
			return err
		}
		for _, e := range es {
			s.Entries++
			s.Actions[e.Action]++
			if e.Outcome != 0 {
				s.Outcomes[e.Outcome.String()]++
			}
			for _, c := range e.Codes {
				s.Codes[string(c)]++
			}
		}
		if len(es) < statsPage {
			return nil
		}
		from = es[len(es)-1].Seq + 1
	}
}
