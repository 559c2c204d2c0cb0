package main

import (
	"encoding/json"
	"fmt"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// rememberCmd proposes one candidate. A missing tier is not caught here: the
// gate refuses it, with a verdict in the log, as it does for every caller.
type rememberCmd struct {
	Words     []string `arg:"" optional:"" name:"words" help:"KEY TEXT for a fact, TEXT for a note; - reads TEXT from standard input."`
	Tier      string   `help:"fact (loaded by identity, never missed) or note (found by meaning, may be missed). There is no default."`
	Quote     string   `help:"Evidence: the words that were said, which you attest."`
	Cite      []string `sep:"none" help:"Evidence: ids of messages of this memory." placeholder:"MESSAGE"`
	Value     string   `help:"Typed value as JSON; TEXT is then the words for it, or may be left out." placeholder:"JSON"`
	ValidFrom moment   `help:"True from this time on (default: when it was said)." placeholder:"TIME"`
	ValidTo   moment   `help:"True until this time." placeholder:"TIME"`
	IfVersion string   `help:"Only if this record is the open one under the key, or none." placeholder:"RECORD"`
	ID        string   `name:"id" help:"Id of the proposal: repeating it is harmless." placeholder:"ID"`
}

// candidate is what the flags propose.
func (c rememberCmd) candidate(a *app) (tenet.Candidate, error) {
	scope, err := a.scope()
	if err != nil {
		return tenet.Candidate{}, err
	}
	cand := tenet.Candidate{
		ID: tenet.CandidateID(c.ID), Scope: scope, Quote: c.Quote, Value: json.RawMessage(c.Value),
		Valid: tenet.Interval{From: c.ValidFrom.Time, To: c.ValidTo.Time}, IfVersion: tenet.RecordID(c.IfVersion),
	}
	switch c.Tier {
	case "":
	case "fact":
		cand.Tier = tenet.TierFact
	case "note":
		cand.Tier = tenet.TierNote
	default:
		return cand, tenet.Errorf(tenet.Invalid, "usage", "--tier is fact or note; episodes and documents come by other ways")
	}
	switch n := len(c.Words); {
	case n == 2:
		cand.Key, cand.Text = c.Words[0], c.Words[1]
	case n == 1 && cand.Tier == tenet.TierFact && c.Value != "":
		cand.Key = c.Words[0]
	case n == 1 && cand.Tier != tenet.TierFact:
		cand.Text = c.Words[0]
	default:
		return cand, tenet.Errorf(tenet.Invalid, "usage", "want KEY TEXT for a fact or TEXT for a note; put a text of several words in quotes")
	}
	if cand.Text, err = a.text(cand.Text); err != nil {
		return cand, err
	}
	for _, id := range c.Cite {
		cand.Cites = append(cand.Cites, tenet.MessageID(id))
	}
	return cand, nil
}

func (c rememberCmd) Run(a *app) error {
	cand, err := c.candidate(a)
	if err != nil {
		return err
	}
	by, err := a.principal(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.engine(writes)
	if err != nil {
		return err
	}
	v, err := m.Remember(a.ctx, by, cand)
	if v.Outcome != 0 { // a refusal is an answer too: the verdict, and then the error
		if perr := a.print(v, func() { a.verdict(v) }); perr != nil {
			return perr
		}
	}
	return err
}

// verdict prints what was decided and why.
func (a *app) verdict(v tenet.Verdict) {
	a.printf("%s", v.Outcome)
	if v.Tier != 0 {
		a.printf(" %s", v.Tier)
	}
	if v.Key != "" {
		a.printf(" %s", printable(v.Key))
	}
	if v.Label != 0 {
		a.printf(" [%s]", v.Label)
	}
	a.printf("\n")
	if len(v.Codes) > 0 {
		a.printf("  codes     %s\n", codes(v.Codes))
	}
	a.printf("  candidate %s\n", printable(string(v.Candidate)))
	if v.Record != "" {
		a.printf("  record    %s\n", printable(string(v.Record)))
	}
	if v.Replaced != "" {
		a.printf("  replaced  %s\n", printable(string(v.Replaced)))
	}
	for _, f := range v.Findings {
		if f.Detail != "" {
			a.printf("  %s: %s\n", f.Code, printable(f.Detail))
		}
	}
}

type factsCmd struct {
	Also    []string `sep:"none" help:"Read these too, from narrow to wide: project:ID, tenant." placeholder:"SUBJECT"`
	ValidAt moment   `help:"What was true at this time (default now)." placeholder:"TIME"`
	KnownAt moment   `help:"As it was known at this time (default now)." placeholder:"TIME"`
}

func (c factsCmd) Run(a *app) error {
	scope, more, err := a.scopes(c.Also)
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
	at := tenet.AsOf{Valid: c.ValidAt.Time, Known: c.KnownAt.Time}
	facts, err := m.Facts(a.ctx, by, at, append([]tenet.Scope{scope}, more...)...)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"facts": orEmpty(facts)}, func() {
		if len(facts) == 0 {
			a.printf("no facts\n")
			return
		}
		var rows [][]string
		for _, f := range facts {
			text := f.Text
			if f.ShadowedBy != "" {
				text += " (shadowed by " + string(f.ShadowedBy) + ")"
			}
			rows = append(rows, []string{f.Key, f.Label.String(), f.Scope.Subject().String(), stamp(f.Valid.From), string(f.ID), text})
		}
		a.table("KEY|LABEL|OF|SINCE|RECORD|TEXT", rows)
	})
}

// orEmpty makes an absent list an empty one: [] and not null in JSON.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

type historyCmd struct {
	Key string `arg:"" help:"The fact's key."`
}

func (c historyCmd) Run(a *app) error {
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
	rs, err := m.History(a.ctx, by, scope, c.Key)
	if err != nil {
		return err
	}
	if len(rs) == 0 {
		return tenet.Errorf(tenet.NotFound, "history", "nothing was ever believed under this key")
	}
	return a.print(map[string]any{"history": rs}, func() {
		var rows [][]string
		for _, r := range rs {
			rows = append(rows, []string{r.Label.String(), span(r.Valid), span(r.Known), dash(string(r.Closed)), string(r.ID), r.Text})
		}
		a.table("LABEL|TRUE|BELIEVED|CLOSED|RECORD|TEXT", rows)
	})
}

// changeFlags name what end and retract are about.
type changeFlags struct {
	Key    string `arg:"" optional:"" help:"The fact's key, when it holds one value."`
	Record string `help:"One version by its id; of KEY when that is given, too." placeholder:"RECORD"`
	Why    string `help:"The reason, kept with the audit entry. Not memory text."`
	ID     string `name:"id" help:"Id of the change: repeating it is harmless." placeholder:"ID"`
}

func (c changeFlags) change(a *app) (memory.Change, tenet.Principal, backend, error) {
	var none memory.Change
	scope, err := a.scope()
	if err != nil {
		return none, tenet.Principal{}, nil, err
	}
	if c.Key == "" && c.Record == "" {
		return none, tenet.Principal{}, nil, tenet.Errorf(tenet.Invalid, "usage", "say which fact: KEY or --record")
	}
	if err := tenet.CheckText("the reason", c.Why); err != nil {
		return none, tenet.Principal{}, nil, err
	}
	by, err := a.principal(tenet.App)
	if err != nil {
		return none, by, nil, err
	}
	m, err := a.engine(reads)
	return memory.Change{Scope: scope, Record: tenet.RecordID(c.Record), Key: c.Key, Why: c.Why, ID: c.ID}, by, m, err
}

func (c changeFlags) done(a *app, action string) error {
	v := map[string]string{"done": action, "key": c.Key, "record": c.Record}
	return a.print(v, func() { a.printf("%s %s\n", action, printable(c.Key+c.Record)) })
}

type retractCmd struct{ changeFlags }

func (c retractCmd) Run(a *app) error {
	ch, by, m, err := c.change(a)
	if err != nil {
		return err
	}
	if err := m.Retract(a.ctx, by, ch); err != nil {
		return err
	}
	return c.done(a, "retracted")
}

type endCmd struct {
	changeFlags
	At moment `help:"When it stopped being true (default now)." placeholder:"TIME"`
}

func (c endCmd) Run(a *app) error {
	ch, by, m, err := c.change(a)
	if err != nil {
		return err
	}
	ch.To = c.At.Time
	if err := m.End(a.ctx, by, ch); err != nil {
		return err
	}
	return c.done(a, "ended")
}

// version is set by the linker for releases.
var version = "devel"

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	return a.print(map[string]string{"version": version}, func() { fmt.Fprintln(a.out, "tenet", version) })
}
