package tenet

import "time"

// Session is one conversation: the tier that lives as long as the thread. It
// lists at creation the scopes it may read and the one it writes.
type Session struct {
	ID         SessionID     `json:"id"`
	Scope      Scope         `json:"scope"` // the scope it writes
	Reads      []Scope       `json:"reads"` // what it may read, its own scope first
	TTL        time.Duration `json:"ttl"`   // how long after the last append its log is kept; zero: for ever
	RetainNone bool          `json:"retain_none,omitempty"`

	CreatedAt    time.Time `json:"created_at"`
	EndedAt      time.Time `json:"ended_at,omitzero"` // ended or expired: no more appends
	LastAt       time.Time `json:"last_at"`           // the last append
	Length       int64     `json:"length"`            // position of the last message
	Consolidated int64     `json:"consolidated"`      // messages up to here have been consolidated
	DueAt        time.Time `json:"due_at,omitzero"`   // when consolidation is due; zero: nothing to do
	Attempts     int       `json:"attempts,omitempty"`
	LastCode     Code      `json:"last_code,omitempty"` // why the last attempt failed
}

// Receipt is what a context or recall served: ids only, never text. It
// answers "what did the agent have in front of it".
type Receipt struct {
	ID       string     `json:"id"`
	Session  SessionID  `json:"session"`
	At       time.Time  `json:"at"`
	Facts    []RecordID `json:"facts,omitempty"`
	Recalled []RecordID `json:"recalled,omitempty"`
	Pending  []int64    `json:"pending,omitempty"` // positions of unconfirmed user statements shown
	Lowest   Label      `json:"lowest,omitempty"`  // the lowest label among what was served
	Tokens   int        `json:"tokens"`
}

// Blob is one version of a framework's own state, kept byte for byte. Blobs of
// a thread form a tree by Parent; Tenet never looks inside.
type Blob struct {
	Thread    string    `json:"thread"`
	ID        string    `json:"id"`
	Parent    string    `json:"parent,omitempty"`
	Data      []byte    `json:"data"`
	Meta      []byte    `json:"meta,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Thread is a thread as a list shows it.
type Thread struct {
	Name string `json:"name"`
	// NewestAt is when its newest version was kept, by the server's clock.
	NewestAt time.Time `json:"newest_at"`
}
