package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/postgres"
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
	gate      *gate.Gate
	policySum []byte // digest of the policy file that was read
	governor  store.Governor
}

func (e *engine) close() error { return e.db.Close() }

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
		e, err = openSQLite(a.ctx, a.set, engineOptions{path: a.set.store.path, embedder: emb})
	case "postgres":
		e, err = openPostgres(a.ctx, a.set, emb)
	default:
		return nil, tenet.Errorf(tenet.Unavailable, "open", "store: %s is not built yet; use a file or postgres://", a.set.store.scheme)
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
}

func openSQLite(ctx context.Context, s settings, o engineOptions) (*engine, error) {
	db, err := sqlite.Open(ctx, o.path, sqlite.Options{MasterKey: s.masterKey})
	if err != nil {
		return nil, err
	}
	if len(o.secret) == 0 {
		o.secret = fenceSecret(s, o.path)
	}
	return newEngine(ctx, s, db, o)
}

// openPostgres opens a database that other processes may share, so the key
// that its texts are sealed with comes from the configuration.
func openPostgres(ctx context.Context, s settings, emb model.Embedder) (*engine, error) {
	if len(s.masterKey) == 0 {
		return nil, tenet.Errorf(tenet.Invalid, "config", "master_key: PostgreSQL needs one, 64 hexadecimal digits, the same for every process")
	}
	db, err := postgres.Open(ctx, s.store.path, postgres.Options{MasterKey: s.masterKey})
	if err != nil {
		return nil, err
	}
	return newEngine(ctx, s, db, engineOptions{secret: fenceSecret(s, ""), embedder: emb})
}

// database stands behind both ports of an engine.
type database interface {
	store.Ledger
	store.Sessions
}

func newEngine(ctx context.Context, s settings, db database, o engineOptions) (*engine, error) {
	book, sum := openPolicy(s.policy)
	governor, _ := db.(store.Governor)
	m, err := memory.Open(ctx, memory.Config{
		Ledger: db, Sessions: db, Gate: book.gate, Actions: book.actions, SessionsOnly: !s.durable, Secret: o.secret,
		SessionTTL: s.sessionTTL, EpisodeRetention: s.retention, Debounce: s.debounce, Lease: s.lease,
		Screen: screen, Wish: wish, Now: o.now, Embedder: o.embedder, Extractor: extractorOf(s.extractor, s.values, store.ReadOnly(db), o.now),
	})
	if err != nil {
		db.Close()
		return nil, err
	}
	return &engine{Memory: m, db: db, gate: book.gate, policySum: sum, governor: governor}, nil
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
	b, err := io.ReadAll(io.LimitReader(a.in, tenet.MaxMessage+1))
	if err != nil {
		return "", tenet.Errorf(tenet.Unavailable, "read", "standard input cannot be read")
	}
	if len(b) > tenet.MaxMessage {
		return "", tenet.Errorf(tenet.Invalid, "read", "standard input is over %d bytes", tenet.MaxMessage)
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}
