package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// statsCmd counts what one scope holds and what was decided in it. A running
// server's instruments are at /metrics.
type statsCmd struct{}

type scopeStats struct {
	Scope     tenet.Scope `json:"scope"`
	Facts     int         `json:"facts"`
	FactBytes int         `json:"fact_bytes"`
	Documents int         `json:"documents"`
	Held      int         `json:"held"` // open for release
	memory.Stats
}

// statsPage is how much is read at a time.
const statsPage = 500

func (statsCmd) Run(a *app) error {
	scope, err := a.scope()
	if err != nil {
		return err
	}
	by, m, err := a.answering()
	if err != nil {
		return err
	}
	o, err := m.Operator(by, scope)
	if err != nil {
		return err
	}
	s := scopeStats{Scope: scope}
	if s.Stats, err = o.Stats(a.ctx); err != nil {
		return err
	}
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
		a.counts(s.Stats)
	})
}

// counts prints what stats of the pipeline and of recall say.
func (a *app) counts(s memory.Stats) {
	for _, m := range []struct {
		name string
		n    map[string]uint64
	}{{"actions", s.Actions}, {"outcomes", s.Outcomes}, {"codes", s.Codes}} {
		line := ""
		for _, k := range slices.Sorted(maps.Keys(m.n)) {
			line += fmt.Sprintf(" %s %d", k, m.n[k])
		}
		a.printf("%-9s%s\n", m.name, dash(line))
	}
	a.printf("kept      superseded %.3f, corroborated %.3f\n", s.Supersession, s.Corroboration)
	a.printf("extracted %d windows, %d without a fact or note\n", s.Windows, s.Barren)
	a.printf("recalls   %d, %.3f served something, %.3f were credited later\n", s.Recalls, s.HitRate, s.Useful)
	a.printf("visible   after %s (median of %d turns), at most %s\n", s.Lag.Round(time.Millisecond), s.LagOf, s.LagMax.Round(time.Millisecond))
	if s.Stored != nil {
		of := func(limit string) string {
			most, kept := s.Quota.Of(limit, *s.Stored)
			if most == 0 {
				return fmt.Sprintf("%d %s", kept, limit)
			}
			return fmt.Sprintf("%d of %d %s", kept, most, limit)
		}
		a.printf("tenant    keeps %s, %s, %s\n", of("records"), of("bytes"), of("subjects"))
	}
	a.printf("queue     %d waiting, %d failing, %d given up; the oldest has been due for %s\n", s.Waiting, s.Failing, s.Dead, s.QueueAge.Round(time.Second))
}
