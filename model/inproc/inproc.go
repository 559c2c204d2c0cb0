// Package inproc embeds text in this process, in pure Go: a WordPiece
// tokeniser and a BERT-family encoder over int8 weights. It opens one packed
// file (see weights.go for its format, package pack for making one) and
// reaches neither network nor store.
package inproc

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
)

// MaxTexts is how many texts one call may carry.
const MaxTexts = 100_000

// passRows is how many tokens go through the layers together: enough that
// each weight is fetched once for many of them, few enough to stay in cache.
const passRows = 128

// Options is how a model uses the machine.
type Options struct {
	// Workers is how many goroutines may embed at once in one call. Zero is
	// one: embedding is background work and leaves the other cores to the hot
	// path unless asked. The vectors are the same to the bit either way.
	Workers int
}

// Model is an encoder ready to use. It implements model.Embedder.
type Model struct {
	space   model.Space
	tokens  *wordpiece
	encoder *encoder
	prefix  [2][]int32 // by model.Use
	workers int
	idle    sync.Pool // *scratch
}

// Open reads a packed model. Errors: NotFound when there is no such file,
// Invalid when it is not a whole packed model.
func Open(path string, o Options) (*Model, error) {
	return open(path, o, kernels()[0])
}

func open(path string, o Options, k kernel) (*Model, error) {
	const op = "inproc.Open"
	file, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, &tenet.Error{Kind: tenet.NotFound, Op: op, Reason: "no packed model at " + path, Err: err}
	} else if err != nil {
		return nil, &tenet.Error{Kind: tenet.Unavailable, Op: op, Err: err}
	}
	w, sum, err := Read(file)
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, op, "%s: %v", path, err)
	}
	t, err := newWordpiece(w.Vocabulary)
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, op, "%s: %v", path, err)
	}
	m := &Model{
		// The checksum is part of the name: two packings never share a space.
		space:   model.Space{Model: fmt.Sprintf("%s/%08x", w.Model, sum), Dim: w.Dim},
		tokens:  t,
		encoder: newEncoder(w, k),
		workers: max(1, o.Workers),
	}
	for use, text := range map[model.Use]string{model.Passage: w.PassagePrefix, model.Query: w.QueryPrefix} {
		m.prefix[use] = t.append([]int32{t.cls}, text, w.MaxTokens/2)
	}
	w.Vocabulary = nil // the tokeniser has what it needs of it
	return m, nil
}

// Space names the model, its packing and the dimension.
func (m *Model) Space() model.Space { return m.space }

// Embed implements model.Embedder. Only the first 512 tokens of a text (what
// the model was trained on, its prefix included) reach its vector. A text that
// is mostly in another script than Latin gets the zero vector: these models
// read its letters one by one and place it at random, which took up to 60
// points of hit@1 from a good lexical ranking in Arabic.
func (m *Model) Embed(ctx context.Context, use model.Use, texts ...string) ([][]float32, error) {
	const op = "inproc.Embed"
	if len(texts) > MaxTexts {
		return nil, tenet.Errorf(tenet.Invalid, op, "%d texts in one call; the limit is %d", len(texts), MaxTexts)
	}
	if int(use) >= len(m.prefix) {
		return nil, tenet.Errorf(tenet.Invalid, op, "unknown use %d", use)
	}
	out := make([][]float32, len(texts))
	var (
		next int
		mu   sync.Mutex // guards next
		done sync.WaitGroup
	)
	// work takes the next texts in order, as many as fill one pass.
	work := func() {
		s, _ := m.idle.Get().(*scratch)
		if s == nil {
			s = new(scratch)
		}
		defer m.idle.Put(s)
		for ctx.Err() == nil {
			mu.Lock()
			from := next
			for bytes := 0; next < len(texts) && (next == from || bytes+len(texts[next]) <= passRows*4); next++ {
				bytes += len(texts[next])
			}
			to := next
			mu.Unlock()
			if from == to {
				return
			}
			m.pass(s, use, texts[from:to], out[from:to])
		}
	}
	for range min(m.workers, len(texts)) - 1 {
		done.Go(work)
	}
	work()
	done.Wait()
	if err := ctx.Err(); err != nil {
		return nil, &tenet.Error{Kind: tenet.Unavailable, Op: op, Reason: "stopped before the end", Err: err}
	}
	return out, nil
}

// pass embeds a few texts in one run of the encoder.
func (m *Model) pass(s *scratch, use model.Use, texts []string, out [][]float32) {
	var (
		ids   []int32
		ends  []int
		known [][]float32 // the vectors of the texts that go through the encoder
	)
	for i, text := range texts {
		out[i] = make([]float32, m.space.Dim)
		from := len(ids)
		ids = append(ids, m.prefix[use]...)
		body := len(ids)
		ids = m.tokens.append(ids, text, from+m.encoder.w.MaxTokens-1)
		if !m.tokens.anyKnown(ids[body:]) || foreign(text) {
			ids = ids[:from] // stays the zero vector
			continue
		}
		ids = append(ids, m.tokens.sep)
		ends = append(ends, len(ids))
		known = append(known, out[i])
	}
	if len(known) > 0 {
		m.encoder.run(s, ids, ends, known)
	}
}
