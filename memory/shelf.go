package memory

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// Kept is a version in a batch.
type Kept = store.Kept

// MaxBatch is how many versions one PutAll, Named or Remove may name.
const MaxBatch = 500

// PutAll keeps versions of one thread, all or none. The first of an id stays
// unless a later one replaces it, so a repeated batch is harmless. Blobs need
// ID, Data and what else they carry; keep is Put's.
func (t *Threads) PutAll(ctx context.Context, thread string, bs []store.Kept, keep time.Duration) error {
	if err := t.shelfOr(thread, len(bs)); err != nil {
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
	if err := t.shelfOr(thread, limit); err != nil {
		return nil, err
	}
	for what, s := range map[string]string{"prefix": prefix, "below": below} {
		if s != "" {
			if err := checkName(what, s, tenet.MaxID); err != nil {
				return nil, err
			}
		}
	}
	bs, err := t.shelf.Find(ctx, t.scope, thread, prefix, below, limit)
	return t.live(bs), err
}

// Named returns those of the named versions that the thread has, in no order.
func (t *Threads) Named(ctx context.Context, thread string, ids []string) ([]tenet.Blob, error) {
	if err := t.shelfOr(thread, len(ids)); err != nil {
		return nil, err
	}
	bs, err := t.shelf.Named(ctx, t.scope, thread, ids)
	return t.live(bs), err
}

// Remove removes the named versions and returns how many there were.
func (t *Threads) Remove(ctx context.Context, thread string, ids []string) (int, error) {
	if err := t.shelfOr(thread, len(ids)); err != nil {
		return 0, err
	}
	return t.shelf.Remove(ctx, t.scope, thread, ids)
}

// Names lists the threads whose name begins with prefix, by name, after the
// given one, at most limit.
func (t *Threads) Names(ctx context.Context, prefix, after string, limit int) ([]tenet.Thread, error) {
	if err := t.shelfOr("any", limit); err != nil {
		return nil, err
	}
	if err := tenet.CheckText("prefix", prefix); err != nil {
		return nil, err
	}
	return t.shelf.Threads(ctx, t.scope, t.now(), prefix, after, limit)
}

func (t *Threads) shelfOr(thread string, n int) error {
	if t.shelf == nil {
		return tenet.Errorf(tenet.Unavailable, "threads", "the store keeps no batches of versions")
	}
	if n <= 0 || n > MaxBatch+1 {
		return tenet.Errorf(tenet.Invalid, "thread", "%d versions, want 1 to %d", n, MaxBatch)
	}
	return checkName("thread", thread, tenet.MaxID)
}

func (t *Threads) live(bs []tenet.Blob) []tenet.Blob {
	live := make([]tenet.Blob, 0, len(bs))
	for _, b := range bs {
		if !t.over(b) {
			live = append(live, b)
		}
	}
	return live
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
