package main

import (
	"slices"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/policy"
)

type policyCmd struct {
	Check policyCheckCmd `cmd:"" help:"Check a policy file."`
	Test  policyTestCmd  `cmd:"" help:"Check a policy file and run its own table of tests."`
}

type policyCheckCmd struct {
	File string `arg:"" help:"The policy file."`
}

func (c policyCheckCmd) Run(a *app) error {
	book, _, err := readPolicy(c.File)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"ruleset": book.gate.RuleSet(), "tests": len(book.tests)}, func() {
		a.printf("ok: rule set %s, %d tests\n", book.gate.RuleSet(), len(book.tests))
	})
}

type policyTestCmd struct {
	File string `arg:"" help:"The policy file."`
}

// tested is one row of the table with what became of it.
type tested struct {
	Row     int          `json:"row"`
	Channel string       `json:"channel"`
	Want    string       `json:"want"`
	Got     string       `json:"got"`
	Codes   []tenet.Code `json:"codes"`
	Pass    bool         `json:"pass"`
}

func (c policyTestCmd) Run(a *app) error {
	book, _, err := readPolicy(c.File)
	if err != nil {
		return err
	}
	results, failed := []tested{}, 0
	for i, t := range book.tests {
		if t.Channel == "" {
			t.Channel = "user"
		}
		if t.Key == "" {
			t.Key = "memo"
		}
		v, err := policy.OfferAs(book.gate, t.Channel, t.Key, t.Text)
		if err != nil {
			return tenet.Errorf(tenet.Invalid, "policy", "tests: row %d: %s channel or text is not usable", i+1, t.Channel)
		}
		r := tested{i + 1, t.Channel, t.Want, v.Outcome.String(), v.Codes, v.Outcome.String() == t.Want}
		for _, code := range t.Codes {
			r.Pass = r.Pass && slices.Contains(v.Codes, tenet.Code(code))
		}
		if !r.Pass {
			failed++
		}
		results = append(results, r)
	}
	err = a.print(map[string]any{"ruleset": book.gate.RuleSet(), "tests": results}, func() {
		var rows [][]string
		for _, r := range results {
			state := "ok"
			if !r.Pass {
				state = "FAILED"
			}
			rows = append(rows, []string{strconv.Itoa(r.Row), r.Channel, r.Want, r.Got, dash(codes(r.Codes)), state})
		}
		a.table("ROW|CHANNEL|WANT|GOT|CODES|RESULT", rows)
	})
	if err == nil && failed > 0 {
		err = tenet.Errorf(tenet.Refused, "policy", "%d of %d tests failed", failed, len(results))
	}
	return err
}
