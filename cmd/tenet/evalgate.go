package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/eval"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/policy"
)

type evalGateCmd struct {
	Dir     string `arg:"" help:"Folder with .jsonl files of {text, label, kind, ...}."`
	Figures string `name:"json-file" placeholder:"FILE" help:"Write the rates as JSON; --json alone prints them."`
	Out     string `placeholder:"FILE" help:"Write one line per text and channel: {file, row, channel, verdict, codes, effect, label}."`
	Limits  bool   `help:"Apply the persistent tier's size limits too; without it the corpora measure what texts say, not how long they are."`
}

func (c evalGateCmd) Run(a *app) error {
	book, _ := openPolicy(a.set.policy)
	if why := book.gate.IsShut(); why != "" {
		return tenet.Errorf(tenet.Invalid, "eval gate", "%s", why)
	}
	g := book.gate
	if !c.Limits {
		wide, err := c.wide(a)
		if err != nil {
			return err
		}
		g = wide
	}
	var each func(eval.GateRow) error
	flush := func() error { return nil }
	if c.Out != "" {
		f, err := os.Create(c.Out)
		if err != nil {
			return tenet.Errorf(tenet.Unavailable, "eval gate", "the file for lines cannot be written: %s", osReason(err))
		}
		defer f.Close()
		w := bufio.NewWriter(f)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		each = func(r eval.GateRow) error { return enc.Encode(r) }
		flush = w.Flush
	}
	rep, err := eval.Gate(c.Dir, policy.Channels(), func(ch, text string) (tenet.Verdict, error) { return policy.Offer(g, ch, text) }, each)
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return tenet.Errorf(tenet.Unavailable, "eval gate", "the file for lines cannot be written")
	}
	if c.Figures != "" {
		b, err := json.MarshalIndent(rep, "", "  ")
		if err == nil {
			err = os.WriteFile(c.Figures, append(b, '\n'), 0o644)
		}
		if err != nil {
			return tenet.Errorf(tenet.Unavailable, "eval gate", "the figures cannot be written")
		}
	}
	return a.print(rep, func() { a.rates(rep, filepath.Base(filepath.Clean(c.Dir))) })
}

// wide is the gate with its limits on size lifted: a corpus measures what texts
// say. It writes to no memory.
func (c evalGateCmd) wide(a *app) (*gate.Gate, error) {
	if a.set.policy != "" {
		return nil, tenet.Errorf(tenet.Invalid, "eval gate", "a policy file's rules are measured with its limits: add --limits")
	}
	return gate.New(policy.Default(), policy.Keys(), gate.WithLimits(gate.Limits{Rows: 200, Bytes: 1 << 20, Value: 64 << 10})), nil
}

func (a *app) rates(rep eval.GateReport, name string) {
	percent := func(k, n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f%%", 100*float64(k)/float64(n))
	}
	var rows [][]string
	for _, r := range append(append([]eval.GateRate{}, rep.Rates...), rep.ByKind...) {
		rows = append(rows, []string{r.File, r.Label, dash(r.Kind), r.Channel, strconv.Itoa(r.N), percent(r.Allowed, r.N), percent(r.Held, r.N), percent(r.Reject, r.N), percent(r.Held+r.Reject, r.N)})
	}
	a.table("FILE|LABEL|KIND|CHANNEL|N|ALLOWED|HELD|REJECTED|STOPPED", rows)
	a.printf("\n%s: %d texts on %d channels under rule set %s; rates of different files are never added up\n", printable(name), rep.Texts, len(rep.Channels), rep.RuleSet)
	for _, s := range rep.Skipped {
		a.printf("not offered: %s line %d: %s\n", printable(s.File), s.Row, s.Why)
	}
}
