package tenet

import (
	"slices"
	"time"
)

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

// Receipt is what a context or recall served: ids and numbers, never text. It
// answers "what did the agent have in front of it, and why".
type Receipt struct {
	ID       string     `json:"id"`
	Session  SessionID  `json:"session"`
	At       time.Time  `json:"at"`
	Facts    []RecordID `json:"facts,omitempty"`
	Recalled []RecordID `json:"recalled,omitempty"`
	Scores   []Score    `json:"scores,omitempty"`  // of Recalled, one for each; none in receipts older than scores
	Pending  []int64    `json:"pending,omitempty"` // positions of unconfirmed user statements shown
	Lowest   Label      `json:"lowest,omitempty"`  // the lowest label among what was served
	Tokens   int        `json:"tokens"`
}

// Score takes apart what brought a record into a window, in ten-thousandths.
type Score struct {
	Turn       int32 `json:"turn,omitempty"`       // its own words
	Window     int32 `json:"window,omitempty"`     // its words and its neighbours'
	Session    int32 `json:"session,omitempty"`    // its session as one text
	Near       int32 `json:"near,omitempty"`       // words of the question that stand together in it
	Speaker    int32 `json:"speaker,omitempty"`    // said by someone whom the question names
	Preference int32 `json:"preference,omitempty"` // a preference, and the question asks for advice
	Time       int32 `json:"time,omitempty"`       // inside the time the question names
	Standing   int32 `json:"standing,omitempty"`   // an instruction for every question
	Dense      int32 `json:"dense,omitempty"`      // near in meaning
	Exact      int32 `json:"exact,omitempty"`      // quoted, or named by id or key
}

// Without takes what is gone out of a receipt.
func (r Receipt) Without(gone func(RecordID) bool) Receipt {
	r.Facts = slices.DeleteFunc(slices.Clone(r.Facts), gone)
	recalled, scores := r.Recalled, r.Scores
	r.Recalled, r.Scores = nil, nil
	for i, id := range recalled {
		if gone(id) {
			continue
		}
		r.Recalled = append(r.Recalled, id)
		if i < len(scores) {
			r.Scores = append(r.Scores, scores[i])
		}
	}
	return r
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
