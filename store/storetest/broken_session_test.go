package storetest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// clerk is an oracle of the session tier whose methods can be bent one by one.
type clerk struct {
	*Oracle
	ensure   func(*tenet.Session)
	put      func(*Oracle, context.Context, tenet.Scope, tenet.SessionID, []tenet.Message, time.Time) ([]tenet.Message, error)
	messages func([]tenet.Message) []tenet.Message
	page     func(after int64, limit int) (int64, int)
	cited    func(*Oracle, []tenet.MessageID) []tenet.Message
	end      bool // does nothing
	receipts bool // are reversed
	own      bool // who else was served is not known
	fold     bool // the scope's case
	lax      bool // takes the zero scope
	lease    func(*Oracle, *store.LeaseRequest, *store.Lease)
	ack      func(o *Oracle, c *conversation, l *store.Lease, a *store.Ack)
	acked    func(c *conversation, a store.Ack)
	sweep    func(*conversation)
	idle     bool // never sweeps
}

func (c clerk) Ensure(ctx context.Context, s tenet.Scope, n tenet.Session) (tenet.Session, error) {
	got, err := c.Oracle.Ensure(ctx, s, n)
	if c.ensure != nil && err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		got.Reads, got.TTL = n.Reads, n.TTL
	}
	return got, err
}

func (c clerk) ServedWith(ctx context.Context, s tenet.Scope, ids []tenet.RecordID) ([]store.ScopedReceipt, error) {
	rs, err := c.Oracle.ServedWith(ctx, s, ids)
	return slices.DeleteFunc(rs, func(r store.ScopedReceipt) bool { return c.own && r.Scope != s }), err
}

func (c clerk) Append(ctx context.Context, s tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error) {
	if c.put != nil {
		return c.put(c.Oracle, ctx, s, id, slices.Clone(ms), due)
	}
	return c.Oracle.Append(ctx, s, id, ms, due)
}

func (c clerk) Messages(ctx context.Context, s tenet.Scope, id tenet.SessionID, after int64, limit int) ([]tenet.Message, error) {
	if c.lax && s.IsZero() {
		return nil, nil
	}
	if c.fold && s.Subject().Kind() == tenet.SubjectUser {
		s, _ = tenet.NewScope(s.Tenant(), tenet.User(strings.ToLower(s.Subject().ID())))
	}
	if c.page != nil {
		after, limit = c.page(after, limit)
	}
	ms, err := c.Oracle.Messages(ctx, s, id, after, limit)
	if c.messages != nil {
		ms = c.messages(ms)
	}
	return ms, err
}

func (c clerk) Cited(ctx context.Context, s tenet.Scope, ids []tenet.MessageID) ([]tenet.Message, error) {
	if c.cited != nil {
		return c.cited(c.Oracle, ids), nil
	}
	return c.Oracle.Cited(ctx, s, ids)
}

func (c clerk) End(ctx context.Context, s tenet.Scope, id tenet.SessionID, at time.Time) error {
	if c.end {
		return nil
	}
	return c.Oracle.End(ctx, s, id, at)
}

func (c clerk) Receipts(ctx context.Context, s tenet.Scope, id tenet.SessionID) ([]tenet.Receipt, error) {
	rs, err := c.Oracle.Receipts(ctx, s, id)
	if c.receipts {
		slices.Reverse(rs)
	}
	return rs, err
}

func (c clerk) Lease(ctx context.Context, r store.LeaseRequest) (*store.Lease, error) {
	if c.lease == nil {
		return c.Oracle.Lease(ctx, r)
	}
	c.lease(c.Oracle, &r, nil)
	l, err := c.Oracle.Lease(ctx, r)
	if l != nil {
		c.lease(c.Oracle, nil, l)
	}
	return l, err
}

func (c clerk) Ack(ctx context.Context, l store.Lease, a store.Ack) error {
	conv := c.scopes[l.Session.Scope].conversations[l.Session.ID]
	if c.ack != nil {
		c.ack(c.Oracle, conv, &l, &a)
	}
	err := c.Oracle.Ack(ctx, l, a)
	if c.acked != nil && err == nil {
		c.acked(conv, a)
	}
	return err
}

func (c clerk) Sweep(ctx context.Context, now time.Time) (int, error) {
	if c.idle {
		return 0, nil
	}
	if c.sweep != nil {
		for _, s := range c.scopes {
			for _, conv := range s.conversations {
				c.sweep(conv)
			}
		}
	}
	return c.Oracle.Sweep(ctx, now)
}

func (o *Oracle) conversation(l *store.Lease) *conversation {
	return o.scopes[l.Session.Scope].conversations[l.Session.ID]
}

func TestBrokenSessionsAreNoticed(t *testing.T) {
	noticed := map[string]bool{}
	for _, c := range []struct {
		broken  string
		c       clerk
		clauses string
	}{
		{"a later Ensure changes the session", clerk{ensure: func(*tenet.Session) {}}, "EnsureKeepsTheFirst"},
		{"the log is read backwards", clerk{messages: func(ms []tenet.Message) []tenet.Message { slices.Reverse(ms); return ms }}, "AppendKeepsOrder"},
		{"text is trimmed", clerk{messages: func(ms []tenet.Message) []tenet.Message {
			for i := range ms {
				ms[i].Text = strings.TrimSpace(ms[i].Text)
			}
			return ms
		}}, "MessagesComeBackWhole"},
		{"client ids are ignored", clerk{put: func(o *Oracle, ctx context.Context, s tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error) {
			for i := range ms {
				ms[i].ClientID = ""
			}
			return o.Append(ctx, s, id, ms, due)
		}}, "ClientIDMakesRetryHarmless ConflictingClientIDConflicts"},
		{"equal messages are one", clerk{put: func(o *Oracle, ctx context.Context, s tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error) {
			for i := range ms {
				ms[i].ClientID = ms[i].Text
			}
			return o.Append(ctx, s, id, ms, due)
		}}, "EqualMessagesStayTwo"},
		{"messages are appended one by one", clerk{put: func(o *Oracle, ctx context.Context, s tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error) {
			var out []tenet.Message
			for i := range ms {
				got, err := o.Append(ctx, s, id, ms[i:i+1], due)
				if err != nil {
					return nil, err
				}
				out = append(out, got...)
			}
			return out, nil
		}}, "AppendIsAllOrNone"},
		{"a session never ends", clerk{end: true}, "EndedSessionRefusesAppend"},
		{"a page holds one more", clerk{page: func(a int64, l int) (int64, int) { return a, l + 1 }}, "MessagesPage"},
		{"a page starts one later", clerk{page: func(a int64, l int) (int64, int) { return a + 1, l }}, "MessagesPage"},
		{"cited finds in every scope", clerk{cited: func(o *Oracle, ids []tenet.MessageID) (out []tenet.Message) {
			for _, id := range ids {
				for scope := range o.scopes {
					ms, _ := o.Cited(ctx, scope, []tenet.MessageID{id})
					out = append(out, ms...)
				}
			}
			return out
		}}, "CitedFindsAcrossSessionsOfTheScopeOnly"},
		{"receipts come newest first", clerk{receipts: true}, "ReceiptsRoundTrip"},
		{"who else was served is forgotten", clerk{own: true}, "ServedWithFindsWhoeverReadsTheScope"},
		{"case is folded", clerk{fold: true}, "SessionScopesAreDisjoint"},
		{"the zero scope is a scope", clerk{lax: true}, "UnusableArgumentsAreErrors"},
		{"what is not due is leased", clerk{lease: func(_ *Oracle, r *store.LeaseRequest, _ *store.Lease) {
			if r != nil {
				r.Now, r.Until = r.Now.Add(time.Hour), r.Until.Add(time.Hour)
			}
		}}, "LeaseTakesTheOldestDue"},
		{"one scope's lease is anybody's", clerk{lease: func(_ *Oracle, r *store.LeaseRequest, _ *store.Lease) {
			if r != nil && r.Only == "" {
				r.Scope = tenet.Scope{}
			}
		}}, "LeaseOfOneScope"},
		{"a lease never runs out", clerk{lease: func(o *Oracle, _ *store.LeaseRequest, l *store.Lease) {
			if l != nil {
				o.conversation(l).until = l.Until.AddDate(1, 0, 0)
			}
		}}, "LeaseExpires"},
		{"a lease excludes nobody", clerk{lease: func(o *Oracle, _ *store.LeaseRequest, l *store.Lease) {
			if l != nil {
				o.conversation(l).until = time.Time{}
			}
		}}, "LeaseIsExclusive LeaseOfOneSession"},
		{"the fence stands still", clerk{lease: func(o *Oracle, _ *store.LeaseRequest, l *store.Lease) {
			if l != nil {
				o.conversation(l).fence, l.Fence = 1, 1
			}
		}}, "FenceIncreases StaleAckConflicts"},
		{"any ack counts", clerk{ack: func(_ *Oracle, c *conversation, l *store.Lease, _ *store.Ack) { c.worker, l.Fence = "w", c.fence }}, "StaleAckConflicts AckedOnce"},
		{"failures are not counted", clerk{acked: func(c *conversation, _ store.Ack) { c.Attempts = 0 }}, "FailedAckCounts"},
		{"an acknowledged session is never due", clerk{acked: func(c *conversation, _ store.Ack) { c.DueAt = time.Time{} }}, "GrownSessionStaysDue ProposalsSurviveUntilAcked"},
		{"an ack drops all proposals", clerk{acked: func(c *conversation, _ store.Ack) { c.proposals = nil }}, "ProposalsSurviveUntilAcked"},
		{"an acknowledged session stays due", clerk{acked: func(c *conversation, a store.Ack) { c.DueAt = a.Now }}, "AckedOnce"},
		{"what is parked is due at once", clerk{ack: func(_ *Oracle, _ *conversation, _ *store.Lease, a *store.Ack) { a.Park = false }}, "ParkedStaysParked"},
		{"what failed is not told apart", clerk{acked: func(c *conversation, _ store.Ack) { c.Attempts = 0 }}, "WaitingListsFailuresFirst TheBacklogIsCounted"},
		{"nothing is swept", clerk{idle: true}, "SweepEndsAndRemoves"},
		{"the sweep removes what nobody consolidated", clerk{sweep: func(c *conversation) { c.Consolidated = c.Length }}, "TTLNeverRemovesUnconsolidated"},
	} {
		b := Backend{Sessions: func(testing.TB) store.Sessions { c := c.c; c.Oracle = NewOracle(); return c }}
		notice(t, c.broken, sessionClauses, c.clauses, b, noticed)
	}
	demandAll(t, sessionClauses, noticed)
}

// porter is an oracle of a session tier that gives its sessions out, to be bent.
type porter struct {
	*Oracle
	list func([]tenet.Session) []tenet.Session
	out  func(*store.WholeSession)
	in   func(*store.WholeSession)
	part bool // what is refused leaves its first message
	over bool // takes the place of what is there
}

func (p porter) SessionsOf(ctx context.Context, s tenet.Scope, after tenet.SessionID, limit int) ([]tenet.Session, error) {
	list, err := p.Oracle.SessionsOf(ctx, s, after, limit)
	if p.list != nil {
		list = p.list(list)
	}
	return list, err
}

func (p porter) Whole(ctx context.Context, s tenet.Scope, id tenet.SessionID) (store.WholeSession, error) {
	w, err := p.Oracle.Whole(ctx, s, id)
	if p.out != nil {
		p.out(&w)
	}
	return w, err
}

func (p porter) PutBack(ctx context.Context, s tenet.Scope, w store.WholeSession) error {
	if p.in != nil {
		w.Messages = slices.Clone(w.Messages)
		p.in(&w)
	}
	if p.over && p.scopes[s] != nil {
		delete(p.scopes[s].conversations, w.ID)
	}
	err := p.Oracle.PutBack(ctx, s, w)
	if p.part && err != nil && len(w.Messages) > 1 {
		w.Messages, w.Length = w.Messages[:1], 1
		p.Oracle.PutBack(ctx, s, w)
	}
	return err
}

func TestBrokenSessionArchivesAreNoticed(t *testing.T) {
	noticed := map[string]bool{}
	for _, c := range []struct {
		broken  string
		p       porter
		clauses string
	}{
		{"labels rise", porter{in: func(w *store.WholeSession) {
			for i := range w.Messages {
				w.Messages[i].Label = tenet.LabelUserConfirmed
			}
		}}, "AWholeSessionComesBackAsItWas"},
		{"receipts stay behind", porter{out: func(w *store.WholeSession) { w.Receipts = nil }}, "AWholeSessionComesBackAsItWas ALongSessionComesBackWhole"},
		{"a page of the log is all", porter{out: func(w *store.WholeSession) { w.Messages = w.Messages[:min(256, len(w.Messages))] }}, "ALongSessionComesBackWhole"},
		{"proposals come in the order of their ids", porter{out: func(w *store.WholeSession) {
			slices.SortFunc(w.Proposals, func(a, b tenet.Candidate) int { return strings.Compare(string(a.ID), string(b.ID)) })
		}}, "ALongSessionComesBackWhole"},
		{"client ids are forgotten", porter{in: func(w *store.WholeSession) {
			for i := range w.Messages {
				w.Messages[i].ClientID = ""
			}
		}}, "ALongSessionComesBackWhole"},
		{"the log is younger than the session", porter{out: func(w *store.WholeSession) {
			if w.Length < 600 {
				w.Length--
			}
		}}, "ASessionIsTakenOutAtOneMoment"},
		{"sessions come in no order", porter{list: func(s []tenet.Session) []tenet.Session { slices.Reverse(s); return s }}, "SessionsAreListedByTheirIds"},
		{"the last of a page is lost", porter{list: func(s []tenet.Session) []tenet.Session { return s[:max(0, len(s)-1)] }}, "SessionsAreListedByTheirIds"},
		{"what is there is replaced", porter{over: true}, "PuttingBackTakesNothingThatIsThere"},
		{"half of a session is put back", porter{part: true}, "PuttingBackTakesNothingThatIsThere"},
	} {
		b := Backend{Sessions: func(testing.TB) store.Sessions { p := c.p; p.Oracle = NewOracle(); return p }}
		notice(t, c.broken, sessionArchiveClauses, c.clauses, b, noticed)
	}
	demandAll(t, sessionArchiveClauses, noticed)
}

// shelf is an oracle of threads, to be bent.
type shelf struct {
	*Oracle
	put func(*Oracle, *tenet.Scope, *tenet.Blob, *bool)
	get func(*tenet.Blob)
	lst func(*string)
	drp bool
}

func (s shelf) Put(ctx context.Context, scope tenet.Scope, b tenet.Blob, strict bool) error {
	if s.put != nil {
		s.put(s.Oracle, &scope, &b, &strict)
	}
	return s.Oracle.Put(ctx, scope, b, strict)
}

func (s shelf) Get(ctx context.Context, scope tenet.Scope, thread, id string) (tenet.Blob, error) {
	b, err := s.Oracle.Get(ctx, scope, thread, id)
	if s.get != nil {
		s.get(&b)
	}
	return b, err
}

func (s shelf) List(ctx context.Context, scope tenet.Scope, now time.Time, thread, after string, limit int) ([]tenet.Blob, error) {
	if s.lst != nil {
		s.lst(&after)
	}
	return s.Oracle.List(ctx, scope, now, thread, after, limit)
}

func (s shelf) Drop(ctx context.Context, scope tenet.Scope, thread string) (int, error) {
	if s.drp {
		return 3, nil
	}
	return s.Oracle.Drop(ctx, scope, thread)
}

func TestBrokenThreadsAreNoticed(t *testing.T) {
	noticed := map[string]bool{}
	for _, c := range []struct {
		broken  string
		s       shelf
		clauses string
	}{
		{"bytes are made text", shelf{get: func(b *tenet.Blob) { b.Data = bytes.ToValidUTF8(b.Data, nil) }}, "BytesRoundTrip"},
		{"parents are forgotten", shelf{put: func(_ *Oracle, _ *tenet.Scope, b *tenet.Blob, _ *bool) { b.Parent = "" }}, "ForksAllowed"},
		{"strict is ignored", shelf{put: func(_ *Oracle, _ *tenet.Scope, _ *tenet.Blob, strict *bool) { *strict = false }}, "StrictHeadConflicts"},
		{"a put overwrites", shelf{put: func(o *Oracle, s *tenet.Scope, b *tenet.Blob, _ *bool) {
			if sp := o.scopes[*s]; sp != nil {
				sp.threads[b.Thread] = slices.DeleteFunc(sp.threads[b.Thread], func(k tenet.Blob) bool { return k.ID == b.ID })
			}
		}}, "SameIdOtherBytesConflicts"},
		{"every page is the first", shelf{lst: func(after *string) { *after = "" }}, "ListPages"},
		{"a drop drops nothing", shelf{drp: true}, "DropRemoves"},
		{"scopes are folded", shelf{put: func(_ *Oracle, s *tenet.Scope, _ *tenet.Blob, _ *bool) {
			if s.Subject().Kind() == tenet.SubjectUser {
				*s, _ = tenet.NewScope(s.Tenant(), tenet.User(strings.ToLower(s.Subject().ID())))
			}
		}}, "ThreadScopesAreDisjoint"},
		{"a thread needs no name", shelf{put: func(_ *Oracle, _ *tenet.Scope, b *tenet.Blob, _ *bool) { b.Thread += "x" }}, "UnusableArgumentsAreErrors"},
	} {
		b := Backend{Threads: func(testing.TB) store.Threads { s := c.s; s.Oracle = NewOracle(); return s }}
		notice(t, c.broken, threadClauses, c.clauses, b, noticed)
	}
	demandAll(t, threadClauses, noticed)
}
