package gate

import (
	"fmt"
	"slices"

	"github.com/tenet-memory/tenet"
)

// unplace is place for a candidate that says what no longer holds (OpEnd) or
// never did (OpRetract). The rights are the label's, as for everything that is
// said: it never touches a record of a higher one.
//
// An end speaks for the time from Valid.To up to when it was said. A record
// that began before keeps the time up to Valid.To; one that begins within is
// taken back whole. An end of a value that was not known is kept as history
// with an unknown start ("I used to live in Rome"), unless something else is
// believed of that time.
func (g *rulebook) unplace(c Case, label tenet.Label, origins []tenet.Origin, p *Plan, v *tenet.Verdict) ([]Finding, error) {
	if err := checkVersion(c); err != nil {
		return nil, err
	}
	cand := c.Candidate
	if cand.Key == tenet.KeyForget {
		return []Finding{refusal("place", tenet.CodeForgetRequest, hold)}, nil
	}
	sig, named := signature(cand), len(cand.Value) > 0
	now := said(c)
	if cand.Op == tenet.OpEnd {
		for i := range origins {
			origins[i].Holds = tenet.Interval{To: cand.Valid.To}
		}
	}
	var targets []tenet.Record
	for _, r := range c.State.Open {
		ended := !r.Valid.To.IsZero() && !r.Valid.To.After(cand.Valid.To)
		if named && r.Signature != sig || ended || r.Valid.From.After(now) {
			continue
		}
		targets = append(targets, r)
	}
	if !named && len(targets) > 1 && targets[0].Multi {
		f := refusal("place", tenet.CodeAmbiguousEnd, hold)
		f.Detail = fmt.Sprintf("the key holds %d values", len(targets))
		return []Finding{f}, nil
	}
	if len(targets) == 0 {
		return g.unknownStart(c, label, origins, p, v), nil
	}
	code := tenet.CodeEnded
	if cand.Op == tenet.OpRetract {
		code = tenet.CodeRetracted
	}
	v.Outcome = tenet.Superseded
	for i, r := range targets {
		if r.Label > label {
			return []Finding{refusal("place", tenet.CodeLowerIntegrity, hold)}, nil
		}
		cl := Close{Record: r.ID, Reason: tenet.ClosedRetracted}
		v.Record, v.Replaced = r.ID, r.ID
		if cand.Op == tenet.OpEnd && (r.Valid.From.IsZero() || r.Valid.From.Before(cand.Valid.To)) {
			suffix := "/ended"
			if i > 0 {
				suffix += fmt.Sprint(i)
			}
			f := fragment(r, tenet.RecordID(cand.ID), suffix, tenet.Interval{From: r.Valid.From, To: cand.Valid.To}, c.At)
			f.Origins = append(slices.Clone(r.Origins), origins...) // the end is a claim, too: what arrives late respects it
			p.Insert = append(p.Insert, f)
			cl.Reason, cl.By = tenet.ClosedEnded, f.ID
			v.Record = f.ID
			if back := nextClaim([]tenet.Record{r}, now); !back.IsZero() { // said again of a later time
				p.Insert = append(p.Insert, fragment(r, tenet.RecordID(cand.ID), fmt.Sprintf("/%d", 1+i), tenet.Interval{From: back, To: r.Valid.To}, c.At))
				cl.Reason = tenet.ClosedSplit
			}
		}
		p.Close = append(p.Close, cl)
	}
	return []Finding{note("place", code)}, nil
}

// unknownStart keeps what is over and was not known, or refuses: an end of
// nothing has no effect, and its verdict says so.
func (g *rulebook) unknownStart(c Case, label tenet.Label, origins []tenet.Origin, p *Plan, v *tenet.Verdict) []Finding {
	cand := c.Candidate
	free := cand.Op == tenet.OpEnd && len(cand.Value) > 0
	for _, r := range c.State.Open {
		// Of a key with one value at a time, another is believed of that time;
		// of one with many, this very one has ended already.
		free = free && r.Valid.From.After(cand.Valid.To)
	}
	if !free {
		return []Finding{refusal("place", tenet.CodeNothingToEnd, reject)}
	}
	p.Insert = append(p.Insert, tenet.Record{
		ID: tenet.RecordID(cand.ID), Scope: cand.Scope, Tier: cand.Tier, Key: cand.Key, Value: cand.Value, Text: cand.Text,
		Label: label, Origins: origins, Session: origins[0].Session, Message: origins[0].Message, ToolCall: origins[0].ToolCall,
		Speaker: cand.Speaker, Valid: cand.Valid, Known: tenet.Interval{From: c.At}, Seen: 1,
		Multi: cand.Multi, Safety: cand.Safety && label >= tenet.LabelUserStated, Signature: signature(cand),
	})
	v.Record, v.Outcome = tenet.RecordID(cand.ID), tenet.Stored
	return []Finding{note("place", tenet.CodeUnknownStart)}
}
