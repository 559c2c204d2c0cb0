package storetest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// conversation is one session with all that hangs on it.
type conversation struct {
	tenet.Session
	log       []tenet.Message
	proposals []tenet.Candidate
	receipts  []tenet.Receipt

	worker string // who holds the lease; empty: nobody
	fence  uint64
	until  time.Time
}

func (c *conversation) leased(now time.Time) bool { return c.worker != "" && c.until.After(now) }

// pending reports whether something waits for consolidation.
func (c *conversation) pending() bool { return c.Consolidated < c.Length || len(c.proposals) > 0 }

func (c *conversation) session() tenet.Session {
	s := c.Session
	s.Reads = slices.Clone(s.Reads)
	return s
}

// session enters the scope and finds the session; callers unlock.
func (o *Oracle) session(ctx context.Context, op string, scope tenet.Scope, id tenet.SessionID) (*conversation, *space, error) {
	s, err := o.enter(ctx, op, scope)
	if err != nil {
		return nil, nil, err
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return nil, nil, err
	}
	c := s.conversations[id]
	if c == nil {
		return nil, nil, tenet.Errorf(tenet.NotFound, op, "no such session")
	}
	return c, s, nil
}

// Ensure implements store.Sessions.
func (o *Oracle) Ensure(ctx context.Context, scope tenet.Scope, n tenet.Session) (tenet.Session, error) {
	s, err := o.enter(ctx, "ensure", scope)
	defer o.mu.Unlock()
	if err != nil {
		return tenet.Session{}, err
	}
	if err := tenet.CheckSessionID(n.ID); err != nil {
		return tenet.Session{}, err
	}
	if n.Scope != scope {
		return tenet.Session{}, tenet.Errorf(tenet.Invalid, "ensure", "the session writes another scope")
	}
	c := s.conversations[n.ID]
	if c == nil {
		n.CreatedAt, n.LastAt = tenet.Micros(n.CreatedAt), tenet.Micros(n.LastAt)
		n.EndedAt, n.DueAt = tenet.Micros(n.EndedAt), tenet.Micros(n.DueAt)
		if n.LastAt.IsZero() {
			n.LastAt = n.CreatedAt
		}
		c = &conversation{Session: n}
		c.Session = c.session()
		s.conversations[n.ID] = c
	}
	return c.session(), nil
}

// Append implements store.Sessions.
func (o *Oracle) Append(ctx context.Context, scope tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error) {
	c, s, err := o.session(ctx, "append", scope, id)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if !c.EndedAt.IsZero() {
		return nil, tenet.Errorf(tenet.Conflict, "append", "the session has ended")
	}
	log, out := slices.Clone(c.log), make([]tenet.Message, 0, len(ms))
	length, last := c.Length, c.LastAt
	for _, m := range ms {
		if i := slices.IndexFunc(log, func(k tenet.Message) bool { return m.ClientID != "" && k.ClientID == m.ClientID }); i >= 0 {
			if k := log[i]; k.Role != m.Role || k.Text != m.Text || k.ToolCallID != m.ToolCallID || !slices.Equal(k.ToolCalls, m.ToolCalls) {
				return nil, tenet.Errorf(tenet.Conflict, "append", "the client id was used for another message")
			}
			out = append(out, log[i])
			continue
		}
		if m.ID == "" {
			return nil, tenet.Errorf(tenet.Invalid, "append", "a message has no id")
		}
		for _, other := range s.conversations {
			if slices.ContainsFunc(other.log, func(k tenet.Message) bool { return k.ID == m.ID }) {
				return nil, tenet.Errorf(tenet.Conflict, "append", "the message id is taken")
			}
		}
		if slices.ContainsFunc(log, func(k tenet.Message) bool { return k.ID == m.ID }) {
			return nil, tenet.Errorf(tenet.Conflict, "append", "the message id is taken")
		}
		length++
		m.Session, m.Seq = id, length
		m.SaidAt, m.RecordedAt = tenet.Micros(m.SaidAt), tenet.Micros(m.RecordedAt)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		if m.RecordedAt.After(last) {
			last = m.RecordedAt
		}
		log, out = append(log, m), append(out, m)
	}
	c.log, c.Length, c.LastAt = log, length, last
	if !due.IsZero() {
		c.DueAt = tenet.Micros(due)
	}
	return out, nil
}

// Messages implements store.Sessions.
func (o *Oracle) Messages(ctx context.Context, scope tenet.Scope, id tenet.SessionID, after int64, limit int) ([]tenet.Message, error) {
	c, _, err := o.session(ctx, "messages", scope, id)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if after < 0 {
		after = max(0, c.Length+after)
	}
	var out []tenet.Message
	for _, m := range c.log {
		if m.Seq > after && len(out) < limit {
			out = append(out, m)
		}
	}
	return out, nil
}

// Cited implements store.Sessions.
func (o *Oracle) Cited(ctx context.Context, scope tenet.Scope, ids []tenet.MessageID) ([]tenet.Message, error) {
	s, err := o.enter(ctx, "cited", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Message
	for _, id := range ids {
		for _, c := range s.conversations {
			for _, m := range c.log {
				if m.ID == id {
					out = append(out, m)
				}
			}
		}
	}
	return out, nil
}

// Propose implements store.Sessions.
func (o *Oracle) Propose(ctx context.Context, scope tenet.Scope, id tenet.SessionID, p tenet.Candidate, due time.Time) error {
	c, s, err := o.session(ctx, "propose", scope, id)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	if !c.EndedAt.IsZero() {
		return tenet.Errorf(tenet.Conflict, "propose", "the session has ended")
	}
	for _, k := range c.proposals {
		if k.ID == p.ID {
			if !bytes.Equal(store.ContentDigest(s.key, k), store.ContentDigest(s.key, p)) {
				return tenet.Errorf(tenet.Conflict, "propose", "the id was used with other content")
			}
			return nil
		}
	}
	p.Scope = scope
	p.ProposedAt = tenet.Micros(p.ProposedAt)
	p.Valid = tenet.Interval{From: tenet.Micros(p.Valid.From), To: tenet.Micros(p.Valid.To)}
	c.proposals = append(c.proposals, p)
	if !due.IsZero() {
		c.DueAt = tenet.Micros(due)
	}
	return nil
}

// Serve implements store.Sessions.
func (o *Oracle) Serve(ctx context.Context, scope tenet.Scope, r tenet.Receipt) error {
	c, _, err := o.session(ctx, "serve", scope, r.Session)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	r.At = tenet.Micros(r.At)
	c.receipts = append(c.receipts, r)
	return nil
}

// Receipts implements store.Sessions.
func (o *Oracle) Receipts(ctx context.Context, scope tenet.Scope, id tenet.SessionID) ([]tenet.Receipt, error) {
	c, _, err := o.session(ctx, "receipts", scope, id)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.receipts), nil
}

// End implements store.Sessions.
func (o *Oracle) End(ctx context.Context, scope tenet.Scope, id tenet.SessionID, at time.Time) error {
	c, _, err := o.session(ctx, "end", scope, id)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	if c.EndedAt.IsZero() {
		c.EndedAt, c.DueAt = tenet.Micros(at), tenet.Micros(at)
	}
	return nil
}

// Lease implements store.Queue.
func (o *Oracle) Lease(ctx context.Context, r store.LeaseRequest) (*store.Lease, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "lease", "the context ended")
	}
	if r.Worker == "" || !r.Until.After(r.Now) || r.Only != "" && r.Scope.IsZero() {
		return nil, tenet.Errorf(tenet.Invalid, "lease", "no worker, no scope or no time")
	}
	var best *conversation
	if r.Only != "" {
		if s := o.scopes[r.Scope]; s != nil {
			best = s.conversations[r.Only]
		}
		if best == nil {
			return nil, tenet.Errorf(tenet.NotFound, "lease", "no such session")
		}
		if best.leased(r.Now) && best.worker != r.Worker {
			return nil, nil
		}
	} else {
		for scope, s := range o.scopes {
			if !r.Scope.IsZero() && scope != r.Scope {
				continue
			}
			for _, c := range s.conversations {
				if c.DueAt.IsZero() || c.DueAt.After(r.Now) || c.leased(r.Now) || !r.Scope.IsZero() && c.Attempts > 0 {
					continue
				}
				if best == nil || cmp.Or(c.DueAt.Compare(best.DueAt), cmp.Compare(c.Scope.Key(), best.Scope.Key()), cmp.Compare(c.ID, best.ID)) < 0 {
					best = c
				}
			}
		}
		if best == nil {
			return nil, nil
		}
	}
	best.fence++
	best.worker, best.until = r.Worker, tenet.Micros(r.Until)
	return &store.Lease{Session: best.session(), Worker: r.Worker, Fence: best.fence, Until: best.until, Proposals: slices.Clone(best.proposals)}, nil
}

// Ack implements store.Queue.
func (o *Oracle) Ack(ctx context.Context, l store.Lease, a store.Ack) error {
	c, _, err := o.session(ctx, "ack", l.Session.Scope, l.Session.ID)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	if c.worker == "" || c.fence != l.Fence {
		return tenet.Errorf(tenet.Conflict, "ack", "the lease is over")
	}
	if a.Cursor < c.Consolidated || a.Cursor > c.Length {
		return tenet.Errorf(tenet.Invalid, "ack", "the cursor runs backwards or past the end")
	}
	c.worker, c.Consolidated = "", a.Cursor
	c.proposals = slices.DeleteFunc(slices.Clone(c.proposals), func(p tenet.Candidate) bool { return slices.Contains(a.Done, p.ID) })
	c.LastCode = a.Code
	if c.Attempts++; a.Code == "" {
		c.Attempts = 0
	}
	switch {
	case a.Park:
		c.DueAt = time.Time{}
	case !a.NextDue.IsZero():
		c.DueAt = tenet.Micros(a.NextDue)
	case !c.pending():
		c.DueAt = time.Time{}
	}
	return nil
}

// Sweep implements store.Queue.
func (o *Oracle) Sweep(ctx context.Context, now time.Time) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return 0, tenet.Errorf(tenet.Unavailable, "sweep", "the context ended")
	}
	now = tenet.Micros(now)
	gone := 0
	for _, s := range o.scopes {
		for _, c := range s.conversations {
			if s.frozen != 0 || c.TTL == 0 || c.LastAt.Add(c.TTL).After(now) {
				continue
			}
			if c.EndedAt.IsZero() {
				c.EndedAt = now
			}
			if c.pending() {
				if c.DueAt.IsZero() && c.Attempts > 0 {
					continue // parked
				}
				if c.DueAt.IsZero() || c.DueAt.After(now) {
					c.DueAt = now
				}
				continue
			}
			gone += len(c.log)
			c.log, c.receipts = nil, nil
		}
	}
	return gone, nil
}

// Waiting implements store.Queue.
func (o *Oracle) Waiting(ctx context.Context, tenant string, skip, limit int) ([]tenet.Session, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "waiting", "the context ended")
	}
	if skip < 0 || limit < 0 {
		return nil, tenet.Errorf(tenet.Invalid, "waiting", "a negative page")
	}
	var out []tenet.Session
	for scope, s := range o.scopes {
		for _, c := range s.conversations {
			if scope.Tenant() == tenant && c.pending() {
				out = append(out, c.session())
			}
		}
	}
	failed := func(s tenet.Session) int { return min(s.Attempts, 1) }
	due := func(s tenet.Session) time.Time { // what is parked comes last among the failed
		if s.DueAt.IsZero() {
			return time.Unix(1<<40, 0)
		}
		return s.DueAt
	}
	slices.SortFunc(out, func(a, b tenet.Session) int {
		return cmp.Or(cmp.Compare(failed(b), failed(a)), due(a).Compare(due(b)), cmp.Compare(a.Scope.Key(), b.Scope.Key()), cmp.Compare(a.ID, b.ID))
	})
	out = out[min(skip, len(out)):]
	return out[:min(limit, len(out))], nil
}

// Put implements store.Threads.
func (o *Oracle) Put(ctx context.Context, scope tenet.Scope, b tenet.Blob, strict bool) error {
	s, err := o.enter(ctx, "put", scope)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	if b.Thread == "" || b.ID == "" {
		return tenet.Errorf(tenet.Invalid, "put", "no thread or no id")
	}
	newest := ""
	for _, k := range s.threads[b.Thread] {
		if newest = k.ID; k.ID != b.ID {
			continue
		}
		if !bytes.Equal(k.Data, b.Data) || !bytes.Equal(k.Meta, b.Meta) {
			return tenet.Errorf(tenet.Conflict, "put", "the id was used with other bytes")
		}
		return nil
	}
	if strict && b.Parent != newest {
		return tenet.Errorf(tenet.Conflict, "put", "the parent is not the newest version")
	}
	b.Data, b.Meta = bytes.Clone(b.Data), bytes.Clone(b.Meta)
	b.CreatedAt, b.ExpiresAt = tenet.Micros(b.CreatedAt), tenet.Micros(b.ExpiresAt)
	s.threads[b.Thread] = append(s.threads[b.Thread], b)
	return nil
}

// Get implements store.Threads.
func (o *Oracle) Get(ctx context.Context, scope tenet.Scope, thread, id string) (tenet.Blob, error) {
	s, err := o.enter(ctx, "get", scope)
	defer o.mu.Unlock()
	if err != nil {
		return tenet.Blob{}, err
	}
	for _, b := range slices.Backward(s.threads[thread]) {
		if id == "" || b.ID == id {
			b.Data, b.Meta = bytes.Clone(b.Data), bytes.Clone(b.Meta)
			return b, nil
		}
	}
	return tenet.Blob{}, tenet.Errorf(tenet.NotFound, "get", "no such version")
}

func over(b tenet.Blob, now time.Time) bool { return !b.ExpiresAt.IsZero() && !b.ExpiresAt.After(now) }

// List implements store.Threads.
func (o *Oracle) List(ctx context.Context, scope tenet.Scope, now time.Time, thread, after string, limit int) ([]tenet.Blob, error) {
	s, err := o.enter(ctx, "list", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Blob
	skip := after != ""
	for _, b := range slices.Backward(s.threads[thread]) {
		if !skip && len(out) < limit && !over(b, now) {
			out = append(out, b)
		}
		skip = skip && b.ID != after
	}
	return out, nil
}

// Drop implements store.Threads.
func (o *Oracle) Drop(ctx context.Context, scope tenet.Scope, thread string) (int, error) {
	s, err := o.enter(ctx, "drop", scope)
	defer o.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := len(s.threads[thread])
	if s.frozen != 0 && n > 0 {
		return 0, store.HeldBack("drop")
	}
	delete(s.threads, thread)
	return n, nil
}
