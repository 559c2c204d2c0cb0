package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// at is where a session's keys lie.
func (db *DB) at(op string, scope tenet.Scope, id tenet.SessionID) (place, string, error) {
	p, err := db.place(op, scope)
	if err != nil {
		return p, "", err
	}
	if err := tenet.CheckSessionID(id); err != nil {
		return p, "", err
	}
	return p, db.session(p, id), nil
}

// known is at for a session that was read lately: tokens are digests, and always
// the same.
func (db *DB) known(op string, scope tenet.Scope, id tenet.SessionID) (place, string, error) {
	name := spotName{scope, id}
	if f, ok := db.spots.find(name); ok {
		return f.place, f.s, nil
	}
	p, s, err := db.at(op, scope, id)
	if err == nil {
		db.spots.keep(name, spot{p, s})
	}
	return p, s, err
}

type spotName struct {
	scope tenet.Scope
	id    tenet.SessionID
}

type spot struct {
	place
	s string
}

// spots remembers where sessions lie.
type spots struct {
	mu sync.RWMutex
	of map[spotName]spot
}

const cachedSpots = 10_000

func (c *spots) find(n spotName) (spot, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f, ok := c.of[n]
	return f, ok
}

func (c *spots) keep(n spotName, f spot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= cachedSpots {
		c.of = map[spotName]spot{} // all at once: they are made again in no time
	}
	c.of[n] = f
}

// clear forgets all: an erased subject's name does not linger in memory.
func (c *spots) clear() {
	c.mu.Lock()
	c.of = nil
	c.mu.Unlock()
}

// sealName keeps a session's id and the scopes it reads, which are external ids.
func (s subject) sealName(token string, id tenet.SessionID, reads []tenet.Scope) []byte {
	var e column.Encoder
	e.Str(string(id))
	e.Num(int64(len(reads)))
	for _, r := range reads {
		e.Str(r.Tenant())
		e.Num(int64(r.Subject().Kind()))
		e.Str(r.Subject().ID())
	}
	return s.seal(e.B, about("session", token, ""))
}

func (s subject) unsealName(token, sealed string) (id tenet.SessionID, reads []tenet.Scope, err error) {
	plain, err := s.unseal(sealed, about("session", token, ""))
	if err != nil {
		return "", nil, err
	}
	d := column.Decoder{B: plain}
	id = tenet.SessionID(d.Str())
	for range d.Count() {
		r, err := scopeOf(d.Str(), d.Num(), d.Str())
		if err != nil {
			return id, nil, err
		}
		reads = append(reads, r)
	}
	return id, reads, d.Err()
}

// row makes a session from what scripts send of it; see fields in lib.lua.
func (s subject) row(token string, r reply) (tenet.Session, error) {
	id, reads, err := s.unsealName(token, r.str(2))
	if err != nil {
		return tenet.Session{}, err
	}
	return tenet.Session{
		ID: id, Scope: s.scope, Reads: reads, TTL: time.Duration(number(r.str(3))), RetainNone: r.str(4) == "1",
		CreatedAt: when(r.str(5)), EndedAt: when(r.str(6)), LastAt: when(r.str(7)), Length: number(r.str(8)), Consolidated: number(r.str(9)),
		DueAt: when(r.str(10)), Attempts: int(number(r.str(11))), LastCode: tenet.Code(r.str(12)),
	}, nil
}

// Ensure implements store.Sessions.
func (db *DB) Ensure(ctx context.Context, scope tenet.Scope, n tenet.Session) (tenet.Session, error) {
	const op = "ensure"
	p, s, err := db.at(op, scope, n.ID)
	switch {
	case err != nil:
		return tenet.Session{}, err
	case n.Scope != scope:
		return tenet.Session{}, invalid(op, "the session writes another scope")
	case n.TTL < 0:
		return tenet.Session{}, invalid(op, "a negative TTL")
	case slices.ContainsFunc(n.Reads, tenet.Scope.IsZero):
		return tenet.Session{}, invalid(op, "a zero scope to read")
	}
	r, err := db.run(ctx, op, "load", p.tag, p.u, s)
	if err != nil {
		return tenet.Session{}, err
	}
	if r.word() == "ok" {
		sub, err := db.with(p, r.str(1), r.str(2))
		if err != nil {
			return tenet.Session{}, err
		}
		return sub.row(s, r.list(3))
	}
	if n.LastAt.IsZero() {
		n.LastAt = n.CreatedAt
	}
	r, sub, err := db.write(ctx, writing{op: op, script: "ensure", place: p, s: s, enter: true, args: func(sub subject) []any {
		return []any{db.tenant(p), sub.sealName(s, n.ID, n.Reads), decimal(int64(n.TTL)), bit(n.RetainNone),
			micros(n.CreatedAt), micros(n.EndedAt), micros(n.LastAt), micros(n.DueAt)}
	}})
	if err != nil {
		return tenet.Session{}, err
	}
	return sub.row(s, r.list(1))
}

func encodeMessage(m tenet.Message) []byte {
	e := column.Encoder{B: make([]byte, 0, len(m.Text)+128)}
	e.Num(1) // the form's version
	e.Num(int64(m.Role))
	e.Str(string(m.Channel))
	e.Str(m.Speaker)
	e.Str(m.Text)
	e.Time(m.SaidAt)
	e.Str(m.ClientID)
	column.EncodeStrings(&e, m.ToolCalls)
	e.Str(m.ToolCallID)
	e.Flag(m.RetainNone)
	e.Num(int64(m.Label))
	e.Str(m.RecordedBy)
	e.Time(m.RecordedAt)
	return e.B
}

// nonceSize is the length of what tells two calls apart.
const nonceSize = 8

// client is by what a message is known again that its client sends twice.
func (s subject) client(m tenet.Message) (id, print []byte) {
	if m.ClientID == "" {
		return nil, nil
	}
	return store.ClientIDDigest(s.key, m.ClientID)[:16], store.SaidDigest(s.key, m)[:16]
}

// entry is a message as it stands in the log, as append.lua makes it, but that
// no call wrote it.
func (s subject) entry(token string, m tenet.Message) []byte {
	var nonce [nonceSize]byte
	return slices.Concat([]byte{byte(len(m.ID) >> 8), byte(len(m.ID))}, []byte(m.ID), nonce[:], s.seal(encodeMessage(m), about("message", token, string(m.ID))))
}

// entries opens those of one session's log.
type entries struct {
	open  store.Opener
	about []byte // all but the message's id
}

func (s subject) entries(token string) *entries {
	prefix := about("message", token, "")
	return &entries{s.key.Opener(), append(make([]byte, 0, len(prefix)+64), prefix...)}
}

// message opens an entry: the id, the nonce of the call that wrote it, and the
// sealed rest.
func (l *entries) message(entry string, id tenet.SessionID, seq int64) (tenet.Message, error) {
	if len(entry) < 2 {
		return tenet.Message{}, damaged()
	}
	n := int(entry[0])<<8 | int(entry[1])
	if len(entry) < 2+n+nonceSize {
		return tenet.Message{}, damaged()
	}
	m := tenet.Message{ID: tenet.MessageID(entry[2 : 2+n]), Session: id, Seq: seq}
	plain, err := l.open.UnsealBytes([]byte(entry[2+n+nonceSize:]), append(l.about, m.ID...))
	if err != nil {
		return m, err
	}
	d := column.Decoder{B: plain, Shares: true}
	if d.Num() != 1 {
		return m, damaged()
	}
	m.Role = tenet.Role(d.Num())
	m.Channel = tenet.Channel(d.Str())
	m.Speaker, m.Text = d.Str(), d.Str()
	m.SaidAt = d.Time()
	m.ClientID = d.Str()
	m.ToolCalls = column.DecodeStrings[string](&d)
	m.ToolCallID = d.Str()
	m.RetainNone = d.Flag()
	m.Label = tenet.Label(d.Num())
	m.RecordedBy = d.Str()
	m.RecordedAt = d.Time()
	return m, d.Err()
}

func damaged() error { return tenet.Errorf(tenet.Internal, "decode", "a stored message is damaged") }

// Append implements store.Sessions.
func (db *DB) Append(ctx context.Context, scope tenet.Scope, id tenet.SessionID, ms []tenet.Message, due time.Time) ([]tenet.Message, error) {
	const op = "append"
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return nil, err
	}
	in := make([]tenet.Message, len(ms))
	for i, m := range ms {
		if m.ID == "" || len(m.ID) > tenet.MaxID {
			return nil, invalid(op, "a message has no id, or too long a one")
		}
		m.Session, m.SaidAt, m.RecordedAt = id, tenet.Micros(m.SaidAt), tenet.Micros(m.RecordedAt)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		in[i] = m
	}
	var nonce [nonceSize]byte
	rand.Read(nonce[:])
	result := func(sub subject, r reply) ([]tenet.Message, error) {
		out := make([]tenet.Message, len(in))
		for i, m := range in {
			kept := r.list(i + 2)
			if kept == nil {
				m.Seq = r.num(i + 2)
				out[i] = m
				continue
			}
			if out[i], err = sub.entries(s).message(kept.str(1), id, number(kept.str(0))); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	r, sub, err := db.write(ctx, writing{op: op, script: "append", place: p, s: s, what: "session", args: func(sub subject) []any {
		args := make([]any, 0, 3+5*len(in))
		args = append(args, nonce[:], micros(due), len(in))
		for _, m := range in {
			client, print := sub.client(m)
			args = append(args, string(m.ID), client, print, micros(m.RecordedAt), sub.seal(encodeMessage(m), about("message", s, string(m.ID))))
		}
		return args
	}, result: func(sub subject, r reply) (any, error) { return result(sub, r) }})
	if err != nil {
		return nil, err
	}
	return result(sub, r)
}

// Messages implements store.Sessions.
func (db *DB) Messages(ctx context.Context, scope tenet.Scope, id tenet.SessionID, after int64, limit int) ([]tenet.Message, error) {
	const op = "messages"
	if limit < 0 {
		return nil, invalid(op, "a negative limit")
	}
	p, s, err := db.known(op, scope, id)
	if err != nil {
		return nil, err
	}
	part, err := db.stretch(ctx, op, p, s, after, limit)
	if err != nil {
		return nil, err
	}
	sub, err := db.with(p, part.wrapped, part.kid)
	if err != nil {
		return nil, err
	}
	out := make([]tenet.Message, len(part.entries))
	log := sub.entries(s)
	for i, e := range part.entries {
		if out[i], err = log.message(e, id, part.from+int64(i)+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// stretch is a part of a log as it is kept: entries behind from, and the key they
// are sealed with, wrapped.
type stretch struct {
	wrapped, kid string
	from         int64
	entries      []string
}

// stretch reads a part of a log by plain commands where they can tell it: a log
// that goes through a script is copied twice on its way. The session is looked at
// before and after, for nothing keeps others from writing in between (a MULTI
// would, at a third of the time of it all, and a server without room takes none).
// What they leave open the script answers.
func (db *DB) stretch(ctx context.Context, op string, p place, s string, after int64, limit int) (stretch, error) {
	script := func() (stretch, error) {
		r, err := db.run(ctx, op, "messages", p.tag, p.u, s, after, limit)
		if err == nil {
			err = r.verdict(op, "session")
		}
		if err != nil {
			return stretch{}, err
		}
		out := stretch{r.str(1), r.str(2), r.num(3), make([]string, len(r.list(4)))}
		for i := range out.entries {
			out.entries[i] = r.list(4).str(i)
		}
		return out, nil
	}
	from, to := after, after+int64(limit)-1
	switch {
	case limit == 0 || after < 0 && -after > int64(limit) || to < from:
		return script()
	case after < 0:
		to = -1
	}
	var before *redis.StringCmd
	var key, then *redis.SliceCmd
	var log *redis.StringSliceCmd
	if err := db.reach(ctx, op, "messages", func(ctx context.Context) error {
		_, err := db.client.Pipelined(ctx, func(t redis.Pipeliner) error {
			before = t.HGet(ctx, p.tag+":s:"+s, "len")
			key, log = t.HMGet(ctx, p.tag+":u:"+p.u, "k", "i"), t.LRange(ctx, p.tag+":l:"+s, from, to)
			then = t.HMGet(ctx, p.tag+":s:"+s, "u", "len")
			return nil
		})
		if errors.Is(err, redis.Nil) { // there was no session
			err = nil
		}
		return err
	}); err != nil {
		return stretch{}, err
	}
	x, k, entries := reply(then.Val()), reply(key.Val()), log.Val()
	if x.str(0) != p.u {
		return stretch{}, absent(op, "session")
	}
	length := number(x.str(1))
	if after < 0 {
		from = max(0, length+after)
	}
	if before.Val() != x.str(1) || int64(len(entries)) != min(int64(limit), max(0, length-from)) {
		return script() // it grew meanwhile, or the log is not what the session counts
	}
	return stretch{k.str(0), k.str(1), from, entries}, nil
}

// Cited implements store.Sessions.
func (db *DB) Cited(ctx context.Context, scope tenet.Scope, ids []tenet.MessageID) ([]tenet.Message, error) {
	const op = "cited"
	p, err := db.place(op, scope)
	if err != nil {
		return nil, err
	}
	args := make([]any, 0, len(ids)+2)
	args = append(args, p.u, len(ids))
	for _, id := range ids {
		args = append(args, string(id))
	}
	r, err := db.run(ctx, op, "cited", p.tag, args...)
	if err != nil || len(r) == 3 {
		return nil, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return nil, err
	}
	var out []tenet.Message
	for i := 3; i < len(r); i++ {
		f := r.list(i)
		id, _, err := sub.unsealName(f.str(0), f.str(1))
		if err != nil {
			return nil, err
		}
		m, err := sub.entries(f.str(0)).message(f.str(3), id, number(f.str(2)))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Propose implements store.Sessions.
func (db *DB) Propose(ctx context.Context, scope tenet.Scope, id tenet.SessionID, c tenet.Candidate, due time.Time) error {
	const op = "propose"
	if c.ID == "" {
		return invalid(op, "the candidate has no id")
	}
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return err
	}
	c.Scope = scope
	c.ProposedAt = tenet.Micros(c.ProposedAt)
	c.Valid = tenet.Interval{From: tenet.Micros(c.Valid.From), To: tenet.Micros(c.Valid.To)}
	_, _, err = db.write(ctx, writing{op: op, script: "propose", place: p, s: s, what: "session", args: func(sub subject) []any {
		return []any{micros(due), string(c.ID), store.ContentDigest(sub.key, c), sub.seal(column.EncodeCandidate(c), about("proposal", s, string(c.ID)))}
	}, result: nothing, blind: true})
	return err
}

// Serve implements store.Sessions.
func (db *DB) Serve(ctx context.Context, scope tenet.Scope, r tenet.Receipt) error {
	const op = "serve"
	p, s, err := db.at(op, scope, r.Session)
	if err != nil {
		return err
	}
	body := column.EncodeReceipt(r)
	var nonce [nonceSize]byte
	rand.Read(nonce[:])
	_, _, err = db.write(ctx, writing{op: op, script: "serve", place: p, s: s, what: "session", args: func(sub subject) []any {
		return []any{nonce[:], micros(r.At), sub.seal(body, about("receipt", s, micros(r.At)))}
	}})
	return err
}

// Receipts implements store.Sessions.
func (db *DB) Receipts(ctx context.Context, scope tenet.Scope, id tenet.SessionID) ([]tenet.Receipt, error) {
	const op = "receipts"
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return nil, err
	}
	r, err := db.run(ctx, op, "receipts", p.tag, p.u, s)
	if err == nil {
		err = r.verdict(op, "session")
	}
	if err != nil {
		return nil, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return nil, err
	}
	return sub.receipts(s, id, r.list(4))
}

func (s subject) receipts(token string, id tenet.SessionID, entries reply) ([]tenet.Receipt, error) {
	var out []tenet.Receipt
	for i := range entries {
		at, sealed, _ := strings.Cut(entries.str(i), " ")
		plain, err := s.unseal(sealed, about("receipt", token, at))
		if err != nil {
			return nil, err
		}
		r, err := column.DecodeReceipt(plain)
		if err != nil {
			return nil, err
		}
		r.Session, r.At = id, when(at)
		out = append(out, r)
	}
	return out, nil
}

// End implements store.Sessions.
func (db *DB) End(ctx context.Context, scope tenet.Scope, id tenet.SessionID, at time.Time) error {
	const op = "end"
	p, s, err := db.at(op, scope, id)
	if err != nil {
		return err
	}
	_, _, err = db.write(ctx, writing{op: op, script: "end", place: p, s: s, what: "session",
		args: func(subject) []any { return []any{micros(at)} }})
	return err
}
