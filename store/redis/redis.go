// Package redis keeps Tenet's session tier - sessions with their queue, running
// work and threads - in plain Redis 7 or Valkey, without modules, alone or as a
// cluster. The ledger stands elsewhere.
//
// The package imports tenet, store, the standard library and go-redis. It never
// judges, never reads configuration, never logs, and never lets the server's
// error text out, which may quote what was stored.
//
// How it is laid out: everything of a subject lies in one shard, which is a hash
// tag, so that each call is one script that runs in one slot: a session, its log
// and its place in the queue change together or not at all. lua/ holds the
// scripts; lib.lua says what the keys are. call.go runs them, subject.go names
// and seals, the rest is one port a file.
//
// Texts, names and blobs are sealed under the subject's data key, which is
// wrapped by a key the server does not hold; names in keys are keyed digests.
package redis

import (
	"context"
	"crypto/hmac"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var (
	_ store.Sessions = (*DB)(nil)
	_ store.Threads  = (*DB)(nil)
	_ store.Runs     = (*DB)(nil)
	_ store.Deleter  = (*DB)(nil)
	_ store.Served   = (*DB)(nil)
	_ store.Servings = (*DB)(nil)

	_ store.SessionEraser  = (*DB)(nil)
	_ store.SessionArchive = (*DB)(nil)
)

// Options configure Open. MasterKey is required.
type Options struct {
	// MasterKey, 32 bytes, wraps each subject's data key and names what is
	// stored. It belongs in no backup of the server.
	MasterKey []byte
	// Prefix begins every key, so that one server can hold several stores.
	// Default: "tenet".
	Prefix string
	// Shards is into how many parts subjects are split, 1 to 1024. It is fixed
	// when the store is made. Default: 32.
	Shards int
	// MaxConns bounds the connections to each server; default 32.
	MaxConns int
	// Timeout bounds each call whose context has no earlier deadline. Default:
	// 5 seconds.
	Timeout time.Duration
	// AllowEviction opens a server that may evict keys when memory runs out.
	// What it evicts is lost without a word.
	AllowEviction bool
}

// DB is one pool of connections. It is safe for concurrent use.
type DB struct {
	master  store.MasterKey
	client  redis.UniversalClient
	prefix  string
	shards  []string // their hash tags
	timeout time.Duration
	scripts map[string]*redis.Script
	circuit store.Circuit
	keys    keyCache
	spots   spots
	options Options
}

// layout is the version of what the keys hold.
const layout = "1"

// Open connects to the server or cluster that the DSN names:
//
//	redis://[user:password@]host:port[/db]   rediss:// for TLS
//
// with prefix, shards and evict=allow as parameters, and addr=host:port for
// further nodes of a cluster. It returns Unavailable for a server that cannot be
// reached, is older than 7 or may evict keys, and Invalid for a DSN that does
// not parse or a master key that is not the store's.
func Open(ctx context.Context, dsn string, o Options) (*DB, error) {
	const op = "open"
	master, err := store.NewMasterKey(o.MasterKey)
	if err != nil {
		return nil, err
	}
	addrs, base, err := parse(dsn, &o)
	if err != nil {
		return nil, err
	}
	if o.Prefix == "" {
		o.Prefix = "tenet"
	}
	if o.Shards == 0 {
		o.Shards = 32
	}
	if o.Shards < 1 || o.Shards > 1024 || strings.ContainsAny(o.Prefix, "{}") || len(o.Prefix) > 64 {
		return nil, tenet.Errorf(tenet.Invalid, op, "want 1 to 1024 shards and a prefix of up to 64 bytes without braces")
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 32
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	db := &DB{master: master, prefix: o.Prefix, timeout: o.Timeout, options: o, scripts: loadScripts()}
	if db.client, err = connect(ctx, addrs, base, o); err != nil {
		return nil, failure(op, err)
	}
	if err := db.check(ctx); err != nil {
		db.client.Close()
		return nil, failure(op, err)
	}
	return db, nil
}

// parse reads the DSN. Errors don't quote it: it holds the password.
func parse(dsn string, o *Options) (addrs []string, base *redis.Options, err error) {
	bad := tenet.Errorf(tenet.Invalid, "open", "the DSN does not parse")
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, nil, bad
	}
	q := u.Query()
	addrs = q["addr"]
	if v := q.Get("prefix"); v != "" {
		o.Prefix = v
	}
	if v := q.Get("shards"); v != "" {
		if o.Shards, err = strconv.Atoi(v); err != nil {
			return nil, nil, bad
		}
	}
	switch q.Get("evict") {
	case "":
	case "allow":
		o.AllowEviction = true
	default:
		return nil, nil, bad
	}
	for _, ours := range []string{"addr", "prefix", "shards", "evict"} {
		q.Del(ours)
	}
	u.RawQuery = q.Encode()
	if base, err = redis.ParseURL(u.String()); err != nil {
		return nil, nil, bad
	}
	return append([]string{base.Addr}, addrs...), base, nil
}

// connect finds out whether the server is one of a cluster. Nothing is sent
// twice by the client: a call whose reply was lost is the caller's to repeat.
func connect(ctx context.Context, addrs []string, base *redis.Options, o Options) (redis.UniversalClient, error) {
	base.MaxRetries = -1
	base.PoolSize, base.MaxActiveConns = o.MaxConns, o.MaxConns
	base.PoolTimeout = o.Timeout
	base.DialTimeout, base.ReadTimeout, base.WriteTimeout = 2*time.Second, o.Timeout, o.Timeout
	base.DialerRetries = 1
	base.ContextTimeoutEnabled = true
	base.DisableIdentity = true
	base.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	var first error
	for _, addr := range addrs {
		one := *base
		one.Addr = addr
		c := redis.NewClient(&one)
		info, err := c.InfoMap(ctx, "cluster").Result()
		switch {
		case err != nil:
			c.Close()
			if first == nil {
				first = err
			}
			continue
		case info["Cluster"]["cluster_enabled"] != "1":
			return c, nil
		}
		c.Close()
		return redis.NewClusterClient(clusterOptions(addrs, base, o)), nil
	}
	return nil, first
}

func clusterOptions(addrs []string, base *redis.Options, o Options) *redis.ClusterOptions {
	var t *tls.Config
	if base.TLSConfig != nil {
		t = base.TLSConfig.Clone()
	}
	return &redis.ClusterOptions{
		Addrs: addrs, Username: base.Username, Password: base.Password, TLSConfig: t, MaxRetries: -1, MaxRedirects: 5,
		PoolSize: o.MaxConns, MaxActiveConns: o.MaxConns, PoolTimeout: o.Timeout,
		DialTimeout: base.DialTimeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, DialerRetries: 1,
		ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// check reads what kind of server it is, and makes the store or checks that it
// is the one the master key belongs to.
func (db *DB) check(ctx context.Context) error {
	const op = "open"
	h, err := db.Health(ctx)
	if err != nil {
		return err
	}
	if !h.Recent {
		return tenet.Errorf(tenet.Unavailable, op, "the server is version %s: want Redis 7.0, Valkey 7.2 or later", h.Version)
	}
	if h.Policy != "noeviction" && !db.options.AllowEviction {
		return tenet.Errorf(tenet.Unavailable, op, "the server may evict keys (maxmemory-policy %s), which loses sessions without a word: set noeviction, or say evict=allow in the DSN", h.Policy)
	}
	check := hex.EncodeToString(db.master.Check())
	r, err := db.scripts["meta"].Run(ctx, db.client, []string{db.prefix + ":meta"}, layout, db.options.Shards, check).StringSlice()
	if err != nil {
		return err
	}
	shards, err := strconv.Atoi(r[1])
	switch {
	case r[0] != layout || err != nil || shards < 1 || shards > 1024:
		return tenet.Errorf(tenet.Unavailable, op, "the store has layout %s and this version knows %s", r[0], layout)
	case !hmac.Equal([]byte(r[2]), []byte(check)):
		return tenet.Errorf(tenet.Invalid, op, "the master key is not the one this store was made with")
	}
	for i := range shards {
		db.shards = append(db.shards, fmt.Sprintf("{%s:%d}", db.prefix, i))
	}
	return nil
}

// Examine says what kind of server the DSN names, and opens no store.
func Examine(ctx context.Context, dsn string) (Health, error) {
	o := Options{MaxConns: 4, Timeout: 5 * time.Second}
	addrs, base, err := parse(dsn, &o)
	if err != nil {
		return Health{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	client, err := connect(ctx, addrs, base, o)
	if err != nil {
		return Health{}, failure("examine", err)
	}
	defer client.Close()
	h, err := (&DB{client: client}).Health(ctx)
	h.Allowed = o.AllowEviction
	return h, err
}

// Close closes the connections.
func (db *DB) Close() error {
	db.client.Close()
	return nil
}
