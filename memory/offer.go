package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// fileMark names a file by its last signature.
func fileMark(sig []byte) string { return "export-" + hex.EncodeToString(sig[:8]) }

// Offer is a record of elsewhere that asks to be let in: what it says, and the
// messages that came with it as its evidence. Their labels say whose word they
// were there; the gate takes the lowest, and none higher than the importer may
// give.
type Offer struct {
	Candidate tenet.Candidate
	Evidence  []tenet.Message
	ExpiresAt time.Time
}

// Offers brings records of elsewhere before the gate, those of one scope
// together, and returns what was decided about each. The same offer again is
// answered as before. Errors: as Remember, but for what is held or refused,
// which is in the verdicts.
func (m *Memory) Offers(ctx context.Context, by tenet.Principal, scope tenet.Scope, offers []Offer) ([]tenet.Verdict, error) {
	const op = "import"
	if err := m.durable(op); err != nil {
		return nil, err
	}
	if err := reach(op, by, scope); err != nil {
		return nil, err
	}
	var out []tenet.Verdict
	for part := range slices.Chunk(offers, 100) {
		var cases []gate.Case
		for _, o := range part {
			c := o.Candidate
			c.Scope, c.ProposedBy, c.ProposedAt = scope, by.String(), m.now()
			k := gate.Case{By: by, Candidate: c, At: m.now(), ExpiresAt: o.ExpiresAt}
			for _, e := range o.Evidence {
				e.Label = min(e.Label, gate.MessageLabel(by, tenet.RoleUser, e.Channel))
				if e.RecordedBy == "" {
					e.RecordedBy = by.String()
				}
				k.Evidence = append(k.Evidence, e)
			}
			cases = append(cases, k)
		}
		applied, err := m.admit(ctx, cases)
		if err != nil {
			return out, err
		}
		for _, a := range applied {
			out = append(out, a.Verdict)
		}
	}
	return out, nil
}

// OfferID is the id under which an offer of elsewhere is known: the same
// statement of the same file is the same offer.
func OfferID(parts ...string) tenet.CandidateID {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return tenet.CandidateID("import-" + hex.EncodeToString(sum[:12]))
}

// foreign is the highest label of what comes from elsewhere, whoever brings it:
// confirmed and operator are words about this deployment's own people.
const foreign = tenet.LabelUserStated

// offered gathers what a part of an export believed in the end.
type offered struct {
	*importing
	scope    tenet.Scope
	erased   bool // what was erased is to be looked up
	records  map[tenet.RecordID]tenet.Record
	evidence map[tenet.RecordID][]tenet.Evidence
	known    map[tenet.RecordID]time.Time
	order    []tenet.RecordID
}

func newOffered(i *importing, scope tenet.Scope, erased bool) *offered {
	return &offered{importing: i, scope: scope, erased: erased, records: map[tenet.RecordID]tenet.Record{}, evidence: map[tenet.RecordID][]tenet.Evidence{}, known: map[tenet.RecordID]time.Time{}}
}

func (o *offered) note(l *entryLine) {
	p := l.plan(o.scope)
	for _, c := range p.Close {
		delete(o.records, c.Record)
	}
	for _, r := range p.Insert {
		o.records[r.ID], o.known[r.ID] = r, p.At
		o.order = append(o.order, r.ID)
		if r.FragmentOf != "" { // it rests on what its whole rested on
			o.evidence[r.ID] = o.evidence[r.FragmentOf]
		}
	}
	if len(p.Evidence) > 0 {
		o.evidence[p.Supported()] = p.Evidence
	}
	for _, id := range p.Expire {
		delete(o.records, id)
	}
	if a := p.Agree; a != nil {
		if r, ok := o.records[a.Record]; ok {
			r.Origins = append(slices.Clone(r.Origins), a.Origins...)
			o.records[a.Record] = r
		}
	}
}

// offer brings what is believed before the gate, in the order it was learned.
func (o *offered) offer(ctx context.Context) error {
	var offers []Offer
	for _, id := range o.order {
		r, ok := o.records[id]
		if !ok || r.Expired || r.Text == "" {
			continue
		}
		if o.out.Own {
			if _, err := o.m.ledger.Record(ctx, o.scope, id); err == nil {
				o.out.There++
				continue
			} else if tenet.KindOf(err) != tenet.NotFound {
				return err
			}
		}
		if o.erased {
			p := gate.Plan{Scope: o.scope, Insert: []tenet.Record{r}}
			if o.out.Own { // else when it was recorded is not believed
				p.At = o.known[id]
			}
			gone, err := o.m.erasedSince(ctx, p)
			if err != nil {
				return err
			}
			if gone {
				o.out.Refused[string(tenet.CodeErased)]++
				continue
			}
		}
		offers = append(offers, o.of(r))
	}
	vs, err := o.m.Offers(ctx, o.by, o.scope, offers)
	for _, v := range vs {
		o.out.count(v)
	}
	if tenet.KindOf(err) == tenet.Conflict { // of a subject that was erased not even a refusal is kept
		if h, herr := o.m.ledger.Head(ctx, o.scope); herr == nil && h.Audit == 0 {
			o.out.Refused[string(tenet.CodeErased)] += len(offers) - len(vs)
			err = nil
		}
	}
	return err
}

// of makes an offer of a record: its evidence as messages, or itself where none
// was kept.
func (o *offered) of(r tenet.Record) Offer {
	c := tenet.Candidate{
		ID: OfferID(string(r.ID)), Tier: r.Tier, Key: r.Key, Value: r.Value, Text: r.Text, Valid: r.Valid, Multi: r.Multi, Safety: r.Safety,
		Speaker: r.Speaker, Position: r.Position, Session: r.Session, Route: "import",
	}
	out := Offer{ExpiresAt: r.ExpiresAt}
	said := func(id tenet.MessageID, session tenet.SessionID, role tenet.Role, label tenet.Label, text string, at time.Time) {
		m := tenet.Message{ID: id, Session: session, Role: role, Label: min(label, r.Label), Text: text, SaidAt: at}
		if !o.out.Own {
			m.Label = min(m.Label, foreign)
		}
		for _, origin := range r.Origins {
			if origin.Message == id {
				m.Channel, m.ToolCallID = origin.Channel, origin.ToolCall
				if o.out.Own { // who recorded it, and when, this deployment has signed
					m.RecordedBy = origin.Principal
				}
			}
		}
		if o.out.Own {
			m.RecordedAt = o.known[r.ID]
		}
		out.Evidence = append(out.Evidence, m)
		if len(c.Cites) < tenet.MaxCites && id != "" {
			c.Cites = append(c.Cites, id)
		}
	}
	for _, e := range o.evidence[r.ID] {
		if e.Excerpt != "" {
			said(e.Message, e.Session, e.Role, e.Label, e.Excerpt, e.SaidAt)
		}
	}
	if out.Evidence == nil {
		at := r.Valid.From
		if at.IsZero() {
			at = o.known[r.ID]
		}
		said(r.Message, r.Session, tenet.RoleUser, r.Label, r.Text, at)
	}
	out.Candidate = c
	return out
}

// count adds a verdict to what the import came to.
func (i *Imported) count(v tenet.Verdict) {
	if v.Outcome.Kept() {
		i.Kept++
	} else {
		i.Refused[codesOf(v)]++
	}
}
