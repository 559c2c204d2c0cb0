package memory

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"math"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Sink keeps lines outside the database: the journal of erasures.
type Sink interface {
	Append(line []byte) error
}

// Erasing asks for an erasure.
type Erasing struct {
	Of     gate.Selection
	Why    string // for the receipt; not memory text
	DryRun bool   // count, and write nothing
}

// Erasure is what an erasure removed, or would remove.
type Erasure struct {
	DryRun bool           `json:"dry_run,omitempty"`
	What   string         `json:"what"`
	Counts map[string]int `json:"counts"` // rows by place
	// Records are the ids that went; Kept were said by others, too, and stay on
	// their word. No receipt holds them.
	Records []tenet.RecordID `json:"records"`
	Kept    []tenet.RecordID `json:"kept"`
	// NotSearched is a place that may hold more of it and was not looked at;
	// empty: there is none.
	NotSearched string          `json:"not_searched,omitempty"`
	Receipt     *ErasureReceipt `json:"receipt,omitempty"`
}

// ErasureReceipt proves an erasure to who asked for it. It holds no text and
// no id of what went: numbers, surrogates and keyed digests. It is not kept by
// Tenet, since who asked and why may name somebody.
type ErasureReceipt struct {
	Form        string         `json:"form"` // "tenet erasure 2"
	ID          string         `json:"id"`
	What        string         `json:"what"`
	By          string         `json:"by"`
	Why         string         `json:"why,omitempty"`
	At          time.Time      `json:"at"`
	Chain       string         `json:"chain"` // the chain, the entry and its hash
	Seq         uint64         `json:"seq"`
	Hash        string         `json:"hash"`
	Counts      map[string]int `json:"counts"`
	NotSearched string         `json:"not_searched,omitempty"` // what the erasure did not reach
	// Removed are the commitments by which it can be looked for again.
	Removed store.Journaled `json:"removed"`
	Key     string          `json:"key"` // Ed25519, hex
	Sig     string          `json:"sig"` // over all of the above and the tenant
}

// notSearched is what erasing a subject does not reach when sessions lie in a
// database of their own: it finds them by their own subject only.
const notSearched = "sessions of other subjects: the session store is apart, and what this subject said or claimed there stays until those sessions end"

const receiptForm = "tenet erasure 2"

// body is what is signed. The tenant is under the signature and not in the
// receipt, which holds no ids: another tenant's receipt does not verify.
func (r ErasureReceipt) body(tenant string) []byte {
	r.Sig = ""
	b, _ := json.Marshal(r) // strings, numbers and times
	return append([]byte(receiptForm+"\n"+tenant+"\n"), b...)
}

// JournalLine is one line of the journal of erasures.
type JournalLine struct {
	store.Journaled
	Sig string `json:"sig"`
}

func (l JournalLine) body() []byte {
	b, _ := json.Marshal(l.Journaled)
	return append([]byte("tenet erasure journal 1\n"), b...)
}

// Signed reports whether the line was signed with the key.
func (l JournalLine) Signed(key ed25519.PublicKey) bool {
	sig, err := hex.DecodeString(l.Sig)
	return err == nil && ed25519.Verify(key, l.body(), sig)
}

// Erase makes a selection of the scope gone, with all that hangs on it: every
// version, what was derived, vectors, refusals, sessions, running work. An
// operator of the tenant may erase anything, a person what is their own. It
// cannot be undone. The receipt is signed and given out once.
//
// The rows are gone when it returns; the files are swept then or, when a reader
// stands in the way, by Run: until then the erasure is pending. Errors: Invalid
// for a selection that names not one thing, Denied, NotFound when nothing that is
// kept matches, Conflict with code LEGAL_HOLD while a hold forbids it (a dry run
// too), Unavailable without a store that erases, or while it is away.
func (m *Memory) Erase(ctx context.Context, by tenet.Principal, scope tenet.Scope, e Erasing) (Erasure, error) {
	const op = "erase"
	if err := m.durable(op); err != nil {
		return Erasure{}, err
	}
	if err := reach(op, by, scope); err != nil {
		return Erasure{}, err
	}
	if m.cfg.Eraser == nil || len(m.cfg.ErasureKey) != ed25519.PrivateKeySize {
		return Erasure{}, tenet.Errorf(tenet.Unavailable, op, "the store does not erase, or there is no key to sign with")
	}
	id := "erasure-" + newID()
	d, err := m.gate.Erase(by, scope, e.Of, id, e.Why, m.now())
	if err != nil {
		return Erasure{}, err
	}
	if err := m.eraseSessions(ctx, scope, e, d); err != nil {
		return Erasure{}, err
	}
	o := store.EraseOptions{DryRun: e.DryRun}
	if m.cfg.Erasures != nil {
		o.Journal = m.journal
	}
	done, err := m.cfg.Eraser.Erase(ctx, d, o)
	if err != nil {
		return Erasure{}, err
	}
	out := Erasure{DryRun: e.DryRun, What: done.What, Counts: done.Counts, Records: orEmpty(done.Records), Kept: orEmpty(done.Kept)}
	if e.Of.Subject && m.apart() {
		out.NotSearched = notSearched
	}
	if e.DryRun {
		return out, nil
	}
	m.indexes.forget(scope, e.Of.Tenant)
	r := ErasureReceipt{
		Form: receiptForm, ID: done.ID, What: done.What, By: by.String(), Why: e.Why, At: done.At, Chain: done.Chain, Seq: done.Seq,
		Hash: hex.EncodeToString(done.Hash), Counts: done.Counts, NotSearched: out.NotSearched, Removed: done.Journal, Key: hex.EncodeToString(m.cfg.ErasureKey.Public().(ed25519.PublicKey)),
	}
	r.Sig = hex.EncodeToString(ed25519.Sign(m.cfg.ErasureKey, r.body(by.Tenant())))
	out.Receipt = &r
	if err := m.cfg.Eraser.Purge(ctx); err != nil { // it stays pending, and Run goes on
		m.log.WarnContext(ctx, "the files still hold what was erased", "kind", tenet.KindOf(err).String())
	}
	return out, nil
}

// journal signs and appends what a restore needs.
func (m *Memory) journal(j store.Journaled) error {
	l := JournalLine{Journaled: j}
	l.Sig = hex.EncodeToString(ed25519.Sign(m.cfg.ErasureKey, l.body()))
	line, err := json.Marshal(l)
	if err != nil {
		return tenet.Errorf(tenet.Internal, "erase", "the journal's line does not encode")
	}
	if err := m.cfg.Erasures.Append(append(line, '\n')); err != nil {
		return tenet.Errorf(tenet.Unavailable, "erase", "the journal of erasures takes no line")
	}
	return nil
}

// apart reports whether sessions lie in a database of their own.
func (m *Memory) apart() bool { return any(m.cfg.Ledger) != any(m.cfg.Sessions) }

// eraseSessions is for a session tier in a database of its own. It goes first:
// were the ledger first, a worker could learn from a log that is still there.
// What it does not offer a dry run does not promise either.
func (m *Memory) eraseSessions(ctx context.Context, scope tenet.Scope, e Erasing, d gate.Decision) error {
	if !m.apart() {
		return nil
	}
	sessions, ok := m.cfg.Sessions.(store.SessionEraser)
	one := e.Of.Session != "" && m.cfg.Deleter != nil
	switch {
	case !ok || !e.Of.Subject && !one:
		return tenet.Errorf(tenet.Unavailable, "erase", "the session store erases subjects and sessions only: name one of them")
	case e.DryRun:
		return nil
	}
	// A legal hold that only the ledger knows is found before anything goes.
	if _, err := m.cfg.Eraser.Erase(ctx, d, store.EraseOptions{DryRun: true}); heldBack(err) {
		return err
	}
	if e.Of.Subject {
		_, err := sessions.Erase(ctx, scope, m.now())
		return err
	}
	err := m.cfg.Deleter.DeleteSession(ctx, scope, e.Of.Session, m.now())
	if tenet.KindOf(err) == tenet.NotFound {
		err = nil
	}
	return err
}

// ErasureState is how an erasure stands.
type ErasureState = store.ErasureState

// Erasures lists the tenant's erasures, newest first, at most limit. Those that
// are pending are gone from the tables, and maybe not yet from the files.
func (o *Operator) Erasures(ctx context.Context, limit int) ([]ErasureState, error) {
	if o.m.cfg.Eraser == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "erasures", "the store does not erase")
	}
	return o.m.cfg.Eraser.Erasures(ctx, o.scope.Tenant(), limit)
}

// ErasureCheck is what looking again for what a receipt says is gone found.
type ErasureCheck struct {
	OK        bool           `json:"ok"`
	Signature bool           `json:"signature"`
	Places    map[string]int `json:"places"`          // what was found, by place; places without finds are listed with 0
	Chain     string         `json:"chain,omitempty"` // what is wrong with the chain
}

// VerifyErasure looks again, in every place, for what a receipt of the caller's
// tenant says is gone, and recomputes the chain that its entry is on. key is the public key that the
// receipt must be signed with; nil: this engine's.
func (m *Memory) VerifyErasure(ctx context.Context, by tenet.Principal, r ErasureReceipt, key ed25519.PublicKey) (ErasureCheck, error) {
	const op = "verify erasure"
	if err := m.durable(op); err != nil {
		return ErasureCheck{}, err
	}
	if by.Kind() != tenet.Operator && by.Kind() != tenet.EndUser {
		return ErasureCheck{}, tenet.Errorf(tenet.Denied, op, "only an operator or the person checks a receipt")
	}
	if r.Seq > math.MaxInt64 { // no chain has such an entry, and no database such a number
		return ErasureCheck{}, tenet.Errorf(tenet.Invalid, op, "seq is out of range")
	}
	if m.cfg.Eraser == nil {
		return ErasureCheck{}, tenet.Errorf(tenet.Unavailable, op, "the store does not erase")
	}
	if key == nil && len(m.cfg.ErasureKey) == ed25519.PrivateKeySize {
		key = m.cfg.ErasureKey.Public().(ed25519.PublicKey)
	}
	c := ErasureCheck{Places: map[string]int{}}
	sig, err := hex.DecodeString(r.Sig)
	c.Signature = err == nil && len(key) == ed25519.PublicKeySize && r.Form == receiptForm && r.Key == hex.EncodeToString(key) && ed25519.Verify(key, r.body(by.Tenant()), sig)
	if !c.Signature { // what it says cannot be trusted to be looked for
		return c, nil
	}
	hash, err := hex.DecodeString(r.Hash)
	if err != nil {
		return c, tenet.Errorf(tenet.Invalid, op, "the receipt's hash is not hexadecimal")
	}
	if c.Chain, err = m.cfg.Eraser.Chain(ctx, r.Chain, r.Seq, hash); err != nil {
		return c, err
	}
	if c.Places, err = m.cfg.Eraser.Residue(ctx, r.Removed); err != nil {
		return c, err
	}
	c.OK = c.Chain == ""
	for _, n := range c.Places {
		c.OK = c.OK && n == 0
	}
	return c, nil
}

// purge finishes erasures whose files are not swept yet.
func (m *Memory) purge(ctx context.Context) {
	if m.cfg.Eraser == nil {
		return
	}
	if err := m.cfg.Eraser.Purge(ctx); err != nil && ctx.Err() == nil {
		m.log.WarnContext(ctx, "the files still hold what was erased", "kind", tenet.KindOf(err).String())
	}
}

// forget drops the indexes that hold texts of a scope that was erased from, and
// of those that hold words of many: a user's erasure reaches what they left in
// them. With tenant, all of the tenant's go.
func (x *indexes) forget(scope tenet.Scope, tenant bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for s := range x.byKey {
		if s == scope || s.Tenant() == scope.Tenant() && (tenant || s.Subject().Kind() != tenet.SubjectUser) {
			delete(x.byKey, s)
		}
	}
}

// Selected makes a selection from its kind and name, as commands and requests
// give them.
func Selected(what, name string) (gate.Selection, error) {
	var s gate.Selection
	switch what {
	case "record":
		s.Record = tenet.RecordID(name)
	case "message":
		s.Message = tenet.MessageID(name)
	case "session":
		s.Session = tenet.SessionID(name)
	case "key":
		s.Key = name
	case "origin":
		s.Origin = name
	case "subject", "tenant":
		if name != "" {
			return s, tenet.Errorf(tenet.Invalid, "erase", "a %s is named by the scope", what)
		}
		s.Subject, s.Tenant = what == "subject", what == "tenant"
	}
	return s, s.Check()
}
