package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

func TestAFlagBeatsTheEnvironmentWhichBeatsTheFile(t *testing.T) {
	s := newShell(t)
	file := s.write("conf.yaml", "tenant: from-file\nactor: from-file\nuser: from-file\ndebounce: 5m\n")
	s.env["TENET_CONFIG"] = file
	s.env["TENET_ACTOR"] = "from-env"
	s.env["TENET_PROJECT"] = "from-env"
	var got struct {
		File           string
		Config, Source map[string]string
	}
	s.into(&got, "config", "check", "--subject", "tenant")
	for key, want := range map[string][2]string{
		"tenant": {"from-file", "file"}, "actor": {"from-env", "environment"}, "subject": {"tenant", "flag"},
		"debounce": {"5m", "file"}, "durable": {"on", "default"}, "store": {s.store, "flag"},
	} {
		if got.Config[key] != want[0] || got.Source[key] != want[1] {
			t.Errorf("%s is %q from %s, want %v", key, got.Config[key], got.Source[key], want)
		}
	}
	if got.File != file {
		t.Error(got.File)
	}
	s.into(&got, "config", "check")
	if got.Config["subject"] != "project:from-env" {
		t.Error(got.Config["subject"])
	}
}

func TestSecretsAreMasked(t *testing.T) {
	s := newShell(t)
	s.env["TENET_FENCE_SECRET"] = "sixteen-or-more-characters"
	s.env["TENET_MASTER_KEY"] = strings.Repeat("ab", 32)
	for _, out := range []string{s.ok("config", "check"), s.ok("config", "check", "--json")} {
		if strings.Contains(out, "sixteen") || strings.Contains(out, "abab") || strings.Count(out, "********") != 2 {
			t.Error(out)
		}
	}
}

func TestAConfigurationThatCannotBeUnderstoodIsInvalidAndNamesTheKey(t *testing.T) {
	for text, names := range map[string]string{
		"frobnicate: 1\n":                "frobnicate",
		"store:\n  path: x\n":            "store.path",
		"tenant: 007\n":                  "tenant",
		"durable: perhaps\n":             "durable",
		"session_ttl: 3\n":               "session_ttl",
		"session_ttl: -3h\n":             "session_ttl",
		"lease: 10ms\n":                  "lease",
		"as: admin\n":                    "as",
		"subject: sarah\n":               "subject",
		"master_key: abc\n":              "master_key",
		"fence_secret: short\n":          "fence_secret",
		"user: a\nproject: b\n":          "user",
		"tenant: a\ntenant: b\n":         "",
		"tenant: [a\n":                   "",
		"tenant: a\x00\n":                "",
		"tenant: \"\\ud800\"\n":          "",
		"tenant: \xff\n":                 "",
		"store: mysql:x\nfence_secret: ": "store",
	} {
		s := newShell(t)
		s.store = ""
		path := t.TempDir() + "/c.yaml"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := s.fails(tenet.Invalid, "config", "check", "--config", path); !strings.Contains(r.err, names) {
			t.Errorf("%q: %s", text, r.err)
		}
	}
	s := newShell(t)
	s.fails(tenet.Invalid, "config", "check", "--config", "no-such-file.yaml")
	s.ok("version", "--config", "no-such-file.yaml")
}

func TestSecretsOfABrokenFileAreNotPrinted(t *testing.T) {
	s := newShell(t)
	path := s.write("c.yaml", "fence_secret: hunter2hunter2hunter2\nfence_secret: hunter2hunter2hunter2\n\t: [")
	if r := s.fails(tenet.Invalid, "config", "check", "--config", path); strings.Contains(r.err, "hunter2") {
		t.Error(r.err)
	}
}

// TestEverySettingThatIsReadIsInTheReference: what the command asks its
// configuration for is one of the keys, of which docs/cli.md is made; what else
// it asks the environment for, a page names.
func TestEverySettingThatIsReadIsInTheReference(t *testing.T) {
	for _, k := range keys {
		if k.meaning == "" {
			t.Errorf("%s: the reference does not say what it is", k.name)
		}
	}
	pages := ""
	for _, text := range texts(t, "../../docs/*.md") {
		pages += text
	}
	settings, variables := 0, 0
	for name, text := range texts(t, "*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:\bvalues|\bsource|\bv)\["([a-z_]+)"\]`).FindAllStringSubmatch(text, -1) {
			if settings++; !known(m[1]) {
				t.Errorf("%s reads the setting %s, which no key is", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`"((?:TENET|OTEL)_[A-Z_]+[A-Z])"`).FindAllStringSubmatch(text, -1) {
			// OTEL_EXPORTER_OTLP_TRACES_PROTOCOL goes with the one without TRACES_.
			if variables++; !strings.Contains(pages, strings.Replace(m[1], "OTLP_TRACES_P", "OTLP_P", 1)) {
				t.Errorf("%s reads %s, which no page names", name, m[1])
			}
		}
	}
	if settings < 20 || variables < 5 {
		t.Fatalf("%d settings, %d variables: the search is broken", settings, variables)
	}
}

func texts(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(text)
	}
	return out
}
