package postgres

import (
	"context"
	"slices"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/column"
)

// Facts implements store.Reader. What is believed now is kept decoded; one
// look-up of the scope's position tells whether it still holds.
func (db *DB) Facts(ctx context.Context, scope tenet.Scope, at tenet.AsOf) ([]tenet.Record, error) {
	const op = "facts"
	if at.Valid.IsZero() {
		return nil, invalid(op, "no valid time")
	}
	if scope.IsZero() {
		return nil, invalid(op, "no scope")
	}
	t := column.Start(at.Valid)
	own := scope.Key()
	s := subject{scope: scope}
	names := db.names(scope)
	c := db.at(scope)
	var p position
	head := c.reading(selectHead, names, p.scan)
	set := factSet{from: t, until: column.NoEnd}
	read := make([]*tenet.Record, 0, 64) // records are large: they are sorted where they lie
	found := c.reading(`SELECT `+recordColumns+` FROM tenet.records
		WHERE scope = (SELECT scope FROM tenet.subjects WHERE tenant = $1 AND kind = $2 AND external_id = $3)
		AND tier = 1 AND sys_to = 9223372036854775807 AND valid_to > $4`, append(names, t), func(rs *rows) error {
		r, err := s.scanFact(rs, own, &set, t)
		if err == nil && r != nil {
			read = append(read, r)
		}
		return err
	})
	reset := func() { p, set, read = position{}, factSet{from: t, until: column.NoEnd}, read[:0] }
	// With a set at hand the position tells whether it holds; without one, the
	// two are asked for together.
	both := at.Known.IsZero() && !db.facts.has(scope)
	var err error
	if both {
		err = c.oneTrip(ctx, reset, head, found)
	} else {
		err = c.oneTrip(ctx, reset, head)
	}
	if err != nil || p.id == 0 {
		return nil, failure(op, err)
	}
	if !at.Known.IsZero() && column.Start(at.Known) < p.lastAt {
		rs, err := s.records(ctx, c, `WHERE scope = $1 AND tier = 1 AND key <> '' AND sys_from <= $2 AND sys_to > $2 AND valid_from <= $3 AND valid_to > $3`,
			p.id, column.Start(at.Known), t)
		if err != nil {
			return nil, failure(op, err)
		}
		slices.SortFunc(rs, func(a, b tenet.Record) int { return byFact(&a, &b) })
		return rs, nil
	}
	if !both {
		if rs, ok := db.facts.get(scope, p, t); ok {
			return rs, nil
		}
		pos := p
		if err := c.oneTrip(ctx, reset, found); err != nil {
			return nil, failure(op, err)
		}
		p = pos
	}
	set.id, set.pos = p.id, p.facts // what was read may be newer: then the next look finds another position
	slices.SortFunc(read, byFact)
	set.rows = make([]tenet.Record, len(read))
	for i, r := range read {
		set.rows[i] = *r
	}
	db.facts.put(scope, set)
	return set.copy(), nil
}

// scanFact reads a row, narrows the time for which the set holds, and returns
// the record when it is true at t.
func (s subject) scanFact(rs *rows, own string, set *factSet, t int64) (*tenet.Record, error) {
	r, err := s.scan(rs, own)
	if err != nil {
		return nil, err
	}
	if begins := column.Start(r.Valid.From); begins > t {
		set.until = min(set.until, begins)
		return nil, nil
	}
	set.until = min(set.until, column.End(r.Valid.To))
	return &r, nil
}

// factCache keeps the current facts of scopes that were read lately.
type factCache struct {
	mu   sync.Mutex
	sets map[tenet.Scope]factSet
	rows int
}

// factSet is what holds from an instant until the next one at which a fact
// begins or ends, as of a position of the scope.
type factSet struct {
	id          int64 // the subject may be erased and come back as another
	pos         uint64
	from, until int64
	rows        []tenet.Record
}

// cachedRows bounds the cache: about 30 MB of ordinary facts.
const cachedRows = 32 << 10

func (c *factCache) get(scope tenet.Scope, p position, t int64) ([]tenet.Record, bool) {
	c.mu.Lock()
	set, ok := c.sets[scope]
	c.mu.Unlock()
	if !ok || set.id != p.id || set.pos != p.facts || t < set.from || t >= set.until {
		return nil, false
	}
	return set.copy(), true
}

func (c *factCache) has(scope tenet.Scope) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.sets[scope]
	return ok
}

func (c *factCache) put(scope tenet.Scope, set factSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sets == nil {
		c.sets = map[tenet.Scope]factSet{}
	}
	if old, ok := c.sets[scope]; ok && old.id == set.id && (old.pos > set.pos || old.pos == set.pos && set.from < old.from) {
		return // asked about the past: what is newer serves more
	}
	c.remove(scope)
	for id := range c.sets {
		if c.rows+len(set.rows)+1 <= cachedRows {
			break
		}
		c.remove(id) // any: the order of a map is no worse than a wrong guess
	}
	c.sets[scope] = set
	c.rows += len(set.rows) + 1
}

// drop forgets a scope: texts that were replaced don't linger in memory.
func (c *factCache) drop(scope tenet.Scope) {
	c.mu.Lock()
	c.remove(scope)
	c.mu.Unlock()
}

// clear forgets all.
func (c *factCache) clear() {
	c.mu.Lock()
	c.sets, c.rows = nil, 0
	c.mu.Unlock()
}

func (c *factCache) remove(scope tenet.Scope) {
	if old, ok := c.sets[scope]; ok {
		c.rows -= len(old.rows) + 1
		delete(c.sets, scope)
	}
}

// copy is deep: callers may change what they get. It allocates three times,
// however many facts there are.
func (f factSet) copy() []tenet.Record {
	if len(f.rows) == 0 {
		return nil
	}
	out := slices.Clone(f.rows)
	var nv, no int
	for i := range out {
		nv += len(out[i].Value)
		no += len(out[i].Origins)
	}
	values, origins := make([]byte, 0, nv), make([]tenet.Origin, 0, no)
	for i := range out {
		if v := out[i].Value; v != nil {
			n := len(values)
			values = append(values, v...)
			out[i].Value = values[n:len(values):len(values)]
		}
		n := len(origins)
		origins = append(origins, out[i].Origins...)
		out[i].Origins = origins[n:len(origins):len(origins)]
	}
	return out
}
