package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// generated are the parts of docs/cli.md that follow from the code. Run the
// tests with TENET_UPDATE=1 to write them.
func generated(t *testing.T) map[string]string {
	var codes strings.Builder
	codes.WriteString("```text\n" + exitHelp() + "```\n")
	var conf strings.Builder
	conf.WriteString("| key | environment | default | |\n| --- | --- | --- | --- |\n")
	for _, k := range keys {
		def := "`" + k.def + "`"
		if k.def == "" {
			def = ""
		}
		fmt.Fprintf(&conf, "| `%s` | `TENET_%s` | %s | %s |\n", k.name, strings.ToUpper(k.name), def, k.meaning)
	}
	return map[string]string{"exit codes": codes.String(), "configuration": conf.String(), "commands": commandList(t)}
}

// commandList is the grammar as a list.
func commandList(t *testing.T) string {
	k, err := kong.New(&grammar{}, kong.Name("tenet"), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, n := range k.Model.Leaves(true) {
		fmt.Fprintf(&b, "- `%s", n.Path())
		for _, p := range n.Positional {
			fmt.Fprintf(&b, " %s", p.Summary())
		}
		fmt.Fprintf(&b, "`: %s\n", n.Help)
		for _, p := range n.Positional {
			if p.Help != "" {
				fmt.Fprintf(&b, "  - `%s`: %s\n", p.Summary(), p.Help)
			}
		}
		for _, f := range n.Flags {
			if !f.Hidden && f.Help != "" && f.Name != "help" {
				fmt.Fprintf(&b, "  - `%s`: %s\n", strings.TrimSpace(f.String()), f.Help)
			}
		}
	}
	b.WriteString("\nFlags of every command:\n\n")
	for _, f := range k.Model.Flags {
		fmt.Fprintf(&b, "- `%s`: %s\n", strings.TrimSpace(f.String()), f.Help)
	}
	return b.String()
}

func TestTheGeneratedPartsOfTheManualAreCurrent(t *testing.T) {
	const path = "../../docs/cli.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	updated := string(text)
	for name, want := range generated(t) {
		open := "<!-- generated: " + name + " -->\n"
		before, rest, ok := strings.Cut(updated, open)
		_, after, ok2 := strings.Cut(rest, "<!-- end -->")
		if !ok || !ok2 {
			t.Fatalf("no part %q", name)
		}
		updated = before + open + want + "<!-- end -->" + after
	}
	if updated == string(text) {
		return
	}
	if os.Getenv("TENET_UPDATE") == "" {
		t.Fatal("docs/cli.md is not current: run TENET_UPDATE=1 go test ./cmd/tenet -run Manual")
	}
	if err := os.WriteFile(path, []byte(updated), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestHelpShowsTheExitCodesAndEveryCommandHasHelp(t *testing.T) {
	s := newShell(t)
	s.store = ""
	help := s.ok("--help")
	if !strings.Contains(help, exitHelp()) || s.ok() != help {
		t.Error(help)
	}
	for _, args := range [][]string{{"remember"}, {"session"}, {"session", "append"}, {"import"}, {"audit", "held"}, {"demo"}, {"config", "check"}} {
		if out := s.ok(append(args, "--help")...); !strings.Contains(out, "Usage: tenet "+strings.Join(args, " ")) {
			t.Error(out)
		}
	}
}

func TestTheReadmeNamesEveryCommand(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	k, err := kong.New(&grammar{}, kong.Name("tenet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range k.Model.Children {
		if !strings.Contains(string(readme), "`tenet "+n.Name) {
			t.Errorf("README.md does not say what tenet %s does", n.Name)
		}
	}
}
