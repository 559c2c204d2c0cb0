package redis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/trace"
)

// each runs one script in every shard, in one trip to each server. A shard
// that is away does not stop the others: its error is returned beside what they
// answered.
func (db *DB) each(ctx context.Context, op string, name trace.Word, args ...any) (_ []reply, err error) {
	if err := ctx.Err(); err != nil {
		return nil, failure(op, err)
	}
	if err := db.circuit.Enter(op); err != nil {
		return nil, err
	}
	var met store.Reached
	defer func() { db.circuit.Leave(met) }()
	caller := ctx
	ctx, span := trace.Ask(ctx, system, name)
	defer func() { span.End(err) }()
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	out := make([]reply, len(db.shards))
	var first error
	script := db.scripts[string(name)]
	for again := true; again; {
		again = false
		cmds := make([]*redis.Cmd, len(db.shards))
		pipe := db.client.Pipeline()
		for i, tag := range db.shards {
			cmds[i] = pipe.EvalSha(ctx, script.Hash(), []string{tag}, args...)
		}
		pipe.Exec(ctx)
		first = nil
		for i, c := range cmds {
			r, err := c.Slice()
			if err != nil && first == nil {
				first = err
			}
			if out[i] = r; refusal(err, "NOSCRIPT") {
				again = true
			}
		}
		if again {
			if err := db.loadScript(ctx, script); err != nil {
				first, again = err, false
			}
		}
	}
	met = reached(caller, first)
	return out, failure(op, first)
}

// loadScript gives every master the script, which one of them has forgotten.
func (db *DB) loadScript(ctx context.Context, s *redis.Script) error {
	if c, ok := db.client.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return s.Load(ctx, c).Err() })
	}
	return s.Load(ctx, db.client).Err()
}

// Lease implements store.Queue.
func (db *DB) Lease(ctx context.Context, r store.LeaseRequest) (*store.Lease, error) {
	const op = "lease"
	if r.Worker == "" || !r.Until.After(r.Now) || r.Only != "" && r.Scope.IsZero() {
		return nil, invalid(op, "no worker, no scope or no time")
	}
	if r.Only != "" {
		p, s, err := db.at(op, r.Scope, r.Only)
		if err != nil {
			return nil, err
		}
		return db.lease(ctx, op, r, p.tag, s, p.u)
	}
	if !r.Scope.IsZero() {
		return db.leaseOf(ctx, op, r)
	}
	for last := ""; ; {
		heads, err := db.each(ctx, op, "peek", micros(r.Now))
		best, at := -1, int64(0)
		for i, h := range heads {
			if n := number(h.str(1)); len(h) == 2 && (best < 0 || n < at) {
				best, at = i, n
			}
		}
		if best < 0 {
			return nil, err // what is due may lie where nobody answers
		}
		s := heads[best].str(0)
		if s == last { // nothing moved: whoever asks comes again
			return nil, err
		}
		last = s
		l, err := db.lease(ctx, op, r, db.shards[best], s, "")
		if l != nil || err != nil && tenet.KindOf(err) != tenet.NotFound {
			return l, err
		}
		// Another worker was first: look again.
	}
}

// leaseOf takes the next session of one scope. All of them lie in its shard,
// and those that are due are what the shard's queue and the subject's set of
// sessions have in common: the smaller of the two is walked.
func (db *DB) leaseOf(ctx context.Context, op string, r store.LeaseRequest) (*store.Lease, error) {
	p, err := db.place(op, r.Scope)
	if err != nil {
		return nil, err
	}
	for last := ""; ; {
		head, err := db.run(ctx, op, "next", p.tag, p.u, micros(r.Now))
		if err != nil || len(head) < 2 {
			return nil, err
		}
		s := head.str(1)
		if s == last { // nothing moved: whoever asks comes again
			return nil, nil
		}
		last = s
		l, err := db.lease(ctx, op, r, p.tag, s, "")
		if l != nil || err != nil && tenet.KindOf(err) != tenet.NotFound {
			return l, err
		}
		// Another worker was first: look again.
	}
}

// lease takes one session; nil when another has it.
func (db *DB) lease(ctx context.Context, op string, q store.LeaseRequest, tag, s, only string) (*store.Lease, error) {
	r, err := db.run(ctx, op, "lease", tag, s, only, q.Worker, micros(q.Now), micros(q.Until), bit(only == "" && !q.Scope.IsZero()))
	if err != nil {
		return nil, err
	}
	if r.word() == "held" {
		return nil, nil
	}
	if err := r.verdict(op, "session"); err != nil {
		return nil, err
	}
	row := r.list(4)
	p, err := db.named(row.str(0), r.str(3))
	if err != nil {
		return nil, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return nil, err
	}
	l := store.Lease{Worker: q.Worker, Fence: uint64(number(row.str(14))), Until: tenet.Micros(q.Until)}
	if l.Session, err = sub.row(s, row); err != nil {
		return nil, err
	}
	l.Proposals, err = sub.proposals(s, r.list(5))
	return &l, err
}

// proposals opens what HGETALL replied, in the order in which it was proposed.
func (s subject) proposals(token string, all reply) ([]tenet.Candidate, error) {
	type kept struct {
		n string
		tenet.Candidate
	}
	var ks []kept
	for i := 0; i+1 < len(all); i += 2 {
		id, v := all.str(i), all.str(i+1)
		if len(v) < 12+32 {
			return nil, tenet.Errorf(tenet.Internal, "decode", "a stored proposal is damaged")
		}
		plain, err := s.unseal(v[12+32:], about("proposal", token, id))
		if err != nil {
			return nil, err
		}
		c, err := column.DecodeCandidate(plain, s.scope)
		if err != nil {
			return nil, err
		}
		ks = append(ks, kept{v[:12], c})
	}
	slices.SortFunc(ks, func(a, b kept) int { return cmp.Compare(a.n, b.n) })
	var out []tenet.Candidate
	for _, k := range ks {
		out = append(out, k.Candidate)
	}
	return out, nil
}

// Ack implements store.Queue.
func (db *DB) Ack(ctx context.Context, l store.Lease, a store.Ack) error {
	const op = "ack"
	p, s, err := db.at(op, l.Session.Scope, l.Session.ID)
	if err != nil {
		return err
	}
	_, _, err = db.write(ctx, writing{op: op, script: "ack", place: p, s: s, what: "session", args: func(subject) []any {
		args := []any{decimal(l.Fence), a.Cursor, string(a.Code), micros(a.NextDue), bit(a.Park), len(a.Done)}
		for _, id := range a.Done {
			args = append(args, string(id))
		}
		return args
	}})
	return err
}

// swept bounds how many sessions Sweep looks at in one trip.
const swept = 100

// Sweep implements store.Queue. It also removes the versions of threads whose
// own time has passed.
func (db *DB) Sweep(ctx context.Context, now time.Time) (int, error) {
	const op = "sweep"
	if err := ctx.Err(); err != nil {
		return 0, failure(op, err)
	}
	gone := 0
	for _, tag := range db.shards {
		for met := 0; ; { // what stays is met again
			ids, err := db.client.ZRangeByScore(ctx, tag+":exp", &redis.ZRangeBy{Min: "-inf", Max: micros(now), Offset: int64(met), Count: swept}).Result()
			if err != nil {
				return gone, failure(op, err)
			}
			for _, s := range ids {
				r, err := db.run(ctx, op, "sweep", tag, s, micros(now))
				if err != nil {
					return gone, err
				}
				gone += int(r.num(0))
				met += int(r.num(1))
			}
			if len(ids) < swept {
				break
			}
		}
		for {
			n, err := db.scripts["expired"].Run(ctx, db.client, []string{tag}, micros(now), strconv.Itoa(width)).Int()
			if err != nil {
				return gone, failure(op, err)
			}
			if n == 0 {
				break
			}
		}
	}
	return gone, nil
}

// Waiting implements store.Queue. It reads every session that waits: it is
// what somebody asks who looks after the pipeline, not a step of it.
func (db *DB) Waiting(ctx context.Context, tenant string, skip, limit int) ([]tenet.Session, error) {
	const op = "waiting"
	if skip < 0 || limit < 0 {
		return nil, invalid(op, "a negative page")
	}
	if err := ctx.Err(); err != nil {
		return nil, failure(op, err)
	}
	var out []tenet.Session
	err := db.members(ctx, op, "w", tenant, func(tag, s string) error {
		x, sub, err := db.load(ctx, op, tag, s)
		if err != nil || sub == nil {
			return err
		}
		if x.Consolidated < x.Length {
			out = append(out, x)
			return nil
		}
		n, err := db.client.HLen(ctx, tag+":p:"+s).Result()
		if n > 0 {
			out = append(out, x)
		}
		return failure(op, err)
	})
	if err != nil {
		return nil, err
	}
	due := func(s tenet.Session) int64 { // what is parked comes last among the failed
		if s.DueAt.IsZero() {
			return 1 << 62
		}
		return s.DueAt.UnixMicro()
	}
	slices.SortFunc(out, func(a, b tenet.Session) int {
		return cmp.Or(cmp.Compare(min(b.Attempts, 1), min(a.Attempts, 1)), cmp.Compare(due(a), due(b)),
			cmp.Compare(a.Scope.Subject().Kind(), b.Scope.Subject().Kind()), cmp.Compare(a.Scope.Subject().ID(), b.Scope.Subject().ID()), cmp.Compare(a.ID, b.ID))
	})
	out = out[min(skip, len(out)):]
	return out[:min(limit, len(out))], nil
}

// members calls f for each session in a tenant's set of that kind.
func (db *DB) members(ctx context.Context, op, kind, tenant string, f func(tag, s string) error) error {
	name := db.token("tenant", tenant)
	for _, tag := range db.shards {
		all, err := db.client.SMembers(ctx, tag+":"+kind+":"+name).Result()
		if err != nil {
			return failure(op, err)
		}
		slices.Sort(all)
		for _, s := range all {
			if err := f(tag, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads a session that was found by its token; a nil subject when it is
// gone.
func (db *DB) load(ctx context.Context, op, tag, s string) (tenet.Session, *subject, error) {
	u, err := db.client.HGet(ctx, tag+":s:"+s, "u").Result()
	if err == redis.Nil {
		return tenet.Session{}, nil, nil
	}
	if err != nil {
		return tenet.Session{}, nil, failure(op, err)
	}
	name, err := db.client.HGet(ctx, tag+":u:"+u, "n").Result()
	if err == redis.Nil {
		return tenet.Session{}, nil, nil
	}
	if err != nil {
		return tenet.Session{}, nil, failure(op, err)
	}
	p, err := db.named(u, name)
	if err != nil {
		return tenet.Session{}, nil, err
	}
	r, err := db.run(ctx, op, "load", tag, u, s)
	if err != nil || r.word() != "ok" {
		return tenet.Session{}, nil, err
	}
	sub, err := db.with(p, r.str(1), r.str(2))
	if err != nil {
		return tenet.Session{}, nil, err
	}
	x, err := sub.row(s, r.list(3))
	return x, &sub, err
}
