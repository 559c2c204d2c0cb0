package gate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
)

// query names the state a candidate's placement depends on.
func (g *rulebook) query(c Case) Query {
	q := placeQuery(c)
	q.Pace = g.paceQuery(c)
	if c.Candidate.Op == tenet.OpAssert {
		q.Statement = c.fingerprint
	}
	q.Sources = sources(c.Candidate)
	return q
}

func placeQuery(c Case) Query {
	switch c.Candidate.Tier {
	case tenet.TierFact, tenet.TierDocument:
		q := Query{Tier: c.Candidate.Tier, Key: c.Candidate.Key, Since: c.Candidate.Valid.From}
		if c.Candidate.Multi {
			q.Signature = c.signature()
		}
		return q
	case tenet.TierNote:
		return Query{Tier: tenet.TierNote, Signature: c.signature()}
	}
	return Query{}
}

// signature decides equality: of the typed value when there is one, else of
// the statement.
func signature(c tenet.Candidate) string {
	if c.Tier == tenet.TierEpisode || c.Tier == tenet.TierDocument {
		return ""
	}
	if len(c.Value) > 0 && valueWords(c.Value) != c.Text {
		if s, err := valueSignature(c.Value); err == nil {
			return "v " + s
		}
	}
	return "s " + Signature(c.Text, c.Safety)
}

// signature is the same for a prepared case, whose fingerprint is known.
func (c Case) signature() string {
	cand := c.Candidate
	keeps := cand.Tier == tenet.TierFact || cand.Tier == tenet.TierNote
	if keeps && !cand.Safety && len(cand.Value) == 0 && c.spelled {
		return "s " + c.fingerprint
	}
	return signature(cand)
}

// place puts an admissible candidate on the time axes: it corroborates an
// equal record, supersedes or splits what it contradicts, or is simply new.
// It never lets a lower label touch a higher one.
func (g *rulebook) place(c Case, label tenet.Label, origins []tenet.Origin, p *Plan, v *tenet.Verdict) ([]Finding, error) {
	if err := checkVersion(c); err != nil {
		return nil, err
	}
	cand := c.Candidate
	if cand.Tier == tenet.TierFact && len(cand.Value) == 0 {
		cand.Value, _ = json.Marshal(cand.Text)
	}
	for i := range origins {
		origins[i].Holds = cand.Valid
	}
	rec := tenet.Record{
		ID: tenet.RecordID(cand.ID), Scope: cand.Scope, Tier: cand.Tier, Key: cand.Key, Value: cand.Value, Text: cand.Text,
		Label: label, Origins: origins, Session: origins[0].Session, Message: origins[0].Message, ToolCall: origins[0].ToolCall,
		Speaker: cand.Speaker, Position: cand.Position, Valid: cand.Valid, Known: tenet.Interval{From: c.At}, Seen: 1,
		Multi: cand.Multi, Safety: cand.Safety && label >= tenet.LabelUserStated, Signature: c.signature(),
	}
	rec.ExpiresAt = g.expiry(c, rec)
	v.Record, v.Outcome = rec.ID, tenet.Stored

	var found []Finding
	switch {
	case cand.Tier == tenet.TierEpisode:
	case cand.Tier == tenet.TierNote || cand.Multi:
		for _, r := range c.State.Open {
			if r.Signature == rec.Signature && r.Label == label && r.Valid.Overlaps(rec.Valid) {
				if renews(rec, r) {
					renew(p, v, &rec, r)
					p.Insert = []tenet.Record{rec}
					if c.Replaces != nil && c.Replaces.ID == r.ID {
						return nil, nil
					}
					return replace(c.Replaces, rec, p, v), nil
				}
				agree(p, v, r, origins)
				return replace(c.Replaces, r, p, v), nil
			}
		}
		found = replace(c.Replaces, rec, p, v)
		rec.Supersedes = v.Replaced
	default:
		found = supersede(c, &rec, p, v)
		if p.Agree != nil || v.Outcome == tenet.Corroborated {
			return found, nil
		}
	}
	if cand.Tier == tenet.TierNote || cand.Multi {
		found = append(found, similar(c, rec)...)
	}
	p.Insert = append([]tenet.Record{rec}, p.Insert...)
	if cand.Tier == tenet.TierFact {
		p.Needs.Grows = growth(c, p)
		if !g.limits.Fits(c.State.Usage, p.Needs.Grows) {
			f := refusal("limit", tenet.CodePersistentFull, reject)
			f.Detail = fmt.Sprintf("holds %d of %d rows and %d of %d bytes, a quarter kept for safety; this adds %d rows and %d bytes",
				c.State.Usage.Rows, g.limits.Rows, c.State.Usage.Bytes, g.limits.Bytes, p.Needs.Grows.Rows, p.Needs.Grows.Bytes)
			found = append(found, f)
		}
	}
	return found, nil
}

// checkVersion holds the caller's precondition against the open record.
func checkVersion(c Case) error {
	want := c.Candidate.IfVersion
	if want == "" {
		return nil
	}
	have := tenet.NoVersion
	for _, r := range c.State.Open {
		if r.Valid.Open() {
			have = r.ID
		}
	}
	if have != want {
		return tenet.Errorf(tenet.Conflict, "judge", "the key's open version is not the one expected")
	}
	return nil
}

func agree(p *Plan, v *tenet.Verdict, r tenet.Record, origins []tenet.Origin) {
	v.Outcome, v.Record = tenet.Corroborated, r.ID
	p.Agree = &Agreement{Record: r.ID, Origins: origins}
}

// replace closes the record whose place another takes, unless it is that one
// itself. A lower label never takes the place of a higher one.
func replace(old *tenet.Record, by tenet.Record, p *Plan, v *tenet.Verdict) []Finding {
	switch {
	case old == nil || old.ID == by.ID:
		return nil
	case old.Label > by.Label:
		return []Finding{refusal("place", tenet.CodeLowerIntegrity, hold)}
	}
	p.Close = append(p.Close, Close{Record: old.ID, Reason: tenet.ClosedSuperseded, By: by.ID})
	v.Replaced = old.ID
	if v.Outcome == tenet.Stored {
		v.Outcome = tenet.Superseded
	}
	return nil
}

// supersede places rec on the time line of a single-valued key, by one rule: at
// each instant the claim of the highest label stands, among equal labels the one
// that starts latest, among equal starts the one that was made last. A claim is
// what a statement said about time; a claim without an end holds until the next
// such claim starts. So the order in which statements arrive does not matter, and
// a statement about an earlier time leaves the current value alone.
func supersede(c Case, rec *tenet.Record, p *Plan, v *tenet.Verdict) []Finding {
	var found []Finding
	claimed := rec.Valid
	if rec.Valid.Open() {
		rec.Valid.To = nextClaim(c.State.Open, rec.Valid.From)
		if end := ended(c.State.Open, *rec); !end.IsZero() && (rec.Valid.Open() || end.Before(rec.Valid.To)) {
			rec.Valid.To = end
		}
	}
	pieces := []tenet.Interval{rec.Valid}
	for _, r := range c.State.Open {
		if !r.Valid.Overlaps(rec.Valid) {
			continue
		}
		same := r.Signature == rec.Signature && r.Tier != tenet.TierDocument
		if same && r.Label == rec.Label && r.Valid.From.IsZero() && !rec.Valid.From.IsZero() && r.Valid.To.Equal(rec.Valid.To) && ends(r, r.Valid.To) {
			// It was known by its end only, and this says when it began.
			p.Close = append(p.Close, Close{Record: r.ID, Reason: tenet.ClosedSuperseded, By: rec.ID})
			rec.Supersedes, v.Replaced, v.Outcome = r.ID, r.ID, tenet.Superseded
			rec.Origins = append(rec.Origins, r.Origins...)
			continue
		}
		switch {
		case same && r.Label == rec.Label && covers(r.Valid, rec.Valid):
			p.Close, p.Insert, v.Replaced = nil, nil, "" // nor is another value of the key touched
			if renews(*rec, r) {
				renew(p, v, rec, r)
			} else {
				agree(p, v, r, rec.Origins)
			}
			return found
		case same && r.Label > rec.Label && covers(r.Valid, rec.Valid):
			// Known already on better authority: nothing is written, and the
			// higher record is not touched.
			p.Close, p.Insert, v.Replaced = nil, nil, ""
			v.Outcome, v.Record = tenet.Corroborated, r.ID
			return append(found, note("place", tenet.CodeDuplicate))
		case r.Label > rec.Label:
			return append(found, refusal("place", tenet.CodeLowerIntegrity, hold))
		}
		var stands []tenet.Interval
		if r.Label == rec.Label {
			stands = laterClaims(r, claimed.From)
		}
		lost := subtract([]tenet.Interval{meet(r.Valid, rec.Valid)}, stands)
		if len(lost) == 0 {
			pieces = subtract(pieces, []tenet.Interval{r.Valid})
			continue
		}
		rest := subtract([]tenet.Interval{r.Valid}, lost)
		pieces = subtract(pieces, rest)
		if r.Valid.From.Equal(rec.Valid.From) {
			found = append(found, note("time", tenet.CodeSameInstant))
		}
		cl := Close{Record: r.ID, Reason: tenet.ClosedSuperseded, By: rec.ID}
		if len(rest) > 0 && startsBefore(lost[0], rest[len(rest)-1]) {
			cl.Reason = tenet.ClosedSplit
		}
		p.Close = append(p.Close, cl)
		rec.Supersedes, v.Replaced, v.Outcome = r.ID, r.ID, tenet.Superseded
		for _, iv := range rest {
			p.Insert = append(p.Insert, fragment(r, rec.ID, "/"+strconv.Itoa(1+len(p.Insert)), iv, c.At))
		}
	}
	if len(pieces) == 0 { // a claim without a start, under one that has one
		return append(found, refusal("time", tenet.CodeSameInstant, hold))
	}
	if len(pieces) > 1 || pieces[0] != claimed {
		found = append(found, note("time", tenet.CodeBackdated))
	}
	rec.Valid = pieces[0]
	for _, iv := range pieces[1:] {
		p.Insert = append(p.Insert, fragment(*rec, rec.ID, "/"+strconv.Itoa(1+len(p.Insert)), iv, c.At))
	}
	return found
}

// claims are what a record's statements said about time.
func claims(r tenet.Record) []tenet.Interval {
	var out []tenet.Interval
	for _, o := range r.Origins {
		if o.Holds != (tenet.Interval{}) {
			out = append(out, o.Holds)
		}
	}
	if out == nil {
		out = []tenet.Interval{r.Valid}
	}
	return out
}

// ended is the earliest end that was said of rec's value, on no lower authority,
// after it begins, or zero. An end can arrive before the assertion that it ends:
// it is kept as a claim without a start.
func ended(rs []tenet.Record, rec tenet.Record) time.Time {
	var end time.Time
	for _, r := range rs {
		if r.Signature != rec.Signature || r.Label < rec.Label {
			continue
		}
		for _, c := range claims(r) {
			if c.From.IsZero() && c.To.After(rec.Valid.From) && (end.IsZero() || c.To.Before(end)) {
				end = c.To
			}
		}
	}
	return end
}

// ends reports whether an end at t was said of the record.
func ends(r tenet.Record, t time.Time) bool {
	for _, o := range r.Origins {
		if o.Holds.From.IsZero() && o.Holds.To.Equal(t) {
			return true
		}
	}
	return false
}

// nextClaim is when the next claim without an end starts after t, or zero.
func nextClaim(rs []tenet.Record, t time.Time) time.Time {
	var next time.Time
	for _, r := range rs {
		for _, c := range claims(r) {
			if c.Open() && c.From.After(t) && r.Valid.Contains(c.From) && (next.IsZero() || c.From.Before(next)) {
				next = c.From
			}
		}
	}
	return next
}

// laterClaims are the parts of a record's time for which a claim of it starts
// after t.
func laterClaims(r tenet.Record, t time.Time) []tenet.Interval {
	var out []tenet.Interval
	for _, c := range claims(r) {
		if c.From.After(t) && c.Overlaps(r.Valid) {
			out = append(out, meet(c, r.Valid))
		}
	}
	return out
}

// meet is the common part of two intervals that overlap.
func meet(a, b tenet.Interval) tenet.Interval {
	if startsBefore(a, b) {
		a.From = b.From
	}
	if a.To.IsZero() || !b.To.IsZero() && b.To.Before(a.To) {
		a.To = b.To
	}
	return a
}

// subtract takes the cuts out of the intervals, keeping order.
func subtract(ivs, cuts []tenet.Interval) []tenet.Interval {
	for _, cut := range cuts {
		var out []tenet.Interval
		for _, iv := range ivs {
			if !iv.Overlaps(cut) {
				out = append(out, iv)
				continue
			}
			if startsBefore(iv, cut) {
				out = append(out, tenet.Interval{From: iv.From, To: cut.From})
			}
			if !cut.To.IsZero() && (iv.To.IsZero() || cut.To.Before(iv.To)) {
				out = append(out, tenet.Interval{From: cut.To, To: iv.To})
			}
		}
		ivs = out
	}
	return ivs
}

func note(check string, code tenet.Code) Finding {
	return Finding{Finding: tenet.Finding{Check: check, Code: code}}
}

func startsBefore(a, b tenet.Interval) bool {
	return !b.From.IsZero() && (a.From.IsZero() || a.From.Before(b.From))
}

// covers reports whether a holds all of b.
func covers(a, b tenet.Interval) bool {
	return !startsBefore(b, a) && (a.To.IsZero() || !b.To.IsZero() && !b.To.After(a.To))
}

// fragment is what a split leaves of a record: the same statement, label and
// origins for the rest of its time.
func fragment(r tenet.Record, by tenet.RecordID, suffix string, valid tenet.Interval, at time.Time) tenet.Record {
	f := r
	f.ID = by + tenet.RecordID(suffix)
	f.FragmentOf = r.ID
	f.Valid = valid
	f.Known = tenet.Interval{From: at}
	f.Supersedes, f.SupersededBy, f.Closed = "", "", ""
	return f
}

// growth is what the plan adds to the open facts.
func growth(c Case, p *Plan) Usage {
	var u Usage
	now := c.At
	if c.State.Now.After(now) {
		now = c.State.Now
	}
	count := func(r tenet.Record, sign int) {
		if !r.Valid.To.IsZero() && !r.Valid.To.After(now) {
			return // history, not in the facts block
		}
		u.Rows += sign
		u.Bytes += sign * r.RenderedSize()
		if r.Safety {
			u.SafetyRows += sign
			u.SafetyBytes += sign * r.RenderedSize()
		}
	}
	for _, r := range p.Insert {
		count(r, 1)
	}
	for _, cl := range p.Close {
		for _, r := range c.State.Open {
			if r.ID == cl.Record {
				count(r, -1)
			}
		}
	}
	return u
}

// Change is an end or a retraction of one believed record.
type Change struct {
	By     tenet.Principal
	Scope  tenet.Scope
	Target tenet.Record
	ID     string    // makes the change idempotent and names the fragment
	To     time.Time // End: when it stopped being true; zero: now
	Why    string
	At     time.Time
}

// End decides that a record is no longer true: its valid time stops at To, and
// its history says so. It is Denied to agents and Refused below the record's
// label.
func (g *Gate) End(c Change) (Decision, error) {
	p, err := g.change(c, "end", End, tenet.ClosedEnded)
	if err != nil {
		return Decision{}, err
	}
	to := tenet.Micros(c.To)
	if to.IsZero() {
		to = p.At
	}
	v := c.Target.Valid
	switch {
	case !v.To.IsZero() && !to.Before(v.To):
		return Decision{}, tenet.Errorf(tenet.Conflict, "end", "the record already ends earlier")
	case !v.From.IsZero() && !v.From.Before(to):
		return Decision{}, tenet.Errorf(tenet.Invalid, "end", "the end is not after the start; retract what was never true")
	}
	p.Insert = []tenet.Record{fragment(c.Target, tenet.RecordID(c.ID), "/ended", tenet.Interval{From: v.From, To: to}, p.At)}
	p.Close[0].By = p.Insert[0].ID
	return Decision{p}, nil
}

// Retract decides that a record never was true: Tenet stops believing it, and
// nothing takes its place. Rights as for End.
func (g *Gate) Retract(c Change) (Decision, error) {
	p, err := g.change(c, "retract", Retract, tenet.ClosedRetracted)
	if err != nil {
		return Decision{}, err
	}
	return Decision{p}, nil
}

func (g *Gate) change(c Change, op string, kind Kind, reason tenet.Closing) (*Plan, error) {
	if err := g.at.Load().open(op); err != nil {
		return nil, err
	}
	if !c.By.MayReach(c.Scope) || c.Target.Scope != c.Scope {
		return nil, tenet.Errorf(tenet.Denied, op, "the principal may not act in this scope")
	}
	have := authority(c.By, c.Target.Key)
	if c.Target.Tier == tenet.TierDocument {
		have = max(have, spokenLabel(c.By.Kind())) // an agent may end what it filed itself
	}
	if have == 0 {
		return nil, tenet.Errorf(tenet.Denied, op, "%s principals may not change this record", c.By.Kind())
	}
	if have < c.Target.Label {
		return nil, &tenet.Error{Kind: tenet.Refused, Op: op, Code: tenet.CodeLowerIntegrity,
			Reason: fmt.Sprintf("the record is %s, the principal reaches %s", c.Target.Label, have)}
	}
	if !c.Target.Known.Open() {
		return nil, tenet.Errorf(tenet.Conflict, op, "the record is closed already")
	}
	return &Plan{
		Kind: kind, Scope: c.Scope, Actor: c.By.String(), At: tenet.Micros(c.At), Ref: c.ID, Why: c.Why,
		Close: []Close{{Record: c.Target.ID, Reason: reason}},
	}, nil
}

// StageBatch decides to save a stretch's extracted candidates and to advance the
// session's cursor. It admits nothing: each candidate is judged afterwards.
func (g *Gate) StageBatch(scope tenet.Scope, s Staged, at time.Time) (Decision, error) {
	if scope.IsZero() || s.Session == "" || s.From < 0 || s.To < s.From {
		return Decision{}, tenet.Errorf(tenet.Invalid, "stage", "no scope, no session or a cursor that runs backwards")
	}
	for _, c := range s.Candidates {
		if c.Scope != scope {
			return Decision{}, tenet.Errorf(tenet.Denied, "stage", "a candidate of another scope")
		}
		if err := c.Check(); err != nil {
			return Decision{}, err
		}
	}
	return Decision{&Plan{Kind: Stage, Scope: scope, Actor: "consolidation", At: tenet.Micros(at), Ref: string(s.Session), Staged: &s}}, nil
}

// Denied puts an attempt that was turned away on the record of the caller's
// own tenant. It names the operation, never what was aimed at: that may be
// another tenant's.
func (g *Gate) Denied(by tenet.Principal, operation, why string, at time.Time) (Decision, error) {
	scope, err := tenet.NewScope(by.Tenant(), tenet.WholeTenant())
	if err != nil {
		return Decision{}, err
	}
	return Decision{&Plan{Kind: Deny, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: operation, Why: why}}, nil
}
