package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/forget"
	"github.com/tenet-memory/tenet/memory"
)

// outcomeCmd tells how uses of recalled records turned out.
type outcomeCmd struct {
	How     string   `arg:"" enum:"good,bad" help:"good or bad."`
	Records []string `arg:"" name:"record" help:"Ids of what was recalled and used."`
}

func (c outcomeCmd) Run(a *app) error {
	scope, by, err := a.acting(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.engine(reads)
	if err != nil {
		return err
	}
	ids := make([]tenet.RecordID, len(c.Records))
	for i, id := range c.Records {
		ids[i] = tenet.RecordID(id)
	}
	if err := m.Outcomes(a.ctx, by, scope, ids, c.How == "good"); err != nil {
		return err
	}
	return a.print(map[string]any{"outcome": c.How, "records": ids}, func() { a.printf("%s outcome for %d records\n", c.How, len(ids)) })
}

// forgetCmd sweeps one memory.
type forgetCmd struct {
	DryRun bool     `help:"Show what would change, and why; change nothing."`
	Pin    []string `sep:"none" help:"Never let this record go dormant." placeholder:"RECORD"`
	Unpin  []string `sep:"none" help:"Take a pin away." placeholder:"RECORD"`
}

func (c forgetCmd) Run(a *app) error {
	if a.set.values["server"] != "" {
		return tenet.Errorf(tenet.Unavailable, "forget", "a server sweeps by itself, once a day; this command works on a file")
	}
	scope, err := a.scope()
	if err != nil {
		return err
	}
	by, err := a.principal(tenet.Operator)
	if err != nil {
		return err
	}
	m, err := a.memory(reads)
	if err != nil {
		return err
	}
	for _, id := range c.Pin {
		if err := m.Pin(a.ctx, by, scope, tenet.RecordID(id), true); err != nil {
			return err
		}
	}
	for _, id := range c.Unpin {
		if err := m.Pin(a.ctx, by, scope, tenet.RecordID(id), false); err != nil {
			return err
		}
	}
	if len(c.Pin)+len(c.Unpin) > 0 {
		return a.print(map[string]int{"pinned": len(c.Pin), "unpinned": len(c.Unpin)}, func() {
			a.printf("pinned %d, unpinned %d\n", len(c.Pin), len(c.Unpin))
		})
	}
	rep, err := m.Forget(a.ctx, by, scope, c.DryRun)
	if err != nil {
		return err
	}
	rep.Changes = orEmpty(rep.Changes)
	return a.print(rep, func() { a.forgotten(rep) })
}

// reasons are what a sweep's answers mean.
var reasons = map[forget.Reason]string{
	forget.Keeps: "the score is high enough", forget.Exempted: "never forgotten: pinned, safety, keyed or a document",
	forget.Young: "too recent to judge", forget.Low: "low for the first time, or less than a day after it",
	forget.OneSign: "low, but no second signal agrees", forget.Sleeps: "leaves the default results",
	forget.Asleep: "stays out of them", forget.Wakes: "comes back",
}

func (a *app) forgotten(rep memory.ForgetReport) {
	over := ""
	if rep.OverBudget {
		over = ", over it"
	}
	a.printf("%d entries, budget %d%s\n", rep.Entries, rep.Budget, over)
	for _, r := range slices.Sorted(maps.Keys(rep.Reasons)) {
		a.printf("  %5d  %-8s  %s\n", rep.Reasons[r], r, reasons[r])
	}
	if len(rep.Changes) == 0 {
		a.printf("nothing changes\n")
		return
	}
	var rows [][]string
	for _, c := range rep.Changes {
		rows = append(rows, []string{
			string(c.Reason), strconv.FormatFloat(c.Score, 'f', 3, 64), strconv.FormatFloat(c.Importance, 'f', 1, 64),
			fmt.Sprintf("%.1f/%.1f", c.Success, c.Failure), stamp(c.ServedAt), string(c.ID), c.Text,
		})
	}
	a.table("WHY|SCORE|IMPORTANCE|GOOD/BAD|SERVED|RECORD|TEXT", rows)
	if rep.DryRun {
		a.printf("dry run: nothing was changed\n")
	}
}
