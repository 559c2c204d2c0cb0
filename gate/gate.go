package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tenet-memory/tenet"
)

// Rule is a configurable check. It can object; it cannot admit. Check must be
// a pure function of the proposal, and Version must change when its answers do.
type Rule interface {
	Version() string
	Check(Proposal) []Finding
}

// Proposal is what a rule sees: the candidate with its derived label.
type Proposal struct {
	By        tenet.Principal
	Candidate tenet.Candidate
	Label     tenet.Label
	At        time.Time
	// Offered is the candidate's text as it was offered, before its stored
	// form dropped what cannot be seen. Spans refer to Candidate.Text.
	Offered string
}

// Finding is one objection or observation of a check.
type Finding struct {
	tenet.Finding
	// Effect raises the candidate's effect class. Persists marks a persistence
	// marker ("in future sessions"), Negated a negation; see weigh.
	Effect   Effect
	Persists bool
	Negated  bool
	// Hold and Reject ask for that outcome whatever the effect class.
	Hold, Reject bool
	// Mask keeps the found span out of every log: a secret, a card number.
	// A zero span masks the whole text.
	Mask bool
	// Redact keeps the found span out of everything durable: the candidate goes
	// on with a typed placeholder in its place, and so do its value and the
	// excerpts kept with it.
	Redact bool
}

// Gate judges. It is safe for concurrent use: each judgement is made under one
// rule set, which never changes and which Adopt replaces as a whole.
type Gate struct{ at atomic.Pointer[rulebook] }

// rulebook is one rule set.
type rulebook struct {
	rules   []Rule
	limits  Limits
	rates   Rates
	windows []Window
	quotas  Quotas
	ruleset string

	keys        func(string) (KeySpec, bool)
	keysVersion string
	shut        string // why nothing is admitted; empty: it is
}

// Option tightens a gate.
type Option func(*rulebook)

// WithLimits replaces DefaultLimits for the persistent tier.
func WithLimits(l Limits) Option { return func(g *rulebook) { g.limits = l } }

// KeySpec is what a registry knows of a fact key.
type KeySpec struct {
	Multi       bool // holds several values at once: allergies are many, a home city is one
	Safety      bool // its facts must never be crowded out
	Overridable bool // a narrower scope's value wins whatever the labels
	// Revalidate is how long after it was last stated a value should be asked
	// about again; zero: by its label, see Revalidate.
	Revalidate time.Duration
	// Keep is how long after it was said a fact's text is kept; zero: as the
	// windows of its tier say.
	Keep time.Duration
}

// WithKeys gives the gate a key registry. What the registry says of a key
// holds for every candidate under it; lookup must be a pure function.
func WithKeys(version string, lookup func(key string) (KeySpec, bool)) Option {
	return func(g *rulebook) { g.keysVersion, g.keys = version, lookup }
}

// New makes a gate from the floor and the rules. Rules only add objections:
// a gate without rules still refuses what the floor refuses.
func New(rules []Rule, opts ...Option) *Gate {
	g := &rulebook{rules: slices.Clone(rules), limits: DefaultLimits, rates: DefaultRates}
	for _, o := range opts {
		o(g)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %+v %+v %q\n", floorVersion, g.limits, g.rates, g.keysVersion)
	if len(g.windows) > 0 {
		fmt.Fprintf(h, "%+v\n", g.windows)
	}
	for _, r := range rules {
		fmt.Fprintln(h, r.Version())
	}
	g.ruleset = hex.EncodeToString(h.Sum(nil)[:12])
	out := new(Gate)
	out.at.Store(g)
	return out
}

// Adopt replaces the rule set by another gate's, at once for every judgement
// that begins after it, and opens a gate that was shut. Quotas stay.
func (g *Gate) Adopt(n *Gate) {
	b := *n.at.Load()
	b.quotas = g.at.Load().quotas
	g.at.Store(&b)
}

// Shut stops everything that adds to, ends or retracts memory until Adopt:
// such calls are Unavailable and say why. Reading, discarding and retention go
// on. It is what a rule file that cannot be read comes to.
func (g *Gate) Shut(why string) {
	b := *g.at.Load()
	b.shut = why
	g.at.Store(&b)
}

// IsShut is why the gate is shut, or empty.
func (g *Gate) IsShut() string { return g.at.Load().shut }

func (b *rulebook) open(op string) error {
	if b.shut != "" {
		return tenet.Errorf(tenet.Unavailable, op, "nothing is admitted: %s", b.shut)
	}
	return nil
}

// RuleSet is the digest that every verdict carries.
func (g *Gate) RuleSet() string { return g.at.Load().ruleset }

// Limits are the persistent tier's, for reporting.
func (g *Gate) Limits() Limits { return g.at.Load().limits }

// knows reports whether the registry lists a fact key.
func (b *rulebook) knows(key string) bool {
	if b.keys == nil {
		return false
	}
	_, ok := b.keys(key)
	return ok
}

// Key is what the registry knows of a fact key; the zero KeySpec when nothing.
func (g *Gate) Key(key string) KeySpec {
	b := g.at.Load()
	if b.keys == nil {
		return KeySpec{}
	}
	spec, _ := b.keys(key)
	return spec
}

// A connector's and an agent's word grows old; the user's stands until they
// say otherwise.
const (
	revalidateTool     = 90 * 24 * time.Hour
	revalidateInferred = 30 * 24 * time.Hour
)

// Revalidate is how long after it was last stated a record is due to be asked
// about again; zero: never. It is then shown as such and supports no action; it
// is neither dropped nor changed.
func (g *Gate) Revalidate(r tenet.Record) time.Duration {
	if r.Tier == tenet.TierEpisode || r.Tier == tenet.TierDocument {
		return 0
	}
	if r.Tier == tenet.TierFact {
		if d := g.Key(r.Key).Revalidate; d > 0 {
			return d
		}
	}
	switch r.Label {
	case tenet.LabelAttestedTool:
		return revalidateTool
	case tenet.LabelAgentInferred, tenet.LabelExternal:
		return revalidateInferred
	}
	return 0
}

// Case is one candidate with everything that its judgement depends on.
type Case struct {
	By        tenet.Principal
	Candidate tenet.Candidate
	// Evidence are the cited messages as the session store holds them; a
	// cited message that is missing here is unknown.
	Evidence []tenet.Message
	// Parents are the labels of the records recalled in the session.
	Parents []tenet.Label
	State   State
	At      time.Time
	// Extracted says that the engine's extractor proposed it. What it could not
	// route to a tier is held, since nobody is there to be told and try again.
	Extracted bool
	// Similar are believed records that say nearly the same. They only add an
	// observation: nothing is merged, and nothing depends on their being all.
	Similar []tenet.Record
	// Replaces is a believed record whose place a note, or a value of a key with
	// several, takes; nil: none. One of a higher label is not touched.
	Replaces *tenet.Record
	// ExpiresAt is when the record's raw text is to be dropped, unless a window
	// of the gate says; zero: never.
	ExpiresAt time.Time
	// Objections are a classifier's: each asks that the candidate be held.
	// They can do nothing else.
	Objections []tenet.Code

	fingerprint string // of the prepared candidate, made once
	spelled     bool   // it is the signature of its words
}

// Query is what the case's State has to hold: ask the ledger for it, then
// judge.
func (g *Gate) Query(c Case) Query {
	b := g.at.Load()
	return b.query(b.prepare(c))
}

// Judge decides about a candidate. It returns an error, and decides nothing,
// when the candidate cannot be judged at all (Invalid) or the principal may
// not act in the scope (Denied).
func (g *Gate) Judge(c Case) (Decision, error) {
	if err := c.Candidate.Check(); err != nil {
		return Decision{}, err
	}
	if !c.By.MayReach(c.Candidate.Scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "judge", "the principal may not act in this scope")
	}
	if r := c.Replaces; r != nil && (r.Scope != c.Candidate.Scope || authority(c.By, r.Key) == 0) {
		return Decision{}, tenet.Errorf(tenet.Denied, "judge", "%s principals may not change this record", c.By.Kind())
	}
	return g.at.Load().judge(c, nil)
}

func (g *rulebook) judge(c Case, up *elevation) (Decision, error) {
	if err := g.open("judge"); err != nil {
		return Decision{}, err
	}
	offered := c.Candidate.Text
	declared := c.Candidate
	c = g.prepare(c)
	label, origins, evidence, findings := derive(c, g.knows)
	if up != nil {
		label, findings = up.label, nil
	}
	var w weighing
	w.add(findings...)
	w.add(floor(c, g.limits)...)
	w.add(buried(c, label)...)
	asked := g.query(c)
	over := asked.Pace.Over(c.State.Pace)
	w.add(paced(over, label)...)
	for _, code := range c.Objections {
		w.add(refusal("classifier", code, hold))
	}
	w.ask(g.rules, Proposal{c.By, c.Candidate, label, c.At, offered}, up != nil && up.waives, false)

	tier := c.Candidate.Tier
	if tier == 0 && c.Extracted {
		tier = tenet.TierNote // what it would do is weighed as in the widest tier it could be released to
	}
	base := weigh(tier, label, w.effect, w.persists, w.negated)
	if c.Candidate.Tier == tenet.TierFact && label == tenet.LabelAttestedTool && !c.By.Owns(c.Candidate.Key) {
		base = max(base, hold)
	}
	w.base(label, base)

	p := &Plan{
		Scope: c.Candidate.Scope, Actor: c.By.String(), At: c.At, Ref: string(c.Candidate.ID), Candidate: c.Candidate, Declared: declared, Why: c.Candidate.Route,
		Needs: Needs{Query: asked, Limits: g.limits, Blocked: c.State.Blocked, Over: over},
	}
	for _, r := range c.State.Open {
		p.Needs.Open = append(p.Needs.Open, r.ID)
	}
	v := tenet.Verdict{
		Candidate: c.Candidate.ID, Tier: c.Candidate.Tier, Key: c.Candidate.Key, Label: label, Effect: w.effect.String(),
		RuleSet: g.ruleset, At: c.At,
	}
	if w.worst == allow && redact(&c, w.findings, evidence) {
		w.add(note("pii", tenet.CodeRedacted))
		placed := g.query(c) // what it is placed among follows from what is left of it
		placed.Statement = asked.Statement
		p.Candidate, p.Needs.Query = c.Candidate, placed
	}
	if w.worst == allow {
		place := g.place
		if c.Candidate.Op != tenet.OpAssert {
			place = g.unplace
		}
		more, err := place(c, label, origins, p, &v)
		if err != nil {
			return Decision{}, err
		}
		w.add(more...)
	}
	w.tell(&v)
	if up != nil {
		if w.worst != allow {
			return Decision{}, &tenet.Error{Kind: tenet.Refused, Op: up.op, Reason: "a rule that this may not waive refuses it", Code: first(v.Codes)}
		}
		v.Codes = append(v.Codes, up.code)
		p.Settles = &Settlement{up.held.Verdict.Candidate, tenet.HoldReleased}
		for i := range p.Insert {
			if p.Insert[i].FragmentOf == "" {
				p.Insert[i].Elevates = tenet.RecordID(up.held.Verdict.Candidate)
			}
		}
	}
	if w.worst == allow {
		p.Kind = Admit
		// A retraction leaves no record of its own: its words stay with what it
		// took back, so that it can be followed when they turn out to be tainted.
		if c.Candidate.Tier != tenet.TierEpisode && (p.Insert != nil || p.Close != nil) {
			p.Evidence = evidence
		}
	} else {
		p.Insert, p.Close, p.Agree = nil, nil, nil
		if c.Candidate.Op == tenet.OpAssert {
			// What the tombstones say may turn a hold into a rejection.
			p.Needs = Needs{Query: Query{Statement: asked.Statement, Sources: asked.Sources, Pace: asked.Pace}, Blocked: c.State.Blocked, Over: over}
		} else { // "nothing to end" holds for this state only
			p.Needs.Grows, p.Needs.Limits = Usage{}, Limits{}
		}
		v.Record, v.Replaced = "", ""
		w.refuse(p, &v, c.At)
	}
	p.Verdict = v
	g.quotas.bound(p)
	return Decision{p}, nil
}

func first(codes []tenet.Code) tenet.Code {
	if len(codes) == 0 {
		return ""
	}
	return codes[0]
}

// prepare brings a candidate into the form that is judged and stored: NFC, no
// control characters, times in UTC microseconds, value and text filled from
// each other.
func (g *rulebook) prepare(c Case) Case {
	c.At = tenet.Micros(c.At)
	c.ExpiresAt = tenet.Micros(c.ExpiresAt)
	cand := &c.Candidate
	if cand.Tier == tenet.TierFact && g.keys != nil {
		if spec, known := g.keys(cand.Key); known {
			cand.Multi, cand.Safety = spec.Multi, cand.Safety || spec.Safety
		}
	}
	if cand.Tier != tenet.TierDocument { // a document is read back byte for byte
		cand.Text = strings.TrimSpace(storedForm(cand.Text))
	}
	if len(cand.Value) > 0 {
		var b bytes.Buffer
		if json.Compact(&b, cand.Value) == nil {
			cand.Value = b.Bytes()
		}
		if cand.Text == "" {
			cand.Text = valueWords(cand.Value)
		}
	}
	c.fingerprint, c.spelled = fingerprint(*cand)
	cand.Valid = tenet.Interval{From: tenet.Micros(cand.Valid.From), To: tenet.Micros(cand.Valid.To)}
	cand.ProposedAt = tenet.Micros(cand.ProposedAt)
	switch {
	case cand.Op != tenet.OpAssert:
		// Nothing begins with an end: all that is believed of the key matters.
		cand.Valid.From = time.Time{}
		if cand.Valid.To.IsZero() {
			cand.Valid.To = said(c)
		}
		cand.Multi = cand.Multi && len(cand.Value) > 0 // without a value it is about all of them
	case cand.Valid.From.IsZero() && cand.Valid.To.IsZero():
		cand.Valid.From = said(c) // true from when it was said
	}
	return c
}

// said is when the cited words were said, the last word of several; what
// cites no message is said when it is judged.
func said(c Case) time.Time {
	var last time.Time
	for _, m := range c.Evidence {
		if s := tenet.Micros(m.Said()); s.After(last) {
			last = s
		}
	}
	if last.IsZero() {
		return c.At
	}
	return last
}

// storedForm is NFC without control and invisible format characters, which
// carry no statement. Joiners stay: scripts and emoji need them.
func storedForm(s string) string {
	if plain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, norm.NFC.String(s))
}

// plain reports whether a text is in its stored form by its bytes alone.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// valueWords is the words of a typed value: the string itself, or the JSON.
func valueWords(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// maxFuture is how far ahead a statement may start to be true.
const maxFuture = 10 * 366 * 24 * time.Hour
