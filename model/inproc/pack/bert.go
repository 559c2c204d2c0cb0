package pack

import (
	"fmt"

	"github.com/tenet-memory/tenet/model/inproc"
)

// fill reads the sizes of a BERT encoder off its tensors and takes them over,
// matrices quantised with one row for each output.
func (g *graph) fill(w *inproc.Weights) error {
	word, ok := g.tensors["embeddings.word_embeddings.weight"]
	if !ok || len(word.dims) != 2 {
		return fmt.Errorf("no word embeddings: not a BERT encoder")
	}
	pieces, d := word.dims[0], word.dims[1]
	if pieces != len(w.Vocabulary) {
		return fmt.Errorf("%d word embeddings for a vocabulary of %d", pieces, len(w.Vocabulary))
	}
	w.Dim = d
	for g.tensors[fmt.Sprintf("encoder.layer.%d.output.dense.bias", w.Layers)].data != nil {
		w.Layers++
	}
	w.Inner = len(g.tensors["encoder.layer.0.intermediate.dense.bias"].data)

	t := taker{g: g}
	w.Word = inproc.Quantise(pieces, d, word.data)
	w.Position = t.vector("embeddings.position_embeddings.weight", -1)
	kind := t.vector("embeddings.token_type_embeddings.weight", -1)
	if t.err == nil && (len(w.Position) < w.MaxTokens*d || len(kind) < d) {
		return fmt.Errorf("%d positions for %d tokens", len(w.Position)/d, w.MaxTokens)
	}
	if t.err == nil {
		w.Position = w.Position[:w.MaxTokens*d]
		for i := range w.Position {
			w.Position[i] += kind[i%d]
		}
	}
	w.NormScale = t.vector("embeddings.LayerNorm.weight", d)
	w.NormBias = t.vector("embeddings.LayerNorm.bias", d)
	for i := range w.Layers {
		at := fmt.Sprintf("layer.%d.", i)
		var l inproc.Layer
		var qkv []float32
		for _, part := range []string{"query", "key", "value"} {
			qkv = append(qkv, t.matrix(i, "attention/self/"+part, d, d)...)
			l.QKVBias = append(l.QKVBias, t.vector("encoder."+at+"attention.self."+part+".bias", d)...)
		}
		if t.err != nil {
			return t.err
		}
		l.QKV = inproc.Quantise(3*d, d, qkv)
		l.Out = t.quantised(i, "attention/output/dense", d, d)
		l.OutBias = t.vector("encoder."+at+"attention.output.dense.bias", d)
		l.Norm1Scale = t.vector("encoder."+at+"attention.output.LayerNorm.weight", d)
		l.Norm1Bias = t.vector("encoder."+at+"attention.output.LayerNorm.bias", d)
		l.Up = t.quantised(i, "intermediate/dense", w.Inner, d)
		l.UpBias = t.vector("encoder."+at+"intermediate.dense.bias", w.Inner)
		l.Down = t.quantised(i, "output/dense", d, w.Inner)
		l.DownBias = t.vector("encoder."+at+"output.dense.bias", d)
		l.Norm2Scale = t.vector("encoder."+at+"output.LayerNorm.weight", d)
		l.Norm2Bias = t.vector("encoder."+at+"output.LayerNorm.bias", d)
		w.Layer = append(w.Layer, l)
	}
	return t.err
}

// taker takes tensors out of a graph and remembers the first that is missing.
type taker struct {
	g   *graph
	err error
}

// vector is the named tensor's numbers; n is how many there must be, -1 for
// any number.
func (t *taker) vector(name string, n int) []float32 {
	x, ok := t.g.tensors[name]
	if t.err == nil && (!ok || n >= 0 && len(x.data) != n) {
		t.err = fmt.Errorf("tensor %q missing or of the wrong size", name)
	}
	return x.data
}

// matrix is the weight of the product named in layer i, turned from the
// exporter's input-by-output order to one row for each output.
func (t *taker) matrix(i int, name string, rows, cols int) []float32 {
	node := fmt.Sprintf("/encoder/layer.%d/%s/MatMul", i, name)
	x := t.g.tensors[t.g.right[node]]
	if t.err == nil && (len(x.dims) != 2 || x.dims[0] != cols || x.dims[1] != rows) {
		t.err = fmt.Errorf("weight of %q missing or of the wrong size", node)
	}
	if t.err != nil {
		return nil
	}
	out := make([]float32, rows*cols)
	for c := range cols {
		for r := range rows {
			out[r*cols+c] = x.data[c*rows+r]
		}
	}
	return out
}

func (t *taker) quantised(i int, name string, rows, cols int) inproc.Matrix {
	f := t.matrix(i, name, rows, cols)
	if t.err != nil {
		return inproc.Matrix{}
	}
	return inproc.Quantise(rows, cols, f)
}
