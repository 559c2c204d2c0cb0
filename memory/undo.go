package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
)

// undo finds what was ended or retracted on the source's word and by rights
// still holds, and what a tainted record that has ended since kept out of its
// time. What nothing sounder has taken meanwhile comes back.
func (w *walk) undo() {
	for _, r := range w.all {
		tainted, ended := w.undone[r.ID]
		if !ended || r.Expired || !tainted && !w.tainted[r.ID] {
			continue
		}
		var lost []gate.Piece
		for _, iv := range without(r.Valid, w.leftBy(r)) {
			if w.putBack(r, iv) {
				continue
			}
			if !w.tainted[r.ID] {
				lost = append(lost, gate.Piece{Of: r, Valid: iv, Origins: w.soundOrigins(r)})
				continue
			}
			free := []tenet.Interval{iv}
			if tainted { // else those who said it too have heard that it ended
				free = w.keepSound(r, iv, &lost)
			}
			for _, f := range free {
				lost = append(lost, w.pushedOut(r, f, map[tenet.RecordID]bool{})...)
			}
		}
		found := false
		for _, p := range lost {
			found = w.comeBack(p) || found
		}
		if tainted && !w.tainted[r.ID] && found {
			w.out.Undone = append(w.out.Undone, r)
		}
	}
	w.lengthen()
	w.join()
}

// comeBack restores what of a piece is still its own.
func (w *walk) comeBack(p gate.Piece) bool {
	own := without(p.Valid, w.later(p.Of))
	for _, iv := range own {
		w.out.Restored = append(w.out.Restored, gate.Piece{Of: p.Of, Valid: iv, Origins: p.Origins})
		w.taken[slot(p.Of)] = append(w.taken[slot(p.Of)], iv)
	}
	return len(own) > 0
}

// lengthen has what a tainted end left of others' records replaced by parts
// that do not bear it: later words would be held against it. So are parts that
// touch what comes back of the same statement: see join.
func (w *walk) lengthen() {
	for _, x := range w.all {
		if !x.Known.Open() || w.tainted[x.ID] || x.Expired {
			continue
		}
		p := gate.Piece{Of: x, Valid: x.Valid, Origins: w.soundOrigins(x)}
		bears := x.FragmentOf != "" && slices.ContainsFunc(x.Origins, func(o tenet.Origin) bool { return w.src.names(o) && isEnd(o) })
		touches := slices.ContainsFunc(w.out.Restored, func(q gate.Piece) bool { return w.touch(p, q) || w.touch(q, p) })
		if bears || touches {
			w.out.shortened = append(w.out.shortened, x)
			w.out.Restored = append(w.out.Restored, p)
		}
	}
}

// join makes pieces of one statement that touch one piece, so that what ends or
// retracts it later finds it whole.
func (w *walk) join() {
	ps := w.out.Restored
	for i := 0; i < len(ps); i++ {
		for j := 0; j < len(ps); j++ {
			if !w.touch(ps[i], ps[j]) {
				continue
			}
			one := gate.Piece{Of: ps[i].Of, Valid: tenet.Interval{From: ps[i].Valid.From, To: ps[j].Valid.To}}
			said := saidBy(ps[i])
			for _, o := range saidBy(ps[j]) {
				if !slices.Contains(said, o) {
					said = append(said, o)
				}
			}
			in := func(r tenet.Record) bool {
				return !slices.ContainsFunc(said, func(o tenet.Origin) bool { return !slices.Contains(r.Origins, o) })
			}
			if !in(one.Of) {
				one.Of = ps[j].Of
			}
			if !in(one.Of) {
				continue // neither was said by all of them
			}
			if len(said) < len(one.Of.Origins) {
				one.Origins = said
			}
			ps[i] = one
			ps = slices.Delete(ps, j, j+1)
			i, j = -1, len(ps)
		}
	}
	w.out.Restored = ps
}

// saidBy are the origins that a piece comes back with.
func saidBy(p gate.Piece) []tenet.Origin {
	if p.Origins == nil {
		return slices.Clone(p.Of.Origins)
	}
	return slices.Clone(p.Origins)
}

// touch reports whether q is of the same statement and begins where p ends.
func (w *walk) touch(p, q gate.Piece) bool {
	return !p.Valid.To.IsZero() && p.Valid.To.Equal(q.Valid.From) && p.Of.Signature == q.Of.Signature && p.Of.Label == q.Of.Label && w.root(p.Of) == w.root(q.Of)
}

// readEnds finds the records that were ended or retracted, and whether on the
// source's word. The ledger stamps each entry later than
// all before it, and a record with its entry's time: so the time that a record
// was closed at names the decision that closed it, and no entry before the first
// such time is looked at.
func (w *walk) readEnds(ctx context.Context) error {
	var first time.Time
	for _, r := range w.all {
		if mayBeTakenBack(r) && (first.IsZero() || r.Known.To.Before(first)) {
			first = r.Known.To
		}
	}
	if first.IsZero() {
		return nil
	}
	from, err := w.entryAt(ctx, first)
	if err != nil {
		return err
	}
	const page = 500
	for {
		es, err := w.o.m.ledger.Audit(ctx, w.o.scope, from, page)
		if err != nil {
			return err
		}
		for _, e := range es {
			w.entries[e.At.UnixMicro()], from = e, e.Seq+1
		}
		if len(es) < page {
			break
		}
	}
	for _, r := range w.all {
		if !mayBeTakenBack(r) {
			continue
		}
		if e := w.entries[r.Known.To.UnixMicro()]; takesBack(e) {
			if w.undone[r.ID], err = w.onItsWord(ctx, e, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayBeTakenBack reports whether what closed a record may have ended or
// retracted it: what took its place did not.
func mayBeTakenBack(r tenet.Record) bool {
	return r.Closed == tenet.ClosedEnded || r.Closed == tenet.ClosedRetracted || r.Closed == tenet.ClosedSplit
}

// entryAt is the first entry of the chain that is not before a time.
func (w *walk) entryAt(ctx context.Context, at time.Time) (uint64, error) {
	h, err := w.o.m.ledger.Head(ctx, w.o.scope)
	lo, hi := uint64(1), h.Audit+1
	for err == nil && lo < hi {
		mid := lo + (hi-lo)/2
		var es []tenet.AuditEntry
		if es, err = w.o.m.ledger.Audit(ctx, w.o.scope, mid, 1); err == nil && len(es) > 0 && es[0].At.Before(at) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, err
}

// takesBack reports whether an entry ended or retracted what it closed.
func takesBack(e tenet.AuditEntry) bool {
	switch e.Action {
	case gate.End.String(), gate.Retract.String():
		return true
	case gate.Admit.String():
		return slices.Contains(e.Codes, tenet.CodeEnded) || slices.Contains(e.Codes, tenet.CodeRetracted)
	}
	return false
}

// onItsWord reports whether the entry that ended or retracted r rests on the
// source: on who asked for it, or on the words that were kept with it.
func (w *walk) onItsWord(ctx context.Context, e tenet.AuditEntry, r tenet.Record) (bool, error) {
	if !w.src.Since.IsZero() && e.At.Before(w.src.Since) {
		return false, nil
	}
	if w.src.Origin != "" && e.Actor == w.src.Origin {
		return true, nil
	}
	if e.Action != gate.Admit.String() || w.src.Key != "" || w.src.Record != "" {
		return false, nil
	}
	v, err := w.o.m.ledger.Verdict(ctx, w.o.scope, tenet.CandidateID(e.Ref))
	if err != nil {
		return false, err
	}
	ev, err := w.o.m.ledger.Evidence(ctx, w.o.scope, v.Record)
	if tenet.KindOf(err) == tenet.NotFound {
		return false, nil // erased since
	}
	if err != nil {
		return false, err
	}
	var said []tenet.MessageID
	for _, x := range ev {
		if v.Record == r.ID && slices.ContainsFunc(r.Origins, func(o tenet.Origin) bool { return o.Message == x.Message }) {
			continue // it supports r; the others took it back
		}
		if w.src.names(tenet.Origin{Session: x.Session, Message: x.Message}) {
			return true, nil
		}
		said = append(said, x.Message)
	}
	if w.src.Origin == "" {
		return false, nil
	}
	for _, x := range w.all { // an end is among the origins of what it left
		if x.ID == v.Record && slices.ContainsFunc(x.Origins, func(o tenet.Origin) bool { return slices.Contains(said, o.Message) && w.src.names(o) }) {
			return true, nil
		}
	}
	ms, err := w.o.m.sessions.Cited(ctx, w.o.scope, said)
	return slices.ContainsFunc(ms, w.named), err
}

// named reports whether a message is of the source.
func (w *walk) named(m tenet.Message) bool {
	return w.src.names(tenet.Origin{Principal: m.RecordedBy, Channel: m.Channel, Session: m.Session, Message: m.ID})
}

// leftBy are the stretches that the decision which closed r left of it.
func (w *walk) leftBy(r tenet.Record) []tenet.Interval {
	var out []tenet.Interval
	for _, x := range w.parts[r.ID] {
		if x.Known.From.Equal(r.Known.To) {
			out = append(out, x.Valid)
		}
	}
	return out
}

// putBack reports whether an earlier revocation has put back what r lost.
func (w *walk) putBack(r tenet.Record, lost tenet.Interval) bool {
	root := w.root(r)
	return slices.ContainsFunc(w.all, func(x tenet.Record) bool {
		return x.Known.From.After(r.Known.To) && x.Valid.Overlaps(lost) && w.root(x) == root && w.entries[x.Known.From.UnixMicro()].Action == gate.Revoke.String()
	})
}

// later are the stretches that are not r's to come back to: taken by what is
// believed, by what comes back, or by sound words that came later: another
// claim, which would have ended it though it may be over by now, the end of the
// same value, or its retraction.
func (w *walk) later(r tenet.Record) []tenet.Interval {
	out := slices.Clone(w.taken[slot(r)])
	began := start(r.Origins, r.Valid)
	for _, x := range w.slots[slot(r)] {
		said := slices.DeleteFunc(slices.Clone(x.Origins), w.src.names)
		if w.tainted[x.ID] {
			said = w.sound[x.ID]
		} else if x.Known.Open() {
			out = append(out, x.Valid)
		}
		if x.Label < r.Label {
			continue
		}
		if x.Signature == r.Signature {
			for _, o := range said {
				if isEnd(o) && o.Holds.To.After(began) {
					out = append(out, tenet.Interval{From: o.Holds.To})
				}
			}
			if tainted, ended := w.undone[x.ID]; ended && !tainted && x.Closed == tenet.ClosedRetracted && x.Known.To.After(r.Known.From) {
				return []tenet.Interval{{}}
			}
		}
		for _, o := range said {
			if w.root(x) == w.root(r) {
				break
			}
			if o.Holds != (tenet.Interval{}) && !isEnd(o) && (x.Label > r.Label || o.Holds.From.After(began)) {
				out = append(out, o.Holds)
			}
		}
	}
	return out
}

// soundOrigins are a record's origins without the source's; nil: all of them.
func (w *walk) soundOrigins(r tenet.Record) []tenet.Origin {
	if !slices.ContainsFunc(r.Origins, w.src.names) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Origins), w.src.names)
}

// slot is what one value at a time stands in: a turn, which is none of several,
// is a slot of its own.
func slot(r tenet.Record) string {
	if r.Tier == tenet.TierEpisode {
		return r.Tier.String() + " " + string(r.ID)
	}
	if r.Multi || r.Tier.Semantic() {
		return r.Tier.String() + " " + r.Key + " " + r.Signature
	}
	return r.Tier.String() + " " + r.Key
}

// isEnd reports whether an origin says only when something ended.
func isEnd(o tenet.Origin) bool { return o.Holds.From.IsZero() && !o.Holds.To.IsZero() }

// affected finds what is to be judged afresh once the taint is gone: sessions
// of which words stood beside tainted ones in what derives from both, and what
// extraction had proposed and was refused for the state that tainted words had
// made of its key.
func (w *walk) affected(ctx context.Context) error {
	if w.out.nothing() {
		return nil
	}
	keys := map[string]bool{}
	first := w.o.m.now()
	for _, r := range append(slices.Clone(w.out.Records), w.out.Undone...) {
		at := r.Known.From
		if !w.tainted[r.ID] {
			at = r.Known.To
		}
		keys[r.Tier.String()+" "+r.Key] = true
		if at.Before(first) {
			first = at
		}
	}
	for after := tenet.CandidateID(""); ; {
		hs, err := w.o.m.ledger.Held(ctx, w.o.scope, w.o.m.now(), after, 100)
		if err != nil {
			return err
		}
		for _, h := range hs {
			after = h.Verdict.Candidate
			if !h.Verdict.At.Before(first) && keys[h.Verdict.Tier.String()+" "+h.Verdict.Key] && w.forItsState(h) {
				w.out.refused = append(w.out.refused, h)
			}
		}
		if len(hs) < 100 || hs[len(hs)-1].Verdict.At.Before(first) {
			break
		}
	}
	slices.Reverse(w.out.refused) // what was said first is judged first
	for _, h := range w.out.refused {
		w.out.Again = append(w.out.Again, h.Candidate.Session)
	}
	for id := range w.beside {
		if ms, err := w.o.m.sessions.Messages(ctx, w.o.scope, id, 0, 1); err == nil && len(ms) > 0 {
			w.out.Again = append(w.out.Again, id)
			w.out.beside = append(w.out.beside, id)
		} else if err != nil && tenet.KindOf(err) != tenet.NotFound {
			return err
		}
	}
	slices.Sort(w.out.beside)
	slices.Sort(w.out.Again)
	w.out.Again = slices.Compact(w.out.Again)
	return nil
}

// forItsState reports whether a refusal of something extracted was for the
// state alone, and is none of the source's.
func (w *walk) forItsState(h tenet.Held) bool {
	c := h.Candidate
	switch {
	case c.ID == "" || c.Session == "" || c.Session == w.src.Session || slices.Contains(c.Cites, w.src.Message):
		return false
	case h.State != tenet.HoldOpen && h.State != tenet.HoldRefused, !byExtractor(h.By), h.State == tenet.HoldRefused && len(c.Text) >= gate.HoldCap-4:
		return false
	}
	return slices.ContainsFunc(h.Verdict.Codes, func(code tenet.Code) bool {
		switch code {
		case tenet.CodeNothingToEnd, tenet.CodeLowerIntegrity, tenet.CodeSameInstant, tenet.CodePersistentFull, tenet.CodeAmbiguousEnd:
			return true
		}
		return false
	})
}

// byExtractor reports whether a principal is an extractor's name.
func byExtractor(by string) bool {
	return strings.HasPrefix(by, tenet.Agent.String()+":") && strings.Contains(by, "/")
}

// again stages what is to be judged afresh, under ids of their own: part of the
// revocation's transaction, and judged like whatever else waits on the stage.
// What an extractor cannot read now is in Missed; nothing of it is changed.
func (o *Operator) again(ctx context.Context, src Source, t *Taint, id string) ([]gate.Decision, error) {
	w := walk{src: src}
	staged := map[tenet.SessionID]*gate.Staged{}
	at := func(s tenet.SessionID) *gate.Staged {
		if staged[s] == nil {
			staged[s] = &gate.Staged{Session: s}
		}
		return staged[s]
	}
	for _, h := range t.refused {
		c := h.Candidate
		cited, err := o.m.sessions.Cited(ctx, o.scope, c.Cites)
		if err != nil {
			return nil, err
		}
		if len(cited) < len(c.Cites) || slices.ContainsFunc(cited, w.named) {
			continue // without its evidence it would be judged for less than it was
		}
		c.Scope, c.ProposedBy = o.scope, h.By
		c.ID = tenet.CandidateID(id + "/" + string(h.Verdict.Candidate))
		s := at(c.Session)
		s.Candidates, s.Cited = append(s.Candidates, c), append(s.Cited, cited...)
	}
	for _, session := range t.beside {
		cursor, _, err := o.m.ledger.Staged(ctx, o.scope, session)
		if err != nil {
			return nil, err
		}
		for after := int64(0); ; {
			ms, err := o.m.sessions.Messages(ctx, o.scope, session, after, stretchSize)
			if err != nil {
				return nil, err
			}
			var shown []tenet.Message
			for _, m := range ms {
				if after = m.Seq; m.Seq <= cursor && !m.RetainNone && !w.named(m) {
					shown = append(shown, m)
				}
			}
			if len(shown) > 0 {
				st := model.Stretch{Session: tenet.Session{ID: session, Scope: o.scope}, Messages: shown}
				cs, err := o.m.extract.Extract(ctx, st)
				if err != nil {
					o.m.log.WarnContext(ctx, "a session cannot be consolidated again", "kind", tenet.KindOf(err).String())
					t.Missed = append(t.Missed, session)
					break
				}
				s := at(session)
				for i, c := range cs {
					if c.Tier == tenet.TierEpisode {
						continue // the turn itself stands as it was kept
					}
					c.Scope, c.Session = o.scope, session
					c.ID = tenet.CandidateID(id + "/" + string(candidateID(st.Session, shown, o.m.extract.Name(), i)))
					c.ProposedBy, c.ProposedAt = extractorName(o.m.extract), o.m.now()
					s.Candidates = append(s.Candidates, c)
				}
				s.Cited = append(s.Cited, cited(shown, s.Candidates)...)
			}
			if len(ms) < stretchSize || after >= cursor {
				break
			}
		}
	}
	var out []gate.Decision
	for _, session := range t.Again {
		s := staged[session]
		if s == nil || len(s.Candidates) == 0 {
			continue
		}
		cursor, _, err := o.m.ledger.Staged(ctx, o.scope, session)
		if err != nil {
			return nil, err
		}
		s.From, s.To = cursor, cursor
		d, err := o.m.gate.StageBatch(o.scope, *s, o.m.now())
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
