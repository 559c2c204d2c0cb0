package main

import (
	"errors"
	"fmt"

	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store/postgres"
	"github.com/tenet-memory/tenet/store/redis"
)

// doctorCmd looks at what the configuration names and says what is wrong with it
// and what to do. It changes nothing.
type doctorCmd struct{}

// finding is one thing that was looked at.
type finding struct {
	State string `json:"state"` // ok, warn or fail
	Part  string `json:"part"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

type findings []finding

func (fs *findings) ok(part, format string, args ...any) {
	*fs = append(*fs, finding{"ok", part, fmt.Sprintf(format, args...), ""})
}

func (fs *findings) not(state, part, found, do string) {
	*fs = append(*fs, finding{state, part, found, do})
}

// whether is ok, or else the state with what to do.
func (fs *findings) whether(good bool, part, found, state, bad, do string) {
	if good {
		fs.ok(part, "%s", found)
		return
	}
	fs.not(state, part, bad, do)
}

func (doctorCmd) Run(a *app) error {
	if err := a.local("doctor"); err != nil {
		return err
	}
	var fs findings
	switch a.set.store.scheme {
	case "sqlite":
		fs.sqlite(a)
	case "postgres":
		fs.postgres(a)
	default:
		fs.not("fail", "store", a.set.store.scheme+" keeps sessions only", "set store to a file or postgres://..., and sessions to this")
	}
	fs.vault(a.set)
	if a.set.sessions.scheme == "redis" {
		fs.redis(a)
	} else {
		fs.ok("sessions", "with the ledger")
	}
	if len(fs.failed()) == 0 {
		if _, err := a.memory(reads); err != nil && tenet.KindOf(err) != tenet.NotFound {
			fs.not("fail", "open", err.Error(), "see the lines above, and docs/operations.md")
		} else if err == nil {
			fs.ok("open", "the engine opens with this configuration")
			fs.holds(a)
			fs.quotas(a)
		}
	}
	var rows [][]string
	for _, f := range fs {
		rows = append(rows, []string{f.State, f.Part, f.Found, f.Do})
	}
	if err := a.print(map[string]any{"findings": fs, "ok": len(fs.failed()) == 0}, func() { a.table("STATE|PART|FOUND|WHAT TO DO", rows) }); err != nil {
		return err
	}
	if bad := fs.failed(); len(bad) > 0 {
		return tenet.Errorf(tenet.Unavailable, "doctor", "%d of %d checks failed: %s", len(bad), len(fs), strings.Join(bad, ", "))
	}
	return nil
}

// holds shows legal holds: what is past its time stays because of them, so one
// that was forgotten keeps what should be gone.
func (fs *findings) holds(a *app) {
	h, err := a.opened.HoldCounts(a.ctx)
	switch {
	case err != nil:
		fs.not("fail", "legal holds", err.Error(), "see the lines above, and docs/operations.md")
	case h.Standing == 0:
		fs.ok("legal holds", "none")
	default:
		found := fmt.Sprintf("%d, the oldest for %d days; %d texts past their time stay", h.Standing, int(h.Age.Hours()/24), h.Overdue)
		fs.whether(h.Overdue == 0, "legal holds", found, "warn", found, "look at tenet legal-hold list, and lift those that are over")
	}
}

// vault says whether what rests is sealed; that the vault is the database's own
// is known when the engine has opened.
func (fs *findings) vault(s settings) {
	const part = "vault"
	switch {
	case s.vault.path == "":
		fs.ok(part, "none: the database is not sealed")
	case s.vault.scheme == "postgres":
		fs.ok(part, "the data keys are in a database on another server")
	default:
		info, err := os.Stat(s.vault.path)
		found := "the data keys are in a file, for its owner only"
		if s.store.scheme == "postgres" {
			found += ": every server of this database runs on this machine"
		}
		fs.whether(err == nil && info.Mode().Perm()&0o077 == 0, part, found, "fail", "others may read the file of the data keys", "chmod 600 "+s.vault.path)
	}
}

// nearlyFull is the share of a quota from which on it is a warning.
const nearlyFull = 0.9

// quotas shows the tenant of the settings, and those whose quotas they name.
func (fs *findings) quotas(a *app) {
	uses, err := a.opened.NamedUse(a.ctx)
	if own := a.set.tenant; err == nil && !slices.ContainsFunc(uses, func(u memory.TenantUse) bool { return u.Tenant == own }) {
		var u memory.TenantUse
		u, err = a.opened.Use(a.ctx, own)
		uses = append(uses, u)
	}
	if err != nil {
		fs.not("fail", "quotas", err.Error(), "see the lines above, and docs/operations.md")
		return
	}
	for _, u := range uses {
		limit, share := u.Full()
		part := "quota of " + printable(u.Tenant)
		if limit == "" {
			fs.ok(part, "none; it keeps %d records, %d bytes, of %d subjects", u.Stored.Records, u.Stored.Bytes, u.Stored.Subjects)
			continue
		}
		most, kept := u.Quota.Of(limit, u.Stored)
		found := fmt.Sprintf("%.0f%% of %s: %d of %d", 100*share, limit, kept, most)
		fs.whether(share < nearlyFull, part, found, "warn", found, "raise quota_"+limit+", erase or retract: writes beyond it are refused with QUOTA_"+strings.ToUpper(limit))
	}
}

func (fs findings) failed() (parts []string) {
	for _, f := range fs {
		if f.State == "fail" {
			parts = append(parts, f.Part)
		}
	}
	return parts
}

// mostSkew is how far a database's clock may be off before leases and the order
// of what is known suffer.
const mostSkew = 2 * time.Second

func (fs *findings) skew(part string, d time.Duration) {
	fs.whether(d.Abs() < mostSkew, part, fmt.Sprintf("off by %v", d.Round(time.Millisecond)), "fail", fmt.Sprintf("off by %v", d.Round(time.Millisecond)),
		"set the clocks by NTP: leases and expiry go by them")
}

func (fs *findings) sqlite(a *app) {
	path := a.set.store.path
	info, err := os.Stat(path)
	if err != nil {
		fs.not("warn", "database", "there is none at "+path, "the first command that writes makes it")
		return
	}
	fs.ok("database", "%s, %d KiB", path, info.Size()>>10)
	key, err := os.Stat(path + ".key")
	switch {
	case len(a.set.masterKey)+len(a.set.wrapped) > 0:
		fs.ok("master key", "from the configuration")
	case err != nil && errors.Is(err, os.ErrNotExist):
		fs.not("fail", "master key", "the key beside the database is missing", "restore "+path+".key: without it nothing sealed can be read")
	case err != nil:
		fs.not("fail", "master key", "the key cannot be looked at", "give the program's user the right to read it")
	default:
		fs.whether(key.Mode().Perm()&0o077 == 0, "master key", "beside the database, for its owner only", "fail",
			fmt.Sprintf("others may read it (mode %o)", key.Mode().Perm()), "chmod 600 "+path+".key")
	}
}

func (fs *findings) postgres(a *app) {
	fs.whether(len(a.set.masterKey)+len(a.set.wrapped) > 0, "master key", "from the configuration", "fail", "none", "set master_key to 64 hexadecimal digits, the same for every process")
	h, err := postgres.Examine(a.ctx, a.set.store.path)
	if err != nil {
		fs.not("fail", "PostgreSQL", err.Error(), "check the DSN, the network and pg_hba.conf")
		return
	}
	fs.whether(h.Recent, "PostgreSQL", "version "+h.Version, "fail", "version "+h.Version, "upgrade to 15 or later")
	fs.whether(!h.InRecovery, "writes", "this is a primary", "fail", "this is a standby: it takes no writes", "name the primary in the DSN, or target_session_attrs=read-write")
	fs.whether(h.Durable, "durability", "fsync, full_page_writes and synchronous_commit are on", "fail", "fsync, full_page_writes or synchronous_commit is off",
		"turn them on: what was acknowledged may be lost, or the database damaged, when the machine dies")
	fs.skew("clock", h.Skew)
	fs.whether(h.Connections >= 50, "connections", fmt.Sprint("the server takes ", h.Connections), "warn", fmt.Sprint("the server takes ", h.Connections),
		"raise max_connections, or put a transaction-pooling proxy before it")
	switch {
	case !h.Made:
		fs.not("warn", "schema", "not made yet", "open it once as the database's owner: any command that writes does")
		return
	case !h.Ours:
		fs.not("fail", "schema", "the schema tenet is another program's", "use another database")
		return
	case h.Schema > h.Want:
		fs.not("fail", "schema", fmt.Sprintf("version %d, this program knows %d", h.Schema, h.Want), "upgrade Tenet")
	case h.Schema < h.Want && !h.Owner:
		fs.not("fail", "schema", fmt.Sprintf("version %d, this program needs %d, and %s may not change it", h.Schema, h.Want, h.Login), "open it once as the schema's owner")
	case h.Schema < h.Want:
		fs.not("warn", "schema", fmt.Sprintf("version %d, this program needs %d", h.Schema, h.Want), "the next command that opens it upgrades it")
	default:
		fs.ok("schema", "version %d, %s", h.Schema, map[bool]string{true: fmt.Sprint(h.Partitions, " partitions"), false: "not partitioned"}[h.Partitions > 0])
	}
	fs.whether(h.Member, "roles", h.Login+" may act as tenet_app and tenet_worker", "fail", h.Login+" is not a member of both roles",
		"GRANT tenet_app, tenet_worker TO "+h.Login)
	fs.whether(!h.Superuser, "login", h.Login+" is no superuser", "warn", h.Login+" is a superuser", "give the server a login of its own that is only a member of the two roles")
	fs.whether(len(h.Unguarded) == 0, "row-level security", "forced on every table with a tenant", "fail", "not forced on "+strings.Join(h.Unguarded, ", "),
		"ALTER TABLE ... ENABLE, FORCE ROW LEVEL SECURITY, and find out who took it away")
	fs.whether(!h.Leaks, "tenants", "the application's role reads nothing without a tenant", "fail", "the application's role reads rows without a tenant",
		"a policy was added or altered: restore those of schema/guard.sql")
	fs.whether(!h.AlterableAudit, "audit", "the application's role may only add to it", "fail", "the application's role may change or delete entries",
		"REVOKE UPDATE, DELETE ON tenet.chain FROM tenet_app")
	switch install := "only for scopes too large for memory: tenet index-vectors, as the schema's owner"; {
	case h.VectorOld:
		fs.not("warn", "pgvector", "version "+h.VectorInstalled+" is too old: nearness is compared in process", "ALTER EXTENSION vector UPDATE, to 0.7 or later")
	case h.Broken > 0:
		fs.not("warn", "pgvector", fmt.Sprint(h.Broken, " indexes were left half made"), "tenet index-vectors, as the schema's owner")
	case h.VectorInstalled != "" && h.Searched > 0:
		fs.ok("pgvector", "version %s, %d scopes are searched in the database", h.VectorInstalled, h.Searched)
	case h.VectorInstalled != "":
		fs.ok("pgvector", "version %s, no scope has an index: nearness is compared in process, exactly (%s)", h.VectorInstalled, install)
	case h.VectorObtainable != "":
		fs.ok("pgvector", "obtainable (%s), not installed: nearness is compared in process, exactly (%s)", h.VectorObtainable, install)
	default:
		fs.ok("pgvector", "not on the server: nearness is compared in process, exactly (the package postgresql-NN-pgvector)")
	}
}

func (fs *findings) redis(a *app) {
	h, err := redis.Examine(a.ctx, a.set.sessions.path)
	if err != nil {
		fs.not("fail", "Redis", err.Error(), "check the DSN, the network and the login's rights (see docs/operations.md)")
		return
	}
	what := h.Version
	if h.Cluster {
		what = fmt.Sprintf("%s, a cluster of %d masters", h.Version, h.Masters)
	}
	fs.whether(h.Recent, "Redis", what, "fail", what, "upgrade to Redis 7.0 or Valkey 7.2")
	fs.skew("clock of Redis", h.Skew)
	state := "fail"
	if h.Allowed {
		state = "warn"
	}
	fs.whether(h.Policy == "noeviction", "eviction", "noeviction: a full server refuses writes", state, h.Policy+": a full server drops sessions without a word", "CONFIG SET maxmemory-policy noeviction")
	fs.whether(h.MaxMemory > 0, "memory", fmt.Sprintf("%d of %d MiB used", h.UsedMemory>>20, h.MaxMemory>>20), "warn", "no limit", "set maxmemory below what the machine has: without it the system kills the server")
	do := "appendonly yes and appendfsync everysec (or always)"
	switch h.Persistence {
	case redis.PersistAlways:
		fs.ok("persistence", "append-only, always: nothing acknowledged is lost")
	case redis.PersistSecond:
		fs.ok("persistence", "append-only, every second: a power cut loses up to two seconds, a killed server nothing")
	case redis.PersistRDB:
		fs.not("warn", "persistence", "snapshots only: what came after the last one is lost", do)
	case redis.PersistNothing:
		fs.not("warn", "persistence", "none: a restart loses every session", do)
	default:
		fs.not("warn", "persistence", string(h.Persistence), do)
	}
	fs.whether(!h.SaveFailed, "disk of Redis", "the last save succeeded", "fail", "the last save failed", "look at its log: the disk is full or not its own")
}
