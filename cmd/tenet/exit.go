package main

import (
	"fmt"
	"strings"

	"github.com/tenet-memory/tenet"
)

// exits is the one table that maps what went wrong to an exit code. A test
// walks all kinds, and docs/cli.md shows the same lines.
var exits = []struct {
	kind tenet.Kind
	code int
	help string
}{
	{tenet.Internal, 1, "a defect, a damaged chain, or an unexpected failure"},
	{tenet.Invalid, 2, "the command, its input or the configuration cannot be understood"},
	{tenet.NotFound, 3, "no such thing in this scope"},
	{tenet.Conflict, 4, "the state moved: read again and decide"},
	{tenet.Refused, 5, "the gate said no: see the verdict"},
	{tenet.Denied, 6, "whoever acts may not do this"},
	{tenet.Unavailable, 7, "a store is away, full, read-only, damaged or newer, or a part is switched off"},
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	kind := tenet.KindOf(err)
	for _, e := range exits {
		if e.kind == kind {
			return e.code
		}
	}
	return 1
}

func exitHelp() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  0  ok\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "  %d  %s: %s\n", e.code, e.kind, e.help)
	}
	return b.String()
}
