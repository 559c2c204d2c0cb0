package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// block is a fenced part of a page.
type block struct {
	page, kind, text string
	line             int
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// manual is what the commands of a page need before they run.
type manual struct {
	given  string   // commands that make what the page speaks of
	served bool     // a server answers on 127.0.0.1:7766
	read   string   // why its commands are read by the program's own parser, with the configuration, and not run
	want   []string // what they print
}

// manuals are those whose sh blocks run, in a folder and with a database of their
// own. Two commands are never run from a page: make checks that its target is
// there (make run aside), since the others are this test's own run or take
// minutes; go test checks that its packages and tests are.
var manuals = map[string]manual{
	"README.md": {
		served: true,
		want:   []string{"bin/tenet demo", `"system":"`, "allergy: Severe shellfish allergy. Flag any seafood promotions."},
	},
	"CONTRIBUTING.md":    {},
	"docs/tuning.md":     {},
	"docs/start.md":      {served: true, want: []string{"stored fact allergy [user_stated]", "- allergy: Severe shellfish allergy.", "quarantined", "refused, as it should be", " ok\n", `"kind":"app"`}},
	"docs/concepts.md":   {want: []string{"superseded fact home", "Lives in Berlin.", "Lives in Lisbon."}},
	"model/README.md":    {read: "they fetch weights, and serve them"},
	"docs/benchmarks.md": {read: "they measure for minutes on data sets that are not here"},
	"docs/operations.md": {read: "they need databases that are not here; make test-postgres and test-redis use such"},
	"docs/erasure.md": {
		given: `tenet --user sarah remember --tier fact allergy "Severe shellfish." --quote "I have a severe shellfish allergy."
			tenet --user bob remember --tier fact allergy "Nuts." --quote "I am allergic to nuts."`,
		want: []string{"receipt", "case 4711"},
	},
	"docs/portability.md": {
		given: `tenet --user sarah remember --tier fact allergy "Severe shellfish." --quote "I have a severe shellfish allergy."
			printf '{"results":[{"id":"1","memory":"Likes tea.","user_id":"sarah","created_at":"2026-01-01T00:00:00Z"}]}' >mem0.json`,
	},
}

// notRun are the kinds of block that nothing executes, and why.
var notRun = map[string]string{
	"text":    "a drawing, or what something printed",
	"mermaid": "a drawing",
}

const repository = "../.."

var fence = regexp.MustCompile("(?ms)^(```+)([^\n]*)\n(.*?)^```+ *$")

// blocksOf are the fenced blocks of every page that people read.
func blocksOf(t *testing.T) []block {
	t.Helper()
	var out []block
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(repository, path)
		if d != nil && d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules" || d.Name() == "upstream" || name == "bin" || name == "data") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found := fence.FindAllStringSubmatchIndex(string(text), -1)
		if 2*len(found) != strings.Count("\n"+string(text), "\n```") {
			t.Errorf("%s: a fenced block is open, or inside another", name)
		}
		for _, m := range found {
			out = append(out, block{name, string(text[m[4]:m[5]]), string(text[m[6]:m[7]]), 1 + bytes.Count(text[:m[0]], []byte("\n"))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("only %d blocks: the walk is broken", len(out))
	}
	return out
}

// TestEveryFencedBlockIsExecuted: a block of a kind that is not known here fails.
func TestEveryFencedBlockIsExecuted(t *testing.T) {
	shells := map[string][]block{}
	for _, b := range blocksOf(t) {
		switch b.kind {
		case "sh":
			shells[b.page] = append(shells[b.page], b)
		case "go":
			isAnExample(t, b)
		case "yaml":
			isAPolicy(t, b)
		case "json":
			areHooks(t, b)
		case "python":
			isPython(t, b)
		case "ts":
			isJavaScript(t, b)
		default:
			if notRun[b.kind] == "" {
				t.Errorf("%s: nothing is known of a block of the kind %q: say sh, go, python, ts, yaml, json, text or mermaid", b, b.kind)
			}
		}
	}
	for name, bs := range shells {
		if _, ok := manuals[name]; !ok {
			t.Errorf("%s has commands, and nothing says what they need", bs[0])
		}
	}
	for name, p := range manuals {
		if len(shells[name]) == 0 {
			t.Errorf("%s has no commands any more", name)
			continue
		}
		t.Run(name, func(t *testing.T) { runPage(t, p, shells[name]) })
	}
}

// runPage runs the commands of a page in order, in one folder.
func runPage(t *testing.T, p manual, bs []block) {
	dir := t.TempDir()
	self, err := os.Executable()
	must(t, err)
	root, err := filepath.Abs(repository)
	must(t, err)
	bin := filepath.Join(dir, "bin")
	must(t, os.MkdirAll(bin, 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	must(t, os.Symlink(filepath.Join(root, "examples"), filepath.Join(dir, "examples")))
	mode := "run"
	if p.read != "" {
		mode = "read"
	}
	for name, script := range map[string]string{
		"tenet": fmt.Sprintf("TENET_TEST_MAIN=%s exec %q \"$@\"", mode, self),
		"go":    fmt.Sprintf("cd %q && TENET_TEST_MAIN=go exec %q \"$@\"", root, self),
		"make": fmt.Sprintf(`PATH=${PATH#*:}
			if [ "$1" = run ]; then exec make -s -f %q -o build story STORE=data/run.db; fi # TestMakeRunServes is the rest
			exec make -C %q -n "$@" >/dev/null`, filepath.Join(root, "Makefile"), root),
	} {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	at := "127.0.0.1:7766"
	if p.served {
		_, url := serving(t)
		at = strings.TrimPrefix(url, "http://")
		for _, kind := range []string{"app", "admin"} { // where make serve leaves them
			key, err := os.ReadFile(servedStore + "." + kind + "-key")
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, "data", "tenet.db."+kind+"-key"), key, 0o600))
		}
	}
	script := "set -eu\n" + p.given
	for _, b := range bs { // one terminal: what a block sets holds in the next
		script += fmt.Sprintf("\necho '== %s'\n%s", b, b.text)
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(script, "127.0.0.1:7766", at))
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TENET_") || strings.HasPrefix(v, "MAKE") }),
		"PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	printed := string(out)
	if err != nil || strings.Contains(printed, "urn:tenet:problem") {
		t.Errorf("%s: %v, after\n%s", bs[0].page, err, printed)
	}
	for _, w := range p.want {
		if !strings.Contains(printed, w) {
			t.Errorf("%s prints no %q:\n%s", bs[0].page, w, printed)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readOnly parses a command and its configuration as the program does, and runs
// nothing.
func readOnly(args []string) int {
	a := &app{getenv: os.Getenv, in: strings.NewReader(""), out: os.Stdout, err: os.Stderr}
	var g grammar
	_, err := a.parse(&g, jsonFile(args))
	if err == nil {
		a.set, err = load(g.globals, a.getenv)
	}
	if err == nil && g.Migrate.From != "" {
		for _, s := range []string{g.Migrate.From, g.Migrate.To} {
			if _, err2 := parseDSN(s); err2 != nil {
				err = err2
			}
		}
	}
	if err != nil {
		a.fail(err)
		return 1
	}
	return 0
}

// goOnly checks a go test command: the packages are there, and each of the tests
// and benchmarks that it names.
func goOnly(args []string) int {
	if len(args) == 0 || args[0] != "test" {
		fmt.Fprintln(os.Stderr, "go: only go test is known here")
		return 1
	}
	var names, dirs []string
	for i := 1; i < len(args); i++ {
		switch {
		case (args[i] == "-run" || args[i] == "-bench") && i+1 < len(args):
			if i++; args[i] != "xxx" && args[i] != "." {
				names = append(names, args[i])
			}
		case args[i] == "-cpu":
			i++
		case strings.HasPrefix(args[i], "./"):
			dirs = append(dirs, args[i])
		case !slices.Contains([]string{"-short", "-v", "-benchmem"}, args[i]):
			fmt.Fprintf(os.Stderr, "go: unknown here: %s\n", args[i])
			return 1
		}
	}
	var source strings.Builder
	for _, d := range dirs {
		files, _ := filepath.Glob(filepath.Join(d, "*_test.go"))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			source.Write(text)
		}
	}
	for _, n := range names {
		if !strings.Contains(source.String(), "\nfunc "+n) {
			fmt.Fprintf(os.Stderr, "go: no test %s in %v\n", n, dirs)
			return 1
		}
	}
	if source.Len() == 0 {
		fmt.Fprintf(os.Stderr, "go: no tests in %v\n", dirs)
		return 1
	}
	return 0
}

// examples are where the Go code of pages stands as Examples: go vet compiles
// them, and go test runs those that have an output. The one of model/README.md
// has none, since the weights are not everywhere.
var examples = map[string]string{"README.md": "example_test.go", "model/README.md": "model/inproc/example_test.go"}

// isAnExample: the code stands in an Example.
func isAnExample(t *testing.T, b block) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(repository, examples[b.page]))
	if err != nil {
		t.Errorf("%s: there is no Example of it: %v", b, err)
		return
	}
	var code strings.Builder
	for line := range strings.Lines(b.text) {
		if line != "\n" {
			line = "\t" + line
		}
		code.WriteString(line)
	}
	if !strings.Contains(string(source), "() {\n"+code.String()) {
		t.Errorf("%s is not what an Example of %s begins with", b, examples[b.page])
	}
	if lines := strings.Count(b.text, "\n") - strings.Count(b.text, "//") - strings.Count(b.text, "\n\n"); lines > 20 {
		t.Errorf("%s has %d lines", b, lines)
	}
}

// isAPolicy: the file compiles, and its own tests pass.
func isAPolicy(t *testing.T, b block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	must(t, os.WriteFile(file, []byte(b.text), 0o600))
	s := newShell(t)
	s.ok("policy", "check", file)
	s.ok("policy", "test", file)
}

// areHooks: settings of Claude Code whose commands are this program's.
func areHooks(t *testing.T, b block) {
	t.Helper()
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct{ Type, Command string }
		}
	}
	d := json.NewDecoder(strings.NewReader(b.text))
	d.DisallowUnknownFields()
	if err := json.Unmarshal([]byte(b.text), &settings); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	n := 0
	for event, hs := range settings.Hooks {
		for _, h := range hs {
			for _, c := range h.Hooks {
				words := strings.Fields(c.Command)
				if c.Type != "command" || len(words) < 2 || words[0] != "tenet" || readOnly(words[1:]) != 0 {
					t.Errorf("%s: %s runs %q", b, event, c.Command)
				}
				n++
			}
		}
	}
	if n == 0 {
		t.Errorf("%s has no hook", b)
	}
}

// isPython: it compiles, and what it takes from the client is there. It runs in
// make test-integrations, where the frameworks are.
func isPython(t *testing.T, b block) {
	t.Helper()
	checked(t, b, "python3", "-c", `import ast, pathlib, sys
tree = ast.parse(sys.stdin.read())
for n in ast.walk(tree):
    if isinstance(n, ast.ImportFrom) and n.module.split(".")[0] == "tenet_memory":
        path = pathlib.Path("clients/python", *n.module.split("."))
        path = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        there = path.read_text()
        for a in n.names:
            assert a.name in there, f"{n.module} has no {a.name}"`)
}

// isJavaScript: it is a module. The client's runs in make test-integrations.
func isJavaScript(t *testing.T, b block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "block.mjs")
	must(t, os.WriteFile(file, []byte(b.text), 0o600))
	checked(t, b, "node", "--check", file)
}

// checked runs a language's own checker on a block, in the repository.
func checked(t *testing.T, b block, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), name) {
			t.Errorf("%s: no %s", b, name)
		}
		t.Logf("%s is not checked: no %s", b, name)
		return
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = repository, strings.NewReader(b.text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", b, err, out)
	}
}

// TestEveryCommandNamedInThePagesExists: in running text, too.
func TestEveryCommandNamedInThePagesExists(t *testing.T) {
	k, err := kong.New(&grammar{}, kong.Name("tenet"))
	must(t, err)
	makefile, err := os.ReadFile(repository + "/Makefile")
	must(t, err)
	inline := regexp.MustCompile("`((?:bin/)?tenet|make) ([a-z][^`\n]*)`")
	found := 0
	names, err := filepath.Glob(repository + "/docs/*.md")
	must(t, err)
	for _, path := range append(names, repository+"/README.md", repository+"/CONTRIBUTING.md", repository+"/SECURITY.md") {
		text, err := os.ReadFile(path)
		must(t, err)
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(m[2])
			found++
			if m[1] == "make" {
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[0]) + `( [a-z-]+)*:`).Match(makefile) {
					t.Errorf("%s: there is no %q", path, m[0])
				}
				continue
			}
			at := k.Model.Node
			for _, w := range words {
				if len(at.Children) == 0 || !regexp.MustCompile(`^[a-z-]+$`).MatchString(w) {
					break
				}
				i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == w })
				if i < 0 {
					t.Errorf("%s: there is no %q", path, m[0])
					break
				}
				at = at.Children[i]
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d commands were found: the search is broken", found)
	}
}
