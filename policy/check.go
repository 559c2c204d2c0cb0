package policy

import (
	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// checkHidden reports what the text hides: characters that show nothing,
// direction controls, words of mixed scripts. A few are an accident of copying
// and only noted; from the limit on they are a channel of their own.
func (p *Policy) checkHidden(pr gate.Proposal, f *form, fs []gate.Finding) []gate.Finding {
	hidden, bidi := f.hidden, f.bidi
	if pr.Offered != "" && pr.Offered != pr.Candidate.Text && !isASCII(pr.Offered) {
		o := form{source: pr.Offered}
		o.countHidden()
		hidden, bidi = o.hidden, o.bidi
	}
	note := func(code tenet.Code, n int) {
		g := gate.Finding{Finding: tenet.Finding{Check: "canonical", Code: code}}
		if hidden+bidi >= hiddenLimit {
			g.Effect = gate.E3
		}
		if n > 0 {
			fs = append(fs, g)
		}
	}
	note(CodeInvisibleText, hidden)
	note(CodeBidi, bidi)
	for _, m := range f.mixed {
		fs = append(fs, gate.Finding{Finding: tenet.Finding{Check: "canonical", Code: CodeMixedScript, Start: int(m[0]), End: int(m[1])}})
	}
	return fs
}

// errand marks, until Check has looked at the label, a sink that is a mail
// address.
const errand = "errand"

// markup marks, until Check has looked at tier and label, what a renderer
// would fetch or run.
const markup = "markup"

// page marks, likewise, markup that is the tags of a pasted page.
const page = "page"

// checkForm reads what a text would do, and what its decoded parts would.
// spans says whether the form's offsets are the candidate's own.
func (p *Policy) checkForm(s *scan, f *form, spans bool, fs []gate.Finding) []gate.Finding {
	p.lexicon.read(s, f.text)
	found := p.structural(f.text, p.lexicon.effects(s, nil))
	// A negation softens suppression and sinks only; beside any other control
	// text it counts for nothing.
	hard := false
	for _, e := range found {
		hard = hard || e.effect == gate.E3 && e.code != CodeSuppression && e.code != CodeLinkSink
	}
	for _, e := range found {
		g := gate.Finding{
			Finding: tenet.Finding{Check: "effect", Code: e.code},
			Effect:  e.effect, Persists: e.persists, Negated: e.negated && !hard,
		}
		switch {
		case e.errand:
			g.Check = errand
		case e.page:
			g.Check = page
		case e.markup:
			g.Check = markup
		case e.effect == gate.E3:
			g.Check = "structure"
		}
		if spans {
			g.Start, g.End = f.span(e.start, e.end)
		}
		fs = append(fs, g)
	}
	for _, d := range f.decoded {
		fs = p.checkDecoded(d, spans, fs)
	}
	return fs
}

// checkDecoded judges a decoded part by the words it hides. Text that was
// encoded and then gives orders is control text whatever it asks for.
func (p *Policy) checkDecoded(d payload, spans bool, fs []gate.Finding) []gate.Finding {
	least := gate.E1
	if d.whole {
		least = gate.E2 // an escaped ampersand makes no payload of a text
		for _, g := range fs {
			if g.Effect >= gate.E2 {
				return fs // said openly as well
			}
		}
	}
	s := p.scratch.Get().(*scan) // the caller still reads its own
	defer p.scratch.Put(s)
	var worst gate.Effect
	for _, g := range p.checkForm(s, d.form, false, nil) {
		worst = max(worst, g.Effect)
	}
	if worst < least {
		return fs
	}
	g := gate.Finding{Finding: tenet.Finding{Check: "canonical", Code: CodeEncodedPayload}, Effect: gate.E3}
	if spans {
		g.Start, g.End = int(d.start), int(d.end)
	}
	return append(fs, g)
}

// checkSecrets finds credentials in a text and in what it decodes to. They are
// refused in every durable tier and masked in every log.
func (p *Policy) checkSecrets(f *form, spans bool, fs []gate.Finding) []gate.Finding {
	for _, m := range p.secrets.find(f.plain) {
		g := gate.Finding{Finding: tenet.Finding{Check: "secret", Code: m.code}, Reject: true, Mask: true}
		if spans {
			g.Start, g.End = f.plainSpan(m.start, m.end)
		}
		fs = append(fs, g)
	}
	for _, d := range f.decoded {
		if d.whole && len(fs) > 0 {
			continue // the same secret again
		}
		for _, g := range p.checkSecrets(d.form, false, nil) {
			if spans {
				g.Start, g.End = int(d.start), int(d.end)
			}
			fs = append(fs, g)
		}
	}
	return fs
}
