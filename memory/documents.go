package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/recall"
)

// MaxPath is the longest path of a document, in bytes.
const MaxPath = 512

// DocumentPut files a document.
type DocumentPut struct {
	Path string
	Text string // at most 100 KiB, kept byte for byte
	// Cites are messages it was made from; without them it is the filer's own
	// word, whatever the text says.
	Cites []tenet.MessageID
	// IfSHA256, when set, is the content hash that must be there, or "none".
	IfSHA256 string
	ID       tenet.CandidateID // makes a retry harmless; empty: made
}

// NoContent as IfSHA256 demands that there is no document at the path.
const NoContent = "none"

// filed is the evidence of a document that cites nothing: that somebody filed
// it. It proves no word of the text, so the text stays the filer's own.
const filed = "filed"

// PutDocument files a version of a document through the gate. Errors are
// Remember's, and Conflict when IfSHA256 does not hold.
func (m *Memory) PutDocument(ctx context.Context, by tenet.Principal, scope tenet.Scope, p DocumentPut) (tenet.Document, error) {
	if err := checkPath(p.Path); err != nil {
		return tenet.Document{}, err
	}
	c := tenet.Candidate{ID: p.ID, Scope: scope, Tier: tenet.TierDocument, Key: p.Path, Text: p.Text, Cites: p.Cites}
	if len(c.Cites) == 0 {
		c.Quote = filed
	}
	done, err := m.answered(ctx, by)
	if err != nil {
		return tenet.Document{}, err
	}
	if p.IfSHA256 != "" && !done {
		version, err := m.expect(ctx, by, scope, p.Path, p.IfSHA256)
		if err != nil {
			return tenet.Document{}, err
		}
		c.IfVersion = version
	}
	v, err := m.Remember(ctx, by, c)
	if err != nil {
		return tenet.Document{}, err
	}
	r, err := m.ledger.Record(ctx, scope, v.Record)
	return document(r), err
}

// expect turns a content hash into the version that must be the open one, so
// that the ledger holds it under its lock.
func (m *Memory) expect(ctx context.Context, by tenet.Principal, scope tenet.Scope, path, hash string) (tenet.RecordID, error) {
	d, err := m.Document(ctx, by, scope, path)
	switch {
	case err != nil && tenet.KindOf(err) == tenet.NotFound && hash == NoContent:
		return tenet.NoVersion, nil
	case err != nil && tenet.KindOf(err) != tenet.NotFound:
		return "", err
	case err != nil || d.SHA256 != hash:
		return "", tenet.Errorf(tenet.Conflict, "document", "the content is not the one expected")
	}
	return d.Version, nil
}

// Document reads the current version at a path, byte for byte.
func (m *Memory) Document(ctx context.Context, by tenet.Principal, scope tenet.Scope, path string) (tenet.Document, error) {
	r, err := m.openDocument(ctx, "document", by, scope, path)
	return document(r), err
}

func (m *Memory) openDocument(ctx context.Context, op string, by tenet.Principal, scope tenet.Scope, path string) (tenet.Record, error) {
	if err := m.durable(op); err != nil {
		return tenet.Record{}, err
	}
	if err := reach(op, by, scope); err != nil {
		return tenet.Record{}, err
	}
	if err := checkPath(path); err != nil {
		return tenet.Record{}, err
	}
	now := m.now()
	s, err := m.ledger.State(ctx, scope, gate.Query{Tier: tenet.TierDocument, Key: path, Since: now}, now)
	if err != nil {
		return tenet.Record{}, err
	}
	for _, r := range s.Open {
		if r.Current(now) {
			return r, nil
		}
	}
	return tenet.Record{}, tenet.Errorf(tenet.NotFound, op, "no document at the path")
}

// Documents lists the documents under a prefix by path, after the given path
// (empty: from the first), at most limit.
func (m *Memory) Documents(ctx context.Context, by tenet.Principal, scope tenet.Scope, prefix, after string, limit int) ([]tenet.Document, error) {
	const op = "documents"
	if err := m.durable(op); err != nil {
		return nil, err
	}
	if err := reach(op, by, scope); err != nil {
		return nil, err
	}
	if m.documents == nil {
		return nil, tenet.Errorf(tenet.Unavailable, op, "no store lists documents")
	}
	if len(prefix) > MaxPath || len(after) > MaxPath || limit <= 0 {
		return nil, tenet.Errorf(tenet.Invalid, op, "a path over %d bytes or no limit", MaxPath)
	}
	if err := tenet.CheckText("prefix", prefix); err != nil {
		return nil, err
	}
	rs, err := m.documents.Documents(ctx, scope, m.now(), prefix, after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]tenet.Document, 0, len(rs))
	for _, r := range rs {
		out = append(out, document(r))
	}
	return out, nil
}

// DocumentHit is a document found by meaning.
type DocumentHit struct {
	tenet.Document
	Score float64 `json:"score"` // falls along the answer; comparable within it only
}

// DocumentHits is the answer of a search of documents; Degraded and
// Approximate are as in Found.
type DocumentHits struct {
	Hits        []DocumentHit `json:"hits"` // best first
	Degraded    tenet.Code    `json:"degraded,omitempty"`
	Approximate *Approximate  `json:"approximate,omitempty"`
}

// SearchDocuments finds documents under a prefix by meaning, best first, at
// most k. Documents alone are ranked, so nothing else takes their places.
func (m *Memory) SearchDocuments(ctx context.Context, by tenet.Principal, scope tenet.Scope, prefix, query string, k int) (DocumentHits, error) {
	const op = "search documents"
	if err := m.durable(op); err != nil {
		return DocumentHits{}, err
	}
	if err := reach(op, by, scope); err != nil {
		return DocumentHits{}, err
	}
	if len(prefix) > MaxPath {
		return DocumentHits{}, tenet.Errorf(tenet.Invalid, op, "a path over %d bytes", MaxPath)
	}
	if err := tenet.CheckText("prefix", prefix); err != nil {
		return DocumentHits{}, err
	}
	q := recall.Query{Text: query, K: k, Now: m.now(), Diversity: recall.Plain}
	var out DocumentHits
	q.Vector, out.Degraded = m.indexes.embed(ctx, query)
	under := func(e *entry) bool { return e.tier == tenet.TierDocument && strings.HasPrefix(e.key, prefix) }
	hits, how, err := m.indexes.search(ctx, scope, q, under)
	if err != nil {
		return DocumentHits{}, err
	}
	out.Hits, out.Approximate = make([]DocumentHit, 0, len(hits)), how.approximate
	for _, h := range hits {
		out.Hits = append(out.Hits, DocumentHit{document(tenet.Record{ID: h.ID, Key: h.Key, Text: h.Text, Label: h.Label, Valid: h.Valid}), h.Score})
	}
	return out, nil
}

// DocumentHistory returns every version that was ever at a path, oldest first,
// deletions included as the end of a version's validity.
func (m *Memory) DocumentHistory(ctx context.Context, by tenet.Principal, scope tenet.Scope, path string) ([]tenet.Record, error) {
	const op = "document history"
	if err := m.durable(op); err != nil {
		return nil, err
	}
	if err := reach(op, by, scope); err != nil {
		return nil, err
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return m.ledger.History(ctx, scope, tenet.TierDocument, path)
}

// DeleteDocument ends the document at a path. Its versions stay in history.
// Errors: NotFound, Conflict when ifSHA256 is set and does not hold, Refused
// when the document has a higher label than the principal reaches.
func (m *Memory) DeleteDocument(ctx context.Context, by tenet.Principal, scope tenet.Scope, path, ifSHA256 string) error {
	const op = "delete document"
	if done, err := m.answered(ctx, by); done || err != nil {
		return err
	}
	r, err := m.openDocument(ctx, op, by, scope, path)
	if err != nil {
		return err
	}
	if ifSHA256 != "" && document(r).SHA256 != ifSHA256 {
		return tenet.Errorf(tenet.Conflict, op, "the content is not the one expected")
	}
	return m.End(ctx, by, Change{Scope: scope, Record: r.ID})
}

// DocumentOf is the version of a document that a record keeps.
func DocumentOf(r tenet.Record) tenet.Document { return document(r) }

func document(r tenet.Record) tenet.Document {
	sum := sha256.Sum256([]byte(r.Text))
	return tenet.Document{Path: r.Key, Text: r.Text, Label: r.Label, Version: r.ID, SHA256: hex.EncodeToString(sum[:]), Valid: r.Valid}
}

// checkPath returns an Invalid error for a path that could not be told from
// another, or would mean something else to a file system: absolute, with empty,
// "." or ".." parts, or control characters.
func checkPath(path string) error {
	if err := checkName("path", path, MaxPath); err != nil {
		return err
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return tenet.Errorf(tenet.Invalid, "path", `holds an empty, "." or ".." part`)
		}
	}
	return nil
}
