package store

import "context"

// Checker looks at a database as a whole, beside what the chains answer for.
type Checker interface {
	// Check looks at the tenant's rows: that each belongs to a subject, a
	// session or a thread that is there, that no key has two open rows, and that
	// the links of every chain hold, those of erased subjects included. It
	// repairs nothing.
	Check(ctx context.Context, tenant string) ([]Fault, error)
	// Recount sets the heads of the tenant's scopes to what they keep, and returns
	// how many were wrong.
	Recount(ctx context.Context, tenant string) (int, error)
}

// Fault is one thing that is wrong.
type Fault struct {
	Place string `json:"place"` // a table, or a chain
	What  string `json:"what"`
	Rows  int    `json:"rows,omitempty"`
}

// Backup copies a whole database while it is in use.
type Backup interface {
	// Backup writes a copy, as of one instant, to a new file.
	Backup(ctx context.Context, path string) error
}
