package memory

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/forget"
	"github.com/tenet-memory/tenet/gate"
)

// Entry is a believed note, episode or document as forgetting sees it.
type Entry struct {
	Record  tenet.Record
	Score   float64 // of the next sweep, 0 to 1
	Reason  forget.Reason
	Dormant bool
	Pinned  bool
	Success float64 // reported outcomes, decayed
	Failure float64
	// ServedAt is when it was last served, as sweeps noted it: up to a week late.
	ServedAt time.Time
}

// Entries lists the scope's believed notes, episodes and documents in the order
// in which they were written, after the given one, at most limit.
func (o *Operator) Entries(ctx context.Context, after tenet.RecordID, limit int) ([]Entry, error) {
	if o.m.cfg.Retention == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "entries", "this ledger keeps no retention")
	}
	now, p := o.m.now(), o.m.cfg.Forget
	uses, err := o.m.cfg.Retention.Uses(ctx, o.scope, after, limit, p.WorthHalfLife, now)
	if err != nil {
		return nil, err
	}
	weigh, err := importance(o.m.indexes.params.Language)
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "entries", "%v", err)
	}
	out := make([]Entry, len(uses))
	for i, u := range uses {
		st := p.Sweep(entryOf(u, u.ServedAt, weigh(u.Record), now), now, false)
		out[i] = Entry{u.Record, st.Score, st.Reason, u.Dormant, u.Pinned, u.Success, u.Failure, u.ServedAt}
	}
	return out, nil
}

// sessionLister is a session store that lists a scope's sessions.
type sessionLister interface {
	SessionsOf(ctx context.Context, scope tenet.Scope, after tenet.SessionID, limit int) ([]tenet.Session, error)
}

// Sessions lists the scope's sessions in order of their ids, after the given
// one, at most limit. It is Unavailable when the session store does not list.
func (o *Operator) Sessions(ctx context.Context, after tenet.SessionID, limit int) ([]tenet.Session, error) {
	l, ok := o.m.sessions.(sessionLister)
	if !ok {
		return nil, tenet.Errorf(tenet.Unavailable, "sessions", "the session store lists no sessions")
	}
	return l.SessionsOf(ctx, o.scope, after, limit)
}

// Receipts returns what was served in a session of the scope, oldest first.
func (o *Operator) Receipts(ctx context.Context, id tenet.SessionID) ([]tenet.Receipt, error) {
	return o.m.sessions.Receipts(ctx, o.scope, id)
}

// Stood is what stood in a session's window when a receipt was left.
type Stood struct {
	Receipt tenet.Receipt
	// Query is the user's last message before it: what a context recalls by
	// when its caller does not say.
	Query string
	// Items are the records of the receipt as they were then: a record's words,
	// label and times never change, and its origins are those that it had.
	Items []StoodItem
	// Since are facts that hold now and were not in the window.
	Since []Fact
}

// StoodItem is one record of a window.
type StoodItem struct {
	ID     tenet.RecordID
	Fact   bool         // loaded by identity; otherwise recalled by meaning
	Record tenet.Record // without an ID when it is gone, or of a scope out of reach
	// Score takes apart what brought it there, as it was then: nil for a fact, and
	// for a receipt older than scores.
	Score *tenet.Score
}

// Stood looks up what a receipt of a session says was served. Errors: NotFound.
func (o *Operator) Stood(ctx context.Context, id tenet.SessionID, receipt string) (Stood, error) {
	rs, err := o.Receipts(ctx, id)
	if err != nil {
		return Stood{}, err
	}
	i := slices.IndexFunc(rs, func(r tenet.Receipt) bool { return r.ID == receipt })
	if i < 0 {
		return Stood{}, tenet.Errorf(tenet.NotFound, "stood", "no such receipt in this session")
	}
	out := Stood{Receipt: rs[i]}
	info, err := o.m.sessions.Ensure(ctx, o.scope, tenet.Session{ID: id, Scope: o.scope, Reads: []tenet.Scope{o.scope}, CreatedAt: o.m.now()})
	if err != nil {
		return Stood{}, err
	}
	reads := slices.DeleteFunc(slices.Clone(info.Reads), func(s tenet.Scope) bool { return !o.by.MayReach(s) })
	if out.Query, err = o.askedBefore(ctx, info, out.Receipt.At); err != nil {
		return Stood{}, err
	}
	for n, ids := range [][]tenet.RecordID{out.Receipt.Facts, out.Receipt.Recalled} {
		for i, id := range ids {
			it := StoodItem{ID: id, Fact: n == 0}
			if !it.Fact && i < len(out.Receipt.Scores) {
				it.Score = &out.Receipt.Scores[i]
			}
			for _, s := range reads {
				r, err := o.m.ledger.Record(ctx, s, id)
				if err == nil {
					it.Record = r
					break
				}
				if tenet.KindOf(err) != tenet.NotFound {
					return Stood{}, err
				}
			}
			out.Items = append(out.Items, it)
		}
	}
	if err := o.originsThen(ctx, reads, out); err != nil {
		return Stood{}, err
	}
	now, err := o.m.Facts(ctx, o.by, tenet.AsOf{}, reads...)
	for _, f := range now {
		if !slices.Contains(out.Receipt.Facts, f.ID) {
			out.Since = append(out.Since, f)
		}
	}
	return out, err
}

// originsThen takes out of a window's records who agreed with them later.
func (o *Operator) originsThen(ctx context.Context, reads []tenet.Scope, st Stood) error {
	if o.m.cfg.Governor == nil {
		return nil
	}
	for _, s := range reads {
		var ids []tenet.RecordID
		for _, it := range st.Items {
			if it.Record.Scope == s {
				ids = append(ids, it.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		then, err := o.m.cfg.Governor.OriginsAt(ctx, s, ids, st.Receipt.At)
		if err != nil {
			return err
		}
		for i := range st.Items {
			if it := &st.Items[i]; it.Record.Scope == s {
				it.Record.Origins = then[it.ID]
			}
		}
	}
	return nil
}

// askedBefore is the user's last message at a time, looked for among the
// messages that a context looks at.
func (o *Operator) askedBefore(ctx context.Context, s tenet.Session, at time.Time) (string, error) {
	last := ""
	for after := int64(0); ; {
		ms, err := o.m.sessions.Messages(ctx, o.scope, s.ID, after, contextMessages)
		if err != nil || len(ms) == 0 {
			return last, err
		}
		for _, m := range ms {
			if m.RecordedAt.After(at) {
				return last, nil
			}
			if m.Role == tenet.RoleUser && m.Text != "" {
				last = m.Text
			}
		}
		after = ms[len(ms)-1].Seq
	}
}

// Cited returns the messages of the scope that are still there, of those named.
func (o *Operator) Cited(ctx context.Context, ids ...tenet.MessageID) ([]tenet.Message, error) {
	return o.m.sessions.Cited(ctx, o.scope, ids)
}

// VetAs says what would be decided about a candidate that cites one message, if
// a principal of a kind had recorded that message: nothing is written. Role,
// channel and text are the message's; the label is derived, as ever.
func (o *Operator) VetAs(ctx context.Context, c tenet.Candidate, kind tenet.PrincipalKind, m tenet.Message) (tenet.Verdict, error) {
	const trial = "trial"
	by, err := tenet.NewPrincipal(kind, o.scope.Tenant(), trial)
	if err != nil {
		return tenet.Verdict{}, err
	}
	c.ID, c.Scope, c.Cites, c.ProposedBy, c.ProposedAt = trial, o.scope, []tenet.MessageID{trial}, by.String(), o.m.now()
	m.ID, m.Session, m.Seq, m.RecordedBy, m.RecordedAt = trial, trial, 1, by.String(), o.m.now()
	m.Label = gate.MessageLabel(by, m.Role, m.Channel)
	k := gate.Case{By: by, Candidate: c, Evidence: []tenet.Message{m}, At: o.m.now()}
	if k.State, err = o.m.ledger.State(ctx, o.scope, o.m.gate.Query(k), k.At); err != nil {
		return tenet.Verdict{}, err
	}
	d, err := o.m.gate.Judge(k)
	return d.Verdict(), err
}

// Trial is what another rule set would have made of past decisions.
type Trial struct {
	RuleSet string
	Judged  int // decisions that could be judged again
	Left    int // those that could not: closed or erased since, a text that ran out
	Flips   []Flip
}

// Flip is a decision that would come out otherwise: by the rules in force, and by
// the others. Both judge the state as it is now, so that the rules alone differ.
type Flip struct {
	Key, Text      string
	InForce, Tried tenet.Verdict
}

// maxTrial bounds one trial.
const maxTrial = 1000

// Trial judges the scope's last n decisions about candidates again by the rules
// of g, at most 1,000, and writes nothing. What was refused is judged as it was
// proposed, what is believed as a rescan would. Errors: Invalid for n.
func (o *Operator) Trial(ctx context.Context, g *gate.Gate, n int) (Trial, error) {
	out := Trial{RuleSet: g.RuleSet()}
	if n < 1 || n > maxTrial {
		return out, tenet.Errorf(tenet.Invalid, "trial", "want 1 to %d decisions", maxTrial)
	}
	es, err := o.newest(ctx, n, func(e tenet.AuditEntry) bool { return e.Outcome != 0 && e.Ref != "" })
	if err != nil {
		return out, err
	}
	refused := map[tenet.CandidateID]tenet.Held{}
	hs, err := o.Held(ctx, "", maxTrial)
	if err != nil {
		return out, err
	}
	for _, h := range hs {
		refused[h.Verdict.Candidate] = h
	}
	for _, e := range es {
		f, judged, err := o.decidedAgain(ctx, g, e, refused)
		switch {
		case err != nil:
			return out, err
		case !judged:
			out.Left++
			continue
		}
		out.Judged++
		if f.Tried.Outcome != f.InForce.Outcome {
			out.Flips = append(out.Flips, f)
		}
	}
	return out, nil
}

func (o *Operator) decidedAgain(ctx context.Context, g *gate.Gate, e tenet.AuditEntry, refused map[tenet.CandidateID]tenet.Held) (f Flip, judged bool, err error) {
	if !e.Outcome.Kept() {
		h, ok := refused[tenet.CandidateID(e.Ref)]
		if !ok || h.Candidate.ID == "" {
			return f, false, nil
		}
		now, err := o.replayOne(ctx, o.m.gate, h)
		if err != nil || now.Failed != "" {
			return f, false, err
		}
		tried, err := o.replayOne(ctx, g, h)
		return Flip{h.Candidate.Key, h.Candidate.Text, now.Now, tried.Now}, tried.Failed == "", err
	}
	v, err := o.m.ledger.Verdict(ctx, o.scope, tenet.CandidateID(e.Ref))
	if err == nil {
		var r tenet.Record
		if r, err = o.m.ledger.Record(ctx, o.scope, v.Record); err == nil {
			if !r.Known.Open() || r.Expired {
				return f, false, nil
			}
			f = Flip{r.Key, r.Text, v, v}
			for g, out := range map[*gate.Gate]*tenet.Verdict{o.m.gate: &f.InForce, g: &f.Tried} {
				d, ok, err := g.Rescan(o.by, r, tenet.CandidateID("trial-"+newID()), "", o.m.now())
				if err != nil {
					return f, false, err
				}
				if !ok {
					*out = d.Verdict()
				}
			}
			return f, true, nil
		}
	}
	if tenet.KindOf(err) == tenet.NotFound {
		err = nil
	}
	return f, false, err
}

// newest returns the last n entries of the chain that are wanted, newest first,
// of at most maxTrial times ten that are looked at.
func (o *Operator) newest(ctx context.Context, n int, wanted func(tenet.AuditEntry) bool) ([]tenet.AuditEntry, error) {
	h, err := o.m.ledger.Head(ctx, o.scope)
	if err != nil {
		return nil, err
	}
	const page = 500
	var out []tenet.AuditEntry
	for to := h.Audit; to > 0 && len(out) < n && h.Audit-to < 10*maxTrial; {
		from := uint64(1)
		if to > page {
			from = to - page + 1
		}
		es, err := o.Audit(ctx, from, int(to-from+1))
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(es) {
			if e.Seq <= to && wanted(e) && len(out) < n { // a cut leaves gaps, and the page reaches beyond
				out = append(out, e)
			}
		}
		to = from - 1
	}
	return out, nil
}

// Extract is a stretch of a scope's chain that can be shown elsewhere: signed
// with the key that signs erasure receipts, and checkable entry by entry, since
// each hash covers the one before.
type Extract struct {
	Form    string             `json:"form"` // "tenet audit extract 1"
	Tenant  string             `json:"tenant"`
	Subject string             `json:"subject"`
	At      time.Time          `json:"at"`
	Entries []tenet.AuditEntry `json:"entries"`
	Key     string             `json:"key"` // Ed25519, hex
	Sig     string             `json:"sig"` // over all of the above
}

const extractForm = "tenet audit extract 1"

func (x Extract) body() []byte {
	x.Sig = ""
	b, err := json.Marshal(x)
	if err != nil {
		panic("memory: an extract does not encode: " + err.Error())
	}
	return b
}

// Signed reports whether the extract is as the holder of the key signed it.
func (x Extract) Signed(key ed25519.PublicKey) bool {
	sig, err := hex.DecodeString(x.Sig)
	return err == nil && x.Form == extractForm && ed25519.Verify(key, x.body(), sig)
}

// Extract signs entries of the scope's chain from seq on, at most limit.
func (o *Operator) Extract(ctx context.Context, from uint64, limit int) (Extract, error) {
	if len(o.m.cfg.ErasureKey) != ed25519.PrivateKeySize {
		return Extract{}, tenet.Errorf(tenet.Unavailable, "extract", "there is no key to sign with")
	}
	es, err := o.Audit(ctx, from, limit)
	if err != nil {
		return Extract{}, err
	}
	x := Extract{Form: extractForm, Tenant: o.scope.Tenant(), Subject: o.scope.Subject().String(), At: o.m.now(), Entries: es,
		Key: hex.EncodeToString(o.m.cfg.ErasureKey.Public().(ed25519.PublicKey))}
	x.Sig = hex.EncodeToString(ed25519.Sign(o.m.cfg.ErasureKey, x.body()))
	return x, nil
}

// Reading bounds and narrows what of the chain is looked for.
type Reading struct {
	From         uint64 // the entry to begin with
	Since, Until time.Time
	Actor        string // exactly, or a kind ("agent:")
	Action       string
	Code         tenet.Code
	Limit        int
}

// searched is how many entries one search looks at.
const searched = 5000

// Search returns the entries that match, oldest first, and the entry at which
// to go on; 0 at the end of the chain. It looks at 5,000 entries at most.
func (o *Operator) Search(ctx context.Context, r Reading) (es []tenet.AuditEntry, next uint64, err error) {
	at, step := max(r.From, 1), 500
	if r == (Reading{From: r.From, Limit: r.Limit}) {
		step = r.Limit // every entry matches
	}
	for n := 0; n < searched; {
		page, err := o.Audit(ctx, at, step)
		if err != nil || len(page) == 0 {
			return es, 0, err
		}
		for _, e := range page {
			n, at = n+1, e.Seq+1
			if !r.matches(e) {
				continue
			}
			if es = append(es, e); len(es) == r.Limit {
				return es, at, nil
			}
		}
	}
	return es, at, nil
}

func (r Reading) matches(e tenet.AuditEntry) bool {
	switch {
	case !r.Since.IsZero() && e.At.Before(r.Since), !r.Until.IsZero() && !e.At.Before(r.Until):
		return false
	case r.Actor != "" && e.Actor != r.Actor && !(r.Actor[len(r.Actor)-1] == ':' && len(e.Actor) > len(r.Actor) && e.Actor[:len(r.Actor)] == r.Actor):
		return false
	case r.Action != "" && e.Action != r.Action:
		return false
	}
	return r.Code == "" || slices.Contains(e.Codes, r.Code)
}

// WouldReplace is the record that releasing a hold would take the place of; it
// has no ID when there is none.
func (o *Operator) WouldReplace(ctx context.Context, h tenet.Held) (tenet.Record, error) {
	r, err := o.m.current(ctx, o.scope, h)
	if r.ID == tenet.NoVersion {
		r = tenet.Record{}
	}
	return r, err
}

// OpenHolds are a scope's holds that wait for somebody.
type OpenHolds struct {
	Scope tenet.Scope
	Open  int
	Since time.Time // of the oldest
}

// holdsSeen is how many of a scope's newest refusals OpenHolds looks at.
const holdsSeen = 500

// HoldsOf looks at a tenant's scopes after the given one, at most limit of them,
// and returns those with open holds, and the scope to go on from: zero at the end.
// Of each scope the newest 500 refusals are looked at.
func (m *Memory) HoldsOf(ctx context.Context, tenant string, after tenet.Scope, limit int) (hs []OpenHolds, next tenet.Scope, err error) {
	if err := m.durable("holds"); err != nil {
		return nil, next, err
	}
	scopes, err := m.ledger.Scopes(ctx, tenant, after, limit)
	if err != nil {
		return nil, next, err
	}
	for _, s := range scopes {
		held, err := m.ledger.Held(ctx, s, m.now(), "", holdsSeen)
		if err != nil {
			return nil, next, err
		}
		x := OpenHolds{Scope: s}
		for _, h := range held { // newest first
			if h.State == tenet.HoldOpen {
				x.Open, x.Since = x.Open+1, h.Verdict.At
			}
		}
		if x.Open > 0 {
			hs = append(hs, x)
		}
	}
	if len(scopes) == limit && limit > 0 {
		next = scopes[limit-1]
	}
	return hs, next, nil
}

// Admit remembers on the operator's own word what was discarded or refused
// before: a new decision beside the old one, which stays on record. Errors are
// Remember's, NotFound, and Conflict for a text that has run out.
func (o *Operator) Admit(ctx context.Context, id tenet.CandidateID) (tenet.Verdict, error) {
	h, err := o.held(ctx, id)
	if err != nil {
		return tenet.Verdict{}, err
	}
	c := h.Candidate
	if c.Text == "" {
		return tenet.Verdict{}, tenet.Errorf(tenet.Conflict, "admit", "the text has run out")
	}
	again := tenet.Candidate{Scope: o.scope, Tier: c.Tier, Key: c.Key, Value: c.Value, Text: c.Text, Valid: c.Valid, Multi: c.Multi, Safety: c.Safety, Op: c.Op}
	return o.m.Remember(ctx, o.by, again.Quoting(c.Text))
}
