package memory

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// Threads keeps a framework's own state in one scope: opaque versions with
// parents, byte for byte. It is never searched and never a source of memory.
type Threads struct {
	by      tenet.Principal
	scope   tenet.Scope
	threads store.Threads
	shelf   store.Shelf // nil: no batches
	ttl     time.Duration
	now     func() time.Time
}

// Threads returns the handle. It returns a Denied error when the principal may
// not act in the scope, and Unavailable without a store for threads.
func (m *Memory) Threads(by tenet.Principal, scope tenet.Scope) (*Threads, error) {
	if err := reach("threads", by, scope); err != nil {
		return nil, err
	}
	if m.threads == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "threads", "no store for threads")
	}
	t := &Threads{by: by, scope: scope, threads: store.OnlyThreads(m.threads), ttl: m.cfg.ThreadTTL, now: m.now}
	if s, ok := m.threads.(store.Shelf); ok {
		t.shelf = store.OnlyShelf(s)
	}
	return t, nil
}

// MaxBlob is the largest version of a thread, in bytes; its metadata may take
// a quarter of that beside it.
const MaxBlob = 1 << 20

// Put keeps a version. The same id with the same bytes is a harmless retry;
// with other bytes it is a Conflict. With strict, the parent must be the
// thread's newest version. keep is how long (zero: the engine's ThreadTTL).
func (t *Threads) Put(ctx context.Context, b tenet.Blob, keep time.Duration, strict bool) (tenet.Blob, error) {
	if err := checkName("thread", b.Thread, tenet.MaxID); err != nil {
		return tenet.Blob{}, err
	}
	if err := checkBlob(b); err != nil {
		return tenet.Blob{}, err
	}
	if keep < 0 {
		return tenet.Blob{}, tenet.Errorf(tenet.Invalid, "thread", "a negative time to keep")
	}
	orElse(&keep, t.ttl)
	b.CreatedAt, b.ExpiresAt = t.now(), time.Time{}
	if keep > 0 {
		b.ExpiresAt = b.CreatedAt.Add(keep)
	}
	return b, onceOnly(ctx, t.by, b.CreatedAt, func(ctx context.Context) error {
		return t.threads.Put(ctx, t.scope, b, strict)
	})
}

// Get returns a version, or the newest when id is empty. One past its time is
// NotFound.
func (t *Threads) Get(ctx context.Context, thread, id string) (tenet.Blob, error) {
	if err := checkName("thread", thread, tenet.MaxID); err != nil {
		return tenet.Blob{}, err
	}
	b, err := t.threads.Get(ctx, t.scope, thread, id)
	if err == nil && t.over(b) {
		return tenet.Blob{}, tenet.Errorf(tenet.NotFound, "thread", "the version's time is over")
	}
	return b, err
}

// List returns versions newest first, after the given id (empty: from the
// newest), at most limit.
func (t *Threads) List(ctx context.Context, thread, after string, limit int) ([]tenet.Blob, error) {
	if err := checkName("thread", thread, tenet.MaxID); err != nil {
		return nil, err
	}
	if limit <= 0 {
		return nil, tenet.Errorf(tenet.Invalid, "thread", "limit must be positive")
	}
	bs, err := t.threads.List(ctx, t.scope, t.now(), thread, after, limit)
	return orEmpty(bs), err
}

// Drop removes a thread with all its versions and returns how many.
func (t *Threads) Drop(ctx context.Context, thread string) (int, error) {
	if err := checkName("thread", thread, tenet.MaxID); err != nil {
		return 0, err
	}
	return t.threads.Drop(ctx, t.scope, thread)
}

func (t *Threads) over(b tenet.Blob) bool {
	return !b.ExpiresAt.IsZero() && !b.ExpiresAt.After(t.now())
}
