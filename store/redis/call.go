package redis

import (
	"context"
	"embed"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// system is what spans call this store.
const system = "redis"

//go:embed lua/*.lua
var sources embed.FS

// preludes are what a script needs before it beside lib.lua.
var preludes = map[string][]string{
	"append": {"write", "session"}, "propose": {"write", "session"}, "serve": {"write", "session"}, "end": {"write", "session"},
	"ack": {"write", "session"}, "hold": {"write", "session"}, "checkpoint": {"write", "session"}, "claim": {"write", "session"},
	"settle": {"write", "session"}, "delete": {"write", "session"}, "ensure": {"write"}, "putback": {"write"}, "put": {"write"}, "putall": {"write"},
}

func loadScripts() map[string]*redis.Script {
	out := map[string]*redis.Script{}
	files, _ := fs.Glob(sources, "lua/*.lua")
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(f, "lua/"), ".lua")
		var b strings.Builder
		for _, part := range append(append([]string{"lib"}, preludes[name]...), name) {
			text, _ := sources.ReadFile("lua/" + part + ".lua")
			b.Write(text)
		}
		out[name] = redis.NewScript(b.String())
	}
	return out
}

// run runs one script in a shard.
func (db *DB) run(ctx context.Context, op string, name trace.Word, tag string, args ...any) (r reply, err error) {
	err = db.reach(ctx, op, name, func(ctx context.Context) error {
		v, err := db.scripts[string(name)].Run(ctx, db.client, []string{tag}, args...).Slice()
		r = v
		return err
	})
	return r, err
}

// reach is one call of the server, through the circuit and within the store's
// time. A context that ended is an error even if the call would have been quick.
func (db *DB) reach(ctx context.Context, op string, name trace.Word, f func(context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		return failure(op, err)
	}
	if err := db.circuit.Enter(op); err != nil {
		return err
	}
	var met store.Reached
	defer func() { db.circuit.Leave(met) }()
	caller := ctx
	ctx, span := trace.Ask(ctx, system, name)
	defer func() { span.End(err) }()
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	err = f(ctx)
	met = reached(caller, err)
	return failure(op, err)
}

// reply is what a script answered: a word first.
type reply []any

func (r reply) word() string { return r.str(0) }

func (r reply) str(i int) string {
	if i >= len(r) {
		return ""
	}
	s, _ := r[i].(string)
	return s
}

func (r reply) num(i int) int64 {
	if i >= len(r) {
		return 0
	}
	n, _ := r[i].(int64)
	return n
}

func (r reply) list(i int) reply {
	if i >= len(r) {
		return nil
	}
	l, _ := r[i].([]any)
	return l
}

// verdict is the error that a reply's word stands for, if any.
func (r reply) verdict(op, what string) error {
	switch r.word() {
	case "ok":
		return nil
	case "nobody":
		return absent(op, what)
	case "absent":
		return absent(op, r.str(1))
	case "conflict":
		return conflict(op, r.str(1))
	case "invalid":
		return invalid(op, r.str(1))
	case "frozen":
		return store.HeldBack(op)
	case "erased":
		return store.ErasedBefore(op)
	case "effect":
		return &tenet.Error{Kind: tenet.Conflict, Op: op, Code: store.CodeEffectPayload, Reason: "the key was claimed with another payload"}
	case "payload":
		return &tenet.Error{Kind: tenet.Conflict, Op: "once", Code: store.CodeOncePayload, Reason: "the key was used for another request"}
	}
	return tenet.Errorf(tenet.Internal, op, "a script answered what it never says")
}

// retry is when to try again after a failure that passes by itself.
const retry = time.Second

// failure turns an error into Tenet's. The server's text stays behind.
func failure(op string, err error) error {
	var te *tenet.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &te):
		return te
	case errors.Is(err, context.Canceled):
		return &tenet.Error{Kind: tenet.Unavailable, Op: op, Reason: "the context ended", Err: context.Canceled}
	case errors.Is(err, context.DeadlineExceeded):
		return &tenet.Error{Kind: tenet.Unavailable, Op: op, Reason: "the context ended", Err: context.DeadlineExceeded, After: retry}
	}
	kind, reason := tenet.Unavailable, ""
	switch {
	case refusal(err, "OOM"):
		reason = "the session store is out of memory"
	case refusal(err, "READONLY"), refusal(err, "MASTERDOWN"), refusal(err, "NOREPLICAS"), refusal(err, "CLUSTERDOWN"), refusal(err, "TRYAGAIN"):
		reason = "the session store takes no writes just now"
	case refusal(err, "LOADING"), refusal(err, "BUSY"):
		reason = "the session store is busy"
	case refusal(err, "MISCONF"):
		reason = "the session store cannot save to its disk"
	case refusal(err, "NOAUTH"), refusal(err, "WRONGPASS"), refusal(err, "NOPERM"):
		reason = "the session store refused the login, or a command to it"
	case refusal(err, "MOVED"), refusal(err, "ASK"):
		reason = "the cluster is moving"
	case refusal(err, "CROSSSLOT"):
		kind, reason = tenet.Internal, "a command crossed slots"
	case errors.Is(err, redis.ErrClosed):
		reason = "the session store is closed"
	case errors.Is(err, redis.ErrPoolTimeout):
		reason = "no connection to the session store came free"
	case away(err):
		reason = "the session store cannot be reached"
	default:
		kind, reason = tenet.Internal, "unexpected failure of the session store"
	}
	e := tenet.Errorf(kind, op, "%s", reason)
	if kind == tenet.Unavailable {
		e.After = retry
	}
	return e
}

// refusal reports whether the server answered with an error of that code,
// within a script too.
func refusal(err error, code string) bool {
	var re redis.Error
	if !errors.As(err, &re) {
		return false
	}
	text := re.Error()
	return strings.HasPrefix(text, code+" ") || strings.Contains(text, "-"+code+" ")
}

// away reports whether the server could not be reached or is of no use, which
// the circuit counts. A caller whose own patience ended says nothing of it.
func away(err error) bool {
	var ne net.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case refusal(err, "LOADING"), refusal(err, "CLUSTERDOWN"), refusal(err, "MASTERDOWN"):
		return true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, net.ErrClosed):
		return true
	}
	return errors.As(err, &ne) && !errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "i/o timeout")
}

// reached is what a call that ended so says of the server; caller is the
// context before the store set a time of its own.
func reached(caller context.Context, err error) store.Reached {
	switch {
	case err == nil:
		return store.Answered
	case caller.Err() != nil:
		return store.Unsure
	case away(err), errors.Is(err, context.DeadlineExceeded):
		return store.Away
	}
	return store.Answered
}

func conflict(op, why string) error { return tenet.Errorf(tenet.Conflict, op, "%s", why) }
func absent(op, what string) error  { return tenet.Errorf(tenet.NotFound, op, "no such %s", what) }
func invalid(op, why string) error  { return tenet.Errorf(tenet.Invalid, op, "%s", why) }
