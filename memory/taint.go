package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Source names where taint comes from. One field is set; Since narrows it to
// what was learned from then on.
type Source struct {
	Session tenet.SessionID
	Message tenet.MessageID
	Origin  string // a principal, "connector:crm", or "channel:external"
	Key     string // of a fact or document
	Record  tenet.RecordID
	Since   time.Time
}

func (s Source) check() error {
	n := 0
	for _, set := range []bool{s.Session != "", s.Message != "", s.Origin != "", s.Key != "", s.Record != ""} {
		if set {
			n++
		}
	}
	if n != 1 {
		return tenet.Errorf(tenet.Invalid, "taint", "name one of session, message, origin, key and record")
	}
	return nil
}

// names reports whether an origin is of the source.
func (s Source) names(o tenet.Origin) bool {
	switch {
	case s.Session != "":
		return o.Session == s.Session
	case s.Message != "":
		return o.Message == s.Message
	case s.Origin != "":
		return o.Principal == s.Origin || o.Channel != "" && "channel:"+string(o.Channel) == s.Origin
	}
	return false
}

// Taint is everything that came from a source.
type Taint struct {
	// Records derive from the source, in the order in which they were written;
	// those whose Known is open are believed now.
	Records []tenet.Record `json:"records"`
	// Agreed were said by the source too, but rest on others: they stay.
	Agreed []tenet.RecordID `json:"agreed"`
	// Undone are records of others that the source ended or retracted: they hold
	// again, for the time that nothing sounder has taken since.
	Undone []tenet.Record `json:"undone"`
	// Restored is what a revocation puts back: values that tainted records had
	// pushed out, what was ended or retracted on tainted words, and records that
	// others had said as well.
	Restored []gate.Piece `json:"restored"`
	// Again are sessions of which something is consolidated again: words that
	// stood beside tainted ones, or that were refused for what tainted ones had
	// made of the facts.
	Again []tenet.SessionID `json:"again"`
	// Served are the receipts of sessions that had an affected record before them.
	Served []store.ScopedReceipt `json:"served"`
	// Revoked is the revocation's id, when there was one.
	Revoked string `json:"revoked,omitempty"`

	// Missed are sessions that should have been consolidated again and that the
	// extractor could not read just now.
	Missed []tenet.SessionID `json:"missed,omitempty"`

	refused   []tenet.Held
	beside    []tenet.SessionID
	shortened []tenet.Record // believed parts of others' records that bear a tainted end
}

// nothing reports whether a revocation would change nothing.
func (t Taint) nothing() bool { return t.Open() == 0 && len(t.Restored) == 0 && len(t.shortened) == 0 }

// Open counts the records that are believed now.
func (t Taint) Open() int {
	n := 0
	for _, r := range t.Records {
		if r.Known.Open() {
			n++
		}
	}
	return n
}

// Taint lists what came from a source in this scope, through origins, splits
// and elevations, what was ended on its word, and who was shown it. It writes nothing.
func (o *Operator) Taint(ctx context.Context, src Source) (Taint, error) {
	if err := src.check(); err != nil {
		return Taint{}, err
	}
	if o.m.cfg.Governor == nil {
		return Taint{}, tenet.Errorf(tenet.Unavailable, "taint", "the ledger cannot list its records")
	}
	w := walk{o: o, src: src, tainted: map[tenet.RecordID]bool{}, beside: map[tenet.SessionID]bool{}, taken: map[string][]tenet.Interval{}, undone: map[tenet.RecordID]bool{}, entries: map[int64]tenet.AuditEntry{}}
	if err := w.read(ctx); err != nil {
		return Taint{}, err
	}
	if err := w.mark(ctx); err != nil {
		return Taint{}, err
	}
	if err := w.readEnds(ctx); err != nil {
		return Taint{}, err
	}
	w.restore()
	w.undo()
	if err := w.affected(ctx); err != nil {
		return Taint{}, err
	}
	if len(w.out.Records) > 0 && o.m.cfg.Served != nil {
		var err error
		if w.out.Served, err = o.m.cfg.Served.ServedWith(ctx, o.scope, recordIDs(w.out.Records)); err != nil {
			return Taint{}, err
		}
	}
	return w.out, nil
}

func recordIDs(rs []tenet.Record) []tenet.RecordID {
	out := make([]tenet.RecordID, len(rs))
	for i, r := range rs {
		out[i] = r.ID
	}
	return out
}

// Revoke closes everything that came from a source, in one transaction, puts
// back what it had pushed out, ended or retracted, and stages again what is to be
// judged afresh. Rows stay: history shows what was believed
// and that it was revoked. When somebody writes meanwhile, it looks again.
func (o *Operator) Revoke(ctx context.Context, src Source, why string) (Taint, error) {
	for range 5 {
		t, err := o.Taint(ctx, src)
		if err != nil || t.nothing() {
			return t, err
		}
		r := gate.Revocation{By: o.by, Scope: o.scope, ID: "revoked-" + newID(), Reopen: t.Restored, Why: why, At: o.m.now()}
		for _, rec := range t.Records {
			if rec.Known.Open() {
				r.Close = append(r.Close, rec)
			}
		}
		r.Close = append(r.Close, t.shortened...)
		d, err := o.m.gate.Revoke(r)
		if err != nil {
			return Taint{}, err
		}
		again, err := o.again(ctx, src, &t, r.ID)
		if err != nil {
			return Taint{}, err
		}
		_, err = o.m.ledger.Apply(ctx, append([]gate.Decision{d}, again...), nil)
		if tenet.KindOf(err) == tenet.Conflict {
			continue
		}
		t.Revoked = r.ID
		return t, err
	}
	return Taint{}, tenet.Errorf(tenet.Conflict, "revoke", "the scope is being written to; try again")
}

// walk follows one source through a scope.
type walk struct {
	o       *Operator
	src     Source
	all     []tenet.Record
	tainted map[tenet.RecordID]bool
	beside  map[tenet.SessionID]bool          // of what derives from others' words as well
	taken   map[string][]tenet.Interval       // what is put back, by slot
	undone  map[tenet.RecordID]bool           // ended or retracted: whether on the source's word
	entries map[int64]tenet.AuditEntry        // by when they were stamped, which no two are
	sound   map[tenet.RecordID][]tenet.Origin // of a tainted record: who else said it
	out     Taint

	// Over all, so that a step looks at what hangs on a record and not at every one.
	byID   map[tenet.RecordID]tenet.Record
	parts  map[tenet.RecordID][]tenet.Record // by what they are fragments of
	pushed map[tenet.RecordID][]tenet.Record // by what took their place
	slots  map[string][]tenet.Record
}

func (w *walk) read(ctx context.Context) error {
	const page = 1000
	for after := tenet.RecordID(""); ; {
		rs, err := w.o.m.cfg.Governor.Records(ctx, w.o.scope, after, page)
		if err != nil {
			return err
		}
		w.all = append(w.all, rs...)
		if len(rs) < page {
			break
		}
		after = rs[len(rs)-1].ID
	}
	w.byID, w.parts = make(map[tenet.RecordID]tenet.Record, len(w.all)), map[tenet.RecordID][]tenet.Record{}
	w.pushed, w.slots = map[tenet.RecordID][]tenet.Record{}, map[string][]tenet.Record{}
	for _, r := range w.all {
		w.byID[r.ID] = r
		w.slots[slot(r)] = append(w.slots[slot(r)], r)
		if r.SupersededBy != "" {
			w.pushed[r.SupersededBy] = append(w.pushed[r.SupersededBy], r)
		}
		if r.FragmentOf != "" {
			w.parts[r.FragmentOf] = append(w.parts[r.FragmentOf], r)
		}
	}
	return nil
}

// mark finds what derives from the source. A record rests on the origins it
// was written with, the first and those whose words are kept as evidence;
// origins that agreed later add nothing to what it rests on.
func (w *walk) mark(ctx context.Context) error {
	w.sound = map[tenet.RecordID][]tenet.Origin{}
	w.out = Taint{
		Records: []tenet.Record{}, Agreed: []tenet.RecordID{}, Undone: []tenet.Record{}, Restored: []gate.Piece{}, Again: []tenet.SessionID{},
		Served: []store.ScopedReceipt{},
	}
	for _, r := range w.all {
		named := w.src.Record == r.ID || w.src.Key != "" && r.Key == w.src.Key
		var rest []tenet.Origin
		if !named && slices.ContainsFunc(r.Origins, w.src.names) {
			var base []tenet.Origin
			var err error
			if base, rest, err = w.split(ctx, r); err != nil {
				return err
			}
			if named = slices.ContainsFunc(base, w.src.names); !named && r.Known.Open() {
				w.out.Agreed = append(w.out.Agreed, r.ID)
			}
			for _, o := range base {
				if named && r.Known.Open() && o.Session != "" && !w.src.names(o) {
					w.beside[o.Session] = true
				}
			}
		}
		if named && !w.src.Since.IsZero() && r.Known.From.Before(w.src.Since) {
			named = false
		}
		derived := r.FragmentOf != "" && w.tainted[r.FragmentOf] && !w.restored(r) || r.Elevates != "" && w.tainted[r.Elevates]
		if !named && !derived {
			continue
		}
		w.tainted[r.ID] = true
		w.sound[r.ID] = slices.DeleteFunc(slices.Clone(rest), w.src.names)
		w.out.Records = append(w.out.Records, r)
	}
	return nil
}

// restored reports whether an earlier revocation put a fragment back on the
// word of others: it rests on them alone.
func (w *walk) restored(r tenet.Record) bool {
	return !slices.ContainsFunc(r.Origins, w.src.names) && w.src.Key == "" && w.src.Record == ""
}

// split tells the origins that a record was written with from those that
// agreed with it later.
func (w *walk) split(ctx context.Context, r tenet.Record) (base, agreed []tenet.Origin, err error) {
	if len(r.Origins) == 1 {
		return r.Origins, nil, nil
	}
	ev, err := w.o.m.ledger.Evidence(ctx, w.o.scope, w.root(r)) // a part has none of its own
	if err != nil {
		return nil, nil, err
	}
	for i, o := range r.Origins {
		if i == 0 || slices.ContainsFunc(ev, func(e tenet.Evidence) bool { return e.Message == o.Message }) {
			base = append(base, o)
		} else {
			agreed = append(agreed, o)
		}
	}
	return base, agreed, nil
}

// restore finds what a revocation puts back. Where others said the same, the
// record comes back on their word. Where a tainted value had pushed another out
// of its time, the other comes back for that time.
func (w *walk) restore() {
	for _, t := range w.out.Records {
		if !t.Known.Open() {
			continue
		}
		var kept []gate.Piece
		free := w.keepSound(t, t.Valid, &kept)
		w.out.Restored = append(w.out.Restored, kept...)
		for _, p := range kept {
			w.taken[slot(t)] = append(w.taken[slot(t)], p.Valid)
		}
		for _, f := range free {
			for _, piece := range w.pushedOut(t, f, map[tenet.RecordID]bool{}) {
				w.comeBack(piece)
			}
		}
	}
}

// keepSound puts a tainted record back for the part of a stretch for which
// others said it too, and returns what is left of the stretch. Who said only
// that it ended did not say it.
func (w *walk) keepSound(t tenet.Record, during tenet.Interval, out *[]gate.Piece) []tenet.Interval {
	sound := w.sound[t.ID]
	if t.Expired || !slices.ContainsFunc(sound, func(o tenet.Origin) bool { return !isEnd(o) }) {
		return []tenet.Interval{during}
	}
	held := overlap(during, tenet.Interval{From: start(sound, t.Valid)})
	if !held.Open() && !held.From.Before(held.To) {
		return []tenet.Interval{during}
	}
	*out = append(*out, gate.Piece{Of: t, Valid: held, Origins: sound})
	return without(during, []tenet.Interval{held})
}

// start is from when the origins said that it holds.
func start(said []tenet.Origin, valid tenet.Interval) time.Time {
	first, found := valid.From, false
	for _, o := range said {
		if o.Holds == (tenet.Interval{}) {
			return valid.From
		}
		if !isEnd(o) && (!found || o.Holds.From.Before(first)) {
			first, found = o.Holds.From, true
		}
	}
	return first
}

// pushedOut are the untainted records that t, or a tainted one before it, took
// the place of during a stretch of time, the latest belief first.
func (w *walk) pushedOut(t tenet.Record, during tenet.Interval, seen map[tenet.RecordID]bool) []gate.Piece {
	if seen[t.ID] {
		return nil
	}
	seen[t.ID] = true
	under := w.pushed[t.ID]
	if root := w.root(t); root != t.ID {
		under = append(slices.Clone(w.pushed[root]), under...)
	}
	var out []gate.Piece
	for _, r := range under {
		if !during.Overlaps(r.Valid) {
			continue
		}
		switch common := overlap(during, r.Valid); {
		case w.tainted[r.ID]:
			for _, free := range w.keepSound(r, common, &out) {
				out = append(out, w.pushedOut(r, free, seen)...)
			}
		case !r.Expired && (r.Closed == tenet.ClosedSuperseded || r.Closed == tenet.ClosedSplit):
			out = append(out, gate.Piece{Of: r, Valid: common})
		}
	}
	slices.SortStableFunc(out, func(a, b gate.Piece) int { return cmp.Compare(b.Of.Known.To.UnixMicro(), a.Of.Known.To.UnixMicro()) })
	return out
}

// root is the statement that a fragment is a part of.
func (w *walk) root(r tenet.Record) tenet.RecordID {
	for range len(w.all) {
		whole, ok := w.byID[r.FragmentOf]
		if !ok {
			break
		}
		r = whole
	}
	return r.ID
}

func overlap(a, b tenet.Interval) tenet.Interval {
	if a.From.IsZero() || !b.From.IsZero() && b.From.After(a.From) {
		a.From = b.From
	}
	if a.To.IsZero() || !b.To.IsZero() && b.To.Before(a.To) {
		a.To = b.To
	}
	return a
}

// without is what of a stretch is not taken.
func without(v tenet.Interval, taken []tenet.Interval) []tenet.Interval {
	free := []tenet.Interval{v}
	for _, t := range taken {
		var next []tenet.Interval
		for _, f := range free {
			if !f.Overlaps(t) {
				next = append(next, f)
				continue
			}
			if !t.From.IsZero() && (f.From.IsZero() || f.From.Before(t.From)) {
				next = append(next, tenet.Interval{From: f.From, To: t.From})
			}
			if !t.To.IsZero() && (f.To.IsZero() || t.To.Before(f.To)) {
				next = append(next, tenet.Interval{From: t.To, To: f.To})
			}
		}
		free = next
	}
	return free
}
