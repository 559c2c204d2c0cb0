package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Oracle keeps all three ports in memory behind one lock. It is written to be
// obviously right, not fast: every read walks all rows of the scope, and Apply
// works on a copy. Backends are compared with it; it passes Run itself.
type Oracle struct {
	mu     sync.Mutex
	scopes map[tenet.Scope]*space
	master store.MasterKey
}

// NewOracle makes an empty one.
func NewOracle() *Oracle {
	key := store.NewDataKey()
	master, _ := store.NewMasterKey(key[:]) // of the right length
	return &Oracle{scopes: map[tenet.Scope]*space{}, master: master}
}

var (
	_ store.Ledger   = (*Oracle)(nil)
	_ store.Sessions = (*Oracle)(nil)
	_ store.Threads  = (*Oracle)(nil)
)

// space is all that one scope holds.
type space struct {
	durable
	conversations map[tenet.SessionID]*conversation
	places        map[string]map[tenet.RecordID]spot // by space
	swept         time.Time
	cutAt         time.Time
	threads       map[string][]tenet.Blob // oldest first
}

// durable is what only Apply changes.
type durable struct {
	key      store.DataKey
	known    time.Time // the latest stamp
	head     store.Head
	rows     []row // in the order they were written
	evidence []excerpt
	agreed   []agreement
	refs     map[string]judged // by Ref of Admit, Refuse, End and Retract
	holds    []hold            // in order of decision
	settled  map[uint64]gate.Settlement
	stages   map[tenet.SessionID]stage
	marks    map[uint64]store.StageMark
	tallies  map[uint64]gate.Tally
	rests    map[uint64][]gate.Rest
	chain    []tenet.AuditEntry
	tombs    []tomb
	aged     map[tenet.CandidateID]uint64 // by the entry that dropped the text
	frozen   uint64                       // the entry that placed the legal hold that stands
	cuts     []sealedHead                 // the last one is how the chain begins

	began, others gate.Stored // what the scope kept when Apply began, and the tenant's others do
}

// A row is one record as it was written; only Known.To, Closed and
// SupersededBy change, and expiry empties its texts. in, out and gone are the
// entries that wrote, closed and expired it; textIn and textOut the Text
// positions at which recall gained and lost it, zero for facts.
type row struct {
	tenet.Record
	digest          []byte
	in, out, gone   uint64
	textIn, textOut uint64
}

type excerpt struct {
	tenet.Evidence
	record tenet.RecordID
	in     uint64
}

type agreement struct {
	gate.Agreement
	in uint64
}

type judged struct {
	in      uint64
	content []byte
	verdict tenet.Verdict
}

type hold struct {
	candidate tenet.CandidateID
	by        string
	sealed    []byte
	expires   time.Time
	state     tenet.HoldState
}

type stage struct {
	cursor  int64
	waiting []tenet.Candidate
	cited   []tenet.Message
}

func (d durable) copy() durable {
	d.rows, d.evidence, d.agreed = slices.Clone(d.rows), slices.Clone(d.evidence), slices.Clone(d.agreed)
	d.holds, d.chain, d.tombs, d.aged = slices.Clone(d.holds), slices.Clone(d.chain), slices.Clone(d.tombs), maps.Clone(d.aged)
	d.refs, d.settled, d.stages, d.marks = maps.Clone(d.refs), maps.Clone(d.settled), maps.Clone(d.stages), maps.Clone(d.marks)
	d.tallies, d.rests = maps.Clone(d.tallies), maps.Clone(d.rests)
	d.cuts = slices.Clone(d.cuts)
	return d
}

// enter locks the oracle and finds the scope's space; callers unlock.
func (o *Oracle) enter(ctx context.Context, op string, scope tenet.Scope) (*space, error) {
	o.mu.Lock()
	switch {
	case ctx.Err() != nil:
		return nil, tenet.Errorf(tenet.Unavailable, op, "the context ended")
	case scope.IsZero():
		return nil, tenet.Errorf(tenet.Invalid, op, "no scope")
	}
	s := o.scopes[scope]
	if s == nil {
		s = &space{conversations: map[tenet.SessionID]*conversation{}, threads: map[string][]tenet.Blob{}}
		s.key = store.NewDataKey()
		s.refs, s.settled = map[string]judged{}, map[uint64]gate.Settlement{}
		s.stages, s.marks = map[tenet.SessionID]stage{}, map[uint64]store.StageMark{}
		s.tallies, s.rests, s.places = map[uint64]gate.Tally{}, map[uint64][]gate.Rest{}, map[string]map[tenet.RecordID]spot{}
		s.aged = map[tenet.CandidateID]uint64{}
		o.scopes[scope] = s
	}
	return s, nil
}

// Close does nothing: there is nothing to release.
func (o *Oracle) Close() error { return nil }

// Apply implements store.Ledger.
func (o *Oracle) Apply(ctx context.Context, ds []gate.Decision, again store.Rejudge) ([]store.Applied, error) {
	var scope tenet.Scope
	for i, d := range ds {
		if d.IsZero() {
			return nil, tenet.Errorf(tenet.Refused, "apply", "decision %d was not made by the gate", i)
		}
		if i > 0 && d.Plan().Scope != scope {
			return nil, tenet.Errorf(tenet.Invalid, "apply", "decisions of two scopes")
		}
		if scope = d.Plan().Scope; d.Plan().Kind == gate.Cut {
			return nil, tenet.Errorf(tenet.Invalid, "apply", "a cut is not applied but carried out")
		}
	}
	s, err := o.enter(ctx, "apply", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	work := s.durable.copy()
	work.began = work.stored()
	work.others = o.stored(scope.Tenant()).Minus(work.began)
	out := make([]store.Applied, 0, len(ds))
	for i, d := range ds {
		a, err := work.apply(i, d.Plan(), again)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	work.head.Dense = s.head.Dense
	s.durable = work
	s.forgetPlaces()
	return out, nil
}

func (d *durable) apply(i int, p gate.Plan, again store.Rejudge) (store.Applied, error) {
	content := d.content(p)
	if content != nil {
		if j, ok := d.refs[p.Ref]; ok {
			if !bytes.Equal(j.content, content) {
				return store.Applied{}, tenet.Errorf(tenet.Conflict, "apply", "the id was used with other content")
			}
			return store.Applied{Entry: d.entry(j.in), Verdict: j.verdict, Replayed: true}, nil
		}
	}
	if p.Readmitted {
		if err := d.continues(p); err != nil {
			return store.Applied{}, err
		}
	} else if st := d.state(p.Needs.Query, p.At); !holds(p.Needs, st) {
		if again == nil {
			return store.Applied{}, tenet.Errorf(tenet.Conflict, "apply", "the state moved since it was judged")
		}
		dec, err := again(i, st)
		switch q := dec.Plan(); {
		case err != nil:
			return store.Applied{}, err
		case dec.IsZero():
			return store.Applied{}, tenet.Errorf(tenet.Refused, "apply", "decision %d was not made by the gate", i)
		case q.Scope != p.Scope || q.Ref != p.Ref:
			return store.Applied{}, tenet.Errorf(tenet.Invalid, "apply", "another case was judged again")
		case !holds(q.Needs, d.state(q.Needs.Query, q.At)):
			return store.Applied{}, tenet.Errorf(tenet.Conflict, "apply", "judged again against another state")
		default:
			p, content = q, d.content(q)
		}
	}
	at := p.At
	if !at.After(d.known) {
		at = d.known.Add(time.Microsecond)
	}
	d.known = at
	d.head.Audit++
	seq := d.head.Audit
	if err := d.write(p, seq, at); err != nil {
		return store.Applied{}, err
	}
	if limit := p.Quota.Passed(d.others.Plus(d.stored()), d.stored().Minus(d.began)); limit != "" {
		return store.Applied{}, store.QuotaReached("apply", limit, 0, 0)
	}
	if content != nil {
		d.refs[p.Ref] = judged{seq, content, p.Verdict}
	}
	e := tenet.AuditEntry{
		Seq: seq, Action: p.Kind.String(), Outcome: p.Verdict.Outcome, Codes: p.Verdict.Codes, RuleSet: p.Verdict.RuleSet,
		At: at, Ref: p.Ref, Actor: p.Actor, Why: p.Why,
	}
	if seq > 1 {
		e.Prev = d.chain[len(d.chain)-1].Hash
	}
	e.Digest = store.EntryDigest(d.key, d.written(e))
	e.Hash = store.EntryHash(e)
	d.chain = append(d.chain, e)
	return store.Applied{Entry: e, Verdict: p.Verdict}, nil
}

// content is the digest that makes a Ref idempotent, nil for kinds that aren't.
func (d *durable) content(p gate.Plan) []byte {
	if p.Readmitted && p.Ref == "" {
		return nil
	}
	switch p.Kind {
	case gate.Admit, gate.Refuse:
		return store.ContentDigest(d.key, p.Declared)
	case gate.End, gate.Retract:
		return store.ChangeDigest(d.key, p)
	case gate.Revoke:
		return store.ChangeDigest(d.key, p)
	case gate.Ask:
		return store.AskDigest(d.key, p)
	}
	return nil
}

func holds(n gate.Needs, s gate.State) bool {
	return slices.EqualFunc(n.Open, s.Open, func(id tenet.RecordID, r tenet.Record) bool { return id == r.ID }) &&
		n.Limits.Fits(s.Usage, n.Grows) && n.Blocked == s.Blocked && n.Over == n.Query.Pace.Over(s.Pace)
}

// write puts the plan's rows in place, as entry seq at known time at.
func (d *durable) write(p gate.Plan, seq uint64, at time.Time) error {
	text := d.head.Text + 1 // where recall's view stands if this touches it
	touch := func(r *row, pos *uint64) {
		if r.Tier != tenet.TierFact && *pos == 0 {
			*pos, d.head.Text = text, text
		}
	}
	for _, c := range p.Close {
		r := d.find(c.Record)
		if r == nil {
			return tenet.Errorf(tenet.NotFound, "apply", "no such record")
		}
		if !r.Known.Open() {
			return tenet.Errorf(tenet.Conflict, "apply", "the record is closed already")
		}
		r.Known.To, r.Closed, r.SupersededBy, r.out = at, c.Reason, c.By, seq
		touch(r, &r.textOut)
	}
	for _, rec := range p.Insert {
		if d.find(rec.ID) != nil {
			return tenet.Errorf(tenet.Conflict, "apply", "the record id is taken")
		}
		rec.Known = tenet.Interval{From: at}
		r := row{Record: clone(rec), digest: store.RecordDigest(d.key, rec), in: seq}
		touch(&r, &r.textIn)
		d.rows = append(d.rows, r)
	}
	for _, e := range p.Evidence {
		d.evidence = append(d.evidence, excerpt{e, p.Supported(), seq})
	}
	if a := p.Agree; a != nil {
		if r := d.find(a.Record); r == nil || !r.Known.Open() {
			return tenet.Errorf(tenet.Conflict, "apply", "the equal record is closed already")
		}
		d.agreed = append(d.agreed, agreement{*a, seq})
		d.head.Stats++
	}
	if h := p.Hold; h != nil {
		c := p.Candidate
		if h.State == tenet.HoldRefused {
			c.Text = h.Text // capped; what is open for release is kept whole
		}
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false) // a raw value must come back byte for byte
		if enc.Encode(c) != nil {
			return tenet.Errorf(tenet.Invalid, "apply", "the candidate does not encode")
		}
		d.holds = append(d.holds, hold{c.ID, p.Actor, d.key.Seal(plain.Bytes(), p.Ref), h.ExpiresAt, h.State})
	}
	if s := p.Settles; s != nil {
		i := slices.IndexFunc(d.holds, func(h hold) bool { return h.candidate == s.Candidate })
		if i < 0 {
			return tenet.Errorf(tenet.NotFound, "apply", "no such hold")
		}
		if d.holds[i].state != tenet.HoldOpen {
			return tenet.Errorf(tenet.Conflict, "apply", "the hold is settled already")
		}
		d.holds[i].state = s.State
		d.settled[seq] = *s
	}
	switch {
	case p.Kind == gate.Expire && d.frozen != 0:
		return store.HeldBack("apply")
	case p.Kind == gate.Freeze && d.frozen != 0, p.Kind == gate.Thaw && d.frozen == 0:
		return tenet.Errorf(tenet.Conflict, "apply", "the legal hold stands as asked already")
	case p.Kind == gate.Freeze:
		d.frozen = seq
	case p.Kind == gate.Thaw:
		d.frozen = 0
	}
	if err := d.bury(p, seq, at); err != nil {
		return err
	}
	for session, st := range d.stages { // what has a verdict leaves the stage
		if p.Kind == gate.Admit || p.Kind == gate.Refuse {
			st.waiting = slices.DeleteFunc(slices.Clone(st.waiting), func(c tenet.Candidate) bool { return c.ID == p.Candidate.ID })
			d.stages[session] = st
		}
	}
	if s := p.Staged; s != nil {
		st := d.stages[s.Session]
		if st.cursor != s.From {
			return tenet.Errorf(tenet.Conflict, "apply", "the cursor is elsewhere")
		}
		st.cursor, st.waiting = s.To, slices.Clone(st.waiting)
		for _, c := range s.Candidates {
			switch old := d.offered(c.ID); {
			case old == nil:
				st.waiting = append(st.waiting, c)
				st.cited = append(slices.Clone(st.cited), citedBy(c, s.Cited)...)
				d.stages[s.Session] = st
			case !bytes.Equal(old, store.ContentDigest(d.key, c)):
				return tenet.Errorf(tenet.Conflict, "apply", "the id was used with other content")
			} // else it has its verdict, or waits for it
		}
		d.stages[s.Session] = st
		d.marks[seq] = store.StageMark{Session: string(s.Session), From: s.From, To: s.To, Count: len(s.Candidates) + s.Judged}
	}
	if err := d.retain(p, seq); err != nil {
		return err
	}
	for _, id := range p.Expire {
		r := d.find(id)
		if r == nil {
			return tenet.Errorf(tenet.NotFound, "apply", "no such record")
		}
		if r.Expired {
			return tenet.Errorf(tenet.Conflict, "apply", "the text is gone already")
		}
		r.Text, r.Value, r.Signature, r.Expired, r.gone = "", nil, "", true, seq
		touch(r, &r.textOut)
	}
	return nil
}

// offered is the content of a candidate that has its verdict or waits for it.
func (d *durable) offered(id tenet.CandidateID) []byte {
	for _, st := range d.stages {
		for _, c := range st.waiting {
			if c.ID == id {
				return store.ContentDigest(d.key, c)
			}
		}
	}
	return d.refs[string(id)].content
}

// entry is entry seq of the chain; the zero one when it is not there.
func (d *durable) entry(seq uint64) tenet.AuditEntry {
	for _, e := range d.chain {
		if e.Seq == seq {
			return e
		}
	}
	return tenet.AuditEntry{}
}

func (d *durable) find(id tenet.RecordID) *row {
	for i := range d.rows {
		if d.rows[i].ID == id {
			return &d.rows[i]
		}
	}
	return nil
}

// read is the row as a reader sees it: with the origins that agreed. Each
// agreement that brought a new origin counts once.
func (d *durable) read(r row) tenet.Record {
	rec := clone(r.Record)
	for _, a := range d.agreed {
		if a.Record != rec.ID {
			continue
		}
		grown := false
		for _, o := range a.Origins {
			if !slices.Contains(rec.Origins, o) {
				rec.Origins, grown = append(rec.Origins, o), true
			}
		}
		if grown {
			rec.Seen++
		}
	}
	return rec
}

func clone(r tenet.Record) tenet.Record {
	r.Value, r.Origins = bytes.Clone(r.Value), slices.Clone(r.Origins)
	return r
}

func (d *durable) where(keep func(*row) bool) []tenet.Record {
	var out []tenet.Record
	for i := range d.rows {
		if keep(&d.rows[i]) {
			out = append(out, d.read(d.rows[i]))
		}
	}
	return out
}

func (d *durable) state(q gate.Query, now time.Time) gate.State {
	if d.known.After(now) {
		now = d.known
	}
	s := gate.State{Now: now, Blocked: d.blocked(q.Statement), Pace: d.pace(q.Pace, now)}
	if q.Tier != 0 && (q.Key != "" || q.Signature != "") {
		s.Open = d.where(func(r *row) bool {
			return r.Known.Open() && r.Tier == q.Tier && (q.Key == "" || r.Key == q.Key) &&
				(q.Signature == "" || r.Signature == q.Signature) &&
				(q.Since.IsZero() || r.Valid.To.IsZero() || r.Valid.To.After(q.Since))
		})
		slices.SortFunc(s.Open, func(a, b tenet.Record) int {
			return cmp.Or(a.Valid.From.Compare(b.Valid.From), cmp.Compare(a.ID, b.ID))
		})
	}
	for _, r := range d.rows {
		if r.Tier == tenet.TierFact && r.Known.Open() && (r.Valid.To.IsZero() || r.Valid.To.After(now)) {
			s.Usage.Rows++
			s.Usage.Bytes += r.RenderedSize()
			if r.Safety {
				s.Usage.SafetyRows++
				s.Usage.SafetyBytes += r.RenderedSize()
			}
		}
	}
	return s
}
