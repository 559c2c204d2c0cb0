package memory

import (
	"context"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// Kept is a version in a batch.
type Kept = store.Kept

// MaxBatch is how many versions one PutAll, Named or Remove may name, and how
// many of them, or of threads, one page holds. A page may be asked for with one
// more, which tells whether another follows.
const MaxBatch = 500

// PutAll keeps versions of one thread, all or none. The first of an id stays
// unless a later one replaces it, so a repeated batch is harmless. Blobs need
// ID, Data and what else they carry; keep is Put's.
func (t *Threads) PutAll(ctx context.Context, thread string, bs []store.Kept, keep time.Duration) error {
	if err := t.batch(thread, len(bs), MaxBatch); err != nil {
		return err
	}
	if keep < 0 {
		return tenet.Errorf(tenet.Invalid, "thread", "a negative time to keep")
	}
	orElse(&keep, t.ttl)
	now := t.now()
	for i := range bs {
		b := &bs[i]
		if err := checkBlob(b.Blob); err != nil {
			return err
		}
		b.Thread, b.CreatedAt, b.ExpiresAt = thread, now, time.Time{}
		if keep > 0 {
			b.ExpiresAt = now.Add(keep)
		}
	}
	return onceOnly(ctx, t.by, now, func(ctx context.Context) error { return t.shelf.PutAll(ctx, t.scope, thread, bs) })
}

// Find returns versions whose id begins with prefix, highest id first, below
// the given id (empty: from the highest), at most limit.
func (t *Threads) Find(ctx context.Context, thread, prefix, below string, limit int) ([]tenet.Blob, error) {
	if err := t.batch(thread, limit, MaxBatch+1); err != nil {
		return nil, err
	}
	for what, s := range map[string]string{"prefix": prefix, "below": below} {
		if s != "" {
			if err := checkName(what, s, tenet.MaxID); err != nil {
				return nil, err
			}
		}
	}
	bs, err := t.shelf.Find(ctx, t.scope, t.now(), thread, prefix, below, limit)
	return orEmpty(bs), err
}

// Named returns those of the named versions that the thread has, in no order.
func (t *Threads) Named(ctx context.Context, thread string, ids []string) ([]tenet.Blob, error) {
	if err := t.batch(thread, len(ids), MaxBatch); err != nil {
		return nil, err
	}
	bs, err := t.shelf.Named(ctx, t.scope, thread, ids)
	return orEmpty(slices.DeleteFunc(bs, t.over)), err
}

// Remove removes the named versions and returns how many there were.
func (t *Threads) Remove(ctx context.Context, thread string, ids []string) (int, error) {
	if err := t.batch(thread, len(ids), MaxBatch); err != nil {
		return 0, err
	}
	return t.shelf.Remove(ctx, t.scope, thread, ids)
}

// Names lists the threads whose name begins with prefix, by name, after the
// given one, at most limit.
func (t *Threads) Names(ctx context.Context, prefix, after string, limit int) ([]tenet.Thread, error) {
	if err := t.shelved(limit, MaxBatch+1); err != nil {
		return nil, err
	}
	if err := tenet.CheckText("prefix", prefix); err != nil {
		return nil, err
	}
	return t.shelf.Threads(ctx, t.scope, t.now(), prefix, after, limit)
}

// shelved checks that there is a shelf, and that n of its things are not too
// many.
func (t *Threads) shelved(n, most int) error {
	if t.shelf == nil {
		return tenet.Errorf(tenet.Unavailable, "threads", "the store keeps no batches of versions")
	}
	if n <= 0 || n > most {
		return tenet.Errorf(tenet.Invalid, "thread", "%d at once, want 1 to %d", n, most)
	}
	return nil
}

// batch is shelved for versions of one thread.
func (t *Threads) batch(thread string, n, most int) error {
	if err := t.shelved(n, most); err != nil {
		return err
	}
	return checkName("thread", thread, tenet.MaxID)
}

// checkBlob checks what a version is called and how large it is.
func checkBlob(b tenet.Blob) error {
	if err := checkName("version id", b.ID, tenet.MaxID); err != nil {
		return err
	}
	if b.Parent != "" {
		if err := checkName("parent", b.Parent, tenet.MaxID); err != nil {
			return err
		}
	}
	if len(b.Data) > MaxBlob || len(b.Meta) > MaxBlob/4 {
		return tenet.Errorf(tenet.Invalid, "thread",
			"%d bytes and %d of metadata, the limits are %d and %d", len(b.Data), len(b.Meta), MaxBlob, MaxBlob/4)
	}
	return nil
}
