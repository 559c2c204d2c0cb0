package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
)

// Reextraction is what another extractor makes of the turns that are still
// there, beside what was made of them before.
type Reextraction struct {
	Extractor string            `json:"extractor"`
	Sessions  int               `json:"sessions"`
	Messages  int               `json:"messages"`
	Same      int               `json:"same"`    // derived then and now
	Added     []tenet.Candidate `json:"added"`   // only now
	Removed   []tenet.Record    `json:"removed"` // only then
	// Skipped counts ends and retractions that were proposed: what they ended
	// has its history, and they are not said a second time.
	Skipped   int             `json:"skipped"`
	Committed bool            `json:"committed"`
	Verdicts  []tenet.Verdict `json:"verdicts,omitempty"` // of what was added
}

// Reextract runs an extractor over the scope's retained turns since a time and
// compares what it asserts with the facts and notes that other extractors
// derived from the same turns. With commit, what is only in the old set is
// retracted in the operator's name, and what is only in the new one passes the
// gate as any extracted candidate does; what both have is left alone, with its
// history. Turns come from the session's log, or from episodes when that is gone.
func (o *Operator) Reextract(ctx context.Context, x model.Extractor, since time.Time, commit bool) (Reextraction, error) {
	out := Reextraction{Extractor: x.Name(), Added: []tenet.Candidate{}, Removed: []tenet.Record{}}
	turns, err := o.retained(ctx, since)
	if err != nil {
		return out, err
	}
	old, err := o.derived(ctx, x, turns)
	if err != nil {
		return out, err
	}
	var cases []gate.Case
	for _, st := range stretches(turns, o.scope) {
		out.Sessions++
		out.Messages += len(st.Messages)
		cs, err := x.Extract(ctx, st)
		if err != nil {
			return out, err
		}
		for i, c := range cs {
			if c.Tier == tenet.TierEpisode {
				continue
			}
			if c.Op != tenet.OpAssert {
				out.Skipped++
				continue
			}
			if same := sameStatement(c); old[same] != nil {
				out.Same++
				delete(old, same)
				continue
			}
			c.Scope, c.Session = o.scope, st.Session.ID
			c.ID = candidateID(st.Session, st.Messages, x.Name(), i)
			c.ProposedBy, c.ProposedAt = extractorName(x), o.m.now()
			by, err := tenet.ParsePrincipal(o.scope.Tenant(), c.ProposedBy)
			if err != nil {
				return out, err
			}
			k := gate.Case{By: by, Candidate: c, At: o.m.now(), Extracted: true}
			for _, id := range c.Cites {
				if j := slices.IndexFunc(st.Messages, func(m tenet.Message) bool { return m.ID == id }); j >= 0 {
					k.Evidence = append(k.Evidence, st.Messages[j])
				}
			}
			out.Added = append(out.Added, c)
			cases = append(cases, k)
		}
	}
	for _, r := range old {
		out.Removed = append(out.Removed, *r)
	}
	slices.SortFunc(out.Removed, func(a, b tenet.Record) int { return cmp.Compare(a.ID, b.ID) })
	if !commit {
		return out, nil
	}
	var ds []gate.Decision
	for _, r := range out.Removed {
		d, err := o.m.gate.Retract(gate.Change{
			By: o.by, Scope: o.scope, Target: r, ID: "reextract-" + newID(), Why: "not derived by " + x.Name(), At: o.m.now(),
		})
		if err != nil {
			return out, err
		}
		ds = append(ds, d)
	}
	if len(ds) > 0 {
		if _, err := o.m.ledger.Apply(ctx, ds, nil); err != nil {
			return out, err
		}
	}
	for batch := range slices.Chunk(cases, judgedTogether) {
		applied, err := o.m.admit(ctx, batch)
		if err != nil {
			return out, err
		}
		for _, a := range applied {
			out.Verdicts = append(out.Verdicts, a.Verdict)
		}
	}
	out.Committed = true
	return out, nil
}

// retained are the scope's turns since a time, by message: as the log has them,
// or as their episodes do.
func (o *Operator) retained(ctx context.Context, since time.Time) (map[tenet.MessageID]tenet.Message, error) {
	ch, err := o.m.ledger.Changes(ctx, o.scope, 0)
	if err != nil {
		return nil, err
	}
	turns := map[tenet.MessageID]tenet.Message{}
	var ids []tenet.MessageID
	for _, r := range ch.Added {
		if r.Tier != tenet.TierEpisode || r.Text == "" || r.Valid.From.Before(since) || len(r.Origins) == 0 {
			continue
		}
		role := tenet.RoleAssistant
		if r.Label >= tenet.LabelUserStated {
			role = tenet.RoleUser
		}
		turns[r.Message] = tenet.Message{
			ID: r.Message, Session: r.Session, Seq: r.Position, Role: role, Text: r.Text, Speaker: r.Speaker, Label: r.Label,
			Channel: r.Origins[0].Channel, SaidAt: r.Valid.From, RecordedBy: r.Origins[0].Principal, RecordedAt: r.Valid.From,
		}
		ids = append(ids, r.Message)
	}
	for batch := range slices.Chunk(ids, stretchSize) {
		ms, err := o.m.sessions.Cited(ctx, o.scope, batch)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			turns[m.ID] = m
		}
	}
	return turns, nil
}

// stretches are the turns of each session, in order.
func stretches(turns map[tenet.MessageID]tenet.Message, scope tenet.Scope) []model.Stretch {
	by := map[tenet.SessionID][]tenet.Message{}
	for _, m := range turns {
		by[m.Session] = append(by[m.Session], m)
	}
	var out []model.Stretch
	for id, ms := range by {
		slices.SortFunc(ms, func(a, b tenet.Message) int { return cmp.Compare(a.Seq, b.Seq) })
		for part := range slices.Chunk(ms, stretchSize) {
			out = append(out, model.Stretch{Session: tenet.Session{ID: id, Scope: scope}, Messages: part})
		}
	}
	// What was said first is judged first.
	slices.SortFunc(out, func(a, b model.Stretch) int {
		return cmp.Or(a.Messages[0].Said().Compare(b.Messages[0].Said()), cmp.Compare(a.Session.ID, b.Session.ID))
	})
	return out
}

// derived are the believed facts and notes that other extractors asserted from
// these turns, by what they say. Who proposed a record stands in its entry.
func (o *Operator) derived(ctx context.Context, x model.Extractor, turns map[tenet.MessageID]tenet.Message) (map[string]*tenet.Record, error) {
	out := map[string]*tenet.Record{}
	const page = 500
	for from := uint64(1); ; {
		es, err := o.m.ledger.Audit(ctx, o.scope, from, page)
		if err != nil {
			return nil, err
		}
		for _, e := range es {
			from = e.Seq + 1
			if e.Action != gate.Admit.String() || !strings.HasPrefix(e.Actor, tenet.Agent.String()+":") || !strings.Contains(e.Actor, "/") || e.Actor == extractorName(x) {
				continue
			}
			r, err := o.m.ledger.Record(ctx, o.scope, tenet.RecordID(e.Ref))
			if tenet.KindOf(err) == tenet.NotFound {
				continue // it agreed with another record
			}
			if err != nil {
				return nil, err
			}
			if _, retained := turns[r.Message]; !retained || !r.Known.Open() || r.Tier != tenet.TierFact && r.Tier != tenet.TierNote {
				continue
			}
			out[sameStatement(tenet.Candidate{Tier: r.Tier, Key: r.Key, Value: r.Value, Text: r.Text, Cites: []tenet.MessageID{r.Message}})] = &r
		}
		if len(es) < page {
			return out, nil
		}
	}
}

// sameStatement is equal for a record and a candidate that state the same from
// the same turn.
func sameStatement(c tenet.Candidate) string {
	what := string(c.Value)
	if what == "" {
		what = gate.Signature(c.Text, false)
	}
	cite := tenet.MessageID("")
	if len(c.Cites) > 0 {
		cite = c.Cites[0]
	}
	return fmt.Sprintf("%d %q %q %s", c.Tier, c.Key, what, cite)
}
