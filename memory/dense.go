package memory

import (
	"context"
	"math"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/recall"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/trace"
)

// Codes of a recall that had to do without the embedder.
const (
	CodeEmbedderAway tenet.Code = "EMBEDDER_UNAVAILABLE" // failed or took too long
	CodeEmbedderBad  tenet.Code = "EMBEDDER_BAD_ANSWER"  // wrong number, dimension or values
)

// embedBatch is how many records are placed per call of the embedder.
const embedBatch = 32

// embed places a query in the embedder's space. Without an embedder it is the
// zero vector; when the embedder fails the recall goes on by words alone and
// says so.
func (x *indexes) embed(ctx context.Context, query string) (recall.Vector, tenet.Code) {
	if x.embedder == nil || query == "" || len(query) > recall.MaxQueryBytes {
		return recall.Vector{}, "" // no search will follow
	}
	ctx, cancel := context.WithTimeout(ctx, x.patience)
	defer cancel()
	ctx, span := trace.Start(ctx, "embed")
	vs, err := x.embedder.Embed(ctx, model.Query, query)
	span.End(err)
	if err != nil {
		return recall.Vector{}, CodeEmbedderAway
	}
	if !sound(vs, 1, x.embedder.Space().Dim) {
		return recall.Vector{}, CodeEmbedderBad
	}
	v, _ := recall.Quantize(x.embedder.Space().Name(), vs[0])
	return v, ""
}

// sound reports whether an embedder's answer is n finite vectors of dim.
func sound(vs [][]float32, n, dim int) bool {
	if len(vs) != n {
		return false
	}
	for _, v := range vs {
		if len(v) != dim {
			return false
		}
		for _, f := range v {
			if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
				return false
			}
		}
	}
	return true
}

// place brings the vectors that were written since the last look into an
// index. One of another space is never asked for.
func (x *indexes) place(ctx context.Context, scope tenet.Scope, si *scopeIndex, head store.Head) error {
	if x.embedder == nil || x.vectors == nil || si.dense >= head.Dense {
		return nil
	}
	if away, err := x.leave(ctx, scope, si, head); away || err != nil {
		return err
	}
	space := x.embedder.Space().Name()
	vs, at, err := x.vectors.Places(ctx, scope, space, si.dense)
	if err != nil {
		return err
	}
	for _, v := range vs {
		if len(v.Values) == 0 {
			continue // nothing in the text to compare
		}
		if _, err := si.index.SetVector(string(v.Record), recall.Vector{Space: space, Values: v.Values}); err != nil {
			return tenet.Errorf(tenet.Internal, "recall", "%v", err)
		}
	}
	si.dense = min(at, head.Dense) // of what came later the entry may not be here yet: it is read again
	return nil
}

// EmbedOnce gives up to a batch of records that have no vector in the
// embedder's space their place, and returns how many. A new model starts from
// nothing in its own space, while recall goes on by words. It is a unit of
// background work, like ConsolidateOnce.
func (m *Memory) EmbedOnce(ctx context.Context) (placed int, err error) {
	e, vectors := m.cfg.Embedder, m.cfg.Vectors
	if e == nil || vectors == nil {
		return 0, nil
	}
	space := e.Space()
	rs, err := vectors.Unplaced(ctx, space.Name(), embedBatch)
	if err != nil || len(rs) == 0 {
		return 0, err
	}
	ctx, span := trace.Begin(ctx, "job embed")
	defer func() {
		span.Count("tenet.texts", len(rs))
		span.End(err)
	}()
	vs, err := embedRecords(ctx, e, rs)
	if err != nil {
		return 0, err
	}
	for start := 0; start < len(rs); { // one call per scope
		end := start + 1
		for end < len(rs) && rs[end].Scope == rs[start].Scope {
			end++
		}
		if err := vectors.Place(ctx, rs[start].Scope, space.Name(), vs[start:end]); err != nil {
			return start, err
		}
		start = end
	}
	return len(rs), nil
}

// embedRecords places records. When a batch fails its texts are tried one by
// one, so that a single text the model chokes on does not keep the others
// out; that one gets an empty place and is found by its words.
func embedRecords(ctx context.Context, e model.Embedder, rs []tenet.Record) ([]store.Vector, error) {
	space := e.Space()
	texts := make([]string, len(rs))
	for i, r := range rs {
		texts[i] = passage(r)
	}
	all, err := e.Embed(ctx, model.Passage, texts...)
	if err == nil && !sound(all, len(rs), space.Dim) {
		err = tenet.Errorf(tenet.Internal, "embed", "the embedder's answer is not %d vectors of %d numbers", len(rs), space.Dim)
	}
	if err != nil && (len(rs) == 1 || ctx.Err() != nil || tenet.KindOf(err) == tenet.Unavailable) {
		if len(rs) == 1 && ctx.Err() == nil && tenet.KindOf(err) != tenet.Unavailable {
			return []store.Vector{{Record: rs[0].ID}}, nil
		}
		return nil, err
	}
	var out []store.Vector
	for i, r := range rs {
		if err != nil {
			one, err := embedRecords(ctx, e, rs[i:i+1])
			if err != nil {
				return nil, err
			}
			out = append(out, one...)
			continue
		}
		q, _ := recall.Quantize(space.Name(), all[i])
		out = append(out, store.Vector{Record: r.ID, Values: q.Values})
	}
	return out, nil
}

// passage is what a record is embedded as.
func passage(r tenet.Record) string {
	switch {
	case r.Speaker != "":
		return r.Speaker + ": " + r.Text
	case r.Key != "":
		return r.Key + ": " + r.Text
	}
	return r.Text
}
