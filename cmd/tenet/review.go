package main

import (
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type consolidateCmd struct {
	Session string `arg:"" optional:"" help:"One session, due or not."`
	All     bool   `help:"Every session of the database that is due, of every tenant."`
}

func (c consolidateCmd) Run(a *app) error {
	if (c.Session == "") != c.All {
		return tenet.Errorf(tenet.Invalid, "usage", "say which session, or --all for those that are due")
	}
	reports := []memory.Report{}
	if c.Session != "" {
		scope, err := a.scope()
		if err != nil {
			return err
		}
		by, err := a.principal(tenet.App)
		if err != nil {
			return err
		}
		m, err := a.engine(reads)
		if err != nil {
			return err
		}
		r, err := m.Consolidate(a.ctx, by, scope, tenet.SessionID(c.Session))
		if err != nil {
			return err
		}
		reports = append(reports, r)
	} else {
		if err := a.local("consolidate --all"); err != nil {
			return err
		}
		m, err := a.memory(reads)
		if err != nil {
			return err
		}
		for {
			r, more, err := m.ConsolidateOnce(a.ctx)
			if err != nil {
				return err
			}
			if !more {
				break
			}
			reports = append(reports, r)
		}
	}
	return a.print(map[string]any{"reports": reports}, func() {
		for _, r := range reports {
			a.report(r)
		}
		if len(reports) == 0 {
			a.printf("nothing is due; a session becomes due %s after its last message\n", a.set.debounce)
		}
	})
}

// operator opens the review handle of the scope.
func (a *app) operator(scope tenet.Scope) (reviewer, error) {
	by, m, err := a.answering()
	if err != nil {
		return nil, err
	}
	return m.Operator(by, scope)
}

func (a *app) review() (reviewer, error) {
	scope, err := a.scope()
	if err != nil {
		return nil, err
	}
	return a.operator(scope)
}

// reviewAll is review of the whole tenant.
func (a *app) reviewAll() (reviewer, error) {
	scope, err := tenet.NewScope(a.set.tenant, tenet.WholeTenant())
	if err != nil {
		return nil, err
	}
	return a.operator(scope)
}

type auditCmd struct {
	List      auditListCmd      `cmd:"" help:"Show the scope's audit chain."`
	Show      auditShowCmd      `cmd:"" help:"Show one record with the words it rests on."`
	Held      auditHeldCmd      `cmd:"" help:"Show what is quarantined and what was refused, with its text."`
	Release   auditReleaseCmd   `cmd:"" help:"Admit a held candidate on your word."`
	ReleaseAs auditReleaseAsCmd `cmd:"" help:"Admit a held candidate that no extractor could route, in the tier that you name."`
	Discard   auditDiscardCmd   `cmd:"" help:"Settle a held candidate without admitting it."`
}

type auditListCmd struct {
	From  uint64 `help:"From this entry on." default:"1"`
	Limit int    `help:"At most this many." default:"100"`
}

func (c auditListCmd) Run(a *app) error {
	if c.Limit < 1 {
		return tenet.Errorf(tenet.Invalid, "usage", "--limit must be positive")
	}
	o, err := a.review()
	if err != nil {
		return err
	}
	es, err := o.Audit(a.ctx, c.From, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"entries": orEmpty(es)}, func() {
		var rows [][]string
		for _, e := range es {
			outcome := "-"
			if e.Outcome != 0 {
				outcome = e.Outcome.String()
			}
			rows = append(rows, []string{strconv.FormatUint(e.Seq, 10), stamp(e.At), e.Action, outcome, dash(codes(e.Codes)), dash(e.Actor), dash(e.Ref), e.Why})
		}
		a.table("#|AT|ACTION|OUTCOME|CODES|BY|ABOUT|WHY", rows)
	})
}

type auditShowCmd struct {
	Record string `arg:"" help:"The record's id."`
}

func (c auditShowCmd) Run(a *app) error {
	o, err := a.review()
	if err != nil {
		return err
	}
	r, ev, err := o.Record(a.ctx, tenet.RecordID(c.Record))
	if err != nil {
		return err
	}
	return a.print(map[string]any{"record": r, "confirmation": r.Confirmation(), "evidence": orEmpty(ev)}, func() {
		a.printf("%s %s %s [%s, %s]\n", r.Tier, printable(r.Key), printable(r.Text), r.Label, r.Confirmation())
		a.printf("  true      %s\n  believed  %s\n", span(r.Valid), span(r.Known))
		if r.Closed != "" {
			a.printf("  closed    %s by %s\n", r.Closed, dash(printable(string(r.SupersededBy))))
		}
		for _, e := range ev {
			a.printf("  because   %s said on %s: %q [%s, session %s]\n", e.Role, stamp(e.SaidAt), printable(e.Excerpt), e.Label, dash(printable(string(e.Session))))
		}
	})
}

type auditHeldCmd struct {
	After string `help:"Only those after this candidate." placeholder:"CANDIDATE"`
	Limit int    `help:"At most this many." default:"100"`
}

func (c auditHeldCmd) Run(a *app) error {
	if c.Limit < 1 {
		return tenet.Errorf(tenet.Invalid, "usage", "--limit must be positive")
	}
	o, err := a.review()
	if err != nil {
		return err
	}
	hs, err := o.Held(a.ctx, tenet.CandidateID(c.After), c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"held": orEmpty(hs)}, func() { a.held(hs) })
}

func (a *app) held(hs []tenet.Held) {
	if len(hs) == 0 {
		a.printf("nothing is held and nothing was refused\n")
		return
	}
	var rows [][]string
	for _, h := range hs {
		label := "-"
		if h.Verdict.Label != 0 {
			label = h.Verdict.Label.String()
		}
		rows = append(rows, []string{
			string(h.Verdict.Candidate), h.Verdict.Outcome.String(), string(h.State), label, codes(h.Verdict.Codes), h.By, h.Candidate.Text,
		})
	}
	a.table("CANDIDATE|OUTCOME|STATE|LABEL|CODES|BY|TEXT", rows)
}

type auditReleaseCmd struct {
	Candidate string `arg:"" help:"The held candidate's id."`
}

func (c auditReleaseCmd) Run(a *app) error {
	o, err := a.review()
	if err != nil {
		return err
	}
	v, err := o.Release(a.ctx, tenet.CandidateID(c.Candidate))
	if err != nil {
		return err
	}
	return a.print(v, func() { a.verdict(v) })
}

type auditReleaseAsCmd struct {
	Candidate string `arg:"" help:"The held candidate's id."`
	Tier      string `arg:"" enum:"fact,note" help:"fact or note."`
	Key       string `arg:"" optional:"" help:"The fact's key."`
}

func (c auditReleaseAsCmd) Run(a *app) error {
	var tier tenet.Tier
	if err := tier.UnmarshalText([]byte(c.Tier)); err != nil {
		return err
	}
	o, err := a.review()
	if err != nil {
		return err
	}
	v, err := o.ReleaseAs(a.ctx, tenet.CandidateID(c.Candidate), tier, c.Key)
	if err != nil {
		return err
	}
	return a.print(v, func() { a.verdict(v) })
}

type auditDiscardCmd struct {
	Candidate string `arg:"" help:"The held candidate's id."`
	Why       string `help:"The reason, kept with the audit entry. Not memory text."`
}

func (c auditDiscardCmd) Run(a *app) error {
	if err := tenet.CheckText("the reason", c.Why); err != nil {
		return err
	}
	o, err := a.review()
	if err != nil {
		return err
	}
	if err := o.Discard(a.ctx, tenet.CandidateID(c.Candidate), c.Why); err != nil {
		return err
	}
	return a.print(map[string]string{"discarded": c.Candidate}, func() { a.printf("discarded %s\n", printable(c.Candidate)) })
}

type verifyCmd struct {
	All     bool   `help:"Every scope of the tenant."`
	Root    string `help:"Hold every chain of the database against this log of signed roots instead." placeholder:"FILE"`
	RootKey string `name:"root-pub" help:"File with the public key of the roots (default: FILE.pub)." placeholder:"FILE"`
}

// verified is the result for one scope.
type verified struct {
	Scope   tenet.Scope `json:"scope"`
	OK      bool        `json:"ok"`
	Entries int         `json:"entries"`
	Records int         `json:"records"`
	Bad     uint64      `json:"bad,omitempty"` // the first entry that does not verify
	Why     string      `json:"why,omitempty"`
}

func (c verifyCmd) Run(a *app) error {
	if c.Root != "" {
		return c.roots(a)
	}
	scopes, err := c.scopes(a)
	if err != nil {
		return err
	}
	results, bad := []verified{}, 0
	for _, s := range scopes {
		o, err := a.operator(s)
		if err != nil {
			return err
		}
		v, err := o.Verify(a.ctx)
		if err != nil {
			return err
		}
		if !v.OK() {
			bad++
		}
		results = append(results, verified{s, v.OK(), v.Entries, v.Records, v.Bad, v.Why})
	}
	err = a.print(map[string]any{"scopes": results}, func() {
		var rows [][]string
		for _, r := range results {
			state := "ok"
			if !r.OK {
				state = "DAMAGED at entry " + strconv.FormatUint(r.Bad, 10) + ": " + r.Why
			}
			rows = append(rows, []string{r.Scope.String(), strconv.Itoa(r.Entries), strconv.Itoa(r.Records), state})
		}
		a.table("SCOPE|ENTRIES|RECORDS|RESULT", rows)
	})
	if err == nil && bad > 0 {
		err = tenet.Errorf(tenet.Internal, "verify", "%d of %d scopes do not verify", bad, len(results))
	}
	return err
}

func (c verifyCmd) scopes(a *app) ([]tenet.Scope, error) {
	if !c.All {
		s, err := a.scope()
		return []tenet.Scope{s}, err
	}
	whole, err := tenet.NewScope(a.set.tenant, tenet.WholeTenant())
	if err != nil {
		return nil, err
	}
	o, err := a.operator(whole)
	if err != nil {
		return nil, err
	}
	var all []tenet.Scope
	var after tenet.Scope
	for {
		page, err := o.Scopes(a.ctx, after, 500)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
		after = page[len(page)-1]
	}
}
