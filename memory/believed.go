package memory

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Record returns one record by its id, closed ones included. Like Recall
// without a session it leaves no receipt: it is for hosts.
func (m *Memory) Record(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.RecordID) (tenet.Record, error) {
	if err := m.durable("record"); err != nil {
		return tenet.Record{}, err
	}
	if err := reach("record", by, scope); err != nil {
		return tenet.Record{}, err
	}
	return m.ledger.Record(ctx, scope, id)
}

// Believed lists the facts, notes and turns that are believed and true now, in
// the order in which they were written: the first skip of them are passed over,
// at most limit are returned, and the number is of them all. Documents are
// listed by path, see Documents.
func (m *Memory) Believed(ctx context.Context, by tenet.Principal, scope tenet.Scope, skip, limit int) ([]tenet.Record, int, error) {
	if skip < 0 || limit <= 0 {
		return nil, 0, tenet.Errorf(tenet.Invalid, "believed", "limit must be positive, and skip not negative")
	}
	out, total, now := []tenet.Record{}, 0, m.now()
	err := m.eachBelieved(ctx, "believed", by, scope, func(r tenet.Record) error {
		if r.Expired || !r.Current(now) {
			return nil
		}
		if total++; total > skip && len(out) < limit {
			out = append(out, r)
		}
		return nil
	})
	return out, total, err
}

// eachBelieved goes through the believed facts, notes and turns of a scope, what
// was or will be true, too.
func (m *Memory) eachBelieved(ctx context.Context, op string, by tenet.Principal, scope tenet.Scope, do func(tenet.Record) error) error {
	if err := m.durable(op); err != nil {
		return err
	}
	if err := reach(op, by, scope); err != nil {
		return err
	}
	if m.cfg.Governor == nil {
		return tenet.Errorf(tenet.Unavailable, op, "the ledger cannot list its records")
	}
	for after := tenet.RecordID(""); ; {
		page, err := m.cfg.Governor.Records(ctx, scope, after, 500)
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].ID
		for _, r := range page {
			if !r.Known.Open() || r.Tier == tenet.TierDocument {
				continue
			}
			if err := do(r); err != nil {
				return err
			}
		}
	}
}

// maxSuccession bounds how far one record is followed.
const maxSuccession = 1000

// Succession is a record with all that it took the place of and all that took
// its place, oldest first. Errors: NotFound, and for documents, Denied.
func (m *Memory) Succession(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.RecordID) ([]tenet.Record, error) {
	r, err := m.Record(ctx, by, scope, id)
	if err == nil && r.Tier == tenet.TierDocument {
		err = tenet.Errorf(tenet.NotFound, "succession", "a document has its own history")
	}
	if err != nil {
		return nil, err
	}
	line := []tenet.Record{r}
	for next := r.Supersedes; next != "" && len(line) < maxSuccession; {
		r, err := m.ledger.Record(ctx, scope, next)
		if tenet.KindOf(err) == tenet.NotFound {
			break // erased since
		}
		if err != nil {
			return nil, err
		}
		line, next = append(line, r), r.Supersedes
	}
	slices.Reverse(line)
	for next := r.SupersededBy; next != "" && len(line) < maxSuccession; {
		r, err := m.ledger.Record(ctx, scope, next)
		if tenet.KindOf(err) == tenet.NotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		line, next = append(line, r), r.SupersededBy
	}
	return line, nil
}

// Standing is the record that stands where this one stood: itself, or what took
// its place. It is NotFound when that is not believed, or not true, any more.
func (m *Memory) Standing(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.RecordID) (tenet.Record, error) {
	line, err := m.Succession(ctx, by, scope, id)
	if err != nil {
		return tenet.Record{}, err
	}
	r := line[len(line)-1]
	if r.Expired || !r.Current(m.now()) {
		return tenet.Record{}, tenet.Errorf(tenet.NotFound, "standing", "the record does not stand any more, and nothing stands for it")
	}
	return r, nil
}

// Reword puts other words in the place of a record, in one transaction and
// through the gate, on the caller's word: a fact's key gets a new version, and a
// note takes the place of a note or turn. The record itself is never changed.
// When the words are refused it stays as it is, and the error is that of
// Remember. Errors beside those: NotFound, Conflict when another took the
// record's place already, Denied for agents.
func (m *Memory) Reword(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.RecordID, text string) (tenet.Verdict, error) {
	const op = "reword"
	r, err := m.Record(ctx, by, scope, id)
	switch {
	case err != nil:
		return tenet.Verdict{}, err
	case r.Tier == tenet.TierDocument:
		return tenet.Verdict{}, tenet.Errorf(tenet.NotFound, op, "a document is changed by its path")
	case !r.Known.Open():
		return tenet.Verdict{}, tenet.Errorf(tenet.Conflict, op, "the record is closed already")
	}
	c := tenet.Note(scope, text)
	if r.Tier == tenet.TierFact {
		c = tenet.Fact(scope, r.Key, text)
		c.Safety, c.Multi = r.Safety, r.Multi
	}
	c = c.Quoting(text)
	if r.Tier == tenet.TierFact && !r.Multi {
		c.IfVersion = id
		return m.Remember(ctx, by, c)
	}
	return m.remember(ctx, by, c, &r)
}

// Retracted is what RetractAll did.
type Retracted struct {
	Retracted int `json:"retracted"`
	Refused   int `json:"refused"` // of a higher label than the principal reaches
}

// retractedTogether is how many retractions share a transaction.
const retractedTogether = 100

// RetractAll stops believing every fact, note and turn of a scope that the
// principal may retract: history keeps them, documents and sessions stay, and
// what is consolidated later is remembered anew. To make a subject's memory
// gone is Erase. It works in batches: cut short, it can be made again.
func (m *Memory) RetractAll(ctx context.Context, by tenet.Principal, scope tenet.Scope, why string) (Retracted, error) {
	const op = "retract all"
	var out Retracted
	var ds []gate.Decision
	apply := func() error {
		_, err := m.ledger.Apply(ctx, ds, nil)
		if tenet.KindOf(err) != tenet.Conflict {
			if err == nil {
				out.Retracted += len(ds)
			}
			ds = nil
			return err
		}
		for _, d := range ds { // somebody closed one of them meanwhile
			_, err := m.ledger.Apply(ctx, []gate.Decision{d}, nil)
			switch tenet.KindOf(err) {
			case tenet.NoError:
				out.Retracted++
			case tenet.Conflict:
			default:
				return err
			}
		}
		ds = nil
		return nil
	}
	err := m.eachBelieved(ctx, op, by, scope, func(r tenet.Record) error {
		d, err := m.gate.Retract(gate.Change{By: by, Scope: scope, Target: r, ID: newID(), Why: why, At: m.now()})
		switch tenet.KindOf(err) {
		case tenet.NoError:
			ds = append(ds, d)
		case tenet.Refused:
			out.Refused++
		default:
			return err
		}
		if len(ds) < retractedTogether {
			return nil
		}
		return apply()
	})
	if err == nil && len(ds) > 0 {
		err = apply()
	}
	return out, err
}

// Learned is what a session put into memory: where its consolidation stands,
// the verdicts of its items, and the records that those which were kept name.
type Learned struct {
	State    JobState
	Verdicts []tenet.Verdict
	Records  map[tenet.RecordID]tenet.Record
}

// maxLearned bounds the verdicts of one Learned.
const maxLearned = 1000

// Learned says what a session put into memory by what was judged from since on.
// Of a session with more than 1,000 verdicts the first are looked at; Status
// has them all, page by page.
func (m *Memory) Learned(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, since time.Time) (Learned, error) {
	st, err := m.Status(ctx, by, scope, id, "", maxLearned)
	if err != nil {
		return Learned{}, err
	}
	out := Learned{State: st.State, Records: map[tenet.RecordID]tenet.Record{}}
	for _, v := range st.Verdicts {
		if v.At.Before(since) {
			continue
		}
		out.Verdicts = append(out.Verdicts, v)
		if !v.Outcome.Kept() || v.Record == "" {
			continue
		}
		r, err := m.ledger.Record(ctx, scope, v.Record)
		if tenet.KindOf(err) == tenet.NotFound {
			continue // erased since
		}
		if err != nil {
			return Learned{}, err
		}
		out.Records[v.Record] = r
	}
	return out, nil
}
