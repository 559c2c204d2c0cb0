package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTheComposeFileIsInStep reads it as a person would use it: its services,
// the settings of the program, and what the program asks of the databases.
func TestTheComposeFileIsInStep(t *testing.T) {
	text, err := os.ReadFile("../../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Services map[string]struct {
			Image, Build string
			Command      []string
			Environment  map[string]string
			Ports        []string
			DependsOn    map[string]struct{ Condition string } `yaml:"depends_on"`
			Healthcheck  map[string]any
			Volumes      []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "redis"} {
		s, ok := c.Services[name]
		if !ok || len(s.Healthcheck) == 0 || len(s.Volumes) == 0 {
			t.Errorf("%s: not there, not kept, or not watched", name)
		}
		if c.Services["tenet"].DependsOn[name].Condition != "service_healthy" {
			t.Errorf("tenet does not wait for %s", name)
		}
		image, version, _ := strings.Cut(s.Image, ":")
		if want := map[string]string{"postgres": "17", "redis": "7"}[name]; image != name || version != want {
			t.Errorf("%s is %s: the program is tested with %s", name, s.Image, want)
		}
	}
	redis := strings.Join(c.Services["redis"].Command, " ")
	for _, want := range []string{"--appendonly yes", "--maxmemory-policy noeviction", "--maxmemory "} {
		if !strings.Contains(redis, want) {
			t.Errorf("Redis runs without %s", want)
		}
	}
	filled := strings.Repeat("7", 64)
	variable := regexp.MustCompile(`\$\{[A-Z_]+:\?[^}]*\}`)
	env := map[string]string{}
	for name, v := range c.Services["tenet"].Environment {
		if name == "TENET_MASTER_KEY" && !variable.MatchString(v) {
			t.Error("a master key stands in the file")
		}
		env[name] = variable.ReplaceAllString(v, filled)
		if !known(strings.ToLower(strings.TrimPrefix(name, "TENET_"))) {
			t.Errorf("%s is no setting", name)
		}
	}
	set, err := load(globals{}, func(k string) string { return env[k] })
	if err != nil {
		t.Fatalf("the program does not take these settings: %v", err)
	}
	if set.store.scheme != "postgres" || set.sessions.scheme != "redis" || len(set.masterKey) != 32 {
		t.Errorf("%+v", set.store)
	}
	if !slices.Equal(c.Services["tenet"].Command, []string{"serve"}) || len(c.Services["tenet"].Ports) != 1 || !strings.HasPrefix(c.Services["tenet"].Ports[0], "127.0.0.1:") ||
		!strings.HasSuffix(set.values["listen"], strings.TrimPrefix(c.Services["tenet"].Ports[0], "127.0.0.1:7766")) {
		t.Errorf("%v on %v", c.Services["tenet"].Command, c.Services["tenet"].Ports)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	docker, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if version == nil || !strings.Contains(string(docker), "golang:"+string(version[1])+" ") {
		t.Errorf("the Dockerfile builds with another Go than go.mod's %s", version[1])
	}
}
