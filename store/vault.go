package store

import "context"

// Vault keeps the subjects' data keys, wrapped, apart from the database that
// is sealed with them, so that no copy of the database holds them. What a
// method has written is durable when it returns.
type Vault interface {
	// ID tells this vault from others. It does not change.
	ID() []byte
	// Keep keeps the key of a new surrogate.
	Keep(ctx context.Context, scope int64, wrapped []byte) error
	// Kept is a surrogate's key: nil when it was destroyed, NotFound when the
	// vault never held it.
	Kept(ctx context.Context, scope int64) ([]byte, error)
	// Destroy overwrites keys. What they sealed cannot be read any more.
	Destroy(ctx context.Context, scopes []int64) error
	// Destroyed lists in order the surrogates after the given one whose keys were
	// destroyed, at most limit.
	Destroyed(ctx context.Context, after int64, limit int) ([]int64, error)
	// Rewrap calls wrap for each key and keeps what it returns; nil leaves a key
	// as it is. It returns how many it changed.
	Rewrap(ctx context.Context, wrap func(scope int64, wrapped []byte) ([]byte, error)) (int, error)
}
