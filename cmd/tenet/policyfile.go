package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/policy/cel"
)

// policyFile is the one YAML file of a policy. Everything in it can only
// object to more than the gate's floor does.
type policyFile struct {
	Version     int           `yaml:"version"`
	UnknownKeys policy.Action `yaml:"unknown_keys"`
	Keys        []struct {
		Key         string           `yaml:"key"`
		Type        policy.ValueType `yaml:"type"`
		Many        bool             `yaml:"many"`
		Safety      bool             `yaml:"safety"`
		Writers     []string         `yaml:"writers"`
		Overridable bool             `yaml:"overridable"`
		Revalidate  int              `yaml:"revalidate_days"`
		Keep        int              `yaml:"keep_days"`
	} `yaml:"keys"`
	Retention []struct {
		Tier   string `yaml:"tier"`
		Label  string `yaml:"label"`
		Safety bool   `yaml:"safety"`
		Days   int    `yaml:"days"` // 0: for ever
	} `yaml:"retention"`
	PII []struct {
		Category policy.Category `yaml:"category"`
		Tier     string          `yaml:"tier"`
		Action   policy.Action   `yaml:"action"`
		From     string          `yaml:"from"`
	} `yaml:"pii"`
	Limits struct {
		Rows  int `yaml:"rows"`
		Bytes int `yaml:"bytes"`
		Value int `yaml:"value"`
	} `yaml:"limits"`
	Rates struct {
		Agent     int `yaml:"agent"`
		Connector int `yaml:"connector"`
		App       int `yaml:"app"`
		User      int `yaml:"user"`
		Operator  int `yaml:"operator"`
		Key       int `yaml:"key"`
		Self      int `yaml:"self"`
	} `yaml:"rates"`
	Actions []struct {
		Action       string `yaml:"action"`
		DenyBelow    string `yaml:"deny_below"`
		ConfirmBelow string `yaml:"confirm_below"`
		Support      string `yaml:"support"`
	} `yaml:"actions"`
	Rules []struct {
		Name string        `yaml:"name"`
		When string        `yaml:"when"`
		Do   policy.Action `yaml:"do"`
	} `yaml:"rules"`
	Tests []policyCase `yaml:"tests"`
}

// policyCase is one row of a policy's own table of tests.
type policyCase struct {
	Text    string   `yaml:"text"`
	Key     string   `yaml:"key"`     // default memo
	Channel string   `yaml:"channel"` // default user
	Want    string   `yaml:"want"`    // stored, quarantined or rejected
	Codes   []string `yaml:"codes"`   // each must be among the verdict's
}

// rulebook is a policy file, compiled.
type rulebook struct {
	gate    *gate.Gate
	actions []memory.ActionRule
	tests   []policyCase
}

// day is what a policy file counts in.
const day = 24 * time.Hour

// maxPolicy bounds a policy file.
const maxPolicy = 1 << 20

// readPolicy reads and compiles a policy file. The error names the place and
// never quotes the file.
func readPolicy(path string) (rulebook, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return rulebook{}, nil, tenet.Errorf(tenet.Invalid, "policy", "the policy file cannot be opened: %s", osReason(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
	if err != nil || len(text) > maxPolicy {
		return rulebook{}, nil, tenet.Errorf(tenet.Invalid, "policy", "the policy file cannot be read or is over 1 MiB")
	}
	sum := sha256.Sum256(text)
	book, err := compilePolicy(text)
	return book, sum[:], err
}

// policyText is the policy file as it is now, for who reviews; empty without one,
// or when it cannot be read.
func policyText(path string) string {
	if path == "" {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPolicy))
	if err != nil {
		return ""
	}
	return string(text)
}

func compilePolicy(text []byte) (rulebook, error) {
	if err := tenet.CheckText("the policy file", string(text)); err != nil {
		return rulebook{}, err
	}
	var p policyFile
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil && !errors.Is(err, io.EOF) {
		return rulebook{}, tenet.Errorf(tenet.Invalid, "policy", "%s", policyReason(err))
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return rulebook{}, tenet.Errorf(tenet.Invalid, "policy", "the file holds more than one document")
	}
	if p.Version != 1 {
		return rulebook{}, tenet.Errorf(tenet.Invalid, "policy", "version: want 1")
	}
	return p.compile()
}

// policyReason keeps the line and what was unknown, and drops values.
func policyReason(err error) string {
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		line, what, _ := strings.Cut(te.Errors[0], ": ")
		if field, ok := strings.CutPrefix(what, "field "); ok {
			name, _, _ := strings.Cut(field, " ")
			return line + ": unknown or repeated key " + printable(name)
		}
		return line + ": a value of the wrong type"
	}
	return yamlReason(err)
}

func (p policyFile) compile() (rulebook, error) {
	bad := func(format string, args ...any) (rulebook, error) {
		return rulebook{}, tenet.Errorf(tenet.Invalid, "policy", format, args...)
	}
	c := policy.Config{UnknownKeys: p.UnknownKeys}
	for _, k := range p.Keys {
		spec := policy.KeySpec{Key: k.Key, Type: k.Type, Many: k.Many, Safety: k.Safety, Overridable: k.Overridable, Revalidate: time.Duration(k.Revalidate) * day, Keep: time.Duration(k.Keep) * day}
		if k.Revalidate < 0 || k.Revalidate > 36500 {
			return bad("keys: %s: revalidate_days: want 1 to 36500", k.Key)
		}
		if k.Keep < 0 || k.Keep > 36500 {
			return bad("keys: %s: keep_days: want 1 to 36500", k.Key)
		}
		for _, w := range k.Writers {
			var kind tenet.PrincipalKind
			if kind.UnmarshalText([]byte(w)) != nil {
				return bad("keys: %s: unknown writer %q", k.Key, w)
			}
			spec.Writers = append(spec.Writers, kind)
		}
		c.Keys = append(c.Keys, spec)
	}
	for _, r := range p.PII {
		rule := policy.PIIRule{Category: r.Category, Action: r.Action}
		if r.Tier != "" && rule.Tier.UnmarshalText([]byte(r.Tier)) != nil {
			return bad("pii: %s: unknown tier %q", r.Category, r.Tier)
		}
		if r.From != "" && rule.From.UnmarshalText([]byte(r.From)) != nil {
			return bad("pii: %s: unknown label %q", r.Category, r.From)
		}
		c.PII = append(c.PII, rule)
	}
	var windows []gate.Window
	for i, r := range p.Retention {
		w := gate.Window{Safety: r.Safety, For: time.Duration(r.Days) * day}
		switch {
		case w.Tier.UnmarshalText([]byte(r.Tier)) != nil:
			return bad("retention: row %d: unknown tier %q", i+1, r.Tier)
		case r.Label != "" && w.Label.UnmarshalText([]byte(r.Label)) != nil:
			return bad("retention: row %d: unknown label %q", i+1, r.Label)
		case r.Safety && w.Tier != tenet.TierFact:
			return bad("retention: row %d: safety goes with facts", i+1)
		case r.Days < 0 || r.Days > 36500:
			return bad("retention: row %d: days: want 0 (for ever) to 36500", i+1)
		}
		windows = append(windows, w)
	}
	limits := gate.DefaultLimits
	for _, l := range []struct {
		name string
		set  int
		to   *int
	}{{"rows", p.Limits.Rows, &limits.Rows}, {"bytes", p.Limits.Bytes, &limits.Bytes}, {"value", p.Limits.Value, &limits.Value}} {
		if l.set < 0 || l.set > *l.to {
			return bad("limits: %s: want 1 to %d: a policy can only tighten", l.name, *l.to)
		}
		if l.set > 0 {
			*l.to = l.set
		}
	}
	rates := gate.DefaultRates
	for _, l := range []struct {
		name string
		set  int
		to   *int
	}{
		{"agent", p.Rates.Agent, &rates.Agent}, {"connector", p.Rates.Connector, &rates.Connector}, {"app", p.Rates.App, &rates.App},
		{"user", p.Rates.User, &rates.User}, {"operator", p.Rates.Operator, &rates.Operator}, {"key", p.Rates.Key, &rates.Key}, {"self", p.Rates.Self, &rates.Self},
	} {
		if l.set < 0 || *l.to > 0 && l.set > *l.to {
			return bad("rates: %s: want 1 to %d: a policy can only tighten", l.name, max(*l.to, 1))
		}
		if l.set > 0 {
			*l.to = l.set
		}
	}
	book := rulebook{tests: p.Tests}
	for _, a := range p.Actions {
		rule := memory.ActionRule{Action: a.Action}
		if a.Action == "" || len(a.Action) > tenet.MaxKey {
			return bad("actions: an action without a usable name")
		}
		for _, l := range []struct {
			text string
			to   *tenet.Label
		}{{a.DenyBelow, &rule.DenyBelow}, {a.ConfirmBelow, &rule.ConfirmBelow}, {a.Support, &rule.Support}} {
			if l.text != "" && l.to.UnmarshalText([]byte(l.text)) != nil {
				return bad("actions: %s: unknown label %q", a.Action, l.text)
			}
		}
		book.actions = append(book.actions, rule)
	}
	var own []cel.Rule
	for _, r := range p.Rules {
		if r.Do != policy.Hold && r.Do != policy.Reject {
			return bad("rules: %s: do is hold or reject", r.Name)
		}
		own = append(own, cel.Rule{Name: r.Name, When: r.When, Reject: r.Do == policy.Reject})
	}
	compiled, err := policy.New(c)
	if err != nil {
		return rulebook{}, err
	}
	rules := []gate.Rule{compiled}
	if len(own) > 0 {
		tenants, err := cel.New(own)
		if err != nil {
			return rulebook{}, err
		}
		rules = append(rules, tenants)
	}
	book.gate = gate.New(rules, gate.WithLimits(limits), gate.WithRates(rates), gate.WithRetention(windows), compiled.Keys())
	for i, t := range book.tests {
		if t.Text == "" || t.Want != tenet.Stored.String() && t.Want != tenet.Quarantined.String() && t.Want != tenet.Rejected.String() {
			return bad("tests: row %d: want a text, and stored, quarantined or rejected", i+1)
		}
	}
	return book, nil
}

// openPolicy is the gate of the settings. A policy file that cannot be used
// leaves a gate that is shut: memory can be read, and a write says why not.
func openPolicy(path string) (rulebook, []byte) {
	if path == "" {
		book, err := policyFile{Version: 1}.compile()
		if err != nil {
			panic("tenet: the built-in policy does not load") // a defect of this build, found by any test
		}
		return book, nil
	}
	book, sum, err := readPolicy(path)
	if err != nil {
		book, _ = openPolicy("")
		book.gate.Shut(reasonOf(err))
	}
	return book, sum
}

func reasonOf(err error) string {
	var e *tenet.Error
	if errors.As(err, &e) {
		return "the policy file is not usable: " + e.Reason
	}
	return "the policy file is not usable"
}

// watchPolicy adopts a policy file whenever its content changes. The new rules
// hold at once for every judgement that begins after; a file that cannot be
// used shuts the gate until it can.
func watchPolicy(ctx context.Context, path string, sum []byte, g *gate.Gate, mem *memory.Memory, log *slog.Logger, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		book, now, err := readPolicy(path)
		if bytes.Equal(now, sum) {
			continue // the same text, whether it can be used or not
		}
		sum = now
		if err != nil {
			g.Shut(reasonOf(err))
			log.Error("policy not adopted; durable writes are stopped", "reason", reasonOf(err))
			continue
		}
		g.Adopt(book.gate)
		mem.SetActions(book.actions)
		log.Info("policy adopted", "ruleset", g.RuleSet())
	}
}
