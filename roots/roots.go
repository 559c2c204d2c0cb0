// Package roots makes truncation of audit chains show. Every few seconds it
// takes the heads of the chains that moved, puts a signed Merkle root over them
// (RFC 6962) and appends it to a sink outside the database. Whoever then cuts
// entries off the end of a chain, or drops a whole chain, is found up to the
// last root; what came after it is the window that is still open.
//
// A line holds surrogates, positions and hashes: no id and no text. The signing
// key is not in the database.
//
// The package imports tenet, store, the standard library and x/mod's tlog. It
// decides nothing about memory.
package roots

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// Sink keeps lines where the database's owner cannot take them back.
type Sink interface {
	Append(line []byte) error
}

// Root is one line: the heads that moved since the last, under a root.
type Root struct {
	N     int64     `json:"n"` // from 1, without gaps
	At    time.Time `json:"at"`
	Heads []Head    `json:"heads"` // in order of chain
	Tree  string    `json:"tree"`  // the Merkle root over the heads, hex
	Prev  string    `json:"prev"`  // SHA-256 of the line before, hex
	Sig   string    `json:"sig"`   // Ed25519 over all of the above, hex
}

// Head is where a chain stood.
type Head struct {
	Chain string `json:"chain"`
	Seq   uint64 `json:"seq"`
	Hash  string `json:"hash"`
}

// body is what is signed.
func (r Root) body() []byte {
	r.Sig = ""
	b, _ := json.Marshal(r) // numbers, strings and a time
	return append([]byte("tenet audit root 1\n"), b...)
}

// tree is the Merkle root over the heads.
func tree(heads []Head) (string, error) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(at))
		for i, n := range at {
			out[i] = stored[n]
		}
		return out, nil
	})
	for i, h := range heads {
		leaf, err := json.Marshal(h)
		if err != nil {
			return "", err
		}
		hs, err := tlog.StoredHashes(int64(i), leaf, read)
		if err != nil {
			return "", err
		}
		stored = append(stored, hs...)
	}
	root, err := tlog.TreeHash(int64(len(heads)), read)
	return hex.EncodeToString(root[:]), err
}

// Writer appends roots. It is safe for concurrent use, and one per sink.
type Writer struct {
	db   store.Governor
	sink Sink
	key  ed25519.PrivateKey

	mu   sync.Mutex
	last map[string]uint64
	n    int64
	prev string
}

// NewWriter goes on where the sink's log, as read from past, ended.
func NewWriter(db store.Governor, sink Sink, key ed25519.PrivateKey, past io.Reader) (*Writer, error) {
	if db == nil || sink == nil || len(key) != ed25519.PrivateKeySize {
		return nil, tenet.Errorf(tenet.Invalid, "roots", "no ledger, sink or key")
	}
	l, err := Read(past, key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	w := &Writer{db: db, sink: sink, key: key, last: map[string]uint64{}, n: l.N, prev: l.prev}
	for chain, h := range l.Heads {
		w.last[chain] = h.Seq
	}
	return w, nil
}

// Once takes one root over the chains that moved; nil when none did.
func (w *Writer) Once(ctx context.Context, now time.Time) (*Root, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var moved []Head
	for after := ""; ; {
		page, err := w.db.Heads(ctx, after, 1000)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			after = h.Chain
			if w.last[h.Chain] < h.Seq {
				moved = append(moved, Head{h.Chain, h.Seq, hex.EncodeToString(h.Hash)})
			}
		}
		if len(page) < 1000 {
			break
		}
	}
	if len(moved) == 0 {
		return nil, nil
	}
	r := Root{N: w.n + 1, At: tenet.Micros(now), Heads: moved, Prev: w.prev}
	var err error
	if r.Tree, err = tree(moved); err != nil {
		return nil, tenet.Errorf(tenet.Internal, "roots", "the tree cannot be hashed")
	}
	r.Sig = hex.EncodeToString(ed25519.Sign(w.key, r.body()))
	line, err := json.Marshal(r)
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "roots", "the root does not encode")
	}
	if err := w.sink.Append(append(line, '\n')); err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "roots", "the sink takes no line")
	}
	w.n, w.prev = r.N, digest(line)
	for _, h := range moved {
		w.last[h.Chain] = h.Seq
	}
	return &r, nil
}

func digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// Log is what a sink holds, checked.
type Log struct {
	N     int64
	At    time.Time       // of the last root
	Heads map[string]Head // the last of each chain
	prev  string
}

// maxRoot bounds one line.
const maxRoot = 256 << 20

// Read checks a sink's lines: numbers, links, trees and signatures. It returns
// an Invalid error that names the first line that does not hold.
func Read(in io.Reader, key ed25519.PublicKey) (Log, error) {
	l := Log{Heads: map[string]Head{}}
	if in == nil {
		return l, nil
	}
	r := bufio.NewReaderSize(in, 1<<16)
	for n := int64(1); ; n++ {
		line, err := readLine(r)
		if err == io.EOF {
			return l, nil
		}
		bad := func(why string) error {
			return tenet.Errorf(tenet.Invalid, "roots", "line %d: %s", n, why)
		}
		if err != nil {
			return l, bad("cannot be read, or is cut off")
		}
		var root Root
		if tenet.DecodeJSON(line, &root) != nil {
			return l, bad("is no root")
		}
		sig, err := hex.DecodeString(root.Sig)
		if err != nil || !ed25519.Verify(key, root.body(), sig) {
			return l, bad("is not signed with this key, or was altered")
		}
		if root.N != n || root.Prev != l.prev {
			return l, bad("does not follow the one before it")
		}
		if t, err := tree(root.Heads); err != nil || t != root.Tree {
			return l, bad("its tree is not over its heads")
		}
		for _, h := range root.Heads {
			if l.Heads[h.Chain].Seq >= h.Seq {
				return l, bad("a chain runs backwards")
			}
			l.Heads[h.Chain] = h
		}
		l.N, l.At, l.prev = n, root.At, digest(line)
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if errors.Is(err, io.EOF) && len(line) > 0 || len(line) > maxRoot {
		return nil, io.ErrUnexpectedEOF
	}
	return bytes.TrimSuffix(line, []byte("\n")), err
}

// Finding is a chain that is not where a root saw it.
type Finding struct {
	Chain string `json:"chain"`
	Seq   uint64 `json:"seq"` // the entry that the root names
	Why   string `json:"why"`
}

// Check is the result of holding a database against its roots.
type Check struct {
	Roots    int64         `json:"roots"`
	Chains   int           `json:"chains"`
	Findings []Finding     `json:"findings"`
	Last     time.Time     `json:"last,omitzero"` // the last root
	Open     time.Duration `json:"open"`          // since then: what could still be cut off unseen
	Entries  uint64        `json:"open_entries"`  // written since then
}

// Against holds the database's chains against a log: the entry that each root
// names must still be there with the same hash, unless audit retention removed
// it: then the chain's sealed head must hold.
func (l Log) Against(ctx context.Context, db store.Governor, now time.Time) (Check, error) {
	c := Check{Roots: l.N, Chains: len(l.Heads), Findings: []Finding{}, Last: l.At}
	if !l.At.IsZero() {
		c.Open = now.Sub(l.At)
	}
	var names []string
	for name := range l.Heads {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		h := l.Heads[name]
		hash, err := db.EntryAt(ctx, name, h.Seq)
		var cut store.Cut
		var joined []byte // a head alone proves nothing: its chain may be gone
		if err == nil && hash == nil {
			cut, err = db.CutOf(ctx, name)
		}
		if err == nil && !cut.IsZero() {
			joined, err = db.EntryAt(ctx, name, cut.Seq)
		}
		switch {
		case tenet.KindOf(err) == tenet.Internal && hash == nil: // CutOf's
			c.Findings = append(c.Findings, Finding{name, h.Seq, "entries that a root names are gone, and the sealed head does not hold"})
		case err != nil:
			return c, err
		case hash == nil && joined != nil && h.Seq <= cut.Upto: // a signed head says that it was cut off
		case hash == nil:
			c.Findings = append(c.Findings, Finding{name, h.Seq, "entries that a root names are gone: the chain was cut off"})
		case hex.EncodeToString(hash) != h.Hash:
			c.Findings = append(c.Findings, Finding{name, h.Seq, "the entry is not the one that the root names: the chain was written anew"})
		}
	}
	for after := ""; ; {
		page, err := db.Heads(ctx, after, 1000)
		if err != nil {
			return c, err
		}
		for _, h := range page {
			after = h.Chain
			if seen := l.Heads[h.Chain].Seq; h.Seq > seen {
				c.Entries += h.Seq - seen
			}
		}
		if len(page) < 1000 {
			return c, nil
		}
	}
}

// File is a sink that appends to a file and waits until it is on disk.
type File string

// Append implements Sink.
func (f File) Append(line []byte) error {
	out, err := os.OpenFile(string(f), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(line)
	if serr := out.Sync(); err == nil {
		err = serr
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
