package storetest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var _ store.Shelf = (*Oracle)(nil)

// PutAll implements store.Shelf.
func (o *Oracle) PutAll(ctx context.Context, scope tenet.Scope, thread string, bs []store.Kept) error {
	s, err := o.enter(ctx, "put all", scope)
	defer o.mu.Unlock()
	if err != nil {
		return err
	}
	if thread == "" || len(bs) == 0 || slices.ContainsFunc(bs, func(b store.Kept) bool { return b.ID == "" }) {
		return tenet.Errorf(tenet.Invalid, "put all", "no thread, no versions or no id")
	}
	kept := slices.Clone(s.threads[thread])
	for _, b := range bs {
		is := func(k tenet.Blob) bool { return k.ID == b.ID }
		if b.Replace {
			kept = slices.DeleteFunc(kept, is)
		}
		if slices.ContainsFunc(kept, is) {
			continue
		}
		b.Thread, b.Data, b.Meta = thread, bytes.Clone(b.Data), bytes.Clone(b.Meta)
		b.CreatedAt, b.ExpiresAt = tenet.Micros(b.CreatedAt), tenet.Micros(b.ExpiresAt)
		kept = append(kept, b.Blob)
	}
	s.threads[thread] = kept
	return nil
}

// Find implements store.Shelf.
func (o *Oracle) Find(ctx context.Context, scope tenet.Scope, now time.Time, thread, prefix, below string, limit int) ([]tenet.Blob, error) {
	s, err := o.enter(ctx, "find", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Blob
	for _, b := range s.threads[thread] {
		if strings.HasPrefix(b.ID, prefix) && !over(b, now) && (below == "" || b.ID < below) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b tenet.Blob) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(limit, len(out))], nil
}

// Named implements store.Shelf.
func (o *Oracle) Named(ctx context.Context, scope tenet.Scope, thread string, ids []string) ([]tenet.Blob, error) {
	s, err := o.enter(ctx, "named", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(s.threads[thread]), func(b tenet.Blob) bool { return !slices.Contains(ids, b.ID) }), nil
}

// Remove implements store.Shelf.
func (o *Oracle) Remove(ctx context.Context, scope tenet.Scope, thread string, ids []string) (int, error) {
	s, err := o.enter(ctx, "remove", scope)
	defer o.mu.Unlock()
	if err != nil {
		return 0, err
	}
	had := len(s.threads[thread])
	if s.frozen != 0 && had > 0 {
		return 0, store.HeldBack("remove")
	}
	left := slices.DeleteFunc(slices.Clone(s.threads[thread]), func(b tenet.Blob) bool { return slices.Contains(ids, b.ID) })
	if s.threads[thread] = left; len(left) == 0 {
		delete(s.threads, thread)
	}
	return had - len(left), nil
}

// Threads implements store.Shelf.
func (o *Oracle) Threads(ctx context.Context, scope tenet.Scope, now time.Time, prefix, after string, limit int) ([]tenet.Thread, error) {
	s, err := o.enter(ctx, "threads", scope)
	defer o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []tenet.Thread
	for name, bs := range s.threads {
		if !strings.HasPrefix(name, prefix) || name <= after {
			continue
		}
		for _, b := range slices.Backward(bs) {
			if !over(b, now) {
				out = append(out, tenet.Thread{Name: name, NewestAt: b.CreatedAt})
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b tenet.Thread) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(limit, len(out))], nil
}
