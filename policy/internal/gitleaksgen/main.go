//go:build ignore

// Gitleaksgen writes policy/gitleaks.json: the rule data of gitleaks as the
// module github.com/zricethezav/gitleaks/v8 carries it, with its licence. Run
// it in the policy folder:
//
//	go run ./internal/gitleaksgen/main.go            # the rules
//	go run ./internal/gitleaksgen/main.go -samples F # the module's own samples, to check coverage with
//
// Only data is taken. The scanner is not linked into Tenet, and the samples
// are made on the spot and never committed.
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
	"strconv"
	"strings"
)

const module = "github.com/zricethezav/gitleaks/v8@v8.30.1"

type allow struct {
	Regexes   []string `json:"regexes,omitempty"`
	Stopwords []string `json:"stopwords,omitempty"`
	Target    string   `json:"target,omitempty"` // match or line; empty: the secret
	and       bool
	paths     bool
}

type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Group    int      `json:"group,omitempty"`
	Entropy  float64  `json:"entropy,omitempty"`
	Keywords []string `json:"keywords,omitempty"`
	Allow    []allow  `json:"allow,omitempty"`
}

type file struct {
	Source string `json:"source"`
	Notice string `json:"notice"`
	Allow  allow  `json:"allow"`
	Rules  []rule `json:"rules"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gitleaksgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	dir, err := download()
	if err != nil {
		return err
	}
	if len(args) == 2 && args[0] == "-samples" {
		return samples(dir, args[1])
	}
	toml, err := os.ReadFile(filepath.Join(dir, "config", "gitleaks.toml"))
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(dir, "LICENSE"))
	if err != nil {
		return err
	}
	f, err := parse(string(toml))
	if err != nil {
		return err
	}
	f.Source, f.Notice = module+" config/gitleaks.toml, trimmed to what finds secrets in text", string(licence)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(f); err != nil {
		return err
	}
	return os.WriteFile("gitleaks.json", b.Bytes(), 0o644)
}

func download() (string, error) {
	tmp, err := os.MkdirTemp("", "gitleaksgen")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	c := exec.Command("go", "mod", "download", "-json", module)
	c.Dir = tmp // outside this module, so that its go.mod is left alone
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download: %w", err)
	}
	var m struct{ Dir string }
	return m.Dir, firstErr(json.Unmarshal(out, &m), func() error {
		if m.Dir == "" {
			return fmt.Errorf("no module folder")
		}
		return nil
	})
}

func firstErr(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// parse reads the subset of TOML that the file uses: tables, and keys with
// strings, numbers, and lists of strings over several lines.
func parse(s string) (file, error) {
	var f file
	section := ""
	cur := func() *allow {
		if section == "allowlist" {
			return &f.Allow
		}
		r := &f.Rules[len(f.Rules)-1]
		return &r.Allow[len(r.Allow)-1]
	}
	lines := strings.Split(s, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			switch section {
			case "rules":
				f.Rules = append(f.Rules, rule{})
			case "rules.allowlists":
				r := &f.Rules[len(f.Rules)-1]
				r.Allow = append(r.Allow, allow{})
			case "allowlist":
			default:
				return f, fmt.Errorf("line %d: unknown table %s", i+1, section)
			}
			continue
		}
		key, val, ok := strings.Cut(line, " = ")
		if !ok {
			return f, fmt.Errorf("line %d: no value", i+1)
		}
		if section == "" {
			continue
		}
		for strings.HasPrefix(val, "[") && !strings.HasSuffix(strings.TrimSpace(val), "]") {
			i++
			l := strings.TrimSpace(lines[i])
			if strings.HasPrefix(l, "#") {
				continue
			}
			val += "\n" + l
		}
		list, err := stringsOf(val)
		if err != nil {
			return f, fmt.Errorf("line %d: %w", i+1, err)
		}
		one := ""
		if len(list) > 0 {
			one = list[0]
		}
		if section == "rules" {
			r := &f.Rules[len(f.Rules)-1]
			switch key {
			case "id":
				r.ID = one
			case "regex":
				r.Regex = one
			case "keywords":
				r.Keywords = list
			case "entropy":
				r.Entropy, err = strconv.ParseFloat(val, 64)
			case "secretGroup":
				r.Group, err = strconv.Atoi(val)
			case "description", "path":
			default:
				err = fmt.Errorf("unknown key %s", key)
			}
		} else {
			a := cur()
			switch key {
			case "regexes":
				a.Regexes = list
			case "stopwords":
				a.Stopwords = list
			case "regexTarget":
				a.Target = one
			case "condition":
				a.and = one == "AND"
			case "paths":
				a.paths = true
			case "description":
			default:
				err = fmt.Errorf("unknown key %s", key)
			}
		}
		if err != nil {
			return f, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	kept := f.Rules[:0]
	for _, r := range f.Rules {
		if r.Regex == "" {
			continue // finds file names only
		}
		if _, err := regexp.Compile(r.Regex); err != nil {
			return f, fmt.Errorf("%s: %w", r.ID, err)
		}
		var as []allow
		for _, a := range r.Allow {
			if a.and && a.paths || len(a.Regexes)+len(a.Stopwords) == 0 {
				continue // holds in certain files only; a memory is in none
			}
			as = append(as, a)
		}
		r.Allow = as
		kept = append(kept, r)
	}
	f.Rules = kept
	return f, nil
}

// stringsOf reads every string literal of a value.
func stringsOf(v string) ([]string, error) {
	var out []string
	for i := 0; i < len(v); {
		switch {
		case strings.HasPrefix(v[i:], "'''"):
			end := strings.Index(v[i+3:], "'''")
			if end < 0 {
				return nil, fmt.Errorf("open string")
			}
			out = append(out, v[i+3:i+3+end])
			i += end + 6
		case v[i] == '"':
			q, err := strconv.QuotedPrefix(v[i:])
			if err != nil {
				return nil, err
			}
			s, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
			i += len(q)
		default:
			i++
		}
	}
	return out, nil
}

// samples runs the module's own rule generators with the validating function
// replaced by one that prints what it is given.
func samples(dir, out string) error {
	tmp, err := os.MkdirTemp("", "gitleaks-samples")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		to := filepath.Join(tmp, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasPrefix(d.Name(), "go.") && !strings.HasSuffix(path, ".toml") && !strings.HasSuffix(path, ".tmpl") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		return err
	}
	gen := filepath.Join(tmp, "cmd", "generate", "config")
	validate := `package utils

import (
	"encoding/json"
	"os"

	"github.com/zricethezav/gitleaks/v8/config"
)

type line struct {
	Rule string
	Text string
	Want bool
	Path bool
}

func put(l line) { _ = json.NewEncoder(os.Stdout).Encode(l) }

func Validate(r config.Rule, tps, fps []string) *config.Rule {
	for _, t := range tps {
		put(line{r.RuleID, t, true, false})
	}
	for _, t := range fps {
		put(line{r.RuleID, t, false, false})
	}
	return &r
}

func ValidateWithPaths(r config.Rule, tps, fps map[string]string) *config.Rule {
	for _, t := range tps {
		put(line{r.RuleID, t, true, true})
	}
	for _, t := range fps {
		put(line{r.RuleID, t, false, true})
	}
	return &r
}
`
	if err := os.WriteFile(filepath.Join(gen, "utils", "validate.go"), []byte(validate), 0o644); err != nil {
		return err
	}
	c := exec.Command("go", "run", ".", filepath.Join(tmp, "written.toml"))
	c.Dir = gen // it reads its template from there
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	c.Stderr = os.Stderr
	b, err := c.Output()
	if err != nil {
		return err
	}
	var keep bytes.Buffer
	for _, l := range bytes.Split(b, []byte("\n")) {
		if bytes.HasPrefix(l, []byte(`{"Rule"`)) {
			keep.Write(append(l, '\n'))
		}
	}
	return os.WriteFile(out, keep.Bytes(), 0o600)
}
