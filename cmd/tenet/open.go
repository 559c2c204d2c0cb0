package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/postgres"
	"github.com/tenet-memory/tenet/store/redis"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// dsn says which database stands behind the engine.
type dsn struct {
	scheme string // sqlite, postgres or redis
	path   string
}

// parseDSN reads a path or SCHEME:REST. It knows the schemes; open knows which
// of them are built.
func parseDSN(s string) (dsn, error) {
	scheme, rest, ok := strings.Cut(s, ":")
	switch {
	case s == "":
		return dsn{}, tenet.Errorf(tenet.Invalid, "config", "store: no path")
	case !ok || strings.ContainsAny(scheme, "/.") || len(scheme) == 1: // a path may hold a colon, or begin with a drive
		return dsn{"sqlite", s}, nil
	}
	switch scheme {
	case "sqlite":
		rest = strings.TrimPrefix(rest, "//") // sqlite://tenet.db and sqlite:///var/lib/tenet.db are URLs
		if rest == "" {
			return dsn{}, tenet.Errorf(tenet.Invalid, "config", "store: no path")
		}
		return dsn{"sqlite", rest}, nil
	case "postgres", "postgresql":
		return dsn{"postgres", s}, nil
	case "redis", "rediss":
		return dsn{"redis", s}, nil
	}
	return dsn{}, tenet.Errorf(tenet.Invalid, "config", "store: unknown scheme %q", scheme)
}

// engine is an opened Memory with its database.
type engine struct {
	*memory.Memory
	db        io.Closer
	sessions  io.Closer // nil: db holds them, too
	gate      *gate.Gate
	policySum []byte // digest of the policy file that was read
	governor  store.Governor
	reapplied int // erasures that the journal knew and the database did not
}

func (e *engine) close() error {
	var err error
	if e.sessions != nil {
		err = e.sessions.Close()
	}
	return errors.Join(err, e.db.Close())
}

// access says whether a command may make the database file.
type access bool

const (
	reads  access = false // no such file is an error, not an empty memory
	writes access = true
)

// memory opens the engine, once.
func (a *app) memory(may access) (*memory.Memory, error) {
	if a.opened != nil {
		return a.opened.Memory, nil
	}
	if err := a.unwrapKeys(); err != nil {
		return nil, err
	}
	emb, err := a.embedder()
	if err != nil {
		return nil, err
	}
	var e *engine
	switch a.set.store.scheme {
	case "sqlite":
		if may == reads {
			if _, err := os.Stat(a.set.store.path); errors.Is(err, fs.ErrNotExist) {
				return nil, tenet.Errorf(tenet.NotFound, "open", "there is no database at %s", a.set.store.path)
			}
		}
		e, err = openSQLite(a.ctx, a.set, engineOptions{path: a.set.store.path, embedder: emb, log: a.log})
	case "postgres":
		e, err = openPostgres(a.ctx, a.set, emb, a.log)
	default:
		return nil, tenet.Errorf(tenet.Invalid, "config", "store: %s keeps sessions only: name it as sessions, beside a file or postgres://", a.set.store.scheme)
	}
	if err != nil {
		return nil, err
	}
	a.opened = e
	return e.Memory, nil
}

// engineOptions are what the demo and the measurements set beside the settings.
type engineOptions struct {
	path     string
	now      func() time.Time
	secret   []byte
	embedder model.Embedder
	log      *slog.Logger
}

func openSQLite(ctx context.Context, s settings, o engineOptions) (*engine, error) {
	db, err := s.openFile(ctx, o.path, s.masterKey)
	if err != nil {
		return nil, err
	}
	if len(o.secret) == 0 {
		o.secret = fenceSecret(s, o.path)
	}
	return newEngine(ctx, s, db, o)
}

// vault is where the data keys of a sealed database are.
type vault interface {
	store.Vault
	io.Closer
}

// openVault opens the vault that the settings name, nil when they name none. One
// is made with the database only: fresh says whether there is none yet.
func (s settings) openVault(ctx context.Context, fresh func() (bool, error)) (vault, error) {
	if s.vault.path == "" {
		return nil, nil
	}
	create, err := fresh()
	if err != nil {
		return nil, err
	}
	if s.vault.scheme == "postgres" {
		if create && s.store.scheme == "postgres" { // before anything is made
			if err := postgres.Apart(ctx, s.store.path, s.vault.path); err != nil {
				return nil, err
			}
		}
		v, err := postgres.OpenVault(ctx, s.vault.path, create)
		if err != nil {
			return nil, err
		}
		return v, nil
	}
	v, err := sqlite.OpenVault(ctx, s.vault.path, create)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// sealedFile and sealedServer are a database with the vault that it is sealed
// with, if any.
type sealedFile struct {
	*sqlite.DB
	vault vault
}

func (f sealedFile) Close() error { return closeBoth(f.DB, f.vault) }

type sealedServer struct {
	*postgres.DB
	vault vault
}

func (s sealedServer) Close() error { return closeBoth(s.DB, s.vault) }

func closeBoth(db io.Closer, v vault) error {
	err := db.Close()
	if v != nil {
		err = errors.Join(err, v.Close())
	}
	return err
}

// openFile opens a database file, or a copy of it, with the vault of the
// settings.
func (s settings) openFile(ctx context.Context, path string, key []byte) (sealedFile, error) {
	v, err := s.openVault(ctx, func() (bool, error) {
		_, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist), nil
	})
	if err != nil {
		return sealedFile{}, err
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{MasterKey: key, Vault: v})
	if err != nil && v != nil {
		v.Close()
	}
	return sealedFile{db, v}, err
}

// openServer opens the PostgreSQL database of the settings with their vault.
func (s settings) openServer(ctx context.Context, o postgres.Options) (sealedServer, error) {
	v, err := s.openVault(ctx, func() (bool, error) {
		h, err := postgres.Examine(ctx, s.store.path)
		return !h.Made, err
	})
	if err != nil {
		return sealedServer{}, err
	}
	o.Vault = v
	db, err := postgres.Open(ctx, s.store.path, o)
	if err != nil && v != nil {
		v.Close()
	}
	return sealedServer{db, v}, err
}

// openPostgres opens a database that other processes may share, so the key
// that its texts are sealed with comes from the configuration.
func openPostgres(ctx context.Context, s settings, emb model.Embedder, log *slog.Logger) (*engine, error) {
	if len(s.masterKey) == 0 {
		return nil, tenet.Errorf(tenet.Invalid, "config", "master_key: PostgreSQL needs one, 64 hexadecimal digits, the same for every process")
	}
	db, err := s.openServer(ctx, postgres.Options{MasterKey: s.masterKey})
	if err != nil {
		return nil, err
	}
	return newEngine(ctx, s, db, engineOptions{secret: fenceSecret(s, ""), embedder: emb, log: log})
}

// database stands behind both ports of an engine.
type database interface {
	store.Ledger
	store.Sessions
	Secret(purpose string) []byte
}

// openSessions opens the session tier where the settings put it: nil, with the
// ledger. Its key is derived from the ledger's, so one secret serves for both.
func openSessions(ctx context.Context, s settings, db database) (*redis.DB, error) {
	switch s.sessions.scheme {
	case "":
		return nil, nil
	case "redis":
		goredis.SetLogger(silent{}) // it would write to standard error, past our own log
		return redis.Open(ctx, s.sessions.path, redis.Options{MasterKey: db.Secret("session store")})
	}
	return nil, tenet.Errorf(tenet.Invalid, "config", "sessions: want redis:// or rediss://, or leave it out to keep them with the ledger")
}

// silent is where go-redis's own log goes: what fails is answered as an error.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func newEngine(ctx context.Context, s settings, db database, o engineOptions) (*engine, error) {
	book, sum := openPolicy(s.policy)
	governor, _ := db.(store.Governor)
	elsewhere, err := openSessions(ctx, s, db)
	if err != nil {
		db.Close()
		return nil, err
	}
	g := gate.New(nil, gate.WithQuotas(s.quotas))
	g.Adopt(book.gate)
	e := &engine{db: db, gate: g, policySum: sum, governor: governor}
	var sessions store.Sessions = db
	if elsewhere != nil {
		sessions, e.sessions = elsewhere, elsewhere
	}
	e.Memory, err = memory.Open(ctx, memory.Config{
		Ledger: db, Sessions: sessions, Gate: g, Actions: book.actions, SessionsOnly: !s.durable, Secret: o.secret,
		Log: o.log, SessionTTL: s.sessionTTL, EpisodeRetention: s.retention, AuditRetention: s.audit, Debounce: s.debounce, Lease: s.lease,
		ErasureKey: erasureKey(db), Erasures: journalOf(s, o.path), Screen: screen, Wish: wish, Now: o.now, Embedder: o.embedder, Extractor: extractorOf(s.extractor, s.values, store.ReadOnly(db), o.now),
	})
	if err == nil && s.durable {
		err = e.reapply(ctx, journalPath(s, o.path))
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// screen takes secrets out of a message before it is kept, and reads whether
// its speaker asked that it be kept nowhere.
func screen(text string) (string, bool) {
	clean, _ := policy.Redact(text)
	asked, _ := retention(text)
	return clean, asked == policy.WishNone
}

// wish reads what a message asks to forget.
func wish(text string) (string, bool) {
	asked, what := retention(text)
	return what, asked == policy.WishForget
}

// wishWithin is how much of a long message is read for a wish, at each end: a
// person who pastes a book says "off the record" before or after it.
const wishWithin = 4 << 10

func retention(text string) (policy.Wish, string) {
	if len(text) <= 2*wishWithin {
		return policy.Retention(text)
	}
	if asked, what := policy.Retention(strings.ToValidUTF8(text[:wishWithin], "")); asked != policy.WishKeep {
		return asked, what
	}
	return policy.Retention(strings.ToValidUTF8(text[len(text)-wishWithin:], ""))
}

// fenceSecret keys the fence around rendered memory: the configured secret, or
// one derived from the database's key, so that the fence of a session is the
// same in every run of the command.
func fenceSecret(s settings, path string) []byte {
	if len(s.fence) > 0 {
		return s.fence
	}
	key := s.masterKey
	if len(key) == 0 {
		key, _ = os.ReadFile(path + ".key")
	}
	if len(key) == 0 {
		return nil // the engine draws one
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("tenet fence secret"))
	return h.Sum(nil)
}

// scope is whose memory the command is about.
func (a *app) scope() (tenet.Scope, error) {
	if a.set.subject == nil {
		return tenet.Scope{}, tenet.Errorf(tenet.Invalid, "usage", "say whose memory it is: --user, --project or --subject")
	}
	return tenet.NewScope(a.set.tenant, *a.set.subject)
}

// scopes is the scope and the wider ones that are read with it.
func (a *app) scopes(also []string) (tenet.Scope, []tenet.Scope, error) {
	scope, err := a.scope()
	if err != nil {
		return scope, nil, err
	}
	var more []tenet.Scope
	for _, s := range also {
		sub, err := tenet.ParseSubject(s)
		if err != nil {
			return scope, nil, tenet.Errorf(tenet.Invalid, "usage", "--also: want user:ID, project:ID or tenant")
		}
		w, err := tenet.NewScope(a.set.tenant, sub)
		if err != nil {
			return scope, nil, err
		}
		more = append(more, w)
	}
	return scope, more, nil
}

// answering is who answers for a memory, and the memory: an operator unless the
// command was told otherwise.
func (a *app) answering() (by tenet.Principal, m backend, err error) {
	if by, err = a.principal(tenet.Operator); err == nil {
		m, err = a.engine(reads)
	}
	return by, m, err
}

// principal is who acts: what --as says, or the command's default.
func (a *app) principal(def tenet.PrincipalKind) (tenet.Principal, error) {
	kind := def
	if a.set.asGiven {
		kind = a.set.as
	}
	p, err := tenet.NewPrincipal(kind, a.set.tenant, a.set.actor)
	if err != nil {
		return p, err
	}
	if len(a.set.owns) > 0 {
		if kind != tenet.Connector {
			return p, tenet.Errorf(tenet.Invalid, "usage", "only a connector owns keys")
		}
		p = p.Owning(a.set.owns...)
	}
	return p, nil
}

// text is an argument, or standard input without its last line end when the
// argument is "-".
func (a *app) text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := a.input(tenet.MaxMessage)
	return strings.TrimSuffix(string(b), "\n"), err
}

// input is standard input as it is, at most limit bytes.
func (a *app) input(limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(a.in, int64(limit)+1))
	if err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "read", "standard input cannot be read")
	}
	if len(b) > limit {
		return nil, tenet.Errorf(tenet.Invalid, "read", "standard input is over %d bytes", limit)
	}
	return b, nil
}
