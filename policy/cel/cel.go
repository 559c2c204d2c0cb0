// Package cel holds a tenant's own rules, written in CEL, as one gate.Rule.
// Like every rule they can object and cannot admit. An expression sees the
// candidate and its derived label, reads no clock and no store, and is
// evaluated under a cost limit; one that fails or costs too much holds the
// candidate, because a rule that was meant to object may not be lost.
//
// The package imports tenet, gate, the standard library and cel-go.
package cel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"

	"cel.dev/cel-go/cel"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Rule is one expression and what it asks for when it is true.
type Rule struct {
	Name   string `json:"name"` // in the reason code, RULE:name
	When   string `json:"when"`
	Reject bool   `json:"reject"` // else hold
}

// Limits on rules.
const (
	maxRules  = 64
	maxSource = 4 << 10
	costLimit = 100_000
)

// CodeFailed marks a candidate that is held because a rule could not be
// evaluated; RULE_FAILED:name.
const CodeFailed = "RULE_FAILED:"

// Rules are compiled rules. They are immutable and safe for concurrent use.
type Rules struct {
	all     []compiled
	version string
}

type compiled struct {
	Rule
	program cel.Program
}

var name = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// New compiles rules. It returns an Invalid error that names the rule and the
// place in it.
func New(rules []Rule) (*Rules, error) {
	if len(rules) > maxRules {
		return nil, tenet.Errorf(tenet.Invalid, "policy", "%d rules, the limit is %d", len(rules), maxRules)
	}
	env, err := cel.NewEnv(
		cel.Variable("text", cel.StringType), cel.Variable("key", cel.StringType), cel.Variable("tier", cel.StringType),
		cel.Variable("op", cel.StringType), cel.Variable("speaker", cel.StringType), cel.Variable("value", cel.DynType),
		cel.Variable("label", cel.StringType), cel.Variable("trust", cel.IntType), // trust: 1 external to 6 operator
		cel.Variable("by", cel.StringType), cel.Variable("subject", cel.StringType), cel.Variable("safety", cel.BoolType),
	)
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "policy", "the expression language cannot be set up")
	}
	r := &Rules{}
	h := sha256.New()
	fmt.Fprintln(h, "cel/1", costLimit)
	seen := map[string]bool{}
	for i, rule := range rules {
		switch {
		case !name.MatchString(rule.Name):
			return nil, tenet.Errorf(tenet.Invalid, "policy", "rule %d: a name is 1 to 40 of a-z, 0-9, - and _", i+1)
		case seen[rule.Name]:
			return nil, tenet.Errorf(tenet.Invalid, "policy", "rule %s is there twice", rule.Name)
		case rule.When == "" || len(rule.When) > maxSource:
			return nil, tenet.Errorf(tenet.Invalid, "policy", "rule %s: an expression has 1 to %d bytes", rule.Name, maxSource)
		}
		seen[rule.Name] = true
		ast, issues := env.Compile(rule.When)
		if issues != nil && issues.Err() != nil {
			e := issues.Errors()[0]
			return nil, tenet.Errorf(tenet.Invalid, "policy", "rule %s: line %d, column %d: %s", rule.Name, e.Location.Line(), e.Location.Column()+1, e.Message)
		}
		if ast.OutputType() != cel.BoolType {
			return nil, tenet.Errorf(tenet.Invalid, "policy", "rule %s is of type %s, not bool", rule.Name, ast.OutputType())
		}
		program, err := env.Program(ast, cel.CostLimit(costLimit))
		if err != nil {
			return nil, tenet.Errorf(tenet.Invalid, "policy", "rule %s cannot be made a program", rule.Name)
		}
		r.all = append(r.all, compiled{rule, program})
		b, _ := json.Marshal(rule)
		h.Write(b)
	}
	r.version = "cel/1:" + hex.EncodeToString(h.Sum(nil)[:12])
	return r, nil
}

// Version is a digest over the expressions.
func (r *Rules) Version() string { return r.version }

// Check evaluates every rule on the proposal.
func (r *Rules) Check(p gate.Proposal) []gate.Finding {
	c := p.Candidate
	label := ""
	if p.Label.Known() {
		label = p.Label.String()
	}
	tier := ""
	if c.Tier != 0 {
		tier = c.Tier.String()
	}
	var value any
	if len(c.Value) > 0 {
		json.Unmarshal(c.Value, &value) // checked when it came in
	}
	vars := map[string]any{
		"text": c.Text, "key": c.Key, "tier": tier, "op": c.Op.String(), "speaker": c.Speaker, "value": value,
		"label": label, "trust": int64(p.Label), "by": p.By.Kind().String(), "subject": c.Scope.Subject().Kind().String(), "safety": c.Safety,
	}
	var out []gate.Finding
	for _, rule := range r.all {
		f := gate.Finding{Finding: tenet.Finding{Check: "tenant", Code: tenet.Code("RULE:" + rule.Name)}, Hold: !rule.Reject, Reject: rule.Reject}
		v, _, err := rule.program.Eval(vars)
		hit, isBool := false, false
		if err == nil {
			hit, isBool = v.Value().(bool)
		}
		switch {
		case err != nil || !isBool:
			f.Code, f.Hold, f.Reject = tenet.Code(CodeFailed+rule.Name), true, false
		case !hit:
			continue
		}
		out = append(out, f)
	}
	return out
}
