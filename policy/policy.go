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
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// engineVersion changes when the code that reads the rule data does.
const engineVersion = "policy/1"

//go:embed lexicon.txt
var lexiconData string

// Policy is the compiled rules. It is immutable and safe for concurrent use.
type Policy struct {
	config  Config
	lexicon *lexicon
	shapes  []shape
	secrets *secrets
	version string
	scratch sync.Pool // *scan, so that a check allocates little
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
	p := &Policy{config: c, lexicon: lex, shapes: shapes(), secrets: sec}
	h := sha256.New()
	fmt.Fprintln(h, engineVersion)
	h.Write([]byte(lexiconData))
	h.Write(gitleaksData)
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

// Check runs every check on the proposal and returns all findings.
func (p *Policy) Check(pr gate.Proposal) []gate.Finding {
	s := p.scratch.Get().(*scan)
	defer p.scratch.Put(s)
	c := pr.Candidate
	f := canonicalise(c.Text)
	fs := p.checkHidden(pr, f, nil)
	fs = p.checkSecrets(f, true, fs)
	fs = p.checkForm(s, f, true, fs)
	return fs
}
