package redis

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Health is what a server says of itself, as far as it matters here; of a
// cluster, the worst of its masters.
type Health struct {
	Version     string
	Recent      bool // Redis 7.0 or Valkey 7.2, or later
	Cluster     bool
	Masters     int
	Policy      string // maxmemory-policy
	Allowed     bool   // the DSN says evict=allow
	MaxMemory   int64  // bytes, of all masters; zero: one has no limit
	UsedMemory  int64  // bytes, of all masters
	Persistence Persistence
	SaveFailed  bool // the last snapshot or append-only write failed
	Skew        time.Duration
}

// Persistence is what survives a server that dies.
type Persistence string

const (
	PersistNothing Persistence = "nothing"            // no snapshot, no log
	PersistRDB     Persistence = "snapshots"          // what was written since the last one is lost
	PersistSecond  Persistence = "append-only, 1 s"   // a power cut loses up to two seconds
	PersistNo      Persistence = "append-only, never" // as the operating system pleases
	PersistAlways  Persistence = "append-only, always"
	PersistUnknown Persistence = "append-only" // CONFIG is not allowed here
	PersistUntold  Persistence = "unknown"     // no log, and CONFIG is not allowed here: snapshots or nothing
)

// Health asks every master.
func (db *DB) Health(ctx context.Context) (Health, error) {
	var mu sync.Mutex
	var out Health
	one := func(ctx context.Context, c *redis.Client) error {
		h, err := health(ctx, c)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if out.Masters == 0 {
			out = h
		} else {
			out.add(h)
		}
		out.Masters++
		return nil
	}
	switch c := db.client.(type) {
	case *redis.ClusterClient:
		err := c.ForEachMaster(ctx, one)
		out.Cluster = true
		return out, failure("health", err)
	case *redis.Client:
		return out, failure("health", one(ctx, c))
	}
	return out, nil
}

// add makes h the health of one more master.
func (h *Health) add(o Health) {
	h.Recent = h.Recent && o.Recent
	if o.Policy != "noeviction" {
		h.Policy = o.Policy
	}
	if rank[o.Persistence] < rank[h.Persistence] {
		h.Persistence = o.Persistence
	}
	h.SaveFailed = h.SaveFailed || o.SaveFailed
	h.UsedMemory += o.UsedMemory
	if h.MaxMemory == 0 || o.MaxMemory == 0 { // one without a limit is enough
		h.MaxMemory = 0
	} else {
		h.MaxMemory += o.MaxMemory
	}
	if o.Skew.Abs() > h.Skew.Abs() {
		h.Skew = o.Skew
	}
}

var rank = map[Persistence]int{PersistNothing: 0, PersistUntold: 1, PersistRDB: 2, PersistNo: 3, PersistUnknown: 4, PersistSecond: 5, PersistAlways: 6}

func health(ctx context.Context, c *redis.Client) (Health, error) {
	info, err := c.InfoMap(ctx, "server", "memory", "persistence").Result()
	if err != nil {
		return Health{}, err
	}
	server, memory, persist := info["Server"], info["Memory"], info["Persistence"]
	h := Health{Version: server["redis_version"], Policy: memory["maxmemory_policy"]}
	if v := server["valkey_version"]; v != "" {
		h.Version = "Valkey " + v
	}
	major, _, _ := strings.Cut(server["redis_version"], ".")
	n, _ := strconv.Atoi(major)
	h.Recent = n >= 7
	h.MaxMemory, _ = strconv.ParseInt(memory["maxmemory"], 10, 64)
	h.UsedMemory, _ = strconv.ParseInt(memory["used_memory"], 10, 64)
	h.SaveFailed = persist["rdb_last_bgsave_status"] == "err" || persist["aof_last_write_status"] == "err"
	config, err := c.ConfigGet(ctx, "appendfsync").Result() // managed servers forbid CONFIG
	more, err2 := c.ConfigGet(ctx, "save").Result()
	switch {
	case persist["aof_enabled"] == "1" && err != nil:
		h.Persistence = PersistUnknown
	case persist["aof_enabled"] == "1":
		h.Persistence = map[string]Persistence{"always": PersistAlways, "everysec": PersistSecond, "no": PersistNo}[config["appendfsync"]]
	case err2 != nil:
		h.Persistence = PersistUntold
	case more["save"] == "":
		h.Persistence = PersistNothing
	default:
		h.Persistence = PersistRDB
	}
	began := time.Now()
	there, err := c.Time(ctx).Result()
	if err != nil {
		return Health{}, err
	}
	trip := time.Since(began)
	if h.Skew = there.Sub(began.Add(trip / 2)); h.Skew.Abs() <= trip {
		h.Skew = 0
	}
	return h, nil
}
