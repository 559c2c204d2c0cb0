package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

func TestEveryCommandAnswersInJSONWithAStableShape(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	file := s.write("talk.jsonl", talk(1))
	for _, c := range []struct{ args, want string }{
		{"import " + file, "added conversations failed failures kept left_out messages refused seconds unchanged"},
		{"remember diet Vegan. --tier fact --quote Vegan. --id d1", "at candidate effect label outcome record ruleset tier key"},
		{"remember Vegan. --tier note --quote Vegan. --id d2", "at candidate effect label outcome record ruleset tier"},
		{"facts", "facts"},
		{"facts --known-at 2020-01-01", "facts"},
		{"history diet", "history"},
		{"session append chat-9 hello --role user", "messages"},
		{"session show chat-9", "messages session"},
		{"context --session chat-9", "facts messages omitted pending recalled receipt system tokens"},
		{"recall topic", "hits"},
		{"recall topic --session chat-9 --explain", "hits"},
		{"session end chat-9", "messages scope session verdicts"},
		{"consolidate chat-0", "reports"},
		{"consolidate --all", "reports"},
		{"audit list", "entries"},
		{"audit show d1", "confirmation evidence record"},
		{"audit held", "held"},
		{"verify", "scopes"},
		{"verify --all", "scopes"},
		{"end diet", "done key record"},
		{"config check", "config file source"},
		{"version", "version"},
	} {
		args := strings.Fields(c.args)
		var got map[string]json.RawMessage
		s.into(&got, args...)
		have := slices.Sorted(maps.Keys(got))
		// Fields that a vocabulary type leaves out when empty may come on top.
		for _, want := range strings.Fields(c.want) {
			if !slices.Contains(have, want) {
				t.Errorf("tenet %s: no %q in %v", c.args, want, have)
			}
		}
		for name, raw := range got {
			if string(raw) == "null" && args[0] != "context" {
				t.Errorf("tenet %s: %s is null", c.args, name)
			}
		}
		if human := s.run(args...); strings.HasPrefix(human.out, "{") {
			t.Errorf("tenet %s: JSON without --json", c.args)
		}
	}
}

func TestWiderFactsComposeAndLosersAreShown(t *testing.T) {
	s := newShell(t)
	fact := func(text string, args ...string) {
		t.Helper()
		s.ok(append([]string{"remember", "release_day", text, "--tier", "fact", "--quote", text}, args...)...)
	}
	fact("The release day is Monday.", "--user", "sarah")
	fact("The release day is Tuesday.", "--project", "atlas")
	fact("The release day is Friday.", "--subject", "tenant", "--as", "operator")
	var got struct {
		Facts []struct {
			Text       string
			Label      string
			ShadowedBy string `json:"shadowed_by"`
		}
	}
	s.into(&got, "facts", "--user", "sarah", "--also", "project:atlas", "--also", "tenant")
	shadowed := map[string]bool{}
	for _, f := range got.Facts {
		shadowed[f.Text] = f.ShadowedBy != ""
	}
	if want := map[string]bool{"The release day is Monday.": true, "The release day is Tuesday.": true, "The release day is Friday.": false}; !maps.Equal(shadowed, want) {
		t.Error(shadowed)
	}
	if out := s.ok("facts", "--user", "sarah", "--also", "tenant"); !strings.Contains(out, "shadowed by") {
		t.Error(out)
	}
	s.fails(tenet.Invalid, "facts", "--user", "sarah", "--also", "atlas")
	// An id may hold a comma: flags that repeat are not split.
	fact("There is no release day.", "--project", "a,b")
	s.into(&got, "facts", "--user", "sarah", "--also", "project:a,b")
	if len(got.Facts) != 2 {
		t.Errorf("%+v", got.Facts)
	}
}

func TestAConnectorWritesTheKeysItOwns(t *testing.T) {
	s := newShell(t)
	s.env["TENET_USER"] = "sarah"
	s.env["TENET_AS"] = "connector"
	write := []string{"remember", "loyalty_tier", "Gold.", "--tier", "fact", "--quote", "Gold."}
	s.fails(tenet.Refused, write...)
	s.ok(append(write, "--owns", "loyalty_tier, other")...)
	if out := s.ok("facts"); !strings.Contains(out, "attested_tool") {
		t.Error(out)
	}
}

func TestUsersAndTenantsDoNotMeet(t *testing.T) {
	s := newShell(t)
	s.ok("remember", "seat", "Aisle.", "--tier", "fact", "--quote", "Aisle.", "--user", "sarah")
	for _, args := range [][]string{{"--user", "Sarah"}, {"--user", "sarah "}, {"--project", "sarah"}, {"--user", "sarah", "--tenant", "other"}, {"--subject", "tenant"}} {
		if out := s.ok(append([]string{"facts"}, args...)...); !strings.Contains(out, "no facts") {
			t.Errorf("%v: %s", args, out)
		}
	}
}
