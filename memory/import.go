package memory

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Imported is what an import came to.
type Imported struct {
	// Own says that this deployment signed the export for this tenant, and that
	// an operator brought it back: what it holds was judged here.
	Own      bool           `json:"own"`
	Parts    int            `json:"parts"`    // subjects
	Restored int            `json:"restored"` // entries that stand again as they did
	There    int            `json:"there"`    // entries, records and sessions that were there already
	Kept     int            `json:"kept"`     // records that were judged anew and let in
	Refused  map[string]int `json:"refused"`  // what was held or refused, by its codes
	Sessions int            `json:"sessions"` // that are back
	// Merged are subjects that have a past of their own: what the export holds was
	// judged anew beside it.
	Merged int `json:"merged"`
}

// restoreBatch is how many entries are readmitted in one transaction.
const restoreBatch = 200

// Import brings an export in. The whole file is read and checked first: of one
// that was altered, cut off or put together nothing is written, and the error
// names the line.
//
// What this deployment signed for the operator's tenant stands again exactly as
// it did, where the subject has no other past: entry by entry, with verdicts,
// times and labels. Anything else is offered to the gate, record by record, with
// the evidence that came with it and labels no higher than those in the file and
// than the importer may give. What was erased since stays out in both cases.
// Importing twice changes nothing; after a failure it goes on.
//
// Errors: Invalid (the line is named), Denied, Conflict when the subject was
// erased after all of it, Unavailable.
func (m *Memory) Import(ctx context.Context, by tenet.Principal, r io.ReadSeeker, why string) (Imported, error) {
	const op = "import"
	out := Imported{Refused: map[string]int{}}
	if err := m.durable(op); err != nil {
		return out, err
	}
	if _, ok := m.sessions.(store.SessionArchive); !ok {
		return out, tenet.Errorf(tenet.Unavailable, op, "the session store takes nothing in")
	}
	i := &importing{m: m, by: by, why: why, out: &out}
	if err := i.check(ctx, r); err != nil {
		return out, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return out, tenet.Errorf(tenet.Unavailable, op, "the file cannot be read twice")
	}
	return out, i.apply(ctx, r)
}

// importing is one import. What happens to each part is settled while the file
// is checked, before anything is written.
type importing struct {
	m     *Memory
	by    tenet.Principal
	why   string
	out   *Imported
	parts []importPart
	mark  string // of the file
}

type importPart struct {
	scope  tenet.Scope
	there  int  // entries of the file that the scope has already, from its first
	merge  bool // it has another past, or the file is not this deployment's
	erased bool // something may have been erased from it, or it itself
}

// check reads the file to its end, verifies it and settles what is to be done.
func (i *importing) check(ctx context.Context, r io.Reader) error {
	f := newFileReader(r)
	var have *pastReader
	for {
		v, err := f.next()
		if err == io.EOF {
			i.mark = fileMark(f.prev)
			return nil
		}
		if err != nil {
			return err
		}
		switch l := v.(type) {
		case *headLine:
			own := len(i.m.cfg.ErasureKey) == ed25519.PrivateKeySize && f.key.Equal(i.m.cfg.ErasureKey.Public()) && l.Tenant == i.by.Tenant() && i.by.Kind() == tenet.Operator
			archive, archived := i.m.ledger.(store.Archive)
			i.out.Own = own && archived
			p := importPart{merge: !i.out.Own}
			if p.scope, err = tenet.NewScope(i.by.Tenant(), f.scope.Subject()); err != nil {
				return err
			}
			if err := reach("import", i.by, p.scope); err != nil {
				return err
			}
			st, err := i.m.ledger.State(ctx, p.scope, gate.Query{}, i.m.now())
			if err != nil {
				return err
			}
			if have, err = i.m.pastOf(ctx, p.scope); err != nil {
				return err
			}
			forgot := true
			if archived {
				if forgot, err = archive.Forgot(ctx, p.scope); err != nil {
					return err
				}
			}
			p.erased = forgot || !st.Blocked.Subject.IsZero() || have.last > 0
			i.parts = append(i.parts, p)
		case *entryLine:
			if err := f.checkEntry(l); err != nil {
				return err
			}
			if err := i.settle(ctx, &i.parts[len(i.parts)-1], l, f.body, have); err != nil {
				return err
			}
		case *sessionLine:
			line := f.n
			s, err := f.whole(l)
			if err != nil {
				return err
			}
			var te *tenet.Error
			if errors.As(store.CheckWhole(f.scope, s), &te) {
				return tenet.Errorf(tenet.Invalid, "import", "line %d begins a session that cannot be: %s", line, te.Reason)
			}
		}
	}
}

// settle compares an entry of the file with the scope's own past.
func (i *importing) settle(ctx context.Context, p *importPart, l *entryLine, body []byte, have *pastReader) error {
	if p.merge {
		return nil
	}
	own, err := have.next(ctx)
	if err != nil {
		return err
	}
	if own != nil {
		if line, err := encodeLine(lineOfEntry(*own)); err != nil || !bytes.Equal(line, body) {
			p.merge = true
		}
		p.there++
		return nil
	}
	if p.erased {
		p.merge, err = i.m.erasedSince(ctx, l.plan(p.scope))
	}
	return err
}

// erasedSince reports whether a ledger would turn the plan away, as erased after
// it was recorded.
func (m *Memory) erasedSince(ctx context.Context, p gate.Plan) (bool, error) {
	qs := []gate.Query{{}}
	for _, r := range p.Insert {
		qs = append(qs, store.Traces(r))
	}
	for _, q := range qs {
		st, err := m.ledger.State(ctx, p.Scope, q, m.now())
		if err != nil {
			return false, err
		}
		b := st.Blocked
		if b.Source || !b.Subject.IsZero() && !p.At.After(b.Subject) || !b.Erased.IsZero() && !p.At.After(b.Erased) {
			return true, nil
		}
	}
	return false, nil
}

// pastReader reads a scope's past, plan by plan.
type pastReader struct {
	m     *Memory
	scope tenet.Scope
	after uint64
	last  uint64
	page  []gate.Plan
}

func (m *Memory) pastOf(ctx context.Context, scope tenet.Scope) (*pastReader, error) {
	h, err := m.ledger.Head(ctx, scope)
	return &pastReader{m: m, scope: scope, last: h.Audit}, err
}

// next is nil at the end.
func (r *pastReader) next(ctx context.Context) (*gate.Plan, error) {
	for len(r.page) == 0 && r.after < r.last {
		ps, to, err := r.m.ledger.(store.Archive).Past(ctx, r.scope, r.after, pastPage)
		if err != nil {
			return nil, err
		}
		if to == r.after {
			return nil, nil
		}
		r.page, r.after = ps, to
	}
	if len(r.page) == 0 {
		return nil, nil
	}
	p := r.page[0]
	r.page = r.page[1:]
	return &p, nil
}

// apply reads the file again and writes.
func (i *importing) apply(ctx context.Context, r io.Reader) error {
	f := newFileReader(r)
	var one *partWriter
	for {
		v, err := f.next()
		if err != nil && err != io.EOF {
			return err
		}
		_, header := v.(*headLine)
		if one != nil && (header || err == io.EOF) {
			if err := one.finish(ctx); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		switch l := v.(type) {
		case *headLine:
			if i.out.Parts == len(i.parts) {
				return f.bad("was not there when the file was checked")
			}
			one = &partWriter{importing: i, importPart: i.parts[i.out.Parts], whole: l.Counts.Entries}
			i.out.Parts++
		case *entryLine:
			err = one.entry(ctx, l)
		case *sessionLine:
			var w store.WholeSession
			if w, err = f.whole(l); err == nil {
				err = one.session(ctx, w)
			}
		}
		if err != nil {
			return err
		}
	}
}

// partWriter writes one part.
type partWriter struct {
	*importing
	importPart
	whole    int // entries in the file
	seen     int
	batch    []gate.Decision
	offered  *offered
	restored int
}

func (w *partWriter) entry(ctx context.Context, l *entryLine) error {
	w.seen++
	switch {
	case w.merge:
		if w.offered == nil {
			w.offered = newOffered(w.importing, w.scope, w.erased)
		}
		w.offered.note(l)
		return nil
	case w.seen <= w.there:
		return nil
	}
	d, err := w.m.gate.Readmit(w.by, l.plan(w.scope))
	if err != nil {
		return err
	}
	if w.batch = append(w.batch, d); len(w.batch) < restoreBatch {
		return nil
	}
	return w.flush(ctx)
}

func (w *partWriter) flush(ctx context.Context) error {
	if len(w.batch) == 0 {
		return nil
	}
	if _, err := w.m.ledger.Apply(ctx, w.batch, nil); err != nil {
		w.m.counts.refused(err)
		return err
	}
	w.restored += len(w.batch)
	w.out.Restored += len(w.batch)
	w.batch = w.batch[:0]
	return nil
}

// entries writes what is left of them, before the first session: nothing is to
// be consolidated that was consolidated before.
func (w *partWriter) entries(ctx context.Context) error {
	if w.merge {
		if o := w.offered; o != nil {
			w.offered = nil
			if w.out.Own {
				w.out.Merged++
			}
			return o.offer(ctx)
		}
		return nil
	}
	if err := w.flush(ctx); err != nil || w.restored == 0 {
		return err
	}
	w.restored = 0
	d, err := w.m.gate.Imported(w.by, w.scope, w.mark, w.why, w.m.now())
	if err != nil {
		return err
	}
	_, err = w.m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

func (w *partWriter) finish(ctx context.Context) error {
	if !w.merge {
		w.out.There += min(w.there, w.whole)
	}
	return w.entries(ctx)
}

// session puts a session back that is not there.
func (w *partWriter) session(ctx context.Context, s store.WholeSession) error {
	if err := w.entries(ctx); err != nil {
		return err
	}
	archive := w.m.sessions.(store.SessionArchive)
	s.Scope = w.scope
	if !w.out.Own {
		w.lower(&s)
	}
	gone, err := false, error(nil)
	if w.erased {
		gone, err = w.sift(ctx, &s)
	}
	if err == nil && !gone {
		err = archive.PutBack(ctx, w.scope, s)
	}
	var te *tenet.Error
	switch {
	case gone || errors.As(err, &te) && te.Code == tenet.CodeErased: // by another at this moment, say
		w.out.Refused[string(tenet.CodeErased)]++
		return nil
	case tenet.KindOf(err) == tenet.Conflict:
		have, herr := archive.Whole(ctx, w.scope, s.ID)
		if herr == nil && have.CreatedAt.Equal(tenet.Micros(s.CreatedAt)) {
			w.out.There++
			return nil
		}
		w.out.Refused["SESSION_TAKEN"]++
		return nil
	}
	if err == nil {
		w.out.Sessions++
		if !w.out.Own && s.Length > 0 {
			err = w.consolidated(ctx, s)
		}
	}
	return err
}

// lower gives a session of elsewhere the importer's word: labels that they may
// give, their name, and nothing that waits or is read beside it.
func (w *partWriter) lower(s *store.WholeSession) {
	s.Reads, s.Receipts, s.Proposals = []tenet.Scope{w.scope}, nil, nil
	s.Consolidated, s.DueAt, s.Attempts, s.LastCode = s.Length, time.Time{}, 0, ""
	for n := range s.Messages {
		m := &s.Messages[n]
		m.Label = min(m.Label, gate.MessageLabel(w.by, m.Role, m.Channel), foreign)
		m.RecordedBy = w.by.String()
	}
}

// consolidated notes that nothing of an imported session waits for extraction:
// what was learned from it came with the file.
func (w *partWriter) consolidated(ctx context.Context, s store.WholeSession) error {
	at, _, err := w.m.ledger.Staged(ctx, w.scope, s.ID)
	if err != nil || at >= s.Length {
		return err
	}
	d, err := w.m.gate.StageBatch(w.scope, gate.Staged{Session: s.ID, From: at, To: s.Length, Since: w.m.now()}, w.m.now())
	if err != nil {
		return err
	}
	_, err = w.m.ledger.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

// sift takes out of a session what was erased since, and reports whether all of
// it was.
func (w *partWriter) sift(ctx context.Context, s *store.WholeSession) (gone bool, err error) {
	blocked := func(source string) (gate.Block, error) {
		st, err := w.m.ledger.State(ctx, w.scope, gate.Query{Sources: []string{source}}, w.m.now())
		return st.Blocked, err
	}
	b, err := blocked(gate.SessionSource(s.ID))
	if err != nil || b.Source {
		return b.Source, err
	}
	left := 0
	for n := range s.Messages {
		m := &s.Messages[n]
		b, err := blocked(gate.MessageSource(m.ID))
		if err != nil {
			return false, err
		}
		if b.Source || !b.Subject.IsZero() && (!w.out.Own || !m.RecordedAt.After(b.Subject)) {
			m.Text, m.Speaker, m.ClientID, m.ToolCallID, m.RecordedBy = "", "", "", "", ""
			m.ToolCalls, m.RetainNone = nil, true
		} else {
			left++
		}
	}
	s.Receipts = nil // they name records, and some may be gone
	s.Proposals = slices.DeleteFunc(s.Proposals, func(c tenet.Candidate) bool {
		erased, e := w.m.erasedSince(ctx, gate.Plan{Scope: w.scope, At: c.ProposedAt, Insert: []tenet.Record{{Tier: c.Tier, Text: c.Text, Value: c.Value, Origins: citedOrigins(c)}}})
		err = errors.Join(err, e)
		return erased
	})
	return left == 0 && !b.Subject.IsZero(), err
}

func citedOrigins(c tenet.Candidate) []tenet.Origin {
	var out []tenet.Origin
	for _, id := range c.Cites {
		out = append(out, tenet.Origin{Message: id, Session: c.Session})
	}
	return out
}
