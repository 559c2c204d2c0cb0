package redis

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestHealthOfACluster: memory is all masters' together; the rest the worst of them.
func TestHealthOfACluster(t *testing.T) {
	t.Parallel()
	h := Health{Recent: true, Policy: "noeviction", UsedMemory: 1, MaxMemory: 10, Persistence: PersistSecond}
	h.add(Health{Recent: true, Policy: "noeviction", UsedMemory: 2, MaxMemory: 20, Persistence: PersistAlways})
	if h.UsedMemory != 3 || h.MaxMemory != 30 || h.Persistence != PersistSecond {
		t.Errorf("%+v", h)
	}
	h.add(Health{Policy: "allkeys-lru", UsedMemory: 4, Persistence: PersistUntold})
	if h.MaxMemory != 0 || h.UsedMemory != 7 || h.Persistence != PersistUntold || h.Policy != "allkeys-lru" || h.Recent {
		t.Errorf("with one that has no limit: %+v", h)
	}
}

// TestWhatConfigForbidsIsUnknown: a managed server forbids CONFIG, so whether
// it saves is not known, and nobody is told that it does.
func TestWhatConfigForbidsIsUnknown(t *testing.T) {
	t.Parallel()
	p := own(t)
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + p.port})
	defer c.Close()
	if err := c.Do(ctx, "ACL", "SETUSER", "tenant", "on", "nopass", "~*", "+@all", "-config").Err(); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]Persistence{"": PersistNothing, "tenant:any@": PersistUntold} {
		h, err := Examine(ctx, strings.Replace(p.dsn(), "://", "://"+user, 1))
		if err != nil || h.Persistence != want {
			t.Errorf("as %q: %q %v, want %q", user, h.Persistence, err, want)
		}
	}
}
