package redis

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// width is the length of a token.
const width = 22

// token is a name as it stands in keys.
func (db *DB) token(domain string, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString(db.master.Keyed(domain, parts...))[:width]
}

// place is where a scope's keys lie.
type place struct {
	scope tenet.Scope
	u     string // the subject's token
	tag   string // its shard
}

func (db *DB) place(op string, scope tenet.Scope) (place, error) {
	if scope.IsZero() {
		return place{}, invalid(op, "no scope")
	}
	d := db.master.Keyed("subject", scope.Tenant(), scope.Subject().Kind().String(), scope.Subject().ID())
	return place{
		scope: scope, u: base64.RawURLEncoding.EncodeToString(d)[:width],
		tag: db.shards[binary.BigEndian.Uint64(d[24:])%uint64(len(db.shards))],
	}, nil
}

func (db *DB) tenant(p place) string { return db.token("tenant", p.scope.Tenant()) }

func (db *DB) session(p place, id tenet.SessionID) string {
	return db.token("session", p.u, string(id))
}
func (db *DB) thread(p place, name string) string { return db.token("thread", p.u, name) }

// subject is a place with its data key.
type subject struct {
	place
	kid string
	key store.DataKey
}

func about(what, s, id string) string { return what + "/" + s + "/" + id }

func (s subject) seal(plain []byte, about string) []byte { return s.key.Seal(plain, about) }

func (s subject) unseal(sealed, about string) ([]byte, error) {
	return s.key.Unseal([]byte(sealed), about)
}

// with is the subject whose wrapped key a reading script replied.
func (db *DB) with(p place, wrapped, kid string) (subject, error) {
	if k, ok := db.keys.find(p.u, kid); ok {
		return subject{p, kid, k}, nil
	}
	plain, _, err := db.master.Unseal([]byte(wrapped), about("key", p.u, kid))
	if err != nil {
		return subject{}, err
	}
	s := subject{place: p, kid: kid}
	copy(s.key[:], plain)
	db.keys.keep(p.u, kid, s.key)
	return s, nil
}

// owner is the subject, whose key may be known already; NotFound when it was
// never written.
func (db *DB) owner(ctx context.Context, op string, p place) (subject, error) {
	if kid, k, ok := db.keys.newest(p.u); ok {
		return subject{p, kid, k}, nil
	}
	var r []any
	err := db.reach(ctx, op, "owner", func(ctx context.Context) (err error) {
		r, err = db.client.HMGet(ctx, p.tag+":u:"+p.u, "k", "i").Result()
		return err
	})
	if err != nil {
		return subject{}, err
	}
	if r[0] == nil {
		return subject{}, absent(op, "subject")
	}
	return db.with(p, reply(r).str(0), reply(r).str(1))
}

// enter is owner that makes the subject.
func (db *DB) enter(ctx context.Context, op string, p place) (subject, error) {
	s, err := db.owner(ctx, op, p)
	if tenet.KindOf(err) != tenet.NotFound {
		return s, err
	}
	var kid [9]byte
	rand.Read(kid[:])
	key, id := store.NewDataKey(), base64.RawURLEncoding.EncodeToString(kid[:])
	var e column.Encoder
	e.Str(p.scope.Tenant())
	e.Num(int64(p.scope.Subject().Kind()))
	e.Str(p.scope.Subject().ID())
	r, err := db.run(ctx, op, "enter", p.tag, p.u, id, db.master.Seal(key[:], about("key", p.u, id)),
		db.master.Seal(e.B, about("name", p.u, "")), db.tenant(p))
	if err != nil {
		return subject{}, err
	}
	return db.with(p, r.str(1), r.str(2)) // another process may have been first
}

// named is the place of a subject that was found by its token.
func (db *DB) named(u, sealed string) (place, error) {
	plain, _, err := db.master.Unseal([]byte(sealed), about("name", u, ""))
	if err != nil {
		return place{}, err
	}
	d := column.Decoder{B: plain}
	tenant, kind, id := d.Str(), d.Num(), d.Str()
	if err := d.Err(); err != nil {
		return place{}, err
	}
	scope, err := scopeOf(tenant, kind, id)
	if err != nil {
		return place{}, err
	}
	return db.place("scope", scope)
}

func scopeOf(tenant string, kind int64, id string) (tenet.Scope, error) {
	sub := tenet.WholeTenant()
	switch tenet.SubjectKind(kind) {
	case tenet.SubjectUser:
		sub = tenet.User(id)
	case tenet.SubjectProject:
		sub = tenet.Project(id)
	}
	s, err := tenet.NewScope(tenant, sub)
	if err != nil {
		return s, tenet.Errorf(tenet.Internal, "scope", "a subject's name is damaged")
	}
	return s, nil
}

// keyCache holds unwrapped data keys. A script refuses a write that was sealed
// with a key that is no longer the subject's, so an erased one is never used
// again.
type keyCache struct {
	mu   sync.RWMutex
	keys map[string]cachedKey
}

type cachedKey struct {
	kid string
	key store.DataKey
}

const cachedKeys = 50_000

func (c *keyCache) newest(u string) (string, store.DataKey, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.keys[u]
	return k.kid, k.key, ok
}

func (c *keyCache) find(u, kid string) (store.DataKey, bool) {
	id, k, ok := c.newest(u)
	return k, ok && id == kid
}

func (c *keyCache) keep(u, kid string, k store.DataKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[string]cachedKey{}
	}
	for other := range c.keys { // any one: which does not matter much
		if len(c.keys) < cachedKeys {
			break
		}
		delete(c.keys, other)
	}
	c.keys[u] = cachedKey{kid, k}
}

func (c *keyCache) drop(u string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.keys, u)
}
