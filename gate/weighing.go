package gate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// weighing is what was found in a proposal: what it would do, and the worst that
// any finding asks for. What is offered and what is believed already are weighed
// by the same steps.
type weighing struct {
	findings          []Finding
	effect            Effect
	persists, negated bool
	worst             severity
}

// add takes findings in.
func (w *weighing) add(fs ...Finding) {
	for _, f := range fs {
		w.effect = max(w.effect, f.Effect)
		w.persists = w.persists || f.Persists
		w.negated = w.negated || f.Negated
		w.worst = max(w.worst, f.severity())
	}
	w.findings = append(w.findings, fs...)
}

// ask adds what the rules find. Waived: somebody has looked at what they would
// hold. Stored: it stands there in full, so that what is to be redacted, which is
// for who stores it anew, is held.
func (w *weighing) ask(rules []Rule, p Proposal, waived, stored bool) {
	for _, r := range rules {
		for _, f := range r.Check(p) {
			f.Hold = (f.Hold || stored && f.Redact) && !waived
			w.add(f)
		}
	}
}

// base adds what the matrix says.
func (w *weighing) base(label tenet.Label, s severity) {
	if s != allow && label < tenet.LabelUserStated && label.Known() {
		w.findings = append(w.findings, refusal("matrix", tenet.CodeUntrusted, s))
	}
	w.worst = max(w.worst, s)
}

// tell puts the findings into a verdict, the strongest reason first: it is what
// an error and a count name.
func (w *weighing) tell(v *tenet.Verdict) {
	slices.SortStableFunc(w.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.severity(), a.severity()), cmp.Compare(b.Effect, a.Effect))
	})
	for _, f := range w.findings {
		v.Findings = append(v.Findings, f.Finding)
		if !slices.Contains(v.Codes, f.Code) {
			v.Codes = append(v.Codes, f.Code)
		}
	}
}

// refuse makes the plan one that holds or rejects, without what must be in no log.
func (w *weighing) refuse(p *Plan, v *tenet.Verdict, at time.Time) {
	p.Kind = Refuse
	v.Outcome = tenet.Quarantined
	p.Hold = &Hold{State: tenet.HoldOpen, ExpiresAt: at.Add(HoldFor)}
	if w.worst == reject {
		v.Outcome, p.Hold.State = tenet.Rejected, tenet.HoldRefused
	}
	mask(p, w.findings)
	v.Key = p.Candidate.Key
}

func (f Finding) severity() severity {
	switch {
	case f.Reject:
		return reject
	case f.Hold:
		return hold
	}
	return allow
}

// refusal is a floor finding that asks for an outcome.
func refusal(check string, code tenet.Code, s severity) Finding {
	return Finding{Finding: tenet.Finding{Check: check, Code: code}, Hold: s == hold, Reject: s == reject}
}

// mask keeps secrets out of the refusal log: their spans become typed
// placeholders, in the candidate as well as in the hold.
func mask(p *Plan, findings []Finding) {
	text := p.Candidate.Text
	var spans []Finding
	whole := false
	for _, f := range findings {
		if f.Mask {
			if f.End <= f.Start || f.Start < 0 || f.End > len(text) {
				whole = true
			}
			spans = append(spans, f)
		}
	}
	p.Hold.Masked = len(spans) > 0
	switch {
	case whole:
		text = "[" + string(spans[0].Code) + "]"
		p.Candidate.Key, p.Candidate.Speaker = "", ""
	default:
		text = withPlaceholders(text, spans)
	}
	if p.Hold.Masked {
		p.Candidate.Text, p.Candidate.Value, p.Candidate.Quote = text, nil, ""
	}
	if len(text) > HoldCap {
		text = strings.ToValidUTF8(text[:HoldCap], "")
	}
	p.Hold.Text = text
}
