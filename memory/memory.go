// Package memory is the engine: it joins the gate, the stores and recall into
// what a host program uses. Session is the hot path and can only read durable
// memory; Remember, consolidation and Operator are the ways a candidate
// reaches the gate and, through it, the ledger.
//
// It imports tenet, gate, store, recall, forget and model, and names no
// database, transport or vendor. It starts no goroutine of its own: Run is the
// caller's.
package memory

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/forget"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/recall"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// Config is what an engine is made of. Ledger, Sessions and Gate are required;
// every other zero field means its default.
type Config struct {
	Ledger   store.Ledger // nil only with SessionsOnly
	Sessions store.Sessions
	Gate     *gate.Gate

	// Runs, Threads, Documents and Onces are further ports. Default: Sessions or
	// Ledger, when it is one; without a port its calls are Unavailable.
	Runs      store.Runs
	Threads   store.Threads
	Documents store.Documents
	Onces     store.Onces
	Deleter   store.Deleter

	// SessionsOnly runs without a durable tier: sessions work, durable calls
	// are Unavailable. It is the first step of adopting Tenet.
	SessionsOnly bool
	// Extractor proposes records from finished stretches. Default: Verbatim.
	Extractor model.Extractor
	// Screen looks at a message before it is kept: it returns the text with
	// secrets replaced by placeholders, and whether the speaker asked that it
	// be retained nowhere. Default: every text is kept as it is.
	Screen func(text string) (clean string, retainNone bool)
	// Wish reads what a user's message asks to forget, in the person's words.
	// Default: nothing is read.
	Wish func(text string) (what string, asked bool)
	// Governor and Served answer for memory as a whole: what to age out, what
	// came from where, who was shown it. Default: the ledger and the sessions,
	// when they can.
	Governor store.Governor
	Served   store.Served
	// Actions says what a session's context must be like for an action; see
	// Session.Authorize. They add to DefaultActions and can only tighten them.
	Actions []ActionRule
	// Classifier may ask that a candidate be held. It runs in consolidation,
	// never in a turn; ClassifierPatience bounds it (default 500 ms), and past
	// that, or when it fails, nothing changes.
	Classifier         Classifier
	ClassifierPatience time.Duration
	// Recall is the ranking. Default: recall.DefaultParams.
	Recall *recall.Params
	// Tokens counts the tokens of a text, for budgets. Default: EstimateTokens.
	Tokens func(string) int
	// Secret keys the fence around rendered memory. Give the same one to all
	// replicas, so that prompt caches survive a restart. Default: random.
	Secret []byte
	// SessionTTL is how long after its last message a session's log is kept
	// (messages that are not consolidated yet are kept in any case). Default:
	// 0, for ever.
	SessionTTL time.Duration
	// EpisodeRetention is how long after it was said a verbatim turn keeps its
	// text. Default: 0, for ever.
	EpisodeRetention time.Duration
	// AuditRetention is how long an audit is kept that nothing needs: entries of
	// what lives, and of what is held, stay in any case. Default: 0, for ever;
	// else 30 days at least, and no shorter than the other windows.
	AuditRetention time.Duration
	// Debounce is how long after a message consolidation becomes due, so that
	// a turn is consolidated when it is over. Default: 30 s; End doesn't wait.
	Debounce time.Duration
	// Lease is how long a worker may take over one session. Default: 1 min.
	Lease time.Duration
	// MaxAttempts is how often a session's consolidation is tried before it is
	// given up until somebody retries it. Default: 10, over 17 minutes.
	MaxAttempts int
	// KeepCheckpoints is how many versions of a session's checkpoint stay.
	// Default: 20.
	KeepCheckpoints int
	// ThreadTTL is how long a version of a thread is kept when its writer does
	// not say. Default: 0, for ever.
	ThreadTTL time.Duration
	// Embedder adds dense retrieval. Default: none, recall by words.
	Embedder model.Embedder
	// Vectors keeps what the embedder makes. Default: the ledger, if it can.
	Vectors store.Vectors
	// Nearness searches vectors in the ledger, for scopes that have an index
	// there. Default: the ledger, if it can.
	Nearness store.Nearness
	// EmbedPatience bounds the embedding of one query; past it the recall goes
	// on by words and says so. Default: 1 s.
	EmbedPatience time.Duration
	// Retention keeps outcomes, pins and what is dormant; Servings knows what was
	// served. Default: Ledger and Sessions, when they can.
	Retention store.Retention
	Servings  store.Servings
	// Instruments counts what waits and what was served. Default: Sessions, when
	// they can; without it those numbers are left out.
	Instruments store.Instruments
	// Eraser makes things gone. Default: the ledger, if it can. ErasureKey signs
	// receipts and the journal; give the same one at every start. Default: random.
	// Erasures is the journal, outside the database, that a restore reads: without one, a backup
	// brings back what was erased after it was made.
	Eraser     store.Eraser
	ErasureKey ed25519.PrivateKey
	Erasures   Sink
	// Forget is the policy of forgetting. Default: forget.DefaultParams.
	Forget *forget.Params
	// EntryBudget is how many notes, episodes and documents a person's scope
	// may hold before those that nothing asks for go dormant. Default: 20,000.
	EntryBudget int
	// IndexEntries bounds the recall entries held in RAM over all scopes.
	// Default: 2 million.
	IndexEntries int
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log receives what no caller would see. Never memory text. Default: none.
	Log *slog.Logger
}

// Memory is the engine. It is safe for concurrent use and holds nothing that
// cannot be rebuilt from its stores.
type Memory struct {
	ledger    store.Ledger
	sessions  store.Sessions
	runs      store.Runs
	threads   store.Threads
	documents store.Documents
	onces     store.Onces
	gate      *gate.Gate
	extract   model.Extractor
	indexes   *indexes
	tokens    func(string) int
	secret    []byte
	cfg       Config
	now       func() time.Time
	log       *slog.Logger
	counts    counts
	actions   atomic.Pointer[map[string]ActionRule]
	cutAt     atomic.Int64 // when audits were cut last
}

// Open makes an engine over opened stores, which stay the caller's to close.
// It returns an Invalid error when a required part is missing.
func Open(_ context.Context, c Config) (*Memory, error) {
	switch {
	case c.Sessions == nil:
		return nil, tenet.Errorf(tenet.Invalid, "open", "no session store")
	case c.Ledger == nil && !c.SessionsOnly:
		return nil, tenet.Errorf(tenet.Invalid, "open", "no ledger; set SessionsOnly to run without a durable tier")
	case c.Gate == nil && !c.SessionsOnly:
		return nil, tenet.Errorf(tenet.Invalid, "open", "no gate")
	}
	if c.SessionsOnly {
		c.Ledger = nil
	}
	if err := CheckAuditRetention(c.AuditRetention, c.EpisodeRetention, c.SessionTTL); err != nil {
		return nil, err
	}
	if _, ok := c.Ledger.(store.Cutter); c.AuditRetention != 0 && !ok {
		return nil, tenet.Errorf(tenet.Invalid, "open", "the ledger cannot cut its audit: set no retention of it")
	}
	orElse(&c.Debounce, 30*time.Second)
	orElse(&c.Lease, time.Minute)
	orElse(&c.MaxAttempts, 10)
	orElse(&c.IndexEntries, 2_000_000)
	orElse(&c.KeepCheckpoints, 20)
	portOr(&c.Runs, c.Sessions)
	portOr(&c.Threads, c.Sessions)
	portOr(&c.Documents, c.Ledger)
	portOr(&c.Onces, c.Ledger)
	portOr(&c.Deleter, c.Sessions)
	portOr(&c.Vectors, c.Ledger)
	portOr(&c.Nearness, c.Ledger)
	portOr(&c.Retention, c.Ledger)
	portOr(&c.Servings, c.Sessions)
	portOr(&c.Eraser, c.Ledger)
	portOr(&c.Instruments, c.Sessions)
	orElse(&c.EntryBudget, 20_000)
	if c.Forget == nil {
		p := forget.DefaultParams()
		c.Forget = &p
	}
	portOr(&c.Governor, c.Ledger)
	portOr(&c.Served, c.Sessions)
	orElse(&c.ClassifierPatience, 500*time.Millisecond)
	orElse(&c.EmbedPatience, time.Second)
	if c.Extractor == nil {
		c.Extractor = model.Verbatim{}
	}
	if c.Tokens == nil {
		c.Tokens = EstimateTokens
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = slog.New(trace.Log(c.Log.Handler()))
	if len(c.Secret) == 0 {
		c.Secret = make([]byte, 32)
		rand.Read(c.Secret)
	}
	switch n := len(c.ErasureKey); {
	case n != 0 && n != ed25519.PrivateKeySize:
		return nil, tenet.Errorf(tenet.Invalid, "open", "the key of erasures is %d bytes, want %d", n, ed25519.PrivateKeySize)
	case n == 0 && c.Erasures != nil:
		// The next start would make another, and refuse the journal of this one.
		return nil, tenet.Errorf(tenet.Invalid, "open", "a journal of erasures needs the key that signs it")
	case n == 0:
		_, c.ErasureKey, _ = ed25519.GenerateKey(nil)
	}
	params := recall.DefaultParams()
	if c.Recall != nil {
		params = *c.Recall
	}
	if _, err := recall.New(params); err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "open", "%v", err)
	}
	m := &Memory{
		ledger: c.Ledger, sessions: c.Sessions, gate: c.Gate, extract: c.Extractor, tokens: c.Tokens, secret: c.Secret,
		runs: c.Runs, threads: c.Threads, documents: c.Documents, onces: c.Onces,
		cfg: c, log: c.Log,
	}
	m.SetActions(c.Actions)
	m.now = func() time.Time { return tenet.Micros(c.Now()) }
	if c.Ledger != nil {
		m.indexes = &indexes{
			reader: store.ReadOnly(c.Ledger), params: params, budget: c.IndexEntries,
			embedder: c.Embedder, vectors: c.Vectors, nearness: c.Nearness, patience: c.EmbedPatience, retention: c.Retention,
		}
	}
	return m, nil
}

func orElse[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// portOr fills a port that was left out from a store that is one, too.
func portOr[P comparable](port *P, from any) {
	var none P
	if p, ok := from.(P); ok && *port == none {
		*port = p
	}
}

// durable returns an Unavailable error when there is no durable tier.
func (m *Memory) durable(op string) error {
	if m.ledger == nil {
		return tenet.Errorf(tenet.Unavailable, op, "the durable tier is off; sessions only")
	}
	return nil
}

// reach returns a Denied error when the principal may not act in the scope.
func reach(op string, by tenet.Principal, scopes ...tenet.Scope) error {
	for _, s := range scopes {
		if !by.MayReach(s) {
			return tenet.Errorf(tenet.Denied, op, "the principal may not act in this scope")
		}
	}
	return nil
}

// newID is a time-ordered random id.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// EstimateTokens is the default token count: a quarter of the ASCII bytes,
// rounded up, and one for every other rune. It is an estimate that needs no
// vocabulary; give Config.Tokens the tokeniser of your model to be exact.
func EstimateTokens(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		if r < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// orEmpty makes an absent list an empty one: [] and not null in JSON.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
