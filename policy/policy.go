// Package policy holds the configurable rules in front of durable memory:
// what a text would do if a model read it as an instruction, which secrets
// and personal data it carries, and what the key registry says about its key.
// A Policy is one gate.Rule: it can object, it cannot admit.
//
// The package imports tenet, gate, the standard library and
// golang.org/x/text. It reads no clock, no file and no network, keeps no
// state between checks, and never puts memory text into a Detail.
package policy

import (
	"crypto/sha256"
	_ "embed" // the rule data
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// engineVersion changes when code that judges does; data and expressions are
// in the digest by themselves.
const engineVersion = "policy/5"

//go:embed lexicon.txt
var lexiconData string

// Policy is the compiled rules. It is immutable and safe for concurrent use.
type Policy struct {
	config   Config
	lexicon  *lexicon
	shapes   []shape
	secrets  *secrets
	pii      *piiRules
	registry Registry
	version  string
	scratch  sync.Pool // *scan, so that a check allocates little
}

// builtin is the policy of the zero Config, compiled when first asked for.
var builtin = sync.OnceValue(func() *Policy {
	p, err := New(Config{})
	if err != nil {
		panic("policy: the built-in rules do not load: " + err.Error()) // a defect of this build, found by any test
	}
	return p
})

// Default is the policy that ships: the rules a gate is given when nobody
// configured anything.
func Default() []gate.Rule { return []gate.Rule{builtin()} }

// Keys gives a gate the key registry that ships: allergies are many and must
// never be crowded out, a home city is one.
func Keys() gate.Option { return builtin().Keys() }

// Keys gives a gate the policy's key registry.
func (p *Policy) Keys() gate.Option {
	registry := p.Registry()
	return gate.WithKeys(p.Version(), func(key string) (gate.KeySpec, bool) {
		k, known := registry.Lookup(key)
		return gate.KeySpec{Multi: k.Many, Safety: k.Safety, Overridable: k.Overridable, Revalidate: k.Revalidate, Keep: k.Keep}, known
	})
}

// Redact replaces every secret in a text by a typed placeholder, for session
// messages and transcripts, and says what it replaced.
func Redact(text string) (string, []tenet.Code) { return builtin().Redact(text) }

// New compiles a policy. It returns an Invalid error when the configuration
// contradicts itself or names what does not exist.
func New(c Config) (*Policy, error) {
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	lex, err := parseLexicon(lexiconData)
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "policy", "%v", err)
	}
	sec, err := newSecrets()
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "policy", "%v", err)
	}
	p := &Policy{config: c, lexicon: lex, shapes: shapes(), secrets: sec, pii: newPII()}
	if p.registry, err = newRegistry(c.Keys); err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintln(h, engineVersion)
	h.Write([]byte(lexiconData))
	h.Write(gitleaksData)
	for _, s := range p.shapes {
		fmt.Fprintln(h, s.code, s.re)
	}
	for _, r := range p.secrets.spoken {
		fmt.Fprintln(h, r.code, r.words, r.re, r.alt, r.before)
	}
	fmt.Fprintln(h, p.pii.all()...)
	for _, k := range slices.Sorted(maps.Keys(confusables)) {
		fmt.Fprintf(h, "%c%c", k, confusables[k])
	}
	conf, err := json.Marshal(c)
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "policy", "configuration cannot be encoded")
	}
	h.Write(conf)
	p.version = engineVersion + ":" + hex.EncodeToString(h.Sum(nil)[:12])
	p.scratch.New = func() any { return new(scan) }
	return p, nil
}

// Version is a digest over the code version, the rule data and the
// configuration. Every verdict carries it through the gate's rule-set digest.
func (p *Policy) Version() string { return p.version }

// Registry is what the policy knows about keys.
func (p *Policy) Registry() Registry { return p.registry }

// Check runs every check on the proposal and returns all findings.
func (p *Policy) Check(pr gate.Proposal) []gate.Finding {
	s := p.scratch.Get().(*scan)
	defer p.scratch.Put(s)
	c := pr.Candidate
	fs := p.checkKey(pr, s, nil)
	for _, part := range valueTexts(c) {
		g := canonicalise(part)
		more := p.checkPIIBeside(pr, g, p.checkForm(s, g, false, p.checkSecrets(g, false, nil)))
		fs = beside("value", p.unsaid(pr, part, more), fs)
	}
	if c.Quote != "" && c.Quote != c.Text {
		g := legible(c.Quote)
		fs = beside("quote", p.unsaid(pr, c.Quote, p.checkPIIBeside(pr, g, p.checkSecrets(g, false, nil))), fs)
	}
	if c.Speaker != "" {
		fs = beside("speaker", p.checkForm(s, canonicalise(c.Speaker), false, nil), fs)
	}
	f := canonicalise(c.Text)
	fs = p.checkHidden(pr, f, fs)
	fs = p.checkSecrets(f, true, fs)
	fs = p.checkForm(s, f, true, fs)
	fs = p.checkTier(pr, s, f, fs)
	fs = p.checkPII(pr, s, f, fs)
	for i := range fs {
		if cat, ok := strings.CutPrefix(string(fs[i].Code), "PII:"); ok && fs[i].Check == "secret" {
			p.decidePII(&fs[i], Category(cat), pr) // cards and IBANs, found on the way
		}
		if fs[i].Check == errand {
			fs[i].Check = "structure"
			if pr.Label >= tenet.LabelUserStated {
				// "Send invites to lea@example.org": the person's own errand
				// is for them to confirm, not refused for good.
				fs[i].Effect = min(fs[i].Effect, gate.E2)
			}
		}
		if was := fs[i].Check; was == markup || was == page {
			fs[i].Check = "structure"
			switch {
			case pr.Label < tenet.LabelUserStated:
			case c.Tier == tenet.TierEpisode:
				// A developer who pastes HTML into a chat is remembered: what
				// was said is defanged when it is rendered, so it fetches nothing.
				fs[i].Effect = min(fs[i].Effect, gate.E2)
			case c.Tier == tenet.TierFact && was == page:
				// "Always use this template: <form ...": theirs to have kept, and
				// shown defanged. The code stays as a remark.
				fs[i].Effect = 0
			}
		}
	}
	return fs
}

// beside adds findings of another field than the text. They carry no span, so
// that a mask covers the whole.
func beside(field string, more, fs []gate.Finding) []gate.Finding {
	for _, g := range more {
		g.Detail = "in the " + field
		fs = append(fs, g)
	}
	return fs
}

// valueTexts are the strings of a typed value, names of members included, as
// far as the text does not say the same.
func valueTexts(c tenet.Candidate) []string {
	if len(c.Value) == 0 {
		return nil
	}
	var x any
	if json.Unmarshal(c.Value, &x) != nil {
		return []string{string(c.Value)}
	}
	var out []string
	var walk func(any)
	walk = func(x any) {
		switch v := x.(type) {
		case string:
			if v != c.Text && v != "" {
				out = append(out, v)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				out = append(out, k)
				walk(v[k])
			}
		}
	}
	walk(x)
	if len(out) > 1 {
		// One reading for all: a sentence cut into members is still a sentence.
		out = append(out[:0], strings.Join(out, "\n"))
	}
	return out
}
