package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
)

// backend is what the commands call: the engine over a file, or a server
// (--server). The server decides who acts by the key; it takes no principal's
// word for it.
type backend interface {
	Remember(context.Context, tenet.Principal, tenet.Candidate) (tenet.Verdict, error)
	Facts(context.Context, tenet.Principal, tenet.AsOf, ...tenet.Scope) ([]memory.Fact, error)
	History(context.Context, tenet.Principal, tenet.Scope, string) ([]tenet.Record, error)
	End(context.Context, tenet.Principal, memory.Change) error
	Retract(context.Context, tenet.Principal, memory.Change) error
	Recall(context.Context, tenet.Principal, string, memory.RecallOptions, ...tenet.Scope) (memory.Found, error)
	Outcomes(ctx context.Context, by tenet.Principal, scope tenet.Scope, ids []tenet.RecordID, success bool) error
	DeleteSession(context.Context, tenet.Principal, tenet.Scope, tenet.SessionID) error
	Consolidate(context.Context, tenet.Principal, tenet.Scope, tenet.SessionID) (memory.Report, error)
	documents
	OpenSession(context.Context, tenet.Principal, tenet.Scope, tenet.SessionID) (conversation, error)
	Session(context.Context, tenet.Principal, tenet.Scope, tenet.SessionID, ...tenet.Scope) (conversation, error)
	Status(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, after tenet.CandidateID, limit int) (memory.Status, error)
	Operator(tenet.Principal, tenet.Scope) (reviewer, error)
	Erase(context.Context, tenet.Principal, tenet.Scope, memory.Erasing) (memory.Erasure, error)
	VerifyErasure(context.Context, tenet.Principal, tenet.Scope, memory.ErasureReceipt, ed25519.PublicKey) (memory.ErasureCheck, error)
	portable
}

// portable takes memory out and in. A zero scope leaves it to the file whose
// memory it is.
type portable interface {
	Export(ctx context.Context, by tenet.Principal, scope tenet.Scope, all bool, w io.Writer) (memory.Exported, error)
	Report(context.Context, tenet.Principal, tenet.Scope, io.Writer) error
	Import(ctx context.Context, by tenet.Principal, scope tenet.Scope, f io.ReadSeeker, why string) (memory.Imported, error)
	ImportDump(ctx context.Context, by tenet.Principal, scope tenet.Scope, form memory.DumpForm, data []byte) (memory.Dumped, error)
}

// documents are files that an agent keeps.
type documents interface {
	PutDocument(context.Context, tenet.Principal, tenet.Scope, memory.DocumentPut) (tenet.Document, error)
	Document(context.Context, tenet.Principal, tenet.Scope, string) (tenet.Document, error)
	Documents(ctx context.Context, by tenet.Principal, scope tenet.Scope, prefix, after string, limit int) ([]tenet.Document, error)
	DocumentHistory(context.Context, tenet.Principal, tenet.Scope, string) ([]tenet.Record, error)
	DeleteDocument(ctx context.Context, by tenet.Principal, scope tenet.Scope, path, ifSHA256 string) error
}

// conversation is a session.
type conversation interface {
	Info() tenet.Session
	Append(context.Context, ...tenet.Message) ([]tenet.Message, error)
	Messages(ctx context.Context, after int64, limit int) ([]tenet.Message, error)
	Context(context.Context, string, memory.Budget) (memory.Window, error)
	Recall(context.Context, string, memory.RecallOptions) (memory.Found, error)
	End(context.Context) (memory.Report, error)
	running
}

// running is the state of a run in a session.
type running interface {
	Hold(ctx context.Context, holder string, d time.Duration) (memory.Hold, error)
	Checkpoint(ctx context.Context, c tenet.Checkpoint, fence uint64) (tenet.Checkpoint, error)
	Checkpoints(ctx context.Context, below int64, limit int) ([]tenet.Checkpoint, error)
	Resume(context.Context) (memory.Resumption, error)
	Effects(context.Context) ([]tenet.Effect, error)
	Claim(context.Context, memory.Claiming) (memory.Claimed, error)
	Complete(ctx context.Context, key string, attempt int, outcome json.RawMessage) (tenet.Effect, error)
	Fail(ctx context.Context, key string, attempt int, outcome json.RawMessage) (tenet.Effect, error)
	Resolve(ctx context.Context, key string, attempt int, state tenet.EffectState, outcome json.RawMessage) (tenet.Effect, error)
}

// reviewer is an operator's side of one scope.
type reviewer interface {
	Audit(ctx context.Context, from uint64, limit int) ([]tenet.AuditEntry, error)
	Record(context.Context, tenet.RecordID) (tenet.Record, []tenet.Evidence, error)
	Held(ctx context.Context, after tenet.CandidateID, limit int) ([]tenet.Held, error)
	Release(context.Context, tenet.CandidateID) (tenet.Verdict, error)
	Discard(ctx context.Context, id tenet.CandidateID, why string) error
	Verify(context.Context) (store.Verification, error)
	Erasures(ctx context.Context, limit int) ([]memory.ErasureState, error)
	Freeze(ctx context.Context, why string) (tenet.AuditEntry, error)
	Thaw(ctx context.Context, why string) (tenet.AuditEntry, error)
	LegalHolds(ctx context.Context, after tenet.Scope, limit int) ([]memory.LegalHold, error)
	Scopes(ctx context.Context, after tenet.Scope, limit int) ([]tenet.Scope, error)
	pipeliner
}

// pipeliner looks after consolidation.
type pipeliner interface {
	Jobs(ctx context.Context, skip, limit int) ([]memory.Job, error)
	Retry(context.Context, tenet.SessionID) error
	Drop(ctx context.Context, id tenet.SessionID, why string) (skipped int64, err error)
	ReleaseAs(ctx context.Context, id tenet.CandidateID, tier tenet.Tier, key string) (tenet.Verdict, error)
	Stats(context.Context) (memory.Stats, error)
	Conflicts(context.Context) ([]memory.Cluster, error)
	Clusters(context.Context) ([]memory.Cluster, error)
}

// keyring makes and revokes API keys.
type keyring interface {
	Create(context.Context, tenet.Principal, memory.NewKey) (tenet.Key, string, error)
	List(ctx context.Context, by tenet.Principal, after string, limit int) ([]tenet.Key, error)
	Rotate(ctx context.Context, by tenet.Principal, id string) (tenet.Key, string, error)
	Expire(ctx context.Context, by tenet.Principal, id string, d time.Duration) (tenet.Key, error)
	Revoke(ctx context.Context, by tenet.Principal, id string) (tenet.Key, error)
}

// embedded is the engine in this process.
type embedded struct{ *memory.Memory }

var _ backend = embedded{}

func (e embedded) OpenSession(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID) (conversation, error) {
	return orNone[conversation](e.Memory.OpenSession(ctx, by, scope, id))
}

func (e embedded) Session(ctx context.Context, by tenet.Principal, scope tenet.Scope, id tenet.SessionID, also ...tenet.Scope) (conversation, error) {
	return orNone[conversation](e.Memory.Session(ctx, by, scope, id, also...))
}

func (e embedded) Operator(by tenet.Principal, scope tenet.Scope) (reviewer, error) {
	return orNone[reviewer](e.Memory.Operator(by, scope))
}

func (e embedded) VerifyErasure(ctx context.Context, by tenet.Principal, _ tenet.Scope, r memory.ErasureReceipt, key ed25519.PublicKey) (memory.ErasureCheck, error) {
	return e.Memory.VerifyErasure(ctx, by, r, key)
}

func (e embedded) Import(ctx context.Context, by tenet.Principal, _ tenet.Scope, f io.ReadSeeker, why string) (memory.Imported, error) {
	return e.Memory.Import(ctx, by, f, why) // the principal is narrowed to the scope
}

// orNone keeps a nil handle from becoming an interface that is not nil.
func orNone[I any, T any](v *T, err error) (I, error) {
	var none I
	if err != nil {
		return none, err
	}
	i, _ := any(v).(I)
	return i, nil
}

// engine is what the command works on: a server when one is configured, else
// the database.
func (a *app) engine(may access) (backend, error) {
	if a.set.values["server"] != "" {
		return a.remote()
	}
	m, err := a.memory(may)
	if err != nil {
		return nil, err
	}
	return embedded{m}, nil
}

// atServer refuses what only whoever holds the file can do.
func (a *app) local(what string) error {
	if a.set.values["server"] != "" {
		return tenet.Errorf(tenet.Invalid, "usage", "%s works on a file, not on a server", what)
	}
	return nil
}
