package main

import (
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

type fsckCmd struct {
	Recount bool `help:"First set what the heads count, for quotas, to what is stored."`
}

// Run verifies every scope and looks for what no chain answers for. It repairs
// nothing but, when asked to, what is counted.
func (c fsckCmd) Run(a *app) error {
	if err := a.local("fsck"); err != nil {
		return err
	}
	if _, err := a.memory(reads); err != nil {
		return err
	}
	checker, ok := a.opened.db.(store.Checker)
	if !ok {
		return tenet.Errorf(tenet.Unavailable, "fsck", "this store cannot be checked as a whole")
	}
	recounted := 0
	if c.Recount {
		var err error
		if recounted, err = checker.Recount(a.ctx, a.set.tenant); err != nil {
			return err
		}
	}
	faults, err := checker.Check(a.ctx, a.set.tenant)
	if err != nil {
		return err
	}
	scopes, err := verifyCmd{All: true}.scopes(a)
	if err != nil && len(faults) == 0 { // else the faults say why scopes can't be named
		return err
	}
	entries := 0
	for _, s := range scopes {
		o, err := a.operator(s)
		if err != nil {
			return err
		}
		v, err := o.Verify(a.ctx)
		if err != nil {
			return err
		}
		entries += v.Entries
		if !v.OK() {
			faults = append(faults, store.Fault{Place: s.String(), What: "entry " + strconv.FormatUint(v.Bad, 10) + ": " + v.Why})
		}
		in, err := a.opened.CheckIndex(a.ctx, s)
		if err != nil {
			return err
		}
		if in != "" {
			faults = append(faults, store.Fault{Place: s.String(), What: in})
		}
	}
	err = a.print(map[string]any{"scopes": len(scopes), "entries": entries, "recounted": recounted, "faults": orEmpty(faults)}, func() {
		var rows [][]string
		for _, f := range faults {
			rows = append(rows, []string{f.Place, f.What, strconv.Itoa(f.Rows)})
		}
		if len(rows) > 0 {
			a.table("PLACE|FAULT|ROWS", rows)
		}
		if c.Recount {
			a.printf("%d heads counted wrong and were set\n", recounted)
		}
		a.printf("%d scopes, %d entries, %d faults\n", len(scopes), entries, len(faults))
	})
	if err == nil && len(faults) > 0 {
		err = tenet.Errorf(tenet.Internal, "fsck", "%d faults; nothing was repaired", len(faults))
	}
	return err
}
